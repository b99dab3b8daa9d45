"""Optional output folders of commands with tables, pictures and a record."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, ClassVar

from corefsample.documents._faults import Rejected
from corefsample.files._folders import OutputFolder
from corefsample.formats.scored._writing import QuarantineFile
from events.runs._output_folder import picture_files
from events.runs._record import checksums, run_record

_QUERY_TABLES = "scores reliability coverage intervals recalibrations groups quantiles"


def _files(record: str, tables: str, *pictures: str) -> frozenset[str]:
    return frozenset([record, "quarantine.jsonl", *tables.split(), *picture_files(*pictures)])


class CalibrationFolder(OutputFolder):
    """Tables and pictures of `corefsample calibrate`."""

    RECORD: ClassVar[str] = "calibration.json"
    _TABLES = "calibration.csv calibration.parquet reliability.csv"
    FILES: ClassVar[frozenset[str]] = _files(RECORD, _TABLES, "reliability", "reliability_by_kind")


class QueriesFolder(OutputFolder):
    """Tables and pictures of `corefsample calibrate-queries`."""

    RECORD: ClassVar[str] = "query_report.json"
    _TABLES = " ".join(["query_pairs.parquet", *(f"query_{name}.csv" for name in _QUERY_TABLES.split())])
    FILES: ClassVar[frozenset[str]] = _files(RECORD, _TABLES, "query_reliability", "query_coverage", "query_quantiles")


class ParsesFolder(OutputFolder):
    """Tables and pictures of `corefsample calibrate-parses`."""

    RECORD: ClassVar[str] = "parse_calibration.json"
    FILES: ClassVar[frozenset[str]] = _files(RECORD, "parse_calibration.csv parse_reliability.csv", "parse_reliability")


class Results:
    """Results of a command: its output folder, and the documents that it set aside.

    Attributes
    ----------
    folder
        Folder of the results; None if the command only prints them.
    on_rejected
        Function that sets an invalid document aside; None if the first invalid document stops the command.
    """

    def __init__(self, folder: OutputFolder | None, options: Any) -> None:
        self.folder, self._options = folder, options
        self._started = time.time()
        self._n_quarantined = 0
        self._quarantine: QuarantineFile | None = None
        self.on_rejected = self._set_aside if options.on_error == "quarantine" else None

    def _set_aside(self, rejected: Rejected) -> None:
        self._n_quarantined += 1
        if self.folder is not None:
            if self._quarantine is None:
                self._quarantine = QuarantineFile(str(self.folder.file("quarantine.jsonl")))
            self._quarantine(rejected)

    def summary(self) -> dict[str, Any]:
        """Fields of every result: the folder, the number of invalid documents, and the wall time in seconds."""
        seconds = round(time.time() - self._started, 3)
        return {"out": self._options.out, "n_quarantined": self._n_quarantined, "seconds": seconds}

    def finish(self, result: Any, paths: Sequence[str]) -> None:
        """Write the record, if there is a folder."""
        if self.folder is not None:
            rows = checksums(paths)
            record = run_record(self._options.recorded(), rows, self._started, summary=result.to_json())
            self.folder.finish_record(record)


@contextmanager
def results(kind: type[OutputFolder], options: Any) -> Iterator[Results]:
    """Open the results of a command; the folder is complete after the `with` block, and removed after an error."""
    with nullcontext() if options.out is None else kind(options.out, overwrite=options.overwrite) as folder:
        yield Results(folder, options)
