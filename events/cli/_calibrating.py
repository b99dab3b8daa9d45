"""Commands that measure and correct probabilities of links: calibrate, calibrate-queries, recalibrate."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from events.cli._options import (
    INSIDE_0_1,
    Command,
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
    from events.jobs.recalibrate import RecalibrationRun


def form_option(default: str) -> Callable[[Any], Any]:
    """The option --form with a default."""
    return click.option(
        "--form",
        type=click.Choice(["global", "kinds"]),
        default=default,
        help="global: a temperature and a NEW bias. kinds: offsets by kind of mention and antecedent too.",
    )


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
    help="Uncertainty of --recalibration that the intervals include.  [default: all that it has]",
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


@click.command(
    cls=Command,
    short_help="Correct scores by a fit to documents with gold.",
    sections={
        "Fitting": ("form", "domains", "n_folds", "n_samples", "n_boot", "missing", "unannotated", "scheme", "seed")
    },
)
@click.argument("gold")
@click.argument("apply")
@click.option("--out", required=True, metavar="FILE", help="File for the documents of APPLY with their new scores.")
@click.option(
    "--objective",
    type=click.Choice(["joint", "queries", "queries-log", "links", "links-log", "likelihood"]),
    default="joint",
    help="What to fit: antecedents (likelihood), entity queries, both (joint), or pairs of mentions (links); -log for "
    "the log score, else Brier's.",
)
@form_option("kinds")
@click.option(
    "--domains",
    metavar="FIELD",
    help="Field that names each document's kind of text, for --form kinds: the fit then knows how much kinds of text "
    "differ.  [default: genre, where all have it]",
)
@click.option("--folds", "n_folds", type=click.IntRange(min=2), default=5, help="Folds of the cross-validated scores.")
@click.option("--samples", "n_samples", type=click.IntRange(min=2), default=1000, help="Clusterings per document.")
@click.option(
    "--refits",
    "n_boot",
    type=click.IntRange(min=2),
    default=200,
    help="Refits on resampled documents, for standard errors.",
)
@click.option(
    "--missing",
    type=click.Choice(["skip", "floor"]),
    default="skip",
    help="Mentions without a gold antecedent among their candidates: skip them, or use the lowest candidate instead.",
)
@unannotated_option
@click.option("--shrink", is_flag=True, help="Shrink the fit towards no change, according to its uncertainty.")
@scheme_option
@seed_option("Same seed, same fit.")
@output_options
def recalibrate(gold: str, apply: str, out: str, overwrite: bool, as_json: bool, **options: Any) -> None:
    """Correct probabilities: fit a recalibration to documents with gold, and apply it to others.

    GOLD and APPLY are scored mentions (.jsonl, .jsonl.gz, .parquet), globs, or - for JSON Lines on standard input; they
    may be the same. The documents of APPLY are written to --out with their new scores, and a record of the fit to a
    file beside it.

    \b
    Example:
      corefsample recalibrate gold.jsonl news.parquet --out recalibrated.parquet
    """
    from events.jobs.recalibrate import RecalibrateOptions, run_recalibrate

    chosen = RecalibrateOptions(**options)
    with progress("recalibrating", as_json) as on_progress:
        run = run_recalibrate(gold, apply, out, chosen, overwrite=overwrite, on_progress=on_progress)
    print_result(run, as_json, _print_recalibration)


def _print_recalibration(run: RecalibrationRun) -> None:
    summary = run.to_json()
    print_text(
        f"Fitted to {summary['objective']}: temperature {summary['temperature']:.4f} (se "
        f"{summary['temperature_se']:.4f}), NEW bias {summary['new_bias']:.4f} (se {summary['new_bias_se']:.4f})."
    )
    if run.fit.prior_sd is not None:
        print_text(f"Offsets by kind of link have a prior of standard deviation {run.fit.prior_sd:g}.")
    if run.domain_effect is not None:
        effect = run.domain_effect
        print_text(
            f"Between {effect.n_domains} domains the NEW bias has a standard deviation of {effect.new_bias:.2f}, "
            f"offsets of links one of {effect.link_offsets:.2f}."
        )
    if run.applied != run.fit.recalibration:
        print_text(
            f"Shrunk: temperature {run.applied.temperature:.4f} and NEW bias {run.applied.new_bias:.4f} were applied."
        )
    print_text(
        f"Held out, {summary['n_folds']} folds: {summary['score_before']:.5f} before, {summary['score_after']:.5f} "
        f"after (se of the change {summary['score_change_se']:.5f}); lower is better."
    )
    print_counts(
        (run.n_without_gold, "document", "without gold left out of the fit"),
        (run.n_quarantined, "bad document", "set aside"),
        (run.n_also_fitted, "document", "of those written also used in the fit"),
    )
    click.echo(f"\nScores   {run.out} ({run.n_documents:,} documents)\nRecord   {run.record}")
