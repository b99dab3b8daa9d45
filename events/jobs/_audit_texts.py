"""Texts of the documents of an audit, from the files that its run read."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from pathlib import Path

from corefsample.documents import Rejected, Tokens
from corefsample.files import PathLike
from corefsample.formats import DocumentStream
from events.audit import AuditFrame

__all__ = ["corpus_texts", "plain_text"]


def corpus_texts(
    source: PathLike, frame: AuditFrame, chosen: Collection[str] | None = None
) -> Iterator[tuple[str, str]]:
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
                yield doc_id, str(text)
        return
    if frame.source["kind"] != "run":
        return
    record = json.loads((Path(source) / "run.json").read_text(encoding="utf-8"))
    paths = [str(each["path"]) for each in record["inputs"] if Path(str(each["path"])).is_file()]
    for path in paths:
        for batch in DocumentStream(path, on_rejected=_ignored):
            for row, doc_id in enumerate(batch.doc_ids):
                if chosen is not None and doc_id not in chosen:
                    continue
                tokens = batch.tokens(row)
                if tokens is not None:
                    yield doc_id, plain_text(tokens)


def plain_text(tokens: Tokens) -> str:
    """Text of a document: its words, with the spaces of the original if they are known, one line a sentence."""
    spaces = tokens.extra.get("space_after", [True] * len(tokens))
    lines = []
    for start, end in tokens.sentences().values():
        words = zip(tokens.text[start:end], spaces[start:end], strict=True)
        lines.append("".join(f"{word} " if space else word for word, space in words).strip())
    return "\n".join(lines)


def _ignored(rejected: Rejected) -> None:
    """Leave out a document that the run set aside."""
