"""Whole files in memory: bytes within a limit, JSON and Parquet; every error of their libraries is an InputError."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from corefsample.errors import CorefsampleError, DamagedFileError, InputError
from corefsample.files._paths import PathLike, parquet_source
from corefsample.files._reading import ReadProgress, open_bytes

if TYPE_CHECKING:
    import pyarrow as pa

MIB = 2**20


def read_whole(path: PathLike, most_mib: int, progress: ReadProgress | None = None) -> bytes:
    """Content of a file, decompressed; a small compressed file cannot fill the memory.

    Parameters
    ----------
    path
        Path of the file.
    most_mib
        Largest size of the decompressed file, in MiB.
    progress
        Counter of the bytes that are read. By default they are not reported.

    Raises
    ------
    InputError
        If the file cannot be read, or is larger than `most_mib`.
    """
    with open_bytes(os.fspath(path), progress or ReadProgress()) as stream:
        data: bytes = stream.read(most_mib * MIB + 1)
    if len(data) > most_mib * MIB:
        raise InputError(f"file must be at most {most_mib} MiB, decompressed, got more", place=os.fspath(path))
    return data


def parsed_json(text: bytes | str, source: str = "file") -> Any:
    """Parse JSON; raise InputError about `source` if the content is not valid JSON or is nested too deeply."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{source} must be JSON, got: {one_line(error)}") from None


def read_json(path: PathLike, most_mib: int = 64) -> Any:
    """Content of a JSON file; raise InputError on the conditions of `read_whole` and `parsed_json`."""
    try:
        return parsed_json(read_whole(path, most_mib))
    except InputError as error:
        raise error if error.place else error.at(os.fspath(path)) from None


@contextmanager
def parquet_errors(location: str) -> Iterator[None]:
    """Turn the errors of Arrow about the content of a Parquet file into an InputError."""
    import pyarrow as pa

    try:
        yield
    except CorefsampleError:
        raise
    # Besides its own errors, Arrow raises those of Python for damaged names, types and dates.
    except (pa.ArrowException, OSError, ValueError, TypeError, KeyError, OverflowError, MemoryError) as error:
        raise DamagedFileError(f"file must be Parquet, got: {one_line(error)}", place=location) from None


def read_parquet(path: PathLike, columns: Sequence[str], same: Mapping[str, str] | None = None) -> pa.Table:
    """Read and validate columns of a Parquet file, of the rows with the `same` values in further columns.

    Not by `pyarrow.parquet.read_table`, which never returns for some damaged files.

    Raises
    ------
    InputError
        If it is damaged, or a column is missing.
    """
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    location, same = os.fspath(path), same or {}
    wanted = list(dict.fromkeys([*columns, *same]))
    with parquet_errors(location), pq.ParquetFile(parquet_source(location), page_checksum_verification=True) as file:
        missing = [name for name in wanted if name not in file.schema_arrow.names]
        if missing:
            raise InputError(f"column {missing[0]} is missing", place=location, hint="repeat the run with this version")
        groups = [file.schema_arrow.empty_table().select(wanted)]
        for group in range(file.num_row_groups):
            table = file.read_row_group(group, columns=wanted, use_threads=False)
            table.validate(full=True)
            for name, value in same.items():
                table = table.filter(pc.equal(table.column(name), value))
            groups.append(table)
        return pa.concat_tables(groups).select(list(columns))


def one_line(error: Exception) -> str:
    """Text of an error of a library without line breaks."""
    return " ".join(str(error).split())
