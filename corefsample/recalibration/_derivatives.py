"""Losses with their derivatives in all parameters of a recalibration by kind, and their minimum by Newton's method."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from itertools import repeat
from typing import Protocol

import numpy as np

from corefsample._arrays import Bytes, Floats
from corefsample._log import log_step
from corefsample._processors import processors
from corefsample.documents import ScoredDocument
from corefsample.recalibration import _derivative_kernels
from corefsample.recalibration._gold import GoldSet
from corefsample.recalibration._kind_offsets import LOG_TEMPERATURE, N_KINDS, N_PARAMETERS, NEW_BIAS
from corefsample.recalibration._losses import DocumentObjective, Losses
from corefsample.recalibration._model import Recalibration, document_kinds, no_minimum

# The search ends where there is no minimum: log temperature relative to the size of the scores, and NEW bias.
_FURTHEST = np.array([float(np.log(1e3)), 50.0])
_LONGEST = np.array([1.0, 3.0])  # a step in both
_STEPS = 60
_SEARCH_SAMPLES = 300  # clusterings of a document, of sampled losses
_MOST_DAMPING, _NOISE_DAMPING = 1e8, 1.0  # of steps that fail, before the search ends: without noise, and with it


@dataclass(frozen=True, slots=True, eq=False)
class Derivatives:
    """Losses of documents under one recalibration, with their derivatives in its parameters.

    Attributes
    ----------
    losses
        float64 (n_documents,).
    gradients
        float64 (n_documents, N_PARAMETERS).
    hessians
        float64 (n_documents, N_PARAMETERS, N_PARAMETERS), symmetric; of some objectives an approximation.
    """

    losses: Floats
    gradients: Floats
    hessians: Floats

    def total(self, weights: Floats) -> tuple[float, Floats, Floats]:
        """Weighted sums over documents."""
        return float(weights @ self.losses), weights @ self.gradients, np.tensordot(weights, self.hessians, 1)


class Differentiable(Protocol):
    """Losses of documents that have derivatives."""

    name: str
    sampled: bool
    n_terms: Floats  # (n_documents,)

    def at(self, recalibration: Recalibration) -> Floats:
        """float64 (n_documents,): summed loss of each document under a recalibration."""
        ...

    def derivatives(self, recalibration: Recalibration) -> Derivatives:
        """Losses with derivatives."""
        ...

    def expanded(self, point: Floats, n_samples: int) -> Differentiable:
        """The same losses where they are exact; sampled ones as quadratics around a point, from n_samples."""
        ...


class KindLikelihood:
    """-log of the summed probability of each mention's gold antecedents, for recalibration by kind."""

    name = "likelihood"
    sampled = False

    def __init__(self, gold: GoldSet) -> None:
        self._gold = gold
        self.n_terms = gold.n_terms
        self._kinds: Bytes = np.concatenate([document_kinds(each) for each in gold.documents])
        self._antecedents = np.concatenate([each.antecedents.antecedents for each in gold.documents])

    def at(self, recalibration: Recalibration) -> Floats:
        """Losses of the documents."""
        return self.derivatives(recalibration).losses

    def derivatives(self, recalibration: Recalibration) -> Derivatives:
        """Losses with derivatives, by several threads."""
        gold, n = self._gold, len(self._gold.documents)
        offsets = recalibration.offsets
        table = np.zeros((N_KINDS, N_KINDS)) if offsets is None else offsets.table()
        losses, gradients = np.empty(n), np.zeros((n, N_PARAMETERS))
        hessians = np.zeros((n, N_PARAMETERS, N_PARAMETERS))

        def fill(part: slice) -> None:
            _derivative_kernels.likelihood_derivatives(
                gold.bounds[part.start : part.stop + 1],
                gold.indptr,
                self._antecedents,
                gold.scores,
                gold.kinds,
                gold.candidates,
                self._kinds,
                recalibration.temperature,
                recalibration.new_bias,
                table,
                losses[part],
                gradients[part],
                hessians[part],
            )

        n_threads = min(processors(), n)
        ends = np.searchsorted(gold.indptr[gold.bounds], np.linspace(0, gold.indptr[-1], n_threads + 1)[1:-1])
        cuts = np.unique([0, *ends.tolist(), n])
        with ThreadPoolExecutor(n_threads) as pool:
            list(pool.map(fill, map(slice, cuts[:-1].tolist(), cuts[1:].tolist())))
        return Derivatives(losses, gradients, _symmetric(hessians))

    def expanded(self, point: Floats, n_samples: int) -> Differentiable:
        """Itself."""
        return self


class Quadratics:
    """Losses of documents as quadratics around a point, which have no noise and cost nothing to evaluate.

    Parameters
    ----------
    losses
        What they approximate.
    point
        float64 (N_PARAMETERS,).
    there
        Its derivatives at the point.
    """

    sampled = False

    def __init__(self, losses: Differentiable, point: Floats, there: Derivatives) -> None:
        self.name, self.n_terms, self._point, self._there = losses.name, losses.n_terms, point, there

    def at(self, recalibration: Recalibration) -> Floats:
        """Losses of the documents."""
        return self.derivatives(recalibration).losses

    def derivatives(self, recalibration: Recalibration) -> Derivatives:
        """Losses with derivatives."""
        there, step = self._there, recalibration.vector() - self._point
        changes = there.hessians @ step
        losses = there.losses + there.gradients @ step + changes @ step / 2
        return Derivatives(losses, there.gradients + changes, there.hessians)

    def expanded(self, point: Floats, n_samples: int) -> Differentiable:
        """Itself."""
        return self


