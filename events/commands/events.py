"""Count documents with an event, by actor and period, with credible intervals.

INPUTS are scored mentions (.jsonl, .jsonl.gz, .parquet), folders of these, globs, or - for JSON Lines on standard
input. Every document needs a date and a parse; `corefsample score` writes both when it reads news.

The work is divided into parts, which are stored in FOLDER/parts. After an interruption, the same command computes
only the missing parts; with additional INPUTS, it computes only their parts and counts all documents.

Examples
--------
  corefsample events scored.parquet --out run
  corefsample events scored.parquet --preset asserted --period year --out run2
  corefsample events scored.parquet --compare YUG X-NATO --out run3
  corefsample events scored.parquet --rule arrest --rule kill --out run4
  corefsample events 'scored/*.parquet' --workers 8 --out run5
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from corefsample import _checks
from corefsample._arrays import pd
from corefsample.files._paths import Inputs
from events import _summary as summary
from events._options import Progress
from events.commands._parser import Command
from events.runs._run_options import EventsOptions

__all__ = ["EventsOptions", "run_events", "summary_of_run"]

_MERGED = 0.01  # a larger probability of merged actors is printed


def run_events(inputs: Inputs, options: EventsOptions, *, on_progress: Progress | None = None) -> summary.Summary:
    """Count events in files of scored mentions, and write the folder of the run.

    The inputs are divided into parts, which are stored in the folder. After an interruption, the same call computes
    only the missing parts; a call with additional inputs computes only their parts and counts all documents. The files
    of the run do not depend on the parts, the processes, or the order of the documents. See docs/parts.md.

    Parameters
    ----------
    inputs
        Paths of files, URLs, globs, or "-" for JSON Lines on standard input. Documents must have a date and tokens.
    options
        Options of counting, and the folder of the run.
    on_progress
        Function that is called after each batch with the bytes read, the bytes of all files, and the number of
        documents counted.

    Raises
    ------
    ParameterError, InputError, OutputError
        If an option, a document, a rule or a lexicon is invalid, the folder cannot be used or written, or another run
        is using it. The folder is then unchanged, except for complete parts.
    """
    _checks.instance("options", options, EventsOptions)
    from events.runs._count_run import count_corpus

    return summary_of_run(count_corpus(inputs, options, on_progress=on_progress))


def summary_of_run(run: Mapping[str, Any]) -> summary.Summary:
    """Highest counts of a run, warnings about it, and its files; `run` is what `count_corpus` returned."""
    from corefsample._lazy import can_report, install_hint
    from corefsample.files._paths import joined
    from events.counts._run_tables import CountNotes
    from events.news._quality import set_aside_before

    names = {"Picture": "bands.png", "Compared": "comparison.png", "Counts": "counts.csv", "Evidence": "evidence.csv"}
    files = summary.existing_files(run["out"], {**names, "Report": "report.html"})
    if "Report" not in files:
        missing = "" if can_report() else f" ({install_hint('report')})"
        files["Explore"] = f"corefsample report {shlex.quote(run['out'])}{missing}"
    notices = [
        *summary.empty_corpus(run["n_documents"]),
        *summary.set_aside(run["n_quarantined"], joined(run["out"], "quarantine.jsonl")),
        *set_aside_before(run),
        *filter(None, [run["outside"], CountNotes(run["merged_actors"]).unsettled()]),
    ]
    work = ""
    if not run["n_computed"]:
        work = "Every part was complete; nothing was computed again."
    elif run["n_computed"] < run["n_parts"]:
        parts = summary.counted(run["n_parts"], "part")
        work = f"{run['n_parts'] - run['n_computed']:,} of {parts} had been computed before."
    values = {name: value for name, value in run.items() if name not in ("counts", "totals", "inputs", "outside")}
    return summary.Summary(values=values, shown=[*_shown(run)], notices=notices, files=files, work=work, result=run)


def _shown(run: Mapping[str, Any]) -> Iterator[str | summary.Table]:
    """Yield what was counted, the highest counts, and what their intervals cover."""
    from events.counts._run_tables import REPORTED, CountNotes
    from events.news._quality import tally_of_run

    notes = CountNotes(run["merged_actors"], run["triggers"], run["rule_error"])
    yield (
        f"{summary.counted(run['n_documents'], 'document')}, {run['periods'][0]} to {run['periods'][1]}: "
        f"{run['n_sampled']:,} could contain an event and were sampled, {run['n_with_events']:,} do with P > 0."
    )
    yield from summary.counts_above_zero(
        (run["n_undated"], "document", 'without a date, counted in rows "undated"'),
        (run["n_not_selected"], "document", "left out by --where"),
    )
    yield from tally_of_run(run).notices()
    if run["counts"].empty:
        yield summary.NO_EVENT
    else:
        yield from filter(None, [notes.first()])
        yield from _highest(run["counts"])
    covered = summary.covered_uncertainty(run)
    uncovered = "rule, lexicon" if run["n_several_parses"] else "rule, lexicon, parse"
    plan = f"`corefsample audit plan {shlex.quote(run['out'])} --out audit` measures"
    if run["rule_error"] is None:
        yield f"The intervals cover {covered}, not errors of {uncovered} or choice of articles: {plan} the rest."
    else:
        yield f"{REPORTED} The rule's interval covers {covered}; the reader's also errors of {uncovered}: {plan} them."
    yield from filter(None, [notes.reference(), *notes.exclusions(), notes.merging(_MERGED)])


def _highest(counts: pd.DataFrame) -> Iterator[str | summary.Table]:
    """Yield the rows with the highest means, in at most 80 columns, and what the columns are.

    Rows without a named actor are last, because most users want to know who did it.
    """
    from events.evidence._columns import RULE_COLUMNS, role_columns

    columns = list(role_columns(counts.columns))
    is_named = counts[columns].astype(bool).any(axis=1) if columns else True
    positive = counts.assign(is_named=is_named)[counts["mean"] > 0.0]
    of_readers = [name for name in RULE_COLUMNS if name in counts]
    head = positive.sort_values(["is_named", *of_readers[:1], "mean"], ascending=False, kind="stable").head(8)
    events = ["event"] if len(counts["event"].unique()) > 1 else []
    roles = [name for name in columns if counts[name].astype(bool).any()]
    numbers = [*of_readers, "mean", *([] if of_readers else ["sd", "lower", "upper"]), "one_best", "of"]
    head = head.assign(of=head["n_docs"]).replace({name: {"": "-"} for name in roles})
    head[numbers] = head[numbers].map(lambda value: f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}")
    if len(roles) > 1:  # weeks are named by their first day
        head["period"] = head["period"].str.split("/").str[0]
    names = [*events, *roles, "period", *numbers]
    first = head.iloc[0]
    highest = "Highest numbers that a reader would count" if of_readers else "Highest posterior means"
    intervals = f"{100 * first['level']:g}% {first['interval'] + ' ' if not of_readers else ''}intervals"
    yield summary.Table(names, head[names].values.tolist(), f"{highest}, with {intervals}:")
    of_rule = "mean: what the rule counts, with lower and upper in counts.csv"
    meaning = of_rule if of_readers else "sd: standard deviation of the posterior"
    nobody = "; -: nobody named" if (head[roles] == "-").any(axis=None) else ""
    yield (
        f"{meaning}; one_best: count of the single best resolution, without uncertainty; "
        f"of: all documents of the period{nobody}."
    )


command = Command(EventsOptions, run_events, "inputs+", task="counting")
