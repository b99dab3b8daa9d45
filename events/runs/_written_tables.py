"""The tables and pictures of a run; their bytes do not depend on the order in which documents were counted."""

import logging
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from corefsample.documents._batch import DocumentBatch
from corefsample.files._atomic import escaped_frame, escaped_texts
from corefsample.files._reading import read_ahead
from corefsample.formats.scored._parquet import ParquetWriter
from events.counts._evidence import OF_COUNTS, Evidence, trigger_rows, with_evidence
from events.evidence._sorted_rows import SortedRows, parquet_writer
from events.rule_error._counts import READER, CountTables
from events.runs._outputs import save_pictures

File = Callable[[str], Path]

_CSV = pa.csv.WriteOptions(quoting_style="needed", quoting_header="none")
_NEAR_HALF = 100
_EVIDENCE_GROUP = 2000  # rows in a row group of the table of evidence
_TABLE_GROUP = 50_000  # rows in a row group of the tables of events and of all documents
_DOCUMENT_GROUP = 64  # documents that are merged at a time


@contextmanager
def documents_written(file: File, evidence: Evidence) -> Iterator[None]:
    """Write the complete documents with evidence, the largest table of a run, while the `with` block runs.

    Parameters
    ----------
    file
        Function that returns the path of a file of the run by its name.
    evidence
        Evidence of the run.
    """
    with ThreadPoolExecutor(1, thread_name_prefix="corefsample-write") as background:
        # Arrow compresses the documents without Python's global lock, while the other tables are made.
        documents = background.submit(_write_documents, file, evidence.scored)
        yield
        documents.result()


def write_counts(file: File, tables: CountTables) -> None:
    """Write the tables of counts (CSV and Parquet), of totals, of counts by sample, and of comparisons."""
    pq.write_table(tables.samples, file("count_samples.parquet"))
    escaped_frame(tables.table).to_csv(file("counts.csv"), index=False)
    escaped_frame(tables.totals).to_csv(file("totals.csv"), index=False)
    pq.write_table(pa.Table.from_pandas(tables.table, tables.schema, preserve_index=False), file("counts.parquet"))
    compared = {"comparisons.csv": tables.compared, "period_comparisons.csv": tables.compared_periods}
    for name, table in compared.items():
        if table is not None:
            escaped_frame(table).to_csv(file(name), index=False)


def draw_counts(file: File, tables: CountTables, names: Mapping[str, str]) -> None:
    """Draw the bands and the comparison; `names` has the names of actors by their codes."""
    from events.plots.bands import actor_comparison, bands_by_event, comparisons_by_event, event_bands

    counts, compared = tables.table, tables.compared
    draw = bands_by_event if len(counts["event"].unique()) > 1 else event_bands
    pictures = {"bands": partial(draw, counts, names=names)}
    if compared is not None:
        compare = comparisons_by_event if len(compared["event"].unique()) > 1 else actor_comparison
        pictures["comparison"] = partial(compare, counts, compared, names=names)
    save_pictures(pictures, file)


def write_evidence(file: File, evidence: Evidence, complete: Callable[[pa.Table], pa.Table]) -> None:
    """Write the evidence and its triggers, the rows in which errors are easiest to find, and a row of each document.

    Parameters
    ----------
    file, evidence
        As in `documents_written`.
    complete
        Function that adds columns to the table of evidence.
    """
    empty = evidence.rows.schema.empty_table()
    roles, schema = evidence.settings.roles, evidence.settings.in_metadata(complete(empty).schema)
    columns = [name for name in schema.names if name not in OF_COUNTS]
    waiting = empty  # the last document, whose triggers may go on
    with (
        parquet_writer(file("evidence.parquet"), schema) as table,
        pa.csv.CSVWriter(file("evidence.csv"), complete(empty).select(columns).schema, write_options=_CSV) as text,
        pa.csv.CSVWriter(file("events.csv"), trigger_rows(empty, roles).schema, write_options=_CSV) as triggers,
    ):
        for group in evidence.rows.groups(_EVIDENCE_GROUP):
            rows = complete(group)
            logging.getLogger("corefsample.steps").info("finalising: evidence of %s", rows["date"][-1])
            table.write_table(rows)
            text.write_table(escaped_texts(with_evidence(rows).select(columns)))
            waiting = pa.concat_tables([waiting, group])
            is_last = pc.equal(waiting["doc_id"], waiting["doc_id"][-1])
            triggers.write_table(escaped_texts(trigger_rows(waiting.filter(pc.invert(is_last)), roles)))
            waiting = waiting.filter(is_last)
        triggers.write_table(escaped_texts(trigger_rows(waiting, roles)))
    pa.csv.write_csv(escaped_texts(_near_half(file("evidence.parquet"), columns)), file("near_half.csv"), _CSV)
    evidence.documents.write(file("all_documents.parquet"), _TABLE_GROUP, evidence.settings.in_metadata)


def _near_half(path: Path, columns: list[str]) -> pa.Table:
    """Rows of the table of evidence whose probability is closest to 0.5.

    With the error of rules, others with P < 0.5 that a reader most probably counts follow.
    """
    table = pq.read_table(path, columns=[name for name in ("probability", READER[0]) if name in columns])
    probability = table["probability"].to_numpy()
    order = np.argsort(np.abs(probability - 0.5), kind="stable")  # ties keep the earlier row
    rows = order[probability[order] > 0.0][:_NEAR_HALF]
    if READER[0] in columns:
        of_readers = table[READER[0]].to_numpy()  # NaN, the last in the order, where it is missing
        order = np.argsort(-of_readers, kind="stable")
        misses = order[(probability < 0.5)[order] & ~np.isnan(of_readers[order])][:_NEAR_HALF]
        rows = np.append(rows, misses[~np.isin(misses, rows)])
    return ds.dataset(path).take(rows, columns=columns)


def _write_documents(file: File, rows: SortedRows) -> None:
    """Write the complete documents that have evidence, for the report."""
    with ParquetWriter(str(file("documents.parquet"))) as writer:
        # The next documents are merged while others are compressed.
        for table in read_ahead(rows.groups(_DOCUMENT_GROUP)):
            logging.getLogger("corefsample.steps").info("finalising: documents of %s", table["date"][-1])
            (batch,) = table.combine_chunks().to_batches()
            writer.write(DocumentBatch("evidence", batch, "document", range(1, len(batch) + 1)))
