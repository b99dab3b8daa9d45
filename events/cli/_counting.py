"""Commands that count: events, demo, and report, which makes a page of a run."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import click

from events.cli._options import (
    INSIDE_0_1,
    Command,
    cluster_options,
    json_option,
    output_options,
    overwrite_option,
    print_result,
    scheme_option,
    seed_option,
)
from events.cli._screen import COLUMNS, counted, print_files, print_json, print_text, progress

if TYPE_CHECKING:
    import pandas as pd

    from events.jobs.count_events import RunSummary


@click.command(
    cls=Command,
    short_help="Count documents with an event, by actor and period.",
    sections={
        "Counting": ("n_samples", "level", "interval", "recalibration", "uncertainty", "seed", "lexicon", "scheme"),
        "Partitions and processes": ("threads", "workers", "scheduler", "partition_size", "restart"),
    },
)
@click.argument("inputs", nargs=-1, required=True)
@click.option("--out", required=True, metavar="FOLDER", help="Folder for tables, pictures and the record of the run.")
@click.option(
    "--rule",
    multiple=True,
    default=("attack",),
    metavar="RULE",
    help="attack, attack_target, conflict, arrest, kill, force, protest, meet, or a YAML file of your own; may be "
    "repeated.",
)
@click.option(
    "--preset", default="paper", metavar="NAME", help="Preset of the rules: paper, extended, asserted, or your own."
)
@click.option(
    "--period", default="quarter", metavar="PERIOD", help="year, quarter, month, week, day, or a pandas alias."
)
@click.option("--compare", nargs=2, metavar="A B", help="Compare the counts of two actors, by period.")
@click.option("--samples", "n_samples", type=click.IntRange(min=1), default=1000, help="Clusterings per document.")
@click.option("--level", type=INSIDE_0_1, default=0.95, help="Level of the credible intervals.")
@click.option(
    "--interval",
    type=click.Choice(["quantile", "hdi", "normal"]),
    default="quantile",
    help="quantile: exact, with integer ends; hdi: the shortest; normal: mean +- z sd of the samples.",
)
@click.option(
    "--recalibration",
    metavar="FILE",
    help="Record of `corefsample recalibrate` to apply to the scores; english: that of the English model; none: leave "
    "them as they are. Scores that had it already get its uncertainty alone.  [default: that of the English model if "
    "the scores had it]",
)
@click.option(
    "--uncertainty",
    type=click.Choice(["none", "fit", "domain"]),
    help="Uncertainty of the recalibration that the intervals include: of its fit, and of other kinds of text.  "
    "[default: all that it has]",
)
@seed_option("Same seed, same samples.")
@click.option(
    "--lexicon", metavar="FILE", help="countries, police, or a YAML file of your own actors.  [default: countries]"
)
@scheme_option
@click.option(
    "--threads",
    type=click.IntRange(min=1),
    help="Threads of the sampler; the results do not depend on it.  [default: all processors]",
)
@cluster_options("1, with all processors")
@click.option(
    "--partition-size",
    type=click.IntRange(min=1),
    default=5000,
    help="Documents of a partition of a Parquet file, about; the results do not depend on it.",
)
@click.option("--restart", is_flag=True, help="Begin anew: discard the partitions of an interrupted run.")
@click.option("--pictures/--no-pictures", default=True, help="Draw the bands as PNG and SVG.")
@output_options
def events(
    inputs: tuple[str, ...],
    out: str,
    pictures: bool,
    overwrite: bool,
    restart: bool,
    workers: int | None,
    scheduler: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Count documents with an event, by actor and period, with credible intervals.

    INPUTS are scored mentions (.jsonl, .jsonl.gz, .parquet), globs, or - for JSON Lines on standard input. Every
    document needs a date and a parse; `corefsample score` writes both when it reads news.

    The work is divided into partitions. After an interruption the same command computes the missing ones; with more
    INPUTS it computes those and counts all. They are kept in FOLDER/partitions.

    \b
    Examples:
      corefsample events scored.parquet --out run
      corefsample events scored.parquet --preset asserted --period year --out run2
      corefsample events scored.parquet --compare YUG X-NATO --out run3
      corefsample events scored.parquet --rule arrest --rule kill --out run4
      corefsample events 'scored/*.parquet' --workers 8 --out run5
    """
    from events.jobs import compiled_ahead

    rules = options["rule"]
    rule = rules[0] if len(rules) == 1 else rules
    with compiled_ahead("events"), progress("counting", as_json) as on_progress:
        from events.jobs.count_events import EventsOptions, run_events

        chosen = EventsOptions(**{**options, "rule": rule, "compare": options["compare"] or None})
        summary = run_events(
            inputs,
            out,
            chosen,
            overwrite=overwrite,
            restart=restart,
            pictures=pictures,
            workers=workers,
            scheduler=scheduler,
            on_progress=on_progress,
        )
    print_result(summary, as_json, _print_run_and_partitions)


