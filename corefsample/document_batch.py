"""Many documents as columns: one Arrow schema behind every file format, and its checks.

Readers turn lines or rows into record batches of `SCHEMA`; `checked` sets aside the documents that break a rule; what
is left is a `DocumentBatch`, whose flat arrays the batch job scans before any document becomes a Python object.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from corefsample import _check_kernels, _faults
from corefsample.antecedents import AntecedentDistribution
from corefsample.documents import INTEGER_COLUMNS, STRING_COLUMNS, ScoredDocument, Tokens

__all__ = ["SCHEMA", "VERSION", "DocumentBatch", "Rejected", "checked", "from_documents"]

VERSION = 1

_TOKENS = pa.struct(
    [(name, pa.list_(pa.string())) for name in STRING_COLUMNS]
    + [(name, pa.list_(pa.int32())) for name in INTEGER_COLUMNS]
)
_SPANS = ("start", "end", "head")
SCHEMA = pa.schema(
    [
        ("doc_id", pa.string()),
        ("date", pa.string()),
        ("mentions", pa.struct([(name, pa.list_(pa.int32())) for name in _SPANS])),
        ("antecedents", pa.list_(pa.list_(pa.int32()))),
        ("scores", pa.list_(pa.list_(pa.float64()))),
        ("tokens", _TOKENS),
        ("tokens_extra", pa.string()),  # JSON object of further token lists
        ("gold", pa.list_(pa.string())),  # each entity id as JSON, so that 1 and "1" stay apart
        ("metadata", pa.string()),  # JSON object of everything else
    ],
    metadata={"corefsample.version": str(VERSION)},
)
_ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_SHOWN = 60

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Rejected:
    """A document set aside: where it stood, what it broke, and its text.

    Attributes
    ----------
    source
        File name, or "-" for standard input.
    place
        "line 12" or "row 7", counted from 1.
    doc_id
        Empty where it could not be read.
    reason
        Field, rule and value found, in one line.
    document
        The line as it came, or the row as JSON.
    """

    source: str
    place: str
    doc_id: str
    reason: str
    document: str

    def message(self) -> str:
        """One line: file, place, doc_id, reason."""
        named = f" doc_id {self.doc_id!r}:" if self.doc_id else ""
        return f"{self.source}: {self.place}:{named} {self.reason}"


def shown(value: object) -> str:
    """Represent a value in at most some 60 characters."""
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _flat(lists: pa.ListArray) -> tuple[Ints, pa.Array]:
    """Bounds (n + 1) of each list and the values of all; a null list is empty."""
    values = lists.flatten()
    if lists.null_count:
        lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False)
        return np.concatenate(([0], np.cumsum(lengths, dtype=np.int64))), values
    offsets = lists.offsets.to_numpy().astype(np.int64)
    return offsets - offsets[0], values


class DocumentBatch:
    """Valid documents as columns; flat arrays are computed at first use and kept.

    Attributes
    ----------
    source
        Where the documents came from.
    table
        A record batch of `SCHEMA`, every row valid.
    places
        Line or row of each document, counted from 1.
    """

    def __init__(self, source: str, table: pa.RecordBatch, places: Sequence[str]) -> None:
        self.source = source
        self.table = table
        self.places = places

    def __len__(self) -> int:
        return int(self.table.num_rows)

    @cached_property
    def doc_ids(self) -> list[str]:
        """doc_id of each document."""
        ids: list[str] = self.table.column("doc_id").to_pylist()
        return ids

    @cached_property
    def dates(self) -> npt.NDArray[np.datetime64]:
        """datetime64[D] of each document, NaT where it has none."""
        return np.array(self.table.column("date").to_pylist(), dtype="datetime64[D]")

    @cached_property
    def mentions(self) -> tuple[Ints, npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """Bounds of each document's mentions, and start, end and head of all."""
        columns = [_flat(part) for part in self.table.column("mentions").flatten()]
        starts, ends, heads = (values.to_numpy() for _, values in columns)
        return columns[0][0], starts, ends, heads

    @cached_property
    def candidates(self) -> tuple[Ints, npt.NDArray[np.int32], npt.NDArray[np.float64]]:
        """Bounds of each mention's candidates, and candidates and scores of all."""
        _, rows = _flat(self.table.column("antecedents"))
        indptr, antecedents = _flat(rows)
        _, score_rows = _flat(self.table.column("scores"))
        _, scores = _flat(score_rows)
        return indptr, antecedents.to_numpy(), scores.to_numpy()

    @cached_property
    def has_tokens(self) -> npt.NDArray[np.bool_]:
        """Whether each document has tokens."""
        valid: npt.NDArray[np.bool_] = self.table.column("tokens").is_valid().to_numpy(zero_copy_only=False)
        return valid

    @cached_property
    def token_bounds(self) -> Ints:
        """Bounds of each document's tokens in the flat token columns."""
        return _flat(self._token_lists["text"])[0]

    @cached_property
    def _token_lists(self) -> dict[str, pa.ListArray]:
        return dict(zip((*STRING_COLUMNS, *INTEGER_COLUMNS), self.table.column("tokens").flatten(), strict=True))

    def token_strings(self, name: str) -> pa.StringArray:
        """Flat strings of one token column: text, lemma, upos or dep."""
        return _flat(self._token_lists[name])[1]

    def token_integers(self, name: str) -> npt.NDArray[np.int32]:
        """Flat integers of one token column: head or sent."""
        flat: npt.NDArray[np.int32] = _flat(self._token_lists[name])[1].to_numpy()
        return flat

    def take(self, rows: npt.ArrayLike) -> DocumentBatch:
        """Return a batch of these documents alone."""
        chosen = np.asarray(rows, dtype=np.int64)
        return DocumentBatch(self.source, self.table.take(pa.array(chosen)), [self.places[r] for r in chosen])

    def rejected(self, row: int, reason: str) -> Rejected:
        """Describe one document as set aside for `reason`."""
        line = msgspec.json.encode(to_json(self.table, row)).decode()
        return Rejected(self.source, self.places[row], self.doc_ids[row] or "", reason, line)

    def antecedents(self, row: int) -> AntecedentDistribution:
        """Distribution over antecedents of one document."""
        indptr, antecedents, scores = self.candidates
        first, last = self.mentions[0][row], self.mentions[0][row + 1]
        rows = slice(indptr[first], indptr[last])
        starts = indptr[first : last + 1] - indptr[first]
        return AntecedentDistribution._from_valid(starts, antecedents[rows].copy(), scores[rows].copy())

    def spans(self, row: int) -> npt.NDArray[np.int32]:
        """Mentions of one document: int32 (n_mentions, 3)."""
        bounds, *columns = self.mentions
        rows = slice(bounds[row], bounds[row + 1])
        return np.stack([column[rows] for column in columns], axis=1)

    def tokens(self, row: int) -> Tokens | None:
        """Tokens of one document, or None."""
        if not self.has_tokens[row]:
            return None
        strings = {name: self._token_lists[name][row].as_py() for name in STRING_COLUMNS}
        integers = {name: self._token_lists[name][row].values.to_numpy() for name in INTEGER_COLUMNS}
        extra = self.table.column("tokens_extra")[row].as_py()
        return Tokens(**strings, **integers, extra=msgspec.json.decode(extra) if extra else {})

    def document(self, row: int) -> ScoredDocument:
        """One document as a Python object."""
        date = self.table.column("date")[row].as_py()
        gold = self.table.column("gold")[row].as_py()
        metadata = self.table.column("metadata")[row].as_py()
        return ScoredDocument(
            doc_id=self.doc_ids[row],
            mentions=self.spans(row),
            antecedents=self.antecedents(row),
            date=None if date is None else datetime.date.fromisoformat(date),
            tokens=self.tokens(row),
            gold=None if gold is None else [None if g is None else msgspec.json.decode(g) for g in gold],
            metadata=msgspec.json.decode(metadata) if metadata else {},
        )


