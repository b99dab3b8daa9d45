"""Writing pre-scored mention files: each appears under its name only when it is complete."""

import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from corefsample._checks import choice, path as checked_path, require_json
from corefsample.documents._batch import DocumentBatch
from corefsample.documents._faults import ON_ERROR, Rejected
from corefsample.documents._scored import ScoredDocument, is_another_parse
from corefsample.errors import ParameterError, shown
from corefsample.files._atomic import new_file, remove_file, require_writable
from corefsample.files._paths import SCORED, PathLike, require_suffix
from corefsample.formats.scored._jsonl import json_lines_writer
from corefsample.formats.scored._parquet import ParquetReader, ParquetWriter
from corefsample.formats.scored._stream import DocumentStream

QUARANTINE = ".quarantine.jsonl"
_BATCH = 64  # number of documents in memory


@contextmanager
def _new_documents(path: PathLike, *, overwrite: bool) -> Iterator[Callable[[DocumentBatch], None]]:
    """Make a file of documents, as `new_file` does; yield the function that appends a batch."""
    suffix = require_suffix(checked_path("path", path), SCORED, ParameterError)
    with new_file(path, overwrite=overwrite, suffix=suffix) as partial:
        if suffix == ".parquet":
            with ParquetWriter(partial) as writer:
                yield writer.write
        else:
            with json_lines_writer(partial, gzipped=suffix.endswith(".gz")) as write:
                yield write


def write_documents(documents: Iterable[ScoredDocument], path: PathLike, *, overwrite: bool = False) -> int:
    """Write documents to a new file, in the format of its ending; return how many.

    Parameters
    ----------
    documents
        Documents to write; any iterable is consumed as a stream.
    path
        Path of the new file, which ends in .jsonl, .jsonl.gz or .parquet. The file appears when it is complete.
    overwrite
        True if an existing file may be replaced; by default it may not.

    Raises
    ------
    ParameterError
        If the name has none of these endings, the file exists and `overwrite` is false, or an
        element of `documents` is no document or has metadata that JSON cannot represent, such as NaN.
    OutputError
        If the file cannot be written.
    """
    if not isinstance(documents, Iterable) or isinstance(documents, (str, os.PathLike)):
        hint = "put it into a list" if isinstance(documents, ScoredDocument) else None
        raise ParameterError(f"must be ScoredDocuments, got {shown(documents)}", parameter="documents", hint=hint)
    count = 0
    chunk: list[ScoredDocument] = []
    with _new_documents(path, overwrite=overwrite) as write:
        for count, document in enumerate(documents, start=1):
            if not isinstance(document, ScoredDocument):
                actual = f"{shown(document)} (document {count})"
                raise ParameterError(f"must be ScoredDocuments, got {actual}", parameter="documents")
            location = f"document {count}: doc_id {document.doc_id!r}"
            require_json("metadata", document.metadata, location)
            if document.tokens is not None:
                require_json("tokens.extra", document.tokens.extra, location)
            if len(chunk) >= _BATCH and not is_another_parse(document, chunk[-1]):
                write(DocumentBatch.of(chunk))
                chunk = []
            chunk.append(document)
        write(DocumentBatch.of(chunk))
    return count


class QuarantineFile:
    """Writer of rejected documents to a file of JSON Lines, which is created with the first document.

    Each line has source, place, doc_id, reason, and the unchanged document. Lines are written at once, so that the
    error of a full disk is raised at its document.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.count = 0

    def __call__(self, rejected: Rejected) -> None:
        """Append one document."""
        with open(self.path, "a" if self.count else "w", encoding="utf-8") as stream:
            stream.write(json.dumps(rejected.to_json()) + "\n")
        self.count += 1


@contextmanager
def quarantine_file(
    beside: PathLike, *, on_error: str = "quarantine", overwrite: bool = False
) -> Iterator[QuarantineFile | None]:
    """Make the file `beside`.quarantine.jsonl for rejected documents; yield None if `on_error` is "stop".

    The file appears if the context ends without an error and a document was rejected. If none was rejected, the file of
    an earlier run is removed.

    Raises
    ------
    ParameterError
        If `on_error` is neither "stop" nor "quarantine", or the file exists and `overwrite` is false.
    OutputError
        If the file or the folder of `beside` cannot be written; this is checked at the beginning, before hours of work.
    """
    choice("on_error", on_error, ON_ERROR)
    require_writable(beside)
    path = f"{os.fspath(beside)}{QUARANTINE}"
    with new_file(path, overwrite=overwrite, suffix=QUARANTINE) as partial:
        quarantine = QuarantineFile(partial)
        yield quarantine if on_error == "quarantine" else None
        if not quarantine.count:
            os.unlink(partial)
            remove_file(path)


def join(paths: Iterable[PathLike], path: PathLike, *, overwrite: bool = False) -> None:
    """Copy the documents of Parquet files that `write_documents` made to one file; they are not checked again."""
    with _new_documents(path, overwrite=overwrite) as write:
        for source in paths:
            for batch, _ in ParquetReader(os.fspath(source)).batches(_BATCH):
                write(batch)


def convert(
    inputs: PathLike | Iterable[PathLike],
    path: PathLike,
    *,
    overwrite: bool = False,
    on_rejected: Callable[[Rejected], None] | None = None,
    on_progress: Callable[[int, int, int], None] | None = None,
) -> int:
    """Copy documents to another file or format; return how many. They are checked, and their content is unchanged.

    Parameters
    ----------
    inputs, on_rejected
        Files to read, and the function that is called with each rejected document: see `read_documents`.
    path, overwrite
        Path of the new file, and whether it may replace an existing one: see `write_documents`.
    on_progress
        Function that is called after each batch with the bytes read, the bytes of all files, and the number of
        documents written. By default progress is not reported.

    Raises
    ------
    InputError, ParameterError, OutputError
        On the conditions of `read_documents` and `write_documents`; then no file is left.
    """
    stream = DocumentStream(inputs, on_rejected=on_rejected, parses=True)
    count = 0
    with _new_documents(path, overwrite=overwrite) as write:
        for batch, _ in stream.batches(on_progress=on_progress, may_be_empty=lambda: False):
            write(batch)
            count += len(batch.firsts)
    return count
