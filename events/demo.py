"""The embedded example: simulate news with known truth, count events, draw the bands, make the page."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from corefsample import _checks
from corefsample.documents import ScoredDocument
from corefsample.errors import ParameterError
from corefsample.formats import write_documents
from events.batch import EventsOptions, RunSummary, run_events
from events.evaluation import evaluate_clustering
from events.lexicon import load_lexicon
from events.matching import match_document
from events.periods import Calendar
from events.report import can_report, write_report
from events.rules import load_rules
from events.run_folder import RunFolder
from events.simulate import simulate_documents

__all__ = ["DemoResult", "run_demo"]

_NEWS = "news.parquet"
_RUN = "run"
# More events than real news holds, so that a small corpus has bands worth looking at.
_EVENT_SHARE = 0.3


@dataclass(frozen=True, slots=True)
class DemoResult:
    """What the demo did.

    Attributes
    ----------
    news
        The simulated news.
    summary
        Of the events job.
    n_uncertain, n_covered
        Counts of a country in a quarter that the posterior leaves open (sd > 0), and how many of these have the
        simulation's true count in their credible interval.
    """

    news: str
    summary: RunSummary
    n_uncertain: int
    n_covered: int


def run_demo(
    out: str | os.PathLike[str],
    *,
    n_documents: int = 2000,
    seed: int = 0,
    overwrite: bool = False,
    on_progress: Callable[[int, int, int], None] | None = None,
) -> DemoResult:
    """Simulate news into a folder, run the events job on it, and make its HTML page where the libraries are there.

    Parameters
    ----------
    out
        Folder for news.parquet and the run's folder, run.
    n_documents
        At least 1.
    seed
        Of the simulation and the samples.
    overwrite
        Whether an earlier demo may be replaced.
    on_progress
        Called now and then with documents done, documents in all, and documents done.

    Raises
    ------
    ParameterError
        If the folder holds an earlier demo, or something else, or a number is outside its range.
    """
    _checks.whole("n_documents", n_documents, 1)
    _checks.seed(seed)
    if not os.fspath(out):
        raise ParameterError("out must name a folder, got ''")
    folder = Path(out)
    if folder.exists() and not folder.is_dir():
        raise ParameterError(f"out must be a folder, got the file {folder}")
    if (folder / _NEWS).exists() and not overwrite:
        raise ParameterError(f"out must hold no earlier demo (overwrite replaces it), got {folder}")
    RunFolder(folder / _RUN, overwrite=overwrite)  # refuses a folder in use, before anything is written
    folder.mkdir(parents=True, exist_ok=True)
    news = str(folder / _NEWS)

    options = EventsOptions(seed=seed)
    truth = _Truth(options)

    def documents() -> Iterator[ScoredDocument]:
        simulated = simulate_documents(n_documents, seed=seed, event_share=_EVENT_SHARE)
        for done, each in enumerate(simulated, start=1):
            truth.add(each.document)
            yield each.document
            if on_progress is not None and done % 50 == 0:
                on_progress(done, n_documents, done)

    write_documents(documents(), news, overwrite=overwrite)
    summary = run_events(news, folder / _RUN, options, overwrite=overwrite, on_progress=on_progress)
    if can_report():
        write_report(folder / _RUN, overwrite=overwrite)
    return DemoResult(news, summary, *truth.coverage(folder / _RUN / "counts.parquet"))


class _Truth:
    """The counts that the simulation's own entities make."""

    def __init__(self, options: EventsOptions) -> None:
        self._rule = load_rules(options.rule, options.preset)
        self._lexicon = load_lexicon(options.lexicon)
        self._calendar = Calendar(options.period)
        self._counts: Counter[tuple[str, str]] = Counter()

    def add(self, document: ScoredDocument) -> None:
        """Count the events of one document with gold entities."""
        if document.tokens is None or document.date is None or document.gold is None:
            return
        matches = match_document(document.tokens, document.mentions, self._rule, self._lexicon, document.date)
        if matches.possible:
            period = str(self._calendar.index(self._calendar.numbers([document.date]))[0])
            self._counts.update(
                (key, period) for key in evaluate_clustering(matches, np.asarray(document.gold, np.int64))
            )

    def coverage(self, counts: Path) -> tuple[int, int]:
        """Counts that the posterior leaves open, and those of them with the truth in their interval."""
        import pandas as pd

        table = pd.read_parquet(counts)
        table = table[table["sd"] > 0.0]
        true = [self._counts[key] for key in zip(table["country"], table["period"], strict=True)]
        return len(table), int(table["lower"].le(true).mul(table["upper"].ge(true)).sum())
