"""The folder of an events run: counts, evidence, documents, and the record of the run."""

from __future__ import annotations

import heapq
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from corefsample.documents import DocumentBatch
from corefsample.formats.scored import ParquetWriter, abandon
from events.counting import arrow_schema, count_columns, evidence_schema, recalibrated_columns
from events.jobs._output_folder import OutputFolder

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["RunFolder"]

_NEAR_HALF = 100
_ROW_GROUP = 2000  # rows of evidence that are written together
_TABLE_GROUP = 50_000  # rows of the table of all documents


class RunFolder(OutputFolder):
    """Collects the files of an events run: see `OutputFolder`.

    Attributes
    ----------
    roles
        Columns of roles in its tables; to be set before rows are added.
    has_parses
        Whether a document of the run has several parses, so that evidence has columns about them; likewise.
    """

    RECORD: ClassVar[str] = "run.json"
    FILES: ClassVar[frozenset[str]] = frozenset(
        [
            "counts.csv",
            "counts.parquet",
            "evidence.csv",
            "evidence.parquet",
            "near_half.csv",
            "count_samples.parquet",
            "comparisons.csv",
            "documents.parquet",
            "all_documents.parquet",
            "bands.png",
            "bands.svg",
            "comparison.png",
            "comparison.svg",
            "quarantine.jsonl",
            "report.html",  # from another command, outdated once the run is repeated
            RECORD,
        ]
    )
    STORES: ClassVar[frozenset[str]] = frozenset(["partitions", "unfinished"])

    def _is_run(self, names: set[str]) -> bool:
        """Whether a folder has a run, or the partitions of one that was killed before it had a record."""
        return super()._is_run(names) or any((self.path / store / "plan.json").is_file() for store in self.STORES)

    def __init__(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        super().__init__(path, overwrite=overwrite)
        self._evidence: pq.ParquetWriter | None = None
        self._documents: ParquetWriter | None = None
        self.roles: tuple[str, ...] = ("country",)
        self.has_parses = False
        self._rows: list[Mapping[str, Any]] = []
        self._near: list[tuple[float, int, Mapping[str, Any]]] = []
        self._n_rows = 0
        self._table: pq.ParquetWriter | None = None  # of all documents
        self._waiting: list[pa.Table] = []  # rows for the next row group

    def _open(self) -> None:
        self._documents = ParquetWriter(str(self.file("documents.parquet")))

    def _close(self) -> None:
        self._write_rows()
        self._write_table(0)
        streams = (self._evidence, self._documents, self._table)
        self._evidence = self._documents = self._table = None  # if closing one fails, none is closed twice
        for stream in streams:
            if stream is not None:
                stream.close()
        super()._close()

    def _abandon(self) -> None:
        if self._evidence is not None:
            abandon(self._evidence)
        if self._table is not None:
            abandon(self._table)
        if self._documents is not None:
            self._documents.abandon()

    @property
    def _schema(self) -> pa.Schema:
        return evidence_schema(self.roles, parses=self.has_parses)

    def add_evidence(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Append evidence, by column, and keep the rows closest to one half."""
        self._rows += rows
        while len(self._rows) >= _ROW_GROUP:
            self._write_rows()
        for row in rows:
            self._n_rows += 1
            # A heap of the closest rows with the farthest of them on top; of a tie, the earlier row stays.
            entry = (-abs(row["probability"] - 0.5), -self._n_rows, row)
            if len(self._near) < _NEAR_HALF:
                heapq.heappush(self._near, entry)
            else:
                heapq.heappushpop(self._near, entry)

    def _write_rows(self) -> None:
        """Write one row group: its size does not depend on how the rows came."""
        rows, self._rows = self._rows[:_ROW_GROUP], self._rows[_ROW_GROUP:]
        if rows:
            self._evidence_file().write_batch(pa.RecordBatch.from_pylist(rows, schema=self._schema))

    def _evidence_file(self) -> pq.ParquetWriter:
        if self._evidence is None:
            self._evidence = pq.ParquetWriter(self.file("evidence.parquet"), self._schema)
        return self._evidence

    def add_documents(self, batch: DocumentBatch) -> None:
        """Append documents with evidence, complete, for a report; they are a row group of their own."""
        if self._documents is not None:
            self._documents.write(batch)
            self._documents.end_group()

    def add_rows(self, rows: pa.Table) -> None:
        """Append rows of the table of all documents."""
        if self._table is None:
            self._table = pq.ParquetWriter(self.file("all_documents.parquet"), rows.schema)
        self._waiting.append(rows)
        self._write_table(_TABLE_GROUP)

    def _write_table(self, at_least: int) -> None:
        """Write row groups of the table of all documents: their sizes do not depend on how the rows came."""
        if sum(map(len, self._waiting)) < max(at_least, 1) or self._table is None:
            return
        rows = pa.concat_tables(self._waiting).combine_chunks()
        end = len(rows) // at_least * at_least if at_least else len(rows)
        for start in range(0, end, _TABLE_GROUP):
            self._table.write_table(rows.slice(start, min(_TABLE_GROUP, end - start)))
        self._waiting = [rows.slice(end)]

    def add_samples(self, table: pa.Table) -> None:
        """Write the counts by sample, of documents that share the uncertainty of a recalibration."""
        pq.write_table(table, self.file("count_samples.parquet"))

    def finish_tables(self, counts: pd.DataFrame, comparison: pd.DataFrame | None) -> None:
        """Write the tables: counts, comparisons, evidence as CSV, and the documents closest to one half."""
        counts.to_csv(self.file("counts.csv"), index=False)
        columns = count_columns(self.roles)
        schema = arrow_schema(recalibrated_columns(columns) if "uncertainty" in counts else columns)
        pq.write_table(pa.Table.from_pandas(counts, schema, preserve_index=False), self.file("counts.parquet"))
        if comparison is not None:
            comparison.to_csv(self.file("comparisons.csv"), index=False)
        self._evidence_file()
        self._close()
        options = pa.csv.WriteOptions(quoting_style="needed", quoting_header="none")
        with pa.csv.CSVWriter(self.file("evidence.csv"), self._schema, write_options=options) as writer:
            for batch in pq.ParquetFile(self.file("evidence.parquet")).iter_batches(batch_size=_ROW_GROUP):
                writer.write_batch(batch)
        nearest = [row for _, _, row in sorted(self._near, reverse=True)]
        pa.csv.write_csv(pa.Table.from_pylist(nearest, schema=self._schema), self.file("near_half.csv"), options)
