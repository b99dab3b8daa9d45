"""The events of one document with their probabilities, for `corefsample explain`."""

from __future__ import annotations

import datetime
import math
from dataclasses import dataclass
from typing import Any

from corefsample.documents import DocumentBatch
from corefsample.posterior import CorpusRecalibration, DocumentPosterior, parse_rows
from events.counting import evaluate_document, event_name
from events.matching import Screen

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


def parses_of(batch: DocumentBatch, row: int) -> list[tuple[float, DocumentBatch, int]]:
    """Probability of each parse of a document, and the batch and the row that have it."""
    parses = parse_rows(batch, row)
    total = math.fsum(weight for weight, _, _ in parses)
    return [(weight / total, each, place) for weight, each, place in parses]


def document_events(batch: DocumentBatch, row: int, screen: Screen, seed: int) -> tuple[EventShare, ...] | None:
    """Events of a document with P > 0, the likeliest first, from as many samples as `events` draws by default.

    As there, scores that had the recalibration of the English model have its uncertainty.
    None if its labels fit several schemes that give different events; `events` rejects such a document.
    """
    matches, reasons = screen.match(batch.take([row]))
    if reasons:
        return None
    recalibrated = CorpusRecalibration(seed=seed).for_scores(batch.metadata(row))
    posterior = DocumentPosterior.of_row(batch, row, recalibrated)
    day = datetime.date.min  # which no sample depends on
    shares: list[EventShare] = []
    for found in evaluate_document(posterior, matches[0].parses, day, n_samples=N_SAMPLES, seed=seed):
        values = zip(map(event_name, found.keys), found.probabilities.tolist(), found.mc_errors.tolist(), strict=True)
        shares += [EventShare(*each) for each in values if each[1] > 0.0]
    return tuple(sorted(shares, key=lambda share: (-share.probability, share.actors)))