# --- checks ------------------------------------------------------------------------------------------------


def checked(
    source: str, table: pa.RecordBatch, places: Sequence[str], needs: Iterable[str] = ()
) -> tuple[DocumentBatch, dict[int, str]]:
    """Set aside the documents that break a rule of the format.

    Parameters
    ----------
    source, table, places
        As of `DocumentBatch`, not yet known to be valid.
    needs
        Fields that must not be absent: "date", "tokens", "gold".

    Returns
    -------
    batch, reasons
        The valid documents, and for each other row of `table` the first rule that it breaks.
    """
    batch = DocumentBatch(source, table, places)
    reasons = _shape_faults(batch, tuple(needs))
    rows = [row for row in range(len(batch)) if row not in reasons]
    if reasons:
        batch = batch.take(rows)
    faults = _content_faults(batch)
    if faults:
        reasons |= {rows[row]: reason for row, reason in faults.items()}
        batch = batch.take([row for row in range(len(batch)) if row not in faults])
    return batch, reasons


def _shape_faults(batch: DocumentBatch, needs: tuple[str, ...]) -> dict[int, str]:
    """Faults that would put the flat columns out of step: absent fields, nulls, lists of unlike length."""
    table, faults = batch.table, {}

    def refuse(rows: npt.ArrayLike, say: Any) -> None:
        for row in np.asarray(rows).tolist():
            if row not in faults:
                faults[row] = say(row)

    for row, doc_id in enumerate(batch.doc_ids):
        if not doc_id:
            faults[row] = f"doc_id must be a non-empty string, got {doc_id!r}"
    for row, date in enumerate(table.column("date").to_pylist()):
        if row not in faults and (date is not None or "date" in needs):
            reason = _date_fault(date)
            if reason:
                faults[row] = reason
    for name in ("mentions", "antecedents", "scores", *(n for n in needs if n != "date")):
        column = table.column(name)
        if column.null_count:
            refuse(np.flatnonzero(column.is_null()), lambda _, name=name: f"{name} must be there, got none")
    spans = dict(zip(_SPANS, table.column("mentions").flatten(), strict=True))
    for name in _SPANS[1:]:
        _refuse_unlike(refuse, spans["start"], spans[name], f"mentions.{name}", "mentions.start")
    for name in ("antecedents", "scores"):
        _refuse_unlike(refuse, spans["start"], table.column(name), name, "mentions")
    tokens = batch._token_lists
    for name in (*STRING_COLUMNS[1:], *INTEGER_COLUMNS):
        _refuse_unlike(refuse, tokens["text"], tokens[name], f"tokens.{name}", "tokens.text")
    _refuse_unlike(refuse, spans["start"], table.column("gold"), "gold", "mentions", where=table.column("gold"))
    for name, column in [*((f"mentions.{n}", c) for n, c in spans.items()), *((f"tokens.{n}", c) for n, c in tokens.items())]:
        _refuse_nulls(refuse, column, name)
    for name in ("antecedents", "scores"):
        _refuse_nulls(refuse, table.column(name), name)
        _refuse_inner_nulls(refuse, table.column(name), name)
    _refuse_unlike_rows(refuse, table, [row for row in range(len(batch)) if row not in faults])
    return faults


