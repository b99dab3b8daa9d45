"""Searches for the recalibration of least loss: of a temperature and a NEW bias, and of offsets by kind.

The search of two numbers replaces each document's loss, computed on a lattice of Chebyshev nodes, by the least-squares
polynomial, which makes refits very cheap. Losses add up over documents, so the fit on some of them, or on a bootstrap
sample, is the minimum of a weighted sum of the same polynomials. Sampled losses are noisy; least squares averages their
noise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from corefsample._arrays import Floats, Ints
from corefsample._log import log_step
from corefsample.recalibration._domains import DomainEffect, estimated_domains
from corefsample.recalibration._losses import Derivatives, Likelihood, Losses
from corefsample.recalibration._model import N_GLOBAL, N_PARAMETERS, Recalibration, no_minimum
from corefsample.recalibration._newton import minimum, newton_step, quadratic_change, quadratic_minimum
from corefsample.recalibration._refits import RecalibrationDraws

# Standard deviations of the offsets' normal prior that are tried; with the first, offsets hardly differ from 0.
PRIOR_SDS = (0.003, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 1.0)
_MIDDLE_SD = 0.3  # of the fit around which the others are approximated

_MORE_SAMPLES, _MOST_SAMPLES = 1000, 2000  # clusterings of a document: to choose the prior, and for the fit

# Least curvature of the mean loss: real documents have about 0.06, losses without a minimum less than 1e-8.
_LEAST_CURVATURE = 1e-6


def likeliest(likelihood: Likelihood, weights: Floats, unit: float) -> Floats:
    """Log temperature and NEW bias of the highest likelihood of weighted documents; `unit` is the size of the scores.

    Raises
    ------
    NoMinimumError
        If the gold entities do not determine the temperature and the bias.
    """
    start, no_prior = np.array([np.log(unit), 0.0]), np.zeros(N_GLOBAL)
    point, there = minimum(likelihood, weights, no_prior, start, unit=unit)
    # A likelihood without a minimum has almost no curvature where the search ends.
    if np.linalg.eigvalsh(there.total(weights)[2])[0] < _LEAST_CURVATURE * (weights @ likelihood.n_terms):
        raise no_minimum(likelihood.name)
    return quadratic_minimum(there, point, weights, no_prior)


class GlobalSearch:
    """Fits of temperature and NEW bias: exact for the likelihood, otherwise and for refits by a `LossSurface`.

    Parameters
    ----------
    losses
        Losses of the documents.
    start
        Returns log temperature and NEW bias of the highest likelihood of weighted documents.
    """

    def __init__(self, losses: Losses, start: Callable[[Floats], Floats]) -> None:
        self._losses, self._start = losses, start
        self._is_likelihood = isinstance(losses, Likelihood)

    @cached_property
    def surface(self) -> LossSurface:
        """Losses around the minimum of all documents together."""
        weights = np.ones_like(self._losses.n_terms)
        return find_surface(self._losses, self._start(weights), weights, at_minimum=self._is_likelihood)

    def fitted(self, weights: Floats) -> tuple[Floats, float | None]:
        """Log temperature and NEW bias of weighted documents; there is no prior."""
        if self._is_likelihood:
            return self._start(weights), None
        point, at_edge = self.surface.minimum(weights)
        if at_edge:  # the region of all documents together is too small for these weights
            point, _ = find_surface(self._losses, point, weights, at_minimum=False).minimum(weights)
        return point, None

    def refitted(self, weights: Floats, draws: Floats) -> RecalibrationDraws:
        """Minima of the polynomials with other weights."""
        log_step("%s: %d refits to resampled documents", self._losses.name, len(draws))
        points, at_edge = zip(*map(self.surface.minimum, draws), strict=True)
        return RecalibrationDraws.from_vectors(np.array(points), n_at_edge=sum(at_edge))


@dataclass(frozen=True, slots=True, eq=False)
class _Solution:
    """A fit: weights of the documents, parameters, the derivatives there, and standard deviation of the prior."""

    weights: Floats
    point: Floats
    there: Derivatives
    prior_sd: float


class KindSearch:
    """Fits of recalibrations by kind to weighted documents.

    Parameters
    ----------
    losses
        Losses of the documents.
    start
        Returns log temperature and NEW bias of the highest likelihood of weighted documents: the search begins there,
        without offsets.
    unit
        Size of the scores: temperatures far from it are outside the region that is searched.
    groups
        int64 (n_documents,): documents with one number are left out together when the prior is chosen.
    begin
        The likelihood by kind, from whose minimum the search continues.
    """

    def __init__(
        self,
        losses: Losses,
        start: Callable[[Floats], Floats],
        unit: float,
        groups: Ints,
        begin: Likelihood,
    ) -> None:
        self._losses, self._start, self._unit, self._groups, self._begin = losses, start, unit, groups, begin
        self._near = losses  # what a search in the neighbourhood of the first solution uses
        self._first: _Solution | None = None
        self._last: _Solution | None = None

    def fitted(self, weights: Floats) -> tuple[Floats, float | None]:
        """Parameters of weighted documents, and the prior's standard deviation."""
        solution = self._solution(weights)
        return solution.point, solution.prior_sd

    def refitted(self, weights: Floats, draws: Floats) -> RecalibrationDraws:
        """Parameters of re-weighted documents: one Newton step each from the fit to `weights`, with its prior."""
        solution = self._solution(weights)
        precision = prior_precision(solution.prior_sd)
        # One at a time, so that a draw does not depend on the number of draws, as it would in a product of matrices.
        points = [quadratic_minimum(solution.there, solution.point, draw, precision) for draw in draws]
        return RecalibrationDraws.from_vectors(np.stack(points))

    def domain_effect(self, weights: Floats, domains: Ints) -> DomainEffect:
        """How far parameters move between domains: see `estimated_domains`."""
        solution = self._solution(weights)
        precision = prior_precision(solution.prior_sd)
        return estimated_domains(solution.there, solution.point, weights, domains, precision)

    def _solution(self, weights: Floats) -> _Solution:
        for cached in (self._first, self._last):
            if cached is not None and np.array_equal(cached.weights, weights):
                return cached
        if self._first is None:
            self._first = self._searched(weights)
            return self._first
        # Losses near the first solution are known.
        first = self._first
        solution = self._found(weights, first.prior_sd, first.point)
        best = self._best_prior(solution)
        self._last = solution if best == first.prior_sd else self._found(weights, best, solution.point)
        return self._last

    def _searched(self, weights: Floats) -> _Solution:
        """The first solution, and the losses around it that all others use."""
        start = np.append(self._start(weights), np.zeros(N_PARAMETERS - N_GLOBAL))
        for losses in (self._begin, self._losses):
            start = self._minimum(losses, weights, _MIDDLE_SD, start)[0]
        self._near = self._losses.around(start, _MORE_SAMPLES)
        solution = self._found(weights, _MIDDLE_SD, start)
        best = self._best_prior(solution)
        if best != _MIDDLE_SD:
            solution = self._found(weights, best, solution.point)
        self._near = self._losses.around(solution.point, _MOST_SAMPLES)
        return self._found(weights, best, solution.point)

    def _found(self, weights: Floats, prior_sd: float, start: Floats) -> _Solution:
        return _Solution(weights.copy(), *self._minimum(self._near, weights, prior_sd, start), prior_sd)

    def _minimum(self, losses: Losses, weights: Floats, prior_sd: float, start: Floats) -> tuple[Floats, Derivatives]:
        return minimum(losses, weights, prior_precision(prior_sd), start, unit=self._unit)

    def _best_prior(self, solution: _Solution) -> float:
        """The prior's standard deviation with the lowest loss of groups that were left out, by quadratics."""
        weights, point, there = solution.weights, solution.point, solution.there
        sums = [there.total(weights * (self._groups == group)) for group in np.unique(self._groups[weights > 0])]
        if len(sums) < 2:
            return solution.prior_sd
        slopes, curvatures = np.stack([each[1] for each in sums]), np.stack([each[2] for each in sums])
        losses = []
        for prior_sd in PRIOR_SDS:
            precision = prior_precision(prior_sd)
            total, loss = np.diag(precision) + curvatures.sum(axis=0), 0.0
            for slope, curvature in zip(slopes, curvatures, strict=True):
                gradient = slopes.sum(axis=0) - slope + precision * point
                step = newton_step(gradient, total - curvature)
                loss += quadratic_change(step, slope, curvature)
            losses.append(loss)
        return PRIOR_SDS[int(np.argmin(losses))]


