"""The tables and pictures of counted events, written into the folder of a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from corefsample._log import log_step
from corefsample.documents._batch import DocumentBatch
from corefsample.files._reading import read_ahead
from corefsample.formats.scored._parquet_writer import ParquetWriter, abandon
from events.counting._counted_rows import in_groups
from events.counting._counter import EventCounter
from events.counting._counts import EventCounts, Interval, joined_counts
from events.counting._evidence import evidence_schema
from events.counting._run_tables import samples_table
from events.counting._tables import arrow_schema, count_columns
from events.plots import actor_comparison, bands_by_event, event_bands
from events.plots.comparisons import comparisons_by_event
from events.runs._pictures import save_pictures
from events.runs.counting._run_folder import RunFolder

if TYPE_CHECKING:
    import pandas as pd


_NEAR_HALF = 100
_EVIDENCE_GROUP = 2000  # rows
_TABLE_GROUP = 50_000  # rows of the table of all documents
_DOCUMENT_GROUP = 256
_GROUP_BYTES = 32 * 2**20  # of the content of documents, about


def write_counts(
    run: RunFolder,
    counter: EventCounter,
    *,
    level: float = 0.95,
    interval: Interval = "quantile",
    compare: Sequence[str] = (),
    names: Mapping[str, str] | None = None,
    pictures: bool = True,
) -> list[EventCounts]:
    """Write the tables and pictures of counted events; their bytes do not depend on the order of the documents.

    Parameters
    ----------
    run
        The folder, which is begun.
    counter
        The counts; with a folder, so that it has the documents with evidence.
    level, interval
        Of the credible intervals.
    compare
        Two events whose counts to compare, or none.
    names
        Names of actors by their codes, for pictures.
    pictures
        Whether to draw the bands, and the comparison.

    Returns
    -------
    list of EventCounts
        Of each rule.
    """
    several = counter.counts_of_all(level=level, interval=interval)
    with (
        TemporaryDirectory(dir=run.file(".")) as temporary,
        ThreadPoolExecutor(1, thread_name_prefix="corefsample-write") as background,
    ):
        # Arrow compresses the documents without Python's global lock, while the other tables are made.
        documents = background.submit(_write_documents, run, counter, Path(temporary))
        _write_evidence(run, counter, Path(temporary))
        _write_all_documents(run, counter, Path(temporary))
        table = joined_counts(several, counter.roles)
        comparison = _comparison(several, compare)
        documents.result()
    if counter.uncertainty in ("fit", "domain"):
        pq.write_table(samples_table(several, counter.roles), run.file("count_samples.parquet"))
    table.to_csv(run.file("counts.csv"), index=False)
    schema = arrow_schema(count_columns(counter.roles, recalibrated=counter.uncertainty is not None))
    pq.write_table(pa.Table.from_pandas(table, schema, preserve_index=False), run.file("counts.parquet"))
    if comparison is not None:
        comparison.to_csv(run.file("comparisons.csv"), index=False)
    if pictures:
        draw_run(run, table, comparison, names or {})
    return several


def _comparison(several: Sequence[EventCounts], compare: Sequence[str]) -> pd.DataFrame | None:
    import pandas as pd

    return pd.concat([each.compare(*compare) for each in several], ignore_index=True) if compare else None


@contextmanager
def _parquet(path: Path, schema: pa.Schema) -> Iterator[pq.ParquetWriter]:
    """Write a file; after an error it is left as it is."""
    writer = pq.ParquetWriter(path, schema)
    try:
        yield writer
        writer.close()
    finally:
        abandon(writer)


def _write_evidence(run: RunFolder, counter: EventCounter, temporary: Path) -> None:
    """Write the evidence, twice, and the rows closest to one half."""
    schema = evidence_schema(counter.roles, parses=counter.n_several_parses > 0)
    options = pa.csv.WriteOptions(quoting_style="needed", quoting_header="none")
    nearest = schema.empty_table()
    with (
        _parquet(run.file("evidence.parquet"), schema) as table,
        pa.csv.CSVWriter(run.file("evidence.csv"), schema, write_options=options) as text,
    ):
        for group in in_groups(counter.rows.evidence.tables(temporary), _EVIDENCE_GROUP):
            rows = group.select(schema.names)
            log_step("finalising: evidence of %s", rows["date"][-1])
            table.write_table(rows)
            text.write_table(rows)
            both = pa.concat_tables([nearest, rows])
            distances = pc.abs(pc.subtract(both["probability"], 0.5)).to_numpy()
            nearest = both.take(np.argsort(distances, kind="stable")[:_NEAR_HALF])  # of a tie, the earlier row
    pa.csv.write_csv(nearest, run.file("near_half.csv"), options)


def _write_all_documents(run: RunFolder, counter: EventCounter, temporary: Path) -> None:
    rows = counter.rows.all_documents
    with _parquet(run.file("all_documents.parquet"), rows.schema) as table:
        for group in in_groups(rows.tables(temporary), _TABLE_GROUP):
            table.write_table(group)


def _write_documents(run: RunFolder, counter: EventCounter, temporary: Path) -> None:
    """Write the documents with evidence, complete, for a report."""
    with ParquetWriter(str(run.file("documents.parquet"))) as writer:
        # The next ones are merged while some are compressed.
        for batch in read_ahead(_document_groups(counter.rows.documents.tables(temporary))):
            log_step("finalising: documents of %s", batch.dates[-1])
            writer.write(batch)
            writer.end_group()


def _document_groups(tables: Iterable[pa.Table]) -> Iterator[DocumentBatch]:
    """Documents in row groups: of a number, or of a size that depends on their content alone."""
    waiting: list[pa.RecordBatch] = []
    n_rows = n_bytes = 0
    for batch in (batch for table in tables for batch in table.to_batches()):
        start = 0
        for row, size in enumerate(_sizes(batch), start=1):
            n_rows, n_bytes = n_rows + 1, n_bytes + size
            if n_rows == _DOCUMENT_GROUP or n_bytes >= _GROUP_BYTES:
                yield _documents([*waiting, batch.slice(start, row - start)])
                waiting, start, n_rows, n_bytes = [], row, 0, 0
        if start < len(batch):
            waiting.append(batch.slice(start))
    if waiting:
        yield _documents(waiting)


def _documents(batches: Sequence[pa.RecordBatch]) -> DocumentBatch:
    (rows,) = pa.Table.from_batches(batches).combine_chunks().to_batches()
    return DocumentBatch("evidence", rows, "document", range(1, len(rows) + 1))


def _sizes(batch: pa.RecordBatch) -> list[int]:
    """About the bytes of each document: of its candidates and tokens."""
    documents = DocumentBatch("evidence", batch, "document", range(1, batch.num_rows + 1))
    mentions, candidates = documents.mentions[0], documents.candidates[0]
    sizes: list[int] = (12 * np.diff(candidates[mentions]) + 40 * np.diff(documents.token_bounds)).tolist()
    return sizes


def draw_run(
    folder: RunFolder, counts: pd.DataFrame, comparison: pd.DataFrame | None, names: Mapping[str, str]
) -> None:
    """Draw the bands, and the comparison if there is one, into the folder, as `save_pictures` does."""
    several = len(counts["event"].unique()) > 1
    pictures = {"bands": partial(bands_by_event if several else event_bands, counts, names=names)}
    if comparison is not None:
        draw = comparisons_by_event if len(comparison["event"].unique()) > 1 else actor_comparison
        pictures["comparison"] = partial(draw, counts, comparison, names=names)
    save_pictures(pictures, folder.file)
