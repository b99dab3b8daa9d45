"""Many documents as columns; a document with several parses is several rows, one after another.

Readers turn lines or rows into a `DocumentBatch` with a table of `SCHEMA`, and `checked` removes the documents that
break a rule. Jobs scan the flat arrays of the batch before any document becomes a Python object.
"""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corefsample._arrays import Bools, Floats, Ints, Ints32
from corefsample.coreference._antecedents import AntecedentDistribution
from corefsample.documents._faults import Fault, Rejected, shares_fault
from corefsample.documents._scored import ScoredDocument
from corefsample.documents._tokens import INTEGER_COLUMNS, STRING_COLUMNS, TOKEN_COLUMNS, Tokens, counted

VERSION = 1  # of the format
SPAN_COLUMNS = ("start", "end", "head")
GOLD = pa.list_(pa.string())

SCHEMA = pa.schema(
    [
        ("doc_id", pa.string()),
        ("date", pa.string()),
        ("parse", pa.int32()),
        ("samples", pa.list_(pa.int32())),
        ("mentions", pa.struct([(name, pa.list_(pa.int32())) for name in SPAN_COLUMNS])),
        ("antecedents", pa.list_(pa.list_(pa.int32()))),
        ("scores", pa.list_(pa.list_(pa.float64()))),
        (
            "tokens",
            pa.struct(
                [(name, pa.list_(pa.string())) for name in STRING_COLUMNS]
                + [(name, pa.list_(pa.int32())) for name in INTEGER_COLUMNS]
            ),
        ),
        ("tokens_extra", pa.string()),  # JSON object of further token lists
        ("gold", GOLD),  # each entity id as JSON, so that 1 and "1" stay apart
        ("metadata", pa.string()),  # JSON object of everything else
    ],
    metadata={"corefsample.version": str(VERSION)},
)


def flat_lists(lists: pa.ListArray) -> tuple[Ints, pa.Array]:
    """Bounds (n + 1) of the lists, and the values of all lists; a null list is empty."""
    values = lists.flatten()
    if lists.null_count:
        lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False)
        return np.concatenate(([0], np.cumsum(lengths, dtype=np.int64))), values
    offsets = lists.offsets.to_numpy().astype(np.int64)
    return offsets - offsets[0], values


