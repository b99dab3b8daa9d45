"""Recalibration by kind: its fit, the strength of its prior, refits, and how its parameters differ between domains."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np

from corefsample import _checks
from corefsample._arrays import Floats, Ints
from corefsample.errors import ParameterError
from corefsample.recalibration._derivatives import Derivatives, Differentiable, minimum, newton_step, quadratic_minimum
from corefsample.recalibration._gradient_losses import GradientLosses
from corefsample.recalibration._kind_offsets import (
    LINK_OFFSETS,
    LOG_TEMPERATURE,
    N_GLOBAL,
    N_PARAMETERS,
    NEW_BIAS,
    NEW_OFFSETS,
)
from corefsample.recalibration._model import Recalibration

# Standard deviations of the offsets' normal prior that are tried; with the first, offsets hardly differ from 0.
PRIOR_SDS = (0.003, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 1.0)
_MIDDLE_SD = 0.3  # of the fit around which the others are approximated
_MORE_SAMPLES, _MOST_SAMPLES = 1000, 2000  # clusterings of a document: to choose the prior, and for the fit
BLOCKS = {
    "log_temperature": slice(LOG_TEMPERATURE, LOG_TEMPERATURE + 1),
    "new_bias": slice(NEW_BIAS, NEW_BIAS + 1),
    "new_offsets": slice(NEW_OFFSETS, LINK_OFFSETS),
    "link_offsets": slice(LINK_OFFSETS, N_PARAMETERS),
}
FEWEST_DOMAINS = 3  # whose differences can be estimated
_ROUNDS = 300  # of the estimation of the domains' variances


@dataclass(frozen=True, slots=True)
class DomainEffect:
    """How far the parameters of a recalibration by kind move from one domain (such as a genre) to another.

    A domain's parameters are normal around those of all domains, with one standard deviation for each group of
    parameters.

    Attributes
    ----------
    log_temperature, new_bias, new_offsets, link_offsets
        Standard deviations, at least 0.
    n_domains
        Domains that they are estimated from.
    """

    log_temperature: float
    new_bias: float
    new_offsets: float
    link_offsets: float
    n_domains: int

    @classmethod
    def from_json(cls, content: Any) -> Self:
        """Build from its fields by name; raise ParameterError if one is missing, unknown or out of range."""
        names = [each.name for each in fields(cls)]
        if not isinstance(content, Mapping) or set(content) != set(names):
            found = ", ".join(map(str, content)) if isinstance(content, Mapping) else type(content).__name__
            rule = f"must have the fields {', '.join(names)}"
            raise ParameterError(f"{rule}, got {found or 'none'}", parameter="domain_effect")
        for name in names[:-1]:
            value = _checks.finite(f"domain_effect.{name}", content[name])
            if value < 0.0:
                raise ParameterError(f"must be at least 0, got {value}", parameter=f"domain_effect.{name}")
        _checks.whole("domain_effect.n_domains", content["n_domains"], 1)
        return cls(**content)

    def sds(self) -> Floats:
        """Standard deviation of each parameter: float64 (N_PARAMETERS,)."""
        sds = np.empty(N_PARAMETERS)
        for name, block in BLOCKS.items():
            sds[block] = getattr(self, name)
        return sds


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
    groups
        int64 (n_documents,): documents with one number are left out together when the prior is chosen.
    unit
        Size of the scores.
    start
        Returns log temperature and NEW bias of weighted documents, from which the search begins without offsets.
    begin
        Other losses, faster to compute, from whose minimum the search begins; None: it begins without offsets.
    """

    def __init__(
        self,
        losses: Differentiable,
        groups: Ints,
        unit: float,
        start: Callable[[Floats], Floats],
        *,
        begin: Differentiable | None = None,
    ) -> None:
        self._losses, self._groups, self._unit, self._start, self._begin = losses, groups, unit, start, begin
        self._curvature: Floats = np.zeros((N_PARAMETERS, N_PARAMETERS))  # of `begin` at its minimum
        self._near = losses  # what a search in the neighbourhood of the first solution uses
        self._first: _Solution | None = None
        self._last: _Solution | None = None

    def fitted(self, weights: Floats) -> tuple[Floats, float]:
        """Parameters of weighted documents, and the prior's standard deviation."""
        solution = self._solution(weights)
        return solution.point, solution.prior_sd

    def refitted(self, weights: Floats, draws: Floats) -> Floats:
        """Parameters of re-weighted documents: one Newton step each from the fit to `weights`, with its prior.

        Parameters
        ----------
        weights
            float64 (n_documents,).
        draws
            float64 (n_draws, n_documents): weights of each refit.

        Returns
        -------
        array of shape (n_draws, n_parameters), float64
        """
        solution = self._solution(weights)
        point, there, precision = solution.point, solution.there, prior_precision(solution.prior_sd)
        slopes = draws @ there.gradients + precision * point
        size = (-1, N_PARAMETERS, N_PARAMETERS)
        curvatures = (draws @ there.hessians.reshape(len(weights), -1)).reshape(size) + np.diag(precision)
        return point + np.stack(list(map(newton_step, slopes, curvatures)))

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
        start = np.zeros(N_PARAMETERS)
        start[:N_GLOBAL] = self._start(weights)
        if self._begin is not None:
            start, there = minimum(self._begin, weights, prior_precision(_MIDDLE_SD), start, unit=self._unit)
            self._curvature = there.total(weights)[2]
        start = self._search(weights, _MIDDLE_SD, start)
        solution = self._expanded_at(weights, _MIDDLE_SD, start, _MORE_SAMPLES)
        best = self._best_prior(solution)
        if best != _MIDDLE_SD:
            solution = self._found(weights, best, solution.point)
        return self._expanded_at(weights, best, solution.point, _MOST_SAMPLES)

    def _search(self, weights: Floats, prior_sd: float, start: Floats) -> Floats:
        precision = prior_precision(prior_sd)
        if isinstance(self._losses, GradientLosses):
            curvature = self._curvature + np.diag(prior_precision(_MIDDLE_SD))
            return self._losses.minimum(weights, precision, start, curvature)
        return minimum(self._losses, weights, precision, start, unit=self._unit)[0]

    def _expanded_at(self, weights: Floats, prior_sd: float, point: Floats, n_samples: int) -> _Solution:
        self._near = self._losses.expanded(point, n_samples)
        return self._found(weights, prior_sd, point)

    def _found(self, weights: Floats, prior_sd: float, start: Floats) -> _Solution:
        if isinstance(self._losses, GradientLosses):  # quadratics of a few documents need not have a minimum
            point = self._search(weights, prior_sd, start)
            there = self._near.derivatives(Recalibration.from_vector(point))
        else:
            point, there = minimum(self._near, weights, prior_precision(prior_sd), start, unit=self._unit)
        return _Solution(weights.copy(), point, there, prior_sd)

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


