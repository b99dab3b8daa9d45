"""Many documents as columns: one Arrow schema behind every file format.

Readers turn lines or rows into a `DocumentBatch` with a table of `SCHEMA`, and `checked` takes out the documents that
break a rule. Jobs scan the flat arrays of the batch before any document becomes a Python object.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from corefsample._arrays import Bools, Floats, Ints, Ints32
from corefsample.coreference import AntecedentDistribution
from corefsample.documents._rejected import Fault, Rejected
from corefsample.documents._scored import ScoredDocument
from corefsample.documents._tokens import INTEGER_COLUMNS, STRING_COLUMNS, TOKEN_COLUMNS, Tokens, counted

VERSION = 1
_WIDE = 4096  # bytes of a document that is copied faster as a slice than with others


def _tokens(strings: pa.DataType) -> pa.StructType:
    columns = [(name, pa.list_(strings)) for name in STRING_COLUMNS]
    return pa.struct(columns + [(name, pa.list_(pa.int32())) for name in INTEGER_COLUMNS])


_TOKENS = _tokens(pa.string())
SPAN_COLUMNS = ("start", "end", "head")
SCHEMA = pa.schema(
    [
        ("doc_id", pa.string()),
        ("date", pa.string()),
        ("mentions", pa.struct([(name, pa.list_(pa.int32())) for name in SPAN_COLUMNS])),
        ("antecedents", pa.list_(pa.list_(pa.int32()))),
        ("scores", pa.list_(pa.list_(pa.float64()))),
        ("tokens", _TOKENS),
        ("tokens_extra", pa.string()),  # JSON object of further token lists
        ("gold", pa.list_(pa.string())),  # each entity id as JSON, so that 1 and "1" stay apart
        ("metadata", pa.string()),  # JSON object of everything else
    ],
    metadata={"corefsample.version": str(VERSION)},
)
# The same with the strings of tokens as Arrow dictionaries, as some readers provide them.
_N_TOKENS = SCHEMA.get_field_index("tokens")
ENCODED_SCHEMA = SCHEMA.set(_N_TOKENS, pa.field("tokens", _tokens(pa.dictionary(pa.int32(), pa.string()))))


def flat_lists(lists: pa.ListArray) -> tuple[Ints, pa.Array]:
    """Bounds (n + 1) of each list and the values of all; a null list is empty."""
    values = lists.flatten()
    if lists.null_count:
        lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False)
        return np.concatenate(([0], np.cumsum(lengths, dtype=np.int64))), values
    offsets = lists.offsets.to_numpy().astype(np.int64)
    return offsets - offsets[0], values


class DocumentBatch:
    """Documents as columns; flat arrays are computed at first use and kept.

    Attributes
    ----------
    source
        File of the documents, or "-" for standard input.
    columns
        A record batch of `SCHEMA`, or of `ENCODED_SCHEMA`.
    unit, places
        What the documents of the file are counted by ("line", "row"), and the number of each, from 1.
    """

    def __init__(self, source: str, table: pa.RecordBatch, unit: str, places: Sequence[int]) -> None:
        self.source = source
        self.columns = table
        self.unit = unit
        self.places = places
        self._integers: dict[str, Ints32] = {}
        self._tokens: dict[int, Tokens] = {}
        self._words: dict[str, tuple[list[str], Ints]] = {}
        self._strings: dict[str, npt.NDArray[np.object_]] = {}

    def __repr__(self) -> str:
        bounds = f", {self.unit} {self.places[0]} to {self.places[-1]}" if len(self) else ""
        return f"DocumentBatch({counted(len(self), 'document')} of {self.source}{bounds})"

    def __len__(self) -> int:
        return int(self.columns.num_rows)

    @cached_property
    def table(self) -> pa.RecordBatch:
        """The documents as a record batch of `SCHEMA`."""
        return self.columns if self.columns.schema.equals(SCHEMA) else self.columns.cast(SCHEMA)

    @cached_property
    def doc_ids(self) -> list[str]:
        """doc_id of each document."""
        ids: list[str] = self.columns.column("doc_id").to_pylist()
        return ids

    @cached_property
    def dates(self) -> npt.NDArray[np.datetime64]:
        """datetime64[D] of each document, NaT where it has none."""
        return np.array(self.columns.column("date").to_pylist(), dtype="datetime64[D]")

    @cached_property
    def mentions(self) -> tuple[Ints, Ints32, Ints32, Ints32]:
        """Bounds of each document's mentions, and start, end and head of all."""
        columns = [flat_lists(part) for part in self.columns.column("mentions").flatten()]
        starts, ends, heads = (values.to_numpy() for _, values in columns)
        return columns[0][0], starts, ends, heads

    @cached_property
    def candidates(self) -> tuple[Ints, Ints32, Floats]:
        """Bounds of each mention's candidates, and candidates and scores of all."""
        _, rows = flat_lists(self.columns.column("antecedents"))
        indptr, antecedents = flat_lists(rows)
        _, score_rows = flat_lists(self.columns.column("scores"))
        _, scores = flat_lists(score_rows)
        return indptr, antecedents.to_numpy(), scores.to_numpy()

    @cached_property
    def has_tokens(self) -> Bools:
        """Whether each document has tokens."""
        valid: Bools = self.columns.column("tokens").is_valid().to_numpy(zero_copy_only=False)
        return valid

    @cached_property
    def token_bounds(self) -> Ints:
        """Bounds of each document's tokens in the flat token columns."""
        return flat_lists(self.token_lists["text"])[0]

    @cached_property
    def token_lists(self) -> dict[str, pa.ListArray]:
        """Lists of each token column, empty where a document has no tokens."""
        return dict(zip(TOKEN_COLUMNS, self.columns.column("tokens").flatten(), strict=True))

    def token_strings(self, name: str) -> pa.DictionaryArray:
        """Flat strings of one token column: text, lemma, upos or dep."""
        strings = flat_lists(self.token_lists[name])[1]
        return strings if isinstance(strings, pa.DictionaryArray) else strings.dictionary_encode()

    def token_words(self, name: str) -> tuple[list[str], Ints]:
        """Different strings, among them all of one token column, and the index of each token's string."""
        if name not in self._words:
            encoded = self.token_strings(name)
            # NumPy would convert narrower indices at each use.
            self._words[name] = encoded.dictionary.to_pylist(), encoded.indices.to_numpy().astype(np.int64)
        return self._words[name]

    def token_integers(self, name: str) -> Ints32:
        """Flat integers of one token column: head or sent."""
        if name not in self._integers:
            self._integers[name] = flat_lists(self.token_lists[name])[1].to_numpy()
        return self._integers[name]

    def with_columns(self, columns: pa.RecordBatch) -> DocumentBatch:
        """The same documents with other columns."""
        return DocumentBatch(self.source, columns, self.unit, self.places)

    def take(self, rows: npt.ArrayLike) -> DocumentBatch:
        """Return a batch of these documents only."""
        chosen = np.asarray(rows, dtype=np.int64)
        places = [self.places[row] for row in chosen]
        return DocumentBatch(self.source, _rows_of(self.columns, chosen), self.unit, places)

    def rejected(self, row: int, fault: str | Fault) -> Rejected:
        """Describe one document as rejected for a reason."""
        reason, hint = (fault, None) if isinstance(fault, str) else fault
        line = msgspec.json.encode(to_json(self.columns, row)).decode()
        return Rejected(self.source, self.unit, self.places[row], self.doc_ids[row] or "", reason, line, hint)

    def antecedents(self, row: int) -> AntecedentDistribution:
        """Distribution over antecedents of one document."""
        indptr, antecedents, scores = self.candidates
        first, last = self.mentions[0][row], self.mentions[0][row + 1]
        rows = slice(indptr[first], indptr[last])
        starts = indptr[first : last + 1] - indptr[first]
        return AntecedentDistribution.from_csr(starts, antecedents[rows], scores[rows])

    def spans(self, row: int) -> Ints32:
        """Mentions of one document: int32 (n_mentions, 3)."""
        bounds, *columns = self.mentions
        rows = slice(bounds[row], bounds[row + 1])
        return np.stack([column[rows] for column in columns], axis=1)

    def tokens(self, row: int) -> Tokens | None:
        """Tokens of one document, or None."""
        if not self.has_tokens[row]:
            return None
        if row not in self._tokens:
            self._tokens[row] = self._made_tokens(row)
        return self._tokens[row]

    def _made_tokens(self, row: int) -> Tokens:
        part = slice(*self.token_bounds[row : row + 2].tolist())
        columns: dict[str, Any] = {}
        for name in STRING_COLUMNS:
            words, indices = self.token_words(name)
            if name not in self._strings:
                self._strings[name] = np.array(words, np.object_)
            columns[name] = self._strings[name].take(indices[part]).tolist()
        for name in INTEGER_COLUMNS:
            columns[name] = self.token_integers(name)[part]
        extra = self.columns.column("tokens_extra")[row].as_py()
        return Tokens.from_valid(**columns, extra=msgspec.json.decode(extra) if extra else {})

    def document(self, row: int) -> ScoredDocument:
        """One document as a Python object."""
        date = self.columns.column("date")[row].as_py()
        gold = self.columns.column("gold")[row].as_py()
        metadata = self.columns.column("metadata")[row].as_py()
        return ScoredDocument(
            doc_id=self.doc_ids[row],
            mentions=self.spans(row),
            antecedents=self.antecedents(row),
            date=None if date is None else datetime.date.fromisoformat(date),
            tokens=self.tokens(row),
            gold=None if gold is None else [None if g is None else msgspec.json.decode(g) for g in gold],
            metadata=msgspec.json.decode(metadata) if metadata else {},
        )


