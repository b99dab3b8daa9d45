"""Documents with gold, and their losses under a recalibration, with derivatives in its parameters."""

import logging
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from corefsample import _checks
from corefsample._arrays import Bytes, Floats, Ints
from corefsample._machine import processors
from corefsample.coreference._antecedents import AntecedentDistribution
from corefsample.coreference._clusterings import link_marginals
from corefsample.documents._scored import ScoredDocument, Unannotated, gold_codes
from corefsample.errors import ParameterError
from corefsample.recalibration import _kernels, _model as model
from corefsample.recalibration._kernels import HAS_ANTECEDENT, IS_NEW, MISSED, NO_TERM, RIGHT, UNKNOWN, WRONG
from corefsample.recalibration._model import described

Objective = Literal["likelihood", "links-log"]
OBJECTIVES: tuple[Objective, ...] = ("likelihood", "links-log")

_LEAST_PROBABILITY = 1e-6  # the log loss of a gold pair that is impossible with these candidates would be infinite
_DIFFERENCE = 1e-5  # of parameters, for second derivatives


@dataclass(frozen=True, slots=True)
class GoldCounts:
    """Counts of the gold annotation that a fit used, and of what it left out.

    Attributes
    ----------
    n_documents
        Documents with an annotated mention.
    n_without_gold
        Other documents, which are left out.
    n_mentions
        Mentions of the documents with gold.
    n_unannotated
        Mentions of the documents with gold that have no gold entity.
    n_new
        Mentions that are the first annotated one of their entity.
    n_linked
        Mentions with a gold antecedent among their candidates.
    n_missing
        Mentions with earlier mentions of their gold entity, none of them among the candidates; they have no term.
    """

    n_documents: int
    n_without_gold: int
    n_mentions: int
    n_unannotated: int
    n_new: int
    n_linked: int
    n_missing: int


class GoldSet:
    """The documents with gold, in their order, and their gold antecedents.

    Parameters
    ----------
    documents
        Documents with and without gold.
    unannotated
        Treatment of mentions without a gold entity: see `RecalibrationFitter`.

    Attributes
    ----------
    documents
        Documents with an annotated mention.
    entities
        int64 (n_mentions,) of each document: codes of the mentions' gold entities, see `gold_codes`.
    golds, candidates
        uint8 (n_mentions,) and (n_candidates,) of each document: the gold antecedent of each mention, and each
        candidate according to gold; see `corefsample.recalibration._kernels` for the numbers.
    counts
        Counts of annotated documents and mentions.
    base
        Fingerprints of the recalibrations of all documents' scores: see `Recalibration.applied_to`.

    Raises
    ------
    ParameterError
        If no document has gold, a doc_id is repeated, or the documents' scores have had different recalibrations.
    """

    def __init__(self, documents: Iterable[ScoredDocument], *, unannotated: Unannotated) -> None:
        self.documents: list[ScoredDocument] = []
        self.entities: list[Ints] = []
        self.golds: list[Bytes] = []
        self.candidates: list[Bytes] = []
        doc_ids, n_by_gold = set[str](), np.zeros(MISSED + 1, np.int64)
        for document in _checks.elements("documents", documents, ScoredDocument, hint=_checks.READS):
            is_new = document.doc_id not in doc_ids
            _checks.require("documents", is_new, "must have unique doc_ids", f"{document.doc_id!r} twice")
            doc_ids.add(document.doc_id)
            if document.gold is None or not ((entities := gold_codes(document, unannotated)) >= 0).any():
                continue
            golds, candidates = _marks(document.antecedents, entities)
            n_by_gold += np.bincount(golds, minlength=MISSED + 1)
            self.documents.append(document)
            self.entities.append(entities)
            self.golds.append(golds)
            self.candidates.append(candidates)
        if not self.documents:
            raise ParameterError(f"gold must annotate a mention of some document, got none in {len(doc_ids)} documents")
        n_unannotated = sum(entity is None for document in self.documents for entity in document.gold or ())
        counts = len(self.documents), len(doc_ids) - len(self.documents), int(n_by_gold.sum()), n_unannotated
        self.counts = GoldCounts(*counts, *n_by_gold[[IS_NEW, HAS_ANTECEDENT, MISSED]].tolist())
        self.base = model.Recalibration.applied_to(self.documents[0].metadata)
        for document in self.documents:
            applied = model.Recalibration.applied_to(document.metadata)
            if applied != self.base:
                rule = f"must have had the same recalibration in all documents ({described(self.base)})"
                raise ParameterError(f"scores {rule}, got {described(applied)}", place=f"doc_id {document.doc_id!r}")

    @property
    def doc_ids(self) -> tuple[str, ...]:
        """doc_id of each document with gold."""
        return tuple(document.doc_id for document in self.documents)


