"""Sums over documents of a whole number of each, such as how many entities fulfil a question.

Given each document's distribution the documents are independent, so the distribution of the sum is the convolution of
theirs. A document's distribution is that of its samples.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

import numpy as np

from corefsample._arrays import Floats, Ints
from corefsample._monte_carlo import agreement_bound

MOST = 10_000  # of one document: the distribution of a sum has an entry for each value up to the largest
Distribution = tuple[tuple[int, int], ...]  # values with their numbers of samples, by value


def distribution_of(values: Ints) -> Distribution:
    """Distribution of a document's number over its samples, int (n_samples,)."""
    found, counts = np.unique(values, return_counts=True)
    return tuple(zip(found.tolist(), counts.tolist(), strict=True))


def total(distribution: Distribution) -> int:
    """Sum over the samples."""
    return sum(value * n for value, n in distribution)


def scaled_variance(distribution: Distribution, n_samples: int) -> int:
    """Variance over the samples, times n_samples squared, which is a whole number."""
    return n_samples * sum(value**2 * n for value, n in distribution) - total(distribution) ** 2


def variance_of_mean(distribution: Distribution, n_samples: int) -> float:
    """Squared Monte Carlo standard error of the mean; where all samples agree, the square of a bound for a share."""
    if len(distribution) == 1:
        return agreement_bound(n_samples) ** 2
    return scaled_variance(distribution, n_samples) / n_samples**3


def sum_pmf(documents: Mapping[Distribution, int], n_samples: int) -> Floats:
    """Distribution of the sum over independent documents.

    Parameters
    ----------
    documents
        Number of documents with each distribution.
    n_samples
        Samples of each document.

    Returns
    -------
    array of shape (sum of the largest values + 1,), float64 in [0, 1]
        Entry k: P(sum = k).
    """
    parts: deque[Floats] = deque([np.ones(1)])
    for distribution, n_documents in sorted(documents.items()):
        pmf = np.zeros(distribution[-1][0] + 1)
        for value, n in distribution:
            pmf[value] = n / n_samples
        parts.extend([pmf] * n_documents)
    while len(parts) > 1:  # in pairs, which are of like lengths: fewer operations, and smaller rounding errors
        parts.append(np.convolve(parts.popleft(), parts.popleft()))
    return parts[0]
