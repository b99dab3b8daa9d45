"""Triggers of scored documents in their sentences, with their traces in every parse and the events of the document."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from corefsample.documents._batch import DocumentBatch
from corefsample.errors import InputError
from corefsample.formats import DocumentStream
from corefsample.posterior._posterior import CorpusRecalibration
from events._options import CommandResult, Progress
from events.commands._reading import CheckReport, batches
from events.counting._evaluation import RuleFinder
from events.counting._evidence import DocumentEvidence
from events.counting._tables import EventKey
from events.lexicon._lexicon import Lexicon
from events.matching._screening import Screen
from events.matching._tracing import COUNTED, DocumentTrace, TriggerTrace, trace_document
from events.rules._rules import Rule

N_SAMPLES = 1000  # number of samples that `events` draws by default
_ROUNDING = 1e-9  # tolerance for the sum of the shares of parses


def traced(
    stream: DocumentStream,
    rule: Rule,
    screen: Screen,
    on_progress: Progress | None,
    report: CheckReport,
) -> Iterator[tuple[DocumentBatch, dict[int, DocumentTrace]]]:
    """Yield the valid documents of a stream, batch by batch, with the traces of their triggers.

    If a document has several parses, the likeliest one is traced. A document whose labels fit no dependency scheme is
    rejected as invalid.
    """

    def inspect(batch: DocumentBatch) -> tuple[dict[int, DocumentTrace], dict[int, str]]:
        traces, faults = {}, {}
        for first in batch.firsts.tolist():
            row = max(batch.parses(first), key=lambda row: batch.weight(row))
            try:
                traces[row] = _trace(batch, row, rule, screen.lexicon, screen.scheme_of(batch, row))
            except InputError as error:
                faults[row] = error.message
        return traces, faults

    return batches(stream, on_progress, inspect, report=report)


def explained(batch: DocumentBatch, row: int, rule: Rule, screen: Screen) -> Iterator[Explained]:
    """Yield the triggers of a document in the order of the text, each with its traces in the parses.

    A parse is read by the dependency scheme that `screen` determines, as `events` reads it.

    Raises
    ------
    InputError
        If the labels of a parse fit no scheme.
    """
    date = batch.dates[row]
    day = None if np.isnat(date) else str(date)
    readings_by_token: dict[int, dict[TriggerTrace, Explained]] = {}  # equal traces are one
    for r in batch.parses(row):
        try:
            trace = _trace(batch, r, rule, screen.lexicon, screen.scheme_of(batch, r))
        except InputError as error:
            raise batch.rejected(r, error.message).error() from None
        tokens = batch.tokens(r)
        assert tokens is not None  # the stream needs them
        bounds = tokens.sentences()
        for trigger in trace.triggers:
            readings = readings_by_token.setdefault(trigger.token, {})
            start, end = bounds[int(tokens.sent[trigger.token])]
            reading = Explained(batch.doc_ids[row], day, tuple(tokens.text[start:end]), start, trigger, share=0.0)
            reading = readings.get(trigger, reading)
            readings[trigger] = dataclasses.replace(reading, share=reading.share + batch.weight(r))
    for _, readings in sorted(readings_by_token.items()):
        likeliest, *alternatives = _likeliest_first(readings.values())
        yield dataclasses.replace(likeliest, alternatives=tuple(alternatives))


def _trace(batch: DocumentBatch, row: int, rule: Rule, lexicon: Lexicon, scheme: str | None) -> DocumentTrace:
    tokens = batch.tokens(row)
    assert tokens is not None  # the stream needs them
    date = None if np.isnat(batch.dates[row]) else batch.dates[row].item()
    return trace_document(tokens, batch.spans(row), rule, lexicon, date, scheme)


def _likeliest_first(readings: Iterable[Explained]) -> list[Explained]:
    """Sort the readings of a trigger by the share of their outcome, of their match, and of the reading itself.

    Parses that differ in other words make different readings, so the share of a single reading is not that of its
    outcome.
    """
    unordered = list(readings)

    def share(value: Callable[[Explained], object], reading: Explained) -> float:
        return math.fsum(other.share for other in unordered if value(other) == value(reading))

    return sorted(unordered, key=lambda r: (-share(lambda e: e.trace.outcome, r), -share(Explained.match, r), -r.share))


@dataclass(frozen=True, slots=True)
class EventShare(CommandResult):
    """An event of a document with its probability.

    Attributes
    ----------
    actors
        Actors of the event, such as "IRQ>KWT", or "-" for none; preceded by the name of the event if there are several.
    probability, mc_se
        P(event), and its Monte Carlo standard error.
    reasons, filled
        Reasons why the event is not true in other samples, and how its roles are filled, as in the table of evidence.
    """

    actors: str
    probability: float
    mc_se: float
    reasons: str = ""
    filled: str = ""

    def __str__(self) -> str:
        reason_text = f"; without it: {self.reasons}" if self.reasons else ""
        by_default = {"default": " by default", "both": " named and by default"}.get(self.filled, "")
        return f"{self.actors}{by_default} {self.probability:.3f} (MC error {self.mc_se:.3f}{reason_text})"


def document_events(
    batch: DocumentBatch, row: int, finder: RuleFinder, recalibration: CorpusRecalibration
) -> tuple[EventShare, ...] | None:
    """Events of a document with P > 0, the likeliest first, as `corefsample events` counts them.

    The result is None if the labels fit several schemes that give different events, so that `events` rejects the
    document.
    """
    document = batch.take(batch.parses(row))
    matches, faults = finder.match(document)
    if faults:
        return None
    events = finder.events(document, 0, matches[0], recalibration)
    rows = DocumentEvidence.of(document, 0, events, "").rows()
    has_outcomes = bool(finder.outcomes)
    names = [f"{e.event}: {EventKey(e.actors).name}" if has_outcomes else EventKey(e.actors).name for e in rows]
    shares = [
        EventShare(name, e.probability, e.mc_se, e.reasons, e.filled) for name, e in zip(names, rows, strict=True)
    ]
    return tuple(sorted(shares, key=lambda share: (-share.probability, share.actors)))


@dataclass(frozen=True, slots=True)
class Explained:
    """One trigger in its sentence.

    Attributes
    ----------
    doc_id, date
        Identifier of the document, and its date in ISO form; None without a date.
    words
        Words of the sentence.
    start
        Token offset of the first of these words in the document.
    trace
        Trace of the trigger, with its token offset in the document.
    events
        Events of the document with their probabilities.
    share
        Share of the parses in which the trigger has this trace, in (0, 1]; 1 if the document has one parse.
    alternatives
        The trigger with its traces in other parses, the likeliest first; parses in which the word is not a trigger are
        left out.
    """

    doc_id: str
    date: str | None
    words: tuple[str, ...]
    start: int
    trace: TriggerTrace
    events: tuple[EventShare, ...] | None = None
    share: float = 1.0
    alternatives: tuple[Explained, ...] = ()

    @property
    def share_without(self) -> float:
        """Share of the parses in which the word is not a trigger."""
        share = 1.0 - math.fsum(each.share for each in (self, *self.alternatives))
        return share if share > _ROUNDING else 0.0

    @property
    def has_several(self) -> bool:
        """Whether the trigger has different traces in the parses of the document."""
        return bool(self.alternatives) or self.share_without > 0.0

    @property
    def is_by_nobody(self) -> bool:
        """Whether the trigger makes an event without an actor of the lexicon."""
        return self.trace.outcome == COUNTED and not self.trace.is_named

    def match(self) -> str:
        """Text with the outcome, and for each role the actors and the path that matched."""
        phrases = [self.trace.outcome]
        for role in self.trace.roles:
            actors = ", ".join(role.actors) or "no actor"
            filling = "nothing" if role.path is None else f"{actors} by {role.path or 'the trigger itself'}"
            phrases.append(f"{role.role} {filling}")
        return ", ".join(phrases)

    def to_json(self) -> dict[str, Any]:
        """The fields by name, with those of the trace."""
        return {
            "doc_id": self.doc_id,
            "date": self.date,
            "sentence": " ".join(self.words),
            "word": self.words[self.trace.token - self.start],
            "share": self.share,
            **dataclasses.asdict(self.trace),
            "alternatives": [{"share": each.share, **dataclasses.asdict(each.trace)} for each in self.alternatives],
            "document_events": None if self.events is None else [each.to_json() for each in self.events],
        }
