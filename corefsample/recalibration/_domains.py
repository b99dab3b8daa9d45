"""How the parameters of a recalibration by kind differ between domains, such as genres."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from corefsample import _checks
from corefsample._arrays import Floats, Ints
from corefsample.errors import ParameterError
from corefsample.recalibration import _model
from corefsample.recalibration._losses import Derivatives

BLOCKS = {
    "log_temperature": slice(_model.LOG_TEMPERATURE, _model.LOG_TEMPERATURE + 1),
    "new_bias": slice(_model.NEW_BIAS, _model.NEW_BIAS + 1),
    "new_offsets": slice(_model.NEW_OFFSETS, _model.LINK_OFFSETS),
    "link_offsets": slice(_model.LINK_OFFSETS, _model.N_PARAMETERS),
}
FEWEST_DOMAINS = 3  # whose differences can be estimated
_ROUNDS = 300  # of the estimation of the domains' variances


@dataclass(frozen=True, slots=True)
class DomainEffect:
    """Differences between the parameters of a recalibration by kind in different domains, such as genres.

    A domain's parameters are normal around those of all domains, with one standard deviation for each group of
    parameters.

    Attributes
    ----------
    log_temperature, new_bias, new_offsets, link_offsets
        Standard deviation between domains of each group of parameters, at least 0.
    n_domains
        Number of domains from which the standard deviations are estimated.
    """

    log_temperature: float
    new_bias: float
    new_offsets: float
    link_offsets: float
    n_domains: int

    @classmethod
    def from_json(cls, record: Any) -> Self:
        """Build from its fields by name; raise ParameterError if one is missing, unknown or out of range."""
        *sds, n_domains = _model.json_fields("domain_effect", record, (*BLOCKS, "n_domains"))
        for name, value in zip(BLOCKS, sds, strict=True):
            _checks.at_least_zero(f"domain_effect.{name}", value)
        _checks.whole("domain_effect.n_domains", n_domains, 1)
        return cls(**record)

    def sds(self) -> Floats:
        """Standard deviation of each parameter: float64 (N_PARAMETERS,)."""
        sds = np.empty(_model.N_PARAMETERS)
        for name, block in BLOCKS.items():
            sds[block] = getattr(self, name)
        return sds


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
        domain_weights = weights * (domains == domain)
        step = there.newton_point(point, weights - domain_weights, precision) - point
        _, slope, curvature = there.total(domain_weights)
        slope = slope + curvature @ step
        scale = overdispersion(there, domain_weights)
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
    variances = n / (n - 1) * ((gradients - gradients.mean(axis=0)) ** 2).sum(axis=0)
    expected = np.diagonal(there.hessians[used].sum(axis=0))
    informative = expected > 1.0  # others have too few terms to tell
    return max(1.0, float(variances[informative].sum() / expected[informative].sum())) if informative.any() else 1.0


def _positive(matrix: Floats) -> Floats:
    values, directions = np.linalg.eigh(matrix)
    return np.asarray((directions * np.maximum(values, 0.0)) @ directions.T)


def _em(slopes: Sequence[Floats], curvatures: Sequence[Floats]) -> DomainEffect:
    variances = np.full(_model.N_PARAMETERS, 0.1**2)
    for _ in range(_ROUNDS):
        before, squares = variances.copy(), np.zeros(_model.N_PARAMETERS)
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
