"""Digests: repeated identifiers, in about 20 bytes each, and checksums of files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from corefsample.files._paths import PathLike, open_binary

_MIN_RECENT = 1 << 14
_RECENT_SHARE = 32  # one in so many digests is in the set, which needs some 90 bytes for each


def id_digest(identifier: str) -> bytes:
    """16-byte BLAKE2b digest of an identifier; lone surrogates are allowed."""
    return hashlib.blake2b(identifier.encode("utf-8", "surrogatepass"), digest_size=16).digest()


class SeenIds:
    """The identifiers of a corpus so far; only their digests are kept, the latest in a set, the others in an array."""

    def __init__(self) -> None:
        self._recent: set[bytes] = set()
        self._sorted = np.zeros(0, "S16")  # without the zero bytes at the end of a digest

    def add(self, identifier: str) -> bool:
        """Add an identifier; return whether it is new."""
        digest = id_digest(identifier)
        index = int(self._sorted.searchsorted(digest))
        is_sorted_in = index < len(self._sorted) and self._sorted[index] == digest.rstrip(b"\0")
        if is_sorted_in or digest in self._recent:
            return False
        self._recent.add(digest)
        if len(self._recent) >= max(_MIN_RECENT, len(self._sorted) // _RECENT_SHARE):
            recent = np.array(sorted(self._recent), "S16")
            self._sorted = np.insert(self._sorted, self._sorted.searchsorted(recent), recent)
            self._recent = set()
        return True


def sealed(record: Mapping[str, Any]) -> dict[str, Any]:
    """Fields after a round trip through JSON, with their checksum as the further field sha256."""
    fields: dict[str, Any] = json.loads(json.dumps({**record, "sha256": None}))
    return {**fields, "sha256": hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()}


def is_sealed(record: object) -> bool:
    """True if a value read from JSON is a result of `sealed` that has not changed since."""
    return isinstance(record, dict) and "sha256" in record and record["sha256"] == sealed(record)["sha256"]


def sha256(path: PathLike) -> str:
    """SHA-256 of a file, in hexadecimal digits."""
    with open_binary(path) as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
