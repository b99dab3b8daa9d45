"""Recalibrators by maximum likelihood: Platt scaling, beta calibration, and temperatures of two or more classes."""

from __future__ import annotations

import math
from typing import Self

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample._arrays import Floats, Ints
from corefsample.calibration._recalibrator import FittedModel, Recalibrator
from corefsample.calibration._validation import Pairs, Ties, pooled, require_all, require_length, sample_weights
from corefsample.errors import ParameterError


class _OneTemperature(FittedModel):
    """Base of the models that are fitted by one temperature between two bounds."""

    temperature_: float
    at_bound_: bool

    def __init__(self, *, lowest: float = 0.01, highest: float = 100.0) -> None:
        self.lowest = lowest
        self.highest = highest


class TemperatureScaling(_OneTemperature):
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


_LEAST = 1e-12  # predictions are clipped to it and to 1 minus it, so that their logarithms are finite


class PlattScaling(Recalibrator):
    """A logistic curve: the log odds of the prediction, times a slope, plus an intercept; by maximum likelihood.

    Labels are smoothed as by Platt, (N1 + 1) / (N1 + 2) for a positive one and 1 / (N0 + 2) for a negative one with
    N1 and N0 the weight of each kind, so that pairs that a threshold separates, or of one label only, still have a
    finite fit. Predictions are clipped to [1e-12, 1 - 1e-12], so that log odds are finite.

    Attributes
    ----------
    slope_, intercept_
        float: 1 and 0 leave predictions unchanged; a slope below 1 corrects overconfidence.

    References
    ----------
    Platt (1999), "Probabilistic outputs for support vector machines"; Lin, Lin & Weng (2007).
    """

    slope_: float
    intercept_: float

    def _fit(self, pairs: Pairs) -> None:
        ties = pooled(pairs.q, pairs.y, pairs.weights)
        odds = _log_odds(ties.q)
        (self.slope_, self.intercept_), _ = _likeliest(np.stack([odds, np.ones_like(odds)]), ties, [1.0, 0.0])

    def _predict(self, q: Floats) -> Floats:
        return _expit(self.slope_ * _log_odds(q) + self.intercept_)


class BetaCalibration(Recalibrator):
    """A curve with log odds a * log(q) - b * log(1 - q) + c, where a and b are at least 0; by maximum likelihood.

    It is the curve of predictions with a beta distribution in each class. With a = b it is that of Platt scaling. It
    can bend the two ends of the scale differently, and it contains the identity (a = b = 1, c = 0). Labels are smoothed
    and predictions clipped as in `PlattScaling`; the paper's fit has no smoothing.

    Attributes
    ----------
    a_, b_
        float, at least 0, so that the curve never falls.
    c_
        float.

    References
    ----------
    Kull, Silva Filho & Flach (2017), "Beta calibration: a well-founded and easily implemented improvement on logistic
    calibration for binary classifiers".

    Examples
    --------
    >>> q = np.repeat([0.1, 0.5, 0.9], 1000)
    >>> y = np.concatenate([np.arange(1000) < 1000 * p for p in (0.3, 0.5, 0.9)])  # only low ones are too low
    >>> BetaCalibration().fit(q, y).predict([0.1, 0.5, 0.9]).round(2)
    array([0.3, 0.5, 0.9])
    """

    a_: float
    b_: float
    c_: float

    def _fit(self, pairs: Pairs) -> None:
        ties = pooled(pairs.q, pairs.y, pairs.weights)
        features = np.stack([*_logarithms(ties.q), np.ones_like(ties.q)])
        # The likelihood is concave: its maximum where a, b >= 0 is the best of the maxima in which some of the two are
        # 0 and the others come out positive.
        found = []
        for kept in ([0, 1, 2], [0, 2], [1, 2], [2]):
            theta, loss = _likeliest(features[kept], ties, [float(k < 2) for k in kept])
            if all(value >= 0.0 for k, value in zip(kept, theta, strict=True) if k < 2):
                found.append((loss, {**dict.fromkeys(range(3), 0.0), **dict(zip(kept, theta, strict=True))}))
        best = min(found, key=lambda each: each[0])[1]
        self.a_, self.b_, self.c_ = best[0], best[1], best[2]

    def _predict(self, q: Floats) -> Floats:
        low, high = _logarithms(q)
        return _expit(self.a_ * low + self.b_ * high + self.c_)


