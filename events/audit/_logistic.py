"""Logistic regression with weights, an L2 penalty and coefficients that may be bound to be at least 0."""

from __future__ import annotations

import numpy as np

from corefsample._arrays import Bools, Floats

_MOST_STEPS = 60
_TOLERANCE = 1e-6  # of the projected gradient, in labels
_INTERCEPT = 1e-4  # penalty of the intercept, so that it stays finite where all labels are alike
_THINNING = 3  # steps of the chain for each draw


class LogisticRegression:
    """The weighted negative log likelihood of labels plus half the penalised sum of squares of the coefficients.

    Coefficients are float64 (1 + n_features,): the intercept, and those of the features.

    Parameters
    ----------
    x, y, weights
        Features (n, n_features), labels from 0 to 1, and weights (n,).
    penalty
        Of the distance of each coefficient from its centre, above 0; the intercept has almost none.
    rises
        (n_features,): whether the coefficient must be at least 0.
    centre
        float64 (n_features,): what the penalty draws the coefficients to.
    """

    def __init__(self, x: Floats, y: Floats, weights: Floats, penalty: float, rises: Bools, centre: Floats) -> None:
        self._x = np.column_stack([np.ones(len(x)), x])
        self._y, self._weights = y, weights
        self._bound = np.concatenate([[False], rises])
        self._centre = np.concatenate([[0.0], centre])
        self._penalties = np.concatenate([[_INTERCEPT], np.full(len(centre), penalty)])

    def _loss(self, beta: Floats) -> float:
        z, distances = self._x @ beta, beta - self._centre
        return float(self._weights @ (np.logaddexp(0.0, z) - self._y * z) + 0.5 * self._penalties @ distances**2)

    def _hessian(self, p: Floats, free: Bools | slice = slice(None)) -> Floats:
        own = self._x[:, free]
        hessian: Floats = (own.T * (self._weights * p * (1.0 - p))) @ own
        hessian[np.diag_indices_from(hessian)] += self._penalties[free]
        return hessian

    def fitted(self, start: Floats | None = None) -> Floats:
        """The coefficients of the least loss, from these or from their centre.

        Newton's method on the coefficients that are not at their bound (Bertsekas 1982, "Projected Newton methods for
        optimization problems with simple constraints", SIAM Journal on Control and Optimization 20).
        """
        beta = (self._centre if start is None else start).copy()
        value = self._loss(beta)
        for _ in range(_MOST_STEPS):
            p = sigmoid(self._x @ beta)
            gradient = self._x.T @ (self._weights * (p - self._y)) + self._penalties * (beta - self._centre)
            free = ~(self._bound & (beta <= 0.0) & (gradient > 0.0))
            if np.abs(gradient[free]).max() < _TOLERANCE:
                break
            step = np.zeros_like(beta)
            step[free] = np.linalg.solve(self._hessian(p, free), gradient[free])
            size = 1.0
            while True:
                tried = beta - size * step
                tried[self._bound] = np.maximum(tried[self._bound], 0.0)
                lower = self._loss(tried)
                if lower <= value - 1e-4 * float(gradient @ (beta - tried)) or size < 1e-8:
                    break
                size *= 0.5
            if not lower < value:
                break
            beta, value = tried, lower
        return beta

    def draws(self, n_draws: int, rng: np.random.Generator) -> Floats:
        """Draws of the coefficients from their posterior, whose prior is the penalty; those bound to rise stay so.

        Elliptical slices of the normal distribution at the mode, each accepted by the exact posterior: a normal
        approximation alone gives P near 0 far too much room upwards, where no label says yes.

        Returns
        -------
        float64 (n_draws, 1 + n_features)

        References
        ----------
        Nishihara, Murray & Adams (2014), "Parallel MCMC with generalized elliptical slice sampling", JMLR 15,
        section 3.
        """
        mode = self.fitted()
        lower = np.linalg.cholesky(self._hessian(sigmoid(self._x @ mode)))
        spread, root = np.linalg.inv(lower).T, lower.T  # of the normal distribution: its covariance's root, and inverse

        def log_ratio(beta: Floats) -> float:
            """Log posterior less that of the normal distribution."""
            if (beta[self._bound] < 0.0).any():
                return -np.inf
            return 0.5 * float(((root @ (beta - mode)) ** 2).sum()) - self._loss(beta)

        beta, value = mode.copy(), log_ratio(mode)
        draws = np.empty((n_draws, len(mode)))
        for step in range(n_draws * _THINNING):
            other = spread @ rng.standard_normal(len(mode))
            least = value + np.log(rng.random())
            angle = 2.0 * np.pi * rng.random()
            low, high = angle - 2.0 * np.pi, angle
            while True:
                tried = mode + (beta - mode) * np.cos(angle) + other * np.sin(angle)
                ratio = log_ratio(tried)
                if ratio > least or high - low < 1e-12:
                    break
                low, high = (angle, high) if angle < 0.0 else (low, angle)
                angle = low + (high - low) * rng.random()
            if ratio > least:
                beta, value = tried, ratio
            draws[step // _THINNING] = beta
        return draws


def sigmoid(z: Floats) -> Floats:
    """1 / (1 + exp(-z))."""
    from scipy.special import expit

    p: Floats = expit(z)
    return p
