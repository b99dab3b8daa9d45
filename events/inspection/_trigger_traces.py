"""Triggers of scored documents with the reasons why they make an event, or do not: of all documents, or of some."""

import dataclasses
import hashlib
import heapq
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from corefsample.documents._batch import DocumentBatch
from corefsample.documents._faults import Fault
from corefsample.errors import InputError, ParameterError
from corefsample.files._paths import Inputs
from corefsample.formats import DocumentStream
from corefsample.posterior._posterior import CorpusRecalibration
from events._options import Progress
from events.evidence._acceptance import Acceptance
from events.evidence._columns import ACTOR
from events.evidence._document_evidence import SEPARATOR, STAND_IN, evidence_rows
from events.evidence._evaluation import RuleFinder
from events.evidence._rule_set import RuleSet
from events.matching import _trigger_model
from events.matching._screening import RuleMatcher
from events.matching._tracing import COUNTED, DocumentTrace, TriggerTrace, trace_document
from events.rules._rules import Rule
from events.triggers._nearest_texts import NearestText, nearest_texts

DEFAULT_SAMPLE = 20  # number of triggers that are shown
_NUMBERS = ("documents", "several_parses", "with_event", "by_actor", "by_nobody", "triggers")


def traced(
    stream: DocumentStream,
    rules: Sequence[Rule],
    screen: RuleMatcher,
    on_progress: Progress | None,
    *,
    faults_of: Callable[[DocumentBatch], Mapping[int, Fault]] = lambda batch: {},
    may_be_empty: Callable[[], bool] = lambda: False,
) -> Iterator[tuple[DocumentBatch, dict[int, list[DocumentTrace]]]]:
    """Yield the valid documents of a stream, batch by batch, with the traces of their triggers by rule.

    If a document has several parses, the likeliest one is traced; the traces are those of its row. A document whose
    labels fit no dependency scheme is rejected as invalid, and so are the rows that `faults_of` returns.
    """

    def inspect(batch: DocumentBatch) -> tuple[dict[int, list[DocumentTrace]], dict[int, str | Fault]]:
        traces: dict[int, list[DocumentTrace]] = {}
        faults: dict[int, str | Fault] = {}
        for first in batch.firsts.tolist():
            row = max(batch.parses(first), key=batch.weight)
            tokens = batch.tokens(row)
            assert tokens is not None  # the stream needs them
            date = None if np.isnat(batch.dates[row]) else batch.dates[row].item()
            try:
                document = tokens, batch.spans(row)
                scheme = screen.scheme_of(batch, row)
                traces[row] = [trace_document(*document, rule, screen.lexicon, date, scheme) for rule in rules]
            except InputError as error:
                faults[row] = error.message
        return traces, {**faults, **faults_of(batch)}

    return stream.batches(inspect, on_progress=on_progress, may_be_empty=may_be_empty)


@dataclass(frozen=True, slots=True)
class ExplainedTrigger:
    """One trigger in its sentence.

    Attributes
    ----------
    doc_id, date
        Identifier of the document, and its date in ISO form; None without a date.
    words, start
        Words of the sentence, and token offset of the first of these words in the document.
    trace
        Trace of the trigger, with its token offset in the document.
    events
        Events of the document with P > 0, the likeliest first, as `corefsample events` counts them; None if the labels
        fit several schemes that give different events, so that `events` rejects the document. Of each event: actors,
        such as "IRQ>KWT", or "-" for none, preceded by the name of the event if there are several; probability with
        its Monte Carlo standard error; reasons why the event is not true in other samples, how its roles are filled,
        as in the table of evidence; and stand_ins, the actor_mentions of this table that may stand for an actor.
    nearest_texts
        Nearest texts from which the trigger model was fitted; none without a model, or if its file has no texts.
    """

    doc_id: str
    date: str | None
    words: tuple[str, ...]
    start: int
    trace: TriggerTrace
    events: list[dict[str, Any]] | None = None
    nearest_texts: Sequence[NearestText] = ()

    def to_json(self) -> dict[str, Any]:
        """The fields by name, with those of the trace."""
        return {
            "doc_id": self.doc_id,
            "date": self.date,
            "sentence": " ".join(self.words),
            "word": self.words[self.trace.token - self.start],
            **dataclasses.asdict(self.trace),
            "document_events": self.events,
            "nearest_texts": [text._asdict() for text in self.nearest_texts],
        }


