"""Files of scored documents as tests write and read them: documents as JSON objects."""

import json
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from references import coreference as references
from strategies.documents import Document

from corefsample import read_documents


def lines_of(documents: Iterable[Document]) -> bytes:
    """Lines of documents."""
    return b"".join(json.dumps(document).encode() + b"\n" for document in documents)


def contents(inputs: Any, **keywords: Any) -> list[Document]:
    """Content of the documents of files, in the form of `references.content_of_json`."""
    return [references.content(document) for document in read_documents(inputs, **keywords)]


def contents_of(raw: bytes, name: str = "corpus.jsonl", **keywords: Any) -> list[Document]:
    """Content of the documents of a file of these bytes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(raw)
        return contents(path, **keywords)
