"""Monte Carlo error of probabilities that are estimated by shares of samples."""

from __future__ import annotations

import math

_CONFIDENCE = 0.95


def agreement_bound(n_samples: int) -> float:
    """Distance from a share of 0 or 1 to its one-sided 95% confidence limit: about 3 / n_samples."""
    return float(1.0 - (1.0 - _CONFIDENCE) ** (1.0 / n_samples))


def share_error(share: float, n_samples: int) -> float:
    """Standard error of a share of samples; of 0 and 1, which have none, `agreement_bound`."""
    if share in (0.0, 1.0):
        return agreement_bound(n_samples)
    return math.sqrt(share * (1.0 - share) / n_samples)
