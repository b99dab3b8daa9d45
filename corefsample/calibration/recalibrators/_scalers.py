"""Recalibrators with a continuous range: isotonic regression and Platt scaling."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from corefsample._arrays import Floats
from corefsample.calibration.binning._pairs import Pairs, isotonic_blocks, pooled
from corefsample.calibration.recalibrators._base import Recalibrator, fixed


class IsotonicRecalibration(Recalibrator):
    """The non-decreasing function of the prediction with the least squared error, interpolated linearly.

    Pairs of equal prediction are pooled, so the order of rows cannot change the result. Between two fitted predictions
    the value is interpolated linearly (as by Kranzlein, Liu & Schneider; CORP's own curve is a step function); outside
    them it is that of the nearest one, never NaN.

    Attributes
    ----------
    q_
        float64 (n_knots,), ascending: the first and the last fitted prediction of each block of constant value.
    values_
        float64 (n_knots,) in [0, 1], non-decreasing: the values there.

    References
    ----------
    Zadrozny & Elkan (2002); Kranzlein, Liu & Schneider (2021), section 2.2.

    Examples
    --------
    >>> IsotonicRecalibration().fit([0.2, 0.4, 0.6, 0.8], [0, 1, 0, 1]).predict([0.0, 0.3, 0.5, 1.0])
    array([0.  , 0.25, 0.5 , 1.  ])
    """

    _fitted: ClassVar[tuple[str, ...]] = ("q_", "values_")

    q_: Floats
    values_: Floats

    def _fit(self, pairs: Pairs) -> None:
        ties = pooled(pairs.q, pairs.y, pairs.weights)
        starts, means = isotonic_blocks(ties)
        ends = np.append(starts[1:], ties.q.shape[0]) - 1
        knots, first = np.unique(np.stack([starts, ends], axis=1).ravel(), return_index=True)
        self.q_ = fixed(ties.q[knots])
        self.values_ = fixed(np.repeat(means, 2)[first])

    def _predict(self, q: Floats) -> Floats:
        return np.asarray(np.interp(q, self.q_, self.values_))


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
        from scipy.optimize import minimize
        from scipy.special import expit

        ties = pooled(pairs.q, pairs.y, pairs.weights)
        total = float(ties.weights.sum())
        n_positive = float(ties.positives.sum())
        high, low = (n_positive + 1.0) / (n_positive + 2.0), 1.0 / (total - n_positive + 2.0)
        share = (ties.positives * high + (ties.weights - ties.positives) * low) / ties.weights
        weights = ties.weights / total
        odds = _log_odds(ties.q)
        design = np.stack([odds, np.ones_like(odds)])

        def loss(theta: Floats) -> tuple[float, Floats]:
            scores = theta @ design
            gradient = design @ (weights * (expit(scores) - share))
            return float(weights @ (np.logaddexp(0.0, scores) - share * scores)), gradient

        def curvature(theta: Floats) -> Floats:
            p = expit(theta @ design)
            return np.asarray((design * (weights * p * (1.0 - p))) @ design.T)

        found = minimize(loss, np.array([1.0, 0.0]), jac=True, hess=curvature, method="trust-ncg", tol=1e-10)
        self.slope_, self.intercept_ = (float(value) for value in found.x)

    def _predict(self, q: Floats) -> Floats:
        from scipy.special import expit

        return np.asarray(expit(self.slope_ * _log_odds(q) + self.intercept_))


def _log_odds(q: Floats) -> Floats:
    from scipy.special import logit

    return np.asarray(logit(np.clip(q, 1e-12, 1.0 - 1e-12)))
