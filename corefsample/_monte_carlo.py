"""Monte Carlo error of probabilities that are estimated by shares of samples."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from corefsample._arrays import Floats

_CONFIDENCE = 0.95


def agreement_bound(n_samples: float) -> float:
    """Distance from a share of 0 or 1 to its one-sided 95% confidence limit: about 3 / n_samples."""
    return float(1.0 - (1.0 - _CONFIDENCE) ** (1.0 / n_samples))


def share_error(share: float, n_samples: int) -> float:
    """Standard error of a share of samples; for the shares 0 and 1, whose standard error is 0, `agreement_bound`."""
    if share in (0.0, 1.0):
        return agreement_bound(n_samples)
    return math.sqrt(share * (1.0 - share) / n_samples)


def monte_carlo_errors(n_hits: npt.ArrayLike, n_samples: int, inefficiency: float = 1.0) -> Floats:
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
        Number of samples that are worth one independent sample, at least 1: the autocorrelation time of a chain. By
        default samples are independent.
    """
    n_independent = n_samples / inefficiency
    hits = np.asarray(n_hits)
    share = hits / n_samples
    all_agree = (hits == 0) | (hits == n_samples)
    return np.where(all_agree, agreement_bound(n_independent), np.sqrt(share * (1.0 - share) / n_independent))
