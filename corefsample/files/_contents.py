"""Whole files in memory: bytes within a limit, JSON and Parquet; every error of their libraries is an InputError."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from corefsample.errors import CorefsampleError, InputError
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
        The file.
    most_mib
        Its largest size in MiB, decompressed: more than the format ever needs.
    progress
        How far it is read.

    Raises
    ------
    InputError
        If it cannot be read, or is larger.
    """
    with open_bytes(os.fspath(path), progress or ReadProgress()) as stream:
        content: bytes = stream.read(most_mib * MIB + 1)
    if len(content) > most_mib * MIB:
        raise InputError(f"file must be at most {most_mib} MiB, decompressed, got more", place=os.fspath(path))
    return content


def parsed_json(content: bytes | str, what: str = "file") -> Any:
    """Parse JSON; raise InputError, of which `what` is the subject, if it is none or nested too deep."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{what} must be JSON, got: {one_line(error)}") from None


def read_json(path: PathLike, most_mib: int = 64) -> Any:
    """Content of a file of JSON; raise InputError as `read_whole` and `parsed_json` do."""
    try:
        return parsed_json(read_whole(path, most_mib))
    except InputError as error:
        raise error if error.place else error.at(os.fspath(path)) from None


@contextmanager
def parquet_errors(place: str) -> Iterator[None]:
    """Turn the errors of Arrow about the content of a Parquet file into an InputError."""
    import pyarrow as pa

    try:
        yield
    except CorefsampleError:
        raise
    # Besides its own errors, Arrow raises those of Python for damaged names, types and dates.
    except (pa.ArrowException, OSError, ValueError, TypeError, KeyError, OverflowError, MemoryError) as error:
        raise InputError(f"file must be Parquet, got: {one_line(error)}", place=place) from None


def read_parquet(path: PathLike, columns: Sequence[str] | None = None, filters: Any = None) -> pa.Table:
    """Read and validate a Parquet file, as `pyarrow.parquet.read_table` does; raise InputError if it is damaged."""
    import pyarrow.parquet as pq

    place = os.fspath(path)
    with parquet_errors(place):
        chosen = None if columns is None else list(columns)
        table = pq.read_table(parquet_source(place), columns=chosen, filters=filters)
        table.validate(full=True)
    return table


def one_line(error: Exception) -> str:
    """Text of an error of a library without line breaks."""
    return " ".join(str(error).split())
