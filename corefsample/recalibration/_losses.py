"""Losses of documents with gold under a recalibration, with their derivatives in its parameters."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

import numpy as np

from corefsample._arrays import Bytes, Floats
from corefsample._log import log_step
from corefsample._machine import processors
from corefsample.coreference._clusterings import link_marginals
from corefsample.recalibration import _kernels
from corefsample.recalibration._gold import GoldSet
from corefsample.recalibration._model import (
    N_KINDS,
    Recalibration,
    changes_by_parameters,
    document_kinds,
    recalibrated_scores,
)

Objective = Literal["likelihood", "links-log"]
OBJECTIVES: tuple[Objective, ...] = ("likelihood", "links-log")

_LEAST_PROBABILITY = 1e-6  # the log loss of a gold pair that is impossible with these candidates would be infinite
_DIFFERENCE = 1e-5  # of parameters, for second derivatives


@dataclass(frozen=True, slots=True, eq=False)
class Derivatives:
    """Losses of documents under one recalibration, with their derivatives in its parameters.

    Attributes
    ----------
    losses
        float64 (n_documents,): loss of each document.
    gradients
        float64 (n_documents, n_parameters): first derivatives of each loss.
    hessians
        float64 (n_documents, n_parameters, n_parameters), symmetric: second derivatives of each loss.
    """

    losses: Floats
    gradients: Floats
    hessians: Floats

    def total(self, weights: Floats) -> tuple[float, Floats, Floats]:
        """Weighted sums over documents."""
        return float(weights @ self.losses), weights @ self.gradients, np.tensordot(weights, self.hessians, 1)

    def penalised(self, point: Floats, weights: Floats, precision: Floats) -> tuple[float, Floats, Floats]:
        """Weighted sums at a point, plus half the precision-weighted squares of the parameters."""
        loss, slope, curvature = self.total(weights)
        return loss + float(precision @ point**2) / 2, slope + precision * point, curvature + np.diag(precision)

    def newton_point(self, point: Floats, weights: Floats, precision: Floats) -> Floats:
        """Minimum of the quadratic approximation of the penalised losses around a point."""
        _, slope, curvature = self.penalised(point, weights, precision)
        return point + newton_step(slope, curvature)


def newton_step(slope: Floats, curvature: Floats) -> Floats:
    """Step to the minimum of a quadratic; directions of negative curvature go downhill."""
    with suppress(np.linalg.LinAlgError):  # not positive definite
        np.linalg.cholesky(curvature)
        return np.asarray(-np.linalg.solve(curvature, slope))
    values, directions = np.linalg.eigh(curvature)
    bounded = np.maximum(np.abs(values), 1e-10 * np.abs(values).max())
    return np.asarray(-(directions @ ((directions.T @ slope) / bounded)))


class Losses:
    """Base of the losses of a set of documents.

    Parameters
    ----------
    gold
        The documents.
    by_kind
        True if the parameters are all of `Recalibration.vector`, for which documents need tokens; False if they are
        the first two.

    Attributes
    ----------
    name
        Name of the objective.
    n_terms
        float64 (n_documents,): number of terms in the loss of each document.
    """

    name: Objective
    n_terms: Floats

    def __init__(self, gold: GoldSet, *, by_kind: bool) -> None:
        self._gold = gold
        self._n_kinds = N_KINDS if by_kind else 1
        self._changes = changes_by_parameters(by_kind=by_kind)
        self._kinds: list[Bytes] = [
            document_kinds(each) if by_kind else np.zeros(each.n_mentions, np.uint8) for each in gold.documents
        ]

    def at(self, recalibration: Recalibration) -> Floats:
        """float64 (n_documents,): summed loss of each document under a recalibration."""
        return self.derivatives(recalibration.vector()[: self._changes.shape[1]]).losses

    def derivatives(self, point: Floats) -> Derivatives:
        """Losses with derivatives."""
        raise NotImplementedError

    def _temperature_and_offsets(self, point: Floats) -> tuple[float, Floats]:
        """Temperature, and what is added to scores by kind of mention and of antecedent: (n_kinds, n_kinds)."""
        log_temperature, *offsets = self._changes @ point
        return float(np.exp(log_temperature)), np.reshape(offsets, (self._n_kinds, self._n_kinds))

    def _in_parameters(self, hessians: Floats) -> Floats:
        """changes.T @ hessian @ changes of each symmetric Hessian; two large products are faster than many small."""
        for _ in range(2):
            product = hessians.reshape(-1, len(self._changes)) @ self._changes
            hessians = product.reshape(len(hessians), -1, product.shape[1]).transpose(0, 2, 1)
        return hessians


class Likelihood(Losses):
    """-log of the summed probability of each mention's gold antecedents."""

    name = "likelihood"

    def __init__(self, gold: GoldSet, *, by_kind: bool) -> None:
        super().__init__(gold, by_kind=by_kind)
        antecedents = np.concatenate([each.antecedents.antecedents for each in gold.documents])
        self._rows = gold.indptr, antecedents, gold.scores, gold.kinds, gold.candidates, np.concatenate(self._kinds)
        self.n_terms = gold.n_terms

    def derivatives(self, point: Floats) -> Derivatives:
        """Losses with derivatives, by several threads."""
        gold, n, size = self._gold, len(self._gold.documents), len(self._changes)
        losses, gradients, hessians = np.empty(n), np.zeros((n, size)), np.zeros((n, size, size))
        temperature, offsets = self._temperature_and_offsets(point)

        def fill(chunk: slice) -> None:
            bounds = gold.bounds[chunk.start : chunk.stop + 1]
            filled = losses[chunk], gradients[chunk], hessians[chunk]
            _kernels.likelihood_derivatives(bounds, *self._rows, temperature, offsets, *filled)

        n_threads = min(processors(), n)
        ends = np.searchsorted(gold.indptr[gold.bounds], np.linspace(0, gold.indptr[-1], n_threads + 1)[1:-1])
        cuts = np.unique([0, *ends.tolist(), n])
        with ThreadPoolExecutor(n_threads) as pool:
            list(pool.map(fill, map(slice, cuts[:-1].tolist(), cuts[1:].tolist())))
        return Derivatives(losses, gradients @ self._changes, self._in_parameters(hessians))


