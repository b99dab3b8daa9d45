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

import time
from collections.abc import Iterator
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from corefsample import InputError, links, plots
from corefsample._arrays import fields_of
from events import _options as shared
from events._summary import Summary, Table, counts_above_zero, existing_files, json_values, set_aside
from events.commands._parser import Command
from events.runs._outputs import CalibrationFolder, save_pictures

if TYPE_CHECKING:
    from corefsample.documents._faults import Rejected
    from corefsample.files._paths import Inputs
    from corefsample.links._calibration import GroupCalibration, LinkCalibration


@shared.declared
class CalibrateOptions(shared.Unannotated, shared.Seed, shared.Overwrite, shared.OnError):
    """Options of a measurement of link probabilities.

    Attributes
    ----------
    out
        Folder into which tables and pictures are written. [default: print the table only]
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

    out: str | None = shared.option(default=None, metavar="FOLDER")
    bin_size: int | None = shared.option(default=None, at_least=1)
    norm: Literal["rms", "mse", "l1", "max"] = "rms"
    level: float = shared.option(default=0.95, above=0.0, below=1.0)
    n_resamples: int = shared.option(default=10_000, at_least=2)


def run_calibrate(
    inputs: Inputs, options: CalibrateOptions | None = None, *, on_progress: shared.Progress | None = None
) -> Summary:
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
    from corefsample import link_tables
    from corefsample.formats import DocumentStream
    from events.runs._outputs import checksums, quarantine_lines, run_record

    options, started = options or CalibrateOptions(), time.time()
    rejected: list[Rejected] = []
    out, overwrite = options.out, options.overwrite
    with nullcontext() if out is None else CalibrationFolder(out, overwrite=overwrite) as folder:
        stream = DocumentStream(inputs, on_rejected=rejected.append if options.on_error == "quarantine" else None)
        tables = link_tables(stream.documents(on_progress=on_progress), unannotated=options.unannotated)
        paths = ", ".join(stream.paths)
        if not tables.n_documents:
            rule = f"gold is required to calibrate, got none in {tables.n_without_gold} documents"
            raise InputError(rule, place=paths)
        try:
            measuring = options.subset("bin_size", "norm", "level", "n_resamples", "seed")
            calibration = links.calibrate_links(tables, **measuring)
        except InputError as error:
            raise error.at(paths) from None
        values = {
            "out": options.out,
            "n_quarantined": len(rejected),
            "seconds": round(time.time() - started, 3),
            **fields_of(tables, "n_documents", "n_without_gold", "n_unannotated"),
            "groups": json_values(calibration),
        }
        if folder is not None:
            frame = calibration.to_frame()
            frame.to_csv(folder.file("calibration.csv"), index=False)
            frame.to_parquet(folder.file("calibration.parquet"), index=False)
            calibration.curves_frame().to_csv(folder.file("reliability.csv"), index=False)
            save_pictures(_pictures(calibration), folder.file)
            if rejected:
                folder.file("quarantine.jsonl").write_bytes(quarantine_lines(rejected))
            folder.finish_record(run_record(options.recorded(), checksums(stream.paths), started, summary=values))
    names = {"Picture": "reliability.png", "Table": "calibration.csv", "Bins": "reliability.csv"}
    files, notices = existing_files(options.out, names), set_aside(len(rejected))
    return Summary(values=values, shown=[*_shown(calibration)], notices=notices, files=files, result=calibration)


def _pictures(calibration: LinkCalibration) -> dict[str, Any]:
    """Functions that draw the reliability curves of all pairs, and of each kind, by the name of their files."""
    curve, n_documents = calibration.overall.curve, calibration.overall.n_documents
    title = f"Coreference links: {curve.bins.n_pairs:,} pairs of {n_documents:,} documents"
    pictures = {"reliability": partial(plots.reliability_figure, {"all pairs": curve}, title=title)}
    if kinds := {group.group: group.curve for group in calibration.groups if group.partition == "kind"}:
        title = "Coreference links by kind of mentions"
        pictures["reliability_by_kind"] = partial(plots.reliability_figure, kinds, title=title)
    return pictures


def _shown(calibration: LinkCalibration) -> Iterator[str | Table]:
    """Yield the calibration errors, and what their columns mean."""
    from corefsample.calibration._binning import FEWEST_BINS

    tables, overall, bins = calibration.tables, calibration.overall, calibration.overall.curve.bins
    yield (
        f"{tables.n_documents:,} documents with gold, {bins.n_pairs:,} pairs of mentions, "
        f"{100 * overall.share_true:.3g}% coreferent."
    )
    yield from counts_above_zero(
        (tables.n_without_gold, "document", "without gold left out"),
        (tables.n_unannotated, "mention", "without an annotated entity"),
    )
    yield Table(
        ("pairs", "number", "bins", "mean q", "true", "error", "by document", "p"),
        [_row(group) for group in calibration.groups],
        f"Calibration error ({calibration.norm}, bins of {calibration.bin_size:,} pairs), "
        f"{100 * calibration.level:g}% intervals:",
    )
    yield ""
    if bins.n_bins < FEWEST_BINS:
        yield f"Only {bins.n_bins} bins: errors can cancel within them. A smaller --bin-size shows more."
    yield "by document: interval of the true error. Chance adds to the measured error, which can lie above it."
    yield "p: probability of such an error if all probabilities were correct, by flipping the signs of documents."
    lower, upper = overall.simulated.lower, overall.simulated.upper
    yield f"All pairs, if they were independent: {lower:.4f} to {upper:.4f}."


def _row(group: GroupCalibration) -> tuple[str, ...]:
    interval, bins = group.by_document, group.curve.bins
    return (
        f"{group.group} apart" if group.partition == "distance" else group.group,
        f"{bins.n_pairs:,}",
        f"{bins.n_bins:,}",
        *(f"{value:.4f}" for value in (group.mean_q, group.share_true, group.error)),
        "-" if interval is None else f"{interval.lower:.4f} to {interval.upper:.4f}",
        "-" if group.p_value is None else f"{group.p_value:.2g}",
    )


command = Command(CalibrateOptions, run_calibrate, "inputs+", task="pairing")
