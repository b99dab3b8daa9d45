"""Triggers of scored documents in their sentences: what each is in every parse, and the events of its document."""

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
from events.commands._reading import Report, batches
from events.counting._evaluation import RuleFinder
from events.counting._evidence import DocumentEvidence
from events.counting._tables import EventKey
from events.lexicon._lexicon import Lexicon
from events.matching._screening import Screen
from events.matching._tracing import COUNTED, DocumentTrace, TriggerTrace, trace_document
from events.rules._rules import Rule

N_SAMPLES = 1000  # as `events` draws by default
_ROUNDING = 1e-9  # of the sum of the shares of parses


def traced(
    stream: DocumentStream,
    rule: Rule,
    screen: Screen,
    on_progress: Progress | None,
    report: Report,
) -> Iterator[tuple[DocumentBatch, dict[int, DocumentTrace]]]:
    """Yield the valid documents of a stream, batch by batch, with the traces of their triggers.

    If a document has several parses, the likeliest one is traced. A document whose labels fit no dependency scheme is
    rejected like a bad document.
    """

    def inspect(batch: DocumentBatch) -> tuple[dict[int, DocumentTrace], dict[int, str]]:
        traces, faults = {}, {}
        for row in range(len(batch)):
            try:
                _, parses, place = max(batch.rows_of_parses(row), key=lambda parse: parse[0])
                traces[row] = _trace(parses, place, rule, screen.lexicon, screen.scheme_of(batch, row, parses, place))
            except InputError as error:
                faults[row] = error.message
        return traces, faults

    return batches(stream, on_progress, inspect, report=report)


def explained(batch: DocumentBatch, row: int, rule: Rule, screen: Screen) -> Iterator[Explained]:
    """The triggers of a document in the order of the text, each with what it is in the parses.

    A parse is read by the scheme that the screen says, as `events` reads it.

    Raises
    ------
    InputError
        If the labels of a parse do not fit.
    """
    date = batch.dates[row]
    day = None if np.isnat(date) else str(date)
    parses = batch.rows_of_parses(row)
    total = math.fsum(weight for weight, *_ in parses)
    readings_by_token: dict[int, dict[TriggerTrace, Explained]] = {}  # equal traces are one
    for number, (weight, each, place) in enumerate(parses):
        try:
            trace = _trace(each, place, rule, screen.lexicon, screen.scheme_of(batch, row, each, place))
        except InputError as error:
            prefix = f"parses[{number}]: " if len(parses) > 1 else ""
            raise batch.rejected(row, f"{prefix}{error.message}").error() from None
        tokens = each.tokens(place)
        assert tokens is not None  # the stream needs them
        bounds = tokens.sentences()
        for trigger in trace.triggers:
            readings = readings_by_token.setdefault(trigger.token, {})
            start, end = bounds[int(tokens.sent[trigger.token])]
            new = Explained(batch.doc_ids[row], day, tuple(tokens.text[start:end]), start, trigger, share=0.0)
            reading = readings.get(trigger, new)
            readings[trigger] = dataclasses.replace(reading, share=reading.share + weight / total)
    for _, readings in sorted(readings_by_token.items()):
        first, *others = _likeliest_first(readings.values())
        yield dataclasses.replace(first, alternatives=tuple(others))


def _trace(batch: DocumentBatch, row: int, rule: Rule, lexicon: Lexicon, scheme: str | None) -> DocumentTrace:
    tokens = batch.tokens(row)
    assert tokens is not None  # the stream needs them
    date = None if np.isnat(batch.dates[row]) else batch.dates[row].item()
    return trace_document(tokens, batch.spans(row), rule, lexicon, date, scheme)


def _likeliest_first(readings: Iterable[Explained]) -> list[Explained]:
    """Readings of a trigger: those of the likeliest outcome first, among these of the likeliest match, then the others.

    Parses that differ elsewhere make different readings, so a reading alone says little about its outcome.
    """
    found = list(readings)

    def share(of: Callable[[Explained], object], each: Explained) -> float:
        return math.fsum(other.share for other in found if of(other) == of(each))

    return sorted(
        found, key=lambda each: (-share(lambda e: e.trace.outcome, each), -share(Explained.match, each), -each.share)
    )


@dataclass(frozen=True, slots=True)
class EventShare(CommandResult):
    """An event of a document: its actors ("IRQ>KWT", "-" for none), P(event), and its Monte Carlo standard error.

    Before the actors is the name of the event where there are several rules.

    `reasons` says what happens in the samples without it, and `filled` how its roles are filled, as in the table of
    evidence.
    """

    actors: str
    probability: float
    mc_se: float
    reasons: str = ""
    filled: str = ""

    def __str__(self) -> str:
        without = f"; without it: {self.reasons}" if self.reasons else ""
        by_default = {"default": " by default", "both": " named and by default"}.get(self.filled, "")
        return f"{self.actors}{by_default} {self.probability:.3f} (MC error {self.mc_se:.3f}{without})"


def document_events(
    batch: DocumentBatch, row: int, finder: RuleFinder, recalibration: CorpusRecalibration
) -> tuple[EventShare, ...] | None:
    """Events of a document with P > 0, the likeliest first, as `events` finds them.

    None if its labels fit several schemes that give different events; `events` rejects such a document.
    """
    document = batch.take([row])
    matches, faults = finder.match(document)
    if faults:
        return None
    events = finder.events(document, 0, matches[0], recalibration)
    rows = DocumentEvidence.of(document, 0, events, "").rows()
    several = bool(finder.outcomes)
    names = [f"{e.event}: {EventKey(e.actors).name}" if several else EventKey(e.actors).name for e in rows]
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
        Name of the document, and its date in ISO form, None if it has no date.
    words
        Words of the sentence.
    start
        Token offset of the first of these words in the document.
    trace
        Trace of the trigger; its token offset counts from the beginning of the document.
    events
        Events of the document with their probabilities.
    share
        Probability of the parses in which the trigger is as `trace` says, in (0, 1]; 1 if the document has one parse.
    alternatives
        What the trigger is in the other parses, the likeliest first, without parses in which the word is no trigger.
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
        """Share of the parses in which the word is no trigger."""
        share = 1.0 - math.fsum(each.share for each in (self, *self.alternatives))
        return share if share > _ROUNDING else 0.0

    @property
    def has_several(self) -> bool:
        """Whether the document's parses differ in what they say of the trigger."""
        return bool(self.alternatives) or self.share_without > 0.0

    @property
    def is_by_nobody(self) -> bool:
        """Whether the trigger makes an event whose actor the lexicon does not name."""
        return self.trace.outcome == COUNTED and not self.trace.is_named

    def match(self) -> str:
        """The outcome in short: for each role the actors and the path that matched."""
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
