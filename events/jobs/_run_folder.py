"""The folder of an events run: counts, evidence, documents, and the record of the run."""

from __future__ import annotations

import heapq
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from corefsample.documents import DocumentBatch
from corefsample.formats.scored import ParquetWriter, abandon
from events.counting import EVIDENCE_SCHEMA, EvidenceRow
from events.jobs._output_folder import OutputFolder

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["RunFolder"]

_NEAR_HALF = 100
_ROW_GROUP = 2000  # rows of evidence held before they are written


class RunFolder(OutputFolder):
    """Collects the files of an events run: see `OutputFolder`."""

    RECORD: ClassVar[str] = "run.json"
    FILES: ClassVar[frozenset[str]] = frozenset(
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
            "comparison.png",
            "comparison.svg",
            "quarantine.jsonl",
            "report.html",  # made by another command, and stale once the run is made again
            RECORD,
        ]
    )

    def __init__(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        super().__init__(path, overwrite=overwrite)
        self._evidence: pq.ParquetWriter | None = None
        self._documents: ParquetWriter | None = None
        self._rows: list[EvidenceRow] = []
        self._near: list[tuple[float, int, EvidenceRow]] = []
        self._n_rows = 0

    def _open(self) -> None:
        self._evidence = pq.ParquetWriter(self.file("evidence.parquet"), EVIDENCE_SCHEMA)
        self._documents = ParquetWriter(str(self.file("documents.parquet")))

    def _close(self) -> None:
        self._write_rows()
        streams = (self._evidence, self._documents)
        self._evidence = self._documents = None  # none is closed twice, should one fail
        for stream in streams:
            if stream is not None:
                stream.close()
        super()._close()

    def _abandon(self) -> None:
        if self._evidence is not None:
            abandon(self._evidence)
        if self._documents is not None:
            self._documents.abandon()

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
