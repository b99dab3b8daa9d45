"""Commands that count: events, demo."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING, Any

import click

from events.cli._options import Command, counting_options, json_option, on_error_option, overwrite_option
from events.cli._screen import counted, print_json, progress, tell

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["demo", "events"]


@click.command(
    cls=Command,
    short_help="Count documents with an event, by country and period.",
    sections={"Counting": ("n_samples", "level", "interval", "seed", "lexicon", "scheme", "threads")},
)
@click.argument("inputs", nargs=-1, required=True)
@click.option("--out", required=True, metavar="FOLDER", help="Folder for tables, pictures and the record of the run.")
@counting_options
@click.option("--pictures/--no-pictures", default=True, show_default=True, help="Draw the bands as PNG and SVG.")
@on_error_option
@overwrite_option
@json_option
def events(inputs: tuple[str, ...], out: str, pictures: bool, overwrite: bool, as_json: bool, **options: Any) -> None:
    """Count documents with an event, by country and period, with credible intervals.

    INPUTS are scored mentions (.jsonl, .jsonl.gz, .parquet), globs, or - for JSON Lines on standard input. Every
    document needs a date and a parse; what `corefsample score` makes of news has both.

    \b
    Examples:
      corefsample events scored.parquet --out run
      corefsample events scored.parquet --preset extended --period year --out run2
      corefsample events scored.parquet --compare YUG X-NATO --out run3
    """
    from events.jobs.count_events import EventsOptions, run_events

    chosen = EventsOptions(**{**options, "compare": options["compare"] or None})
    with progress("counting", as_json) as on_progress:
        summary = run_events(inputs, out, chosen, overwrite=overwrite, pictures=pictures, on_progress=on_progress)
    if as_json:
        print_json(summary.to_json())
    else:
        _print_run(summary)


@click.command(cls=Command, short_help="See it work: simulate news with known truth, and count.")
@click.option(
    "--out",
    default="corefsample-demo",
    show_default=True,
    metavar="FOLDER",
    help="Folder for the simulated news and the run.",
)
@click.option("--documents", "n_documents", type=int, default=2000, show_default=True, help="Articles to simulate.")
@click.option("--seed", type=int, default=0, show_default=True, help="Same seed, same news, same samples.")
@overwrite_option
@json_option
def demo(out: str, n_documents: int, seed: int, overwrite: bool, as_json: bool) -> None:
    """Simulate ten years of news with known truth, count who attacks, and draw the bands.

    \b
    Example:
      corefsample demo --out corefsample-demo
    """
    from events.jobs.demo import run_demo

    with progress("simulating", as_json) as on_progress:
        result = run_demo(out, n_documents=n_documents, seed=seed, overwrite=overwrite, on_progress=on_progress)
    if as_json:
        coverage = {"n_uncertain": result.n_uncertain, "n_covered": result.n_covered}
        print_json({"news": result.news, **coverage, **result.summary.to_json()})
        return
    click.echo(f"Simulated news: {result.news}")
    _print_run(result.summary)
    click.echo()
    tell(
        f"The simulation knows the true counts: of the {result.n_uncertain:,} that the posterior is uncertain of, "
        f"{result.n_covered:,} lie in their interval."
    )


def _print_run(summary: Any) -> None:
    """Print what a run found: the table's head, and where the files are."""
    import pandas as pd

    folder = summary.out
    with open(os.path.join(folder, "counts.csv"), encoding="utf-8") as stream:
        counts = pd.read_csv(stream, dtype={"country": str}, keep_default_na=False)
    tell(
        f"{counted(summary.n_documents, 'document')}, {summary.periods[0]} to {summary.periods[1]}: "
        f"{summary.n_sampled:,} could hold an event and were sampled, {summary.n_with_events:,} do with P > 0."
    )
    if summary.n_quarantined:
        click.echo(
            f"{counted(summary.n_quarantined, 'bad document')} set aside in {os.path.join(folder, 'quarantine.jsonl')}"
        )
    if counts.empty:
        click.echo("No document holds an event: the tables have headers and no rows.")
    else:
        _print_head(counts)
    click.echo()
    files = {"Picture": "bands.png", "Compared": "comparison.png", "Counts": "counts.csv", "Evidence": "evidence.csv"}
    for title, name in files.items():
        if os.path.exists(os.path.join(folder, name)):
            click.echo(f"{title:<8} {os.path.join(folder, name)}")
    if os.path.exists(os.path.join(folder, "report.html")):
        click.echo(f"Report   {os.path.join(folder, 'report.html')}")
    else:
        click.echo(f"Explore  corefsample report {shlex.quote(folder)}")


def _print_head(counts: pd.DataFrame) -> None:
    """Print the rows with the highest means, in columns that fit 80 with weeks and pairs of countries."""
    head = counts[counts["mean"] > 0.0].sort_values("mean", ascending=False, kind="stable").head(8)
    first = head.iloc[0]
    click.echo(f"\nHighest posterior means, with {100 * first['level']:g}% {first['interval']} intervals:")
    columns = ["country", "period", "n_docs", "mean", "sd", "lower", "upper", "one_best"]
    click.echo(head[columns].to_string(index=False, float_format=lambda x: f"{x:.3g}" if abs(x) < 1000 else f"{x:.0f}"))
