"""Minimum of weighted losses with derivatives, by Newton's method."""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from corefsample._arrays import Floats
from corefsample._log import log_step
from corefsample.recalibration._losses import Derivatives, Losses
from corefsample.recalibration._model import LOG_TEMPERATURE, NEW_BIAS, Recalibration, no_minimum

# The search ends where there is no minimum: log temperature relative to the size of the scores, and NEW bias.
_FURTHEST = np.array([float(np.log(1e3)), 50.0])
_LONGEST = np.array([1.0, 3.0])  # a step in both
_STEPS = 60
_MOST_DAMPING, _NOISE_DAMPING = 1e8, 1.0  # of steps that fail, before the search ends: without noise, and with it


def minimum(
    losses: Losses,
    weights: Floats,
    precision: Floats,
    start: Floats,
    *,
    unit: float = 1.0,
) -> tuple[Floats, Derivatives]:
    """Minimum of the weighted losses plus half the precision-weighted squares of the parameters.

    Newton's method with damping (Levenberg-Marquardt): a step that does not reduce the sum is tried again with more
    damping, which makes it shorter and turns it towards the gradient, so the search cannot oscillate. With sampled
    losses it ends after a few such trials: near the minimum their noise exceeds what a step can gain.

    Parameters
    ----------
    losses
        Losses of the documents.
    weights
        float64 (n_documents,), at least 0: weight of each document's loss.
    precision
        float64 (n_parameters,), at least 0: precision of the normal prior of each parameter around 0.
    start
        float64 (n_parameters,): parameters at which the search begins.
    unit
        Size of the scores: temperatures far from it are outside the region that is searched. 1 by default.

    Returns
    -------
    tuple
        Parameters of the minimum, and the derivatives of the losses there.

    Raises
    ------
    NoMinimumError
        If the search leaves the region of sensible temperatures and biases, because the losses have no minimum.
    """
    point, here = start, losses.derivatives(Recalibration.from_vector(start))
    tolerance = 1e-4 if losses.sampled else 1e-9
    damping = 0.0
    for step_number in range(_STEPS):
        value, slope, curvature = _penalised(here, weights, precision, point)
        step = newton_step(slope, curvature, damping)
        step /= max(1.0, float((np.abs(step[[LOG_TEMPERATURE, NEW_BIAS]]) / _LONGEST).max()))
        expected = -quadratic_change(step, slope, curvature)
        if expected <= tolerance * max(abs(value), 1e-300):
            return point, here
        trial = point + step
        if (np.abs(trial[[LOG_TEMPERATURE, NEW_BIAS]] - [np.log(unit), 0.0]) > _FURTHEST).any():
            raise no_minimum(losses.name)
        there = losses.derivatives(Recalibration.from_vector(trial))
        log_step("%s: step %d of the fit", losses.name, step_number + 1)
        gain = value - _penalised(there, weights, precision, trial)[0]
        if gain > 0.0:
            point, here = trial, there
            damping = 0.0 if gain > 0.25 * expected else damping
        else:
            damping = max(8.0 * damping, 0.1)
        if damping > (_NOISE_DAMPING if losses.sampled else _MOST_DAMPING):
            return point, here
    return point, here


def quadratic_change(step: Floats, slope: Floats, curvature: Floats) -> float:
    """Change of a quadratic by a step."""
    return float(slope @ step + step @ curvature @ step / 2)


def _penalised(at: Derivatives, weights: Floats, precision: Floats, point: Floats) -> tuple[float, Floats, Floats]:
    loss, slope, curvature = at.total(weights)
    return loss + float(precision @ point**2) / 2, slope + precision * point, curvature + np.diag(precision)


def newton_step(slope: Floats, curvature: Floats, damping: float = 0.0) -> Floats:
    """Step to the minimum of a damped quadratic; directions of negative curvature go downhill."""
    if damping == 0.0:
        with suppress(np.linalg.LinAlgError):  # not positive definite
            np.linalg.cholesky(curvature)
            return np.asarray(-np.linalg.solve(curvature, slope))
    sizes = np.abs(np.diag(curvature))  # negative far from a minimum
    scale = np.sqrt(np.maximum(sizes, max(1e-6 * float(sizes.max()), 1e-12)))
    values, directions = np.linalg.eigh(curvature / np.outer(scale, scale))
    values = np.maximum(np.abs(values), 1e-10) + damping
    step: Floats = -(directions @ ((directions.T @ (slope / scale)) / values)) / scale
    return step


def quadratic_minimum(at: Derivatives, point: Floats, weights: Floats, precision: Floats) -> Floats:
    """Minimum of the quadratic approximation of weighted losses and penalty: one Newton step from a point."""
    _, slope, curvature = _penalised(at, weights, precision, point)
    return point + newton_step(slope, curvature)
