"""How far a sampled figure may lie from the exact one: so far that a right one fails once in a million runs.

The error of one in a million is shared by all the figures that a test checks, and by the two sides of each.
"""

import numpy as np
import numpy.typing as npt
import scipy.stats

ERROR = 1e-6


def plausible_counts(counts: npt.ArrayLike, n: int, probs: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    """Whether each count out of n agrees with its probability, by exact binomial tails."""
    observed, expected = np.broadcast_arrays(np.asarray(counts), np.clip(probs, 0.0, 1.0))
    tail = ERROR / (2 * max(observed.size, 1))
    low_enough = scipy.stats.binom.sf(observed - 1, n, expected) >= tail
    high_enough = scipy.stats.binom.cdf(observed, n, expected) >= tail
    return np.asarray(low_enough & high_enough)


def plausible_means(
    means: npt.ArrayLike, expected: npt.ArrayLike, standard_errors: npt.ArrayLike
) -> npt.NDArray[np.bool_]:
    """Whether each mean agrees with its expectation, for a normal distribution."""
    distances = np.abs(np.asarray(means) - np.asarray(expected))
    z = scipy.stats.norm.isf(ERROR / (2 * max(distances.size, 1)))
    return np.asarray(distances <= z * np.asarray(standard_errors))


def plausible_table(counts: npt.ArrayLike, probs: npt.ArrayLike) -> bool:
    """Whether the counts of a table agree with its probabilities, by chi-square; rare cells are pooled."""
    observed, expected = np.asarray(counts, float), np.asarray(probs, float) * np.sum(counts)
    large = expected >= 10.0
    observed = np.append(observed[large], observed[~large].sum())
    expected = np.append(expected[large], expected[~large].sum())
    if expected[-1] < 10.0:
        observed, expected = observed[:-1], expected[:-1]
    statistic = float(np.sum((observed - expected) ** 2 / expected))
    return bool(scipy.stats.chi2.sf(statistic, observed.size - 1) >= ERROR)
