"""Reading pre-scored mention files of any format: a stream of checked documents."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from corefsample._checks import choice, iso_date, whole
from corefsample.coreference._antecedents import candidate_faults
from corefsample.documents import _faults as document_faults
from corefsample.documents._batch import SPAN_COLUMNS, DocumentBatch, flat_lists
from corefsample.documents._scored import ScoredDocument
from corefsample.documents._tokens import STRING_COLUMNS, TOKEN_COLUMNS
from corefsample.errors import DamagedFileError, InputError, shown
from corefsample.files._paths import SCORED, PathLike, input_paths, partition_values
from corefsample.files._reading import FileSeries, SeenIds, read_ahead
from corefsample.formats.scored._jsonl import JsonLinesReader
from corefsample.formats.scored._parquet import ParquetReader

SUFFIXES = SCORED
R = TypeVar("R")


class DocumentStream(FileSeries):
    """The valid documents of several files, batch by batch, in order.

    Every document is checked; doc_ids must be unique over all files (about 25 bytes of memory each).

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
        on_rejected: Callable[[document_faults.Rejected], None] | None = None,
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
        return (batch for batch, _ in self.batches())

    def documents(
        self,
        faults_of: Callable[[DocumentBatch], Mapping[int, str | document_faults.Fault]] = lambda batch: {},
        *,
        on_progress: Callable[[int, int, int], None] | None = None,
    ) -> Iterator[ScoredDocument]:
        """Yield the valid documents, at least one.

        Parameters
        ----------
        faults_of
            Function of a batch of valid documents that returns the rows to reject with their reasons. By default none
            is rejected.
        on_progress
            Function that is called after each batch with the bytes read, the bytes of all files, and the number of
            documents. By default progress is not reported.

        Raises
        ------
        InputError
            If a document is invalid and `on_rejected` is None, or if no document is valid.
        """
        batches: Iterator[tuple[DocumentBatch, dict[int, None]]] = self.batches(
            lambda batch: ({}, faults_of(batch)), on_progress=on_progress, may_be_empty=lambda: False
        )
        return (batch.document(row) for batch, _ in batches for row in range(len(batch)))

    def batches(
        self,
        inspect: Callable[
            [DocumentBatch], tuple[Mapping[int, R], Mapping[int, str | document_faults.Fault]]
        ] = lambda batch: ({}, {}),
        *,
        on_progress: Callable[[int, int, int], None] | None = None,
        may_be_empty: Callable[[], bool] = lambda: True,
    ) -> Iterator[tuple[DocumentBatch, dict[int, R]]]:
        """Yield the batches with the results of `inspect` by row.

        Parameters
        ----------
        inspect
            Function of a batch of valid documents that returns results by row, and the rows to reject with their
            reasons; the doc_ids of these documents do not count as used. By default none is rejected.
        on_progress
            Function that is called after each batch with the bytes read, the bytes of all files, and the number of
            documents. By default progress is not reported.
        may_be_empty
            Function that returns whether a stream without a valid document is allowed. By default it is.

        Yields
        ------
        batch
            Documents of the stream.
        results
            Results of `inspect` by row of the batch.

        Raises
        ------
        InputError
            If a document is invalid and `on_rejected` is None, or if `may_be_empty` returns False and every document is
            invalid.
        """
        seen = SeenIds()
        n_documents = 0
        for valid, rejected in self._checked_batches():
            results, reasons = inspect(valid)
            accepted_rows: list[int] = []
            for first in valid.firsts.tolist():
                rows = valid.parses(first)
                fault = next((reasons[row] for row in rows if row in reasons), None)
                if fault is None and not seen.add(valid.doc_ids[first]):
                    fault = "doc_id must be unique in the corpus, got it again"
                if fault is None:
                    accepted_rows += rows
                else:
                    rejected += [valid.rejected(row, reasons.get(row, fault)) for row in rows]
            for bad in sorted(rejected, key=lambda bad: bad.number or 0):
                if self._on_rejected is None:
                    raise bad.error()
                self._on_rejected(bad)
            batch = valid if len(accepted_rows) == len(valid) else valid.take(accepted_rows)
            yield batch, {new: results[old] for new, old in enumerate(accepted_rows) if old in results}
            n_documents += len(batch.firsts)
            if on_progress is not None:
                on_progress(self.bytes_read, self.total_bytes, n_documents)
        if not n_documents and not may_be_empty():
            raise InputError("a corpus must have at least one document, got none", place=", ".join(self.paths))

    def _checked_batches(self) -> Iterator[tuple[DocumentBatch, list[document_faults.Rejected]]]:
        """Yield the documents of each batch that satisfy the format, and the others."""

        def opened(path: str) -> JsonLinesReader | ParquetReader:
            return ParquetReader(path, self._row_groups) if path.endswith(".parquet") else JsonLinesReader(path)

        for path, reader in self._readers(opened):
            batches = self._checked(reader, partition_values(path))
            try:
                yield from read_ahead(batches) if self._ahead else batches
            except DamagedFileError as error:
                if self._on_rejected is None:
                    raise
                yield DocumentBatch.of_rows(path, [], "line", []), [document_faults.Rejected.file(path, error)]

    def _checked(
        self, reader: JsonLinesReader | ParquetReader, file_metadata: Mapping[str, str]
    ) -> Iterator[tuple[DocumentBatch, list[document_faults.Rejected]]]:
        """Yield the valid and the rejected documents of each batch; `file_metadata` is added to their metadata."""
        day = file_metadata.get("date", "")
        for batch, rejected in reader.batches(self._batch_size):
            if iso_date(day) is not None:
                batch = batch.dated(day)
            if self._selected is not None:
                metadata = {row: {**file_metadata, **batch.metadata(row)} for row in batch.firsts.tolist()}
                firsts = [row for row in metadata if self._selected(batch.doc_ids[row], metadata[row])]
                batch = batch.take([row for first in firsts for row in batch.parses(first)])
            faults = _faults(batch, self._needs, rejected)
            if not self._parses and len(batch.firsts) < len(batch):
                hint = "`corefsample score` without alternative parses writes one parse a document"
                rule = "parses must be one here: what is computed is for one parse of a document"
                for rows in map(batch.parses, batch.firsts.tolist()):
                    if len(rows) > 1 and rows[0] not in faults:
                        faults |= dict.fromkeys(rows, document_faults.Fault(f"{rule}, got {len(rows)}", hint))
            valid = batch.take([row for row in range(len(batch)) if row not in faults]) if faults else batch
            for name in STRING_COLUMNS if "tokens" in self._needs else ():
                valid.token_words(name)  # here, because it can be done in the thread that reads ahead
            yield valid, rejected + [batch.rejected(row, fault) for row, fault in sorted(faults.items())]


