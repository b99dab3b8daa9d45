"""Distributions of counts and of other sums over independent documents, and credible intervals from them.

Given each document's distribution the documents are independent, so the distribution of a sum is the convolution of
theirs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample._arrays import Floats, Ints
from corefsample._monte_carlo import agreement_bound
from corefsample.coreference._clusterings import poisson_binomial_pmf
from corefsample.errors import ParameterError
from events.counting import _kernels

# A cumulative sum within this distance of a level has reached it: the rounding error of some 10**4 additions.
_ROUNDING = 1e-12


def count_pmf(probs: npt.ArrayLike) -> Floats:
    """Distribution of the number of documents with an event, given the probability of each.

    Given these probabilities the documents are independent, so the count is Poisson-binomial.

    Parameters
    ----------
    probs
        float (n_documents,) in [0, 1].

    Returns
    -------
    array of shape (n_documents + 1,), float64 in [0, 1]
        Entry k: P(count = k).
    """
    return poisson_binomial_pmf(probs)


def quantile_interval(pmf: npt.ArrayLike, level: float = 0.95) -> tuple[int, int]:
    """Central credible interval of a count: its (1 - level) / 2 and (1 + level) / 2 quantiles.

    The ends are counts, so the interval has a probability of at least `level`. It may exclude the mean: one document
    with probability .01 gives [0, 0].

    Parameters
    ----------
    pmf
        float (n + 1,): P(count = k).
    level
        In (0, 1).
    """
    pmf, level = _checked(pmf, level)
    tail = (1.0 - level) / 2.0
    # Each end from its own side, because the sum of a small tail is more exact than its difference from 1.
    below, above = np.cumsum(pmf), np.cumsum(pmf[::-1])
    lower = int(np.searchsorted(below, tail - _rounding(tail)))
    n_above = int(np.searchsorted(above, tail + _rounding(tail), side="right"))
    last = pmf.shape[0] - 1
    lower = min(lower, last)
    return lower, max(last - n_above, lower)


def _rounding(tail: float) -> float:
    """Distance within which a sum has reached a tail's probability, far smaller than the tail."""
    return min(_ROUNDING, 1e-6 * tail)


def hdi_interval(pmf: npt.ArrayLike, level: float = 0.95) -> tuple[int, int]:
    """Shortest credible interval of a count: the fewest adjacent counts with a probability of at least `level`.

    Of several with the same length, the one with the highest probability; then the lowest.

    Parameters
    ----------
    pmf
        float (n + 1,): P(count = k).
    level
        In (0, 1).
    """
    pmf, level = _checked(pmf, level)
    below = np.concatenate(([0.0], np.cumsum(pmf)))
    # For each lower end the smallest upper end: below[upper + 1] - below[lower] >= level.
    uppers = np.searchsorted(below, below[:-1] + level - _rounding(1.0 - level)) - 1
    lowers = np.flatnonzero(uppers < pmf.shape[0])
    if not lowers.size:  # the total is below the level by rounding
        return 0, pmf.shape[0] - 1
    widths = uppers[lowers] - lowers
    shortest = lowers[widths == widths.min()]
    contents = below[uppers[shortest] + 1] - below[shortest]
    lower = int(shortest[np.flatnonzero(contents >= np.max(contents) - _ROUNDING)[0]])
    return lower, int(max(uppers[lower], lower))


@dataclass(frozen=True, slots=True)
class Comparison:
    """Posterior comparison of two counts.

    Attributes
    ----------
    greater, equal, less
        P(n_a > n_b), P(n_a = n_b), P(n_a < n_b).
    mean_difference
        E[n_a - n_b].
    lower, upper
        Central credible interval of n_a - n_b.
    """

    greater: float
    equal: float
    less: float
    mean_difference: float
    lower: int
    upper: int


def compare_counts(first_only: npt.ArrayLike, second_only: npt.ArrayLike, level: float = 0.95) -> Comparison:
    """Compare the counts of two actors from each document's joint distribution.

    Only documents with one of the two events but not the other change the difference.

    Parameters
    ----------
    first_only, second_only
        float (n_documents,): P(the first event and not the second), P(the second and not the first).
    level
        Of the interval of the difference, in (0, 1).
    """
    first, second = np.asarray(first_only, np.float64), np.asarray(second_only, np.float64)
    n = first.shape[0]
    pmf = np.empty(2 * n + 1)
    _kernels.difference_pmf(first, second, pmf)
    return _comparison(pmf, -n, float(first.sum() - second.sum()), level)


def compare_samples(differences: npt.ArrayLike, level: float = 0.95) -> Comparison:
    """Compare two counts by their difference in each sample.

    Parameters
    ----------
    differences
        int (n_samples,): the first count minus the second.
    level
        Of the interval of the difference, in (0, 1).
    """
    found = _checks.integers("differences", differences)
    least = int(found.min())
    pmf = np.bincount(found - least) / found.shape[0]
    return _comparison(pmf, least, float(found.mean()), level)


def _comparison(pmf: Floats, least: int, mean_difference: float, level: float) -> Comparison:
    """Comparison by the distribution of the difference, whose entry k is the probability of `least` + k."""
    lower, upper = quantile_interval(pmf, level)
    signs = np.sign(np.arange(len(pmf)) + least)
    greater, equal, less = (min(float(pmf[signs == sign].sum()), 1.0) for sign in (1, 0, -1))
    return Comparison(greater, equal, less, mean_difference, lower + least, upper + least)


def _checked(pmf: npt.ArrayLike, level: float) -> tuple[Floats, float]:
    probs = _checks.floats("pmf", pmf)
    total = float(probs.sum())
    if probs.size == 0 or (probs < 0).any() or not abs(total - 1.0) < 1e-6:
        raise ParameterError(f"must be probabilities that sum to 1, got a sum of {total}", parameter="pmf")
    return probs, _checks.probability("level", level, below_one=True, above_zero=True)


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
