"""Slow, obvious versions of learning from labels: minimisation by scipy, convolutions, sums over strata in loops."""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

Floats = npt.NDArray[np.float64]


def penalised_loss(
    beta: Sequence[float], x: Floats, y: Floats, weights: Floats, penalty: float, centre: Floats
) -> float:
    """Weighted negative log likelihood plus half the penalised squares, document by document."""
    loss = 0.5e-4 * beta[0] ** 2 + 0.5 * penalty * sum((b - c) ** 2 for b, c in zip(beta[1:], centre, strict=True))
    for row, label, weight in zip(x, y, weights, strict=True):
        z = beta[0] + sum(b * value for b, value in zip(beta[1:], row, strict=True))
        loss -= weight * math.log(1.0 / (1.0 + math.exp(-z if label else z)))
    return float(loss)


def fitted(x: Floats, y: Floats, weights: Floats, penalty: float, rises: Sequence[bool], centre: Floats) -> Floats:
    """Coefficients of the least loss, by a general optimiser with bounds."""
    bounds = [(None, None), *((0.0 if each else None, None) for each in rises)]
    start = np.maximum(np.concatenate([[0.0], centre]), 0.0)
    arguments = (x, y, weights, penalty, centre)
    found = minimize(penalised_loss, start, arguments, "L-BFGS-B", bounds=bounds, options={"ftol": 1e-14})
    return np.asarray(found.x)


def sum_pmf(p: Sequence[float]) -> Floats:
    """Distribution of the number of yes among independent documents, by convolution."""
    pmf = np.array([1.0])
    for each in p:
        pmf = np.convolve(pmf, [1.0 - each, each])
    return pmf


def conditional_pmf(inside: Sequence[float], outside: Sequence[float], total: int) -> Floats:
    """Distribution of the number of yes inside, given that inside and outside together have a total."""
    own, other = sum_pmf(inside), sum_pmf(outside)
    pmf = np.array([own[k] * other[total - k] if 0 <= total - k < len(other) else 0.0 for k in range(len(own))])
    return np.asarray(pmf / pmf.sum())


def difference_estimate(
    strata: Sequence[int], rows: Sequence[int], y: Sequence[float], p: Sequence[float]
) -> tuple[float, float]:
    """Estimate and variance of the difference estimator, stratum by stratum, with half a label of each kind more."""
    estimate, variance = float(sum(p)), 0.0
    for h in set(strata):
        members = [d for d, stratum in enumerate(strata) if stratum == h]
        errors = [label - p[d] for d, label in zip(rows, y, strict=True) if strata[d] == h]
        size, n = len(members), len(errors)
        mean = sum(errors) / n
        share = sum(p[d] for d in members) / size
        squares = sum((e - mean) ** 2 for e in errors) + 0.5 * (1 - share) ** 2 + 0.5 * share**2
        estimate += size * mean
        variance += size**2 * (1 - n / size) * squares / (n - 1 + 1) / n
    return estimate, variance