@dataclass(frozen=True, eq=False, repr=False)
class DocumentBatch:
    """Documents as columns; flat arrays are computed at first use and kept.

    Attributes
    ----------
    source
        File of the documents, or "-" for standard input.
    table
        Record batch of `SCHEMA`; a batch of a Parquet file has the types of the file before it is cast.
    unit, places
        Unit by which documents of the file are counted ("line" or "row"), and number of each document in the file, from
        1.
    """

    source: str
    table: pa.RecordBatch
    unit: str
    places: Sequence[int]
    _tokens: dict[int, Tokens] = field(default_factory=dict, init=False)
    _words: dict[str, tuple[np.typing.NDArray[np.object_], Ints]] = field(default_factory=dict, init=False)

    @classmethod
    def of(cls, documents: Sequence[ScoredDocument]) -> Self:
        """Make a batch from Python documents."""
        return cls.of_rows("documents", list(map(_row, documents)), "document", range(1, len(documents) + 1))

    @classmethod
    def of_rows(cls, source: str, rows: Sequence[Mapping[str, Any]], unit: str, places: Sequence[int]) -> Self:
        """Make a batch from decoded documents.

        Parameters
        ----------
        rows
            Values of each document by column of `SCHEMA`: mentions as rows of start, end and head, gold entities as
            they were decoded. Absent columns are null.
        source, unit, places
            File of the documents, and how its documents are counted: see the attributes of `DocumentBatch`.
        """
        spans = [np.array(row["mentions"], np.int32).reshape(-1, 3) for row in rows]
        bounds = pa.array(np.concatenate(([0], np.cumsum(list(map(len, spans)), dtype=np.int32))), pa.int32())
        flat = np.concatenate([*spans, np.zeros((0, 3), np.int32)])
        mentions = pa.StructArray.from_arrays(
            [pa.ListArray.from_arrays(bounds, pa.array(flat[:, c])) for c in range(3)], SPAN_COLUMNS
        )
        gold = [None if row.get("gold") is None else list(map(_gold_text, row["gold"])) for row in rows]
        columns = {"mentions": mentions, "gold": pa.array(gold, GOLD)}
        for column in SCHEMA:
            if column.name not in columns:
                columns[column.name] = pa.array([row.get(column.name) for row in rows], column.type)
        table = pa.RecordBatch.from_arrays([columns[name] for name in SCHEMA.names], schema=SCHEMA)
        return cls(source, table, unit, places)

    def __repr__(self) -> str:
        bounds = f", {self.unit} {self.places[0]} to {self.places[-1]}" if len(self) else ""
        return f"DocumentBatch({counted(len(self), 'document')} of {self.source}{bounds})"

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def to_json(self, row: int) -> dict[str, Any]:
        """One row as the object of a JSON line; invalid JSON of a column, whose document is rejected, stays text."""
        fields: dict[str, Any] = {name: self.table.column(name)[row].as_py() for name in self.table.schema.names}
        document: dict[str, Any] = {"version": VERSION, "doc_id": fields["doc_id"]}
        if fields["date"] is not None:
            document["date"] = fields["date"]
        if fields["samples"] is not None:
            document |= {"parse": fields["parse"], "samples": fields["samples"]}
        members = {name: _loaded(fields[name]) if fields[name] else {} for name in ("metadata", "tokens_extra")}
        members = {name: value if isinstance(value, dict) else {name: value} for name, value in members.items()}
        document |= members["metadata"]
        if fields["tokens"] is not None:
            document["tokens"] = fields["tokens"] | members["tokens_extra"]
        spans = fields["mentions"] or {}
        document["mentions"] = list(zip(*(spans.get(name) or [] for name in SPAN_COLUMNS), strict=False))
        document |= {name: fields[name] for name in ("antecedents", "scores")}
        if fields["gold"] is not None:
            document["gold"] = [None if g is None else _loaded(g) for g in fields["gold"]]
        return document

    @cached_property
    def doc_ids(self) -> list[str]:
        """doc_id of each document."""
        ids: list[str] = self.table.column("doc_id").to_pylist()
        return ids

    @cached_property
    def dates(self) -> np.typing.NDArray[np.datetime64]:
        """Date of each document, datetime64[D]; NaT if a document has no date."""
        return np.array(self.table.column("date").to_pylist(), dtype="datetime64[D]")

    @cached_property
    def firsts(self) -> Ints:
        """int64 (n_documents,): the row with which each document begins; a document with several parses has several."""
        samples = self.table.column("samples")
        if samples.null_count == len(self):
            return np.arange(len(self))
        has_parses = samples.is_valid().to_numpy(zero_copy_only=False)
        ids = self.doc_ids
        continues = [has_parses[r] and has_parses[r - 1] and ids[r] == ids[r - 1] for r in range(1, len(self))]
        return np.flatnonzero([True, *np.logical_not(continues)])

    def parses(self, row: int) -> range:
        """Rows of the document that begins in a row: one for each of its parses."""
        return self._parses[row]

    @cached_property
    def _parses(self) -> dict[int, range]:
        bounds = [*self.firsts.tolist(), len(self)]
        return {first: range(first, end) for first, end in itertools.pairwise(bounds)}

    def share(self, row: int) -> tuple[float, float]:
        """Part of a document's samples that have the parse of a row: from and to, in [0, 1]; (0, 1) for one parse."""
        rows = self.parses(int(self.firsts[np.searchsorted(self.firsts, row, side="right") - 1]))
        if len(rows) == 1:
            return 0.0, 1.0
        samples = self.table.column("samples")
        (first, end), (_, total) = samples[row].as_py(), samples[rows[-1]].as_py()
        return first / total, end / total

    def weight(self, row: int) -> float:
        """Part of a document's samples that have the parse of a row, in [0, 1]; 1 for one parse."""
        first, end = self.share(row)
        return end - first

    def parse(self, row: int) -> int:
        """Number of the parse of a row, which selects its random stream; 0 for a document with one parse."""
        return int(self.table.column("parse")[row].as_py() or 0)

    def parses_fault(self, row: int) -> str | None:
        """Describe how the parses of the document that begins in a row do not belong together, or return None."""
        rows, samples = self.parses(row), self.table.column("samples")
        if not samples[row].is_valid:
            return None
        for name, column in {"date": self.table.column("date"), "tokens.text": self.token_lists["text"]}.items():
            unlike = [r for r in rows if not column.slice(r, 1).equals(column.slice(row, 1))]
            if unlike:
                rule = f"{name} must be the same in the parses of a document"
                return f"{rule}, got another in parse {self.parse(unlike[0])}"
        return shares_fault([self.parse(r) for r in rows], [samples[r].as_py() for r in rows])

    def usual_parses(self) -> DocumentBatch:
        """The first row of each document, as a document with one parse."""
        if self.table.column("samples").null_count == len(self):
            return self
        batch = self.take(self.firsts)
        table = batch.table
        for name in ("parse", "samples"):
            field = SCHEMA.field(name)
            table = table.set_column(SCHEMA.names.index(name), field, pa.nulls(len(batch), field.type))
        return replace(batch, table=table)

    @cached_property
    def mentions(self) -> tuple[Ints, Ints32, Ints32, Ints32]:
        """Bounds of each document's mentions, and start, end and head of all mentions."""
        columns = [flat_lists(column) for column in self.table.column("mentions").flatten()]
        starts, ends, heads = (values.to_numpy() for _, values in columns)
        return columns[0][0], starts, ends, heads

    @cached_property
    def candidates(self) -> tuple[Ints, Ints32, Floats]:
        """Bounds of each mention's candidates, and index and score of all candidates."""
        _, rows = flat_lists(self.table.column("antecedents"))
        indptr, antecedents = flat_lists(rows)
        _, score_rows = flat_lists(self.table.column("scores"))
        _, scores = flat_lists(score_rows)
        return indptr, antecedents.to_numpy(), scores.to_numpy()

    @cached_property
    def has_tokens(self) -> Bools:
        """True for each document that has tokens: bool (n_documents,)."""
        valid: Bools = self.table.column("tokens").is_valid().to_numpy(zero_copy_only=False)
        return valid

    @cached_property
    def token_bounds(self) -> Ints:
        """Bounds of each document's tokens in the flat token columns."""
        return flat_lists(self.token_lists["text"])[0]

    @cached_property
    def token_lists(self) -> dict[str, pa.ListArray]:
        """Lists of each token column by name; the list of a document without tokens is empty."""
        return dict(zip(TOKEN_COLUMNS, self.table.column("tokens").flatten(), strict=True))

    def token_words(self, name: str) -> tuple[np.typing.NDArray[np.object_], Ints]:
        """Distinct strings that include all strings of a token column, and the index of each token's string."""
        if name not in self._words:
            encoded = flat_lists(self.token_lists[name])[1].dictionary_encode()
            # NumPy would convert narrower indices at each use. A null is in a document that its check rejects.
            indices = encoded.indices.fill_null(-1).to_numpy().astype(np.int64)
            self._words[name] = np.array(encoded.dictionary.to_pylist(), np.object_), indices
        return self._words[name]

    @cached_property
    def token_integers(self) -> dict[str, Ints32]:
        """Flat integers of the token columns head and sent."""
        return {name: flat_lists(self.token_lists[name])[1].to_numpy() for name in INTEGER_COLUMNS}

    def take(self, rows: np.typing.ArrayLike) -> DocumentBatch:
        """Return a batch of the documents in some rows only."""
        row_indices = np.asarray(rows, dtype=np.int64)
        places = [self.places[row] for row in row_indices]
        return DocumentBatch(self.source, self.table.take(pa.array(row_indices)), self.unit, places)

    def dated(self, day: str) -> DocumentBatch:
        """Batch of the same documents, in which documents without a date have this ISO date."""
        dates = self.table.column("date")
        if not dates.null_count:
            return self
        names = self.table.schema.names
        return replace(self, table=self.table.set_column(names.index("date"), "date", pc.fill_null(dates, day)))

    def place(self, row: int) -> str:
        """Place of one document in messages: its file, line or row, and doc_id; only its doc_id if made in Python."""
        doc_id = f"doc_id {self.doc_ids[row]!r}"
        return doc_id if self.unit == "document" else f"{self.source}: {self.unit} {self.places[row]}: {doc_id}"

    def rejected(self, row: int, fault: str | Fault) -> Rejected:
        """Describe one document as rejected for a reason."""
        reason, hint = (fault, None) if isinstance(fault, str) else fault
        line = msgspec.json.encode(self.to_json(row)).decode()
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
        first, last = bounds[row : row + 2].tolist()
        spans = np.empty((last - first, 3), np.int32)
        for c, column in enumerate(columns):
            spans[:, c] = column[first:last]
        return spans

    def tokens(self, row: int) -> Tokens | None:
        """Tokens of one document, or None."""
        if not self.has_tokens[row]:
            return None
        if row not in self._tokens:
            rows = slice(*self.token_bounds[row : row + 2].tolist())
            columns: dict[str, Any] = {name: self.token_integers[name][rows] for name in INTEGER_COLUMNS}
            for name in STRING_COLUMNS:
                words, indices = self.token_words(name)
                columns[name] = words.take(indices[rows]).tolist()
            extra = _decoded(self.table.column("tokens_extra")[row].as_py())
            self._tokens[row] = Tokens.from_valid(**columns, extra=extra)
        return self._tokens[row]

    def gold(self, row: int) -> list[int | str | None] | None:
        """Annotated entities of one document, or None."""
        gold = self.table.column("gold")[row].as_py()
        return None if gold is None else [None if g is None else msgspec.json.decode(g) for g in gold]

    def metadata(self, row: int) -> dict[str, Any]:
        """All other fields of one document."""
        return _decoded(self.table.column("metadata")[row].as_py())

    def document(self, row: int) -> ScoredDocument:
        """One document as a Python object."""
        text = self.table.column("date")[row].as_py()
        date = None if text is None else datetime.date.fromisoformat(text)
        samples = self.table.column("samples")[row].as_py()
        return ScoredDocument(
            doc_id=self.doc_ids[row],
            mentions=self.spans(row),
            antecedents=self.antecedents(row),
            date=date,
            tokens=self.tokens(row),
            gold=self.gold(row),
            metadata=self.metadata(row),
            parse=self.parse(row),
            samples=None if samples is None else (samples[0], samples[1]),
        )


