"""Writing pre-scored mention files as Parquet, in row groups of a few hundred documents."""

from __future__ import annotations

import os
from typing import Self

import pyarrow as pa
import pyarrow.parquet as pq

from corefsample.documents._batch import DocumentBatch
from corefsample.documents._batch_schema import SCHEMA
from corefsample.formats.scored._parquet import (
    BATCH_BYTES,
    PARSES_SCHEMA,
    STRING_PATHS,
    ParquetReader,
    parses_table,
    row_group_sizes,
)

_ROW_GROUP = 256  # documents; some 20 MB decoded, so that a reader's memory stays small


class ParquetWriter:
    """Writes batches to a new Parquet file, in row groups of a few hundred documents; use as a context manager.

    The file has version 1, unless a document has alternative parses; then it has version 2 from its beginning.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._pending: list[DocumentBatch] = []
        self._n_pending = self._pending_bytes = self._n_groups = 0
        self._open(SCHEMA)

    def _open(self, schema: pa.Schema) -> None:
        # Scores hardly repeat: a dictionary of them would cost time and save nothing.
        prefix = "" if schema is SCHEMA else "parses.list.element."
        strings = [f"{prefix}{name}list.element" for name in STRING_PATHS]
        self._schema = schema
        # Nobody selects row groups by other columns, and their minima and maxima take a tenth of the time of writing.
        options = {"use_dictionary": strings, "write_statistics": ["doc_id", "date"]}
        self._writer = pq.ParquetWriter(self._path, schema, compression="zstd", write_page_checksum=True, **options)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error: object, *_: object) -> None:
        try:
            if error is None:  # after a failure, such as a full disk, another would hide it
                self.close()
        finally:
            self.abandon()

    def write(self, batch: DocumentBatch) -> None:
        """Append the documents of one batch."""
        if batch.parses is not None and self._schema is SCHEMA:
            self._begin_again()
        self._pending.append(batch)
        self._n_pending += len(batch)
        self._pending_bytes += (batch if batch.parses is None else batch.parses.batch).table.nbytes
        if self._n_pending >= _ROW_GROUP or self._pending_bytes >= 2 * BATCH_BYTES:
            self._flush()

    def end_group(self) -> None:
        """End the row group: the documents so far are not in the same one as those to come."""
        self._flush()

    def _flush(self) -> None:
        if self._n_pending:
            tables = [batch.table if self._schema is SCHEMA else parses_table(batch) for batch in self._pending]
            self._writer.write_table(pa.Table.from_batches(tables, self._schema), row_group_size=_ROW_GROUP)
            self._n_groups += 1
        self._pending, self._n_pending, self._pending_bytes = [], 0, 0

    def _begin_again(self) -> None:
        """Write the row groups so far again as version 2: the first documents had one parse each."""
        self._writer.close()
        if not self._n_groups:
            self._open(PARSES_SCHEMA)
            return
        earlier = f"{self._path}.v1"
        os.replace(self._path, earlier)
        try:
            pending, self._pending = self._pending, []
            self._open(PARSES_SCHEMA)
            for number in range(len(row_group_sizes(earlier))):
                for batch, _ in ParquetReader(earlier, range(number, number + 1)).batches(_ROW_GROUP):
                    self._pending.append(batch)
                    self._n_pending = 1
                self._flush()
            self._pending, self._n_pending = pending, sum(map(len, pending))
        finally:
            os.remove(earlier)

    def close(self) -> None:
        """Finish the file."""
        self._flush()
        self._writer.close()

    def abandon(self) -> None:
        """Leave the file unfinished."""
        abandon(self._writer)


def abandon(writer: pq.ParquetWriter) -> None:
    """Keep a writer of an unfinished file from trying, and failing, to finish it when it is deleted."""
    writer.is_open = False
