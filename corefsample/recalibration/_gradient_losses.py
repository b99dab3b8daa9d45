"""Losses whose gradients are fast to compute and whose Hessians are not, and their minimum by L-BFGS."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat

import numpy as np

from corefsample._arrays import Floats, Ints
from corefsample._log import log_step
from corefsample._processors import processors
from corefsample.documents import ScoredDocument
from corefsample.errors import ParameterError
from corefsample.recalibration._derivatives import (
    CalledDerivatives,
    Derivatives,
    Differentiable,
    JointDerivatives,
    KindLikelihood,
    Quadratics,
)
from corefsample.recalibration._gold import GoldSet
from corefsample.recalibration._kind_offsets import (
    LINK_OFFSETS,
    LOG_TEMPERATURE,
    N_KINDS,
    N_PARAMETERS,
    NEW_BIAS,
    NEW_OFFSETS,
)
from corefsample.recalibration._losses import CalledLosses, DocumentObjective, JointLosses, Likelihood, Losses
from corefsample.recalibration._model import Recalibration

_DIFFERENCE = 1e-5  # of parameters, for the Hessians
_STEPS = 100


class GradientLosses:
    """Losses of an objective that returns its gradient document by document."""

    sampled = False

    def __init__(self, losses: Losses, objective: DocumentObjective, documents: Sequence[ScoredDocument]) -> None:
        self._losses, self._objective, self._documents = losses, objective, documents
        self.name, self.n_terms = losses.name, losses.n_terms
        self._hessians: Floats | None = None

    def at(self, recalibration: Recalibration) -> Floats:
        """Losses of the documents."""
        return self._losses.at(recalibration)

    def gradients(self, vector: Floats, chosen: Ints | None = None) -> tuple[Floats, Floats]:
        """Losses and gradients of the chosen documents, or all: (n_documents,) and (n_documents, N_PARAMETERS)."""
        documents = self._documents if chosen is None else [self._documents[d] for d in chosen.tolist()]
        if not documents:
            return np.zeros(0), np.zeros((0, N_PARAMETERS))
        n_threads = processors() if self._objective.parallel else 1
        recalibration = Recalibration.from_vector(vector)
        with ThreadPoolExecutor(n_threads) as pool:
            each = list(pool.map(self._objective.gradient, documents, repeat(recalibration)))
        losses, gradients = zip(*each, strict=True)
        return np.array(losses), np.stack(gradients)

    def derivatives(self, recalibration: Recalibration) -> Derivatives:
        """Losses with derivatives; the Hessians are differences of exact gradients.

        An offset of links changes only documents with such a link. An offset of NEW moves all scores of a mention, so
        it changes as much as all offsets of links of that kind together, with the other sign; the bias changes as much
        as all offsets of NEW.
        """
        vector = recalibration.vector()
        losses, gradients = self.gradients(vector)
        hessians = np.zeros((*gradients.shape, N_PARAMETERS))
        for k in (LOG_TEMPERATURE, *range(LINK_OFFSETS, N_PARAMETERS)):
            log_step("%s: second derivatives, parameter %d of %d", self.name, k + 1, N_PARAMETERS)
            moved, changed = vector.copy(), np.flatnonzero(gradients[:, k])
            moved[k] += _DIFFERENCE
            hessians[changed, k] = (self.gradients(moved, changed)[1] - gradients[changed]) / _DIFFERENCE
        of_links = hessians[:, LINK_OFFSETS:].reshape(len(losses), N_KINDS, N_KINDS, N_PARAMETERS)
        hessians[:, NEW_OFFSETS:LINK_OFFSETS] = -of_links.sum(axis=2)
        hessians[:, NEW_BIAS] = hessians[:, NEW_OFFSETS:LINK_OFFSETS].sum(axis=1)
        return Derivatives(losses, gradients, (hessians + hessians.transpose(0, 2, 1)) / 2)

    def expanded(self, point: Floats, n_samples: int) -> Differentiable:
        """Quadratics, with the Hessians of the first point."""
        if self._hessians is None:
            there = self.derivatives(Recalibration.from_vector(point))
            self._hessians = there.hessians
        else:
            there = Derivatives(*self.gradients(point), self._hessians)
        return Quadratics(self, point, there)

    def minimum(self, weights: Floats, precision: Floats, start: Floats, curvature: Floats) -> Floats:
        """Minimum of the weighted losses plus half the precision-weighted squares of the parameters.

        Parameters
        ----------
        weights, precision, start
            As of `corefsample.recalibration._derivatives.minimum`.
        curvature
            float64 (N_PARAMETERS, N_PARAMETERS), positive definite: about that of the sum, but for a factor. The search
            takes its inverse root as the unit of steps.
        """
        from scipy.optimize import minimize

        unit = np.linalg.inv(np.linalg.cholesky(curvature)).T

        def value(step: Floats) -> tuple[float, Floats]:
            point = start + unit @ step
            losses, gradients = self.gradients(point)
            log_step("%s: a step of the fit by kind", self.name)
            total = float(weights @ losses + precision @ point**2 / 2)
            return total, np.asarray(unit.T @ (weights @ gradients + precision * point))

        found = minimize(
            value,
            np.zeros(N_PARAMETERS),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": _STEPS, "ftol": 1e-7, "gtol": 1e-6},
        )
        return np.asarray(start + unit @ found.x)


def differentiable(losses: Losses, gold: GoldSet) -> Differentiable:
    """The same losses with derivatives; raise ParameterError if the objective has none."""
    if isinstance(losses, Likelihood):
        return KindLikelihood(gold)
    if isinstance(losses, JointLosses):
        return JointDerivatives(KindLikelihood(gold), differentiable(losses.called, gold))
    objective = losses.objective if isinstance(losses, CalledLosses) else None
    if isinstance(objective, DocumentObjective) and objective.has_derivatives:
        return CalledDerivatives(losses, objective, gold.documents)
    if isinstance(objective, DocumentObjective) and objective.has_gradient:
        return GradientLosses(losses, objective, gold.documents)
    raise ParameterError(f"must have derivatives for the form 'kinds', got {losses.name}", parameter="objective")
