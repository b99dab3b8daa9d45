"""Many documents as columns; if a document has several parses, the parses are columns of a second batch.

Readers turn lines or rows into a `DocumentBatch` with a table of `SCHEMA`, and `checked` removes the documents that
break a rule. Jobs scan the flat arrays of the batch before any document becomes a Python object.
"""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from corefsample._arrays import Bools, Floats, Ints, Ints32
from corefsample.coreference._antecedents import AntecedentDistribution
from corefsample.documents._faults import Fault, Rejected
from corefsample.documents._scored import Parse, ScoredDocument
from corefsample.documents._tokens import INTEGER_COLUMNS, STRING_COLUMNS, TOKEN_COLUMNS, Tokens, counted

VERSION = 1  # format version of documents with one parse
PARSES_VERSION = 2  # format version of documents with several parses
SPAN_COLUMNS = ("start", "end", "head")
GOLD = pa.list_(pa.string())

SCHEMA = pa.schema(
    [
        ("doc_id", pa.string()),
        ("date", pa.string()),
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


_OF_PARSES = ("tokens", "mentions", "antecedents", "scores", "gold")  # fields of each parse of version 2
_TOKENS_OF_PARSES = tuple(name for name in TOKEN_COLUMNS if name != "text")  # written for each parse


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
    """Decode JSON of a column; invalid JSON, whose document is rejected, stays text."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return text


def _members(name: str, text: str) -> dict[str, Any]:
    value = _loaded(text)
    return value if isinstance(value, dict) else {name: value}


def parses_json(parses: Sequence[dict[str, Any]], weights: Sequence[float]) -> dict[str, Any]:
    """Object of a JSON line of version 2 from the parses of one document, each an object that `to_json` returns."""
    document = {name: value for name, value in parses[0].items() if name not in _OF_PARSES}
    document["version"] = PARSES_VERSION
    tokens = [parse.get("tokens") or {} for parse in parses]
    # The words, and further lists that are the same in all parses, are written once.
    shared = [
        name
        for name in tokens[0]
        if name not in _TOKENS_OF_PARSES and all(name in parse and parse[name] == tokens[0][name] for parse in tokens)
    ]
    document["tokens"] = {name: tokens[0][name] for name in shared}
    document["parses"] = [
        {
            "weight": _weight(weight),
            "tokens": {name: column for name, column in parse_tokens.items() if name not in shared},
            **{name: parse[name] for name in _OF_PARSES if name in parse and name != "tokens"},
        }
        for weight, parse_tokens, parse in zip(weights, tokens, parses, strict=True)
    ]
    return document


def _weight(weight: float) -> float | int:
    """The weight as an integer if it is whole, such as a number of samples, so that it is written without a point."""
    return int(weight) if weight.is_integer() and abs(weight) < 2**53 else weight


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
    parses
        All parses of the documents, while `table` has the first parse of each; None if no document has several.
    """

    source: str
    table: pa.RecordBatch
    unit: str
    places: Sequence[int]
    parses: ParseRows | None = None
    _tokens: dict[int, Tokens] = field(default_factory=dict, init=False)
    _words: dict[str, tuple[list[str], Ints]] = field(default_factory=dict, init=False)
    _strings: dict[str, npt.NDArray[np.object_]] = field(default_factory=dict, init=False)

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
            they were decoded. Absent columns are null. `parses` are the rows of all parses, each with a `weight` that
            is not checked yet; without them, the row itself is the only parse.
        source, unit, places
            File of the documents, and how its documents are counted: see the attributes of `DocumentBatch`.
        """
        parses_by_document = [row.get("parses") or [{**row, "weight": 1.0}] for row in rows]
        flat_rows = [parse for parse_rows in parses_by_document for parse in parse_rows]
        parses = None
        if len(flat_rows) > len(rows) or any(parse["weight"] != 1.0 for parse in flat_rows):
            counts = np.array(list(map(len, parses_by_document)), np.int64)
            parse_batch = cls(source, _table(flat_rows), unit, np.repeat(places, counts).tolist())
            parses = ParseRows.of(counts, np.array([parse["weight"] for parse in flat_rows], np.float64), parse_batch)
        return cls(source, _table(rows), unit, places, parses)

    def __repr__(self) -> str:
        bounds = f", {self.unit} {self.places[0]} to {self.places[-1]}" if len(self) else ""
        return f"DocumentBatch({counted(len(self), 'document')} of {self.source}{bounds})"

    def __len__(self) -> int:
        return int(self.table.num_rows)

    @cached_property
    def doc_ids(self) -> list[str]:
        """doc_id of each document."""
        ids: list[str] = self.table.column("doc_id").to_pylist()
        return ids

    @cached_property
    def dates(self) -> npt.NDArray[np.datetime64]:
        """Date of each document, datetime64[D]; NaT if a document has no date."""
        return np.array(self.table.column("date").to_pylist(), dtype="datetime64[D]")

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

    def token_strings(self, name: str) -> pa.DictionaryArray:
        """Flat strings of one token column: text, lemma, upos or dep."""
        return flat_lists(self.token_lists[name])[1].dictionary_encode()

    def token_words(self, name: str) -> tuple[list[str], Ints]:
        """Distinct strings that include all strings of a token column, and the index of each token's string."""
        if name not in self._words:
            encoded = self.token_strings(name)
            # NumPy would convert narrower indices at each use. A null is in a document that its check rejects.
            indices = encoded.indices.fill_null(-1).to_numpy().astype(np.int64)
            self._words[name] = encoded.dictionary.to_pylist(), indices
        return self._words[name]

    @cached_property
    def token_integers(self) -> dict[str, Ints32]:
        """Flat integers of the token columns head and sent."""
        return {name: flat_lists(self.token_lists[name])[1].to_numpy() for name in INTEGER_COLUMNS}

    def take(self, rows: npt.ArrayLike) -> DocumentBatch:
        """Return a batch of the documents in some rows only."""
        row_indices = np.asarray(rows, dtype=np.int64)
        places = [self.places[row] for row in row_indices]
        parses = None if self.parses is None else self.parses.take(row_indices)
        return DocumentBatch(self.source, self.table.take(pa.array(row_indices)), self.unit, places, parses)

    def dated(self, day: str) -> DocumentBatch:
        """Batch of the same documents, in which documents without a date have this ISO date."""
        dates = self.table.column("date")
        if not dates.null_count:
            return self
        columns = dict(zip(self.table.schema.names, self.table.columns, strict=True))
        columns["date"] = pc.fill_null(dates, day)
        table = pa.RecordBatch.from_arrays(list(columns.values()), schema=self.table.schema)
        parses = None if self.parses is None else replace(self.parses, batch=self.parses.batch.dated(day))
        return DocumentBatch(self.source, table, self.unit, self.places, parses)

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
                if name not in self._strings:
                    self._strings[name] = np.array(words, np.object_)
                columns[name] = self._strings[name].take(indices[rows]).tolist()
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

    def n_parses(self, row: int) -> int:
        """Number of parses of one document."""
        return 1 if self.parses is None else len(self.parses.rows(row))

    def rows_of_parses(self, row: int) -> list[tuple[float, DocumentBatch, int]]:
        """Weight, batch and row of each parse of one document."""
        if self.parses is None:
            return [(1.0, self, row)]
        rows = self.parses.rows(row)
        return [(float(self.parses.weights[parse_row]), self.parses.batch, parse_row) for parse_row in rows]

    def to_json(self, row: int) -> dict[str, Any]:
        """One document as the object of a JSON line, of version 2 if it has several parses."""
        if self.parses is None or self.n_parses(row) < 2:
            return to_json(self.table, row)
        rows = self.parses.rows(row)
        parses = [to_json(self.parses.batch.table, parse_row) for parse_row in rows]
        return parses_json(parses, self.parses.weights[rows.start : rows.stop].tolist())

    def document(self, row: int) -> ScoredDocument:
        """One document as a Python object."""
        text = self.table.column("date")[row].as_py()
        date = None if text is None else datetime.date.fromisoformat(text)
        metadata = self.metadata(row)
        parses = () if self.parses is None else self.parses.parses(row)
        if parses:
            return ScoredDocument.of_parses(self.doc_ids[row], parses, date=date, metadata=metadata)
        return ScoredDocument(
            doc_id=self.doc_ids[row],
            mentions=self.spans(row),
            antecedents=self.antecedents(row),
            date=date,
            tokens=self.tokens(row),
            gold=self.gold(row),
            metadata=metadata,
        )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ParseRows:
    """Parses of the documents of a batch.

    Attributes
    ----------
    bounds
        int64 (n_documents + 1,): the parses of document d are rows ``bounds[d]:bounds[d + 1]``. Each document has
        at least one.
    weights
        float64 (n_parses,): weight of each parse.
    batch
        Every parse as a document of one parse, with the doc_id, date and metadata of its document.
    """

    bounds: Ints
    weights: Floats
    batch: DocumentBatch

    @classmethod
    def of(cls, counts: Ints, weights: Floats, batch: DocumentBatch) -> Self:
        """Parses in the order of their documents; `counts` has the number of parses of each document."""
        return cls(_bounds_of(counts), weights, batch)

    @property
    def counts(self) -> Ints:
        """int64 (n_documents,): number of parses of each document."""
        return np.diff(self.bounds)

    @property
    def firsts(self) -> Ints:
        """int64 (n_documents,): row of the first parse of each document."""
        return self.bounds[:-1]

    def rows(self, document: int) -> range:
        """Rows of the parses of a document."""
        return range(int(self.bounds[document]), int(self.bounds[document + 1]))

    def documents(self) -> Ints:
        """int64 (n_parses,): the document of each parse."""
        return np.repeat(np.arange(len(self.bounds) - 1), self.counts)

    def take(self, documents: npt.ArrayLike) -> ParseRows | None:
        """Parses of some documents only; None if each of these documents has one parse."""
        document_rows = np.asarray(documents, np.int64)
        counts = self.counts[document_rows]
        if not (counts > 1).any():
            return None
        bounds = _bounds_of(counts)
        rows = np.repeat(self.firsts[document_rows] - bounds[:-1], counts) + np.arange(bounds[-1])
        return ParseRows(bounds, self.weights[rows], self.batch.take(rows))

    def parses(self, document: int) -> tuple[Parse, ...]:
        """Parses of a document; empty if the document has only one."""
        rows = self.rows(document)
        if len(rows) < 2:
            return ()
        return tuple(self._parse(row) for row in rows)

    def _parse(self, row: int) -> Parse:
        tokens = self.batch.tokens(row)
        assert tokens is not None  # documents with several parses have tokens, as their check says
        gold = self.batch.gold(row)
        return Parse(float(self.weights[row]), tokens, self.batch.spans(row), self.batch.antecedents(row), gold)


def _bounds_of(counts: npt.NDArray[np.integer] | Sequence[int]) -> Ints:
    """Bounds (n + 1) of consecutive rows by their counts."""
    return np.concatenate(([0], np.cumsum(counts, dtype=np.int64)))


def _decoded(text: str | None) -> dict[str, Any]:
    return msgspec.json.decode(text) if text else {}


def _row(document: ScoredDocument) -> dict[str, Any]:
    """Values of a document by column, in the form that `DocumentBatch.of_rows` requires."""
    if document.parses:
        rows = [_row(document.with_parse(k)) | {"weight": parse.weight} for k, parse in enumerate(document.parses)]
        return {**rows[0], "parses": rows}
    antecedents, tokens = document.antecedents, document.tokens
    bounds = list(itertools.pairwise(antecedents.indptr.tolist()))
    return {
        "doc_id": document.doc_id,
        "date": None if document.date is None else document.date.isoformat(),
        "mentions": document.mentions,
        "antecedents": [antecedents.antecedents[start:end] for start, end in bounds],
        "scores": [antecedents.scores[start:end] for start, end in bounds],
        "tokens": None if tokens is None else {name: getattr(tokens, name) for name in TOKEN_COLUMNS},
        "tokens_extra": None if tokens is None else _json_object(tokens.extra),
        "gold": document.gold,
        "metadata": _json_object(document.metadata),
    }


def _table(rows: Sequence[Mapping[str, Any]]) -> pa.RecordBatch:
    """Record batch of `SCHEMA` from rows, which are described at `DocumentBatch.of_rows`."""
    spans = [np.array(row["mentions"], np.int32).reshape(-1, 3) for row in rows]
    offsets = pa.array(_bounds_of(list(map(len, spans))), pa.int32())
    flat = np.concatenate([*spans, np.zeros((0, 3), np.int32)])
    offset_columns = [pa.ListArray.from_arrays(offsets, pa.array(flat[:, c])) for c in range(3)]
    columns = {
        "mentions": pa.StructArray.from_arrays(offset_columns, SPAN_COLUMNS),
        "gold": pa.array([None if row.get("gold") is None else _gold_texts(row["gold"]) for row in rows], GOLD),
    }
    for column in SCHEMA:
        if column.name not in columns:
            columns[column.name] = pa.array([row.get(column.name) for row in rows], column.type)
    return pa.RecordBatch.from_arrays([columns[name] for name in SCHEMA.names], schema=SCHEMA)


def _gold_texts(gold: Iterable[int | str | None]) -> list[str | None]:
    """Entity ids as JSON texts."""
    return [None if g is None else str(g) if isinstance(g, int) else msgspec.json.encode(g).decode() for g in gold]


def _json_object(fields: Any) -> str | None:
    return msgspec.json.encode(dict(fields)).decode() if fields else None
