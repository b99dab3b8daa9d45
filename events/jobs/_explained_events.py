"""The events of one document with their probabilities, for `corefsample explain`."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Any

import numpy as np

from corefsample.documents import DocumentBatch, Tokens
from corefsample.errors import InputError
from events.counting import evaluate_matches, event_name
from events.lexicon import Lexicon
from events.matching import match_document
from events.rules import Rule

__all__ = ["N_SAMPLES", "EventShare", "document_events"]

N_SAMPLES = 1000  # as `events` draws by default


@dataclass(frozen=True, slots=True)
class EventShare:
    """An event of a document: its actors ("IRQ>KWT", "-" for none), P(event), and its Monte Carlo standard error."""

    actors: str
    probability: float
    mc_se: float

    def __str__(self) -> str:
        return f"{self.actors} {self.probability:.3f} (MC error {self.mc_se:.3f})"

    def to_json(self) -> dict[str, Any]:
        """The fields by name."""
        return {"actors": self.actors, "probability": self.probability, "mc_se": self.mc_se}


def document_events(
    batch: DocumentBatch, row: int, tokens: Tokens, rule: Rule, lexicon: Lexicon, scheme: str | None, seed: int
) -> tuple[EventShare, ...] | None:
    """Events of a document with P > 0, the likeliest first, from as many samples as `events` draws by default.

    None if its labels fit several schemes that give different events; `events` rejects such a document.
    """
    date = None if np.isnat(batch.dates[row]) else batch.dates[row].item()
    try:
        matches = match_document(tokens, batch.spans(row), rule, lexicon, date, scheme)
    except InputError:
        return None
    if not matches.possible:
        return ()
    day = date or datetime.date.min  # which no sample depends on
    antecedents, doc_id = batch.antecedents(row), batch.doc_ids[row]
    found = evaluate_matches(antecedents, matches, doc_id, day, n_samples=N_SAMPLES, seed=seed)
    values = zip(map(event_name, found.keys), found.probabilities.tolist(), found.mc_errors.tolist(), strict=True)
    shares = [EventShare(*each) for each in values if each[1] > 0.0]
    return tuple(sorted(shares, key=lambda share: (-share.probability, share.actors)))
