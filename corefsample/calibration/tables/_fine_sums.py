"""Sums of pairs by fine bin."""

from __future__ import annotations

import numpy as np

from corefsample._arrays import Floats, Ints
from corefsample.calibration.binning import Labels


def fine_sums(keys: Ints, q: Floats, y: Labels) -> tuple[Ints, Floats]:
    """Distinct keys of pairs, ascending, and n, sum q, sum q^2, sum y and sum q y of each: (5, n_keys)."""
    distinct, places = np.arange(int(keys.max(initial=0)) + 1), keys
    if distinct.shape[0] > keys.shape[0]:  # too many for a row of each
        distinct, places = np.unique(keys, return_inverse=True)
    columns = (None, q, q * q, y, q * y)
    sums = np.array([np.bincount(places, each, distinct.shape[0]) for each in columns], np.float64)
    used = sums[0] > 0
    return distinct[used], sums[:, used]
