"""The minimum of a fit with its derivatives; refits, and differences between domains, by quadratics around it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from corefsample._arrays import Floats, Ints
from corefsample.errors import ParameterError
from corefsample.recalibration._losses import Derivatives
from corefsample.recalibration._model import N_GLOBAL, N_PARAMETERS
from corefsample.recalibration._uncertain import BLOCKS, DomainEffect, RecalibrationDraws

FEWEST_DOMAINS = 3  # whose differences can be estimated
_ROUNDS = 300  # of the estimation of the domains' variances


class Solution(NamedTuple):
    """Parameters of a fit, derivatives of the losses there, and standard deviation of the prior of offsets."""

    point: Floats
    there: Derivatives
    prior_sd: float | None

    def refits(self, weights: Floats) -> RecalibrationDraws:
        """Refit to documents with each row of weights, by one Newton step."""
        precision = prior_precision(self.prior_sd)
        # One at a time, so that a draw does not depend on the number of draws, as it would in a product of matrices.
        points = [self.there.newton_point(self.point, row, precision) for row in weights]
        return RecalibrationDraws.from_vectors(np.stack(points))


def prior_precision(sd: float | None) -> Floats:
    """Precision of each parameter's prior: none for temperature and bias, 1 / sd^2 for offsets."""
    precision = np.zeros(N_GLOBAL if sd is None else N_PARAMETERS)
    if sd is not None:
        precision[N_GLOBAL:] = sd**-2.0
    return precision


def estimated_domains(solution: Solution, weights: Floats, domains: Ints) -> DomainEffect:
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
    point, there, prior_sd = solution
    precision, slopes, curvatures = prior_precision(prior_sd), [], []
    for domain in names:
        domain_weights = weights * (domains == domain)
        step = there.newton_point(point, weights - domain_weights, precision) - point
        _, slope, curvature = there.total(domain_weights)
        slope = slope + curvature @ step
        scale = overdispersion(there, domain_weights)
        slopes.append(slope / scale)
        values, directions = np.linalg.eigh(curvature)
        curvatures.append((directions * np.maximum(values, 0.0)) @ directions.T / scale)  # no negative curvature
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
