"""Recalibrations fitted again: to bootstrapped documents, and fold by fold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from corefsample.errors import ParameterError

if TYPE_CHECKING:
    import pandas as pd
from corefsample.recalibration._model import GoldCounts, Recalibration

__all__ = ["CrossFit", "RecalibrationDraws"]

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class RecalibrationDraws:
    """Recalibrations refitted on bootstrapped documents: how uncertain the fit is.

    Attributes
    ----------
    temperature, new_bias
        float64 (n_draws,), read-only: draw b of each belongs to one refit.
    n_at_edge
        Draws cut off at the edge of the region that was searched.
    """

    temperature: FloatArray
    new_bias: FloatArray
    n_at_edge: int = 0

    def __post_init__(self) -> None:
        self.temperature.flags.writeable = self.new_bias.flags.writeable = False

    def __len__(self) -> int:
        return int(self.temperature.shape[0])

    def __getitem__(self, draw: int) -> Recalibration:
        return Recalibration(float(self.temperature[draw]), float(self.new_bias[draw]))

    def __iter__(self) -> Iterator[Recalibration]:
        return (self[draw] for draw in range(len(self)))

    def shrinkage(self, recalibration: Recalibration) -> float:
        """How much of a fit stands out from its own uncertainty: 0 (nothing) to 1 (all of it).

        With v = (log temperature, new_bias) and S the covariance of the draws, max(0, 1 - 2 / (v' S^-1 v)): the
        empirical-Bayes weight of v, taken as a normal draw around a truth that is itself one around no change, with a
        covariance proportional to S.

        Parameters
        ----------
        recalibration
            The fit that the draws are of.

        Raises
        ------
        ParameterError
            If there are fewer than three draws, or their covariance is singular.

        References
        ----------
        Efron & Morris (1973), "Stein's estimation rule and its competitors", section 2.
        """
        draws = np.column_stack((np.log(self.temperature), self.new_bias))
        if len(self) < 3:
            raise ParameterError(f"draws must be at least 3 to shrink by, got {len(self)}")
        covariance = np.cov(draws.T)
        if not np.linalg.cond(covariance) < 1e12:
            raise ParameterError("draws must differ in both numbers to shrink by, got a singular covariance")
        fit = np.array([np.log(recalibration.temperature), recalibration.new_bias])
        distance = float(fit @ np.linalg.solve(covariance, fit))
        return max(0.0, 1.0 - fit.size / distance) if distance > 0.0 else 0.0

    def shrunk(self, recalibration: Recalibration) -> Recalibration:
        """Draw a fit towards no change, by as much as its own uncertainty asks for.

        A fit to few documents is partly noise, and noise makes other documents worse. `shrinkage` says how much of it
        stays. With hundreds of documents next to nothing changes.

        Parameters
        ----------
        recalibration
            The fit that the draws are of.

        Raises
        ------
        ParameterError
            As of `shrinkage`.
        """
        weight = self.shrinkage(recalibration)
        return Recalibration(recalibration.temperature**weight, weight * recalibration.new_bias)

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row a draw: draw, temperature, new_bias."""
        import pandas as pd

        return pd.DataFrame({"draw": np.arange(len(self)), "temperature": self.temperature, "new_bias": self.new_bias})


@dataclass(frozen=True, slots=True, eq=False)
class CrossFit:
    """Recalibrations fitted on some documents and shown on others, every document being held out once.

    Attributes
    ----------
    objective
        Name of what was made small.
    doc_ids
        The documents with gold.
    folds
        int64 (n_documents,), read-only: the fold in which each is held out. It depends on seed and doc_ids alone.
    recalibrations
        For each fold, the fit on the documents of all others.
    n_terms, loss_before, loss_after
        float64 (n_documents,), read-only: terms of each document, and its summed loss as scored and held out.
    draws
        For each fold, refits on bootstrapped documents of the others; draw b of all folds weighs the documents alike.
        Empty where none were asked for.
    gold
        What the annotation gave.
    """

    objective: str
    doc_ids: tuple[str, ...]
    folds: npt.NDArray[np.int64]
    recalibrations: tuple[Recalibration, ...]
    n_terms: FloatArray
    loss_before: FloatArray
    loss_after: FloatArray
    draws: tuple[RecalibrationDraws, ...]
    gold: GoldCounts

    def __post_init__(self) -> None:
        for array in (self.folds, self.n_terms, self.loss_before, self.loss_after):
            array.flags.writeable = False

    @property
    def n_folds(self) -> int:
        """Number of folds."""
        return len(self.recalibrations)

    @property
    def score_before(self) -> float:
        """Mean loss a term as scored."""
        return float(self.loss_before.sum() / self.n_terms.sum())

    @property
    def score_after(self) -> float:
        """Mean loss a term, each document recalibrated by the fit that did not see it."""
        return float(self.loss_after.sum() / self.n_terms.sum())

    @property
    def score_change_se(self) -> float:
        """Standard error of score_after - score_before, documents taken as independent draws."""
        change = self.loss_after - self.loss_before
        total = self.n_terms.sum()
        residuals = change - self.n_terms * (change.sum() / total)  # of a ratio of two sums over documents
        n = residuals.shape[0]
        return float(np.sqrt(n / (n - 1) * np.sum(residuals**2)) / total)

    def recalibration_of(self, doc_id: str) -> Recalibration:
        """The recalibration fitted without this document."""
        if doc_id not in self.doc_ids:
            raise ParameterError(f"doc_id must be one of the documents fitted, got {doc_id!r}")
        return self.recalibrations[int(self.folds[self.doc_ids.index(doc_id)])]

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row a document.

        Returns
        -------
        pandas.DataFrame
            doc_id; fold; temperature and new_bias fitted without it; n_terms; loss_before, loss_after.
        """
        import pandas as pd

        fits = [self.recalibrations[fold] for fold in self.folds]
        return pd.DataFrame(
            {
                "doc_id": list(self.doc_ids),
                "fold": self.folds,
                "temperature": [fit.temperature for fit in fits],
                "new_bias": [fit.new_bias for fit in fits],
                "n_terms": self.n_terms,
                "loss_before": self.loss_before,
                "loss_after": self.loss_after,
            }
        )
