"""The command calibrate-parses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from events.cli._options import INSIDE_0_1, Command, output_options, print_result, seed_option
from events.cli._screen import print_counts, print_files, print_text, progress

if TYPE_CHECKING:
    from events.jobs.calibrate_parses import ParseCalibrationRun


@click.command(
    "calibrate-parses",
    cls=Command,
    short_help="Measure sampled parses against a treebank.",
    sections={
        "Fitting": ("fit", "fit_by", "temperature"),
        "Measuring": ("n_samples", "n_words", "sentences", "rule", "preset", "level", "n_resamples", "seed"),
    },
)
@click.argument("treebank", nargs=-1, required=True)
@click.option(
    "--pipeline", required=True, metavar="SPACY", help="spaCy pipeline with a transition parser, or its folder."
)
@click.option(
    "--fit",
    multiple=True,
    metavar="FILE",
    help="Documents (.conllu) to fit the temperature to; repeatable.  [default: TREEBANK, by halves]",
)
@click.option(
    "--fit-by",
    type=click.Choice(["brier", "likelihood"]),
    default="brier",
    help="Score of labelled arcs or roles that the temperature maximizes.",
)
@click.option(
    "--temperature",
    type=click.FloatRange(min=0.0, min_open=True),
    help="Temperature at which to measure.  [default: fitted]",
)
@click.option("--out", metavar="FOLDER", help="Folder for tables and a picture.  [default: print the table only]")
@click.option("--samples", "n_samples", type=click.IntRange(min=2), default=100, help="Parses drawn of each document.")
@click.option(
    "--words",
    "n_words",
    type=click.IntRange(min=1),
    help="Only the first sentences of each document, with at most so many words.  [default: all]",
)
@click.option(
    "--sentences",
    type=click.Choice(["predicted", "gold"]),
    default="predicted",
    help="Sentences of the pipeline's usual parse, or of the treebank.",
)
@click.option("--rule", default="attack", metavar="RULE", help="Shipped rule, or rule file, whose paths are measured.")
@click.option("--preset", default="extended", metavar="NAME", help="Preset of the rule.")
@click.option("--level", type=INSIDE_0_1, default=0.95, help="Level of the intervals.")
@click.option("--resamples", "n_resamples", type=click.IntRange(min=2), default=2000, help="Draws for intervals.")
@seed_option("Same seed, same parses.")
@output_options
def calibrate_parses(
    treebank: tuple[str, ...],
    out: str | None,
    fit: tuple[str, ...],
    overwrite: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Can the probabilities of sampled parses be trusted? Measure their calibration against a treebank.

    TREEBANK are CoNLL-U files or globs. The pipeline parses their words many times, each parse drawn from its parser's
    probabilities at a temperature. Prints how often arcs, roles, and paths of 1 to 7 arcs are right, against their
    shares of the parses. A pipeline with labels of another scheme than the treebank's is measured by roles, which both
    have.

    Unless it is given, the temperature is the one of the best Brier score on the documents of --fit or, without them,
    for each half of the documents, on the other half. Each document is parsed about ten times as long as usual,
    for each of seven temperatures.

    \b
    Example:
      corefsample calibrate-parses ud.conllu --pipeline en_core_web_sm
    """
    from events.jobs.calibrate_parses import CalibrateParsesOptions, run_calibrate_parses

    chosen = CalibrateParsesOptions(**options)
    with progress("parsing", as_json) as on_progress:
        run = run_calibrate_parses(treebank, out, chosen, fit=fit or None, overwrite=overwrite, on_progress=on_progress)
    print_result(run, as_json, _print_calibration)


def _print_calibration(run: ParseCalibrationRun) -> None:
    print_text(f"{run.n_documents:,} documents with {run.n_words:,} words.")
    print_counts((run.n_quarantined, "bad document", "set aside"))
    if run.schemes[0] != run.schemes[1]:
        print_text(
            f"The treebank's labels are of {run.schemes[0]}, the pipeline's of {run.schemes[1]}: measured by roles."
        )
    if run.fit is not None:
        fit = run.fit
        ends = "" if fit.lower is None else f", {100 * fit.level:g}% interval {fit.lower:.2f} to {fit.upper:.2f}"
        score = "Brier score" if run.fit_by == "brier" else "likelihood"
        print_text(f"Temperature by {score}: {fit.temperature:.2f}{ends}.")
        if fit.is_at_end:
            print_text("It is at the end of the temperatures that were tried: one beyond may be better.")
    if run.fit is None or len(run.temperatures) > 1:
        print_text(f"Measured at {' and '.join(f'{each:.2f}' for each in run.temperatures)}.")
    click.echo(
        f"\n{'property':<16}{'number':>9} {'mean P':>7} {'true':>7} {'error':>7}  {'by document':<16} {'largest':>7}"
    )
    for each in run.calibration.properties:
        interval = each.by_document
        ends = "-" if interval is None else f"{interval.lower:.4f} to {interval.upper:.4f}"
        click.echo(
            f"{each.name:<16}{each.n_pairs:>9,} {each.mean_q:>7.4f} {each.share_true:>7.4f} {each.error:>7.4f}"
            f"  {ends:<16} {each.largest_gap:>7.4f}"
        )
    click.echo()
    print_text("error: root mean square distance of P and the share that is right, over ten bins of P from 0.01 up.")
    print_text("by document: interval of the true error. largest: distance in the worst bin.")
    if run.out is not None:
        files = {"Picture": "parse_reliability.png", "Table": "parse_calibration.csv", "Bins": "parse_reliability.csv"}
        print_files(run.out, files)
