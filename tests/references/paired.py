"""Comparison of two scorers from arrays of pairs, by way of the sums that the library compares."""

from typing import Any

import numpy as np
import numpy.typing as npt

from corefsample.links._calibration import LinkTables, PairedComparison, compare_links


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
    ids, codes = np.unique(documents, return_inverse=True)
    labels, none = np.asarray(y, np.uint8), np.zeros(len(codes), np.int8)
    scorers = (
        LinkTables(np.array(q, np.float64), labels, codes.astype(np.int32), none, none, tuple(ids), {}, len(ids), 0, 0)
        for q in (first, second)
    )
    return compare_links(*scorers, bin_size=bin_size, **options)
