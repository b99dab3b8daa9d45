"""The job behind `corefsample explain`: why sentences with a trigger make an event or do not."""

from __future__ import annotations

import dataclasses
import hashlib
import heapq
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from corefsample.documents._batch import DocumentBatch
from corefsample.errors import InputError, ParameterError
from corefsample.files._paths import PathLike
from corefsample.formats import DocumentStream
from events.commands._explain_options import ExplainOptions
from events.commands._explanations import N_SAMPLES, EventShare, Explained, Explanation, document_events, parses_of
from events.lexicon._lexicon import Lexicon, load_lexicon
from events.matching._matching import check_classes
from events.matching._screening import Screen
from events.matching._tracing import DocumentTrace, TriggerTrace, trace_document
from events.rules._rules import Rule, load_rules
from events.runs._progress import Progress

__all__ = ["N_SAMPLES", "Explained", "Explanation", "explained", "traced"]

DEFAULT_SAMPLE = 20


def explained(
    inputs: PathLike | Iterable[PathLike], options: ExplainOptions, on_progress: Progress | None
) -> Explanation:
    """The triggers of the options, and the chosen ones; see `events.commands.explain.run_explain`."""
    rule, lexicon = load_rules(options.rule, options.preset), load_lexicon(options.lexicon)
    check_classes(rule, lexicon)
    screen = Screen(rule, lexicon, options.scheme)
    lemma = _wanted_lemma(rule, options.trigger)
    limit = options.sample or (None if options.doc_id is not None else DEFAULT_SAMPLE)
    chosen: list[tuple[int, int, Explained]] = []  # a heap: minus the random rank, place in the corpus, trigger
    outcomes: dict[str, int] = {}
    n_documents = n_triggers = 0
    for batch, row, traces in _traces(inputs, options, rule, lexicon, on_progress):
        n_documents += 1
        events: tuple[EventShare, ...] | None = None
        is_evaluated = False  # a document of which no trigger is chosen needs no samples
        for each in _explained(batch, row, traces):
            if lemma is not None and not _has_lemma(each, lemma):
                continue
            n_triggers += 1
            outcomes[each.trace.outcome] = outcomes.get(each.trace.outcome, 0) + 1
            rank = 0 if limit is None else -_rank(options.seed, each.doc_id, each.trace.token)
            if limit is not None and len(chosen) == limit and rank < chosen[0][0]:
                continue
            if not is_evaluated:
                events = document_events(batch, row, screen, options.seed)
                is_evaluated = True
            heapq.heappush(chosen, (rank, n_triggers, dataclasses.replace(each, events=events)))
            if limit is not None and len(chosen) > limit:
                heapq.heappop(chosen)
    shown = tuple(each for _, _, each in sorted(chosen, key=lambda item: item[1]))
    return Explanation(rule.name, rule.preset, lexicon.source, n_documents, n_triggers, outcomes, shown)


def traced(
    stream: DocumentStream, rule: Rule, lexicon: Lexicon, scheme: str | None
) -> Iterator[tuple[DocumentBatch, list[DocumentTrace]]]:
    """The valid documents of a stream, batch by batch, with their traces; those whose labels do not fit are bad."""

    def inspect(batch: DocumentBatch) -> tuple[dict[int, DocumentTrace], dict[int, str]]:
        traces, faults = {}, {}
        for row in range(len(batch)):
            try:
                traces[row] = _trace(batch, row, rule, lexicon, scheme)
            except InputError as error:
                faults[row] = error.message
        return traces, faults

    for batch, traces in stream.inspected(inspect):
        yield batch, [traces[row] for row in range(len(batch))]


