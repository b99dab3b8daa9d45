"""Detection of repeated identifiers, in 16 bytes each."""

from __future__ import annotations

import hashlib

from corefsample.files._paths import PathLike


def id_digest(identifier: str) -> bytes:
    """16-byte BLAKE2b digest of an identifier; lone surrogates are allowed."""
    return hashlib.blake2b(identifier.encode("utf-8", "surrogatepass"), digest_size=16).digest()


class SeenIds:
    """The identifiers of a corpus so far; only their digests are kept."""

    def __init__(self) -> None:
        self._digests: set[bytes] = set()

    def add(self, identifier: str) -> bool:
        """Add an identifier; return whether it is new."""
        digest = id_digest(identifier)
        is_new = digest not in self._digests
        self._digests.add(digest)
        return is_new


def sha256(path: PathLike) -> str:
    """SHA-256 of a file, in hexadecimal digits."""
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