def explain_triggers(
    inputs: Inputs,
    definitions: RuleSet,
    *,
    scheme: str | None = None,
    doc_id: str | None = None,
    actor: str | None = None,
    trigger: str | None = None,
    sample: int | None = None,
    seed: int = 0,
    n_samples: int = 1000,
    recalibration: CorpusRecalibration | None = None,
    has_coreference: bool = True,
    readers: Mapping[tuple[str, str, str], float] | None = None,
    on_progress: Progress | None = None,
) -> tuple[dict[str, Any], list[ExplainedTrigger]]:
    """Trace the triggers of rules in scored documents, and draw some to show with the events of their documents.

    Parameters
    ----------
    inputs
        Paths of files of scored mentions, globs, or "-" for JSON Lines on standard input. Documents must have tokens.
    definitions
        Rules, outcomes and lexicon.
    scheme
        Dependency scheme of the documents; by default, it is determined from the labels of each document.
    doc_id, trigger
        Document and trigger that are explained; by default all.
    actor
        Code of an actor whose events are shown; without `doc_id`, only documents with P > 0 of such an event are
        explained. By default all.
    sample
        Number of triggers to draw; by default 20, and all triggers of a single document.
    seed
        Seed of the random draws, in [0, 2**64).
    n_samples, recalibration, has_coreference
        Number of samples of each document, recalibration of the scores (by default the one that the documents name),
        and false if each mention is an entity, as in the run that is explained.
    readers
        Probability that a reader sees an event, by doc_id, event and actors; by default unknown.
    on_progress
        Function that is called after each batch with the bytes read, the bytes of all files, and the documents read.

    Returns
    -------
    values
        Names of the rules, their presets and the lexicon; number of samples; numbers of documents, of documents with
        several parses, of documents with a trigger that makes an event without coreference (with_event), of those with
        an event by an actor of the lexicon (by_actor) and with an event whose optional role no name of the lexicon
        fills (by_nobody), and of triggers; and number of triggers by outcome.
    shown
        Triggers that were drawn, in the order of the corpus.

    Raises
    ------
    ParameterError
        If no rule has the trigger, or no document has the doc_id.
    InputError
        If a document is invalid.
    """
    rules, lexicon = definitions.whole_rules, definitions.lexicon
    words = {word for rule in rules for frame in rule.frames for word in frame.words}
    if trigger is not None and trigger.lower() not in words:
        described = "; ".join(f"{rule.name}, preset {rule.preset} ({rule.triggers})" for rule in rules)
        raise ParameterError(f"must be a trigger of the rule {described}, got {trigger!r}", parameter="trigger")
    if actor is not None:
        lexicon.require(actor, "actor")
    acceptance = Acceptance(needs=(), language=definitions.language)
    recalibrated = recalibration or CorpusRecalibration(seed=seed)
    screen = RuleMatcher(definitions.rules, lexicon, scheme)
    finder = RuleFinder(screen, definitions.outcomes, n_samples, seed, has_coreference=has_coreference)
    limit = sample or (math.inf if doc_id is not None else DEFAULT_SAMPLE)
    sampled: list[tuple[int, int, ExplainedTrigger, DocumentBatch, Rule]] = []  # heap by minus the random rank
    outcomes, n = Counter[str](), Counter[str]()

    def events_of(batch: DocumentBatch, name: str) -> list[dict[str, Any]] | None:
        first = next(row for row in batch.firsts.tolist() if batch.doc_ids[row] == name)
        return _document_events(batch.take(batch.parses(first)), finder, recalibrated, actor, readers or {})

    def faults_of(batch: DocumentBatch) -> Mapping[int, Fault]:
        nonlocal recalibrated
        recalibrated = recalibrated.fixed_by(batch.metadata(0))
        return acceptance.faults(batch, recalibrated)

    stream = DocumentStream(inputs, needs=("tokens",), parses=True)
    for batch, traces in traced(stream, rules, screen, on_progress, faults_of=faults_of):
        n.update(
            documents=len(batch.firsts), several_parses=sum(len(batch.parses(row)) > 1 for row in batch.firsts.tolist())
        )
        for row, document in traces.items():
            if doc_id not in (None, batch.doc_ids[row]):
                continue
            n["chosen"] += 1
            if (
                actor is not None
                and doc_id is None
                and not (any(triggers for triggers, _ in document) and events_of(batch, batch.doc_ids[row]))
            ):
                continue
            is_by_actor = set[bool]()  # of the triggers that make an event
            for rule, explained in _triggers(batch, row, rules, document):
                trace = explained.trace
                if trigger is not None and trigger.lower() not in trace.trigger.split():
                    continue
                n["triggers"] += 1
                outcomes[trace.outcome] += 1
                if trace.outcome == COUNTED:
                    is_by_actor.add(trace.is_named)
                # A pseudorandom number that depends on the seed and the trigger alone
                key = f"{seed}\0{explained.doc_id}\0{trace.token}".encode()
                rank = int.from_bytes(hashlib.blake2b(key, digest_size=8).digest(), "big")
                heapq.heappush(sampled, (-rank, n["triggers"], explained, batch, rule))
                if len(sampled) > limit:
                    heapq.heappop(sampled)
            n.update(by_actor=True in is_by_actor, by_nobody=False in is_by_actor, with_event=bool(is_by_actor))
    if doc_id is not None and not n["chosen"]:
        raise ParameterError(f"must be the doc_id of a document, got {doc_id!r}", parameter="doc_id")
    events: dict[str, list[dict[str, Any]] | None] = {}
    for _, _, explained, batch, _ in sampled:
        if explained.doc_id not in events:
            events[explained.doc_id] = events_of(batch, explained.doc_id)
    values = {
        "rule": ", ".join(dict.fromkeys(rule.name for rule in rules)),
        "preset": ", ".join(dict.fromkeys(rule.preset for rule in rules)),
        "lexicon": lexicon.source,
        "n_samples": n_samples,
        **{f"n_{name}": n[name] for name in _NUMBERS},
        "outcomes": dict(outcomes),
    }
    return values, [
        dataclasses.replace(explained, events=events[explained.doc_id], nearest_texts=_nearest_texts(explained, rule))
        for *_, explained, _, rule in sorted(sampled, key=lambda item: item[1])
    ]