def estimated_domains(
    there: Derivatives, point: Floats, weights: Floats, domains: Ints, precision: Floats
) -> DomainEffect:
    """Estimate the standard deviations of domains' parameters from the derivatives at the fit to all documents.

    For each domain, the fit to the others is one Newton step away. From there the domain's own losses, approximated by
    quadratics and divided by their overdispersion (documents vary more than independent mentions would), show its
    shift; the variances are estimated by the EM algorithm for a normal shift with one variance per group of parameters.

    Raises
    ------
    ParameterError
        If there are fewer than three domains.
    """
    names = [domain for domain in np.unique(domains) if (weights * (domains == domain)).any()]
    if len(names) < FEWEST_DOMAINS:
        raise ParameterError(f"must be at least {FEWEST_DOMAINS} to estimate how domains differ, got {len(names)}")
    slopes, curvatures = [], []
    for domain in names:
        own = weights * (domains == domain)
        step = quadratic_minimum(there, point, weights - own, precision) - point
        _, slope, curvature = there.total(own)
        slope = slope + curvature @ step
        scale = overdispersion(there, own)
        slopes.append(slope / scale)
        curvatures.append(_positive(curvature) / scale)
    return _em(slopes, curvatures)


def overdispersion(there: Derivatives, weights: Floats) -> float:
    """Variance of documents' slopes relative to that of independent terms, averaged over parameters; at least 1."""
    used = weights > 0
    n = int(used.sum())
    if n < 2:
        return 1.0
    gradients = there.gradients[used]
    found = n / (n - 1) * ((gradients - gradients.mean(axis=0)) ** 2).sum(axis=0)
    expected = np.diagonal(there.hessians[used].sum(axis=0))
    informative = expected > 1.0  # others have too few terms to tell
    return max(1.0, float(found[informative].sum() / expected[informative].sum())) if informative.any() else 1.0


def _positive(matrix: Floats) -> Floats:
    values, directions = np.linalg.eigh(matrix)
    return np.asarray((directions * np.maximum(values, 0.0)) @ directions.T)


def _em(slopes: Sequence[Floats], curvatures: Sequence[Floats]) -> DomainEffect:
    variances = np.full(N_PARAMETERS, 0.1**2)
    for _ in range(_ROUNDS):
        before, squares = variances.copy(), np.zeros(N_PARAMETERS)
        for slope, curvature in zip(slopes, curvatures, strict=True):
            covariance = np.linalg.inv(curvature + np.diag(1.0 / variances))
            mean = -covariance @ slope
            squares += mean**2 + np.diagonal(covariance)
        for block in BLOCKS.values():
            variances[block] = max(float(squares[block].mean() / len(slopes)), 1e-8)
        if np.abs(variances / before - 1.0).max() < 1e-3:
            break
    sds = {name: float(np.sqrt(variances[block.start])) for name, block in BLOCKS.items()}
    return DomainEffect(**sds, n_domains=len(slopes))
