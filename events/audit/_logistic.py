"""Logistic regression with weights, an L2 penalty and coefficients that may be bound to be at least 0."""

from __future__ import annotations

import numpy as np

from corefsample._arrays import Bools, Floats

_MOST_STEPS = 60
_TOLERANCE = 1e-6  # of the projected gradient, in labels
_LEAST_PENALTY = 1e-4  # of the intercept, so that it stays finite where all labels are alike


def fit_logistic(
    x: Floats,
    y: Floats,
    weights: Floats,
    penalty: float,
    rises: Bools,
    *,
    centre: Floats | None = None,
    start: Floats | None = None,
) -> Floats:
    """Coefficients that minimise the weighted negative log likelihood plus half the penalised sum of squares.

    Newton's method on the coefficients that are not at their bound (Bertsekas 1982, "Projected Newton methods for
    optimization problems with simple constraints", SIAM Journal on Control and Optimization 20).

    Parameters
    ----------
    x, y, weights
        Features (n, n_features), labels from 0 to 1, and weights (n,).
    penalty
        Of the distance of each coefficient from its centre, above 0; the intercept has none.
    rises
        (n_features,): whether the coefficient must be at least 0.
    centre
        float64 (n_features,): what the penalty draws the coefficients to; None: 0.
    start
        Coefficients to begin with, intercept included.

    Returns
    -------
    float64 (1 + n_features,)
        The intercept, and the coefficients.
    """
    design = np.column_stack([np.ones(len(x)), x])
    bound = np.concatenate([[False], rises])
    penalties = np.full(design.shape[1], penalty)
    penalties[0] = _LEAST_PENALTY
    middle = np.concatenate([[0.0], np.zeros(x.shape[1]) if centre is None else centre])
    beta = middle.copy() if start is None else start.copy()

    def loss(beta: Floats) -> float:
        z = design @ beta
        return float(weights @ (np.logaddexp(0.0, z) - y * z) + 0.5 * penalties @ (beta - middle) ** 2)

    value = loss(beta)
    for _ in range(_MOST_STEPS):
        p = sigmoid(design @ beta)
        gradient = design.T @ (weights * (p - y)) + penalties * (beta - middle)
        free = ~(bound & (beta <= 0.0) & (gradient > 0.0))
        if np.abs(gradient[free]).max() < _TOLERANCE:
            break
        own = design[:, free]
        hessian = (own.T * (weights * p * (1.0 - p))) @ own
        hessian[np.diag_indices_from(hessian)] += penalties[free]
        step = np.zeros_like(beta)
        step[free] = np.linalg.solve(hessian, gradient[free])
        size = 1.0
        while True:
            tried = beta - size * step
            tried[bound] = np.maximum(tried[bound], 0.0)
            lower = loss(tried)
            if lower <= value - 1e-4 * float(gradient @ (beta - tried)) or size < 1e-8:
                break
            size *= 0.5
        if not lower < value:
            break
        beta, value = tried, lower
    return beta


def sigmoid(z: Floats) -> Floats:
    """1 / (1 + exp(-z))."""
    from scipy.special import expit

    p: Floats = expit(z)
    return p