def _date_fault(date: str | None) -> str | None:
    if date is None:
        return "date must be there, got none"
    try:
        if _ISO_DATE.fullmatch(date):
            datetime.date.fromisoformat(date)
            return None
    except ValueError:
        pass
    return f"date must be an ISO date (YYYY-MM-DD), got {shown(date)}"


def _lengths(lists: pa.ListArray) -> Ints:
    lengths: Ints = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False).astype(np.int64)
    return lengths


def _refuse_unlike(
    refuse: Any, model: pa.ListArray, lists: pa.ListArray, name: str, like: str, where: pa.Array = None
) -> None:
    wanted, found = _lengths(model), _lengths(lists)
    unlike = wanted != found
    if where is not None:
        unlike &= where.is_valid().to_numpy(zero_copy_only=False)
    refuse(
        np.flatnonzero(unlike),
        lambda row: f"{name} must be as long as {like} ({wanted[row]}), got {found[row]}",
    )


def _refuse_nulls(refuse: Any, lists: pa.ListArray, name: str) -> None:
    bounds, values = _flat(lists)
    if values.null_count:
        places = np.flatnonzero(values.is_null())
        rows = np.searchsorted(bounds, places, side="right") - 1
        first = dict(zip(rows[::-1].tolist(), places[::-1].tolist(), strict=True))
        refuse(sorted(first), lambda row: f"{name}[{first[row] - bounds[row]}] must not be null, got null")


