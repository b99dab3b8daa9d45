"""Reading pre-scored mention files of any format: a stream of checked documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from corefsample._checks import choice, whole
from corefsample.documents._batch import DocumentBatch
from corefsample.documents._batch_checks import checked
from corefsample.documents._rejected import Fault, Rejected
from corefsample.documents._scored import ScoredDocument
from corefsample.files._digests import SeenIds
from corefsample.files._paths import PathLike, input_paths, partition_values
from corefsample.files._reading import FileSeries, read_ahead
from corefsample.formats.scored._jsonl import JsonLinesReader
from corefsample.formats.scored._parquet import ParquetReader

SUFFIXES = (".jsonl", ".jsonl.gz", ".parquet")


class DocumentStream(FileSeries):
    """The valid documents of several files, batch by batch, in order.

    Every document is checked; doc_ids must be unique over all files (about 20 bytes of memory each).

    Parameters
    ----------
    inputs
        Files, globs, or "-" for standard input.
    needs
        Fields that every document must have: "date", "tokens", "gold".
    on_rejected
        Called with each document that breaks a rule, which is then left out; None: the first one raises InputError.
    batch_size
        Largest number of documents in a batch.
    row_groups
        Of Parquet files, the row groups to read; None for all.
    parses
        Whether documents with several parses are accepted; otherwise they are rejected with a reason.
    selected
        Called with the doc_id and the metadata of each document; those for which it is false are left out; folders
        such as year=2001 in the path of a file are metadata of its documents. None: all are read.
    ahead
        Whether a thread reads and checks the next batch while one is used; it takes the memory of one more batch.

    Attributes
    ----------
    paths
        The files, globs expanded.
    total_bytes, bytes_read
        Size of all files, and how far they are read; standard input counts 0.

    Raises
    ------
    ParameterError
        If a parameter breaks its rule.
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
        """Read the files as iteration does: the documents of each batch that satisfy the format, and the others.

        Each batch is given to `accepted` before the next is read.
        """
        self._seen = SeenIds()
        for path, reader in self._readers(self._opened):
            batches = self._checked(reader, partition_values(path))
            yield from read_ahead(batches) if self._ahead else batches

    def accepted(
        self, valid: DocumentBatch, rejected: list[Rejected], reasons: Mapping[int, str | Fault] = MappingProxyType({})
    ) -> tuple[DocumentBatch, list[int]]:
        """The documents of a batch that are accepted, and their rows in it; the others are rejected.

        Parameters
        ----------
        valid, rejected
            From `checked`.
        reasons
            Why other documents are rejected, by row, before their doc_ids count as used.
        """
        kept = [row for row in range(len(valid)) if row not in reasons]
        repeated = [row for row in kept if not self._seen.add(valid.doc_ids[row])]
        rejected += [valid.rejected(row, reason) for row, reason in reasons.items()]
        rejected += [valid.rejected(row, "doc_id must be unique in the corpus, got it again") for row in repeated]
        if len(kept) - len(repeated) < len(valid):
            kept = sorted({*kept}.difference(repeated))
            valid = valid.take(kept)
        for bad in sorted(rejected, key=lambda bad: bad.number or 0):
            if self._on_rejected is None:
                raise bad.error()
            self._on_rejected(bad)
        return valid, kept

    def _opened(self, path: str) -> JsonLinesReader | ParquetReader:
        return ParquetReader(path, self._row_groups) if path.endswith(".parquet") else JsonLinesReader(path)

    def _checked(
        self, reader: JsonLinesReader | ParquetReader, of_file: Mapping[str, str]
    ) -> Iterator[tuple[DocumentBatch, list[Rejected]]]:
        """The documents of each batch that satisfy the format, and the others; `of_file` is metadata of all of them."""
        for read, rejected in reader.batches(self._batch_size):
            batch = read
            if self._selected is not None:
                metadata = ({**of_file, **read.metadata(row)} for row in range(len(read)))
                rows = [row for row, each in enumerate(metadata) if self._selected(read.doc_ids[row], each)]
                batch = read.take(np.array(rows, np.int64))
            valid, faults = checked(batch, self._needs)
            if valid.parses is not None and not self._parses:
                several = np.flatnonzero(valid.parses.counts > 1).tolist()
                rejected = rejected + [valid.rejected(row, _several(valid.n_parses(row))) for row in several]
                valid = valid.take(np.flatnonzero(valid.parses.counts < 2))
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

    A document of a file of version 2 may have several `parses`; its other fields are those of the first.

    Parameters
    ----------
    inputs
        Files (.jsonl, .jsonl.gz, .parquet), folders of these, globs, or "-" for JSON Lines on standard input.
    needs
        Fields that every document must have: "date", "tokens", "gold".
    on_rejected
        Called with each bad document, which is then left out. By default the first one raises.

    Raises
    ------
    ParameterError
        If `inputs` are not names of files, or `needs` names no such field; at the call, not at the first document.
    InputError
        At the call if a file is missing; at the first bad document, with its place (file, line or row, doc_id).
    """
    stream = DocumentStream(inputs, needs=needs, on_rejected=on_rejected, batch_size=32, parses=True)
    return (batch.document(row) for batch in stream for row in range(len(batch)))
