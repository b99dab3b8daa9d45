"""What a recalibration is fitted by: the loss of each document with gold, as a function of temperature and bias."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample._processors import processors
from corefsample.coreference import AntecedentDistribution, link_marginals
from corefsample.documents import ScoredDocument
from corefsample.errors import ParameterError
from corefsample.links import Unannotated, gold_codes
from corefsample.recalibration import _kernels as kernels
from corefsample.recalibration._model import GoldCounts, Recalibration

__all__ = ["DocumentObjective", "GoldSet", "LinkScore", "Losses", "Objective", "make_losses"]

FloatArray = npt.NDArray[np.float64]
Objective = Literal["likelihood", "links"] | Callable[[ScoredDocument, Recalibration], float]
OBJECTIVES = ("likelihood", "links")
MISSING = ("skip", "floor")
# A pair that the candidates make impossible, but gold makes, would cost an infinite log loss.
LEAST_PROBABILITY = 1e-6


class DocumentObjective:
    """Base of objectives of one's own that say more than a plain function can.

    Call it with a document and a recalibration for the document's summed loss: lower is better.

    Attributes
    ----------
    name
        For summaries.
    parallel
        Whether it may be called from several threads at once.
    sampled
        Whether the loss carries the noise of samples, which a smoother search evens out.
    """

    name = "objective"
    parallel = False
    sampled = False

    def __call__(self, document: ScoredDocument, recalibration: Recalibration) -> float:
        """Summed loss of the document under the recalibration."""
        raise NotImplementedError

    def n_terms(self, document: ScoredDocument) -> float:
        """How many losses the sum has, for means; a document with none does not count."""
        return 1.0


class LinkScore(DocumentObjective):
    """Proper score of the exact link marginals, summed over the pairs of annotated mentions.

    Parameters
    ----------
    score
        "brier" or "log"; the log score raises the probability of what gold says to at least 1e-6, since candidates
        left out make some gold pairs impossible.
    unannotated
        As of `corefsample.links.gold_codes`.
    """

    parallel = True

    def __init__(self, score: str = "brier", *, unannotated: Unannotated = "skip") -> None:
        self._log = _checks.choice("score", score, ("brier", "log")) == "log"
        self._unannotated = unannotated
        self.name = "links (log score)" if self._log else "links"
        self._known: dict[str, tuple[ScoredDocument, npt.NDArray[np.int64]]] = {}

    def _entities(self, document: ScoredDocument) -> npt.NDArray[np.int64]:
        known = self._known.get(document.doc_id)
        if known is None or known[0] is not document:
            known = document, gold_codes(document, self._unannotated)
            self._known[document.doc_id] = known
        return known[1]

    def __call__(self, document: ScoredDocument, recalibration: Recalibration) -> float:
        """Summed score of the document's annotated pairs."""
        marginals = link_marginals(recalibration.apply(document.antecedents))
        entities = self._entities(document)
        if self._log:
            return kernels.log_link_loss(marginals, entities, LEAST_PROBABILITY)
        return kernels.squared_link_loss(marginals, entities)

    def n_terms(self, document: ScoredDocument) -> float:
        """Number of annotated pairs."""
        n = int(np.count_nonzero(self._entities(document) >= 0))
        return n * (n - 1) / 2


@dataclass(frozen=True, slots=True, eq=False)
class GoldSet:
    """The documents with gold, in the order given, and which antecedents gold has.

    Attributes
    ----------
    documents
        Those with an annotated mention.
    counts
        What was there, and what was left out.
    bounds, indptr, scores
        Mentions of each document and candidates of each mention, all documents end to end.
    kinds, candidates
        uint8, of each mention and each candidate: see `corefsample.recalibration._kernels.gold_antecedents`.
    """

    documents: tuple[ScoredDocument, ...]
    counts: GoldCounts
    bounds: npt.NDArray[np.int64]
    indptr: npt.NDArray[np.int64]
    scores: FloatArray
    kinds: npt.NDArray[np.uint8]
    candidates: npt.NDArray[np.uint8]

    @classmethod
    def of(cls, documents: Iterable[ScoredDocument], *, missing: str, unannotated: Unannotated) -> GoldSet:
        """Collect what gold says; raises ParameterError where no document has any."""
        _checks.choice("missing", missing, MISSING)
        kept: list[ScoredDocument] = []
        marks: list[tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]] = []
        n_documents = n_missing = n_unannotated = 0
        seen: set[str] = set()
        for document in documents:
            n_documents += 1
            if document.doc_id in seen:
                raise ParameterError(f"documents must have doc_ids of their own, got {document.doc_id!r} twice")
            seen.add(document.doc_id)
            if document.gold is None:
                continue
            entities = gold_codes(document, unannotated)
            if not (entities >= 0).any():
                continue
            kinds, candidates = _gold_antecedents(document.antecedents, entities)
            n_missing += int(np.count_nonzero(kinds == kernels.MISSING))
            n_unannotated += sum(entity is None for entity in document.gold)
            if missing == "floor":
                dist = document.antecedents
                kernels.floor_missing(dist.indptr, dist.scores, kinds, candidates)
            kept.append(document)
            marks.append((kinds, candidates))
        if not kept:
            raise ParameterError(f"gold must annotate a mention of some document, got none in {n_documents} documents")
        kinds = np.concatenate([of_mentions for of_mentions, _ in marks])
        floored = n_missing - int(np.count_nonzero(kinds == kernels.MISSING))
        counts = GoldCounts(
            n_documents=len(kept),
            n_without_gold=n_documents - len(kept),
            n_mentions=int(kinds.shape[0]),
            n_unannotated=n_unannotated,
            n_new=int(np.count_nonzero(kinds == kernels.IS_NEW)),
            n_linked=int(np.count_nonzero(kinds == kernels.HAS_ANTECEDENT)) - floored,
            n_missing=n_missing,
            n_floored=floored,
        )
        distributions = [document.antecedents for document in kept]
        widths = np.concatenate([np.diff(each.indptr) for each in distributions])
        return cls(
            documents=tuple(kept),
            counts=counts,
            bounds=np.concatenate(([0], np.cumsum([each.n_mentions for each in distributions]))).astype(np.int64),
            indptr=np.concatenate(([0], np.cumsum(widths))).astype(np.int64),
            scores=np.concatenate([each.scores for each in distributions]),
            kinds=kinds,
            candidates=np.concatenate([of_candidates for _, of_candidates in marks]),
        )

    @property
    def doc_ids(self) -> tuple[str, ...]:
        """doc_id of each document with gold."""
        return tuple(document.doc_id for document in self.documents)


