"""Objectives of recalibration by name, including the proper score of entity queries."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from corefsample import _checks
from corefsample._arrays import Bools, Floats, Ints
from corefsample.documents._scored import ScoredDocument
from corefsample.links._pairs import Unannotated
from corefsample.recalibration import LinkScore
from corefsample.recalibration._losses import DocumentObjective, Objective
from corefsample.recalibration._model import N_PARAMETERS, Recalibration
from events.queries._queries import DocumentQueries, match_queries

OBJECTIVES = ("joint", "likelihood", "links", "links-log", "queries", "queries-log")
# Weight of queries beside the likelihood: chosen by leaving genres out, where with 2 names were linked too rarely.
_JOINT_WEIGHT, _JOINT_SAMPLES = 6.0, 300  # samples of a document


class QueryScore(DocumentObjective):
    """Proper score of a document's queries, as an objective of recalibration.

    The same random numbers are used for every recalibration, so the score is nearly smooth in it.

    Parameters
    ----------
    score
        "brier", corrected for the noise of the samples: (k/S - y)^2 - k (S - k) / (S^2 (S - 1)) estimates
        (P - y)^2 without bias. Or "log", of (k + 1/2) / (S + 1).
    n_samples
        Number of samples S, at least 2. Fits by kind of antecedent use another number: see `with_samples`.
    seed
        Seed of the samples, in [0, 2**64).
    role, scheme, unannotated
        Options by which queries are matched with documents: see `match_queries`.
    joint
        True to add the negative log likelihood of gold antecedents, with the score of the queries multiplied by six.
        The likelihood determines what queries do not, and queries keep sums over documents right. This objective
        transfers best to other text.
    """

    parallel = True
    sampled = True
    has_derivatives = True

    def __init__(
        self,
        score: str = "brier",
        *,
        n_samples: int = 1000,
        seed: int = 0,
        role: str = "subject",
        scheme: str | None = None,
        unannotated: Unannotated = "skip",
        joint: bool = False,
    ) -> None:
        self.adds_likelihood = joint
        self._weight = _JOINT_WEIGHT if joint else 1.0
        self._log = _checks.choice("score", score, ("brier", "log")) == "log"
        self.name = "joint" if joint else "queries (log score)" if self._log else "queries"
        self._n_samples = _checks.n_samples(n_samples, 2)
        self._seed = _checks.seed(seed)
        self._options: dict[str, Any] = {"role": role, "scheme": scheme, "unannotated": unannotated}
        self._matched: dict[str, tuple[ScoredDocument, DocumentQueries]] = {}

    def queries(self, document: ScoredDocument) -> DocumentQueries:
        """Queries of a document, which are matched at the first call and then kept."""
        matched = self._matched.get(document.doc_id)
        if matched is None or matched[0] is not document:
            matched = document, match_queries(document, **self._options)
            self._matched[document.doc_id] = matched
        return matched[1]

    def __call__(self, document: ScoredDocument, recalibration: Recalibration) -> float:
        """Summed score of the document's queries."""
        queries = self.queries(document)
        if not queries.n_queries or queries.truth is None:
            return 0.0
        hits = queries.hits(recalibration, n_samples=self._n_samples, seed=self._seed)[:, queries.present_types]
        return self._weight * float(self._losses(hits, queries.truth[:, queries.present_types]).sum())

    def _losses(self, hits: Ints, truth: Bools) -> Floats:
        n = self._n_samples
        if self._log:
            smoothed = (hits + 0.5) / (n + 1)
            losses: Floats = -np.log(np.where(truth, smoothed, 1.0 - smoothed))
            return losses
        return (hits / n - truth) ** 2 - hits * (n - hits) / (n**2 * (n - 1))

    def derivatives(self, document: ScoredDocument, recalibration: Recalibration) -> tuple[float, Floats, Floats]:
        """Loss, gradient and curvature (Gauss-Newton) of the document's queries, estimated from samples.

        Probabilities come from the samples of the loss, their slopes from as many others: the product of two
        independent estimates has no bias, so the gradient has none. The curvature has the noise of the slopes and is
        slightly too large, which shortens steps.
        """
        queries, n = self.queries(document), self._n_samples
        size = N_PARAMETERS
        if not queries.n_queries or queries.truth is None:
            return 0.0, np.zeros(size), np.zeros((size, size))
        present = queries.present_types
        hits = queries.hits(recalibration, n_samples=n, seed=self._seed)[:, present].ravel()
        truth = queries.truth[:, present].ravel()
        slopes = queries.slopes(recalibration, n_samples=n, seed=self._seed, first_sample=n)[:, present]
        slopes = slopes.reshape(-1, size)
        if self._log:
            p = (hits + 0.5) / (n + 1)
            errors, curvatures = (p - truth) / (p * (1.0 - p)), 1.0 / (p * (1.0 - p))
        else:
            errors, curvatures = 2.0 * (hits / n - truth), np.full(len(hits), 2.0)
        loss, by_parameter = float(self._losses(hits, truth).sum()), slopes.T.copy()
        gradient = np.einsum("pq,q->p", by_parameter, errors)  # without BLAS: see `DocumentQueries.slopes`
        curvature = np.einsum("pq,rq->pr", by_parameter * curvatures, by_parameter)
        return self._weight * loss, self._weight * gradient, self._weight * curvature

    def with_samples(self, n_samples: int) -> QueryScore:
        """Return this score with another number of samples, which shares the matched queries."""
        score = copy.copy(self)
        score._n_samples = _checks.n_samples(n_samples, 2)
        return score

    def n_terms(self, document: ScoredDocument) -> float:
        """Number of queries of the document."""
        return self.queries(document).n_queries


def named_objective(name: str, query_score: dict[str, Any]) -> Objective:
    """Objective with one of the names in OBJECTIVES; `query_score` has the options of a `QueryScore`."""
    _checks.choice("objective", name, OBJECTIVES)
    if name == "joint":
        n_samples = min(query_score.get("n_samples", _JOINT_SAMPLES), _JOINT_SAMPLES)
        return QueryScore("log", **{**query_score, "n_samples": n_samples}, joint=True)
    if name.startswith("queries"):
        return QueryScore("log" if name.endswith("log") else "brier", **query_score)
    if name == "links-log":
        return LinkScore("log", unannotated=query_score.get("unannotated", "skip"))
    return "likelihood" if name == "likelihood" else "links"