class LinkLosses(Losses):
    """-log of the probability of each pair of annotated mentions' gold label by the exact link marginals.

    The probability is at least 1e-6, because missing candidates make some gold pairs impossible.

    Attributes
    ----------
    hessians
        float64 (n_documents, n_parameters, n_parameters): second derivatives that `derivatives` returns at every point,
        because they take long: those of the likelihood to search, and then those of `hessians_at` a point nearby.
    """

    name = "links-log"

    def __init__(self, gold: GoldSet, *, by_kind: bool) -> None:
        super().__init__(gold, by_kind=by_kind)
        n_annotated = np.array([np.count_nonzero(entities >= 0) for entities in gold.entities])
        self.n_terms = n_annotated * (n_annotated - 1) / 2.0
        self.hessians: Floats = np.zeros((len(n_annotated), *[self._changes.shape[1]] * 2))

    def derivatives(self, point: Floats) -> Derivatives:
        """Losses with derivatives, the second ones of another point."""
        losses, gradients = self._gradients(*self._temperature_and_offsets(point), range(len(self.n_terms)))
        return Derivatives(losses, gradients @ self._changes, self.hessians)

    def hessians_at(self, point: Floats) -> Floats:
        """Second derivatives as differences of gradients.

        A change of the log temperature, or of the offset of one pair of kinds, is computed for the documents whose loss
        depends on it.
        """
        temperature, offsets = self._temperature_and_offsets(point)
        gradients = self._gradients(temperature, offsets, range(len(self.n_terms)))[1]
        hessians = np.zeros((*gradients.shape, gradients.shape[1]))
        steps = _DIFFERENCE * np.eye(gradients.shape[1])
        for row, (log_step_, *offset_steps) in enumerate(steps):
            log_step("%s: second derivatives, %d of %d", self.name, row + 1, len(steps))
            changed = np.flatnonzero(gradients[:, row])
            moved = temperature * np.exp(log_step_), offsets + np.reshape(offset_steps, offsets.shape)
            hessians[changed, row] = (self._gradients(*moved, changed.tolist())[1] - gradients[changed]) / _DIFFERENCE
        return self._in_parameters((hessians + hessians.transpose(0, 2, 1)) / 2)

    def _gradients(self, temperature: float, offsets: Floats, documents: Sequence[int]) -> tuple[Floats, Floats]:
        """Losses of some documents, and their derivatives in the log temperature and in each offset, row-major."""
        losses, gradients = np.zeros(len(documents)), np.zeros((len(documents), 1 + offsets.size))

        def fill(row: int) -> None:
            d = documents[row]
            antecedents, kinds, entities = self._gold.documents[d].antecedents, self._kinds[d], self._gold.entities[d]
            added = offsets[np.repeat(kinds, np.diff(antecedents.indptr)), kinds[antecedents.antecedents]]
            changed = antecedents.with_scores(recalibrated_scores(antecedents.scores, temperature, 0.0, added))
            marginals = link_marginals(changed)
            annotated, gold = entities >= 0, entities[:, None] == entities
            pairs = np.tril(annotated[:, None] & annotated, -1)
            right = np.maximum(np.where(gold, marginals, 1.0 - marginals), _LEAST_PROBABILITY)
            losses[row] = -np.log(right[pairs]).sum()
            # Where the probability is the bound, the loss is constant.
            is_smooth = pairs & (right > _LEAST_PROBABILITY)
            slopes = np.where(is_smooth, np.where(gold, -1.0, 1.0) / right, 0.0)
            scaled, by_offset = antecedents.scores / temperature, gradients[row, 1:].reshape(offsets.shape)
            arrays = changed.indptr, changed.antecedents, changed.probs, scaled, kinds, marginals, slopes
            gradients[row, 0] = _kernels.link_slopes(*arrays, by_offset)

        with ThreadPoolExecutor(processors()) as pool:
            list(pool.map(fill, range(len(documents))))
        return losses, gradients
