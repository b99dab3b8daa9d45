"""Training texts as reasons of a trigger model: those that are nearest to a sentence."""

import json
import re
from bz2 import compress, decompress
from collections import Counter
from collections.abc import Collection, Sequence
from functools import lru_cache
from heapq import nsmallest
from itertools import groupby
from math import log
from typing import NamedTuple

import numpy as np

from corefsample._arrays import Bools
from events.matching._trigger_model import TriggerModel


class NearestText(NamedTuple):
    """A training text.

    Attributes
    ----------
    text
        The text.
    types
        Event types that the predicates with the lemma report, or all its predicates if none has the lemma.
    """

    text: str
    types: tuple[str, ...]


def compressed_texts(
    texts: Sequence[str], lemmas: Sequence[str], reports: Bools, model_lemmas: Collection[str]
) -> bytes:
    """Texts with the predicates that may be triggers, as a trigger model stores them.

    Parameters
    ----------
    texts
        Text of each predicate; predicates of one text are adjacent.
    lemmas
        Lemma of each predicate, in lower case.
    reports
        bool (n_predicates, n_types): whether the predicate reports an event of each type.
    model_lemmas
        Lemmas whose predicates are stored.
    """
    rows = zip(texts, lemmas, reports, strict=True)
    stored = [(text, [lemma, *np.flatnonzero(types).tolist()]) for text, lemma, types in rows if lemma in model_lemmas]
    by_text = [(text, [row for _, row in pairs]) for text, pairs in groupby(stored, lambda pair: pair[0])]
    return compress(json.dumps(by_text).encode())


def nearest_texts(model: TriggerModel, lemmas: Collection[str], words: Sequence[str], n: int = 2) -> list[NearestText]:
    """Training texts that are nearest to a predicate in its sentence; none if the model has no texts.

    Texts with the lemma come first. Among these, and among the others, they are ordered by the words that they share
    with the sentence: the sum of the inverse document frequencies (idf) of shared words, divided by that of all words
    of both.

    Parameters
    ----------
    model
        Trigger model.
    lemmas
        Lemmas of the predicate, in lower case: one, or several if the pipeline and the rule differ.
    words
        Words of the sentence.
    n
        Number of texts.
    """
    if not model.texts:
        return []
    stored, idf = _stored(model.texts)
    sentence = _bag(" ".join(words))
    of_sentence = sum(idf.get(word, 0.0) for word in sentence)

    def rank(index: int) -> tuple[bool, float, str]:
        text, bag, of_bag, rows = stored[index]
        shared = sum(idf[word] for word in sentence & bag)
        return rows.keys().isdisjoint(lemmas), -shared / max(of_sentence + of_bag - shared, 1e-9), text

    nearest = []
    for text, _, _, rows in (stored[index] for index in nsmallest(n, range(len(stored)), rank)):
        chosen = [types for lemma, types in rows.items() if lemma in lemmas] or rows.values()
        nearest.append(NearestText(text, tuple(model.types[t] for t in sorted(set().union(*chosen)))))
    return nearest


@lru_cache(maxsize=2)
def _stored(content: bytes) -> tuple[list[tuple[str, frozenset[str], float, dict[str, set[int]]]], dict[str, float]]:
    """Texts with their words, the sum of these words' idf, and types by lemma; and the idf of each word."""
    texts = [(text, _bag(text), rows) for text, rows in json.loads(decompress(content))]
    counts = Counter(word for _, bag, _ in texts for word in bag)
    idf = {word: log(len(texts) / count) for word, count in counts.items()}
    stored = []
    for text, bag, rows in texts:
        types_of: dict[str, set[int]] = {}
        for lemma, *types in rows:
            types_of.setdefault(lemma, set()).update(types)
        stored.append((text, bag, sum(idf[word] for word in bag), types_of))
    return stored, idf


def _bag(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", text.lower()))
