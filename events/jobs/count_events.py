"""The batch job: counts events in pre-scored mention files and writes a folder of counts, evidence and pictures."""

from __future__ import annotations

import dataclasses
import os
import time
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from corefsample import _checks
from corefsample._processors import processors
from corefsample.documents import ON_ERROR, DocumentBatch
from corefsample.errors import InputError, ParameterError
from corefsample.files import PathLike
from corefsample.formats import DocumentStream
from corefsample.syntax import scheme_names
from events.counting import (
    INTERVALS,
    Calendar,
    CountTally,
    DocumentEvents,
    EventCounts,
    EventKey,
    Interval,
    Period,
    check_examples,
    count_documents,
    evaluate_matches,
    event_key,
    event_name,
    evidence_rows,
)
from events.jobs._compiling import compiled_meanwhile
from events.jobs._record import checksums, run_record
from events.jobs._run_folder import RunFolder
from events.jobs._run_pictures import draw_run
from events.lexicon import Lexicon, load_lexicon
from events.matching import MentionMatches, Screen
from events.rules import Rule, load_rules

__all__ = ["EventsOptions", "RunSummary", "run_events"]

_BATCH = 256  # documents; some 20 MB of columns at 130 mentions per document
_AHEAD = 2  # batches that are being sampled while the next is read and matched

