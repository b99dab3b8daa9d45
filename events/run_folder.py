"""The folder of one run: written beside its place, and put there when it is whole."""

from __future__ import annotations

import heapq
import json
import os
import shutil
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from corefsample.document_batch import DocumentBatch, Rejected
from corefsample.errors import OutputError, ParameterError
from corefsample.formats import QuarantineFile
from corefsample.formats.parquet import ParquetWriter, abandon
from events.evidence import EVIDENCE_SCHEMA, EvidenceRow

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["RunFolder"]

_RECORD = "run.json"
_PARTIAL = ".run-partial-"
_FILES = frozenset(
    [
        "counts.csv",
        "counts.parquet",
        "evidence.csv",
        "evidence.parquet",
        "near_half.csv",
        "comparisons.csv",
        "documents.parquet",
        "bands.png",
        "bands.svg",
        "quarantine.jsonl",
        "run.json",
    ]
)
_NEAR_HALF = 100
_ROW_GROUP = 2000  # rows of evidence held before they are written


class RunFolder:
    """Collects the files of a run; use as a context manager.

    Parameters
    ----------
    path
        The folder. It appears when the run is whole; a run that fails leaves nothing.
    overwrite
        Whether an earlier run's folder may be replaced; a folder of anything else never is.

    Raises
    ------
    ParameterError
        If the folder is in use.
    OutputError
        If it cannot be written.
    """

    def __init__(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        self._shown = os.fspath(path)
        self.path = Path(path).resolve()  # a link's target, so that it is the folder that is filled
        self._overwrite = overwrite
        self._refuse_in_use()
        self._partial: Path | None = None
        self._made: list[Path] = []
        self._evidence: pq.ParquetWriter | None = None
        self._documents: ParquetWriter | None = None
        self._quarantine: QuarantineFile | None = None
        self._rows: list[EvidenceRow] = []
        self._near: list[tuple[float, int, EvidenceRow]] = []
        self._n_rows = 0

    def _refuse_in_use(self) -> None:
        if not self.path.exists():
            return
        if not self.path.is_dir():
            raise ParameterError(f"out must be a folder, got the file {self._shown}")
        names = {entry.name for entry in self.path.iterdir() if not entry.name.startswith(_PARTIAL)}
        if names and not (names <= _FILES and self._is_record(self.path / _RECORD)):
            raise ParameterError(
                f"out must be a new or empty folder or an earlier run's, got {self._shown} with other files"
            )
        if names and not self._overwrite:
            raise ParameterError(f"out must be a new or empty folder (--overwrite replaces it), got {self._shown}")

    @staticmethod
    def _is_record(path: Path) -> bool:
        try:
            return "corefsample" in json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, TypeError):
            return False

    def __enter__(self) -> RunFolder:
        parent = self.path.parent
        self._made = [folder for folder in (parent, *parent.parents) if not folder.exists()]
        try:
            parent.mkdir(parents=True, exist_ok=True)
            # Inside a folder that is there, so that files move within one file system, and beside one that is not.
            place = self.path if self.path.exists() else parent
            self._partial = Path(tempfile.mkdtemp(prefix=_PARTIAL, dir=place))
            os.chmod(self._partial, 0o755)
            self._evidence = pq.ParquetWriter(self._partial / "evidence.parquet", EVIDENCE_SCHEMA)
            self._documents = ParquetWriter(str(self._partial / "documents.parquet"))
        except OSError as error:
            self._clear()
            raise self._failure(error) from None
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        try:
            self._close()
            if error is None:
                self._put_in_place()
                self._made = []
        except OSError as failure:
            raise self._failure(failure) from None
        finally:
            self._clear()
        if isinstance(error, OSError) and not isinstance(error, OutputError):
            raise self._failure(error) from None

    def _put_in_place(self) -> None:
        """Move the files into the folder: an earlier run's record goes first, this one's comes last."""
        self._refuse_in_use()  # once more: somebody may have put something there meanwhile
        if not self.path.exists():
            os.replace(self.file("."), self.path)
            return
        for name in (_RECORD, *sorted(_FILES - {_RECORD})):
            (self.path / name).unlink(missing_ok=True)
        for entry in sorted(self.file(".").iterdir(), key=lambda entry: entry.name == _RECORD):
            os.replace(entry, self.path / entry.name)

    def _clear(self) -> None:
        """Let go of what is still open, and remove what the run made and does not leave."""
        if self._evidence is not None:
            abandon(self._evidence)
        if self._documents is not None:
            self._documents.abandon()
        if self._partial is not None:
            shutil.rmtree(self._partial, ignore_errors=True)
        for folder in self._made:
            with suppress(OSError):
                folder.rmdir()

    def _failure(self, error: OSError) -> OutputError:
        return OutputError(f"{self._shown}: output must be writable, got: {error.strerror or error}")

    def _close(self) -> None:
        self._write_rows()
        streams = (self._evidence, self._documents, self._quarantine)
        self._evidence = self._documents = self._quarantine = None  # none is closed twice, should one fail
        for stream in streams:
            if stream is not None:
                stream.close()

    def file(self, name: str) -> Path:
        """Where to write a file of the run."""
        if self._partial is None:
            raise OutputError(f"{self._shown}: output must be begun before files are added, got {name}")
        return self._partial / name

    def add_evidence(self, rows: Sequence[EvidenceRow]) -> None:
        """Append evidence, and remember what is nearest one half."""
        self._rows += rows
        if len(self._rows) >= _ROW_GROUP:
            self._write_rows()
        for row in rows:
            self._n_rows += 1
            # A heap of the nearest, the farthest of them on top; the earlier row wins a tie.
            entry = (-abs(row.probability - 0.5), -self._n_rows, row)
            if len(self._near) < _NEAR_HALF:
                heapq.heappush(self._near, entry)
            else:
                heapq.heappushpop(self._near, entry)

    def _write_rows(self) -> None:
        if self._rows and self._evidence is not None:
            self._evidence.write_batch(_evidence_batch(self._rows))
        self._rows = []

    def add_documents(self, batch: DocumentBatch) -> None:
        """Append documents that have evidence, whole, for a report."""
        if self._documents is not None:
            self._documents.write(batch)

    def set_aside(self, rejected: Rejected) -> None:
        """Append a bad document with its reason."""
        if self._quarantine is None:
            self._quarantine = QuarantineFile(str(self.file("quarantine.jsonl")))
        self._quarantine(rejected)

    def finish_tables(self, counts: pd.DataFrame, comparison: pd.DataFrame | None) -> None:
        """Write the tables: counts, comparisons, evidence as CSV, and the documents nearest one half."""
        counts.to_csv(self.file("counts.csv"), index=False)
        pq.write_table(pa.Table.from_pandas(counts, _COUNTS_SCHEMA, preserve_index=False), self.file("counts.parquet"))
        if comparison is not None:
            comparison.to_csv(self.file("comparisons.csv"), index=False)
        self._close()
        options = pa.csv.WriteOptions(quoting_style="needed", quoting_header="none")
        with pa.csv.CSVWriter(self.file("evidence.csv"), EVIDENCE_SCHEMA, write_options=options) as writer:
            for batch in pq.ParquetFile(self.file("evidence.parquet")).iter_batches():
                writer.write_batch(batch)
        nearest = [row for _, _, row in sorted(self._near, reverse=True)]
        pa.csv.write_csv(pa.Table.from_batches([_evidence_batch(nearest)]), self.file("near_half.csv"), options)

    def finish_record(self, record: dict[str, Any]) -> None:
        """Write the run record."""
        self.file(_RECORD).write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def _evidence_batch(rows: Sequence[EvidenceRow]) -> pa.RecordBatch:
    columns = [pa.array([getattr(row, field.name) for row in rows], field.type) for field in EVIDENCE_SCHEMA]
    return pa.RecordBatch.from_arrays(columns, schema=EVIDENCE_SCHEMA)


_COUNTS_SCHEMA = pa.schema(
    [
        ("country", pa.string()),
        ("period", pa.string()),
        ("period_start", pa.date32()),
        ("n_docs", pa.int64()),
        ("mean", pa.float64()),
        ("mean_mc_se", pa.float64()),
        ("sd", pa.float64()),
        ("lower", pa.float64()),
        ("upper", pa.float64()),
        ("level", pa.float64()),
        ("interval", pa.string()),
        ("n_samples", pa.int64()),
        ("one_best", pa.int64()),
    ]
)
