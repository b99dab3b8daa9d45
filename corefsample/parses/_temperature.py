"""The temperature of sampled parses with the best score, and its interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample._arrays import Floats
from corefsample.errors import ParameterError


@dataclass(frozen=True, slots=True, eq=False)
class TemperatureFit:
    """A fitted temperature.

    Attributes
    ----------
    temperature
        With the highest score.
    lower, upper
        Ends of a percentile bootstrap interval over documents, of level `level`; None with one document.
    level
        In (0, 1).
    temperatures
        float64 (n_temperatures,): those that were tried.
    scores
        float64 (n_temperatures,): their scores, summed over all documents; higher is better.
    """

    temperature: float
    lower: float | None
    upper: float | None
    level: float
    temperatures: Floats
    scores: Floats

    @property
    def is_at_end(self) -> bool:
        """Whether the best is the lowest or highest that was tried, so that one beyond may be better."""
        return int(np.argmax(self.scores)) in (0, len(self.temperatures) - 1)


def fit_temperature(
    scores: npt.ArrayLike,
    temperatures: Sequence[float],
    *,
    level: float = 0.95,
    n_resamples: int = 2000,
    seed: int = 0,
) -> TemperatureFit:
    """Temperature with the highest score, between those that were tried.

    A parabola through the best one and its neighbours, in the logarithm of the temperature, gives the maximum. The
    interval resamples documents.

    Parameters
    ----------
    scores
        (n_documents, n_temperatures): sum over each document at each temperature, such as of `gold_score`.
    temperatures
        At least 3, ascending, above 0.
    level
        Of the interval, in (0, 1).
    n_resamples
        At least 2.
    seed
        In [0, 2**64).

    Raises
    ------
    ParameterError
        If a parameter breaks its rule.
    """
    tried = _checks.floats("temperatures", temperatures)
    if len(tried) < 3 or np.any(tried <= 0) or np.any(np.diff(tried) <= 0):
        raise ParameterError(f"must be at least 3, ascending, above 0, got {tried.tolist()}", parameter="temperatures")
    table = np.asarray(scores, np.float64)
    if table.ndim != 2 or table.shape[1] != len(tried) or not len(table) or not np.all(np.isfinite(table)):
        rule = f"must be finite numbers (n_documents, {len(tried)}) of at least one document"
        raise ParameterError(f"{rule}, got shape {table.shape}", parameter="scores")
    _checks.probability("level", level, below_one=True, above_zero=True)
    n_resamples = _checks.whole("n_resamples", n_resamples, 2)
    lower = upper = None
    if len(table) > 1:
        generator = np.random.Generator(np.random.Philox(_checks.seed(seed)))
        weights = generator.multinomial(len(table), np.full(len(table), 1 / len(table)), n_resamples)
        fits = _best(weights @ table, tried)
        lower, upper = (float(end) for end in np.quantile(fits, [(1 - level) / 2, (1 + level) / 2]))
    total = table.sum(axis=0)
    return TemperatureFit(float(_best(total[None], tried)[0]), lower, upper, level, tried, total)


def _best(totals: Floats, tried: Floats) -> Floats:
    """Temperature at the top of a parabola through the highest of each row and its neighbours."""
    x = np.log(tried)
    middle = np.clip(np.argmax(totals, axis=1), 1, len(x) - 2)
    rows = np.arange(len(totals))
    left, right = x[middle] - x[middle - 1], x[middle + 1] - x[middle]
    fall_left = totals[rows, middle] - totals[rows, middle - 1]
    fall_right = totals[rows, middle] - totals[rows, middle + 1]
    curvature = fall_left * right + fall_right * left
    shift = np.where(
        curvature > 0, (fall_left * right**2 - fall_right * left**2) / (2 * np.where(curvature > 0, curvature, 1)), 0.0
    )
    top = np.clip(x[middle] + shift, x[0], x[-1])
    flat = curvature <= 0  # no top between them: the highest
    top[flat] = x[np.argmax(totals[flat], axis=1)]
    temperatures: Floats = np.exp(top)
    return temperatures
