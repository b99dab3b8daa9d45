"""One temperature for softmax scores."""

from __future__ import annotations

import math
import numbers
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample.calibration.binning import FloatArray, require_as_many, sample_weights
from corefsample.calibration.recalibrators._base import FittedModel, require_finite
from corefsample.errors import ParameterError

__all__ = ["TemperatureScaling"]


class TemperatureScaling(FittedModel):
    """Softmax of scores divided by one temperature, chosen by the likelihood of the gold classes.

    The mean log-likelihood is concave in 1/temperature; its slope, the gold score less the expected score, falls
    steadily, so the root of the slope is the maximum. A temperature above 1 answers overconfidence; it never changes
    which class scores best.

    Parameters
    ----------
    lowest, highest
        Where the temperature is sought. Scores whose best class is always the gold one want a temperature of 0,
        useless ones want infinity: they end at these bounds, and `at_bound_` says so.

    Attributes
    ----------
    temperature_
        float in [lowest, highest]; 1 where every row scores its classes alike, so that nothing depends on it.
    at_bound_
        bool: whether the likelihood would still rise beyond the bound that was returned.

    References
    ----------
    Guo, Pleiss, Sun & Weinberger (2017), "On calibration of modern neural networks", section 4.2.

    Examples
    --------
    >>> scores = np.log([[0.9, 0.1]] * 4)  # odds of 9, but right 3 times in 4: odds of 3, the square root
    >>> model = TemperatureScaling().fit(scores, [0, 0, 0, 1])
    >>> round(model.temperature_, 6), model.predict(scores)[0].round(6).tolist()
    (2.0, [0.75, 0.25])
    """

    _fitted: ClassVar[tuple[str, ...]] = ("temperature_", "at_bound_")

    temperature_: float
    at_bound_: bool

    def __init__(self, *, lowest: float = 0.01, highest: float = 100.0) -> None:
        self.lowest = lowest
        self.highest = highest

    def fit(self, logits: npt.ArrayLike, gold: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Fit to scores and gold classes.

        Parameters
        ----------
        logits
            (n, n_classes): natural-log scores, up to a constant a row (log probabilities will do); -inf rules a class
            out.
        gold
            int (n,) in 0..n_classes - 1: the class that came true, never one ruled out.
        sample_weight
            (n,), at least 0 and not all 0: what each row counts for.

        Returns
        -------
        Self
            The model itself, fitted.

        Raises
        ------
        ParameterError
            If there is no row, if lengths differ, or if a value or a parameter breaks its rule.
        """
        self._require_bounds()
        scores = _checked_logits(logits)
        classes = _checked_gold(gold, scores)
        weights = sample_weights(sample_weight, scores.shape[0], "logits")
        counted = weights > 0.0
        scores, classes, weights = scores[counted], classes[counted], weights[counted]
        scores -= scores.max(axis=1, keepdims=True)
        self.temperature_, self.at_bound_ = _best_temperature(
            scores, classes, weights, float(self.lowest), float(self.highest)
        )
        return self

    def predict(self, logits: npt.ArrayLike) -> FloatArray:
        """Probabilities of scores: float64 (n, n_classes), rows summing to 1; refused before `fit`."""
        self._require_fit()
        scores = _checked_logits(logits)
        scores -= scores.max(axis=1, keepdims=True)
        return _softmax(scores, 1.0 / self.temperature_)

    def _require_bounds(self) -> None:
        for name in ("lowest", "highest"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, numbers.Real) or not 0.0 < float(value) < math.inf:
                raise ParameterError(f"{name} must be finite and above 0, got {value!r}")
        if not self.lowest < self.highest:
            raise ParameterError(f"highest must be above lowest ({self.lowest!r}), got {self.highest!r}")

    def _check_fit(self) -> None:
        require_finite("TemperatureScaling", self.temperature_)
        if not self.temperature_ > 0.0 or not isinstance(self.at_bound_, bool):
            raise ParameterError(f"fitted of TemperatureScaling must be above 0, got {self.temperature_!r}")


def _best_temperature(
    scores: FloatArray, gold: npt.NDArray[np.int64], weights: FloatArray, lowest: float, highest: float
) -> tuple[float, bool]:
    """Temperature of the greatest likelihood for scores whose rows have a maximum of 0, and whether it is a bound."""
    from scipy.optimize import brentq

    allowed = np.where(np.isneginf(scores), 0.0, scores)  # a class ruled out has no part in an expected score
    if not allowed.any():
        return min(max(1.0, lowest), highest), False
    reached = float(weights @ scores[np.arange(gold.shape[0]), gold])

    raised = np.empty_like(scores)

    def slope(log_inverse: float) -> float:
        np.multiply(scores, math.exp(log_inverse), out=raised)
        np.exp(raised, out=raised)
        expected = np.einsum("nc,nc->n", raised, allowed) / raised.sum(axis=1)
        return reached - float(weights @ expected)

    ends = -math.log(highest), -math.log(lowest)
    if slope(ends[0]) <= 0.0:
        return highest, True
    if slope(ends[1]) >= 0.0:
        return lowest, True
    return math.exp(-brentq(slope, *ends, xtol=1e-12)), False


def _softmax(scores: FloatArray, inverse: float) -> FloatArray:
    raised = np.exp(scores * inverse)
    raised /= raised.sum(axis=1, keepdims=True)
    return raised


def _checked_logits(logits: npt.ArrayLike) -> FloatArray:
    array = np.asarray(logits)
    if array.ndim != 2 or array.dtype.kind not in "iuf" or array.shape[1] == 0:
        raise ParameterError(f"logits must be numbers in (n, n_classes), got shape {array.shape} of {array.dtype}")
    scores = array.astype(np.float64)
    bad = np.argwhere(np.isnan(scores) | np.isposinf(scores))
    if bad.size:
        row, column = bad[0]
        raise ParameterError(f"logits must be finite or -inf, got {scores[row, column]} at [{row}, {column}]")
    lost = np.flatnonzero(np.isneginf(scores).all(axis=1))
    if lost.size:
        raise ParameterError(f"logits must leave each row a class, got a row of -inf at {lost[0]}")
    return scores


def _checked_gold(gold: npt.ArrayLike, scores: FloatArray) -> npt.NDArray[np.int64]:
    classes = _checks.integers("gold", gold)
    require_as_many("gold", classes, scores.shape[0], "logits")
    if classes.shape[0] == 0:
        raise ParameterError("logits must hold at least one row, got none")
    outside = np.flatnonzero((classes < 0) | (classes >= scores.shape[1]))
    if outside.size:
        k = int(outside[0])
        raise ParameterError(f"gold must be a class from 0 to {scores.shape[1] - 1}, got {classes[k]} at index {k}")
    impossible = np.flatnonzero(np.isneginf(scores[np.arange(classes.shape[0]), classes]))
    if impossible.size:
        raise ParameterError(f"gold must be a class of finite score, got one of -inf at index {impossible[0]}")
    return classes