def _traces(
    inputs: PathLike | Iterable[PathLike],
    options: ExplainOptions,
    rule: Rule,
    lexicon: Lexicon,
    on_progress: Progress | None,
) -> Iterator[tuple[DocumentBatch, int, list[DocumentTrace]]]:
    """Each document with its trace in each parse; without any if it is not the wanted one."""
    stream = DocumentStream(inputs, needs=("tokens",), parses=True)
    n_documents, is_found = 0, options.doc_id is None
    for batch in stream:
        for row in range(len(batch)):
            n_documents += 1
            if options.doc_id in (None, batch.doc_ids[row]):
                is_found = True
                yield batch, row, _traces_of_parses(batch, row, rule, lexicon, options.scheme)
            else:
                yield batch, row, []
        if on_progress is not None:
            on_progress(stream.bytes_read, stream.total_bytes, n_documents)
    if not n_documents:
        raise InputError("a corpus must have at least one document, got none", place=", ".join(stream.paths))
    if not is_found:
        raise ParameterError(f"must be the doc_id of a document, got {options.doc_id!r}", parameter="doc_id")


def _traces_of_parses(
    batch: DocumentBatch, row: int, rule: Rule, lexicon: Lexicon, scheme: str | None
) -> list[DocumentTrace]:
    traces: list[DocumentTrace] = []
    for _, parses, place in parses_of(batch, row):
        try:
            traces.append(_trace(parses, place, rule, lexicon, scheme))
        except InputError as error:
            prefix = f"parses[{len(traces)}]: " if batch.n_parses(row) > 1 else ""
            raise batch.rejected(row, f"{prefix}{error.message}").error() from None
    return traces


def _trace(batch: DocumentBatch, row: int, rule: Rule, lexicon: Lexicon, scheme: str | None) -> DocumentTrace:
    tokens = batch.tokens(row)
    assert tokens is not None  # the stream needs them
    date = None if np.isnat(batch.dates[row]) else batch.dates[row].item()
    return trace_document(tokens, batch.spans(row), rule, lexicon, date, scheme)


def _wanted_lemma(rule: Rule, trigger: str | None) -> str | None:
    """The lemma in lower case, if a trigger of the rule has it."""
    if trigger is None:
        return None
    words = {word for frame in rule.frames for word in frame.words}
    if trigger.lower() not in words:
        rule_text = f"must be a trigger of the rule {rule.name}, preset {rule.preset} ({rule.triggers})"
        raise ParameterError(f"{rule_text}, got {trigger!r}", parameter="trigger")
    return trigger.lower()


def _has_lemma(explained: Explained, lemma: str) -> bool:
    return any(lemma in each.trace.trigger.split() for each in (explained, *explained.alternatives))


def _explained(batch: DocumentBatch, row: int, traces: Sequence[DocumentTrace]) -> Iterator[Explained]:
    """The triggers of a document in the order of the text, each with what it is in the parses."""
    date = batch.dates[row]
    day = None if np.isnat(date) else str(date)
    found: dict[int, dict[TriggerTrace, Explained]] = {}  # by token; equal traces are one
    for trace, (share, parses, place) in zip(traces, parses_of(batch, row), strict=bool(traces)):
        tokens = parses.tokens(place)
        assert tokens is not None  # the stream needs them
        bounds = tokens.sentences()
        for trigger in trace.triggers:
            readings = found.setdefault(trigger.token, {})
            start, end = bounds[int(tokens.sent[trigger.token])]
            known = readings.get(trigger)
            if known is None:
                words = tuple(tokens.text[start:end])
                known = Explained(batch.doc_ids[row], day, words, start, trigger, share=0.0)
            readings[trigger] = dataclasses.replace(known, share=known.share + share)
    for _, readings in sorted(found.items()):
        first, *others = sorted(readings.values(), key=lambda each: -each.share)
        yield dataclasses.replace(first, alternatives=tuple(others))


def _rank(seed: int, doc_id: str, token: int) -> int:
    """A pseudorandom number that depends on the seed and the trigger alone."""
    return int.from_bytes(hashlib.blake2b(f"{seed}\0{doc_id}\0{token}".encode(), digest_size=8).digest(), "big")