def _nearest_texts(explained: ExplainedTrigger, rule: Rule) -> list[NearestText]:
    if explained.trace.chance is None:
        return []
    model = _trigger_model.load_trigger_model(rule.trigger_model, rule.encoder, rule.model_checksum)
    return nearest_texts(model, explained.trace.trigger.split(), explained.words)


def _triggers(
    batch: DocumentBatch, row: int, rules: Sequence[Rule], traces: Sequence[DocumentTrace]
) -> Iterator[tuple[Rule, ExplainedTrigger]]:
    """Yield the triggers of a document with their rules; if there are several rules, frames are named RULE.FRAME."""
    tokens = batch.tokens(row)
    assert tokens is not None  # the stream needs them
    bounds = tokens.sentences()
    date = None if np.isnat(batch.dates[row]) else str(batch.dates[row])
    for rule, (triggers, _) in zip(rules, traces, strict=True):
        for trace in triggers:
            start, end = bounds[int(tokens.sent[trace.token])]
            named = trace if len(rules) == 1 else dataclasses.replace(trace, frame=f"{rule.name}.{trace.frame}")
            yield rule, ExplainedTrigger(batch.doc_ids[row], date, tuple(tokens.text[start:end]), start, named)


def _document_events(
    document: DocumentBatch,
    finder: RuleFinder,
    recalibration: CorpusRecalibration,
    actor: str | None,
    readers: Mapping[tuple[str, str, str], float],
) -> list[dict[str, Any]] | None:
    """Events of a document, by default of all actors: see `ExplainedTrigger.events`."""
    matches, faults = finder.match(document)
    if faults:
        return None
    events = finder.events(document, 0, matches[0], recalibration)
    parses = [(document.tokens(row), document.spans(row)) for row in document.parses(0)]
    rows = evidence_rows(events, parses, "", dict.fromkeys((e.event for e in events), ACTOR), ACTOR)
    keys = [(e.event, key) for e in events for key in e.keys]
    shares = [
        {
            "actors": f"{event}: {key.name}" if finder.outcomes or len(finder.matcher.rules) > 1 else key.name,
            **{column: row[column] for column in ("probability", "mc_se", "reasons", "filled")},
            "stand_ins": SEPARATOR.join(m for m in row["actor_mentions"].split(SEPARATOR) if STAND_IN in m),
            "reader_probability": readers.get((row["doc_id"], event, key.name)),
        }
        for (event, key), row in zip(keys, rows, strict=True)
        if row["probability"] and (actor is None or actor in key)
    ]
    return sorted(shares, key=lambda share: (-share["probability"], share["actors"]))
