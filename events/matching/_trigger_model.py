"""The trigger model: probability that a predicate of a sentence reports an event of a type, as a fact.

The model is log-linear, a logistic regression for each type. Its features are the words and labels around the predicate
in the parse and the words of its sentence, or the vectors of an encoder for both; and what the rule says: whether the
predicate is one of its triggers, and which of its conditions hold.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, Protocol
from zlib import crc32

import numpy as np
import numpy.typing as npt

from corefsample.errors import InputError
from corefsample.files._paths import PathLike
from corefsample.syntax._paths import ParseView

LEAST = 0.05  # P below which a predicate is no trigger
PREDICATES = ("VERB", "NOUN")  # parts of speech
TRIGGER, CONDITION = "trigger of the rule", "condition "  # features that come from the rule
_CONTENT = frozenset(["NOUN", "VERB", "PROPN", "ADJ", "ADV", "ADP", "NUM"])
_MODIFIERS = frozenset(["aux", "aux:pass", "auxpass", "neg", "mark", "advmod", "prep", "case"])
_GOVERNORS = 4  # number of heads above the predicate whose words are features
Singles = npt.NDArray[np.float32]


class PredicateFeatures:
    """Features of the predicates of one parse.

    Parameters
    ----------
    view
        The parse.
    sentences
        Number of the sentence of each token.
    """

    def __init__(self, view: ParseView, sentences: Sequence[int]) -> None:
        self._view, self._sentences = view, sentences
        self._lemmas = [lemma.lower() for lemma in view.lemma]
        self._words: dict[int, list[str]] = {}
        for lemma, upos, sentence in zip(self._lemmas, view.upos, sentences, strict=True):
            if upos in _CONTENT:
                self._words.setdefault(sentence, []).append(f"s={lemma}")

    def of(self, token: int) -> Iterator[str]:
        """Yield the features of a predicate; one may occur twice."""
        view, lemmas = self._view, self._lemmas
        lemma, upos, label, head = lemmas[token], view.upos[token], view.labels[token], view.heads[token]
        yield from ("bias", f"l={lemma}", f"lu={lemma}/{upos}", f"w={view.text[token].lower()}")
        yield from (f"d={label}", f"u={upos}", *self._words.get(self._sentences[token], ()))
        if head >= 0:
            yield from (f"h={lemmas[head]}", f"dh={label}>{lemmas[head]}", f"du={label}>{view.upos[head]}")
            yield f"lh={lemma}<{lemmas[head]}"
        for child in view.dependents[token]:
            below, word = view.labels[child], lemmas[child]
            yield from (f"c={below}", f"cl={below}:{word}", f"lc={lemma}>{below}", f"ll={lemma}>{word}")
            yield f"cu={below}:{view.upos[child]}"
            for grandchild in view.dependents[child]:
                yield f"g={below}>{view.labels[grandchild]}:{lemmas[grandchild]}"
                yield f"gg={word}:{lemmas[grandchild]}"
        for _ in range(_GOVERNORS):
            if head < 0:
                break
            yield f"a={lemmas[head]}"
            for child in view.dependents[head]:
                if child != token and view.labels[child] in _MODIFIERS:
                    yield f"am={view.labels[child]}:{lemmas[child]}"
            token, head = head, view.heads[head]
