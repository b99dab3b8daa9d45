"""The words of a spaCy Doc and their tree, tokens of whitespace taken out of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from corefsample._checks import shown
from corefsample.errors import ParameterError

if TYPE_CHECKING:
    from spacy.tokens import Doc

__all__ = ["depths", "is_spaced", "require_parsed", "word_offsets", "word_tree"]

Ints = npt.NDArray[np.int32]

_NEEDS = (
    ("DEP", "a parse", "a parser"),
    ("SENT_START", "sentences", "a parser"),
    ("POS", "universal parts of speech", "a morphologizer, or a tagger with an attribute_ruler"),
    ("LEMMA", "lemmas", "a lemmatizer"),
)


def word_offsets(doc: Doc) -> Ints:
    """Which tokens of a Doc are words, whitespace being none.

    Returns
    -------
    int32 (n_tokens,), read-only, rising
        The place in the Doc of each token of `tokens_of_doc`.
    """
    # Token.is_space says no to everything where a vocabulary was made without a language.
    offsets = np.array([token.i for token in doc if not token.text.isspace()], np.int32)
    offsets.flags.writeable = False
    return offsets


def require_parsed(doc: Doc) -> None:
    """Refuse what would be read as a document without dependencies, sentences or words to match."""
    if not hasattr(doc, "has_annotation"):
        raise ParameterError(f"doc must be a spaCy Doc, got {type(doc).__name__}")
    for attribute, what, component in _NEEDS:
        if not doc.has_annotation(attribute):
            raise ParameterError(f"doc must have {what}, got none: the pipeline needs {component}")
    for token in doc:
        if not token.dep and not token.text.isspace():
            raise ParameterError(f"doc must have a dependency label for each word, got none for {shown(token.text)}")


def word_tree(doc: Doc) -> tuple[Ints, list[str]]:
    """Head (-1: a root) and label of each word, with the tokens of whitespace taken out of the tree."""
    place = {int(token): word for word, token in enumerate(word_offsets(doc))}
    heads = np.full(len(place), -1, np.int32)
    labels = []
    heirs: dict[int, int] = {}  # token of whitespace that is a root -> the first word below it
    for token_offset, word in place.items():
        token, above = doc[token_offset], doc[token_offset].head
        while above.text.isspace() and above.head.i != above.i:
            above = above.head
        label = token.dep_
        if above.text.isspace():
            heir = heirs.setdefault(above.i, word)
            heads[word] = -1 if heir == word else heir
            label = (above.dep_ or "ROOT") if heir == word else label
        elif above.i != token.i:
            heads[word] = place[above.i]
        labels.append(label)
    return heads, labels


def is_spaced(doc: Doc, token: int) -> bool:
    """Whether whitespace follows a token."""
    return bool(doc[token].whitespace_) or (token + 1 < len(doc) and doc[token + 1].text.isspace())


def depths(heads: Ints) -> list[int]:
    """Links from each token up to its root."""
    found = [-1] * len(heads)
    for token in range(len(heads)):
        chain = []
        above = token
        while above >= 0 and found[above] < 0:
            chain.append(above)
            above = int(heads[above])
        depth = found[above] if above >= 0 else -1
        for below in reversed(chain):
            depth += 1
            found[below] = depth
    return found
