"""What fits of recalibrations return: the fit to all documents, refits to bootstrapped ones, and fits by folds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np

from corefsample._arrays import Floats, Ints
from corefsample._lazy import pd
from corefsample._results import HtmlTable, Result
from corefsample.errors import ParameterError
from corefsample.recalibration._domains import DomainEffect
from corefsample.recalibration._gold import GoldCounts
from corefsample.recalibration._model import N_GLOBAL, Recalibration


@dataclass(frozen=True, slots=True, repr=False)
class RecalibrationFit(HtmlTable):
    """A recalibration fitted on documents with gold.

    Attributes
    ----------
    recalibration
        The fit.
    objective
        Name of the minimised loss.
    score_before, score_after
        Mean loss per term on the same documents, before and after recalibration. The second is too optimistic for other
        documents (see `RecalibrationFitter.cross_fit`).
    n_terms
        Number of terms: mentions, or pairs of mentions.
    gold
        Counts of annotated documents and mentions.
    form
        "global" or "kinds".
    prior_sd
        Standard deviation of the prior of offsets by kind, which the data chose; None without offsets.
    """

    recalibration: Recalibration
    objective: str
    score_before: float
    score_after: float
    n_terms: float
    gold: GoldCounts
    form: str = "global"
    prior_sd: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class RecalibrationDraws(Result):
    """Recalibrations fitted to bootstrapped documents: the uncertainty of the fit.

    Attributes
    ----------
    temperature, new_bias
        float64 (n_draws,), read-only: draw b of each belongs to one refit.
    offsets
        float64 (n_draws, n_offsets), read-only: offsets by kind in the order of `Recalibration.vector`, or None.
    """

    temperature: Floats
    new_bias: Floats
    offsets: Floats | None = None

    @classmethod
    def from_vectors(cls, vectors: Floats) -> Self:
        """Build from rows of `Recalibration.vector`, with all parameters or the first two."""
        offsets = None if vectors.shape[1] == N_GLOBAL else vectors[:, N_GLOBAL:].copy()
        return cls(np.exp(vectors[:, 0]), vectors[:, 1].copy(), offsets)

    def vectors(self) -> Floats:
        """Parameters of each draw, in the order of `Recalibration.vector`: (n_draws, n_parameters)."""
        both = np.column_stack((np.log(self.temperature), self.new_bias))
        return both if self.offsets is None else np.column_stack((both, self.offsets))

    def __repr__(self) -> str:
        temperature = f"temperature {self.temperature.mean():.3g} (sd {self.temperature.std():.2g})"
        new_bias = f"new_bias {self.new_bias.mean():.3g} (sd {self.new_bias.std():.2g})"
        return f"RecalibrationDraws({len(self)} draws, {temperature}, {new_bias})"

    def __len__(self) -> int:
        return int(self.temperature.shape[0])

    def __getitem__(self, draw: int) -> Recalibration:
        offsets = None if self.offsets is None else tuple(self.offsets[draw].tolist())
        return Recalibration(float(self.temperature[draw]), float(self.new_bias[draw]), offsets)

    def __iter__(self) -> Iterator[Recalibration]:
        return (self[draw] for draw in range(len(self)))

    def shrinkage(self, recalibration: Recalibration) -> float:
        """Weight of a fit relative to its own uncertainty, from 0 (all noise) to 1 (no noise).

        With v = (log temperature, new_bias) and S the covariance of the draws, it is max(0, 1 - 2 / (v' S^-1 v)): the
        empirical-Bayes weight of v if v is normal around the true value with covariance S, and the true value is
        normal around no change with a covariance proportional to S.

        Parameters
        ----------
        recalibration
            The fit to the documents that the draws come from.

        Raises
        ------
        ParameterError
            If there are fewer than three draws, or their covariance is singular.

        References
        ----------
        Efron & Morris (1973), "Stein's estimation rule and its competitors", section 2.
        """
        if self.offsets is not None:
            raise ParameterError("cannot be shrunk again: offsets by kind have a prior already", parameter="draws")
        draws = self.vectors()
        if len(self) < 3:
            raise ParameterError(f"draws must be at least 3 to shrink a fit, got {len(self)}")
        covariance = np.cov(draws.T)
        if not np.linalg.cond(covariance) < 1e12:
            raise ParameterError("draws must differ in both numbers to shrink a fit, got a singular covariance")
        fit = recalibration.vector()[:N_GLOBAL]
        distance = float(fit @ np.linalg.solve(covariance, fit))
        return max(0.0, 1.0 - fit.size / distance) if distance > 0.0 else 0.0

    def shrunk(self, recalibration: Recalibration) -> Recalibration:
        """Shrink a fit towards no change, according to its own uncertainty.

        A fit to few documents is partly noise, which makes other documents worse. `shrinkage` is the weight that
        remains; with hundreds of documents it is close to 1.

        Parameters
        ----------
        recalibration
            The fit to the documents that the draws come from.

        Raises
        ------
        ParameterError
            If there are fewer than three draws, or their covariance is singular.
        """
        weight = self.shrinkage(recalibration)
        return Recalibration(recalibration.temperature**weight, weight * recalibration.new_bias)

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row per draw: draw, temperature, new_bias."""
        return pd.DataFrame({"draw": np.arange(len(self)), "temperature": self.temperature, "new_bias": self.new_bias})


@dataclass(frozen=True, slots=True, eq=False)
class CrossFit(Result):
    """Recalibrations fitted to some documents and scored on the others; every document is held out once.

    Attributes
    ----------
    objective
        Name of the minimised loss.
    doc_ids
        The documents with gold.
    folds
        int64 (n_documents,), read-only: the fold in which each is held out. It depends only on seed and doc_ids.
    recalibrations
        For each fold, the fit on the documents of all others.
    n_terms, loss_before, loss_after
        float64 (n_documents,), read-only: terms of each document, and its summed loss without recalibration and with
        the recalibration of its fold.
    draws
        For each fold, refits to bootstrapped documents of the others; draw b has the same document weights in all
        folds. Empty without a bootstrap.
    gold
        Counts of annotated documents and mentions.
    domain_effects
        For each fold, how much the domains of the other documents differ; empty without domains, or without draws.
    """

    objective: str
    doc_ids: tuple[str, ...]
    folds: Ints
    recalibrations: tuple[Recalibration, ...]
    n_terms: Floats
    loss_before: Floats
    loss_after: Floats
    draws: tuple[RecalibrationDraws, ...]
    gold: GoldCounts
    domain_effects: tuple[DomainEffect, ...] = ()

    def __repr__(self) -> str:
        sizes = f"{self.n_folds} folds of {len(self.doc_ids)} documents"
        return f"CrossFit({self.objective}: {self.score_before:.4g} to {self.score_after:.4g} held out, {sizes})"

    @property
    def n_folds(self) -> int:
        """Number of folds."""
        return len(self.recalibrations)

    @property
    def score_before(self) -> float:
        """Mean loss per term without recalibration."""
        return float(self.loss_before.sum() / self.n_terms.sum())

    @property
    def score_after(self) -> float:
        """Mean loss per term, each document recalibrated by the fit without it."""
        return float(self.loss_after.sum() / self.n_terms.sum())

    @property
    def score_change_se(self) -> float:
        """Standard error of score_after - score_before, for documents as independent draws."""
        change = self.loss_after - self.loss_before
        total = self.n_terms.sum()
        residuals = change - self.n_terms * (change.sum() / total)  # of a ratio of two sums over documents
        n = residuals.shape[0]
        return float(np.sqrt(n / (n - 1) * np.sum(residuals**2)) / total)

    def recalibration_of(self, doc_id: str) -> Recalibration:
        """The recalibration fitted without this document."""
        if doc_id not in self.doc_ids:
            raise ParameterError(f"must be one of the documents fitted, got {doc_id!r}", parameter="doc_id")
        return self.recalibrations[int(self.folds[self.doc_ids.index(doc_id)])]

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row per document.

        Returns
        -------
        pandas.DataFrame
            doc_id; fold; temperature and new_bias fitted without it; n_terms; loss_before, loss_after.
        """
        fits = [self.recalibrations[fold] for fold in self.folds]
        of_fit = {name: [getattr(fit, name) for fit in fits] for name in ("temperature", "new_bias")}
        losses = {name: getattr(self, name) for name in ("n_terms", "loss_before", "loss_after")}
        return pd.DataFrame({"doc_id": list(self.doc_ids), "fold": self.folds, **of_fit, **losses})
