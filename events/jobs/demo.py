"""The job behind `corefsample demo`: simulate news with known truth, count events, draw the bands, make the page."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from corefsample import _checks
from corefsample.documents import ScoredDocument
from corefsample.errors import ParameterError, ParameterHint
from corefsample.files import PathLike, is_url
from corefsample.formats import write_documents
from events.counting import TrueEvents
from events.jobs._reading import Progress
from events.jobs._run_folder import RunFolder
from events.jobs.count_events import EventsOptions, RunSummary, run_events
from events.lexicon import load_lexicon
from events.report import can_report, write_report
from events.rules import load_rules
from events.simulation import simulate_documents

__all__ = ["DemoResult", "run_demo"]

_NEWS = "news.parquet"
_RUN = "run"
# More events than in real news, so that a small corpus has visible bands.
_EVENT_SHARE = 0.3


@dataclass(frozen=True, slots=True)
class DemoResult:
    """Result of the demo.

    Attributes
    ----------
    news
        The simulated news.
    summary
        Summary of the events job.
    n_uncertain, n_covered
        Counts of a country in a quarter that the posterior is uncertain about (sd > 0), and how many of these have
        the simulation's true count in their credible interval.
    """

    news: str
    summary: RunSummary
    n_uncertain: int
    n_covered: int


def run_demo(
    out: PathLike,
    *,
    n_documents: int = 2000,
    seed: int = 0,
    overwrite: bool = False,
    on_progress: Progress | None = None,
) -> DemoResult:
    """Simulate news into a folder, run the events job on it, and make its HTML page if the libraries are installed.

    Parameters
    ----------
    out
        Folder for news.parquet and the run's folder, run.
    n_documents
        Articles to simulate, at least 1.
    seed
        Seed of the simulation and the samples.
    overwrite
        Whether an earlier demo may be replaced.
    on_progress
        Called from time to time with documents done, documents in all, and documents done.

    Raises
    ------
    ParameterError
        If the folder contains an earlier demo, or something else, or a number is outside its range.
    """
    _checks.whole("n_documents", n_documents, 1)
    _checks.seed(seed)
    if not os.fspath(out):
        raise ParameterError("must name a folder, got ''", parameter="out")
    if is_url(out):
        raise ParameterError(f"must be a local folder, got {os.fspath(out)}", parameter="out")
    folder = Path(out)
    if folder.exists() and not folder.is_dir():
        raise ParameterError(f"must be a folder, got the file {folder}", parameter="out")
    if (folder / _NEWS).exists() and not overwrite:
        hint = ParameterHint("overwrite", "replaces it")
        raise ParameterError(f"must contain no earlier demo, got {folder}", parameter="out", hint=hint)
    RunFolder(folder / _RUN, overwrite=overwrite)  # raises for a folder in use, before anything is written
    folder.mkdir(parents=True, exist_ok=True)
    news = str(folder / _NEWS)

    options = EventsOptions(seed=seed)
    truth = TrueEvents(
        load_rules(options.rules[0], options.preset), load_lexicon(options.lexicon), period=options.period
    )

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
    return DemoResult(news, summary, *_coverage(truth, folder / _RUN / "counts.parquet"))


def _coverage(truth: TrueEvents, counts: Path) -> tuple[int, int]:
    """Number of counts that the posterior is uncertain about, and of those with the truth in their interval."""
    import pandas as pd

    table = pd.read_parquet(counts)
    uncertain = truth.beside(table[table["sd"] > 0.0])
    return len(uncertain), int(uncertain["covered"].sum())
