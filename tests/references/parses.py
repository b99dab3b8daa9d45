"""Slow, obvious versions of what documents with several parses need, and such documents written by hand."""

import itertools
from collections.abc import Sequence
from typing import Any

from references import coreference as references, events as er

GAMMA = 0x9E3779B97F4A7C15  # 2**64 / golden ratio, the increment of SplitMix64


def sample_parses(weights: Sequence[float], n_samples: int, seed: int, doc_id: str) -> list[int]:
    """The parse of each sample, one by one, in whole numbers."""
    state = (references.document_key(seed, doc_id) + (2**62 + 1) * GAMMA) % 2**64
    state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) % 2**64
    state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) % 2**64
    place = state ^ (state >> 31)
    total = sum(weights)
    drawn = []
    for _ in range(n_samples):
        target, k, reached = place / 2**64 * total, 0, weights[0]
        while target >= reached:
            k += 1
            reached += weights[k]
        drawn.append(k)
        place = (place + GAMMA) % 2**64
    return drawn


def rows_of(parses: Sequence[dict[str, Any]], counts: Sequence[int]) -> list[dict[str, Any]]:
    """Documents of one parse as the parses of one document, each of which has a number of the drawn parses."""
    ends = [*itertools.accumulate(counts)]
    return [
        {**parse, "parse": k, "samples": [end - n, end]}
        for k, (parse, n, end) in enumerate(zip(parses, counts, ends, strict=True))
    ]


def with_other_parses(document: dict[str, Any], counts: Sequence[int]) -> list[dict[str, Any]]:
    """Rows of a document of several parses; parse k reads every k-th subject as an object, parse 0 none."""
    parses = []
    for k in range(len(counts)):
        labels, subjects = list(document["tokens"]["dep"]), 0
        for t, label in enumerate(labels):
            if label == "nsubj":
                subjects += 1
                labels[t] = "obj" if k and subjects % k == 0 else label
        parses.append({**document, "tokens": document["tokens"] | {"dep": labels}})
    return rows_of(parses, counts)


def of_several_parses(doc_id: str, parses: Sequence[tuple[int, Sequence[str]]]) -> list[dict[str, Any]]:
    """Rows of a document with counted parses of the same words, each given by its sentences."""
    made = [er.json_document(doc_id, "1999-01-05", sentences) for _, sentences in parses]
    return rows_of(made, [count for count, _ in parses])
