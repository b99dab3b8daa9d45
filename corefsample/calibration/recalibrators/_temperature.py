"""One temperature for softmax scores."""

from __future__ import annotations

import math
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample._arrays import Floats, Ints
from corefsample.calibration.binning._validation import require_all, require_length, sample_weights
from corefsample.calibration.recalibrators._base import FittedModel
from corefsample.errors import ParameterError


class TemperatureScaling(FittedModel):
    """Softmax of scores divided by one temperature, chosen by the likelihood of the gold classes.

    The mean log-likelihood is concave in 1/temperature; its slope, the gold score minus the expected score, is
    decreasing, so the root of the slope is the maximum. A temperature above 1 corrects overconfidence; it never changes
    which class scores best.

    Parameters
    ----------
    lowest, highest
        Bounds of the temperature. The best temperature is 0 for scores whose best class is always the gold one, and
        infinite for uninformative ones: the fit is then at a bound, and `at_bound_` is true.

    Attributes
    ----------
    temperature_
        float in [lowest, highest]; 1 if the temperature has no effect, as the classes of every row have equal scores.
    at_bound_
        bool: whether the likelihood is still increasing at the bound that was returned.

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
            (n, n_classes): natural-log scores, up to a constant per row (log probabilities are fine); -inf excludes
            a class.
        gold
            int (n,) in 0..n_classes - 1: the true class, never an excluded one.
        sample_weight
            (n,), at least 0 and not all 0: weight of each row.

        Returns
        -------
        Self
            The model itself, fitted.

        Raises
        ------
        ParameterError
            If there is no row, if lengths differ, or if a value or a parameter breaks its rule.
        """
        lowest, highest = (_checks.above_zero(name, getattr(self, name)) for name in ("lowest", "highest"))
        if not lowest < highest:
            raise ParameterError(f"must be above lowest ({lowest!r}), got {highest!r}", parameter="highest")
        scores = _checked_logits(logits)
        classes = _checked_gold(gold, scores)
        weights = sample_weights(sample_weight, scores.shape[0], "logits")
        positive = weights > 0.0
        scores, classes, weights = scores[positive], classes[positive], weights[positive]
        scores -= scores.max(axis=1, keepdims=True)
        self.temperature_, self.at_bound_ = _best_temperature(scores, classes, weights, lowest, highest)
        return self

    def predict(self, logits: npt.ArrayLike) -> Floats:
        """Probabilities of scores: float64 (n, n_classes), rows summing to 1; raise before `fit`."""
        self._require_fit()
        scores = _checked_logits(logits)
        scores -= scores.max(axis=1, keepdims=True)
        probs = np.exp(scores * (1.0 / self.temperature_))
        probs /= probs.sum(axis=1, keepdims=True)
        return np.asarray(probs)


def _best_temperature(scores: Floats, gold: Ints, weights: Floats, lowest: float, highest: float) -> tuple[float, bool]:
    """Most likely temperature for scores whose rows have a maximum of 0, and whether it is at a bound."""
    from scipy.optimize import brentq

    allowed = np.where(np.isneginf(scores), 0.0, scores)  # an excluded class does not contribute to an expected score
    if not allowed.any():
        return min(max(1.0, lowest), highest), False
    gold_score = float(weights @ scores[np.arange(gold.shape[0]), gold])

    raised = np.empty_like(scores)

    def slope(log_inverse: float) -> float:
        np.multiply(scores, math.exp(log_inverse), out=raised)
        np.exp(raised, out=raised)
        expected = np.einsum("nc,nc->n", raised, allowed) / raised.sum(axis=1)
        return gold_score - float(weights @ expected)

    ends = -math.log(highest), -math.log(lowest)
    if slope(ends[0]) <= 0.0:
        return highest, True
    if slope(ends[1]) >= 0.0:
        return lowest, True
    return math.exp(-brentq(slope, *ends, xtol=1e-12)), False


def _checked_logits(logits: npt.ArrayLike) -> Floats:
    array = np.asarray(logits)
    if array.ndim != 2 or array.dtype.kind not in "iuf" or array.shape[1] == 0:
        found = f"shape {array.shape} of {array.dtype}"
        raise ParameterError(f"must be numbers in (n, n_classes), got {found}", parameter="logits")
    scores = array.astype(np.float64)
    bad = np.argwhere(np.isnan(scores) | np.isposinf(scores))
    if bad.size:
        row, column = bad[0]
        value = scores[row, column]
        raise ParameterError(f"must be finite or -inf, got {value} at [{row}, {column}]", parameter="logits")
    excluded = np.flatnonzero(np.isneginf(scores).all(axis=1))
    if excluded.size:
        raise ParameterError(
            f"must have a finite score in each row, got only -inf at {excluded[0]}", parameter="logits"
        )
    return scores


def _checked_gold(gold: npt.ArrayLike, scores: Floats) -> Ints:
    classes = _checks.integers("gold", gold)
    n, n_classes = scores.shape
    require_length("gold", classes, n, "logits")
    if n == 0:
        raise ParameterError("must contain at least one row, got none", parameter="logits")
    require_all("gold", classes, (classes >= 0) & (classes < n_classes), f"be a class from 0 to {n_classes - 1}")
    finite = ~np.isneginf(scores[np.arange(n), classes])
    require_all("gold", classes, finite, "be a class of finite score")
    return classes
