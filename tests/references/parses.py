"""Slow, obvious versions of what documents with several parses need, and such documents written by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from references import coreference as references
from references import events as er

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


def with_other_parses(document: dict[str, Any], weights: Sequence[float]) -> dict[str, Any]:
    """A document of one parse as one of version 2; parse k reads every k-th subject as an object, parse 0 none."""
    parses = []
    for k, weight in enumerate(weights):
        tokens = dict(document["tokens"])
        text = tokens.pop("text")
        labels, subjects = list(tokens["dep"]), 0
        for t, label in enumerate(labels):
            if label == "nsubj":
                subjects += 1
                labels[t] = "obj" if k and subjects % k == 0 else label
        own = {name: document[name] for name in ("mentions", "antecedents", "scores")}
        parses.append({"weight": weight, "tokens": tokens | {"dep": labels}, **own})
    kept = {name: document[name] for name in ("doc_id", "date")}
    return {"version": 2, **kept, "tokens": {"text": text}, "parses": parses}


def of_several_parses(doc_id: str, parses: Sequence[tuple[float, Sequence[str]]]) -> dict[str, Any]:
    """A document with weighted parses of the same words, each given by its sentences."""
    made = [er.json_document(doc_id, "1999-01-05", sentences) for _, sentences in parses]
    words, *others = [each["tokens"].pop("text") for each in made]
    assert all(each == words for each in others)
    names = ("tokens", "mentions", "antecedents", "scores")
    own = [
        {"weight": weight, **{name: each[name] for name in names}}
        for (weight, _), each in zip(parses, made, strict=True)
    ]
    return {"version": 2, "doc_id": doc_id, "date": "1999-01-05", "tokens": {"text": words}, "parses": own}
