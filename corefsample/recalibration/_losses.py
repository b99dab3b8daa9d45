"""The loss that a recalibration minimises: of each document with gold, as a function of temperature and bias."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Literal, Protocol

import numpy as np

from corefsample import _checks
from corefsample._arrays import Bytes, Floats, Ints
from corefsample._log import log_step
from corefsample._processors import processors
from corefsample.coreference import link_marginals
from corefsample.documents import ScoredDocument
from corefsample.errors import ParameterError
from corefsample.links import Unannotated, gold_codes
from corefsample.recalibration import _kernels as kernels
from corefsample.recalibration._gold import GoldSet
from corefsample.recalibration._link_gradient import link_gradient
from corefsample.recalibration._model import Recalibration, document_kinds

Objective = Literal["likelihood", "links"] | Callable[[ScoredDocument, Recalibration], float]
OBJECTIVES = ("likelihood", "links")
# The log loss of a gold pair that is impossible with these candidates would be infinite.
LEAST_PROBABILITY = 1e-6


class DocumentObjective:
    """Base class of custom objectives that need more than a plain function.

    Called with a document and a recalibration, it returns the document's summed loss: lower is better.

    Attributes
    ----------
    name
        Name for summaries.
    parallel
        Whether several threads may call it at once.
    sampled
        Whether the loss has sampling noise; the search is then smoother.
    has_derivatives, has_gradient
        Whether `derivatives` or `gradient` is defined; fits by kind need one of them.
    adds_likelihood
        Whether -log of the probability of gold antecedents is added to the loss.
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


class LinkScore(DocumentObjective):
    """Proper score of the exact link marginals, summed over the pairs of annotated mentions.

    Parameters
    ----------
    score
        "brier" or "log". In the log score the probability of the gold outcome is at least 1e-6, because missing
        candidates make some gold pairs impossible.
    unannotated
        As for `corefsample.links.gold_codes`.
    """

    parallel = True
    has_gradient = True

    def __init__(self, score: str = "brier", *, unannotated: Unannotated = "skip") -> None:
        self._log = _checks.choice("score", score, ("brier", "log")) == "log"
        self._unannotated = unannotated
        self.name = "links (log score)" if self._log else "links"
        self._cache: dict[str, tuple[ScoredDocument, Ints]] = {}
        self._kinds: dict[str, tuple[ScoredDocument, Bytes]] = {}

    def _entities(self, document: ScoredDocument) -> Ints:
        cached = self._cache.get(document.doc_id)
        if cached is None or cached[0] is not document:
            cached = self._cache[document.doc_id] = document, gold_codes(document, self._unannotated)
        return cached[1]

    def _kinds_of(self, document: ScoredDocument) -> Bytes:
        cached = self._kinds.get(document.doc_id)
        if cached is None or cached[0] is not document:
            cached = self._kinds[document.doc_id] = document, document_kinds(document)
        return cached[1]

    def __call__(self, document: ScoredDocument, recalibration: Recalibration) -> float:
        """Summed score of the document's annotated pairs."""
        kinds = None if recalibration.offsets is None else self._kinds_of(document)
        return self._score(link_marginals(recalibration.apply(document.antecedents, kinds)), self._entities(document))

    def _score(self, marginals: Floats, entities: Ints) -> float:
        if self._log:
            return kernels.log_link_loss(marginals, entities, LEAST_PROBABILITY)
        return kernels.squared_link_loss(marginals, entities)

    def gradient(self, document: ScoredDocument, recalibration: Recalibration) -> tuple[float, Floats]:
        """Score of the document's annotated pairs, and its gradient."""
        least = LEAST_PROBABILITY if self._log else None
        kinds, entities = self._kinds_of(document), self._entities(document)
        changed = recalibration.apply(document.antecedents, kinds)
        marginals = link_marginals(changed)
        before = document.antecedents, changed, recalibration.temperature
        slopes = link_gradient(*before, marginals, kinds, entities, least=least)
        return self._score(marginals, entities), slopes

    def n_terms(self, document: ScoredDocument) -> float:
        """Number of annotated pairs."""
        n = int(np.count_nonzero(self._entities(document) >= 0))
        return n * (n - 1) / 2


