"""The job behind `corefsample demo`: simulate news with known truth, count events, draw the bands, make the page."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corefsample._lazy import pd
from corefsample.documents._scored import ScoredDocument
from corefsample.errors import ParameterError, ParameterHint
from corefsample.files._atomic import write_json
from corefsample.files._remote_services import is_url
from corefsample.formats.scored._writing import write_documents
from events.counting import count_pmf
from events.counting._definitions import Definitions
from events.counting._truth import TrueEvents
from events.pages import write_report
from events.pages._report import can_report
from events.plots import event_bands
from events.runs._output_folder import RunFolder
from events.runs._pictures import save_pictures
from events.runs._progress import Progress
from events.runs.counting._job import count_events
from events.runs.counting._options import EventsOptions, EventsResult
from events.simulation._documents import simulate_documents

if TYPE_CHECKING:
    from matplotlib.figure import Figure, SubFigure


_NEWS = "news.parquet"
_RUN = "run"
_RECORD = "run.json"
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
    expected
        How many of these are expected to: the sum of the probabilities of the intervals.
    level
        Of the intervals.
    """

    news: str
    summary: EventsResult
    n_uncertain: int
    n_covered: int
    expected: float
    level: float

    def to_json(self) -> dict[str, Any]:
        """The news, how many intervals hold the truth, and the summary."""
        coverage = {name: getattr(self, name) for name in ("n_uncertain", "n_covered", "expected")}
        return {"news": self.news, **coverage, **self.summary.to_json()}


def simulated_run(options: Any, on_progress: Progress | None) -> DemoResult:
    """Simulate, count and draw, as `events.commands.run_demo` says; `options` are those of the command."""
    out, overwrite = options.out, options.overwrite
    if not out:
        raise ParameterError("must name a folder, got ''", parameter="out")
    if is_url(out):
        raise ParameterError(f"must be a local folder, got {out}", parameter="out")
    folder = Path(out)
    if folder.exists() and not folder.is_dir():
        raise ParameterError(f"must be a folder, got the file {folder}", parameter="out")
    if (folder / _NEWS).exists() and not overwrite:
        hint = ParameterHint("overwrite", "replaces it")
        raise ParameterError(f"must contain no earlier demo, got {folder}", parameter="out", hint=hint)
    run = folder / _RUN
    RunFolder(run, overwrite=overwrite)  # raises for a folder in use, before anything is written
    folder.mkdir(parents=True, exist_ok=True)
    news = str(folder / _NEWS)

    counting = EventsOptions(out=str(run), seed=options.seed, overwrite=overwrite, pictures=False)
    definitions = Definitions.named(counting.rules, counting.preset, counting.lexicon)
    truth = TrueEvents(definitions.rules[0], definitions.lexicon, period=counting.period)

    def documents() -> Iterator[ScoredDocument]:
        simulated = simulate_documents(
            options.n_documents, seed=options.seed, event_share=_EVENT_SHARE, apart=truth.apart
        )
        for done, each in enumerate(simulated, start=1):
            truth.add(each.document)
            yield each.document
            if on_progress is not None and done % 50 == 0:
                on_progress(done, options.n_documents, done)

    write_documents(documents(), news, overwrite=overwrite)
    summary = count_events(news, counting, on_progress=on_progress)
    record = json.loads((run / _RECORD).read_text(encoding="utf-8"))
    write_json(run / _RECORD, {**record, "simulated": True})
    counts = pd.read_parquet(run / "counts.parquet")
    save_pictures({"bands": lambda: _titled_bands(counts, record["names"])}, lambda name: run / name)
    if can_report():
        write_report(run, overwrite=overwrite)
    coverage = _coverage(truth, counts, pd.read_parquet(run / "evidence.parquet"))
    return DemoResult(news, summary, *coverage, counting.level)


def _titled_bands(counts: pd.DataFrame, names: Mapping[str, str]) -> Figure | SubFigure:
    """The bands with a title that says what they are."""
    figure = event_bands(counts, names=names)
    figure.suptitle("Simulated news: countries and dates are not facts", x=0.01, ha="left", fontsize=11)
    return figure


def _coverage(truth: TrueEvents, counts: pd.DataFrame, evidence: pd.DataFrame) -> tuple[int, int, float]:
    """Number of counts that the posterior is uncertain about, of those with the truth inside, and those expected."""
    uncertain = truth.beside(counts[counts["sd"] > 0.0])
    keys = ["actor", "period"]
    probabilities = dict(iter(evidence.groupby(keys)["probability"]))
    expected = 0.0
    for actor, period, lower, upper in uncertain[[*keys, "lower", "upper"]].itertuples(index=False):
        pmf = count_pmf(probabilities[actor, period].to_numpy())
        expected += float(pmf[int(lower) : int(upper) + 1].sum())
    return len(uncertain), int(uncertain["covered"].sum()), expected
