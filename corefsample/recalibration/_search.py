"""Fits of a recalibration to weighted documents, for both forms: two numbers, or these and offsets by kind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from corefsample._arrays import Floats, Ints
from corefsample._log import log_step
from corefsample.recalibration._domains import DomainEffect, estimated_domains
from corefsample.recalibration._kind_offsets import N_GLOBAL, N_PARAMETERS
from corefsample.recalibration._losses import Derivatives, Likelihood, Losses
from corefsample.recalibration._model import no_minimum
from corefsample.recalibration._newton import minimum, newton_step, quadratic_minimum
from corefsample.recalibration._refits import RecalibrationDraws
from corefsample.recalibration._surface import LossSurface, find_surface

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
        If gold does not determine them.
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
        Of the documents.
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
        Of the documents.
    start
        Returns log temperature and NEW bias of the highest likelihood of weighted documents: the search begins there,
        without offsets.
    unit
        Size of the scores.
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
        for known in (self._first, self._last):
            if known is not None and np.array_equal(known.weights, weights):
                return known
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
                others = slopes.sum(axis=0) - slope + precision * point
                step = newton_step(others, total - curvature)
                loss += float(slope @ step + step @ curvature @ step / 2)
            losses.append(loss)
        return PRIOR_SDS[int(np.argmin(losses))]


def prior_precision(sd: float) -> Floats:
    """Precision of each parameter's prior: none for temperature and bias, 1 / sd^2 for offsets."""
    precision = np.full(N_PARAMETERS, sd**-2.0)
    precision[:N_GLOBAL] = 0.0
    return precision
