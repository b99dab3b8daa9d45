"""A spaCy Doc without spaCy: the attributes of it that adapters read."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from types import SimpleNamespace
from typing import Any


def stub_doc(text: str, words: Sequence[str], heads: Sequence[int], sentence_starts: Collection[int] = (0,)) -> Any:
    """A Doc of words in a text, each with the number of its head; that of a root is its own."""

    class Doc(list[Any]):
        vocab = spans = None

    doc, place = Doc(), 0
    doc.text = text  # type: ignore[attr-defined]
    for i, word in enumerate(words):
        place = text.index(word, place)
        end = place + len(word)
        space = " " if text[end : end + 1] == " " else ""
        names = {"text": word, "lemma_": word.lower(), "pos_": "X", "dep_": "dep", "whitespace_": space}
        doc.append(SimpleNamespace(**names, i=i, idx=place, is_sent_start=i in sentence_starts))
        place = end
    for token, head in zip(doc, heads, strict=True):
        token.head = doc[head]
    return doc
