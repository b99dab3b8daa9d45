"""Bounds between ranges of P, chosen so that the estimate is expected to vary least."""

from __future__ import annotations

import numpy as np

from corefsample import _checks
from corefsample._arrays import Floats
from corefsample.errors import ParameterError
from events.audit._strata import cut_classes, expected_spread

# Candidates for bounds: hundredths, and finer below .01, where P of rare events lies.
_CANDIDATES: Floats = np.unique(
    np.concatenate([np.outer(10.0 ** -np.arange(3, 7), [1.0, 2.0, 5.0]).ravel(), np.arange(1, 101) / 100]).round(6)
)


def best_cuts(probabilities: Floats, n_bounds: int) -> tuple[float, ...]:
    """Bounds between ranges of P above 0 under which the stratified estimate is expected to vary least.

    With labels allocated by Neyman's rule, the variance of the estimate falls with the sum over strata of size times
    standard deviation of a label. That sum is minimised over bounds that are hundredths, or .000001 to .005 in steps of
    1, 2 and 5, by dynamic programming. P is only used to choose them: whatever they are, intervals hold.

    Parameters
    ----------
    probabilities
        P of every document, in [0, 1].
    n_bounds
        The most bounds; there are fewer if P has fewer ranges with documents.

    Returns
    -------
    tuple of float
        Rising bounds, each of which divides documents.

    References
    ----------
    Dalenius (1950), "The problem of optimum stratification", Scandinavian Actuarial Journal; Cochran (1977), "Sampling
    Techniques", section 5A.7.
    """
    p = _checks.floats("probabilities", probabilities)
    if not ((p >= 0.0) & (p <= 1.0)).all():
        raise ParameterError("must lie in [0, 1], got another number", parameter="probabilities")
    n_bounds = _checks.whole("n_bounds", n_bounds, 0)
    classes = cut_classes(p, _CANDIDATES)
    present, codes = np.unique(classes[classes > 0], return_inverse=True)
    n_bounds = min(n_bounds, len(present) - 1)
    if n_bounds < 1:
        return ()
    sizes = np.append(0.0, np.cumsum(np.bincount(codes)))
    sums = np.append(0.0, np.cumsum(np.bincount(codes, p[classes > 0])))
    weights = _weights(sizes, sums)
    least = weights[0]  # of the classes before each end, in one stratum
    starts = []
    for _ in range(n_bounds):
        costs = least[:, None] + weights
        starts.append(costs.argmin(axis=0))
        least = costs.min(axis=0)
    chosen: list[int] = []
    end = len(present)
    for each in reversed(starts):
        end = int(each[end])
        chosen.append(end)
    return tuple(float(_CANDIDATES[present[start] - 2]) for start in reversed(chosen))


def _weights(sizes: Floats, sums: Floats) -> Floats:
    """Size times expected standard deviation of the classes from a up to b > a: (n_classes + 1, n_classes + 1)."""
    n, total = sizes - sizes[:, None], sums - sums[:, None]
    above = np.triu(np.ones(n.shape, np.bool_), 1)
    weights = np.full(n.shape, np.inf)
    weights[above] = n[above] * expected_spread(total[above] / n[above])
    return weights
