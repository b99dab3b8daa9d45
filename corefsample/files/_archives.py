"""Model files: a zip of NumPy arrays and JSON texts; reading one runs no code from it, there are no pickles.

The bytes depend only on the content, not on time or name.
"""

from __future__ import annotations

import io
import os
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from corefsample.errors import InputError
from corefsample.files._atomic import write_bytes
from corefsample.files._contents import one_line
from corefsample.files._paths import PathLike

_ZIP_ERRORS = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError, struct.error)
# NumPy reads the header of an array as Python source.
_HEADER_ERRORS = (ValueError, RecursionError, tokenize.TokenError, SyntaxError, TypeError, MemoryError)


def write_archive(path: PathLike, files: Mapping[str, bytes], *, overwrite: bool) -> None:
    """Write the parts of a model file by name, as `write_bytes` does."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name)
            entry.create_system = 3  # the same on every system
            archive.writestr(entry, data, zipfile.ZIP_DEFLATED)
    write_bytes(path, buffer.getvalue(), overwrite=overwrite)


def npy_bytes(array: npt.NDArray[Any]) -> bytes:
    """Content of an .npy file."""
    stream = io.BytesIO()
    np.lib.format.write_array(stream, array, version=(1, 0), allow_pickle=False)
    return stream.getvalue()


def read_archive(path: PathLike, limits: Mapping[str, int], kind: str) -> dict[str, bytes]:
    """Read the parts of a model file.

    Parameters
    ----------
    path
        Path of the file.
    limits
        Largest size of each part in bytes, by the name of the part.
    kind
        Name of the kind of file in error messages.

    Raises
    ------
    InputError
        If the file cannot be read, is damaged, or a part is missing or too large.
    """
    location = os.fspath(path)
    try:
        with zipfile.ZipFile(location) as archive:
            return {part: _part(archive, part, limit, kind) for part, limit in limits.items()}
    except InputError as error:
        raise error.at(location) from None
    except OSError as error:
        raise InputError(f"model file must be readable, got: {error.strerror or error}", place=location) from None
    except _ZIP_ERRORS as error:
        raise InputError(f"must be a {kind}, got an incomplete or damaged zip file: {error}", place=location) from None


def _part(archive: zipfile.ZipFile, name: str, limit: int, kind: str) -> bytes:
    if name not in archive.namelist():
        raise InputError(f"must be a {kind}, got a zip file without {name}")
    entry = archive.getinfo(name)
    if entry.file_size > limit:
        raise InputError(f"{name} must have at most {limit} bytes, got {entry.file_size}")
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise InputError(f"{name} must be stored or deflated, got compression {entry.compress_type}")
    return archive.read(entry)


def npy_array(data: bytes, dtype: npt.DTypeLike, field: str) -> npt.NDArray[Any]:
    """Read an .npy file of one dimension; memory is allocated for the actual content, not by the header.

    Raises
    ------
    InputError
        If it is no such file, of another type or number of dimensions, or of another length than it says.
    """
    wanted, stream = np.dtype(dtype), io.BytesIO(data)
    try:
        if np.lib.format.read_magic(stream) != (1, 0):
            raise ValueError("another version of the .npy format")
        shape, _, stored_dtype = np.lib.format.read_array_header_1_0(stream)
    except _HEADER_ERRORS as error:
        raise InputError(f"{field} must be an .npy file, got: {one_line(error)}") from None
    if stored_dtype != wanted or len(shape) != 1:
        raise InputError(f"{field} must be {wanted} in one dimension, got {len(shape)} of {stored_dtype}")
    values = data[stream.tell() :]
    if len(values) != shape[0] * wanted.itemsize:
        raise InputError(f"{field} must be {shape[0]} numbers, as its file says, got {len(values)} bytes")
    return np.frombuffer(values, wanted)
