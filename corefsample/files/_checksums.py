"""Checksums of files."""

from __future__ import annotations

import hashlib

from corefsample.files._paths import PathLike


def sha256(path: PathLike) -> str:
    """SHA-256 of a file, in hexadecimal digits."""
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