@click.command(cls=Command, short_help="See it work: simulate news with known truth, and count.")
@click.option("--out", default="corefsample-demo", metavar="FOLDER", help="Folder for the simulated news and the run.")
@click.option("--documents", "n_documents", type=click.IntRange(min=1), default=2000, help="Articles to simulate.")
@seed_option("Same seed, same news, same samples.")
@overwrite_option
@json_option
def demo(out: str, overwrite: bool, as_json: bool, **options: Any) -> None:
    """Simulate ten years of news with known truth, count who attacks, and draw the bands.

    \b
    Example:
      corefsample demo --out corefsample-demo
    """
    from events.jobs.demo import run_demo

    with progress("simulating", as_json) as on_progress:
        result = run_demo(out, overwrite=overwrite, on_progress=on_progress, **options)
    if as_json:
        coverage = {"n_uncertain": result.n_uncertain, "n_covered": result.n_covered, "expected": result.expected}
        print_json({"news": result.news, **coverage, **result.summary.to_json()})
        return
    click.echo(f"Simulated news: {result.news}")
    print_text("Its countries and dates are names in a simulation, not facts.")
    _print_run(result.summary)
    click.echo()
    print_text(
        f"The simulation knows the true counts: of the {result.n_uncertain:,} counts that the posterior is uncertain "
        f"about, {result.n_covered:,} lie in their {100 * result.level:g}% interval. By their own probabilities "
        f"{result.expected:,.1f} were expected to: limits are whole numbers, so most intervals of small counts have a "
        f"probability well above {100 * result.level:g}%."
    )


def _print_run_and_partitions(summary: RunSummary) -> None:
    if not summary.n_computed:
        print_text("Every partition was complete; nothing was computed again.")
    elif summary.n_computed < summary.n_partitions:
        n_kept = summary.n_partitions - summary.n_computed
        print_text(f"{n_kept:,} of {counted(summary.n_partitions, 'partition')} had been computed before.")
    _print_run(summary)


def _print_run(summary: RunSummary) -> None:
    """Print what a run found: the highest counts, and where the files are."""
    import pandas as pd

    from corefsample.files import is_file, joined, parquet_source

    folder = summary.out
    counts = pd.read_parquet(parquet_source(joined(folder, "counts.parquet")))
    print_text(
        f"{counted(summary.n_documents, 'document')}, {summary.periods[0]} to {summary.periods[1]}: "
        f"{summary.n_sampled:,} could contain an event and were sampled, {summary.n_with_events:,} do with P > 0."
    )
    if summary.n_quarantined:
        click.echo(
            f"{counted(summary.n_quarantined, 'bad document')} set aside in {joined(folder, 'quarantine.jsonl')}"
        )
    if counts.empty:
        click.echo("No document contains an event: the tables have headers and no rows.")
    else:
        _print_highest(counts)
    pictures = {"Picture": "bands.png", "Compared": "comparison.png"}
    more = ["sampled parses"] if summary.n_mixtures else []
    if "uncertainty" in counts and (counts["uncertainty"] != "none").any():
        more.append("the recalibration")
    covered = " and ".join([", ".join(["coreference", *more[:-1]]), *more[-1:]]) if more else "coreference only"
    left = "rule, lexicon" if summary.n_mixtures else "rule, lexicon, parse"
    print_text(
        f"The intervals cover {covered}, not errors of {left} or choice of articles: "
        f"`corefsample audit plan {shlex.quote(folder)} --out audit` measures the rest."
    )
    print_files(folder, {**pictures, "Counts": "counts.csv", "Evidence": "evidence.csv", "Report": "report.html"})
    if not is_file(joined(folder, "report.html")):
        click.echo(f"Explore  corefsample report {shlex.quote(folder)}")


