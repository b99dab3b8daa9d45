"""The embedded example: simulate news with known truth, count events, draw the bands."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from corefsample import _checks
from corefsample.documents import ScoredDocument
from corefsample.errors import ParameterError
from corefsample.formats import write_documents
from events.batch import EventsOptions, RunSummary, run_events
from events.simulate import simulate_documents

__all__ = ["DemoResult", "run_demo"]

_NEWS = "news.parquet"
_RUN = "run"
# More events than real news holds, so that a small corpus has bands worth looking at.
_EVENT_SHARE = 0.3


@dataclass(frozen=True, slots=True)
class DemoResult:
    """Where the simulated news is, and what the run did."""

    news: str
    summary: RunSummary


def run_demo(
    out: str | os.PathLike[str],
    *,
    n_documents: int = 2000,
    seed: int = 0,
    overwrite: bool = False,
    on_progress: Callable[[int, int, int], None] | None = None,
) -> DemoResult:
    """Simulate news into a folder, and run the events job on it.

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
    _checks.whole("documents", n_documents, 1)
    _checks.seed(seed)
    folder = Path(out)
    if folder.exists() and not folder.is_dir():
        raise ParameterError(f"out must be a folder, got the file {folder}")
    if (folder / _NEWS).exists() and not overwrite:
        raise ParameterError(f"out must hold no earlier demo (--overwrite replaces it), got {folder}")
    folder.mkdir(parents=True, exist_ok=True)
    news = str(folder / _NEWS)

    def documents() -> Iterator[ScoredDocument]:
        simulated = simulate_documents(n_documents, seed=seed, event_share=_EVENT_SHARE)
        for done, each in enumerate(simulated, start=1):
            yield each.document
            if on_progress is not None and done % 50 == 0:
                on_progress(done, n_documents, done)

    write_documents(documents(), news, overwrite=overwrite)
    summary = run_events(news, folder / _RUN, EventsOptions(seed=seed), overwrite=overwrite, on_progress=on_progress)
    return DemoResult(news, summary)
