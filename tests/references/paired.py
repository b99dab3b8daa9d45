"""Comparison of two scorers from arrays of pairs, by way of the sums that the library compares."""

from typing import Any

import numpy as np
import numpy.typing as npt

from corefsample.links._calibration import PairedComparison, compare_scorers


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
    scorers = ((np.asarray(q, np.float64), y, codes) for q in (first, second))
    return compare_scorers(*scorers, bin_size=bin_size, **options)
