"""Recalibrators that are logistic curves of the prediction: Platt scaling, beta calibration, binary temperature."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from corefsample._arrays import Floats
from corefsample.calibration.binning._validation import Pairs, Ties, pooled
from corefsample.calibration.recalibrators._base import Recalibrator
from corefsample.calibration.recalibrators._temperature import TemperatureScaling

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

    _fitted: ClassVar[tuple[str, ...]] = ("slope_", "intercept_")

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
    >>> from corefsample.calibration import BetaCalibration
    >>> q = np.repeat([0.1, 0.5, 0.9], 1000)
    >>> y = np.concatenate([np.arange(1000) < 1000 * p for p in (0.3, 0.5, 0.9)])  # only low ones are too low
    >>> BetaCalibration().fit(q, y).predict([0.1, 0.5, 0.9]).round(2)
    array([0.3, 0.5, 0.9])
    """

    _fitted: ClassVar[tuple[str, ...]] = ("a_", "b_", "c_")

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


class BinaryTemperatureScaling(Recalibrator):
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
    >>> from corefsample.calibration import BinaryTemperatureScaling
    >>> model = BinaryTemperatureScaling().fit([0.9] * 4, [1, 1, 1, 0])  # odds of 9, but 3 to 1: the square root
    >>> round(model.temperature_, 6), model.predict([0.9, 0.1]).round(6).tolist()
    (2.0, [0.75, 0.25])
    """

    _fitted: ClassVar[tuple[str, ...]] = ("temperature_", "at_bound_")

    temperature_: float
    at_bound_: bool

    def __init__(self, *, lowest: float = 0.01, highest: float = 100.0) -> None:
        self.lowest = lowest
        self.highest = highest

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