def _gold_antecedents(
    antecedents: AntecedentDistribution, entities: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
    kinds = np.empty(antecedents.n_mentions, np.uint8)
    candidates = np.empty(antecedents.n_candidates, np.uint8)
    kernels.gold_antecedents(antecedents.indptr, antecedents.antecedents, entities, kinds, candidates)
    return kinds, candidates


class Losses(Protocol):
    """Losses of a set of documents."""

    name: str
    sampled: bool
    n_terms: FloatArray  # (n_documents,)

    def at(self, recalibration: Recalibration) -> FloatArray:
        """float64 (n_documents,): summed loss of each document under a recalibration."""
        ...


class Likelihood:
    """-log of the summed probability of each mention's gold antecedents."""

    name = "likelihood"
    sampled = False

    def __init__(self, gold: GoldSet) -> None:
        self._gold = gold
        termed = (gold.kinds == kernels.IS_NEW) | (gold.kinds == kernels.HAS_ANTECEDENT)
        self.n_terms: FloatArray = np.add.reduceat(termed, gold.bounds[:-1], dtype=np.float64)

    def at(self, recalibration: Recalibration) -> FloatArray:
        """Losses of the documents."""
        return self.with_gradient(recalibration)[0]

    def with_gradient(self, recalibration: Recalibration) -> tuple[FloatArray, FloatArray]:
        """Losses, and their gradients by log temperature and bias: (n_documents,) and (n_documents, 2)."""
        gold = self._gold
        losses = np.empty(len(gold.documents))
        gradients = np.empty((len(gold.documents), 2))
        kernels.likelihood_losses(
            gold.bounds,
            gold.indptr,
            gold.scores,
            gold.kinds,
            gold.candidates,
            recalibration.temperature,
            recalibration.new_bias,
            losses,
            gradients,
        )
        return losses, gradients


class _CalledLosses:
    """Losses by an objective that is called document by document."""

    def __init__(self, gold: GoldSet, objective: DocumentObjective) -> None:
        self.name = objective.name
        self.sampled = objective.sampled
        self._documents: Sequence[ScoredDocument] = gold.documents
        self._objective = objective
        self._n_threads = processors() if objective.parallel else 1
        self.n_terms: FloatArray = np.array([objective.n_terms(each) for each in gold.documents], np.float64)

    def at(self, recalibration: Recalibration) -> FloatArray:
        """Losses of the documents."""
        with ThreadPoolExecutor(self._n_threads) as pool:
            values = list(pool.map(lambda document: self._objective(document, recalibration), self._documents))
        losses = np.array(values)
        if losses.dtype.kind not in "iuf" or losses.ndim != 1 or not np.isfinite(losses).all():
            odd = next(v for v in values if not isinstance(v, (int, float, np.number)) or not np.isfinite(v))
            raise ParameterError(f"objective must return a finite number for each document, got {odd!r}")
        return losses.astype(np.float64)


class _Function(DocumentObjective):
    """A plain function as an objective."""

    def __init__(self, function: Callable[[ScoredDocument, Recalibration], float]) -> None:
        self._function = function
        self.name = getattr(function, "__name__", type(function).__name__)

    def __call__(self, document: ScoredDocument, recalibration: Recalibration) -> float:
        return self._function(document, recalibration)


def make_losses(objective: Objective, gold: GoldSet, *, unannotated: Unannotated) -> Losses:
    """Losses by name, or by an objective of one's own."""
    if isinstance(objective, str):
        _checks.choice("objective", objective, OBJECTIVES)
        if objective == "likelihood":
            return Likelihood(gold)
        objective = LinkScore(unannotated=unannotated)
    if not callable(objective):
        raise ParameterError(f"objective must be one of {', '.join(OBJECTIVES)} or callable, got {objective!r}")
    called = objective if isinstance(objective, DocumentObjective) else _Function(objective)
    losses = _CalledLosses(gold, called)
    if not losses.n_terms.sum() > 0:
        raise ParameterError(f"gold must give the objective {losses.name} a term, got none")
    return losses