def _marks(antecedents: AntecedentDistribution, entities: Ints) -> tuple[Bytes, Bytes]:
    """The gold antecedent of each mention, and each candidate by whether it is a gold antecedent."""
    mentions = np.repeat(np.arange(len(entities)), np.diff(antecedents.indptr))
    of_mentions, of_candidates = entities[mentions], entities[antecedents.antecedents]
    right, unknown = (of_mentions == of_candidates) & (of_mentions >= 0), (of_mentions < 0) | (of_candidates < 0)
    golds = np.full(len(entities), MISSED, np.uint8)
    golds[np.unique(entities, return_index=True)[1]] = IS_NEW
    golds[mentions[right]] = HAS_ANTECEDENT
    golds[entities < 0] = NO_TERM
    return golds, np.select([unknown, right], [UNKNOWN, RIGHT], WRONG).astype(np.uint8)


class Derivatives(NamedTuple):
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
        self._n_kinds = model.N_KINDS if by_kind else 1
        # Changes of the log temperature (row 0) and of the offset of each pair of kinds (row-major) by each parameter.
        # Without kinds there is one kind of mention.
        self._changes = np.diag([1.0, -1.0])
        if by_kind:
            self._changes = np.zeros((1 + model.N_KINDS**2, model.N_PARAMETERS))
            self._changes[0, model.BLOCKS["log_temperature"]] = 1.0
            self._changes[1:, model.BLOCKS["new_bias"]] = -1.0
            self._changes[1:, model.BLOCKS["new_offsets"]] = -np.repeat(np.eye(model.N_KINDS), model.N_KINDS, axis=0)
            self._changes[1:, model.BLOCKS["link_offsets"]] = np.eye(model.N_KINDS**2)
        self._kinds: list[Bytes] = [
            model.document_kinds(each) if by_kind else np.zeros(each.n_mentions, np.uint8) for each in gold.documents
        ]

    def at(self, recalibration: model.Recalibration) -> Floats:
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


def _in_threads(fill: Callable[[int], None], n: int) -> None:
    with ThreadPoolExecutor(processors()) as pool:
        list(pool.map(fill, range(n)))


class Likelihood(Losses):
    """-log of the summed probability of each mention's gold antecedents."""

    name = "likelihood"

    def __init__(self, gold: GoldSet, *, by_kind: bool) -> None:
        super().__init__(gold, by_kind=by_kind)
        has_term = [(golds == IS_NEW) | (golds == HAS_ANTECEDENT) for golds in gold.golds]
        self.n_terms = np.array([np.count_nonzero(each) for each in has_term], np.float64)

    def derivatives(self, point: Floats) -> Derivatives:
        """Losses with derivatives."""
        gold, n, size = self._gold, len(self.n_terms), len(self._changes)
        losses, gradients, hessians = np.empty(n), np.zeros((n, size)), np.zeros((n, size, size))
        temperature, offsets = self._temperature_and_offsets(point)

        def fill(d: int) -> None:
            antecedents = gold.documents[d].antecedents
            scored = antecedents.indptr, antecedents.antecedents, antecedents.scores
            marks = gold.golds[d], gold.candidates[d], self._kinds[d]
            losses[d] = _kernels.likelihood_derivatives(
                *scored, *marks, temperature, offsets, gradients[d], hessians[d]
            )

        _in_threads(fill, n)
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
            logging.getLogger("corefsample.steps").info(
                "%s: second derivatives, %d of %d", self.name, row + 1, len(steps)
            )
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
            changed = antecedents.with_scores(model.recalibrated_scores(antecedents.scores, temperature, 0.0, added))
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

        _in_threads(fill, len(documents))
        return losses, gradients