def _loaded(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return text


def _decoded(text: str | None) -> dict[str, Any]:
    return msgspec.json.decode(text) if text else {}


def _row(document: ScoredDocument) -> dict[str, Any]:
    """Values of a document by column, in the form that `DocumentBatch.of_rows` requires."""
    antecedents, tokens = document.antecedents, document.tokens
    bounds = list(itertools.pairwise(antecedents.indptr.tolist()))
    return {
        "doc_id": document.doc_id,
        "date": None if document.date is None else document.date.isoformat(),
        "parse": None if document.samples is None else document.parse,
        "samples": document.samples,
        "mentions": document.mentions,
        "antecedents": [antecedents.antecedents[start:end] for start, end in bounds],
        "scores": [antecedents.scores[start:end] for start, end in bounds],
        "tokens": None if tokens is None else {name: getattr(tokens, name) for name in TOKEN_COLUMNS},
        "tokens_extra": None if tokens is None else _json_object(tokens.extra),
        "gold": document.gold,
        "metadata": _json_object(document.metadata),
    }


def _gold_text(entity: int | str | None) -> str | None:
    """Entity id as JSON text."""
    if entity is None:
        return None
    return str(entity) if isinstance(entity, int) else msgspec.json.encode(entity).decode()


def _json_object(fields: Any) -> str | None:
    return msgspec.json.encode(dict(fields)).decode() if fields else None
