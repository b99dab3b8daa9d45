"""Comparisons of two counts, by each document's joint distribution of both events or by samples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample._arrays import Floats, HtmlTable
from corefsample._jit import kernel
from events.counts._credible_intervals import quantile_interval


@dataclass(frozen=True, slots=True, repr=False)
class Comparison(HtmlTable):
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
        Probability of the credible interval of the difference, in (0, 1).
    """
    first, second = np.asarray(first_only, np.float64), np.asarray(second_only, np.float64)
    n = first.shape[0]
    pmf = np.empty(2 * n + 1)
    difference_pmf(first, second, pmf)
    return _comparison(pmf, -n, float(first.sum() - second.sum()), level)


def compare_samples(differences: npt.ArrayLike, level: float = 0.95) -> Comparison:
    """Compare two counts by their difference in each sample.

    Parameters
    ----------
    differences
        int (n_samples,): the first count minus the second.
    level
        Probability of the credible interval of the difference, in (0, 1).
    """
    values = _checks.integers("differences", differences)
    least = int(values.min())
    pmf = np.bincount(values - least) / values.shape[0]
    return _comparison(pmf, least, float(values.mean()), level)


def _comparison(pmf: Floats, least: int, mean_difference: float, level: float) -> Comparison:
    """Comparison of two counts from the distribution of their difference: entry k is P(difference = `least` + k)."""
    lower, upper = quantile_interval(pmf, level)
    signs = np.sign(np.arange(len(pmf)) + least)
    greater, equal, less = (min(float(pmf[signs == sign].sum()), 1.0) for sign in (1, 0, -1))
    return Comparison(greater, equal, less, mean_difference, lower + least, upper + least)


@kernel
def difference_pmf(first_only: Floats, second_only: Floats, pmf: Floats) -> None:
    """pmf[n + k] = P(n_a - n_b = k), by convolving the documents' distributions on {-1, 0, 1} one by one."""
    n = first_only.shape[0]
    pmf[:] = 0.0
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
