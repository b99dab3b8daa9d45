"""Triggers of scored documents in their sentences: what each is in every parse, and the events of its document."""

from __future__ import annotations

import dataclasses
import datetime
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from corefsample.documents._batch import DocumentBatch
from corefsample.errors import InputError
from corefsample.formats import DocumentStream
from corefsample.posterior import DocumentPosterior
from corefsample.posterior._posterior import CorpusRecalibration
from corefsample.syntax._path_traces import PathTrace, UnmetCondition
from events._options import Progress, Result
from events.commands._failures import Report
from events.commands._reading import batches
from events.counting._evaluation import evaluate_document
from events.counting._evidence import evidence_rows, parsed_mentions
from events.counting._tables import EventKey
from events.lexicon._lexicon import Lexicon
from events.matching._screening import Screen
from events.matching._tracing import COUNTED, DocumentTrace, NamedActor, RoleTrace, TriggerTrace, trace_document
from events.rules._rules import Rule

N_SAMPLES = 1000  # as `events` draws by default
_ROUNDING = 1e-9  # of the sum of the shares of parses
_FEW = 5  # words of a condition


def traced(
    stream: DocumentStream,
    rule: Rule,
    lexicon: Lexicon,
    scheme: str | None,
    on_progress: Progress | None,
    report: Report,
) -> Iterator[tuple[DocumentBatch, dict[int, DocumentTrace]]]:
    """The valid documents of a stream, batch by batch, with their traces; those whose labels do not fit are bad.

    Of several parses of a document, the likeliest is traced.
    """

    def inspect(batch: DocumentBatch) -> tuple[dict[int, DocumentTrace], dict[int, str]]:
        traces, faults = {}, {}
        for row in range(len(batch)):
            try:
                _, parses, place = max(parses_of(batch, row), key=lambda parse: parse[0])
                traces[row] = _trace(parses, place, rule, lexicon, scheme)
            except InputError as error:
                faults[row] = error.message
        return traces, faults

    return batches(stream, on_progress, inspect, report=report)


def explained(batch: DocumentBatch, row: int, rule: Rule, lexicon: Lexicon, scheme: str | None) -> Iterator[Explained]:
    """The triggers of a document in the order of the text, each with what it is in the parses.

    Raises
    ------
    InputError
        If the labels of a parse do not fit.
    """
    date = batch.dates[row]
    day = None if np.isnat(date) else str(date)
    found: dict[int, dict[TriggerTrace, Explained]] = {}  # by token; equal traces are one
    for number, (share, parses, place) in enumerate(parses_of(batch, row)):
        try:
            trace = _trace(parses, place, rule, lexicon, scheme)
        except InputError as error:
            prefix = f"parses[{number}]: " if batch.n_parses(row) > 1 else ""
            raise batch.rejected(row, f"{prefix}{error.message}").error() from None
        tokens = parses.tokens(place)
        assert tokens is not None  # the stream needs them
        bounds = tokens.sentences()
        for trigger in trace.triggers:
            readings = found.setdefault(trigger.token, {})
            start, end = bounds[int(tokens.sent[trigger.token])]
            new = Explained(batch.doc_ids[row], day, tuple(tokens.text[start:end]), start, trigger, share=0.0)
            known = readings.get(trigger, new)
            readings[trigger] = dataclasses.replace(known, share=known.share + share)
    for _, readings in sorted(found.items()):
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
class EventShare(Result):
    """An event of a document: its actors ("IRQ>KWT", "-" for none), P(event), and its Monte Carlo standard error.

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


def parses_of(batch: DocumentBatch, row: int) -> list[tuple[float, DocumentBatch, int]]:
    """Probability of each parse of a document, and the batch and the row that have it."""
    parses = batch.rows_of_parses(row)
    total = math.fsum(weight for weight, _, _ in parses)
    return [(weight / total, each, place) for weight, each, place in parses]


def document_events(batch: DocumentBatch, row: int, screen: Screen, seed: int) -> tuple[EventShare, ...] | None:
    """Events of a document with P > 0, the likeliest first, from as many samples as `events` draws by default.

    As there, scores that had the recalibration of a model of the package have its uncertainty.
    None if its labels fit several schemes that give different events; `events` rejects such a document.
    """
    matches, reasons = screen.match(batch.take([row]))
    if reasons:
        return None
    recalibrated = CorpusRecalibration(seed=seed).for_scores(batch.metadata(row))
    posterior = DocumentPosterior.of_row(batch, row, recalibrated)
    day = datetime.date.min  # which no sample depends on
    shares: list[EventShare] = []
    parses = parsed_mentions(batch, row)
    for found in evaluate_document(posterior, matches[0].parses, day, n_samples=N_SAMPLES, seed=seed):
        shares += [
            EventShare(EventKey(row.actors).name, row.probability, row.mc_se, row.reasons, row.filled)
            for row in evidence_rows([found], "", parses)
        ]
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
        Events of the document with their probabilities.
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
        """Whether the trigger makes an event of which the lexicon names no actor."""
        return self.trace.outcome == COUNTED and not self.trace.is_named

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
        if nearest.unmet and nearest.failed.startswith("["):
            return f"{nearest.path}: {self._unmet(nearest)}"
        if nearest.label_fits:
            return f"{nearest.path}: from {words}, {self._unmet(nearest)}"
        labels = ", ".join(nearest.labels) or "no label"
        return f"{nearest.path}: {nearest.failed} leads nowhere from {words}, which has {labels}"

    def _unmet(self, nearest: PathTrace) -> str:
        """Why the word that meets the most conditions does not meet all, and with which words it would."""
        n_unmet = Counter(each.token for each in nearest.unmet)
        token = min(n_unmet, key=lambda each: (n_unmet[each], each))
        reasons = " and ".join(_reason(each) for each in nearest.unmet if each.token == token)
        return f"{self.text(token)!r} is not {nearest.failed}: {reasons}"

    def match(self) -> str:
        """The outcome in short: for each role the actors and the path that matched."""
        parts = [self.trace.outcome]
        for role in self.trace.roles:
            actors = ", ".join(role.codes) or "no actor"
            found = "nothing" if role.path is None else f"{actors} by {role.path or 'the trigger itself'}"
            parts.append(f"{role.role} {found}")
        return ", ".join(parts)

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
            "condition_words": [self.text(token) for token in trace.condition_tokens],
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


def _reason(unmet: UnmetCondition) -> str:
    """Why a condition fails, and the words with which it would hold."""
    label, sign, words = unmet.condition.partition("=")
    if not sign:
        return f"[{unmet.condition}] fails"
    own, name = " and ".join(map(repr, unmet.values)), label.removesuffix("!")
    if label != name:
        return f"its {name} is {own}, which [{_few(unmet.condition)}] excludes"
    return f"its {name} is {own}, it would have to be {_few(words)}" if own else f"it has no {name} {_few(words)}"


def _few(words: str) -> str:
    """The first of several words between bars."""
    every = words.split("|")
    more = [f"{len(every) - _FEW} others"] * (len(every) > _FEW)
    return " or ".join([*every[:_FEW], *more])