def _print_highest(counts: pd.DataFrame) -> None:
    """Print the rows with the highest means, in at most 80 columns even with weeks and pairs of actors."""
    from events.counting import role_columns

    head = counts[counts["mean"] > 0.0].sort_values("mean", ascending=False, kind="stable").head(8)
    first = head.iloc[0]
    click.echo(f"\nHighest posterior means, with {100 * first['level']:g}% {first['interval']} intervals:")
    events = ["event"] if len(counts["event"].unique()) > 1 else []
    values = ["period", "n_docs", "mean", "sd", "lower", "upper", "one_best"]
    roles = [name for name in role_columns(counts.columns) if head[name].astype(bool).any()]
    table = head[[*events, *roles, *values]].to_string(index=False, float_format=_short)
    if max(map(len, table.splitlines())) > COLUMNS:  # weeks and two roles: the start of a week names it
        head = head.assign(period=head["period"].str.split("/").str[0])
        table = head[[*events, *roles, *values]].to_string(index=False, float_format=_short)
    click.echo(table)


def _short(value: float) -> str:
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"


@click.command(cls=Command, short_help="Make one HTML page of a run, for exploring and archiving.")
@click.argument("folder")
@click.option("--out", metavar="FILE", help="The page, .html.  [default: report.html in FOLDER]")
@click.option("--title", metavar="TEXT", help="Title of the page.  [default: the name of the rule and the periods]")
@click.option(
    "--documents",
    "n_documents",
    type=click.IntRange(min=0),
    default=1000,
    help="Texts in the page: alternately those nearest P = 1/2 and those most likely to contain an event.",
)
@click.option(
    "--others",
    "n_others",
    type=click.IntRange(min=0),
    default=500,
    help="Documents without evidence in the page, where misses are.",
)
@click.option(
    "--audit",
    metavar="FOLDER",
    help="Folder of `corefsample audit estimate`: labels and audited counts.  [default: none]",
)
@overwrite_option
@json_option
def report(folder: str, out: str | None, as_json: bool, **options: Any) -> None:
    """Make one HTML page of a finished events run, for exploring and archiving.

    FOLDER is the output of `corefsample events`. The page needs no network: counts by event and actor with their
    intervals; the documents behind each count; their text with entities, triggers, and the likeliest antecedents of
    every mention.

    \b
    Example:
      corefsample report run
      corefsample report run --audit audit
    """
    from events.report import write_report

    summary = write_report(folder, out, **options)
    if as_json:
        print_json(summary.to_json())
        return
    click.echo(f"Report   {summary.out} ({summary.n_bytes / 1e6:.1f} MB)")
    print_text(
        f"{summary.n_actors:,} counts by actor, {summary.n_periods:,} periods, {summary.n_with_events:,} documents "
        f"with evidence, {summary.n_texts:,} of them with their text; {summary.n_others:,} documents "
        "without evidence."
    )
    if summary.n_with_events > summary.n_texts:
        n_left_out = summary.n_with_events - summary.n_texts
        print_text(f"{n_left_out:,} texts left out; --documents {summary.n_with_events} includes them all.")
