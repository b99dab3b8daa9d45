"""Can the link probabilities be trusted? Measure their calibration against gold entities.

INPUTS are scored mentions (.jsonl, .jsonl.gz, .parquet), globs, or - for JSON Lines on standard input; documents
without gold are counted and left out. Prints the calibration error of all pairs of mentions, by their
distance, and by the kinds of the mentions (if the documents have tokens). For thousands of documents it takes
minutes, mostly for the intervals, whose time grows with the square of their number; with fewer draws
(--resamples) it is faster.

Examples
--------
  corefsample calibrate gold.jsonl.gz --out calibration
  corefsample calibrate gold.jsonl.gz other.jsonl --paired
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import click

from corefsample import links, plots
from corefsample.errors import InputError, ParameterError
from events import _shared_options as shared
from events._options import FolderResult, Progress, declared, option
from events.commands._parser import Command
from events.commands._screen import print_counts, print_files, print_text
from events.runs._output_folder import save_pictures

if TYPE_CHECKING:
    from corefsample.calibration._paired import PairedComparison
    from corefsample.files._folders import OutputFolder
    from corefsample.files._paths import Inputs
    from corefsample.formats import DocumentStream
    from corefsample.links._calibration import LinkCalibration
    from events.commands._results import Results

_MEASURING = ("bin_size", "norm", "level", "n_resamples", "seed")


@declared
class CalibrateOptions(shared.OutFolder, shared.Unannotated, shared.Seed, shared.Overwrite, shared.OnError):
    """What to measure, and how.

    Attributes
    ----------
    paired
        Compare two scorers: INPUTS are two files with the same documents and mentions.
    bin_size
        Pairs in an adaptive bin. [default: 5,000; of fewer than 100,000 pairs a twentieth, at least 50]
    norm
        Norm of the error; rms is the paper's CalibErr.
    level
        Level of the confidence intervals.
    n_resamples
        Draws for intervals and tests.
    seed
        Same seed, same intervals.
    """

    paired: bool = False
    bin_size: int | None = option(default=None, at_least=1)
    norm: Literal["rms", "mse", "l1", "max"] = "rms"
    level: float = option(default=0.95, above=0.0, below=1.0)
    n_resamples: int = option(default=10_000, at_least=2)


@dataclass(frozen=True, slots=True, eq=False)
class CalibrateResult(FolderResult):
    """Result of a calibration.

    Attributes
    ----------
    calibration
        The measured calibration.
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


@dataclass(frozen=True, slots=True, eq=False)
class CalibratePairedResult(FolderResult):
    """Result of a comparison of two scorers.

    Attributes
    ----------
    comparison
        The differences.
    inputs
        Names of the first and of the second scorer's files.
    n_without_gold
        Documents left out because they have no gold, of both.
    """

    comparison: PairedComparison
    inputs: tuple[str, str]
    n_without_gold: int

    def _more(self) -> dict[str, Any]:
        from events.runs._record import json_rows

        compared = self.comparison
        return {
            "n_documents": compared.n_blocks,
            "n_bins": list(compared.n_bins),
            **{name: getattr(compared, name) for name in ("n_pairs", "norm", "level", "n_resamples")},
            "differences": json_rows(compared.to_frame()),
        }


def run_calibrate(
    inputs: Inputs, options: CalibrateOptions | None = None, *, on_progress: Progress | None = None
) -> CalibrateResult | CalibratePairedResult:
    """Measure the calibration of link marginals in scored files with gold, or compare those of two scorers.

    Parameters
    ----------
    inputs
        Files, globs, or "-" for JSON Lines on standard input. Documents without gold are counted and left out. With
        `paired` two: files or globs of the first and of the second scorer, whose documents with gold have the same
        doc_ids, in any order, with the same mentions and gold.
    options
        What to measure.
    on_progress
        Called as documents are read, with bytes read, bytes in all, and documents.

    Raises
    ------
    ParameterError
        If the folder is in use, or there are not two inputs to compare.
    InputError
        If a file is missing, a document is bad, none has gold, or documents, mentions or gold of scorers differ.
    OutputError
        If the folder cannot be written. After an error no folder is left.
    """
    from events.commands._results import CalibrationFolder, results

    options = options or CalibrateOptions()
    run = _compared if options.paired else _measured
    with results(CalibrationFolder, options) as found:
        return run(inputs, options, found, on_progress)


def _measured(
    inputs: Inputs, options: CalibrateOptions, found: Results, on_progress: Progress | None
) -> CalibrateResult:
    from corefsample.formats import DocumentStream
    from corefsample.links._pairs import link_tables
    from events.commands._reading import streamed

    stream = DocumentStream(inputs, on_rejected=found.on_rejected)
    tables = link_tables(streamed(stream, on_progress), unannotated=options.unannotated)
    if not tables.n_documents:
        rule = f"gold is required to calibrate, got none in {tables.n_without_gold} documents"
        raise InputError(rule, place=_place(stream))
    try:
        calibration = links.calibrate_links(tables, **options.chosen(*_MEASURING))
    except InputError as error:
        raise error.at(_place(stream)) from None
    result = CalibrateResult(calibration, **found.summary())
    if found.folder is not None:
        _write(found.folder, calibration)
    found.finish(result, stream.paths)
    return result


def _compared(
    inputs: Inputs, options: CalibrateOptions, found: Results, on_progress: Progress | None
) -> CalibratePairedResult:
    from corefsample.files._paths import path_list
    from corefsample.formats import DocumentStream
    from events.commands._reading import streamed

    names: Sequence[str] = path_list(inputs)
    if len(names) != 2:
        raise ParameterError(f"must be two files for a paired comparison, got {len(names)}", parameter="inputs")
    streams = [DocumentStream(each, on_rejected=found.on_rejected) for each in names]
    scorers = [links.scorer_links(streamed(each, on_progress), unannotated=options.unannotated) for each in streams]
    try:
        compared = links.compare_links(*scorers, **options.chosen(*_MEASURING))
    except InputError as error:
        raise error.at(" and ".join(map(_place, streams))) from None
    n_without_gold = sum(each.n_without_gold for each in scorers)
    result = CalibratePairedResult(compared, (names[0], names[1]), n_without_gold, **found.summary())
    if found.folder is not None:
        compared.to_frame().to_csv(found.folder.file("paired.csv"), index=False)
    found.finish(result, [path for each in streams for path in each.paths])
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


def print_calibrate(result: CalibrateResult | CalibratePairedResult) -> None:
    """Print the calibration errors, or the differences of two scorers."""
    if isinstance(result, CalibrateResult):
        _print_calibration(result)
    else:
        _print_comparison(result)


def _print_comparison(run: CalibratePairedResult) -> None:
    compared = run.comparison
    print_text(f"{compared.n_blocks:,} documents with gold, {compared.n_pairs:,} pairs of mentions.")
    print_counts(
        (run.n_without_gold, "document", "without gold left out, of both files"),
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
    print_files(run.out, {"Table": "paired.csv"})


def _print_calibration(run: CalibrateResult) -> None:
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
