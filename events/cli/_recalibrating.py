"""The command that corrects probabilities of links: recalibrate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from events.cli._options import (
    Command,
    form_option,
    output_options,
    print_result,
    scheme_option,
    seed_option,
    unannotated_option,
)
from events.cli._screen import print_counts, print_text, progress

if TYPE_CHECKING:
    from events.jobs.recalibrate import RecalibrationRun


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
