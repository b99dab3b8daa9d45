"""Tokens of spaCy's and Stanza's documents, and conversion of character spans to token spans."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from corefsample._arrays import Bools, Ints, Ints32
from corefsample.documents._tokens import Tokens
from corefsample.errors import ParameterError, ParameterHint

ALIGNMENTS = ("strict", "expand", "drop")


def is_spacy_doc(value: object) -> bool:
    """Whether a value is a spaCy Doc, by the attributes used here."""
    return hasattr(value, "text") and hasattr(value, "vocab") and hasattr(value, "spans")


def spacy_tokens(doc: Any) -> Tokens:
    """Tokens of a spaCy Doc; without a parse all heads are -1, without sentences all tokens are in one."""
    words = list(doc)
    parsed = any(word.dep_ for word in words)
    starts = [i > 0 and bool(word.is_sent_start) for i, word in enumerate(words)]
    return Tokens(
        text=[word.text for word in words],
        lemma=[word.lemma_ for word in words],
        upos=[word.pos_ for word in words],
        dep=[word.dep_ for word in words],
        head=_array([word.head.i if parsed and word.head.i != word.i else -1 for word in words]),
        sent=np.cumsum(_array(starts), dtype=np.int32),
        extra={"space_after": [bool(word.whitespace_) for word in words]},
    )


def stanza_tokens(document: Any) -> Tokens:
    """Words of a Stanza Document, in its order, without empty words (zero anaphora)."""
    words: list[Any] = []
    heads: list[int] = []
    sents: list[int] = []
    for number, sentence in enumerate(document.sentences):
        first = len(words)
        for word in sentence.words:
            words.append(word)
            heads.append(first + word.head - 1 if word.head else -1)  # heads count from 1; 0 or None: no head
            sents.append(number)
    return Tokens(
        text=[word.text for word in words],
        lemma=[word.lemma or "" for word in words],
        upos=[word.upos or "" for word in words],
        dep=[word.deprel or "" for word in words],
        head=_array(heads),
        sent=_array(sents),
    )


def _array(values: Sequence[int]) -> Ints32:
    return np.asarray(values, np.int32)


def align(spans: Ints, offsets: Ints, name: str, alignment: str) -> tuple[Ints, Ints, Bools]:
    """Convert character spans to token spans.

    Parameters
    ----------
    spans
        int64 (n_spans, 2): first character, and the one past the last.
    offsets
        int64 (n_tokens, 2): the same of each token, ascending, without overlaps.
    alignment
        For a span that begins or ends inside a token: "strict" raises, "expand" widens it to the whole token, "drop"
        leaves the span out. A span that touches no token raises, or is left out by "drop".

    Returns
    -------
    starts, ends
        int64 (n_spans,): first token, and the one past the last.
    aligned
        bool (n_spans,): False for the spans left out.
    """
    starts = np.searchsorted(offsets[:, 1], spans[:, 0], side="right")  # the first token that ends past the beginning
    ends = np.searchsorted(offsets[:, 0], spans[:, 1], side="left")  # the first that begins at or past the end
    touching = starts < ends
    inside = np.flatnonzero(touching)
    exact = touching.copy()
    exact[inside] &= offsets[starts[inside], 0] == spans[inside, 0]
    exact[inside] &= offsets[ends[inside] - 1, 1] == spans[inside, 1]
    aligned = touching if alignment == "expand" else exact
    if alignment != "drop" and not aligned.all():
        i = int(np.flatnonzero(~aligned)[0])
        rule = "begin and end at token bounds" if touching[i] else "touch a token"
        hint = ParameterHint("alignment", "= 'expand' widens it") if touching[i] else None
        raise ParameterError(f"{name}[{i}] must {rule}, got characters {spans[i, 0]} to {spans[i, 1]}", hint=hint)
    return starts.astype(np.int64), ends.astype(np.int64), aligned
