"""Prediction-label pairs in documents, with known true probabilities."""

from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit, ndtr

from corefsample._arrays import Bytes, Floats, Ints
from corefsample.calibration._binning import ReliabilityBins


class SyntheticPairs(NamedTuple):
    """Predictions, their true probabilities, labels and documents, (n_pairs,) each."""

    q: Floats
    p: Floats
    y: Bytes
    documents: Ints

    def true_gaps(self, bins: ReliabilityBins, by: Floats | None = None) -> Floats:
        """Mean of p - q in each bin of q, or of another prediction `by`."""
        bin_of = np.searchsorted(bins.q_max, self.q if by is None else by)
        return np.bincount(bin_of, self.p - self.q, bins.n_bins) / bins.n


def synthetic_pairs(
    n_pairs: int,
    *,
    seed: int,
    alpha: float = 0.5,
    beta: float = 0.5,
    shift: float = 0.0,
    temperature: float = 1.0,
    n_documents: int = 100,
    dependence: float = 0.0,
) -> SyntheticPairs:
    """Pairs with q from Beta(alpha, beta).

    The true probability is q moved away from one half by `shift`, its log-odds divided by `temperature`. `dependence`
    is the correlation of the normal variables behind the labels of one document.
    """
    rng = np.random.Generator(np.random.Philox(seed))
    q = rng.beta(alpha, beta, n_pairs)
    p = np.clip(np.where(q <= 0.5, q - shift, q + shift), 0.0, 1.0)
    if temperature != 1.0:
        p = expit(logit(p) / temperature)
    documents = (rng.random(n_pairs) * n_documents).astype(np.int64)
    shared = rng.standard_normal(n_documents)[documents]
    noise = np.sqrt(1.0 - dependence) * rng.standard_normal(n_pairs) + np.sqrt(dependence) * shared
    return SyntheticPairs(q, p, (ndtr(noise) < p).astype(np.uint8), documents)
