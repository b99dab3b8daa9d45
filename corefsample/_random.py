"""Keys of random streams: one stream for each (seed, doc_id), the same for all models."""

from __future__ import annotations

import hashlib

from corefsample import _checks
from corefsample.errors import ParameterError


def document_key(seed: int, doc_id: str) -> int:
    """Key of a document's random stream: the 64-bit BLAKE2b digest of the seed (8 bytes, little-endian) and doc_id.

    Parameters
    ----------
    seed
        In [0, 2**64).
    doc_id
        The document's identifier; UTF-8 in the digest.
    """
    if not isinstance(doc_id, str):
        raise ParameterError(f"must be a string, got {doc_id!r}", parameter="doc_id")
    message = _checks.seed(seed).to_bytes(8, "little") + doc_id.encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(message, digest_size=8).digest(), "little")
