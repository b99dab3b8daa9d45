"""Can the link probabilities be trusted? Measure their calibration against gold entities.

INPUTS are scored mentions (.jsonl, .jsonl.gz, .parquet), globs, or - for JSON Lines on standard input; documents
without gold are counted and left out. Prints the calibration error of all pairs of mentions, by their
distance, and by the kinds of the mentions (if the documents have tokens). For thousands of documents it takes
minutes, mostly for the intervals, whose time grows with the square of their number; with fewer draws
(--resamples) it is faster.

Examples
--------
  corefsample calibrate gold.jsonl.gz --out calibration
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import click

from corefsample import links, plots
from corefsample.errors import InputError
from events import _shared_options as shared
from events._options import FolderResult, Progress, declared, option
from events.commands._parser import Command
from events.commands._screen import print_counts, print_files, print_text
from events.runs._output_folder import save_pictures

if TYPE_CHECKING:
    from corefsample.files._folders import OutputFolder
    from corefsample.files._paths import Inputs
    from corefsample.formats import DocumentStream
    from corefsample.links._calibration import LinkCalibration

_MEASURING = ("bin_size", "norm", "level", "n_resamples", "seed")


@declared
class CalibrateOptions(shared.OutFolder, shared.Unannotated, shared.Seed, shared.Overwrite, shared.OnError):
    """Options of a measurement of link probabilities.

    Attributes
    ----------
    bin_size
        Number of pairs of mentions in an adaptive bin. [default: 5,000; with fewer than 100,000 pairs, a twentieth of
        them, at least 50]
    norm
        Norm of the calibration error; rms is CalibErr of Nguyen & O'Connor (2015).
    level
        Confidence level of the intervals.
    n_resamples
        Number of random draws for the intervals and tests.
    seed
        Seed of the random draws: the same seed gives the same intervals.
    """

    bin_size: int | None = option(default=None, at_least=1)
    norm: Literal["rms", "mse", "l1", "max"] = "rms"
    level: float = option(default=0.95, above=0.0, below=1.0)
    n_resamples: int = option(default=10_000, at_least=2)


@dataclass(frozen=True, slots=True, eq=False)
class CalibrateResult(FolderResult):
    """Result of a measurement of link probabilities.

    Attributes
    ----------
    calibration
        Calibration of the link probabilities.
    """

    calibration: LinkCalibration

    def _more(self) -> dict[str, Any]:
        from events.runs._record import json_rows

        tables = self.calibration.tables
        return {
            "n_documents": tables.n_documents,
            "n_without_gold": tables.n_without_gold,
            "n_unannotated": tables.n_unannotated,
            "groups": json_rows(self.calibration.to_frame()),
        }


def run_calibrate(
    inputs: Inputs, options: CalibrateOptions | None = None, *, on_progress: Progress | None = None
) -> CalibrateResult:
    """Measure the calibration of link marginals in scored files with gold.

    Parameters
    ----------
    inputs
        Paths of files, globs, or "-" for JSON Lines on standard input. Documents without gold are counted and left out.
    options
        Options of the measurement, and the folder of the results; by default, those of the command line.
    on_progress
        Function that is called as documents are read with the bytes read, the bytes of all files, and the number of
        documents.

    Raises
    ------
    ParameterError
        If the folder has other files, or has an earlier result and `overwrite` is false.
    InputError
        If a file is missing, a document is invalid and is not set aside, or no document has gold.
    OutputError
        If the folder cannot be written. After any error the folder is removed.
    """
    from corefsample.formats import DocumentStream
    from corefsample.links._pairs import link_tables
    from events.commands._reading import streamed
    from events.commands._results import CalibrationFolder, results

    options = options or CalibrateOptions()
    with results(CalibrationFolder, options) as output:
        stream = DocumentStream(inputs, on_rejected=output.on_rejected)
        tables = link_tables(streamed(stream, on_progress), unannotated=options.unannotated)
        if not tables.n_documents:
            rule = f"gold is required to calibrate, got none in {tables.n_without_gold} documents"
            raise InputError(rule, place=_place(stream))
        try:
            calibration = links.calibrate_links(tables, **options.subset(*_MEASURING))
        except InputError as error:
            raise error.at(_place(stream)) from None
        result = CalibrateResult(calibration, **output.summary())
        if output.folder is not None:
            _write(output.folder, calibration)
        output.finish(result, stream.paths)
        return result


def _place(stream: DocumentStream) -> str:
    return ", ".join(stream.paths)


def _write(folder: OutputFolder, calibration: LinkCalibration) -> None:
    frame = calibration.to_frame()
    frame.to_csv(folder.file("calibration.csv"), index=False)
    frame.to_parquet(folder.file("calibration.parquet"), index=False)
    calibration.curves_frame().to_csv(folder.file("reliability.csv"), index=False)
    overall = calibration.overall
    title = f"Coreference links: {overall.curve.bins.n_pairs:,} pairs of {overall.n_documents:,} documents"
    pictures = {"reliability": partial(plots.reliability_figure, {"all pairs": overall.curve}, title=title)}
    kinds = {group.group: group.curve for group in calibration.groups if group.partition == "kind"}
    if kinds:
        title = "Coreference links by kind of mentions"
        pictures["reliability_by_kind"] = partial(plots.reliability_figure, kinds, title=title)
    save_pictures(pictures, folder.file)


def print_calibrate(run: CalibrateResult) -> None:
    """Print the calibration errors."""
    from corefsample.calibration._binning import FEWEST_BINS

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
    print_files(run.out, {"Picture": "reliability.png", "Table": "calibration.csv", "Bins": "reliability.csv"})


command = Command(
    CalibrateOptions,
    run_calibrate,
    print_calibrate,
    "inputs+",
    task="pairing",
    sections={"Measuring": "bin_size norm level n_resamples unannotated seed"},
)
