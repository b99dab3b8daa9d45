"""The job behind `corefsample calibrate`: files with gold in, a folder of calibration tables and pictures out."""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from corefsample import _checks
from corefsample.calibration.binning import NORMS, Norm
from corefsample.documents import ON_ERROR
from corefsample.errors import InputError
from corefsample.files import PathLike
from corefsample.formats import DocumentStream
from corefsample.links import UNANNOTATED, LinkCalibration, Unannotated, calibrate_links, link_tables
from corefsample.plots import reliability_figure
from events.jobs._output_folder import OutputFolder
from events.jobs._pictures import picture_files, save_pictures
from events.jobs._reading import BadDocuments, Progress, streamed
from events.jobs._record import checksums, json_rows, plain_fields, run_record

__all__ = ["CalibrateOptions", "CalibrationFolder", "CalibrationRun", "run_calibrate"]


class CalibrationFolder(OutputFolder):
    """Collects the files of a calibration: see `OutputFolder`."""

    RECORD: ClassVar[str] = "calibration.json"
    TABLES: ClassVar[frozenset[str]] = frozenset(
        ["calibration.csv", "calibration.parquet", "reliability.csv", "paired.csv"]
    )
    FILES: ClassVar[frozenset[str]] = TABLES.union(
        picture_files("reliability", "reliability_by_kind"), ["quarantine.jsonl", RECORD]
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrateOptions:
    """What to measure, and how.

    Attributes
    ----------
    bin_size
        Target size of the adaptive bins, at least 1; None: as of `corefsample.links.calibrate_links`.
    norm
        rms, mse, l1 or max: see `corefsample.calibration.measures.binned_error`.
    level
        Level of the intervals, in (0, 1).
    n_resamples
        Draws for each interval and test, at least 2.
    seed
        In [0, 2**64).
    unannotated
        "skip" or "single": see `corefsample.links.gold_codes`.
    on_error
        "stop" at the first bad document, or "quarantine" it and continue.
    """

    bin_size: int | None = None
    norm: Norm = "rms"
    level: float = 0.95
    n_resamples: int = 10_000
    seed: int = 0
    unannotated: Unannotated = "skip"
    on_error: str = "stop"

    def __post_init__(self) -> None:
        if self.bin_size is not None:
            _checks.whole("bin_size", self.bin_size, 1)
        _checks.choice("norm", self.norm, NORMS)
        _checks.probability("level", self.level, below_one=True, above_zero=True)
        _checks.whole("n_resamples", self.n_resamples, 2)
        _checks.seed(self.seed)
        _checks.choice("unannotated", self.unannotated, UNANNOTATED)
        _checks.choice("on_error", self.on_error, ON_ERROR)


@dataclass(frozen=True, slots=True, eq=False)
class CalibrationRun:
    """Result of a calibration.

    Attributes
    ----------
    calibration
        The measured calibration.
    out
        The folder, or None if nothing was written.
    n_quarantined
        Bad documents set aside.
    seconds
        Wall time.
    """

    calibration: LinkCalibration
    out: str | None
    n_quarantined: int
    seconds: float

    def to_json(self) -> dict[str, Any]:
        """The rows of the table, and how many documents and mentions were left out."""
        tables = self.calibration.tables
        return {
            **plain_fields(self),
            "n_documents": tables.n_documents,
            "n_without_gold": tables.n_without_gold,
            "n_unannotated": tables.n_unannotated,
            "groups": json_rows(self.calibration.to_frame()),
        }


def run_calibrate(
    inputs: PathLike | Iterable[PathLike],
    out: PathLike | None = None,
    options: CalibrateOptions | None = None,
    *,
    overwrite: bool = False,
    on_progress: Progress | None = None,
) -> CalibrationRun:
    """Measure the calibration of link marginals in scored files with gold.

    Parameters
    ----------
    inputs
        Files, globs, or "-" for JSON Lines on standard input. Documents without gold are counted and left out.
    out
        Folder for tables, pictures and the record; None to write nothing.
    options
        What to measure.
    overwrite
        Whether an earlier calibration's folder may be replaced.
    on_progress
        Called as documents are read, with bytes read, bytes in all, and documents.

    Raises
    ------
    ParameterError
        If the folder is in use.
    InputError
        If a file is missing, a document is bad, or none has gold.
    OutputError
        If the folder cannot be written. After an error no folder is left.
    """
    started = time.time()
    options = options or CalibrateOptions()
    with nullcontext() if out is None else CalibrationFolder(out, overwrite=overwrite) as folder:
        bad = BadDocuments(folder)
        stream = DocumentStream(inputs, on_rejected=bad if options.on_error == "quarantine" else None)
        calibration = _measured(stream, options, on_progress)
        seconds = round(time.time() - started, 3)
        run = CalibrationRun(calibration, None if out is None else os.fspath(out), bad.count, seconds)
        if folder is not None:
            _write(folder, calibration)
            arguments = {**dataclasses.asdict(options), "out": run.out}
            folder.finish_record(run_record(arguments, checksums(stream.paths), started, summary=run.to_json()))
    return run


def _measured(stream: DocumentStream, options: CalibrateOptions, on_progress: Progress | None) -> LinkCalibration:
    tables = link_tables(streamed(stream, on_progress), unannotated=options.unannotated)
    place = ", ".join(stream.paths)
    if not tables.n_documents:
        raise InputError(f"gold is required to calibrate, got none in {tables.n_without_gold} documents", place=place)
    names = ("bin_size", "norm", "level", "n_resamples", "seed")
    try:
        return calibrate_links(tables, **{name: getattr(options, name) for name in names})
    except InputError as error:
        raise error.at(place) from None


def _write(folder: CalibrationFolder, calibration: LinkCalibration) -> None:
    frame = calibration.to_frame()
    frame.to_csv(folder.file("calibration.csv"), index=False)
    frame.to_parquet(folder.file("calibration.parquet"), index=False)
    calibration.curves_frame().to_csv(folder.file("reliability.csv"), index=False)
    overall = calibration.overall
    title = f"Coreference links: {overall.curve.bins.n_pairs:,} pairs of {overall.n_documents:,} documents"
    pictures = {"reliability": partial(reliability_figure, {"all pairs": overall.curve}, title=title)}
    kinds = {group.group: group.curve for group in calibration.groups if group.partition == "kind"}
    if kinds:
        title = "Coreference links by kind of mentions"
        pictures["reliability_by_kind"] = partial(reliability_figure, kinds, title=title)
    save_pictures(pictures, folder.file)
