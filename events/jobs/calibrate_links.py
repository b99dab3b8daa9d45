"""The job behind `corefsample calibrate`: files with gold in, a folder of calibration tables and pictures out."""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from corefsample import _checks
from corefsample.calibration.binning import NORMS, Norm
from corefsample.documents import Rejected, ScoredDocument
from corefsample.errors import InputError
from corefsample.formats import DocumentStream
from corefsample.links import UNANNOTATED, LinkCalibration, Unannotated, calibrate_links, link_tables
from corefsample.plots import reliability_figure, save_figure
from events.jobs._output_folder import OutputFolder
from events.jobs._record import checksums, run_record

__all__ = ["CalibrateOptions", "CalibrationFolder", "CalibrationRun", "run_calibrate"]

ON_ERROR = ("stop", "quarantine")

Progress = Callable[[int, int, int], None]


class CalibrationFolder(OutputFolder):
    """Collects the files of a calibration: see `OutputFolder`."""

    RECORD: ClassVar[str] = "calibration.json"
    FILES: ClassVar[frozenset[str]] = frozenset(
        [
            "calibration.csv",
            "calibration.parquet",
            "reliability.csv",
            "reliability.png",
            "reliability.svg",
            "reliability_by_kind.png",
            "reliability_by_kind.svg",
            "quarantine.jsonl",
            RECORD,
        ]
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrateOptions:
    """What to measure, and how.

    Attributes
    ----------
    bin_size
        Target size of the adaptive bins, at least 1.
    norm
        rms, mse, l1 or max: see `corefsample.calibration.measures.binned_error`.
    level
        Of the intervals, in (0, 1).
    n_resamples
        Draws for each interval and test, at least 2.
    seed
        In [0, 2**64).
    unannotated
        "skip" or "single": see `corefsample.links.gold_codes`.
    on_error
        "stop" at the first bad document, or "quarantine" it and go on.
    """

    bin_size: int = 5000
    norm: Norm = "rms"
    level: float = 0.95
    n_resamples: int = 10_000
    seed: int = 0
    unannotated: Unannotated = "skip"
    on_error: str = "stop"

    def __post_init__(self) -> None:
        _checks.whole("bin_size", self.bin_size, 1)
        _checks.choice("norm", self.norm, NORMS)
        _checks.probability("level", self.level, below_one=True, above_zero=True)
        _checks.whole("n_resamples", self.n_resamples, 2)
        _checks.seed(self.seed)
        _checks.choice("unannotated", self.unannotated, UNANNOTATED)
        _checks.choice("on_error", self.on_error, ON_ERROR)


@dataclass(frozen=True, slots=True, eq=False)
class CalibrationRun:
    """What a calibration found.

    Attributes
    ----------
    calibration
        The result.
    out
        The folder, or None where nothing was written.
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
        """What the table says, row by row, and what was left out."""
        tables = self.calibration.tables
        frame = self.calibration.to_frame()
        rows = frame.astype(object).where(frame.notna(), None).to_dict(orient="records")
        return {
            "out": self.out,
            "n_documents": tables.n_documents,
            "n_without_gold": tables.n_without_gold,
            "n_unannotated": tables.n_unannotated,
            "n_quarantined": self.n_quarantined,
            "seconds": self.seconds,
            "groups": rows,
        }


def run_calibrate(
    inputs: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    out: str | os.PathLike[str] | None = None,
    options: CalibrateOptions | None = None,
    *,
    overwrite: bool = False,
    on_progress: Progress | None = None,
) -> CalibrationRun:
    """Measure the calibration of link marginals in pre-scored mention files with gold.

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
    ParameterError, InputError, OutputError
        As their parts do; then no folder is left.
    """
    started = time.time()
    options = options or CalibrateOptions()
    if isinstance(inputs, (str, os.PathLike)):
        inputs = [inputs]
    names = list(inputs)
    if out is None:
        reader = _Reader(names, options, None, on_progress)
        return CalibrationRun(_measured(reader, options), None, reader.n_rejected, round(time.time() - started, 3))
    with CalibrationFolder(out, overwrite=overwrite) as folder:
        reader = _Reader(names, options, folder, on_progress)
        calibration = _measured(reader, options)
        run = CalibrationRun(calibration, os.fspath(out), reader.n_rejected, round(time.time() - started, 3))
        _write(folder, run)
        arguments = {**dataclasses.asdict(options), "out": run.out}
        folder.finish_record(run_record(arguments, checksums(reader.stream.paths), started, summary=run.to_json()))
    return run


class _Reader:
    """Documents of the inputs, one after the other; the bad ones are set aside where that is asked for."""

    def __init__(
        self,
        inputs: list[str | os.PathLike[str]],
        options: CalibrateOptions,
        folder: CalibrationFolder | None,
        on_progress: Progress | None,
    ) -> None:
        self.n_rejected = 0
        self._folder = folder
        self._on_progress = on_progress
        self.stream = DocumentStream(inputs, on_rejected=self._set_aside if options.on_error == "quarantine" else None)

    def _set_aside(self, rejected: Rejected) -> None:
        self.n_rejected += 1
        if self._folder is not None:
            self._folder.set_aside(rejected)

    def __iter__(self) -> Iterator[ScoredDocument]:
        n_documents = 0
        for batch in self.stream:
            for row in range(len(batch)):
                yield batch.document(row)
            n_documents += len(batch)
            if self._on_progress is not None:
                self._on_progress(self.stream.bytes_read, self.stream.total_bytes, n_documents)


def _measured(reader: _Reader, options: CalibrateOptions) -> LinkCalibration:
    tables = link_tables(reader, unannotated=options.unannotated)
    names = ", ".join(reader.stream.paths)
    if not tables.n_documents:
        raise InputError(f"{names}: gold must be there to calibrate, got none in {tables.n_without_gold} documents")
    try:
        return calibrate_links(
            tables,
            bin_size=options.bin_size,
            norm=options.norm,
            level=options.level,
            n_resamples=options.n_resamples,
            seed=options.seed,
        )
    except InputError as error:
        raise InputError(f"{names}: {error}") from None


def _write(folder: CalibrationFolder, run: CalibrationRun) -> None:
    calibration = run.calibration
    frame = calibration.to_frame()
    frame.to_csv(folder.file("calibration.csv"), index=False)
    frame.to_parquet(folder.file("calibration.parquet"), index=False)
    calibration.curves_frame().to_csv(folder.file("reliability.csv"), index=False)
    overall = calibration.overall
    title = f"Coreference links: {overall.curve.bins.n_pairs:,} pairs of {overall.n_documents:,} documents"
    pictures = {"reliability": reliability_figure({"all pairs": overall.curve}, title=title)}
    kinds = {group.group: group.curve for group in calibration.groups if group.partition == "kind"}
    if kinds:
        pictures["reliability_by_kind"] = reliability_figure(kinds, title="Coreference links by kind of mentions")
    for name, figure in pictures.items():
        for ending in ("png", "svg"):
            save_figure(figure, folder.file(f"{name}.{ending}"))
