"""Norms of a binned error: which there are, and the error of the bins' gaps."""

from __future__ import annotations

import math
from typing import Literal, cast

import numpy as np

from corefsample import _checks
from corefsample._arrays import Floats, Ints
from corefsample.errors import ParameterError

Norm = Literal["rms", "mse", "l1", "max"]
NORMS: tuple[Norm, ...] = ("rms", "mse", "l1", "max")
SQUARED: tuple[Norm, ...] = ("rms", "mse")


def checked_norm(norm: str, squared_for: str | None = None) -> Norm:
    """Return the norm, or raise if it is unknown, or not a squared one where `squared_for` gives a reason for that."""
    _checks.choice("norm", norm, NORMS)
    if squared_for is not None and norm not in SQUARED:
        raise ParameterError(f"must be one of {', '.join(SQUARED)} {squared_for}, got {norm!r}", parameter="norm")
    return cast("Norm", norm)


def error_of_gaps(gaps: Floats, n: Ints, norm: Norm, noise: Floats | float = 0.0) -> float:
    """Error of bins of `n` pairs from their gaps, mean prediction less share of positives, (n_bins,) each.

    `noise` is the sampling variance of each gap, which is subtracted from its square.
    """
    if norm == "max":
        return float(np.abs(gaps).max())
    weights = n / n.sum()
    if norm == "l1":
        return float(weights @ np.abs(gaps))
    square = float(weights @ (gaps * gaps - noise))
    return square if norm == "mse" else math.sqrt(max(square, 0.0))
