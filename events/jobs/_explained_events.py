"""The events of one document with their probabilities, for `corefsample explain`."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from corefsample.documents import DocumentBatch
from corefsample.errors import InputError
from events.counting import CorpusRecalibration, MatchedParse, evaluate_mixture, event_name
from events.lexicon import Lexicon
from events.matching import match_document
from events.rules import Rule

__all__ = ["N_SAMPLES", "EventShare", "document_events", "parses_of"]

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


def parses_of(batch: DocumentBatch, row: int) -> Iterator[tuple[float, DocumentBatch, int]]:
    """Probability of each parse of a document, and the batch and the row that have it."""
    if batch.parses is None or batch.n_parses(row) < 2:
        yield 1.0, batch, row
        return
    places = batch.parses.rows(row)
    weights = [float(batch.parses.weights[place]) for place in places]
    for place, weight in zip(places, weights, strict=True):
        yield weight / math.fsum(weights), batch.parses.batch, place


def document_events(
    batch: DocumentBatch, row: int, rule: Rule, lexicon: Lexicon, scheme: str | None, seed: int
) -> tuple[EventShare, ...] | None:
    """Events of a document with P > 0, the likeliest first, from as many samples as `events` draws by default.

    As there, scores that had the recalibration of the English model have its uncertainty.
    None if its labels fit several schemes that give different events; `events` rejects such a document.
    """
    date = None if np.isnat(batch.dates[row]) else batch.dates[row].item()
    recalibrated = CorpusRecalibration(seed=seed).for_scores(batch.metadata(row))
    parses = []
    try:
        for share, of_parses, place in parses_of(batch, row):
            tokens = of_parses.tokens(place)
            assert tokens is not None  # the stream needs them
            matches = match_document(tokens, of_parses.spans(place), rule, lexicon, date, scheme)
            several = (matches,) if matches.possible else ()
            kinds = recalibrated.kinds(tokens, of_parses.spans(place)) if recalibrated and several else None
            parses.append(MatchedParse(share, of_parses.antecedents(place), several, kinds))
    except InputError:
        return None
    if not any(parse.matches for parse in parses):
        return ()
    day = date or datetime.date.min  # which no sample depends on
    shares: list[EventShare] = []
    options: dict[str, Any] = {"n_samples": N_SAMPLES, "seed": seed, "recalibrated": recalibrated}
    for found in evaluate_mixture(parses, batch.doc_ids[row], day, **options):
        values = zip(map(event_name, found.keys), found.probabilities.tolist(), found.mc_errors.tolist(), strict=True)
        shares += [EventShare(*each) for each in values if each[1] > 0.0]
    return tuple(sorted(shares, key=lambda share: (-share.probability, share.actors)))
