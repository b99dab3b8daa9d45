"""Custom objectives of a recalibration."""

from __future__ import annotations

from corefsample._arrays import Floats
from corefsample.documents._scored import ScoredDocument
from corefsample.recalibration._model import Recalibration


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
