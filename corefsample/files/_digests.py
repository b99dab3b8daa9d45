"""Digests: repeated identifiers, in about 20 bytes each, and checksums of files."""

from __future__ import annotations

import hashlib
import json
import struct
from bisect import bisect_left
from collections.abc import Mapping
from typing import Any

import numpy as np

from corefsample.files._paths import PathLike, open_binary

_HALVES = struct.Struct("=QQ")
_MIN_RECENT = 1 << 14
_RECENT_SHARE = 32  # one in so many digests is in the set, which needs some 90 bytes for each


def id_digest(identifier: str) -> bytes:
    """16-byte BLAKE2b digest of an identifier; lone surrogates are allowed."""
    return hashlib.blake2b(identifier.encode("utf-8", "surrogatepass"), digest_size=16).digest()


class SeenIds:
    """The identifiers of a corpus so far; only their digests are kept.

    The latest are in a set; the others in two arrays, the halves of the digests sorted by the first half.
    """

    def __init__(self) -> None:
        self._recent: set[bytes] = set()
        self._first = np.zeros(0, np.uint64)
        self._second = np.zeros(0, np.uint64)
        self._firsts = self._first.data

    def add(self, identifier: str) -> bool:
        """Add an identifier; return whether it is new."""
        digest = id_digest(identifier)
        if digest in self._recent or self._is_sorted_in(digest):
            return False
        self._recent.add(digest)
        if len(self._recent) >= max(_MIN_RECENT, self._first.size // _RECENT_SHARE):
            self._sort_in()
        return True

    def _is_sorted_in(self, digest: bytes) -> bool:
        first, second = _HALVES.unpack(digest)
        firsts = self._firsts
        index = bisect_left(firsts, first)  # on a view: a search of NumPy costs six times as much for one number
        while index < len(firsts) and firsts[index] == first:
            if int(self._second[index]) == second:
                return True
            index += 1
        return False

    def _sort_in(self) -> None:
        """Move the recent digests to the arrays."""
        halves = np.frombuffer(b"".join(self._recent), np.uint64).reshape(-1, 2)
        halves = halves[np.argsort(halves[:, 0])]
        places = self._first.searchsorted(halves[:, 0])
        self._first = np.insert(self._first, places, halves[:, 0])
        self._second = np.insert(self._second, places, halves[:, 1])
        self._firsts = self._first.data
        self._recent = set()


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