def _refuse_inner_nulls(refuse: Any, nested: pa.ListArray, name: str) -> None:
    bounds, rows = _flat(nested)
    inner, values = _flat(rows)
    if values.null_count:
        mentions = np.searchsorted(inner, np.flatnonzero(values.is_null()), side="right") - 1
        for m in mentions.tolist():
            row = int(np.searchsorted(bounds, m, side="right")) - 1
            refuse([row], lambda row, m=m: f"{name}[{m - bounds[row]}] must not hold null, got null")


def _refuse_unlike_rows(refuse: Any, table: pa.RecordBatch, rows: list[int]) -> None:
    """Refuse documents whose scores are not as long as the antecedents, mention by mention."""
    part = table if len(rows) == table.num_rows else table.take(pa.array(rows, pa.int64()))
    bounds, antecedents = _flat(part.column("antecedents"))
    wanted, found = _lengths(antecedents), _lengths(_flat(part.column("scores"))[1])
    for m in np.flatnonzero(wanted != found).tolist():
        row = int(np.searchsorted(bounds, m, side="right")) - 1
        i = m - bounds[row]
        refuse(
            [rows[row]],
            lambda _, i=i, m=m: f"scores[{i}] must be as long as antecedents[{i}] ({wanted[m]}), got {found[m]}",
        )


def _content_faults(batch: DocumentBatch) -> dict[int, str]:
    """Faults of values, found by the kernels in one pass over the flat columns."""
    n = len(batch)
    bounds, starts, ends, heads = batch.mentions
    indptr, antecedents, scores = batch.candidates
    token_bounds = batch.token_bounds
    token_heads, sents = batch.token_integers("head"), batch.token_integers("sent")
    n_tokens = np.where(batch.has_tokens, np.diff(token_bounds), -1)
    faults: dict[int, str] = {}

    def note(codes: npt.NDArray[np.int8], describe: Any) -> None:
        for row in np.flatnonzero(codes).tolist():
            faults.setdefault(row, describe(row))

    codes, places = np.zeros(n, np.int8), np.zeros(n, np.int64)
    _check_kernels.check_mentions(bounds, starts, ends, heads, n_tokens, codes, places)
    note(
        codes,
        lambda d: _faults.describe_mention(
            codes[d], places[d], starts, ends, heads, int(n_tokens[d]), int(bounds[d])
        ),
    )
    link_codes, link_places = np.zeros(n, np.int8), np.zeros(n, np.int64)
    _check_kernels.check_antecedents(bounds, indptr, antecedents, scores, link_codes, link_places)
    note(
        link_codes,
        lambda d: _faults.describe_candidate(
            link_codes[d], link_places[d], indptr, antecedents, scores, int(bounds[d])
        ),
    )
    token_codes, token_places = np.zeros(n, np.int8), np.zeros(n, np.int64)
    _check_kernels.check_parses(token_bounds, token_heads, sents, token_codes, token_places)
    note(
        token_codes,
        lambda d: _faults.describe_token(
            token_codes[d], token_places[d], token_heads, sents, int(n_tokens[d]), int(token_bounds[d])
        ),
    )
    return faults


# --- to and from Python ------------------------------------------------------------------------------------


