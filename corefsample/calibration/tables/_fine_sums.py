"""Sums of pairs by fine bin."""

from __future__ import annotations

import numpy as np

from corefsample._arrays import Floats, Ints
from corefsample.calibration.binning._kernels import Labels


def fine_sums(keys: Ints, q: Floats, y: Labels) -> tuple[Ints, Floats]:
    """Distinct keys of pairs, ascending, and n, sum q, sum q^2, sum y and sum q y of each: (5, n_keys)."""
    n_keys = int(keys.max(initial=0)) + 1
    few = n_keys <= keys.shape[0]  # so few that each can have a row, which saves a sort
    distinct, places = (np.arange(n_keys), keys) if few else np.unique(keys, return_inverse=True)
    columns = (None, q, q * q, y, q * y)
    sums = np.array([np.bincount(places, each, distinct.shape[0]) for each in columns], np.float64)
    used = sums[0] > 0
    return distinct[used], sums[:, used]
