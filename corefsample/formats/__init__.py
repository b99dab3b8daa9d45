"""Reading and writing pre-scored mention files: streams of documents, one module a format.

The format, version 1, is described in the README.
"""

from __future__ import annotations

from corefsample.formats.stream import DocumentStream, input_paths, read_documents
from corefsample.formats.writing import QuarantineFile, convert, quarantine_file, write_documents

__all__ = [
    "DocumentStream",
    "QuarantineFile",
    "convert",
    "input_paths",
    "quarantine_file",
    "read_documents",
    "write_documents",
]