def read_documents(
    inputs: PathLike | Iterable[PathLike],
    *,
    needs: Iterable[str] = (),
    on_rejected: Callable[[document_faults.Rejected], None] | None = None,
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


def _faults(
    batch: DocumentBatch, needs: tuple[str, ...], unread: Sequence[document_faults.Rejected]
) -> dict[int, document_faults.Fault]:
    """Find the first fault of each document of a batch that breaks a rule of the format, by row.

    Parameters
    ----------
    batch
        Decoded documents that are not checked yet.
    needs
        Fields that every document must have: "date", "tokens", "gold".
    unread
        Lines or rows of the batch that could not be decoded, which may be parses of its documents.
    """
    faults = _shape_faults(batch, needs)
    rows = [row for row in range(len(batch)) if row not in faults]
    well_shaped = batch.take(rows) if faults else batch
    # What the kernels find in one pass over the flat columns.
    bounds, starts, ends, heads = well_shaped.mentions
    n_tokens = np.where(well_shaped.has_tokens, np.diff(well_shaped.token_bounds), -1)
    trees = document_faults.parse_faults(
        well_shaped.token_bounds, well_shaped.token_integers["head"], well_shaped.token_integers["sent"]
    )
    links = candidate_faults(bounds, *well_shaped.candidates)
    reasons = {**trees, **links, **document_faults.mention_faults(bounds, starts, ends, heads, n_tokens)}
    faults |= {rows[row]: document_faults.Fault(reason) for row, reason in reasons.items()}
    # The parses of a document belong together, and if one of them breaks a rule, all are rejected.
    rule = "parses of a document must all be valid"
    has_parses = batch.table.column("samples").is_valid().to_numpy(zero_copy_only=False)
    for first in batch.firsts[has_parses[batch.firsts]].tolist():
        parses = batch.parses(first)
        neighbours = batch.places[first] - 1, batch.places[parses[-1]] + 1
        broken = [(f"parse {batch.parse(row)}", faults[row]) for row in parses if row in faults] + [
            (bad.place, document_faults.Fault(bad.reason, bad.hint))
            for bad in unread
            if bad.doc_id == batch.doc_ids[first] or (not bad.doc_id and bad.number in neighbours)
        ]
        reason = batch.parses_fault(first) if not broken else f"{rule}: {broken[0][0]}: {broken[0][1].reason}"
        if reason is not None:
            fault = document_faults.Fault(reason, broken[0][1].hint if broken else None)
            faults = {**dict.fromkeys(parses, fault), **faults}
    return faults


def _shape_faults(batch: DocumentBatch, needs: tuple[str, ...]) -> dict[int, document_faults.Fault]:
    """Rows whose fields are absent, null or of unlike length, which would put the flat columns out of step."""
    if _is_well_shaped(batch, needs):
        return {}
    faults = ((row, _shape_fault(batch.table.slice(row, 1).to_pylist()[0], needs)) for row in range(len(batch)))
    return {
        row: document_faults.Fault(fault) if isinstance(fault, str) else fault
        for row, fault in faults
        if fault is not None
    }


def _is_well_shaped(batch: DocumentBatch, needs: tuple[str, ...]) -> bool:
    """True if `_shape_fault` would return None for every row of a batch, by columns."""
    table, tokens = batch.table, batch.token_lists
    dates = table.column("date").to_pylist()
    if not all(batch.doc_ids) or any(date is not None and iso_date(date) is None for date in dates):
        return False
    if any(table.column(name).null_count for name in ("mentions", "antecedents", "scores", *needs)):
        return False
    shares = zip(table.column("parse").to_pylist(), table.column("samples").to_pylist(), strict=True)
    if any(share != (None, None) and document_faults.share_fault(*share) is not None for share in shares):
        return False
    lists = {name: flat_lists(column) for name, column in tokens.items()}
    text_bounds = lists["text"][0]
    spans = [flat_lists(column) for column in table.column("mentions").flatten()]
    antecedents, scores, gold = (flat_lists(table.column(name)) for name in ("antecedents", "scores", "gold"))
    inner_antecedents, inner_scores = flat_lists(antecedents[1]), flat_lists(scores[1])
    has_gold = table.column("gold").is_valid().to_numpy(zero_copy_only=False)
    expected = np.diff(spans[0][0])
    return (
        all(np.array_equal(bounds, text_bounds) for bounds, _ in lists.values())
        and all(np.array_equal(bounds, spans[0][0]) for bounds, _ in (*spans, antecedents, scores))
        and bool((np.diff(gold[0]) == expected * has_gold).all())
        and np.array_equal(inner_antecedents[0], inner_scores[0])
        and not any(values.null_count for _, values in (*lists.values(), *spans, antecedents, scores))
        and not inner_antecedents[1].null_count + inner_scores[1].null_count
    )


def _shape_fault(row: Mapping[str, Any], needs: tuple[str, ...]) -> document_faults.Fault | str | None:
    """Describe the first field of a row that is absent, null or of unlike length, or return None."""
    if not row["doc_id"]:
        return f"doc_id must be a non-empty string, got {row['doc_id']!r}"
    if row["date"] is not None and iso_date(row["date"]) is None:
        return f"date must be an ISO date (YYYY-MM-DD), got {shown(row['date'])}"
    if (row["parse"], row["samples"]) != (None, None) and (
        fault := document_faults.share_fault(row["parse"], row["samples"])
    ):
        return fault
    for name in (*(name for name in needs if name == "date"), "mentions", "antecedents", "scores", *needs):
        if row[name] is None:
            return document_faults.missing_field(name)
    spans = {f"mentions.{name}": row["mentions"][name] or [] for name in SPAN_COLUMNS}
    tokens = {f"tokens.{name}": (row["tokens"] or {}).get(name) or [] for name in TOKEN_COLUMNS}
    links = {name: row[name] for name in ("antecedents", "scores")}
    gold = {} if row["gold"] is None else {"gold": row["gold"]}
    starts, texts = spans["mentions.start"], tokens["tokens.text"]
    of_mentions = [(name, values, "mentions", starts) for name, values in {**links, **gold}.items()]
    lengths = [(name, values, "mentions.start", starts) for name, values in spans.items()] + of_mentions
    lengths += [(name, values, "tokens.text", texts) for name, values in tokens.items()]
    for name, values, reference, model in lengths:
        if len(values) != len(model):
            return f"{name} must be as long as {reference} ({len(model)}), got {len(values)}"
    for name, values in {**spans, **tokens, **links}.items():
        for i, value in enumerate(values):
            inner = value if isinstance(value, list) else ()
            if value is None or None in inner:
                position = f"[{i}]" if value is None else f"[{i}][{inner.index(None)}]"
                return f"{name}{position} must not be null, got null"
    for i, (antecedents, scores) in enumerate(zip(row["antecedents"], row["scores"], strict=True)):
        if len(scores) != len(antecedents):
            return f"scores[{i}] must be as long as antecedents[{i}] ({len(antecedents)}), got {len(scores)}"
    return None