def _symmetric(upper: Floats) -> Floats:
    """Fill the lower triangles in place."""
    lower = np.tril_indices(upper.shape[-1], -1)
    upper[:, lower[0], lower[1]] = upper[:, lower[1], lower[0]]
    return upper


class CalledDerivatives:
    """Losses of an objective that returns its derivatives document by document."""

    def __init__(self, losses: Losses, objective: DocumentObjective, documents: Sequence[ScoredDocument]) -> None:
        self._losses, self._objective, self._documents = losses, objective, documents
        self.name, self.sampled, self.n_terms = losses.name, losses.sampled, losses.n_terms

    def at(self, recalibration: Recalibration) -> Floats:
        """Losses of the documents."""
        return self._losses.at(recalibration)

    def derivatives(self, recalibration: Recalibration) -> Derivatives:
        """Losses with derivatives."""
        return self._derivatives(self._objective.with_samples(_SEARCH_SAMPLES), recalibration)

    def _derivatives(self, objective: DocumentObjective, recalibration: Recalibration) -> Derivatives:
        n_threads = processors() if objective.parallel else 1
        with ThreadPoolExecutor(n_threads) as pool:
            each = list(pool.map(objective.derivatives, self._documents, repeat(recalibration)))
        losses, gradients, hessians = zip(*each, strict=True)
        return Derivatives(np.array(losses), np.stack(gradients), np.stack(hessians))

    def expanded(self, point: Floats, n_samples: int) -> Differentiable:
        """Quadratics if the losses are sampled."""
        if not self.sampled:
            return self
        objective = self._objective.with_samples(n_samples)
        there = self._derivatives(objective, Recalibration.from_vector(point))
        return Quadratics(self, point, there)


class JointDerivatives:
    """The likelihood plus the losses of an objective, with derivatives."""

    def __init__(self, likelihood: Differentiable, other: Differentiable) -> None:
        self._parts = likelihood, other
        self.name, self.sampled, self.n_terms = other.name, other.sampled, likelihood.n_terms

    def at(self, recalibration: Recalibration) -> Floats:
        """Losses of the documents."""
        return self._parts[0].at(recalibration) + self._parts[1].at(recalibration)

    def derivatives(self, recalibration: Recalibration) -> Derivatives:
        """Losses with derivatives."""
        first, second = (part.derivatives(recalibration) for part in self._parts)
        return Derivatives(
            first.losses + second.losses, first.gradients + second.gradients, first.hessians + second.hessians
        )

    def expanded(self, point: Floats, n_samples: int) -> Differentiable:
        """The exact likelihood, and the other losses as they are expanded."""
        likelihood, other = self._parts
        return JointDerivatives(likelihood, other.expanded(point, n_samples))


def minimum(
    losses: Differentiable,
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
        Of the documents.
    weights
        float64 (n_documents,), at least 0.
    precision
        float64 (N_PARAMETERS,), at least 0: of the normal prior of each parameter around 0.
    start
        float64 (N_PARAMETERS,): where the search begins.
    unit
        Size of the scores.

    Returns
    -------
    tuple
        The parameters, and the derivatives there.

    Raises
    ------
    NoMinimumError
        If the search leaves the region of sensible temperatures and biases: the losses have no minimum.
    """
    point, here = start, losses.derivatives(Recalibration.from_vector(start))
    tolerance = 1e-4 if losses.sampled else 1e-9
    damping = 0.0
    for step_number in range(_STEPS):
        value, slope, curvature = _penalised(here, weights, precision, point)
        step = newton_step(slope, curvature, damping)
        step /= max(1.0, float((np.abs(step[[LOG_TEMPERATURE, NEW_BIAS]]) / _LONGEST).max()))
        expected = -_change(step, slope, curvature)
        if expected <= tolerance * max(abs(value), 1e-300):
            return point, here
        trial = point + step
        if (np.abs(trial[[LOG_TEMPERATURE, NEW_BIAS]] - [np.log(unit), 0.0]) > _FURTHEST).any():
            raise no_minimum(losses.name)
        there = losses.derivatives(Recalibration.from_vector(trial))
        log_step("%s: step %d of the fit by kind", losses.name, step_number + 1)
        gain = value - _penalised(there, weights, precision, trial)[0]
        if gain > 0.0:
            point, here = trial, there
            damping = 0.0 if gain > 0.25 * expected else damping
        else:
            damping = max(8.0 * damping, 0.1)
        if damping > (_NOISE_DAMPING if losses.sampled else _MOST_DAMPING):
            return point, here
    return point, here


def _change(step: Floats, slope: Floats, curvature: Floats) -> float:
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
