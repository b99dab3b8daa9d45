"""The losses of documents with gold under a recalibration, with their derivatives.

They are the likelihood, a proper score of a document's link marginals, or a user's objective.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from itertools import repeat
from typing import Any, Literal

import numpy as np

from corefsample import _checks
from corefsample._arrays import Bytes, Floats, Ints
from corefsample._log import log_step
from corefsample._machine import processors
from corefsample.coreference._clusterings import link_marginals
from corefsample.documents._scored import ScoredDocument
from corefsample.errors import ParameterError
from corefsample.links._pairs import Unannotated, gold_codes
from corefsample.recalibration import _kernels, _model
from corefsample.recalibration._gold import GoldSet
from corefsample.recalibration._model import N_KINDS, Recalibration, changes_by_parameters, document_kinds

Objective = Literal["likelihood", "links"] | Callable[[ScoredDocument, Recalibration], float]

OBJECTIVES = ("likelihood", "links")


class DocumentObjective:
    """Base class of custom objectives that need more than a plain function.

    Called with a document and a recalibration, it returns the document's summed loss: lower is better.

    Attributes
    ----------
    name
        Name for summaries.
    parallel
        True if several threads may call the objective at once.
    sampled
        True if the loss has sampling noise; the search is then smoother.
    has_derivatives, has_gradient
        True if `derivatives` or `gradient` is defined; fits by kind need one of them.
    adds_likelihood
        True if -log of the probability of gold antecedents is added to the loss.
    """

    name = "objective"
    parallel = False
    sampled = False
    has_derivatives = False
    has_gradient = False
    adds_likelihood = False

    def __call__(self, document: ScoredDocument, recalibration: Recalibration) -> float:
        """Summed loss of the document under the recalibration."""
        raise NotImplementedError

    def derivatives(self, document: ScoredDocument, recalibration: Recalibration) -> tuple[float, Floats, Floats]:
        """Loss, gradient and curvature in all parameters, in the order of `Recalibration.vector`.

        The curvature is the Hessian or a positive semidefinite approximation of it.
        """
        raise NotImplementedError

    def gradient(self, document: ScoredDocument, recalibration: Recalibration) -> tuple[float, Floats]:
        """Loss and gradient in all parameters, in the order of `Recalibration.vector`."""
        raise NotImplementedError

    def with_samples(self, n_samples: int) -> DocumentObjective:
        """The same objective from another number of samples: few while a fit searches, many for its last step."""
        return self

    def n_terms(self, document: ScoredDocument) -> float:
        """Number of terms of the sum, for means; a document without terms does not count."""
        return 1.0


# The log loss of a gold pair that is impossible with these candidates would be infinite.
_LEAST_PROBABILITY = 1e-6


class LinkScore(DocumentObjective):
    """Proper score of the exact link marginals, summed over the pairs of annotated mentions.

    Parameters
    ----------
    score
        Name of the score, "brier" (the default) or "log". In the log score the probability of the gold outcome is at
        least 1e-6, because missing candidates make some gold pairs impossible.
    unannotated
        Treatment of mentions without a gold entity: "skip" (the default) leaves out every pair with such a mention;
        "single" treats each as a separate entity, for corpora that do not annotate singletons.
    """

    parallel = True
    has_gradient = True

    def __init__(self, score: str = "brier", *, unannotated: Unannotated = "skip") -> None:
        self._log = _checks.choice("score", score, ("brier", "log")) == "log"
        self.name = "links (log score)" if self._log else "links"
        self._kinds = cache(document_kinds)
        self._entities = cache(lambda document: gold_codes(document, unannotated))

    def __call__(self, document: ScoredDocument, recalibration: Recalibration) -> float:
        """Summed score of the document's annotated pairs."""
        kinds = None if recalibration.offsets is None else self._kinds(document)
        marginals = link_marginals(recalibration.apply(document.antecedents, kinds))
        return _pair_scores(marginals, self._entities(document), log=self._log)[0]

    def gradient(self, document: ScoredDocument, recalibration: Recalibration) -> tuple[float, Floats]:
        """Score of the document's annotated pairs under a recalibration, and its gradient in all parameters."""
        kinds, scaled = self._kinds(document), document.antecedents.scores / recalibration.temperature
        changed = recalibration.apply(document.antecedents, kinds)
        marginals = link_marginals(changed)
        score, slopes = _pair_scores(marginals, self._entities(document), log=self._log)
        by_offset = np.empty((N_KINDS, N_KINDS))
        arrays = changed.indptr, changed.antecedents, changed.probs, scaled, kinds, marginals
        by_temperature = _kernels.link_slopes(*arrays, slopes, by_offset)
        return score, np.append(by_temperature, by_offset) @ changes_by_parameters(by_kind=True)

    def n_terms(self, document: ScoredDocument) -> float:
        """Number of annotated pairs of the document."""
        n = int(np.count_nonzero(self._entities(document) >= 0))
        return n * (n - 1) / 2


