"""Commands that measure and mend probabilities: calibrate, recalibrate."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from corefsample.errors import ParameterError
from events.cli._options import Command, json_option, on_error_option, overwrite_option
from events.cli._screen import print_json, progress, tell, tell_counts

if TYPE_CHECKING:
    from events.jobs.calibrate_links import CalibrationRun
    from events.jobs.calibrate_queries import QueryReport
    from events.jobs.recalibrate import RecalibrationRun

__all__ = ["calibrate", "recalibrate"]

unannotated_option = click.option(
    "--unannotated",
    default="skip",
    show_default=True,
    metavar="[skip|single]",
    help="Mentions whose entity is null: leave them out, or take each for an entity of its own.",
)


@click.command(
    cls=Command,
    short_help="Can the probabilities be trusted? Measure them against gold.",
    sections={"Measuring": ("bin_size", "norm", "level", "n_resamples", "unannotated", "seed")},
)
@click.argument("inputs", nargs=-1, required=True)
@click.option("--out", metavar="FOLDER", help="Folder for tables and pictures.  [default: print the table alone]")
@click.option(
    "--queries",
    is_flag=True,
    help="Ask the corpus its own entity queries instead, and see whether intervals of counts hold the truth.",
)
@click.option("--bin-size", type=int, default=5000, show_default=True, help="Pairs in an adaptive bin.")
@click.option(
    "--norm",
    default="rms",
    show_default=True,
    metavar="[rms|mse|l1|max]",
    help="Norm of the error; rms is the paper's CalibErr.",
)
@click.option("--level", type=float, default=0.95, show_default=True, help="Level of the confidence intervals.")
@click.option(
    "--resamples", "n_resamples", type=int, default=10_000, show_default=True, help="Draws for intervals and tests."
)
@unannotated_option
@click.option("--seed", type=int, default=0, show_default=True, help="Same seed, same intervals.")
@on_error_option
@overwrite_option
@json_option
def calibrate(
    inputs: tuple[str, ...], out: str | None, queries: bool, overwrite: bool, as_json: bool, **options: Any
) -> None:
    """Can the link probabilities be trusted? Measure their calibration against gold entities.

    INPUTS are scored mentions (.jsonl, .jsonl.gz, .parquet), globs, or - for JSON Lines on standard input; documents
    without gold are counted and left out. Prints the calibration error of all pairs of mentions, by their
    distance, and by what they are (where tokens are there).

    With --queries it asks instead, for each verb, whether some entity with a name (or a plural, or a singular noun) has
    a pronoun that is subject of the verb, as events do; and shows how often the truth lies in the intervals of the
    counts, before and after recalibration on other documents. Needs tokens; takes minutes.

    \b
    Examples:
      corefsample calibrate gold.jsonl.gz --out calibration
      corefsample calibrate gold.jsonl.gz --queries --out queries
    """
    if queries:
        _calibrate_queries(inputs, out, overwrite, as_json, **options)
        return
    from events.jobs.calibrate_links import CalibrateOptions, run_calibrate

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
    tell(
        f"{tables.n_documents:,} documents with gold, {bins.n_pairs:,} pairs of mentions, "
        f"{100 * overall.share_true:.3g}% coreferent."
    )
    tell_counts(
        (tables.n_without_gold, "document", "without gold left out"),
        (tables.n_unannotated, "mention", "without an annotated entity"),
        (run.n_quarantined, "bad document", "set aside"),
    )
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
    click.echo()
    ends = f"{simulated.lower:.4f} to {simulated.upper:.4f}"
    tell("by document: interval of the true error. Chance adds to the measured one, which can so lie above it.")
    tell("p: chance of such an error if all were right, by flipping signs of documents.")
    tell(f"All pairs by Algorithm 2, which takes pairs to be independent: {ends}.")
    if run.out is not None:
        click.echo()
        for title, name in (("Picture", "reliability.png"), ("Table", "calibration.csv"), ("Bins", "reliability.csv")):
            click.echo(f"{title:<8} {os.path.join(run.out, name)}")


def _calibrate_queries(
    inputs: tuple[str, ...],
    out: str | None,
    overwrite: bool,
    as_json: bool,
    *,
    seed: int,
    unannotated: Any,
    on_error: str,
    **links_only: Any,
) -> None:
    from events.jobs.calibrate_queries import QueryReportOptions, run_query_report

    context = click.get_current_context()
    for name in links_only:
        if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            raise ParameterError(f"{name} must be left out with --queries, got {links_only[name]!r}")
    chosen = QueryReportOptions(seed=seed, unannotated=unannotated, on_error=on_error)
    with progress("asking", as_json) as on_progress:
        report = run_query_report(inputs, out, chosen, overwrite=overwrite, on_progress=on_progress)
    if as_json:
        print_json(report.to_json())
    else:
        _print_queries(report)


def _print_queries(report: QueryReport) -> None:
    study = report.study
    scores, coverage = study.scores(), study.coverage()  # before anything is printed: what fails prints nothing
    tell(
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
    click.echo("uncertain: the interval also carries how uncertain the recalibration itself is.")
    if report.out is not None:
        click.echo()
        for title, name in (
            ("Pictures", "query_coverage.png"),
            ("", "query_reliability.png"),
            ("Table", "query_coverage.csv"),
        ):
            click.echo(f"{title:<8} {os.path.join(report.out, name)}")


@click.command(
    cls=Command,
    short_help="Mend the scores of documents, fitted to others with gold.",
    sections={"Fitting": ("folds", "n_samples", "n_boot", "missing", "unannotated", "seed")},
)
@click.argument("gold")
@click.argument("apply")
@click.option("--out", required=True, metavar="FILE", help="File for the documents of APPLY with their scores mended.")
@click.option(
    "--objective",
    default="queries",
    show_default=True,
    metavar="NAME",
    help="What to fit: queries, queries-log (entity queries), links, links-log (pairs), likelihood (antecedents).",
)
@click.option(
    "--folds", type=int, default=5, show_default=True, help="Folds of the cross-validated scores that are shown."
)
@click.option("--samples", "n_samples", type=int, default=1000, show_default=True, help="Clusterings drawn a document.")
@click.option(
    "--refits",
    "n_boot",
    type=int,
    default=200,
    show_default=True,
    help="Refits on resampled documents, for standard errors.",
)
@click.option(
    "--missing",
    default="skip",
    show_default=True,
    metavar="[skip|floor]",
    help="Mentions whose gold antecedents the file left out: skip them, or let the lowest candidate stand in.",
)
@unannotated_option
@click.option("--shrink", is_flag=True, help="Draw the fit towards no change, as its own uncertainty asks.")
@click.option("--seed", type=int, default=0, show_default=True, help="Same seed, same fit.")
@on_error_option
@overwrite_option
@json_option
def recalibrate(gold: str, apply: str, out: str, overwrite: bool, as_json: bool, **options: Any) -> None:
    """Mend probabilities: fit a temperature and a NEW bias on documents with gold, apply them to others.

    GOLD and APPLY are scored mentions (.jsonl, .jsonl.gz, .parquet), globs, or - for JSON Lines on standard input; they
    may be the same. The scores of APPLY go to the file --out, and a record of the fit beside it.

    \b
    Example:
      corefsample recalibrate gold.jsonl.gz scored.parquet --out mended.parquet
    """
    from events.jobs.recalibrate import run_recalibrate

    with progress("recalibrating", as_json) as on_progress:
        run = run_recalibrate([gold], [apply], out, overwrite=overwrite, on_progress=on_progress, **options)
    if as_json:
        print_json(run.to_json())
    else:
        _print_recalibration(run)


def _print_recalibration(run: RecalibrationRun) -> None:
    said = run.to_json()
    tell(
        f"Fitted to {said['objective']}: temperature {said['temperature']:.4f} (se {said['temperature_se']:.4f}), "
        f"NEW bias {said['new_bias']:.4f} (se {said['new_bias_se']:.4f})."
    )
    if run.applied != run.fit.recalibration:
        tell(f"Shrunk: temperature {run.applied.temperature:.4f}, NEW bias {run.applied.new_bias:.4f} were applied.")
    tell(
        f"Held out, {said['n_folds']} folds: {said['score_before']:.5f} before, {said['score_after']:.5f} after "
        f"(se of the change {said['score_change_se']:.5f}); lower is better."
    )
    tell_counts(
        (run.n_without_gold, "document", "without gold left out of the fit"),
        (run.n_quarantined, "bad document", "set aside"),
        (run.n_also_fitted, "document", "fitted to as well, of those written"),
    )
    click.echo(f"\nMended   {run.out} ({run.n_written:,} documents)\nRecord   {run.record}")