class BinaryTemperatureScaling(_OneTemperature, Recalibrator):
    """The log odds of the prediction divided by one temperature, chosen by the likelihood of the labels.

    It is `TemperatureScaling` of two classes, and Platt scaling without an intercept: a prediction of 1/2 stays, and
    none moves to the other side of it. Predictions are clipped as in `PlattScaling`.

    Parameters
    ----------
    lowest, highest
        Bounds of the temperature.

    Attributes
    ----------
    temperature_
        float in [lowest, highest]; above 1 it corrects overconfidence.
    at_bound_
        bool: whether the likelihood is still increasing at the bound that was returned.

    References
    ----------
    Guo, Pleiss, Sun & Weinberger (2017), "On calibration of modern neural networks", section 4.2.

    Examples
    --------
    >>> model = BinaryTemperatureScaling().fit([0.9] * 4, [1, 1, 1, 0])  # odds of 9, but 3 to 1: the square root
    >>> round(model.temperature_, 6), model.predict([0.9, 0.1]).round(6).tolist()
    (2.0, [0.75, 0.25])
    """

    def _fit(self, pairs: Pairs) -> None:
        ties = pooled(pairs.q, pairs.y, pairs.weights)
        odds = _log_odds(ties.q)
        scores = np.tile(np.stack([np.zeros_like(odds), odds], axis=1), (2, 1))
        gold = np.repeat([0, 1], odds.shape[0])
        weights = np.concatenate([ties.weights - ties.positives, ties.positives])
        fit = TemperatureScaling(lowest=self.lowest, highest=self.highest).fit(scores, gold, weights)
        self.temperature_, self.at_bound_ = fit.temperature_, fit.at_bound_

    def _predict(self, q: Floats) -> Floats:
        return _expit(_log_odds(q) / self.temperature_)


def _likeliest(features: Floats, ties: Ties, start: list[float]) -> tuple[list[float], float]:
    """Coefficients of features (n_features, n_ties) that fit Platt's smoothed labels best, and their mean loss."""
    from scipy.optimize import minimize

    total, n_positive = float(ties.weights.sum()), float(ties.positives.sum())
    high, low = (n_positive + 1.0) / (n_positive + 2.0), 1.0 / (total - n_positive + 2.0)
    share = (ties.positives * high + (ties.weights - ties.positives) * low) / ties.weights
    weights = ties.weights / total

    def loss(theta: Floats) -> tuple[float, Floats]:
        scores = theta @ features
        gradient = features @ (weights * (_expit(scores) - share))
        return float(weights @ (np.logaddexp(0.0, scores) - share * scores)), gradient

    def curvature(theta: Floats) -> Floats:
        p = _expit(theta @ features)
        return np.asarray((features * (weights * p * (1.0 - p))) @ features.T)

    found = minimize(loss, np.array(start), jac=True, hess=curvature, method="trust-ncg", tol=1e-10)
    return [float(value) for value in found.x], float(found.fun)


def _logarithms(q: Floats) -> tuple[Floats, Floats]:
    """Of q, and minus that of 1 - q."""
    inside = np.clip(q, _LEAST, 1.0 - _LEAST)
    return np.log(inside), -np.log1p(-inside)


def _log_odds(q: Floats) -> Floats:
    from scipy.special import logit

    return np.asarray(logit(np.clip(q, _LEAST, 1.0 - _LEAST)))


def _expit(scores: Floats) -> Floats:
    from scipy.special import expit

    return np.asarray(expit(scores))