Progress = Callable[[int, int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class EventsOptions:
    """What to count, and how.

    Attributes
    ----------
    rule, preset
        Shipped rule or path of a rule file, and one of its presets.
    lexicon
        Path of a lexicon file, or None for the shipped one.
    scheme
        Dependency scheme, or None to recognise each document's from its labels.
    period
        year, quarter, month, week, day, or a pandas alias.
    n_samples
        Sampled clusterings per document, at least 1.
    level
        Of the credible intervals, in (0, 1).
    interval
        quantile, hdi or normal: see `events.counting.EventCounts`.
    seed
        In [0, 2**64).
    compare
        Two countries whose counts to compare, or None.
    threads
        Of the sampler, at least 1; None: one per processor. Results do not depend on it.
    on_error
        "stop" at the first invalid document, or "quarantine" it and continue.
    """

    rule: str = "attack"
    preset: str = "paper"
    lexicon: str | None = None
    scheme: str | None = None
    period: str = "quarter"
    n_samples: int = 1000
    level: float = 0.95
    interval: Interval = "quantile"
    seed: int = 0
    compare: tuple[str, str] | None = None
    threads: int | None = None
    on_error: str = "stop"

    def __post_init__(self) -> None:
        _checks.n_samples(self.n_samples, 1)
        _checks.probability("level", self.level, below_one=True, above_zero=True)
        _checks.choice("interval", self.interval, INTERVALS)
        _checks.choice("on_error", self.on_error, ON_ERROR)
        _checks.seed(self.seed)
        if self.threads is not None:
            _checks.whole("threads", self.threads, 1)
        if self.scheme is not None:
            _checks.choice("scheme", self.scheme, scheme_names())
        if self.compare is not None and self.compare[0] == self.compare[1]:
            raise ParameterError(f"must name two countries, got {self.compare[0]!r} twice", parameter="compare")


@dataclass(frozen=True, slots=True)
class RunSummary:
    """Summary of a run.

    Attributes
    ----------
    out
        The folder.
    n_documents
        Documents counted.
    n_sampled
        Documents in which an event is possible; only these are sampled.
    n_with_events
        Documents with P(event) > 0 for some country.
    n_quarantined
        Invalid documents set aside.
    n_ambiguous
        Names in the sampled documents that the lexicon declares ambiguous, and that match nothing.
    countries, periods
        Countries with any evidence, and the first and the last period.
    seconds
        Wall time.
    """

    out: str
    n_documents: int
    n_sampled: int
    n_with_events: int
    n_quarantined: int
    n_ambiguous: int
    countries: tuple[str, ...]
    periods: tuple[str, str]
    seconds: float

    def to_json(self) -> dict[str, Any]:
        """The fields by name."""
        return dataclasses.asdict(self)


def run_events(
    inputs: PathLike | Iterable[PathLike],
    out: PathLike,
    options: EventsOptions | None = None,
    *,
    overwrite: bool = False,
    pictures: bool = True,
    on_progress: Progress | None = None,
) -> RunSummary:
    """Count events in pre-scored mention files and write the run's folder.

    Parameters
    ----------
    inputs
        Files, globs, or "-" for JSON Lines on standard input; every document with a date and tokens.
    out
        Folder for counts, evidence, pictures and the run record; see the README for its files.
    options
        What to count.
    overwrite
        Whether an earlier run's folder may be replaced.
    pictures
        Whether to draw the bands, and the comparison.
    on_progress
        Called after each batch with the bytes read, the bytes of all files, and the documents counted.

    Raises
    ------
    ParameterError, InputError, OutputError
        If an option, a document, a rule or lexicon file, or the folder breaks its rule; then no folder is left.
    """
    started = time.time()
    options = options or EventsOptions()
    with RunFolder(out, overwrite=overwrite) as folder, ThreadPoolExecutor(1) as background:
        with compiled_meanwhile("events"):
            calendar = Calendar(options.period)
            rule, lexicon = load_rules(options.rule, options.preset), load_lexicon(options.lexicon)
        compared = [_compared_key(name, rule, lexicon) for name in options.compare or ()]
        check_examples(rule)
        on_rejected = folder.set_aside if options.on_error == "quarantine" else None
        documents = DocumentStream(inputs, needs=("date", "tokens"), on_rejected=on_rejected, batch_size=_BATCH)
        inputs_read = background.submit(checksums, documents.paths)
        corpus = _Corpus(CountTally(options.n_samples), calendar, folder)
        _count(documents, Screen(rule, lexicon, options.scheme), corpus, options, on_progress)
        counts = EventCounts(corpus.tally, calendar, options.level, options.interval, frozenset(lexicon.codes))
        table = counts.to_frame()
        comparison = counts.compare(*compared) if compared else None
        folder.finish_tables(table, comparison)
        if pictures:
            draw_run(folder, table, comparison, lexicon.names)
        keys, periods = corpus.tally.keys(), counts.periods()
        summary = RunSummary(
            out=os.fspath(out),
            n_documents=corpus.tally.n_documents,
            n_sampled=corpus.n_sampled,
            n_with_events=corpus.n_with_events,
            n_quarantined=folder.n_set_aside,
            n_ambiguous=corpus.n_ambiguous,
            countries=tuple(map(event_name, keys)),
            periods=(periods[0].label, periods[-1].label),
            seconds=round(time.time() - started, 3),
        )
        folder.finish_record(
            run_record(
                {**dataclasses.asdict(options), "out": summary.out},
                inputs_read.result(),
                started,
                rule={"name": rule.name, "preset": rule.preset, "source": rule.source},
                lexicon=lexicon.source,
                names={code: lexicon.names.get(code, code) for key in keys for code in key},
                summary=summary.to_json(),
            )
        )
    return summary


def _compared_key(name: str, rule: Rule, lexicon: Lexicon) -> EventKey:
    """Key of an event to compare: as many countries as the rule has roles, all in the lexicon."""
    key = event_key(name)
    if len(key) != len(rule.event):
        shape = event_name(("AAA", "BBB")[: len(rule.event)])
        raise ParameterError(f"must name events of the rule {rule.name} ({shape}), got {name!r}", parameter="compare")
    for code in key:
        try:
            lexicon.require(code)
        except ParameterError as error:
            message = f"must name countries of the lexicon, got {code!r}"
            raise ParameterError(message, parameter="compare", hint=error.hint) from None
    return key


@dataclass(slots=True)
class _Corpus:
    """Sums over the documents so far; evidence goes to the folder."""

    tally: CountTally
    calendar: Calendar
    folder: RunFolder
    n_sampled: int = 0
    n_with_events: int = 0
    n_ambiguous: int = 0

    def add_documents(self, batch: DocumentBatch) -> list[Period]:
        """Count the documents of a batch, with or without events; return their periods."""

        def place_of(row: int) -> str:
            return f"{batch.source}: {batch.unit} {batch.places[row]}: doc_id {batch.doc_ids[row]!r}"

        return count_documents(self.tally, self.calendar, batch.dates, place_of)

    def add_events(self, batch: DocumentBatch, periods: list[Period], events_of: dict[int, DocumentEvents]) -> None:
        """Add the events of documents of a batch, by row."""
        rows_with_events = []
        for row, events in events_of.items():
            self.n_sampled += 1
            self.n_ambiguous += 0 if events.matches is None else events.matches.n_ambiguous
            self.tally.add_events(events, periods[row].number)
            if events.n_hits.any():
                rows = evidence_rows(events, periods[row].label, batch.tokens(row), batch.spans(row))
                self.folder.add_evidence(rows)
                rows_with_events.append(row)
        self.n_with_events += len(rows_with_events)
        if rows_with_events:
            self.folder.add_documents(batch.take(rows_with_events))


def _count(
    documents: DocumentStream,
    screen: Screen,
    corpus: _Corpus,
    options: EventsOptions,
    on_progress: Progress | None,
) -> None:
    """Add all documents to the corpus; sampling runs in threads, some batches ahead of counting."""
    sampled: deque[tuple[DocumentBatch, list[Period], dict[int, Future[DocumentEvents]]]] = deque()

    def add_oldest() -> None:
        batch, periods, futures = sampled.popleft()
        corpus.add_events(batch, periods, {row: future.result() for row, future in futures.items()})

    def evaluated(batch: DocumentBatch, row: int, matches: MentionMatches) -> DocumentEvents:
        doc_id, date = batch.doc_ids[row], batch.dates[row].item()
        sampling = {"n_samples": options.n_samples, "seed": options.seed}
        return evaluate_matches(batch.antecedents(row), matches, doc_id, date, **sampling)

    with ThreadPoolExecutor(options.threads or processors()) as pool:
        try:
            for batch, matches in documents.inspected(screen.match):
                periods = corpus.add_documents(batch)
                futures = {row: pool.submit(evaluated, batch, row, each) for row, each in matches.items()}
                sampled.append((batch, periods, futures))
                if len(sampled) > _AHEAD:
                    add_oldest()
                if on_progress is not None:
                    on_progress(documents.bytes_read, documents.total_bytes, corpus.tally.n_documents)
            while sampled:
                add_oldest()
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    if not corpus.tally.n_documents:
        folder = corpus.folder
        aside = f", {folder.n_set_aside} set aside, first: {folder.first_set_aside}" if folder.n_set_aside else ""
        rule = f"a corpus must hold at least one document, got none{aside}"
        raise InputError(rule, place=", ".join(documents.paths))
