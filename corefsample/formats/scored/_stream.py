"""Reading pre-scored mention files of any format: a stream of checked documents."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corefsample._arrays import Ints
from corefsample._checks import choice, iso_date, whole
from corefsample.coreference._antecedents import candidate_faults
from corefsample.documents._batch import SPAN_COLUMNS, DocumentBatch, flat_lists
from corefsample.documents._faults import (
    Fault,
    Rejected,
    mention_faults,
    missing_field,
    parse_faults,
    share_fault,
)
from corefsample.documents._scored import FIELDS, ScoredDocument
from corefsample.documents._tokens import TOKEN_COLUMNS
from corefsample.errors import DamagedFileError, shown
from corefsample.files._digests import SeenIds
from corefsample.files._paths import SCORED, PathLike, input_paths, partition_values
from corefsample.files._reading import FileSeries, read_ahead
from corefsample.formats.scored._jsonl import JsonLinesReader
from corefsample.formats.scored._parquet import ParquetReader

SUFFIXES = SCORED


class DocumentStream(FileSeries):
    """The valid documents of several files, batch by batch, in order.

    Every document is checked; doc_ids must be unique over all files (about 20 bytes of memory each).

    Parameters
    ----------
    inputs
        Files, globs, or "-" for standard input.
    needs
        Fields that every document must have: "date", "tokens", "gold". By default none of them is required.
    on_rejected
        Function that is called for each document that breaks a rule, which is then left out, and once for the rest of a
        damaged file. Its argument is an object with the attributes `source`, the name of the file; `place`, such as
        "line 12"; `doc_id`; `reason`; and `document`, its text. By default the first such document raises InputError.
    batch_size
        Largest number of documents in a batch, at least 1.
    row_groups
        Range of the indices, from 0, of the row groups that are read of each Parquet file. By default all are read.
    parses
        True if documents with several parses are accepted, each as several rows of a batch, which has all of them; by
        default they are rejected with a reason.
    ahead
        True if a thread reads and checks the next batch while one is used, which takes the memory of one more batch. By
        default batches are read when they are needed.
    selected
        Function of the doc_id and the metadata of a document; documents for which it is false are left out. By default
        all are read. Folders such as year=2001 in the path of a file are metadata of its documents, and a folder such
        as date=2001-09-11 is the date of documents without a date.

    Attributes
    ----------
    paths
        Paths of the files; globs are expanded.
    total_bytes, bytes_read
        Size of all files, and number of bytes read so far; standard input counts 0.

    Raises
    ------
    ParameterError
        If `inputs` are not names of files, `needs` has another field, or `batch_size` is below 1.
    InputError
        If a file is missing or has another ending.
    """

    def __init__(
        self,
        inputs: PathLike | Iterable[PathLike],
        *,
        needs: Iterable[str] = (),
        on_rejected: Callable[[Rejected], None] | None = None,
        batch_size: int = 64,
        row_groups: range | None = None,
        parses: bool = False,
        ahead: bool = False,
        selected: Callable[[str, Mapping[str, Any]], bool] | None = None,
    ) -> None:
        super().__init__(input_paths(inputs, suffixes=SUFFIXES))
        self._needs = tuple(choice("needs", name, ("date", "tokens", "gold")) for name in needs)
        self._on_rejected = on_rejected
        self._batch_size = whole("batch_size", batch_size, 1)
        self._row_groups = row_groups
        self._parses = parses
        self._ahead = ahead
        self._selected = selected

    def __iter__(self) -> Iterator[DocumentBatch]:
        """Read the files from the beginning; standard input can be read once."""
        return (self.accepted(*read)[0] for read in self.checked())

    def checked(self) -> Iterator[tuple[DocumentBatch, list[Rejected]]]:
        """Read the files as iteration does: yield the documents of each batch that satisfy the format, and the others.

        Pass each batch to `accepted` before the next batch is read.
        """
        self._seen = SeenIds()
        for path, reader in self._readers(self._reader_of):
            batches = self._checked(reader, partition_values(path))
            try:
                yield from read_ahead(batches) if self._ahead else batches
            except DamagedFileError as error:
                if self._on_rejected is None:
                    raise
                yield DocumentBatch.of_rows(path, [], "line", []), [Rejected.file(path, error)]

    def accepted(
        self, valid: DocumentBatch, rejected: list[Rejected], reasons: Mapping[int, str | Fault] = MappingProxyType({})
    ) -> tuple[DocumentBatch, list[int]]:
        """Accept documents of a batch, and report the others as rejected; return them and their rows in the batch.

        Parameters
        ----------
        valid, rejected
            Valid and rejected documents of a batch, from `checked`.
        reasons
            Reasons for rejecting further documents, by row; their doc_ids do not count as used. By default none.
        """
        accepted_rows: list[int] = []
        for first in valid.firsts.tolist():
            rows = valid.parses(first)
            fault = next((reasons[row] for row in rows if row in reasons), None)
            if fault is None and not self._seen.add(valid.doc_ids[first]):
                fault = Fault("doc_id must be unique in the corpus, got it again")
            if fault is None:
                accepted_rows += rows
            else:
                rejected += [valid.rejected(row, reasons.get(row, fault)) for row in rows]
        if len(accepted_rows) < len(valid):
            valid = valid.take(accepted_rows)
        for bad in sorted(rejected, key=lambda bad: bad.number or 0):
            if self._on_rejected is None:
                raise bad.error()
            self._on_rejected(bad)
        return valid, accepted_rows

    def _reader_of(self, path: str) -> JsonLinesReader | ParquetReader:
        return ParquetReader(path, self._row_groups) if path.endswith(".parquet") else JsonLinesReader(path)

    def _checked(
        self, reader: JsonLinesReader | ParquetReader, file_metadata: Mapping[str, str]
    ) -> Iterator[tuple[DocumentBatch, list[Rejected]]]:
        """Yield the valid and the rejected documents of each batch; `file_metadata` is added to their metadata."""
        day = file_metadata.get("date", "")
        for undated, rejected in reader.batches(self._batch_size):
            read = undated if iso_date(day) is None else undated.dated(day)
            batch = read
            if self._selected is not None:
                metadata = ((row, {**file_metadata, **read.metadata(row)}) for row in read.firsts.tolist())
                firsts = [row for row, each in metadata if self._selected(read.doc_ids[row], each)]
                rows = [row for first in firsts for row in read.parses(first)]
                batch = read.take(np.array(rows, np.int64))
            valid, faults = checked(batch, self._needs, rejected)
            if len(valid.firsts) < len(valid) and not self._parses:
                several = [rows for rows in map(valid.parses, valid.firsts.tolist()) if len(rows) > 1]
                rejected = rejected + [valid.rejected(row, _several(len(rows))) for rows in several for row in rows]
                valid = valid.take(np.setdiff1d(np.arange(len(valid)), np.concatenate(several)))
            yield valid, rejected + [batch.rejected(row, fault) for row, fault in faults.items()]


def _several(n_parses: int) -> Fault:
    hint = "`corefsample score` without alternative parses writes one parse a document"
    return Fault(f"parses must be one here: what is computed is for one parse of a document, got {n_parses}", hint)


def read_documents(
    inputs: PathLike | Iterable[PathLike],
    *,
    needs: Iterable[str] = (),
    on_rejected: Callable[[Rejected], None] | None = None,
) -> Iterator[ScoredDocument]:
    """Read documents one after another, in constant memory.

    A document with several parses is several documents with one doc_id, one after another: see `ScoredDocument.parse`.

    Parameters
    ----------
    inputs
        Files (.jsonl, .jsonl.gz, .parquet), folders of these, globs, or "-" for JSON Lines on standard input.
    needs
        Fields that every document must have: "date", "tokens", "gold". By default none of them is required.
    on_rejected
        Function that is called with each invalid document, which is then left out. By default the first invalid
        document raises InputError.

    Raises
    ------
    ParameterError
        At the call, if `inputs` are not names of files or `needs` contains another name.
    InputError
        If a file is missing, at the call; if a document is invalid, when it is reached, with file, line or row, and
        doc_id.
    """
    stream = DocumentStream(inputs, needs=needs, on_rejected=on_rejected, batch_size=32, parses=True)
    return (batch.document(row) for batch in stream for row in range(len(batch)))


_GOLD_ID = msgspec.json.Decoder(int | str)
_OBJECT = msgspec.json.Decoder(dict[str, Any])


def checked(
    batch: DocumentBatch, needs: Iterable[str] = (), unread: Sequence[Rejected] = ()
) -> tuple[DocumentBatch, dict[int, Fault]]:
    """Separate the valid documents of a batch from those that break a rule of the format.

    Parameters
    ----------
    batch
        Decoded documents that are not checked yet.
    needs
        Fields that every document must have: "date", "tokens", "gold". By default none of them is required.
    unread
        Lines or rows of the batch that could not be decoded, which may be parses of its documents. By default none.

    Returns
    -------
    batch, faults
        Batch of the valid documents, and the first fault of each other row of the original batch.
    """
    faults = _shape_faults(batch, tuple(needs))
    rows = [row for row in range(len(batch)) if row not in faults]
    well_shaped = batch.take(rows) if faults else batch
    faults |= {rows[row]: Fault(reason) for row, reason in _content_faults(well_shaped).items()}
    if batch.table.column("samples").null_count < len(batch):
        _add_faults_of_parses(faults, batch, unread)
    return batch.take([row for row in range(len(batch)) if row not in faults]) if faults else batch, faults


def _add_faults_of_parses(faults: dict[int, Fault], batch: DocumentBatch, unread: Sequence[Rejected]) -> None:
    """Add the parses of documents whose parses do not belong together, or of which one breaks a rule."""
    rule = "parses of a document must all be valid"
    has_parses = batch.table.column("samples").is_valid().to_numpy(zero_copy_only=False)
    for rows in map(batch.parses, batch.firsts[has_parses[batch.firsts]].tolist()):
        fault = next(
            (Fault(f"{rule}: parse {batch.parse(r)}: {faults[r].reason}", faults[r].hint) for r in rows if r in faults),
            None,
        )
        neighbours = batch.places[rows[0]] - 1, batch.places[rows[-1]] + 1
        for bad in unread if fault is None else ():
            if bad.doc_id == batch.doc_ids[rows[0]] or (not bad.doc_id and bad.number in neighbours):
                fault = Fault(f"{rule}: {bad.place}: {bad.reason}", bad.hint)
        if fault is None and (reason := batch.parses_fault(rows[0])) is not None:
            fault = Fault(reason)
        if fault is not None:
            faults.update({row: fault for row in rows if row not in faults})


# --- what would put the flat columns out of step: absent fields, nulls, lists of unlike length --------------


class _ShapeFaults(dict[int, Fault]):
    """The first fault of each bad row."""

    def add(self, row: int, reason: str) -> None:
        self.setdefault(row, Fault(reason))

    def add_missing(self, name: str, column: pa.Array) -> None:
        """Add the rows without the field `name`."""
        if column.null_count:
            for row in np.flatnonzero(column.is_null()).tolist():
                self.setdefault(row, missing_field(name))

    def add_unlike(
        self, name: str, lists: pa.ListArray, reference: str, model: pa.ListArray, applies: pa.BooleanArray = None
    ) -> None:
        """Add the rows whose list is not as long as the list of `model`, by default among all rows."""
        expected, lengths = _lengths(model), _lengths(lists)
        unlike = expected != lengths
        if applies is not None:
            unlike &= applies.to_numpy(zero_copy_only=False)
        for row in np.flatnonzero(unlike).tolist():
            self.add(row, f"{name} must be as long as {reference} ({expected[row]}), got {lengths[row]}")

    def add_nulls(self, name: str, lists: pa.ListArray) -> None:
        """Add the rows with a null in their list, or in a list of their list."""
        levels: list[Ints] = []  # bounds of the lists of each level, the innermost first
        values: pa.Array = lists
        while pa.types.is_list(values.type):
            list_bounds, values = flat_lists(values)
            levels.insert(0, list_bounds)
            for index in np.flatnonzero(values.is_null()).tolist() if values.null_count else ():
                row, position = index, ""
                for bounds in levels:
                    inner, row = row, _row_of(bounds, row)
                    position = f"[{inner - int(bounds[row])}]{position}"
                self.add(row, f"{name}{position} must not be null, got null")


def _shape_faults(batch: DocumentBatch, needs: tuple[str, ...]) -> _ShapeFaults:
    table, faults = batch.table, _ShapeFaults()
    for row, doc_id in enumerate(batch.doc_ids):
        if not doc_id:
            faults.add(row, f"doc_id must be a non-empty string, got {doc_id!r}")
    for row, date in enumerate(table.column("date").to_pylist()):
        if date is not None and iso_date(date) is None:
            faults.add(row, f"date must be an ISO date (YYYY-MM-DD), got {shown(date)}")
    shares = zip(table.column("parse").to_pylist(), table.column("samples").to_pylist(), strict=True)
    for row, (parse, samples) in enumerate(shares):
        if (parse, samples) != (None, None) and (fault := share_fault(parse, samples)) is not None:
            faults.add(row, fault)
    for name in (*(name for name in needs if name == "date"), "mentions", "antecedents", "scores", *needs):
        faults.add_missing(name, table.column(name))
    spans = dict(zip(SPAN_COLUMNS, table.column("mentions").flatten(), strict=True))
    tokens, gold = batch.token_lists, table.column("gold")
    for name in SPAN_COLUMNS[1:]:
        faults.add_unlike(f"mentions.{name}", spans[name], "mentions.start", spans["start"])
    for name in ("antecedents", "scores"):
        faults.add_unlike(name, table.column(name), "mentions", spans["start"])
    for name in TOKEN_COLUMNS[1:]:
        faults.add_unlike(f"tokens.{name}", tokens[name], "tokens.text", tokens["text"])
    faults.add_unlike("gold", gold, "mentions", spans["start"], applies=gold.is_valid())
    for name, lists in spans.items():
        faults.add_nulls(f"mentions.{name}", lists)
    for name, lists in tokens.items():
        faults.add_nulls(f"tokens.{name}", lists)
    for name in ("antecedents", "scores"):
        faults.add_nulls(name, table.column(name))
    _add_unlike_scores(faults, table)
    _add_bad_json(faults, batch)
    return faults


def _lengths(lists: pa.ListArray) -> Ints:
    return np.diff(flat_lists(lists)[0])


def _row_of(bounds: Ints, index: int) -> int:
    return int(np.searchsorted(bounds, index, side="right")) - 1


def _add_unlike_scores(faults: _ShapeFaults, table: pa.RecordBatch) -> None:
    """Add documents with a mention whose scores are not as many as its antecedents."""
    rows = [row for row in range(table.num_rows) if row not in faults]
    valid_rows = table if len(rows) == table.num_rows else table.take(pa.array(rows, pa.int64()))
    bounds, antecedents = flat_lists(valid_rows.column("antecedents"))
    expected, lengths = _lengths(antecedents), _lengths(flat_lists(valid_rows.column("scores"))[1])
    for mention in np.flatnonzero(expected != lengths).tolist():
        row = _row_of(bounds, mention)
        i = mention - int(bounds[row])
        reason = f"scores[{i}] must be as long as antecedents[{i}] ({expected[mention]}), got {lengths[mention]}"
        faults.add(rows[row], reason)


def _add_bad_json(faults: _ShapeFaults, batch: DocumentBatch) -> None:
    """Add documents with a JSON column that does not decode to the right type; only Parquet can contain such."""
    bounds, texts = flat_lists(batch.table.column("gold"))
    bad_texts = [text for text in texts.unique().to_pylist() if text is not None and not _decodes(_GOLD_ID, text)]
    if bad_texts:
        for index in np.flatnonzero(pc.is_in(texts, pa.array(bad_texts, texts.type))).tolist():
            row = _row_of(bounds, index)
            rule = f"gold[{index - int(bounds[row])}] must be JSON of a number or a string"
            faults.add(row, f"{rule}, got {texts[index].as_py()!r}")
    _add_bad_objects(faults, batch, "metadata", FIELDS)
    _add_bad_objects(faults, batch, "tokens_extra", TOKEN_COLUMNS)
    for row, text in enumerate(batch.table.column("tokens_extra").to_pylist()):
        if text is not None and row not in faults:
            n_tokens = int(batch.token_bounds[row + 1] - batch.token_bounds[row])
            for name, column in _OBJECT.decode(text).items():
                if not isinstance(column, list):
                    faults.add(row, f"tokens.{name} must be a list, got {shown(column)}")
                elif len(column) != n_tokens:
                    faults.add(row, f"tokens.{name} must be as long as tokens.text ({n_tokens}), got {len(column)}")


def _decodes(decoder: msgspec.json.Decoder[Any], text: str) -> bool:
    try:
        decoder.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True


def _add_bad_objects(faults: _ShapeFaults, batch: DocumentBatch, field: str, reserved: Collection[str]) -> None:
    """Add documents whose text is no JSON object, or has a member with a separate column."""
    texts = batch.table.column(field).to_pylist()
    reasons = {text: _object_fault(field, text, reserved) for text in set(texts) - {None}}  # many are the same
    if any(reasons.values()):
        for row, text in enumerate(texts):
            reason = reasons.get(text)
            if reason is not None:
                faults.add(row, reason)


def _object_fault(field: str, text: str, reserved: Collection[str]) -> str | None:
    try:
        members = _OBJECT.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return f"{field} must be a JSON object, got {shown(text)}"
    name = next((name for name in members if name in reserved), None)
    return None if name is None else f"{field} must contain no field of the document, got {name!r}"


# --- what the kernels find in one pass over the flat columns ------------------------------------------------


def _content_faults(batch: DocumentBatch) -> dict[int, str]:
    bounds, starts, ends, heads = batch.mentions
    indptr, antecedents, scores = batch.candidates
    n_tokens = np.where(batch.has_tokens, np.diff(batch.token_bounds), -1)
    reasons = mention_faults(bounds, starts, ends, heads, n_tokens)
    for d, reason in candidate_faults(bounds, indptr, antecedents, scores).items():
        reasons.setdefault(d, reason)
    parses = parse_faults(batch.token_bounds, batch.token_integers["head"], batch.token_integers["sent"])
    return {**parses, **reasons}
