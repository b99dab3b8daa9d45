"""Score dated news, count events, and make the page: the commands score, events and report in one.

INPUTS are those of `corefsample score`. The scored documents are written to FOLDER-scored.parquet; the same command
again continues an interrupted run, and scores nothing twice.

Examples
--------
  corefsample run news.csv --rule attack --pipeline en_core_web_sm --out run
  corefsample run news --lexicon police --rule kill --pipeline NAME --out run2
"""

from __future__ import annotations

import dataclasses
import glob

from corefsample.files._paths import Inputs
from events import _options as shared
from events._summary import Summary
from events.commands._parser import Command
from events.commands.events import summary_of_run
from events.runs import _run_options as run_options


@shared.declared
class RunOptions(run_options.ReadingOptions, run_options.EventsOptions):
    """Options of reading, scoring and counting, and the folder of the run.

    Attributes
    ----------
    out
        Folder of the run; scored documents are written beside it.
    model
        Trained model to score with. [default: the English one in the package]
    """

    model: str | None = shared.option(default=None, metavar="FILE")

    @property
    def scored(self) -> str:
        """File of the scored documents."""
        return f"{self.out.rstrip('/')}-scored.parquet"

    @property
    def written(self) -> tuple[str, ...]:
        """See `events._options.EngineOptions`."""
        return *super().written, f"{glob.escape(self.scored)}*"


def run_run(inputs: Inputs, options: RunOptions, *, on_progress: shared.Progress | None = None) -> Summary:
    """Score documents, count their events and write the report, as the commands score, events and report do.

    Parameters
    ----------
    inputs
        Paths of files and of folders of news, globs, or "-" for standard input: see `events.commands.run_score`.
    options
        Options of reading, scoring and counting, and the folder of the run.
    on_progress
        Function that is called while documents are scored and counted with the bytes read, the bytes of all files, and
        the number of documents.

    Raises
    ------
    ParameterError, InputError, OutputError
        If `run_score`, `run_events` or `run_report` raises such an error.
    """
    from corefsample.files._remote import is_url
    from events.commands.events import run_events
    from events.commands.score import run_score
    from events.corpora._document_inputs import DocumentInputs
    from events.pages._report import page_of_run
    from events.runs._count_parts import checked_contents
    from events.runs._outputs import RunFolder
    from events.runs._store import FinishedCommand

    scored = options.scored
    # Folder, rules, lexicon and dates are checked first, so that errors are raised before hours of work.
    RunFolder(options.out, overwrite=options.overwrite or not is_url(options.out))
    counting = run_options.EventsOptions(**options.subset(*shared.fields_of(run_options.EventsOptions)))
    checked_contents(counting)
    names = {*shared.fields_of(run_options.ScoreOptions)} & {*shared.fields_of(RunOptions)}
    of_scores = options.subset(*names - {"recalibration", "part_size", "out"})
    scoring = run_options.ScoreOptions(out=scored, **of_scores)

    finished = FinishedCommand("score", inputs, scoring)
    if finished.summary() is None:
        article_options = options.subset(*run_options.ARTICLE_OPTIONS, "undated")
        selected = shared.Selection(options.where) if options.where else None
        is_news = options.pipeline is not None
        documents = DocumentInputs(inputs, article_options=article_options, prefer_news=is_news, selected=selected)
        if options.stops_at_undated and "-" not in documents.paths:
            documents.require_dates()
        finished.finish(run_score(inputs, scoring, on_progress=on_progress).to_json())
    run = run_events(scored, counting, on_progress=on_progress).result
    report = page_of_run(options.out, overwrite=True)  # None if the libraries of the extra "report" are missing
    summary = summary_of_run(run)
    values = {"scored": scored, "report": report, **summary.values}
    return dataclasses.replace(summary, values=values, files={**summary.files, "Scored": scored})


command = Command(RunOptions, run_run, "inputs+", task="scoring and counting")
