"""Commands that measure probabilities of links: calibrate, calibrate-queries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from events.cli._options import (
    INSIDE_0_1,
    Command,
    form_option,
    output_options,
    print_result,
    scheme_option,
    seed_option,
    unannotated_option,
)
from events.cli._screen import print_counts, print_files, print_text, progress

if TYPE_CHECKING:
    from events.jobs.calibrate_links import CalibrateOptions, CalibrationRun
    from events.jobs.calibrate_paired import PairedRun
    from events.jobs.calibrate_queries import QueryReport


folder_option = click.option(
    "--out", metavar="FOLDER", help="Folder for tables and pictures.  [default: print the table only]"
)


@click.command(
    cls=Command,
    short_help="Measure the link probabilities against gold entities.",
    sections={"Measuring": ("bin_size", "norm", "level", "n_resamples", "unannotated", "seed")},
)
@click.argument("inputs", nargs=-1, required=True)
@folder_option
@click.option(
    "--paired", is_flag=True, help="Compare two scorers: INPUTS are two files with the same documents and mentions."
)
@click.option(
    "--bin-size",
    type=click.IntRange(min=1),
    help="Pairs in an adaptive bin.  [default: 5,000; of fewer than 100,000 pairs a twentieth, at least 50]",
)
@click.option(
    "--norm",
    type=click.Choice(["rms", "mse", "l1", "max"]),
    default="rms",
    help="Norm of the error; rms is the paper's CalibErr.",
)
@click.option("--level", type=INSIDE_0_1, default=0.95, help="Level of the confidence intervals.")
@click.option(
    "--resamples", "n_resamples", type=click.IntRange(min=2), default=10_000, help="Draws for intervals and tests."
)
@unannotated_option
@seed_option("Same seed, same intervals.")
@output_options
def calibrate(
    inputs: tuple[str, ...], out: str | None, paired: bool, overwrite: bool, as_json: bool, **options: Any
) -> None:
    """Can the link probabilities be trusted? Measure their calibration against gold entities.

    INPUTS are scored mentions (.jsonl, .jsonl.gz, .parquet), globs, or - for JSON Lines on standard input; documents
    without gold are counted and left out. Prints the calibration error of all pairs of mentions, by their
    distance, and by the kinds of the mentions (if the documents have tokens). For thousands of documents it takes
    minutes, mostly for the intervals, whose time grows with the square of their number; with fewer draws
    (--resamples) it is faster.

    \b
    Examples:
      corefsample calibrate gold.jsonl.gz --out calibration
      corefsample calibrate gold.jsonl.gz other.jsonl --paired
    """
    from events.jobs.calibrate_links import CalibrateOptions, run_calibrate

    chosen = CalibrateOptions(**options)
    if paired:
        _calibrate_paired(inputs, out, chosen, overwrite, as_json)
        return
    with progress("pairing", as_json) as on_progress:
        run = run_calibrate(inputs, out, chosen, overwrite=overwrite, on_progress=on_progress)
    print_result(run, as_json, _print_calibration)


def _calibrate_paired(
    inputs: tuple[str, ...], out: str | None, chosen: CalibrateOptions, overwrite: bool, as_json: bool
) -> None:
    from events.jobs.calibrate_paired import run_calibrate_paired

    with progress("pairing", as_json) as on_progress:
        run = run_calibrate_paired(inputs, out, chosen, overwrite=overwrite, on_progress=on_progress)
    print_result(run, as_json, _print_comparison)


def _print_comparison(run: PairedRun) -> None:
    compared = run.comparison
    print_text(f"{compared.n_blocks:,} documents with gold, {compared.n_pairs:,} pairs of mentions.")
    print_counts(
        (sum(run.n_without_gold), "document", "without gold left out, of both files"),
        (run.n_quarantined, "bad document", "set aside"),
    )
    click.echo(f"\nFirst   {run.inputs[0]}\nSecond  {run.inputs[1]}\n")
    click.echo(f"{'measure':<18}{'first':>9}{'second':>9}{'difference':>12}  {100 * compared.level:g}% by document")
    for each in compared.differences:
        click.echo(
            f"{each.measure:<18}{each.first:>9.5f}{each.second:>9.5f}{each.difference:>12.5f}"
            f"  {each.lower:.5f} to {each.upper:.5f}"
        )
    click.echo()
    print_text(
        "Lower is better: a negative difference favours the second. The log score is the mean of -log of the "
        "probability of what gold has, in nats."
    )
    print_text(
        f"Calibration error: {compared.norm}, in {compared.n_bins[0]:,} and {compared.n_bins[1]:,} bins, without the "
        "part that chance adds."
    )
    print_text("by document: interval of the true difference, by resampling the same documents for both.")
    if run.out is not None:
        print_files(run.out, {"Table": "paired.csv"})


def _print_calibration(run: CalibrationRun) -> None:
    from corefsample.calibration.binning import FEWEST_BINS

    calibration, tables = run.calibration, run.calibration.tables
    overall = calibration.overall
    print_text(
        f"{tables.n_documents:,} documents with gold, {overall.curve.bins.n_pairs:,} pairs of mentions, "
        f"{100 * overall.share_true:.3g}% coreferent."
    )
    print_counts(
        (tables.n_without_gold, "document", "without gold left out"),
        (tables.n_unannotated, "mention", "without an annotated entity"),
        (run.n_quarantined, "bad document", "set aside"),
    )
    percent = f"{100 * calibration.level:g}%"
    click.echo(
        f"\nCalibration error ({calibration.norm}, bins of {calibration.bin_size:,} pairs), {percent} intervals:"
    )
    click.echo(f"{'pairs':<17}{'number':>11} {'bins':>5} {'mean q':>6} {'true':>6} {'error':>6}  by document      p")
    for group in calibration.groups:
        interval, p = group.by_document, group.p_value
        ends = "-" if interval is None else f"{interval.lower:.4f} to {interval.upper:.4f}"
        name = group.group if group.partition != "distance" else f"{group.group} apart"
        click.echo(
            f"{name:<17}{group.curve.bins.n_pairs:>11,} {group.curve.bins.n_bins:>5,} {group.mean_q:>6.4f} "
            f"{group.share_true:>6.4f} "
            f"{group.error:>6.4f}  {ends:<16} {'-' if p is None else f'{p:.2g}'}"
        )
    simulated = overall.simulated
    click.echo()
    if overall.curve.bins.n_bins < FEWEST_BINS:
        print_text(
            f"Only {overall.curve.bins.n_bins} bins: errors can cancel within them. A smaller --bin-size shows more."
        )
    ends = f"{simulated.lower:.4f} to {simulated.upper:.4f}"
    print_text(
        "by document: interval of the true error. Chance adds to the measured error, which can therefore lie above it."
    )
    print_text("p: probability of such an error if all probabilities were correct, by flipping the signs of documents.")
    print_text(f"All pairs by Algorithm 2, which assumes independent pairs: {ends}.")
    if run.out is not None:
        print_files(run.out, {"Picture": "reliability.png", "Table": "calibration.csv", "Bins": "reliability.csv"})


@click.command(
    "calibrate-queries",
    cls=Command,
    short_help="Measure the intervals of counts against gold entities.",
    sections={
        "Measuring": ("form", "recalibration", "uncertainty", "group_by", "role", "scheme", "unannotated", "seed")
    },
)
@click.argument("inputs", nargs=-1, required=True)
@folder_option
@form_option("global")
@click.option(
    "--recalibration",
    metavar="FILE",
    help="Measure this record of `corefsample recalibrate`, fitted elsewhere; english: that of the English model.",
)
@click.option(
    "--uncertainty",
    type=click.Choice(["none", "fit", "domain"]),
    help="Uncertainty that the intervals include: of --recalibration, or of the English model's if the scores had it.  "
    "[default: all that it has]",
)
@click.option(
    "--group-by",
    multiple=True,
    default=("genre",),
    metavar="FIELD",
    help="Field of the documents by which P is compared with the truth; may be repeated.",
)
@click.option(
    "--role",
    type=click.Choice(["subject", "object", "passive_subject", "passive_agent"]),
    default="subject",
    help="Role of the pronoun at the verb.",
)
@scheme_option
@unannotated_option
@seed_option("Same seed, same folds and samples.")
@output_options
def calibrate_queries(inputs: tuple[str, ...], out: str | None, overwrite: bool, as_json: bool, **options: Any) -> None:
    """Check intervals of counts with entity queries that a corpus with gold can answer.

    INPUTS are as for `corefsample calibrate`, and need tokens. For each verb a query asks whether some entity with a
    name (or a plural, or a singular noun) has a pronoun that is the subject of the verb, as events do. The command
    shows how often the true count lies in its interval, before and after recalibration on other documents. It takes
    minutes.

    \b
    Example:
      corefsample calibrate-queries gold.jsonl.gz --out queries
    """
    from events.jobs.calibrate_queries import QueryReportOptions, run_query_report

    chosen = QueryReportOptions(**options)
    with progress("asking", as_json) as on_progress:
        report = run_query_report(inputs, out, chosen, overwrite=overwrite, on_progress=on_progress)
    print_result(report, as_json, _print_queries)


def _print_queries(report: QueryReport) -> None:
    study = report.study
    scores, coverage = study.scores(), study.coverage()  # before any output, so that a failure prints nothing
    print_text(
        f"{len(study.table.queries):,} queries of {report.n_documents:,} documents, {study.table.n_pairs:,} pairs of "
        "query and document."
    )
    click.echo("\nProbabilities, held out (recalibrated on other documents):")
    click.echo(f"{'recalibration':<14}{'mean P':>8}{'true':>8}{'error':>8}  95% by document")
    for row in scores.itertuples():
        click.echo(
            f"{row.variant:<14}{row.mean_p:>8.4f}{row.share_true:>8.4f}{row.calibration_error:>8.4f}"
            f"  {row.lower:.4f} to {row.upper:.4f}"
        )
    shown = coverage[(coverage["level"] == max(study.levels)) & (coverage["interval"] == "quantile")]
    sizes = list(dict.fromkeys(shown["documents"]))
    click.echo(f"\nQueries whose true count lies in the {100 * max(study.levels):g}% quantile interval, by documents:")
    click.echo(f"{'recalibration':<27}" + "".join(f"{size:>8}" for size in sizes))
    for (variant, kind), rows in shown.groupby(["variant", "recalibration"], sort=False):
        shares = rows.set_index("documents")["coverage"]
        name = f"{variant}, uncertain" if kind == "uncertain" else str(variant)
        click.echo(f"{name:<27}" + "".join(f"{shares[size]:>8.1%}" for size in sizes))
    click.echo("uncertain: the interval includes the uncertainty of the recalibration itself.")
    for name, reason in study.failures.items():
        print_text(f"{name}: not fitted. {reason}.")
    if report.out is not None:
        pictures = {"Coverage": "query_coverage.png", "Curves": "query_reliability.png"}
        print_files(report.out, {**pictures, "Table": "query_coverage.csv"})
