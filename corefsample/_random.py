"""Keys of random streams: one stream for each (seed, doc_id), the same for all models."""

from __future__ import annotations

import hashlib

import numpy as np

from corefsample import _checks
from corefsample._arrays import Floats
from corefsample.errors import ParameterError


def document_key(seed: int, doc_id: str) -> int:
    """Key of a document's random stream: the 64-bit BLAKE2b digest of the seed (8 bytes, little-endian) and doc_id.

    Parameters
    ----------
    seed
        Seed of the random draws, in [0, 2**64).
    doc_id
        Id of the document, which enters the digest as UTF-8.
    """
    if not isinstance(doc_id, str):
        raise ParameterError(f"must be a string, got {doc_id!r}", parameter="doc_id")
    message = _checks.seed(seed).to_bytes(8, "little") + doc_id.encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(message, digest_size=8).digest(), "little")


def document_draws(seed: int, doc_id: str, n_samples: int) -> Floats:
    """A uniform draw in [0, 1) for each sample of a document, independent of its clusterings.

    The generator is Philox, with the document's key, so the first draws do not depend on `n_samples`.
    """
    return np.random.Generator(np.random.Philox(key=document_key(seed, doc_id))).random(n_samples)