def prior_precision(sd: float) -> Floats:
    """Precision of each parameter's prior: none for temperature and bias, 1 / sd^2 for offsets."""
    precision = np.full(N_PARAMETERS, sd**-2.0)
    precision[:N_GLOBAL] = 0.0
    return precision


_WIDE = np.array([0.35, 0.8])  # half widths of the first search in log temperature and bias
_NARROWEST, _WIDEST = np.array([0.05, 0.1]), np.array([0.6, 1.5])

_ERRORS = 4.0  # half width of the last lattice, in standard errors of the fit
_MOVES = 20
_TOLERANCE = 1e-6  # relative difference of losses that does not count
_GRID = np.stack(np.meshgrid(*[np.linspace(-1.0, 1.0, 21)] * 2, indexing="ij"), axis=-1).reshape(-1, 2)
_ZOOMS = (0.15, 0.02, 0.003, 0.0005)


@dataclass(frozen=True, slots=True, eq=False)
class LossSurface:
    """Polynomials of each document's loss around a centre.

    Attributes
    ----------
    center, half_widths
        float64 (2,): centre and half the width of the region, in log temperature and in bias.
    coefficients
        float64 (n_terms, n_documents): coefficients of each document's polynomial, in powers of the coordinates scaled
        to [-1, 1].
    degree
        Highest total power of a term.
    """

    center: Floats
    half_widths: Floats
    coefficients: Floats
    degree: int

    @classmethod
    def around(cls, losses: Losses, center: Floats, half_widths: Floats, *, n_nodes: int, degree: int) -> LossSurface:
        """Compute the losses on n_nodes x n_nodes nodes, and fit the polynomials."""
        nodes = np.cos(np.pi * (np.arange(n_nodes) + 0.5) / n_nodes)
        lattice = np.stack(np.meshgrid(nodes, nodes, indexing="ij"), axis=-1).reshape(-1, 2)
        values = np.stack([losses.at(Recalibration.from_vector(center + half_widths * point)) for point in lattice])
        coefficients = np.asarray(np.linalg.lstsq(_powers(lattice, degree), values, rcond=None)[0], np.float64)
        return cls(center, half_widths, coefficients, degree)

    def minimum(self, weights: Floats) -> tuple[Floats, bool]:
        """Minimum of the weighted sum, and whether it lies at the edge.

        Each zoom searches a finer grid around the best point of the previous one.
        """
        summed = self.coefficients @ weights
        best = _GRID[np.argmin(_powers(_GRID, self.degree) @ summed)]
        for zoom in _ZOOMS:
            grid = np.clip(best + zoom * _GRID, -1.0, 1.0)
            best = grid[np.argmin(_powers(grid, self.degree) @ summed)]
        return self.center + self.half_widths * best, bool((np.abs(best) > 0.999).any())

    def standard_errors(self, point: Floats, weights: Floats) -> Floats:
        """Standard errors of the minimum for documents as independent draws; inf if it is not a strict minimum."""
        scaled = (point - self.center) / self.half_widths
        step = 1e-3
        offsets = step * np.array([[1, 0], [-1, 0], [0, 1], [0, -1], [1, 1], [-1, -1], [1, -1], [-1, 1], [0, 0]])
        f = _powers(scaled + offsets, self.degree) @ self.coefficients * weights
        gradients = np.stack([f[0] - f[1], f[2] - f[3]]) / (2 * step)
        along = (f[[0, 2]] + f[[1, 3]] - 2 * f[8]).sum(axis=1) / step**2
        across = (f[4] + f[5] - f[6] - f[7]).sum() / (4 * step**2)
        hessian = np.array([[along[0], across], [across, along[1]]])
        if np.linalg.eigvalsh(hessian)[0] <= 0.0:
            return np.full(2, np.inf)
        inverse = np.linalg.inv(hessian)
        variance = np.diag(inverse @ (gradients @ gradients.T) @ inverse)
        errors: Floats = np.sqrt(np.maximum(variance, 0.0)) * self.half_widths
        return errors


