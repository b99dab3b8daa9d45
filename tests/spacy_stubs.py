"""A spaCy Doc without spaCy, of the attributes that adapters read; and real pipelines, each loaded once."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest


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


@cache
def loaded(path: Path) -> Any:
    """A pipeline that tests share: what a test adds to it, it removes."""
    spacy = pytest.importorskip("spacy")
    if not path.exists():
        pytest.skip(f"the pipeline {path.name} is missing")
    return spacy.load(path)
