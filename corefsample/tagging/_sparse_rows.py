"""Rows of few tags each, as models store them: a compressed sparse matrix."""

from __future__ import annotations

import numpy as np

from corefsample._arrays import Ints
from corefsample.errors import ParameterError


def require_rows(indptr: Ints, codes: Ints, n_values: int, n_rows: int, n_tags: int, name: str) -> None:
    """Raise unless arrays describe rows of tags: starts that never fall, and tags that exist.

    Parameters
    ----------
    indptr
        int64 (n_rows + 1,): where each row starts, and where the last one ends.
    codes
        int64 (n_values,): tags, in 0 to n_tags - 1, distinct within a row.
    name
        Of `codes`, for errors.
    """
    good = indptr.shape == (n_rows + 1,) and indptr[0] == 0 and indptr[-1] == codes.shape[0] == n_values
    if not good or (np.diff(indptr) < 0).any():
        raise ParameterError(f"must describe {n_rows} rows of {n_values} values", parameter="indptr")
    outside = (codes < 0) | (codes >= n_tags)
    if outside.any():
        raise ParameterError(f"must lie in 0 to {n_tags - 1}, got {codes[outside][0]}", parameter=name)
    row = np.repeat(np.arange(n_rows), np.diff(indptr))
    if np.unique(row * n_tags + codes).shape[0] < n_values:
        raise ParameterError("must be distinct within a row, got one twice", parameter=name)