def to_json(table: pa.RecordBatch, row: int) -> dict[str, Any]:
    """One row as the object of a JSON line."""
    fields: dict[str, Any] = {name: table.column(name)[row].as_py() for name in table.schema.names}
    document: dict[str, Any] = {"version": VERSION, "doc_id": fields["doc_id"]}
    if fields["date"] is not None:
        document["date"] = fields["date"]
    if fields["metadata"]:
        document |= msgspec.json.decode(fields["metadata"])
    if fields["tokens"] is not None:
        document["tokens"] = dict(fields["tokens"])
        if fields["tokens_extra"]:
            document["tokens"] |= msgspec.json.decode(fields["tokens_extra"])
    spans = fields["mentions"] or {}
    document["mentions"] = list(zip(*(spans.get(name) or [] for name in _SPANS), strict=False))
    document["antecedents"] = fields["antecedents"]
    document["scores"] = fields["scores"]
    if fields["gold"] is not None:
        document["gold"] = [None if g is None else msgspec.json.decode(g) for g in fields["gold"]]
    return document


def from_documents(documents: Sequence[ScoredDocument]) -> DocumentBatch:
    """Turn Python documents, valid as they are, into one batch."""

    def lists(parts: Sequence[npt.NDArray[Any]], kind: pa.DataType) -> pa.ListArray:
        offsets = np.concatenate(([0], np.cumsum([len(part) for part in parts], dtype=np.int32)))
        values = np.concatenate(parts) if parts else np.zeros(0)
        return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(values, kind))

    distributions = [document.antecedents for document in documents]
    mention_bounds = np.concatenate(([0], np.cumsum([d.n_mentions for d in documents], dtype=np.int32)))
    widths = [np.diff(d.indptr) for d in distributions]
    indptr = np.concatenate(([0], np.cumsum(np.concatenate(widths) if widths else [], dtype=np.int32)))

    def nested(parts: Sequence[npt.NDArray[Any]], kind: pa.DataType) -> pa.ListArray:
        values = pa.array(np.concatenate(parts) if parts else np.zeros(0), kind)
        inner = pa.ListArray.from_arrays(pa.array(indptr, pa.int32()), values)
        return pa.ListArray.from_arrays(pa.array(mention_bounds, pa.int32()), inner)

    tokens = [d.tokens for d in documents]
    missing = pa.array([t is None for t in tokens], pa.bool_())
    strings = [pa.array([[] if t is None else list(getattr(t, n)) for t in tokens], pa.list_(pa.string())) for n in STRING_COLUMNS]
    empty = np.zeros(0, np.int32)
    integers = [lists([empty if t is None else getattr(t, n) for t in tokens], pa.int32()) for n in INTEGER_COLUMNS]
    columns = [
        pa.array([d.doc_id for d in documents], pa.string()),
        pa.array([None if d.date is None else d.date.isoformat() for d in documents], pa.string()),
        pa.StructArray.from_arrays(
            [lists([d.mentions[:, c] for d in documents], pa.int32()) for c in range(3)], _SPANS
        ),
        nested([d.antecedents for d in distributions], pa.int32()),
        nested([d.scores for d in distributions], pa.float64()),
        pa.StructArray.from_arrays([*strings, *integers], fields=list(_TOKENS), mask=missing),
        pa.array([_json_object(t.extra if t else {}) for t in tokens], pa.string()),
        pa.array([None if d.gold is None else gold_texts(d.gold) for d in documents], pa.list_(pa.string())),
        pa.array([_json_object(d.metadata) for d in documents], pa.string()),
    ]
    table = pa.RecordBatch.from_arrays(columns, schema=SCHEMA)
    return DocumentBatch("documents", table, [f"document {i + 1}" for i in range(len(documents))])


def gold_texts(gold: Iterable[int | str | None]) -> list[str | None]:
    """Entity ids as JSON texts."""
    return [None if g is None else str(g) if isinstance(g, int) else msgspec.json.encode(g).decode() for g in gold]


def _json_object(content: Any) -> str | None:
    return msgspec.json.encode(dict(content)).decode() if content else None
