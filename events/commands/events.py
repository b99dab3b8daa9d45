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
import time
from typing import TYPE_CHECKING

import click

from corefsample import _checks
from corefsample._lazy import pd
from events.commands._parser import Command
from events.commands._screen import COLUMNS, counted, covered_uncertainty, print_files, print_text
from events.runs.counting._count_options import EventsOptions, EventsResult

if TYPE_CHECKING:
    from collections.abc import Iterator

    from corefsample.files._paths import Inputs
    from events._options import Progress

__all__ = ["EventsOptions", "EventsResult", "print_counts_of_run", "print_events", "run_events"]

_MERGED = 0.01  # a larger probability of merged actors is printed


def run_events(inputs: Inputs, options: EventsOptions, *, on_progress: Progress | None = None) -> EventsResult:
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
    from events.runs._engines import Engine
    from events.runs.counting._count_run import merged_counts, opened_run, write_run

    started = time.time()
    engine = Engine(options.workers, options.scheduler)
    with opened_run(inputs, options.out, options, overwrite=options.overwrite) as run:
        return write_run(run, merged_counts(run, engine, on_progress), options, started)


def print_events(summary: EventsResult) -> None:
    """Print the result of a run."""
    if not summary.n_computed:
        print_text("Every part was complete; nothing was computed again.")
    elif summary.n_computed < summary.n_parts:
        n_kept = summary.n_parts - summary.n_computed
        print_text(f"{n_kept:,} of {counted(summary.n_parts, 'part')} had been computed before.")
    print_counts_of_run(summary)


def print_counts_of_run(summary: EventsResult) -> None:
    """Print the highest counts of a run, its warnings, and the paths of its files."""
    from corefsample._extras import can_report, install_hint
    from corefsample.files._contents import read_json
    from corefsample.files._paths import is_file, joined
    from events.counting._notes import CountNotes
    from events.news._quality import ScoredInputs

    folder, counts = summary.out, summary.counts
    print_text(
        f"{counted(summary.n_documents, 'document')}, {summary.periods[0]} to {summary.periods[1]}: "
        f"{summary.n_sampled:,} could contain an event and were sampled, {summary.n_with_events:,} do with P > 0."
    )
    if summary.n_undated:
        print_text(f'{counted(summary.n_undated, "document")} without a date, counted in rows "undated".')
    if summary.n_not_selected:
        click.echo(f"{counted(summary.n_not_selected, 'document')} left out by --where.")
    for text in warnings_of_run(summary):
        show = click.echo if "quarantine.jsonl" in text else print_text  # a path is not wrapped
        show(text)
    for notice in ScoredInputs.of(read_json(joined(folder, "run.json"))).texts.notices():
        print_text(notice)
    if counts.empty:
        click.echo("No document contains an event: the tables have headers and no rows.")
    else:
        _print_highest(counts)
    pictures = {"Picture": "bands.png", "Compared": "comparison.png"}
    is_recalibrated = "uncertainty" in counts and bool((counts["uncertainty"] != "none").any())
    covered = covered_uncertainty(parses=summary.n_several_parses > 0, recalibration=is_recalibrated)
    uncovered = "rule, lexicon" if summary.n_several_parses else "rule, lexicon, parse"
    has_error = summary.rule_error is not None
    print_text(
        f"lower and upper cover {covered}; lower_rule and upper_rule also cover errors of {uncovered}, as far as other "
        f"rules tell, not choice of articles: `corefsample audit plan {shlex.quote(folder)} --out audit` measures them."
        if has_error
        else f"The intervals cover {covered}, not errors of {uncovered} or choice of articles: "
        f"`corefsample audit plan {shlex.quote(folder)} --out audit` measures the rest."
    )
    if summary.rule_error is not None:
        print_text(CountNotes(None, rule_error=summary.rule_error).reference())
    notes = CountNotes(summary.merged_actors, summary.triggers)
    for text in filter(None, [*notes.exclusions(), notes.merging(_MERGED)]):
        print_text(text)
    print_files(folder, {**pictures, "Counts": "counts.csv", "Evidence": "evidence.csv", "Report": "report.html"})
    if not is_file(joined(folder, "report.html")):
        missing = "" if can_report() else f" ({install_hint('report')})"
        click.echo(f"Explore  corefsample report {shlex.quote(folder)}{missing}")


def warnings_of_run(summary: EventsResult) -> Iterator[str]:
    """Yield sentences about documents that were set aside, outlying dates, and unreliable samples of a run."""
    from corefsample.files._contents import read_json
    from corefsample.files._paths import joined
    from events.counting._notes import CountNotes
    from events.news._dates import Timeline
    from events.news._quality import ScoredInputs

    if summary.n_quarantined:
        quarantine_path = joined(summary.out, "quarantine.jsonl")
        yield f"{counted(summary.n_quarantined, 'bad document')} set aside in {quarantine_path}"
    yield from ScoredInputs.of(read_json(joined(summary.out, "run.json"))).set_aside()
    periods = summary.counts.dropna(subset="period_start").drop_duplicates("period").sort_values("period_start")
    outliers = Timeline.of_counts(periods).notice(periods["period"].tolist())
    yield from filter(None, [outliers, CountNotes(summary.merged_actors).unsettled()])


def _print_highest(counts: pd.DataFrame) -> None:
    """Print the rows with the highest means, in at most 80 columns.

    Rows without a named actor are last, because most users want to know who did it.
    """
    from events.counting._tables import RULE_ENDS, Columns

    columns = list(Columns.of_roles(counts.columns))
    is_named = counts[columns].astype(bool).any(axis=1) if columns else True
    positive = counts.assign(is_named=is_named)[counts["mean"] > 0.0]
    head = positive.sort_values(["is_named", "mean"], ascending=False, kind="stable").head(8)
    top_row = head.iloc[0]
    click.echo(f"\nHighest posterior means, with {100 * top_row['level']:g}% {top_row['interval']} intervals:")
    events = ["event"] if len(counts["event"].unique()) > 1 else []
    ends = [name for name in RULE_ENDS if name in counts]
    values = ["period", "mean", *([] if ends else ["sd"]), "lower", "upper", *ends, "one_best", "of"]
    roles = [name for name in columns if counts[name].astype(bool).any()]
    head = head.assign(of=head["n_docs"]).replace({name: {"": "-"} for name in roles})
    table = head[[*events, *roles, *values]].to_string(index=False, float_format=_short)
    if max(map(len, table.splitlines())) > COLUMNS:  # with two roles, weeks are named by their first day
        head = head.assign(period=head["period"].str.split("/").str[0])
        table = head[[*events, *roles, *values]].to_string(index=False, float_format=_short)
    click.echo(table)
    nobody = "; -: nobody named" if (head[roles] == "-").any(axis=None) else ""
    explanation = (
        "lower_rule, upper_rule: what readers would count" if ends else "sd: standard deviation of the posterior"
    )
    print_text(
        f"{explanation}; one_best: count of the single best resolution, without uncertainty; "
        f"of: all documents of the period{nobody}."
    )


def _short(value: float) -> str:
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"


command = Command(
    EventsOptions,
    run_events,
    print_events,
    "inputs+",
    task="counting",
    warnings=warnings_of_run,
    sections={
        "Counting": "n_samples level interval recalibration uncertainty seed lexicon scheme",
        "Parts and processes": "threads workers scheduler part_size",
    },
)
