"""The batch job: pre-scored mention files in, a folder of posterior counts, evidence and pictures out."""

from __future__ import annotations

import dataclasses
import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from corefsample import _checks
from corefsample._processors import processors
from corefsample.documents import DocumentBatch, Rejected
from corefsample.errors import InputError, ParameterError
from corefsample.formats import DocumentStream
from corefsample.syntax import scheme_names
from events.counting import (
    INTERVALS,
    MOST_PERIODS,
    Calendar,
    CountTally,
    DocumentEvents,
    check_examples,
    evaluate_matches,
    evidence_rows,
)
from events.jobs._record import checksums, run_record
from events.jobs._run_folder import RunFolder
from events.jobs._run_pictures import draw_run
from events.lexicon import load_lexicon
from events.matching import MentionMatches, Screen
from events.rules import load_rules

__all__ = ["EventsOptions", "RunSummary", "run_events"]

ON_ERROR = ("stop", "quarantine")
_BATCH = 256  # documents; some 20 MB of columns at 130 mentions a document
_AHEAD = 2  # batches being sampled while the next is read and matched

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
        Dependency scheme, or None to tell each document's from its labels.
    period
        year, quarter, month, week, day, or a pandas alias.
    n_samples
        Clusterings a document, at least 1.
    level
        Of the credible intervals, in (0, 1).
    interval
        quantile, hdi or normal: see `events.counting.EventCounts`.
    seed
        In [0, 2**64).
    compare
        Two countries whose counts to compare, or None.
    threads
        Of the sampler, at least 1; None: one a processor. Results do not depend on it.
    on_error
        "stop" at the first bad document, or "quarantine" it and go on.
    """

    rule: str = "attack"
    preset: str = "paper"
    lexicon: str | None = None
    scheme: str | None = None
    period: str = "quarter"
    n_samples: int = 1000
    level: float = 0.95
    interval: str = "quantile"
    seed: int = 0
    compare: tuple[str, str] | None = None
    threads: int | None = None
    on_error: str = "stop"

    def __post_init__(self) -> None:
        _checks.whole("n_samples", self.n_samples, 1)
        _checks.probability("level", self.level, below_one=True, above_zero=True)
        _checks.choice("interval", self.interval, INTERVALS)
        _checks.choice("on_error", self.on_error, ON_ERROR)
        _checks.seed(self.seed)
        if self.threads is not None:
            _checks.whole("threads", self.threads, 1)
        if self.scheme is not None:
            _checks.choice("scheme", self.scheme, scheme_names())
        if self.compare is not None and self.compare[0] == self.compare[1]:
            raise ParameterError(f"compare must name two countries, got {self.compare[0]!r} twice")


@dataclass(frozen=True, slots=True)
class RunSummary:
    """What a run did.

    Attributes
    ----------
    out
        The folder.
    n_documents
        Documents counted.
    n_sampled
        Documents that could hold an event; the others were never sampled.
    n_with_events
        Documents with P(event) > 0 for some country.
    n_quarantined
        Bad documents set aside.
    n_ambiguous
        Names in the sampled documents that the lexicon declares ambiguous, and that matched nothing.
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
    inputs: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    out: str | os.PathLike[str],
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
        Called after each batch with bytes read, bytes in all, and documents counted.

    Raises
    ------
    ParameterError, InputError, OutputError
        As their parts do; then no folder is left.
    """
    started = time.time()
    options = options or EventsOptions()
    if isinstance(inputs, (str, os.PathLike)):
        inputs = [inputs]
    with RunFolder(out, overwrite=overwrite) as folder:
        job = _Job(list(inputs), folder, options)
        with ThreadPoolExecutor(1) as background:
            inputs_read = background.submit(checksums, job.stream.paths)
            job.run(on_progress)
            summary = job.write(os.fspath(out), started, pictures)
            folder.finish_record(
                run_record(
                    {**dataclasses.asdict(options), "out": summary.out},
                    inputs_read.result(),
                    started,
                    rule={"name": job.rule.name, "preset": job.rule.preset, "source": job.rule.source},
                    lexicon=job.lexicon.source,
                    names={
                        code: job.lexicon.names.get(code, code) for key in summary.countries for code in key.split(">")
                    },
                    summary=summary.to_json(),
                )
            )
    return summary


class _Job:
    """One pass over the documents: screen, match, sample, tally."""

    def __init__(self, inputs: Sequence[str | os.PathLike[str]], folder: RunFolder, options: EventsOptions) -> None:
        self.options = options
        self.folder = folder
        self.calendar = Calendar(options.period)
        self.rule = load_rules(options.rule, options.preset)
        self.lexicon = load_lexicon(options.lexicon)
        for key in options.compare or ():
            self._require(key)
        check_examples(self.rule)
        self.tally = CountTally(options.n_samples)
        self.n_sampled = self.n_with_events = self.n_quarantined = self.n_ambiguous = 0
        self.first_reason = ""
        self._screen = Screen(self.rule, self.lexicon, options.scheme)
        self._matches: dict[int, MentionMatches] = {}
        self.stream = DocumentStream(
            inputs,
            needs=("date", "tokens"),
            on_rejected=self._set_aside if options.on_error == "quarantine" else None,
            inspect=self._inspect,
            batch_size=_BATCH,
        )

    def _require(self, key: str) -> None:
        """Refuse an event to compare that the rule cannot make: as many countries as it has roles, all known."""
        codes = key.split(">")
        if len(codes) != len(self.rule.event):
            shape = ">".join(["AAA", "BBB"][: len(self.rule.event)])
            raise ParameterError(f"compare must name events of the rule {self.rule.name} ({shape}), got {key!r}")
        for code in codes:
            try:
                self.lexicon.require(code)
            except ParameterError as error:
                hint = str(error).partition(": ")[2]
                raise ParameterError(f"compare must name countries of the lexicon, got {code!r}: {hint}") from None

    def _set_aside(self, rejected: Rejected) -> None:
        self.n_quarantined += 1
        self.first_reason = self.first_reason or rejected.message()
        self.folder.set_aside(rejected)

    def _inspect(self, batch: DocumentBatch) -> dict[int, str]:
        found, reasons = self._screen.match(batch)
        self._matches = {batch.places[row]: matches for row, matches in found.items()}
        return reasons

    def run(self, on_progress: Progress | None) -> None:
        """Take in all documents."""
        n_threads = self.options.threads or processors()
        sampled: deque[tuple[DocumentBatch, list[int], list[Future[DocumentEvents]]]] = deque()
        with ThreadPoolExecutor(n_threads) as pool:
            try:
                for batch in self.stream:
                    self._count(batch)
                    rows = [row for row in range(len(batch)) if batch.places[row] in self._matches]
                    sampled.append((batch, rows, [pool.submit(*self._sampling(batch, row)) for row in rows]))
                    if len(sampled) > _AHEAD:
                        self._take_in(*sampled.popleft())
                    if on_progress is not None:
                        on_progress(self.stream.bytes_read, self.stream.total_bytes, self.tally.n_documents)
                while sampled:
                    self._take_in(*sampled.popleft())
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
        if not self.tally.n_documents:
            aside = f", {self.n_quarantined} set aside, first: {self.first_reason}" if self.n_quarantined else ""
            raise InputError(
                f"{', '.join(self.stream.paths)}: a corpus must hold at least one document, got none{aside}"
            )

    def _count(self, batch: DocumentBatch) -> None:
        """Count documents as exposure. A stray date stops the run: which of two is the stray one, none can tell."""
        numbers = self.calendar.numbers(batch.dates)
        stray = self.tally.first_stray(numbers)
        if stray is not None:
            reason = self.calendar.stray(batch.dates[stray].item(), MOST_PERIODS)
            raise batch.rejected(stray, reason).error()
        self.tally.add_documents(numbers)

    def _sampling(self, batch: DocumentBatch, row: int) -> tuple[Callable[[], DocumentEvents]]:
        matches = self._matches[batch.places[row]]
        doc_id, date = batch.doc_ids[row], batch.dates[row].item()
        options = self.options

        def work() -> DocumentEvents:
            return evaluate_matches(
                batch.antecedents(row), matches, doc_id, date, n_samples=options.n_samples, seed=options.seed
            )

        return (work,)

    def _take_in(self, batch: DocumentBatch, rows: list[int], futures: list[Future[DocumentEvents]]) -> None:
        numbers = self.calendar.numbers(batch.dates)
        labels = self.calendar.index(numbers).astype(str)
        evident = []
        for row, future in zip(rows, futures, strict=True):
            events = future.result()
            self.n_sampled += 1
            self.n_ambiguous += 0 if events.matches is None else events.matches.n_ambiguous
            self.tally.add_events(events, int(numbers[row]))
            if events.n_hits.any():
                self.folder.add_evidence(evidence_rows(events, labels[row], batch.tokens(row), batch.spans(row)))
                evident.append(row)
        self.n_with_events += len(evident)
        if evident:
            self.folder.add_documents(batch.take(evident))

    def write(self, out: str, started: float, pictures: bool) -> RunSummary:
        """Write tables and pictures, and say what was done."""
        counts = self.tally.counts(
            self.calendar,
            level=self.options.level,
            interval=self.options.interval,  # type: ignore[arg-type]
            known=self.lexicon.codes,
        )
        table = counts.to_frame()
        comparison = counts.compare(*self.options.compare) if self.options.compare else None
        self.folder.finish_tables(table, comparison)
        if pictures:
            draw_run(self.folder, table, comparison, dict(self.lexicon.names))
        index = self.calendar.index(self.tally.periods()[[0, -1]]).astype(str)
        return RunSummary(
            out=out,
            n_documents=self.tally.n_documents,
            n_sampled=self.n_sampled,
            n_with_events=self.n_with_events,
            n_quarantined=self.n_quarantined,
            n_ambiguous=self.n_ambiguous,
            countries=tuple(self.tally.keys()),
            periods=(index[0], index[1]),
            seconds=round(time.time() - started, 3),
        )
