"""Distributions of counts of independent documents, and their credible intervals."""

from collections import deque
from collections.abc import Sequence

import numpy as np

from corefsample import ParameterError, _checks
from corefsample._arrays import Floats, Ints
from corefsample._jit import kernel
from corefsample.coreference._kernels import poisson_binomial

# A cumulative sum within this distance of a level has reached it: the rounding error of some 10**4 additions.
_ROUNDING = 1e-12


def count_pmf(probs: np.typing.ArrayLike) -> Floats:
    """Distribution of the number of documents with an event, given the probability of each.

    Given these probabilities the documents are independent, so the count is Poisson-binomial.

    Parameters
    ----------
    probs
        float (n_documents,) in [0, 1]: probability that each document has the event.

    Returns
    -------
    array of shape (n_documents + 1,), float64 in [0, 1]
        Entry k is P(count = k). No entry is negative, and small entries are accurate, unlike those of a Fourier
        transform.

    Raises
    ------
    ParameterError
        If `probs` is not a sequence of numbers in [0, 1].
    """
    trials = _checks.floats("probs", probs)
    _checks.require_all("probs", trials, (trials >= 0.0) & (trials <= 1.0), "lie in [0, 1]")
    pmf = np.empty(trials.shape[0] + 1)
    poisson_binomial(trials, pmf)
    return pmf


def sum_pmf(values: np.typing.NDArray[np.integer]) -> Floats:
    """Distribution of the sum of numbers of independent documents, each uniformly one of its samples.

    Parameters
    ----------
    values
        int (n_documents, n_samples): number of each document in each sample, at least 0.

    Returns
    -------
    array of shape (sum of the largest values + 1,), float64 in [0, 1]
        Entry k is P(sum = k).
    """
    counts: Sequence[Ints] = [np.bincount(row) for row in values]
    pmfs = deque(np.asarray(row / values.shape[1]) for row in sorted(counts, key=lambda row: (len(row), row.tolist())))
    pmfs.appendleft(np.ones(1))
    while len(pmfs) > 1:  # in pairs of similar lengths: fewer operations, and smaller rounding errors
        pmfs.append(np.convolve(pmfs.popleft(), pmfs.popleft()))
    return pmfs[0]


def difference_pmf(first_only: Floats, second_only: Floats) -> Floats:
    """Distribution of the difference of two counts from each document's joint distribution of the two events.

    Parameters
    ----------
    first_only, second_only
        float64 (n_documents,): P(the first event and not the second), P(the second and not the first).

    Returns
    -------
    array of shape (2 * n_documents + 1,), float64 in [0, 1]
        Entry n_documents + k is P(first count - second count = k).
    """
    pmf = np.zeros(2 * len(first_only) + 1)
    convolve_differences(first_only, second_only, pmf)
    return pmf


@kernel
def convolve_differences(first_only: Floats, second_only: Floats, pmf: Floats) -> None:
    """pmf[n + k] = P(n_a - n_b = k), by convolving the documents' distributions on {-1, 0, 1}; pmf is all zeros."""
    n = first_only.shape[0]
    pmf[n] = 1.0
    for t in range(n):
        up, down = first_only[t], second_only[t]
        stay = 1.0 - up - down
        if stay < 0.0:  # only by rounding: up + down is a probability
            stay = 0.0
        previous = 0.0  # the probability of k - 1 without this document
        for k in range(n - t - 1, n + t + 2):
            current = pmf[k]
            following = pmf[k + 1] if k < 2 * n else 0.0
            pmf[k] = previous * up + current * stay + following * down
            previous = current


def sample_shares(counts: np.typing.NDArray[np.integer]) -> Floats:
    """Distribution of sampled counts: entry k is the share of samples with count k."""
    return np.asarray(np.bincount(counts) / len(counts))


def quantile_interval(pmf: np.typing.ArrayLike, level: float = 0.95) -> tuple[int, int]:
    """Central credible interval of a count: its (1 - level) / 2 and (1 + level) / 2 quantiles.

    The ends are counts, so the interval has a probability of at least `level`. It may exclude the mean: one document
    with probability .01 gives [0, 0].

    Parameters
    ----------
    pmf
        float (n + 1,): P(count = k), which must sum to 1.
    level
        Least probability of the interval, in (0, 1).
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
    """Tolerance for comparing a cumulative sum with a tail's probability, far smaller than that probability."""
    return min(_ROUNDING, 1e-6 * tail)


def hdi_interval(pmf: np.typing.ArrayLike, level: float = 0.95) -> tuple[int, int]:
    """Shortest credible interval of a count: the fewest adjacent counts with a probability of at least `level`.

    If several intervals are shortest, the result is the one with the highest probability, then the lowest one.

    Parameters
    ----------
    pmf
        float (n + 1,): P(count = k), which must sum to 1.
    level
        Least probability of the interval, in (0, 1).
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


def _checked(pmf: np.typing.ArrayLike, level: float) -> tuple[Floats, float]:
    probs = _checks.floats("pmf", pmf)
    total = float(probs.sum())
    if probs.size == 0 or (probs < 0).any() or not abs(total - 1.0) < 1e-6:
        raise ParameterError(f"must be probabilities that sum to 1, got a sum of {total}", parameter="pmf")
    return probs, _checks.probability("level", level, below_one=True, above_zero=True)
