"""The words of a spaCy Doc and their dependency tree, without the tokens of whitespace."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

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
    offsets = np.array([token.i for token in doc if not token.text.isspace()], np.int32)
    offsets.flags.writeable = False
    return offsets


def require_doc(doc: object) -> None:
    """Raise unless given a spaCy Doc."""
    if not hasattr(doc, "has_annotation"):
        raise ParameterError(f"must be a spaCy Doc, got {type(doc).__name__}", parameter="doc")


def require_parsed(doc: Doc) -> None:
    """Raise unless a Doc has dependencies, sentences, parts of speech and lemmas."""
    require_doc(doc)
    for attribute, annotation, component in _ANNOTATIONS:
        if not doc.has_annotation(attribute):
            raise ParameterError(
                f"must have {annotation}, got none", parameter="doc", hint=f"the pipeline needs {component}"
            )
    for token in doc:
        if not token.dep and not token.text.isspace():
            raise ParameterError(
                f"must have a dependency label for each word, got none for {shown(token.text)}", parameter="doc"
            )


def word_tree(doc: Doc) -> tuple[Ints32, list[str]]:
    """Head (-1: a root) and label of each word, with the tokens of whitespace taken out of the tree."""
    word_of_token = {int(token): word for word, token in enumerate(word_offsets(doc))}
    heads = np.full(len(word_of_token), -1, np.int32)
    labels = []
    new_roots: dict[int, int] = {}  # token of whitespace that is a root -> the first word below it
    for token_offset, word in word_of_token.items():
        token, above = doc[token_offset], doc[token_offset].head
        while above.text.isspace() and above.head.i != above.i:
            above = above.head
        label = token.dep_
        if above.text.isspace():
            root = new_roots.setdefault(above.i, word)
            heads[word] = -1 if root == word else root
            label = (above.dep_ or "ROOT") if root == word else label
        elif above.i != token.i:
            heads[word] = word_of_token[above.i]
        labels.append(label)
    return heads, labels


def is_spaced(doc: Doc, token: int) -> bool:
    """Whether whitespace follows a token."""
    return bool(doc[token].whitespace_) or (token + 1 < len(doc) and doc[token + 1].text.isspace())


def depths(heads: Ints32) -> list[int]:
    """Number of links from each token up to its root."""
    depth = [-1] * len(heads)
    for token in range(len(heads)):
        chain = []
        above = token
        while above >= 0 and depth[above] < 0:
            chain.append(above)
            above = int(heads[above])
        above_depth = depth[above] if above >= 0 else -1
        for distance, below in enumerate(reversed(chain), start=1):
            depth[below] = above_depth + distance
    return depth