class Losses(Protocol):
    """Losses of a set of documents."""

    name: str
    sampled: bool
    n_terms: Floats  # (n_documents,)

    def at(self, recalibration: Recalibration) -> Floats:
        """float64 (n_documents,): summed loss of each document under a recalibration."""
        ...


class Likelihood:
    """-log of the summed probability of each mention's gold antecedents."""

    name = "likelihood"
    sampled = False

    def __init__(self, gold: GoldSet) -> None:
        self._gold = gold
        self.n_terms = gold.n_terms

    def at(self, recalibration: Recalibration) -> Floats:
        """Losses of the documents."""
        return self.with_gradient(recalibration)[0]

    def with_gradient(self, recalibration: Recalibration) -> tuple[Floats, Floats]:
        """Losses, and their gradients by log temperature and bias: (n_documents,) and (n_documents, 2)."""
        gold = self._gold
        losses = np.empty(len(gold.documents))
        gradients = np.empty((len(gold.documents), 2))
        arrays = (gold.bounds, gold.indptr, gold.scores, gold.kinds, gold.candidates)
        kernels.likelihood_losses(*arrays, recalibration.temperature, recalibration.new_bias, losses, gradients)
        return losses, gradients


class CalledLosses:
    """Losses of an objective that is called for each document."""

    def __init__(self, gold: GoldSet, objective: Callable[[ScoredDocument, Recalibration], float]) -> None:
        options = objective if isinstance(objective, DocumentObjective) else DocumentObjective()
        self.name = options.name if options is objective else getattr(objective, "__name__", type(objective).__name__)
        self.sampled = options.sampled
        self._documents = gold.documents
        self.objective = objective
        self._n_calls = 0
        self._n_threads = processors() if options.parallel else 1
        self.n_terms: Floats = np.array([options.n_terms(each) for each in gold.documents], np.float64)

    def at(self, recalibration: Recalibration) -> Floats:
        """Losses of the documents."""
        self._n_calls += 1
        log_step("%s: loss of %d documents, for the %d. time", self.name, len(self._documents), self._n_calls)
        with ThreadPoolExecutor(self._n_threads) as pool:
            values = list(pool.map(lambda document: self.objective(document, recalibration), self._documents))
        losses = np.array(values)
        if losses.dtype.kind not in "iuf" or losses.ndim != 1 or not np.isfinite(losses).all():
            wrong = next(v for v in values if not isinstance(v, (int, float, np.number)) or not np.isfinite(v))
            rule = "must return a finite number for each document"
            raise ParameterError(f"{rule}, got {wrong!r}", parameter="objective")
        return losses.astype(np.float64)


class JointLosses:
    """The likelihood plus the losses of an objective; means are per term of the likelihood."""

    def __init__(self, likelihood: Losses, called: CalledLosses) -> None:
        self.likelihood, self.called = likelihood, called
        self.name, self.sampled, self.n_terms = called.name, called.sampled, likelihood.n_terms

    def at(self, recalibration: Recalibration) -> Floats:
        """Losses of the documents."""
        return self.likelihood.at(recalibration) + self.called.at(recalibration)


def make_losses(objective: Objective, gold: GoldSet, *, unannotated: Unannotated) -> Losses:
    """Losses of an objective by name, or of a custom objective."""
    if isinstance(objective, str):
        _checks.choice("objective", objective, OBJECTIVES)
        if objective == "likelihood":
            return Likelihood(gold)
        objective = LinkScore(unannotated=unannotated)
    if not callable(objective):
        rule = f"must be one of {', '.join(OBJECTIVES)} or callable"
        raise ParameterError(f"{rule}, got {objective!r}", parameter="objective")
    losses = CalledLosses(gold, objective)
    if not losses.n_terms.sum() > 0:
        raise ParameterError(f"gold must give the objective {losses.name} a term, got none")
    adds_likelihood = isinstance(objective, DocumentObjective) and objective.adds_likelihood
    return JointLosses(Likelihood(gold), losses) if adds_likelihood else losses
