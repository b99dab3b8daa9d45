"""Options of measures: the norm of an error, the level of an interval, the generator of its draws."""

from __future__ import annotations

from typing import Literal, cast

import numpy as np

from corefsample import _checks
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


def checked_level(level: float) -> float:
    """Return a level in (0, 1), or raise."""
    return _checks.probability("level", level, below_one=True, above_zero=True)


def generator(seed: int) -> np.random.Generator:
    """Return the generator (Philox) of a seed, or raise."""
    return np.random.Generator(np.random.Philox(_checks.seed(seed)))
