"""Simulate ten years of news with known truth, count who attacks, and draw the bands.

Examples
--------
  corefsample demo --out corefsample-demo
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from corefsample._arrays import pd
from corefsample.errors import ParameterError, ParameterHint
from events import _options as shared
from events._summary import counted
from events.commands._parser import Command
from events.commands.events import run_events, summary_of_run

if TYPE_CHECKING:
    from matplotlib.figure import Figure, SubFigure

    from corefsample.documents._scored import ScoredDocument
    from events._summary import Summary
    from events.evidence._true_events import TrueEvents

_NEWS = "news.parquet"
_RUN = "run"
_RECORD = "run.json"
# A larger share than in real news, so that a small corpus has visible bands.
_EVENT_SHARE = 0.3


@shared.declared
class DemoOptions(shared.Seed, shared.Overwrite):
    """Options of the demo.

    Attributes
    ----------
    out
        Folder for the simulated news and the run.
    n_documents
        Number of articles to simulate.
    seed
        Seed of the random draws: the same seed gives the same news and samples.
    """

    out: str = shared.option(default="corefsample-demo", metavar="FOLDER")
    n_documents: int = shared.option(default=2000, at_least=1)


def run_demo(options: DemoOptions | None = None, *, on_progress: shared.Progress | None = None) -> Summary:
    """Simulate news into a folder, count its events, and make the HTML page if the libraries are installed.

    Parameters
    ----------
    options
        What to simulate, and where.
    on_progress
        Function called from time to time with documents done, documents in all, and documents done.

    Raises
    ------
    ParameterError
        If `out` is not a local folder, if it has an earlier demo and `overwrite` is false, if its folder of the run has
        other files, or if a number is outside its range.
    """
    from corefsample.files._atomic import write_json
    from corefsample.files._reading import read_json, sealed
    from corefsample.files._remote import is_url
    from corefsample.formats.scored._writing import write_documents
    from events.evidence._rule_set import RuleSet
    from events.evidence._true_events import TrueEvents
    from events.pages._report import page_of_run
    from events.plots import event_bands
    from events.runs._outputs import RunFolder, save_pictures
    from events.runs._run_options import EventsOptions
    from events.simulation._documents import simulate_documents

    options = options or DemoOptions()
    folder, overwrite = Path(options.out), options.overwrite
    if not options.out or is_url(options.out) or folder.is_file():
        raise ParameterError(f"must be a local folder, got {options.out!r}", parameter="out")
    if (folder / _NEWS).exists() and not overwrite:
        hint = ParameterHint("overwrite", "replaces it")
        raise ParameterError(f"must contain no earlier demo, got {folder}", parameter="out", hint=hint)
    run = folder / _RUN
    RunFolder(run, overwrite=overwrite)  # raises for a folder in use, before anything is written
    folder.mkdir(parents=True, exist_ok=True)
    news = str(folder / _NEWS)

    counting = EventsOptions(
        out=str(run), seed=options.seed, overwrite=overwrite, pictures=False, rule_error="none", triggers="rules"
    )
    definitions = RuleSet.named(counting.rules, counting.preset, counting.lexicon)
    truth = TrueEvents(definitions.rules[0], definitions.lexicon, period=counting.period)

    def documents() -> Iterator[ScoredDocument]:
        simulated = simulate_documents(
            options.n_documents, seed=options.seed, event_share=_EVENT_SHARE, apart=truth.apart
        )
        for n_done, item in enumerate(simulated, start=1):
            truth.add(item.document)
            yield item.document
            if on_progress is not None and n_done % 50 == 0:
                on_progress(n_done, options.n_documents, n_done)

    write_documents(documents(), news, overwrite=overwrite)
    events = run_events(news, counting, on_progress=on_progress).result
    record = read_json(run / _RECORD)
    write_json(run / _RECORD, sealed({**record, "simulated": True}))
    counts = pd.read_parquet(run / "counts.parquet")

    def titled_bands() -> Figure | SubFigure:
        figure = event_bands(counts, names=record["names"])
        figure.suptitle("Simulated news: countries and dates are not facts", x=0.01, ha="left", fontsize=11)
        return figure

    save_pictures({"bands": titled_bands}, lambda name: run / name)
    page_of_run(run, overwrite=overwrite)
    n_uncertain, n_covered, expected = _coverage(truth, counts, pd.read_parquet(run / "evidence.parquet"))
    coverage = {"n_uncertain": n_uncertain, "n_covered": n_covered, "expected": expected}
    summary, level = summary_of_run(events), f"{100 * counting.level:g}%"
    coverage_text = (
        "The simulation knows the true counts, so its intervals are without the error of rules. The posterior is "
        f"uncertain about {counted(n_uncertain, 'count')}; {n_covered:,} of them lie in their {level} interval, "
        f"{n_covered / max(n_uncertain, 1):.1%}. Limits are whole numbers, so that intervals of small counts cover "
        f"more than {level}: here {expected / max(n_uncertain, 1):.1%} is right."
    )
    return dataclasses.replace(
        summary,
        values={"news": news, **coverage, **summary.values},
        shown=["Its countries and dates are names in a simulation, not facts.", *summary.shown, "", coverage_text],
        files={"News": news, **summary.files},
    )


def _coverage(truth: TrueEvents, counts: pd.DataFrame, evidence: pd.DataFrame) -> tuple[int, int, float]:
    """Number of uncertain counts, and actual and expected number of those whose interval contains the truth."""
    from events.counts import count_pmf

    uncertain = truth.beside(counts[counts["sd"] > 0.0])
    keys = ["actor", "period"]
    probabilities = dict(iter(evidence.groupby(keys)["probability"]))
    expected = 0.0
    for actor, period, lower, upper in uncertain[[*keys, "lower", "upper"]].itertuples(index=False):
        pmf = count_pmf(probabilities[actor, period].to_numpy())
        expected += float(pmf[int(lower) : int(upper) + 1].sum())
    return len(uncertain), int(uncertain["covered"].sum()), expected


command = Command(DemoOptions, run_demo, task="simulating and counting")
