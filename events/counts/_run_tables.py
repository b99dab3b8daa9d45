"""Tables of a finished run, whose content must be as the record of the run says."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

from corefsample import _checks
from corefsample._arrays import pd
from corefsample.errors import InputError
from corefsample.files._paths import PathLike, is_file, joined, parquet_source
from corefsample.files._reading import is_sealed, parquet_errors, read_json, read_parquet, sha256
from events.evidence._columns import TABLE_METADATA

RECORD = "run.json"
SAMPLES = "count_samples"


def verified_record(run: PathLike) -> dict[str, Any]:
    """Content of run.json; raise InputError if it is missing, or other than a run wrote it."""
    path = joined(run, RECORD)
    if not is_file(path):
        raise InputError(f"{RECORD} is missing in the run's folder", place=os.fspath(run))
    record: dict[str, Any] = read_json(path)
    if not is_sealed(record):
        hint = "repeat the run with this version"
        raise InputError("record must be as a run wrote it, got other content", place=path, hint=hint)
    return record


def verify_table(path: PathLike) -> None:
    """Raise InputError unless a file in the folder of a run has the checksum that the record of the run has."""
    location = os.fspath(path)
    name = PurePath(location).name
    files = verified_record(location.removesuffix(name)).get("files", {})
    if files.get(name) != sha256(path):
        rule = f"{name} must be as the run wrote it, got other content than {RECORD} says"
        raise InputError(rule, place=location, hint="repeat the run")


def run_table(
    run: PathLike, name: str, columns: Sequence[str] | None = None, same: Mapping[str, str] | None = None
) -> pd.DataFrame:
    """Read a table of a run, by the name of its Parquet file, which is as the run wrote it.

    Parameters
    ----------
    run
        Path of the folder of a finished run.
    name
        Name of the table: counts, evidence, count_samples, or all_documents.
    columns
        Names of the columns to read, in the order of the result; by default all columns.
    same
        Values that rows must have in some columns, by the name of the column; by default all rows are read.

    Raises
    ------
    InputError
        If the file is missing in the folder, has another checksum than the record of the run says, or is of another
        version; or a column is missing.
    """
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    path = joined(_checks.path("run", run), f"{name}.parquet")
    if not is_file(path):
        hint = "repeat the run with this version" if name == SAMPLES else None
        raise InputError(f"{name}.parquet is missing in the run's folder", place=os.fspath(run), hint=hint)
    verify_table(path)
    if columns is None:
        with parquet_errors(path):
            columns = pq.read_schema(parquet_source(path)).names
    is_evidence = name == "evidence" and "probability" in columns
    table = read_parquet(path, columns, same)
    if is_evidence:  # rows of events that are true in no sample are for counts alone
        table = table.filter(pc.greater(table["probability"], 0.0))
    if any((table.schema.metadata or {}).get(key, version) != version for key, version in TABLE_METADATA.items()):
        rule, hint = "table must be of this version, got another", "repeat the run with this version"
        raise InputError(rule, place=path, hint=hint)
    frame: pd.DataFrame = table.replace_schema_metadata(None).to_pandas()
    return frame