def find_surface(losses: Losses, start: Floats, weights: Floats, *, at_minimum: bool) -> LossSurface:
    """Compute the polynomials around the minimum, in a region wide enough for refits on bootstrapped documents.

    Parameters
    ----------
    losses
        Losses of the documents.
    start
        float64 (2,): log temperature and bias to search from.
    weights
        float64 (n_documents,), at least 0: weight of each document's loss.
    at_minimum
        True if `start` already is the minimum, so that no search is needed.

    Raises
    ------
    NoMinimumError
        If the search does not end: the losses have no minimum.
    """
    reach = _WIDE
    center, value = start, float(weights @ losses.at(Recalibration.from_vector(start)))
    for _ in range(_MOVES):
        surface = LossSurface.around(losses, center, reach, n_nodes=5, degree=3)
        point, at_edge = (start, False) if at_minimum else surface.minimum(weights)
        # A trust region: where the polynomials promise a lower loss than there is, the region is too large for them.
        # Without this, the search can jump between the two sides of a minimum for ever.
        there = value if at_minimum else float(weights @ losses.at(Recalibration.from_vector(point)))
        if there > value + _TOLERANCE * abs(value):
            reach = reach / 2.0
            continue
        if not at_edge:
            reach = np.clip(_ERRORS * surface.standard_errors(point, weights), _NARROWEST, _WIDEST)
            return LossSurface.around(losses, point, reach, n_nodes=6, degree=3 if losses.sampled else 5)
        center, value = point, there
    raise no_minimum(losses.name)


def _powers(points: Floats, degree: int) -> Floats:
    """Monomials of two coordinates up to a total power: (n_points, n_terms)."""
    x, y = (np.vander(points[:, axis], degree + 1, increasing=True) for axis in range(2))
    return np.concatenate([x[:, i : i + 1] * y[:, : degree + 1 - i] for i in range(degree + 1)], axis=1)
