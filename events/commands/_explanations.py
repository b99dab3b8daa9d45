"""What `corefsample explain` says of a trigger in its sentence, of the events of its document, and of all triggers."""

from __future__ import annotations

import dataclasses
import datetime
import math
from dataclasses import dataclass
from typing import Any

from corefsample.documents._batch import DocumentBatch
from corefsample.posterior import DocumentPosterior
from corefsample.posterior._posterior import parse_rows
from corefsample.posterior._recalibrated import CorpusRecalibration
from events.counting._evaluation import evaluate_document
from events.counting._keys import event_name
from events.matching._screening import Screen
from events.matching._tracing import NamedActor, RoleTrace, TriggerTrace

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


@dataclass(frozen=True, slots=True)
class Explained:
    """One trigger in its sentence.

    Attributes
    ----------
    doc_id, date
        Of the document; the date in ISO form, or None.
    words
        Words of the sentence.
    start
        Offset of the first of them in the document.
    trace
        The trigger; its offsets are those of the document.
    events
        Events of the document with their probabilities (`events.commands._explanations.document_events`).
    share
        Probability of the parses in which the trigger is as `trace` says; below 1 only in a document with several.
    alternatives
        What it is in the other parses, the likeliest first; a parse in which it is no trigger is in none.
    """

    doc_id: str
    date: str | None
    words: tuple[str, ...]
    start: int
    trace: TriggerTrace
    events: tuple[EventShare, ...] | None = None
    share: float = 1.0
    alternatives: tuple[Explained, ...] = ()

    def text(self, start: int, end: int | None = None) -> str:
        """Words of the document from one offset to another (exclusive), or the word at one."""
        return " ".join(self.words[start - self.start : (start + 1 if end is None else end) - self.start])

    def near_miss(self, role: RoleTrace) -> str:
        """Which step of the nearest path failed, and where; "" if a path led to a mention."""
        nearest = role.nearest
        if role.path is not None:
            return ""
        if nearest is None:
            return "the rule has no path"
        words = ", ".join(repr(self.text(token)) for token in nearest.ends or nearest.reached)
        if nearest.ends:
            return f"{nearest.path or 'the trigger'} leads to {words}, which is the head of no mention"
        if nearest.failed == "" or nearest.failed.startswith("["):
            return f"{nearest.path}: {words} is not {nearest.failed}"
        if nearest.label_fits:
            return f"{nearest.path}: from {words}, the label of {nearest.failed} is there, its condition fails"
        labels = ", ".join(nearest.labels) or "no label"
        return f"{nearest.path}: {nearest.failed} leads nowhere from {words}, which has {labels}"

    def to_json(self) -> dict[str, Any]:
        """The fields by name; of the trace its outcome, conditions, roles and actors."""
        return {
            "doc_id": self.doc_id,
            "date": self.date,
            "sentence": " ".join(self.words),
            "word": self.text(self.trace.token),
            **self._reading(),
            "alternatives": [each._reading() for each in self.alternatives],
            "document_events": None if self.events is None else [each.to_json() for each in self.events],
        }

    def _reading(self) -> dict[str, Any]:
        """What depends on the parse."""
        trace = self.trace
        return {
            "share": self.share,
            "trigger": trace.trigger,
            "frame": trace.frame,
            "outcome": trace.outcome,
            "conditions": list(trace.conditions),
            "roles": [self._role(role) for role in trace.roles],
            "actors": [self._actor(actor) for actor in trace.actors],
        }

    def _role(self, role: RoleTrace) -> dict[str, Any]:
        return {
            "role": role.role,
            "outcome": role.outcome,
            "path": role.path,
            "word": None if role.token is None else self.text(role.token),
            "actors": list(role.codes),
            "in_class": role.in_class,
            "nearest": None if role.nearest is None else role.nearest.path,
            "failed_step": None if role.nearest is None else role.nearest.failed,
            "near_miss": self.near_miss(role) or None,
        }

    def _actor(self, actor: NamedActor) -> dict[str, Any]:
        return {
            "actor": actor.code,
            "words": self.text(*actor.span),
            "path_from_trigger": actor.route,
            "describes_a_mention": actor.describes,
        }


@dataclass(frozen=True, slots=True)
class Explanation:
    """Triggers of a corpus with what became of them.

    Attributes
    ----------
    rule, preset, lexicon
        What was looked for.
    n_documents, n_triggers
        Documents read, and triggers found that the options select.
    outcomes
        Number of these triggers by outcome.
    shown
        The chosen ones, in the order of the corpus.
    """

    rule: str
    preset: str
    lexicon: str
    n_documents: int
    n_triggers: int
    outcomes: dict[str, int]
    shown: tuple[Explained, ...]

    def to_json(self) -> dict[str, Any]:
        """The fields by name."""
        fields = {each.name: getattr(self, each.name) for each in dataclasses.fields(self)}
        return {**fields, "shown": [each.to_json() for each in self.shown]}
