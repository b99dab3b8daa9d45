"""The words of a spaCy Doc and their dependency tree, without the tokens of whitespace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from corefsample import _checks
from corefsample._arrays import Ints32
from corefsample._checks import shown
from corefsample.errors import ParameterError

if TYPE_CHECKING:
    from spacy.tokens import Doc

_ANNOTATIONS = (
    ("DEP", "a parse", "a parser"),
    ("SENT_START", "sentences", "a parser"),
    ("POS", "universal parts of speech", "a morphologizer, or a tagger with an attribute_ruler"),
    ("LEMMA", "lemmas", "a lemmatizer"),
)


def word_offsets(doc: Doc) -> Ints32:
    """Offsets of the tokens of a Doc that are words rather than whitespace.

    Returns
    -------
    int32 (n_words,), read-only, ascending
        The place in the Doc of each token of `tokens_of_doc`.
    """
    # Token.is_space is False for all tokens of a vocabulary without a language.
    offsets = np.array([t for t, text in enumerate(attribute_texts(doc, "ORTH")) if not text.isspace()], np.int32)
    offsets.flags.writeable = False
    return offsets


def require_parsed(doc: Doc) -> None:
    """Raise unless a Doc has dependencies, sentences, parts of speech and lemmas."""
    _checks.spacy_doc(doc)
    for attribute, annotation, component in _ANNOTATIONS:
        if not doc.has_annotation(attribute):
            raise ParameterError(
                f"must have {annotation}, got none", parameter="doc", hint=f"the pipeline needs {component}"
            )
    for token in np.flatnonzero(doc.to_array("DEP") == 0).tolist():
        text = doc[token].text
        if not text.isspace():
            raise ParameterError(
                f"must have a dependency label for each word, got none for {shown(text)}", parameter="doc"
            )


def word_tree(doc: Doc, offsets: Ints32) -> tuple[Ints32, list[str]]:
    """Head (-1: a root) and label of each word, as of `word_offsets`, without the tokens of whitespace in the tree."""
    labels = attribute_texts(doc, "DEP")
    own = np.arange(len(doc))
    heads = own + doc.to_array("HEAD").view(np.int64)
    number = np.full(len(doc), -1, np.int32)
    number[offsets] = np.arange(len(offsets))
    is_space = number < 0
    above = np.where(is_space, heads, own)  # of whitespace the nearest word above, or its own root
    while (above != above[above]).any():
        above = above[above]
    above = np.where(heads == own, own, above[heads])[offsets]
    tree = np.where(above == offsets, -1, number[above]).astype(np.int32)
    words = [labels[token] for token in offsets.tolist()]
    for root in set(above[is_space[above]].tolist()):  # the first word below takes its place
        below = np.flatnonzero(above == root)
        tree[below] = below[0]
        tree[below[0]], words[below[0]] = -1, labels[root] or "ROOT"
    return tree, words


def attribute_texts(doc: Doc, name: str) -> list[str]:
    """Texts of an attribute of all tokens, by their numbers in the store of strings."""
    numbers: list[int] = doc.to_array(name).tolist()
    strings: Any = doc.vocab.strings
    texts: dict[int, str] = {number: strings[number] for number in set(numbers)}
    return list(map(texts.__getitem__, numbers))


def depths(heads: Ints32) -> list[int]:
    """Number of links from each token up to its root."""
    depth, above = np.zeros(len(heads), np.int64), heads
    while (above >= 0).any():
        depth += above >= 0
        above = np.where(above >= 0, heads[above], -1)
    return depth.tolist()