def _rows_of(table: pa.RecordBatch, rows: Ints) -> pa.RecordBatch:
    """Copies of some rows of a table, in the order given."""
    starts = np.flatnonzero(np.diff(rows, prepend=rows[:1]) != 1)  # of runs of consecutive rows
    # Arrow takes the values of nested lists one by one, but copies those of several slices together; one alone would
    # be no copy, and keep the whole table in memory.
    if len(starts) < 2 or table.nbytes < _WIDE * table.num_rows:
        return table.take(pa.array(rows))
    slices = [table.slice(int(rows[i]), j - i) for i, j in zip(starts, [*starts[1:], len(rows)], strict=True)]
    (joined,) = pa.Table.from_batches(slices).combine_chunks().to_batches()
    return joined


# --- to and from Python ------------------------------------------------------------------------------------


def to_json(table: pa.RecordBatch, row: int) -> dict[str, Any]:
    """One row as the object of a JSON line."""
    fields: dict[str, Any] = {name: table.column(name)[row].as_py() for name in table.schema.names}
    document: dict[str, Any] = {"version": VERSION, "doc_id": fields["doc_id"]}
    if fields["date"] is not None:
        document["date"] = fields["date"]
    if fields["metadata"]:
        document |= _members("metadata", fields["metadata"])
    if fields["tokens"] is not None:
        document["tokens"] = dict(fields["tokens"])
        if fields["tokens_extra"]:
            document["tokens"] |= _members("tokens_extra", fields["tokens_extra"])
    spans = fields["mentions"] or {}
    document["mentions"] = list(zip(*(spans.get(name) or [] for name in SPAN_COLUMNS), strict=False))
    document["antecedents"] = fields["antecedents"]
    document["scores"] = fields["scores"]
    if fields["gold"] is not None:
        document["gold"] = [None if g is None else _loaded(g) for g in fields["gold"]]
    return document


