"""What a recalibration may minimise, of one document: a proper score of its link marginals, or a user's objective."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Literal

import numpy as np

from corefsample import _checks
from corefsample._arrays import Floats, Ints
from corefsample.coreference._clusterings import link_marginals
from corefsample.documents._scored import ScoredDocument
from corefsample.links._pairs import Unannotated, gold_codes
from corefsample.recalibration import _kernels
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


# The log loss of a gold pair that is impossible with these candidates would be infinite.
_LEAST_PROBABILITY = 1e-6


class LinkScore(DocumentObjective):
    """Proper score of the exact link marginals, summed over the pairs of annotated mentions.

    Parameters
    ----------
    score
        "brier" or "log". In the log score the probability of the gold outcome is at least 1e-6, because missing
        candidates make some gold pairs impossible.
    unannotated
        As for `gold_codes`.
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
        """Score of the document's annotated pairs, and its gradient: the recursion of the link marginals in reverse."""
        kinds, scaled = self._kinds(document), document.antecedents.scores / recalibration.temperature
        changed = recalibration.apply(document.antecedents, kinds)
        marginals = link_marginals(changed)
        score, slopes = _pair_scores(marginals, self._entities(document), log=self._log)
        by_offset = np.empty((N_KINDS, N_KINDS))
        arrays = changed.indptr, changed.antecedents, changed.probs, scaled, kinds, marginals
        by_temperature = _kernels.link_slopes(*arrays, slopes, by_offset)
        return score, np.append(by_temperature, by_offset) @ changes_by_parameters(by_kind=True)

    def n_terms(self, document: ScoredDocument) -> float:
        """Number of annotated pairs."""
        n = int(np.count_nonzero(self._entities(document) >= 0))
        return n * (n - 1) / 2


def _pair_scores(marginals: Floats, entities: Ints, *, log: bool) -> tuple[float, Floats]:
    """Summed score of the annotated pairs, and its derivative in each marginal below the diagonal."""
    known = entities >= 0
    pairs = np.tril(known[:, None] & known, -1)
    gold = entities[:, None] == entities
    right, signs = np.where(gold, marginals, 1.0 - marginals), np.where(gold, -1.0, 1.0)
    if not log:
        wrong = np.where(pairs, 1.0 - right, 0.0)
        return float((wrong**2).sum()), 2.0 * signs * wrong
    bounded = np.maximum(right, _LEAST_PROBABILITY)  # where it is the bound, the score is constant
    pairs_above = pairs & (right > _LEAST_PROBABILITY)
    return -float(np.log(bounded[pairs]).sum()), np.where(pairs_above, signs / bounded, 0.0)
