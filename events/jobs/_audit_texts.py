"""Texts of the documents of an audit, from the files that its run read."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from pathlib import Path

from corefsample.files import PathLike
from events.audit import AuditFrame
from events.pages import PLAIN, MarkedText, run_texts

__all__ = ["corpus_texts"]


def corpus_texts(
    source: PathLike, frame: AuditFrame, chosen: Collection[str] | None = None
) -> Iterator[tuple[str, MarkedText]]:
    """Yield doc_id and text of documents.

    Parameters
    ----------
    source
        Folder of a run, whose inputs are read where they still exist, or a CSV file, whose column text is used.
    frame
        The documents.
    chosen
        Of which documents; None: of all.
    """
    if "text" in frame.properties:
        for doc_id, text in zip(frame.doc_ids.tolist(), frame.properties["text"].tolist(), strict=True):
            if chosen is None or doc_id in chosen:
                yield doc_id, MarkedText(((PLAIN, str(text)),))
    elif frame.source["kind"] == "run":
        yield from run_texts(json.loads((Path(source) / "run.json").read_text(encoding="utf-8")), chosen)
