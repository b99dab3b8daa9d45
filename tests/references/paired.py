"""Comparison of two scorers from arrays of pairs, by way of the sums that the library compares."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from corefsample.calibration._binning import block_bin_pairs
from corefsample.calibration._paired import PairedComparison, ScorerSums, compare_blocks, log_losses


def paired_comparison(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    y: npt.ArrayLike,
    documents: npt.ArrayLike,
    *,
    bin_size: int = 100,
    **options: Any,
) -> PairedComparison:
    """Compare two scorers of the same pairs; `documents` has the id of each pair's document."""
    codes = np.unique(documents, return_inverse=True)[1]
    sums = []
    for values in (first, second):
        q = np.asarray(values, np.float64)
        losses = np.bincount(codes, log_losses(q, y)).astype(np.float64)
        sums.append(ScorerSums(block_bin_pairs(q, y, codes, bin_size=bin_size), losses))
    return compare_blocks(*sums, **options)
