"""Commands that measure and mend probabilities: calibrate."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from events.commands.options import json_option, on_error_option, overwrite_option
from events.commands.screen import print_json, progress

if TYPE_CHECKING:
    from events.calibrate import CalibrationRun

__all__ = ["calibrate"]


@click.command()
@click.argument("inputs", nargs=-1, required=True)
@click.option("--out", help="Folder for tables and pictures.  [default: print the table alone]")
@click.option("--bin-size", type=int, default=5000, show_default=True, help="Pairs in an adaptive bin.")
@click.option("--norm", default="rms", show_default=True, help="rms (CalibErr), mse, l1, max.")
@click.option("--level", type=float, default=0.95, show_default=True, help="Of the confidence intervals.")
@click.option(
    "--resamples", "n_resamples", type=int, default=10_000, show_default=True, help="Draws for intervals and tests."
)
@click.option(
    "--unannotated",
    default="skip",
    show_default=True,
    help="Mentions whose entity is null: skip (unknown: left out) or single (an entity each).",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Same seed, same intervals.")
@on_error_option
@overwrite_option
@json_option
def calibrate(inputs: tuple[str, ...], out: str | None, overwrite: bool, as_json: bool, **options: Any) -> None:
    """Can the link probabilities be trusted? Measure their calibration against gold entities.

    INPUTS are pre-scored mention files (.jsonl, .jsonl.gz, .parquet), globs, or - for JSON Lines on standard input;
    documents without gold are counted and left out. Prints the calibration error of all pairs of mentions, by their
    distance, and by what they are (where tokens are there).

    \b
    Example:
      corefsample calibrate scored.jsonl.gz --out calibration
    """
    from events.calibrate import CalibrateOptions, run_calibrate

    chosen = CalibrateOptions(**options)
    with progress("pairing", as_json) as on_progress:
        run = run_calibrate(inputs, out, chosen, overwrite=overwrite, on_progress=on_progress)
    if as_json:
        print_json(run.to_json())
    else:
        _print_calibration(run)


def _print_calibration(run: CalibrationRun) -> None:
    calibration, tables = run.calibration, run.calibration.tables
    overall = calibration.overall
    bins = overall.curve.bins
    click.echo(
        f"{tables.n_documents:,} documents with gold, {bins.n_pairs:,} pairs of mentions, "
        f"{100 * overall.share_true:.3g}% coreferent."
    )
    for count, what in (
        (tables.n_without_gold, "documents without gold left out"),
        (tables.n_unannotated, "mentions without an annotated entity"),
        (run.n_quarantined, "bad documents set aside"),
    ):
        if count:
            click.echo(f"{count:,} {what}.")
    percent = f"{100 * calibration.level:g}%"
    click.echo(
        f"\nCalibration error ({calibration.norm}, bins of {calibration.bin_size:,} pairs), {percent} intervals:"
    )
    click.echo(f"{'pairs':<17}{'number':>11} {'mean q':>7} {'true':>7} {'error':>7}  by document      p")
    for group in calibration.groups:
        interval, p = group.by_document, group.p_value
        ends = "-" if interval is None else f"{interval.lower:.4f} to {interval.upper:.4f}"
        name = group.group if group.partition != "distance" else f"{group.group} apart"
        click.echo(
            f"{name:<17}{group.curve.bins.n_pairs:>11,} {group.mean_q:>7.4f} {group.share_true:>7.4f} "
            f"{group.error:>7.4f}  {ends:<16} {'-' if p is None else f'{p:.2g}'}"
        )
    simulated = overall.simulated
    click.echo(
        f"\nAll pairs by Algorithm 2, which takes pairs to be independent: {simulated.lower:.4f} to "
        f"{simulated.upper:.4f}.\np: chance of such an error if all were right, by flipping signs of documents."
    )
    if run.out is not None:
        click.echo()
        for title, name in (("Picture", "reliability.png"), ("Table", "calibration.csv"), ("Bins", "reliability.csv")):
            click.echo(f"{title:<8} {os.path.join(run.out, name)}")
