"""Keys of random streams, one for each (seed, doc_id), and the Monte Carlo error of shares of samples."""

import hashlib

import numpy as np

from corefsample import _checks
from corefsample._arrays import Floats
from corefsample.errors import ParameterError

_CONFIDENCE = 0.95


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


def agreement_bound(n_samples: float) -> float:
    """Distance from a share of 0 or 1 to its one-sided 95% confidence limit: about 3 / n_samples."""
    return float(1.0 - (1.0 - _CONFIDENCE) ** (1.0 / n_samples))


def monte_carlo_errors(n_hits: np.typing.ArrayLike, n_samples: int, inefficiency: float = 1.0) -> Floats:
    """Monte Carlo standard error of the share n_hits / n_samples.

    If all samples agree, the usual sqrt(p (1 - p) / n) is 0. Then the value is a bound instead: the distance to the
    95% one-sided confidence limit, 1 - 0.05 ** (1 / n), about 3 / n.

    Parameters
    ----------
    n_hits
        int, any shape, in [0, n_samples]: number of positive samples.
    n_samples
        Number of samples, at least 1.
    inefficiency
        Number of samples that are worth one independent sample, at least 1; above 1 for samples of Markov chains. By
        default samples are independent.
    """
    n_independent = n_samples / inefficiency
    hits = np.asarray(n_hits)
    share = hits / n_samples
    all_agree = (hits == 0) | (hits == n_samples)
    return np.where(all_agree, agreement_bound(n_independent), np.sqrt(share * (1.0 - share) / n_independent))
