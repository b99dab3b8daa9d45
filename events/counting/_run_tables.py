"""Tables of a finished run, whose content must be as the record of the run says."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from corefsample._lazy import pd
from corefsample.errors import InputError
from corefsample.files._contents import parquet_errors, read_json, read_parquet
from corefsample.files._digests import is_sealed, sha256
from corefsample.files._paths import PathLike, is_file, joined, parquet_source
from events.counting._tables import RULE_ENDS, TABLE_METADATA, Columns

if TYPE_CHECKING:
    import pyarrow as pa

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
    place = os.fspath(path)
    name = PurePath(place).name
    files = verified_record(place.removesuffix(name)).get("files", {})
    if files.get(name) != sha256(path):
        rule = f"{name} must be as the run wrote it, got other content than {RECORD} says"
        raise InputError(rule, place=place, hint="repeat the run")


def checked_table(
    path: str, columns: Sequence[str], schema: pa.Schema, same: Mapping[str, str] | None = None
) -> pd.DataFrame:
    """Read columns of a table of a run; its content is what the run wrote, as `table_path` says.

    Parameters
    ----------
    path
        File or URL.
    columns
        Names, in the order of the result.
    schema
        With the types of these columns.
    same
        Values of columns of the rows to read; by default all rows.

    Raises
    ------
    InputError
        If a column is missing or has another type, as in a run of another version.
    """
    import pyarrow as pa

    table = read_parquet(path, columns, same)
    if any((table.schema.metadata or {}).get(key, version) != version for key, version in TABLE_METADATA.items()):
        raise InputError(
            "table must be of this version, got another", place=path, hint="repeat the run with this version"
        )
    for name in columns:
        column, wanted = table.column(name), schema.field(name).type
        is_text = pa.types.is_large_string(column.type) and pa.types.is_string(wanted)  # pandas writes the former
        if column.type != wanted and not is_text:
            raise InputError(f"column {name} must be {wanted}, got {column.type}", place=path)
    frame: pd.DataFrame = table.replace_schema_metadata(None).to_pandas()
    return frame


def table_path(run: str | os.PathLike[str], name: str) -> str:
    """Path of a table of a run, by the name of its Parquet file, which is as the run wrote it.

    Raises
    ------
    InputError
        If it is missing in the folder, or has another checksum than the record of the run says.
    """
    path = joined(run, f"{name}.parquet")
    if not is_file(path):
        hint = "repeat the run with this version" if name == SAMPLES else None
        raise InputError(f"{name}.parquet is missing in the run's folder", place=os.fspath(run), hint=hint)
    verify_table(path)
    return path


def read_counts(run: str | os.PathLike[str], same: Mapping[str, str] | None = None) -> pd.DataFrame:
    """Read the table of counts of a run, or the rows with the `same` values of columns."""
    import pyarrow.parquet as pq

    path = table_path(run, "counts")
    with parquet_errors(path):
        names = pq.read_schema(parquet_source(path)).names
    roles = Columns.of_roles(names)
    has = {name: name in names for name in ("uncertainty", "mean_named", *RULE_ENDS)}
    columns = Columns.of_counts(
        roles, recalibrated=has["uncertainty"], defaults=has["mean_named"], rule_error=has[RULE_ENDS[0]]
    )
    return checked_table(path, tuple(columns.types), columns.arrow, same)


def read_samples(path: str, named: Sequence[str], same: Mapping[str, str] | None = None) -> pd.DataFrame:
    """Read the table of counts by sample of a run, or some of its rows; `named` are event and roles."""
    import pyarrow as pa

    schema = pa.schema([*((name, pa.string()) for name in (*named, "period")), ("counts", pa.list_(pa.int32()))])
    return checked_table(path, schema.names, schema, same)
