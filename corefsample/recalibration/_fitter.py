"""Fitting recalibrations to one set of documents: to all of them, by folds, or to bootstrapped ones."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample._random import document_key
from corefsample.documents import ScoredDocument
from corefsample.errors import ParameterError
from corefsample.links import Unannotated
from corefsample.recalibration._losses import GoldSet, Likelihood, Objective, make_losses
from corefsample.recalibration._model import Recalibration, RecalibrationFit
from corefsample.recalibration._refits import CrossFit, RecalibrationDraws
from corefsample.recalibration._surface import LossSurface, find_surface, no_minimum, recalibration_at

__all__ = ["RecalibrationFitter"]

FloatArray = npt.NDArray[np.float64]

# Bounds of the likelihood's search; a temperature is relative to the root mean square of the scores.
_LOG_TEMPERATURES = float(np.log(1e3))
_BIASES = 50.0
# Of the mean loss: that of real documents bends by some 0.06, one that only levels off, far away, by less than 1e-8.
_LEAST_BEND = 1e-6


class RecalibrationFitter:
    """Fits recalibrations to one set of documents with gold: to all, by folds, or to bootstrapped ones.

    The documents are held in memory. The order in which they come does not matter.

    Parameters
    ----------
    documents
        Pre-scored documents, with gold where they are to count; doc_ids unique.
    objective
        "likelihood", "links", or a callable: the summed loss of a document under a recalibration, lower is better
        (`DocumentObjective` says more to it). A callable, like "links", is searched for its minimum from the
        likelihood's fit.
    missing
        "skip" or "floor": of mentions whose gold antecedents are all left out (see `corefsample.recalibration`).
    unannotated
        "skip" or "single": of mentions without a gold entity (see `corefsample.recalibration`).

    Raises
    ------
    ParameterError
        If no document has gold, a doc_id comes twice, or an option is unknown.
    """

    def __init__(
        self,
        documents: Iterable[ScoredDocument],
        *,
        objective: Objective = "likelihood",
        missing: str = "skip",
        unannotated: Unannotated = "skip",
    ) -> None:
        self.gold = GoldSet.of(documents, missing=missing, unannotated=unannotated)
        self._likelihood = Likelihood(self.gold)
        made = make_losses(objective, self.gold, unannotated=unannotated)
        self._losses = self._likelihood if isinstance(made, Likelihood) else made

    @property
    def n_documents(self) -> int:
        """Number of documents with gold."""
        return len(self.gold.documents)

    @cached_property
    def _surface(self) -> LossSurface:
        everyone = np.ones(self.n_documents)
        return find_surface(
            self._losses, self._likeliest(everyone), everyone, at_minimum=self._losses is self._likelihood
        )

    def _likeliest(self, weights: FloatArray) -> FloatArray:
        """Log temperature and bias of the highest likelihood, documents weighted."""
        from scipy.optimize import minimize

        # Scores in units of their size: the search takes the same steps whatever they were multiplied by.
        unit = float(np.sqrt(np.mean(self.gold.scores**2))) if self.gold.scores.size else 0.0
        if unit == 0.0:
            raise ParameterError("scores must not all be 0 for a temperature to be fitted, got none other")
        shift = np.array([np.log(unit), 0.0])
        n_terms = float(weights @ self._likelihood.n_terms)

        def mean_loss(point: FloatArray) -> tuple[float, FloatArray]:
            losses, gradients = self._likelihood.with_gradient(recalibration_at(point + shift))
            return float(weights @ losses) / n_terms, weights @ gradients / n_terms

        bounds = [(-_LOG_TEMPERATURES, _LOG_TEMPERATURES), (-_BIASES, _BIASES)]
        found = minimize(
            mean_loss, np.zeros(2), jac=True, method="L-BFGS-B", bounds=bounds, options={"ftol": 1e-15, "gtol": 1e-9}
        )
        steps = 1e-4 * np.eye(2)
        hessian = np.stack([mean_loss(found.x + step)[1] - mean_loss(found.x - step)[1] for step in steps]) / 2e-4
        # Where the likelihood only levels off, far away, there is no bend left.
        if np.linalg.eigvalsh((hessian + hessian.T) / 2)[0] < _LEAST_BEND:
            raise no_minimum(self._likelihood.name)
        point: FloatArray = found.x + shift
        return point

    def _fitted(self, weights: FloatArray) -> Recalibration:
        if self._losses is self._likelihood:
            return recalibration_at(self._likeliest(weights))
        point, at_edge = self._surface.minimum(weights)
        if at_edge:  # of what the other documents made look wide enough
            point, _ = find_surface(self._losses, point, weights, at_minimum=False).minimum(weights)
        return recalibration_at(point)

    def fit(self) -> RecalibrationFit:
        """Fit to all documents.

        Raises
        ------
        ParameterError
            If the objective has no minimum: gold does not determine a temperature and a bias.
        """
        recalibration = self._fitted(np.ones(self.n_documents))
        n_terms = float(self._losses.n_terms.sum())
        return RecalibrationFit(
            recalibration=recalibration,
            objective=self._losses.name,
            score_before=float(self._losses.at(Recalibration()).sum()) / n_terms,
            score_after=float(self._losses.at(recalibration).sum()) / n_terms,
            n_terms=n_terms,
            gold=self.gold.counts,
        )

    def cross_fit(self, n_folds: int = 5, *, seed: int = 0, n_boot: int = 0) -> CrossFit:
        """Fit to the documents outside each fold, and score those inside.

        Parameters
        ----------
        n_folds
            From 2 to the number of documents with gold.
        seed
            Of folds and bootstrap, in [0, 2**64).
        n_boot
            Refits of each fold on bootstrapped documents; 0 for none.

        Raises
        ------
        ParameterError
            As `fit`, and if n_folds, seed or n_boot is outside its range.
        """
        n_folds = _checks.whole("n_folds", n_folds, 2)
        if n_folds > self.n_documents:
            raise ParameterError(
                f"n_folds must be at most the number of documents with gold ({self.n_documents}), got {n_folds}"
            )
        folds = self._folds(n_folds, seed)
        trained = [folds != fold for fold in range(n_folds)]
        if any(not self._losses.n_terms[part].sum() > 0 for part in trained):
            raise ParameterError(f"n_folds must leave the objective {self._losses.name} terms to fit, got {n_folds}")
        fits = [self._fitted(part.astype(np.float64)) for part in trained]
        after = np.stack([self._losses.at(fit) for fit in fits])
        return CrossFit(
            objective=self._losses.name,
            doc_ids=self.gold.doc_ids,
            folds=folds,
            recalibrations=tuple(fits),
            n_terms=self._losses.n_terms.copy(),
            loss_before=self._losses.at(Recalibration()),
            loss_after=after[folds, np.arange(self.n_documents)],
            draws=tuple(self._refits(n_boot, seed, trained)) if n_boot else (),
            gold=self.gold.counts,
        )

    def bootstrap(self, n_boot: int = 200, *, seed: int = 0) -> RecalibrationDraws:
        """Refit on bootstrapped documents: as many, drawn with replacement.

        The refits are minima of polynomials through the losses near the fit, all documents' losses being computed
        once on a lattice (`corefsample.recalibration`).

        Parameters
        ----------
        n_boot
            At least 1.
        seed
            In [0, 2**64).
        """
        _checks.whole("n_boot", n_boot, 1)
        return self._refits(n_boot, seed, [np.ones(self.n_documents, np.bool_)])[0]

    def _folds(self, n_folds: int, seed: int) -> npt.NDArray[np.int64]:
        """Deal the documents to folds in an order that seed and doc_ids alone decide."""
        keys = [(document_key(seed, doc_id), doc_id) for doc_id in self.gold.doc_ids]
        folds = np.empty(self.n_documents, np.int64)
        for place, d in enumerate(sorted(range(self.n_documents), key=keys.__getitem__)):
            folds[d] = place % n_folds
        return folds

    def _refits(self, n_boot: int, seed: int, trained: list[npt.NDArray[np.bool_]]) -> list[RecalibrationDraws]:
        """Draws for each part of the documents that is fitted to; draw b weighs a document alike in all parts."""
        n_boot = _checks.whole("n_boot", n_boot, 1)
        order = sorted(range(self.n_documents), key=self.gold.doc_ids.__getitem__)
        rng = np.random.Generator(np.random.Philox(_checks.seed(seed)))
        points = np.empty((len(trained), n_boot, 2))
        n_at_edge = [0] * len(trained)
        for draw in range(n_boot):
            weights = np.zeros(self.n_documents)
            # A draw that leaves a part without terms says nothing of it: draw again.
            while not all((weights * self._losses.n_terms)[part].sum() > 0 for part in trained):
                weights[order] = rng.multinomial(self.n_documents, np.full(self.n_documents, 1 / self.n_documents))
            for p, part in enumerate(trained):
                points[p, draw], at_edge = self._surface.minimum(weights * part)
                n_at_edge[p] += at_edge
        return [
            RecalibrationDraws(np.exp(part[:, 0]), part[:, 1].copy(), edge)
            for part, edge in zip(points, n_at_edge, strict=True)
        ]