def _loaded(text: str) -> Any:
    """Decode JSON within a column; invalid JSON, of a document rejected for it, stays text."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return text


def _members(name: str, text: str) -> dict[str, Any]:
    content = _loaded(text)
    return content if isinstance(content, dict) else {name: content}


def from_documents(documents: Sequence[ScoredDocument]) -> DocumentBatch:
    """Turn Python documents into one batch."""

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
    words = pa.list_(pa.string())
    strings = [pa.array([[] if t is None else list(getattr(t, n)) for t in tokens], words) for n in STRING_COLUMNS]
    empty = np.zeros(0, np.int32)
    integers = [lists([empty if t is None else getattr(t, n) for t in tokens], pa.int32()) for n in INTEGER_COLUMNS]
    columns = [
        pa.array([d.doc_id for d in documents], pa.string()),
        pa.array([None if d.date is None else d.date.isoformat() for d in documents], pa.string()),
        pa.StructArray.from_arrays(
            [lists([d.mentions[:, c] for d in documents], pa.int32()) for c in range(3)], SPAN_COLUMNS
        ),
        nested([d.antecedents for d in distributions], pa.int32()),
        nested([d.scores for d in distributions], pa.float64()),
        pa.StructArray.from_arrays([*strings, *integers], fields=list(_TOKENS), mask=missing),
        pa.array([_json_object(t.extra if t else {}) for t in tokens], pa.string()),
        pa.array([None if d.gold is None else gold_texts(d.gold) for d in documents], pa.list_(pa.string())),
        pa.array([_json_object(d.metadata) for d in documents], pa.string()),
    ]
    table = pa.RecordBatch.from_arrays(columns, schema=SCHEMA)
    return DocumentBatch("documents", table, "document", range(1, len(documents) + 1))


def gold_texts(gold: Iterable[int | str | None]) -> list[str | None]:
    """Entity ids as JSON texts."""
    return [None if g is None else str(g) if isinstance(g, int) else msgspec.json.encode(g).decode() for g in gold]


def _json_object(content: Any) -> str | None:
    return msgspec.json.encode(dict(content)).decode() if content else None