def _pair_scores(marginals: Floats, entities: Ints, *, log: bool) -> tuple[float, Floats]:
    """Summed score of the annotated pairs, and its derivative in each marginal below the diagonal."""
    annotated = entities >= 0
    pairs = np.tril(annotated[:, None] & annotated, -1)
    gold = entities[:, None] == entities
    right, signs = np.where(gold, marginals, 1.0 - marginals), np.where(gold, -1.0, 1.0)
    if not log:
        wrong = np.where(pairs, 1.0 - right, 0.0)
        return float((wrong**2).sum()), 2.0 * signs * wrong
    bounded = np.maximum(right, _LEAST_PROBABILITY)  # where it is the bound, the score is constant
    pairs_above = pairs & (right > _LEAST_PROBABILITY)
    return -float(np.log(bounded[pairs]).sum()), np.where(pairs_above, signs / bounded, 0.0)


_SEARCH_SAMPLES = 300  # clusterings of a document, of sampled losses
_DIFFERENCE = 1e-5  # of parameters, for the Hessians of objectives that have gradients only


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
        float64 (n_documents, n_parameters, n_parameters), symmetric: second derivatives of each loss; approximations
        for some objectives.
    """

    losses: Floats
    gradients: Floats
    hessians: Floats

    def total(self, weights: Floats) -> tuple[float, Floats, Floats]:
        """Weighted sums over documents."""
        return float(weights @ self.losses), weights @ self.gradients, np.tensordot(weights, self.hessians, 1)


class Losses:
    """Base of the losses of a set of documents.

    Attributes
    ----------
    name
        Name of the objective.
    sampled
        True if the losses have sampling noise.
    n_terms
        float64 (n_documents,): number of terms in the loss of each document.
    """

    name: str
    sampled = False
    n_terms: Floats

    def at(self, recalibration: Recalibration) -> Floats:
        """float64 (n_documents,): summed loss of each document under a recalibration."""
        return self.derivatives(recalibration).losses

    def derivatives(self, recalibration: Recalibration) -> Derivatives:
        """Losses with derivatives."""
        raise NotImplementedError

    def around(self, point: Floats, n_samples: int) -> Losses:
        """The same losses where they are exact; sampled ones as quadratics around a point, from n_samples."""
        return self


class Likelihood(Losses):
    """-log of the summed probability of each mention's gold antecedents.

    Parameters
    ----------
    gold
        The documents.
    by_kind
        True if the parameters are all of `Recalibration.vector`, for which documents need tokens; False if they are
        the first two.
    """

    name = "likelihood"

    def __init__(self, gold: GoldSet, *, by_kind: bool = False) -> None:
        self._gold, self._n_kinds = gold, _model.N_KINDS if by_kind else 1
        self._changes = _model.changes_by_parameters(by_kind=by_kind)
        self._kinds: Bytes = np.zeros(len(gold.kinds), np.uint8)
        if by_kind:
            self._kinds = np.concatenate([_model.document_kinds(each) for each in gold.documents])
        self._antecedents = np.concatenate([each.antecedents.antecedents for each in gold.documents])
        self.n_terms = gold.n_terms

    def derivatives(self, recalibration: Recalibration) -> Derivatives:
        """Losses with derivatives, by several threads."""
        gold, n, size = self._gold, len(self._gold.documents), len(self._changes)
        offsets = np.full((self._n_kinds, self._n_kinds), -recalibration.new_bias)
        if recalibration.offsets is not None:
            offsets += recalibration.offsets.table()
        losses, gradients, hessians = np.empty(n), np.zeros((n, size)), np.zeros((n, size, size))

        rows = gold.indptr, self._antecedents, gold.scores, gold.kinds, gold.candidates, self._kinds

        def fill(chunk: slice) -> None:
            bounds = gold.bounds[chunk.start : chunk.stop + 1]
            filled = losses[chunk], gradients[chunk], hessians[chunk]
            _kernels.likelihood_derivatives(bounds, *rows, recalibration.temperature, offsets, *filled)

        n_threads = min(processors(), n)
        ends = np.searchsorted(gold.indptr[gold.bounds], np.linspace(0, gold.indptr[-1], n_threads + 1)[1:-1])
        cuts = np.unique([0, *ends.tolist(), n])
        with ThreadPoolExecutor(n_threads) as pool:
            list(pool.map(fill, map(slice, cuts[:-1].tolist(), cuts[1:].tolist())))
        # The kernel's derivatives are in the log temperature and the offset of each pair of kinds.
        return Derivatives(losses, gradients @ self._changes, _in_parameters(hessians, self._changes))


def _in_parameters(hessians: Floats, changes: Floats) -> Floats:
    """changes.T @ hessian @ changes of each symmetric Hessian; two large products are faster than many small ones."""
    for _ in range(2):
        product = hessians.reshape(-1, len(changes)) @ changes
        hessians = product.reshape(len(hessians), -1, product.shape[1]).transpose(0, 2, 1)
    return hessians


class CalledLosses(Losses):
    """Losses of an objective that is called for each document."""

    def __init__(
        self, documents: Sequence[ScoredDocument], objective: Callable[[ScoredDocument, Recalibration], float]
    ) -> None:
        options = objective if isinstance(objective, DocumentObjective) else DocumentObjective()
        self.name = options.name if options is objective else getattr(objective, "__name__", type(objective).__name__)
        self.sampled = options.sampled
        self.n_terms: Floats = np.array([options.n_terms(each) for each in documents], np.float64)
        self._documents, self._objective, self.options = documents, objective, options
        self._n_calls = 0
        self._hessians: Floats | None = None  # of an objective that has gradients only
        self._is_near = False  # whether they are those near the minimum

    def _each(
        self,
        function: Callable[[ScoredDocument, Recalibration], Any],
        recalibration: Recalibration,
        documents: Sequence[ScoredDocument],
    ) -> list[Any]:
        with ThreadPoolExecutor(processors() if self.options.parallel else 1) as pool:
            return list(pool.map(function, documents, repeat(recalibration)))

    def at(self, recalibration: Recalibration) -> Floats:
        """Losses of the documents."""
        self._n_calls += 1
        log_step("%s: loss of %d documents, for the %d. time", self.name, len(self._documents), self._n_calls)
        values = self._each(self._objective, recalibration, self._documents)
        losses = np.array(values)
        if losses.dtype.kind not in "iuf" or losses.ndim != 1 or not np.isfinite(losses).all():
            wrong = next(v for v in values if not isinstance(v, (int, float, np.number)) or not np.isfinite(v))
            rule = "must return a finite number for each document"
            raise ParameterError(f"{rule}, got {wrong!r}", parameter="objective")
        return losses.astype(np.float64)

    def derivatives(self, recalibration: Recalibration) -> Derivatives:
        """Losses with derivatives; where the objective has gradients only, the Hessians are those of another point."""
        return self._derivatives(self.options.with_samples(_SEARCH_SAMPLES), recalibration)

    def _derivatives(self, objective: DocumentObjective, recalibration: Recalibration) -> Derivatives:
        function = objective.derivatives if objective.has_derivatives else objective.gradient
        arrays = [np.array(part) for part in zip(*self._each(function, recalibration, self._documents), strict=True)]
        if not objective.has_derivatives:
            if self._hessians is None:
                self._hessians = self._differences(objective, recalibration, arrays[1])
            arrays.append(self._hessians)
        return Derivatives(*arrays)

    def _differences(self, objective: DocumentObjective, recalibration: Recalibration, gradients: Floats) -> Floats:
        """Hessians as differences of gradients.

        Those in the log temperature and in the offsets of links, which change only documents with such a link, give all
        others (`changes_by_parameters`).
        """
        vector = recalibration.vector()
        places = [_model.LOG_TEMPERATURE, *range(_model.LINK_OFFSETS, _model.N_PARAMETERS)]
        hessians = np.zeros((len(gradients), len(places), len(places)))
        for row, parameter in enumerate(places):
            log_step("%s: second derivatives, %d of %d", self.name, row + 1, len(places))
            moved, changed = vector.copy(), np.flatnonzero(gradients[:, parameter])
            moved[parameter] += _DIFFERENCE
            documents = [self._documents[d] for d in changed.tolist()]
            derivatives = self._each(objective.gradient, Recalibration.from_vector(moved), documents)
            for d, (_, gradient) in zip(changed, derivatives, strict=True):
                hessians[d, row] = (gradient - gradients[d])[places] / _DIFFERENCE
        return _in_parameters((hessians + hessians.transpose(0, 2, 1)) / 2, _model.changes_by_parameters(by_kind=True))

    def around(self, point: Floats, n_samples: int) -> Losses:
        """Quadratics if the losses are sampled; otherwise itself, with the Hessians of the first such point."""
        if self.sampled:
            objective, there = self.options.with_samples(n_samples), Recalibration.from_vector(point)
            return Quadratics(self, point, self._derivatives(objective, there))
        if not self._is_near:
            self._hessians, self._is_near = None, True
        return self


class JointLosses(Losses):
    """The likelihood plus the losses of an objective; means are per term of the likelihood."""

    def __init__(self, likelihood: Losses, objective: Losses) -> None:
        self._likelihood, self._objective = likelihood, objective
        self.name, self.sampled, self.n_terms = objective.name, objective.sampled, likelihood.n_terms

    def at(self, recalibration: Recalibration) -> Floats:
        """Losses of the documents."""
        return self._likelihood.at(recalibration) + self._objective.at(recalibration)

    def derivatives(self, recalibration: Recalibration) -> Derivatives:
        """Losses with derivatives."""
        first, second = self._likelihood.derivatives(recalibration), self._objective.derivatives(recalibration)
        return Derivatives(
            first.losses + second.losses, first.gradients + second.gradients, first.hessians + second.hessians
        )

    def around(self, point: Floats, n_samples: int) -> Losses:
        """The exact likelihood, and the other losses as they are around a point."""
        return JointLosses(self._likelihood, self._objective.around(point, n_samples))


class Quadratics(Losses):
    """Losses of documents as quadratics around a point, which have no noise and cost nothing to evaluate.

    Parameters
    ----------
    losses
        Losses to approximate.
    point
        float64 (N_PARAMETERS,): parameters around which the losses are approximated.
    there
        Derivatives of the losses at the point.
    """

    def __init__(self, losses: Losses, point: Floats, there: Derivatives) -> None:
        self.name, self.n_terms, self._point, self._there = losses.name, losses.n_terms, point, there

    def derivatives(self, recalibration: Recalibration) -> Derivatives:
        """Losses with derivatives."""
        there, step = self._there, recalibration.vector() - self._point
        changes = there.hessians @ step
        losses = there.losses + there.gradients @ step + changes @ step / 2
        return Derivatives(losses, there.gradients + changes, there.hessians)


def make_losses(objective: Objective, gold: GoldSet, *, unannotated: Unannotated, by_kind: bool = False) -> Losses:
    """Losses of an objective by name, or of a custom objective, in the parameters of a form."""
    if isinstance(objective, str):
        _checks.choice("objective", objective, OBJECTIVES)
        if objective == "likelihood":
            return Likelihood(gold, by_kind=by_kind)
        objective = LinkScore(unannotated=unannotated)
    if not callable(objective):
        rule = f"must be one of {', '.join(OBJECTIVES)} or callable"
        raise ParameterError(f"{rule}, got {objective!r}", parameter="objective")
    losses = CalledLosses(gold.documents, objective)
    if not losses.n_terms.sum() > 0:
        raise ParameterError(f"gold must give the objective {losses.name} a term, got none")
    options = losses.options
    if by_kind and not (options.has_derivatives or options.has_gradient):
        raise ParameterError(f"must have derivatives for the form 'kinds', got {losses.name}", parameter="objective")
    return JointLosses(Likelihood(gold, by_kind=by_kind), losses) if options.adds_likelihood else losses
