"""What recalibration is, and the results of fitting one."""

from __future__ import annotations

import dataclasses
import math
import numbers
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from corefsample.antecedents import AntecedentDistribution, require_distribution
from corefsample.documents import ScoredDocument
from corefsample.errors import ParameterError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["CrossFit", "GoldCounts", "Recalibration", "RecalibrationDraws", "RecalibrationFit"]

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Recalibration:
    """A change of antecedent scores: new score = score / temperature - new_bias, while NEW stays at 0.

    A temperature above 1 takes confidence away, one below 1 adds it. A positive new_bias makes NEW likelier (every
    antecedent loses that much), a negative one makes it less likely. The order of a mention's antecedents stays.
    Candidates that the scorer left out keep probability 0.

    Attributes
    ----------
    temperature
        Above 0, finite.
    new_bias
        Finite, in natural-log units.

    Raises
    ------
    ParameterError
        On construction, if one is outside its range.

    Examples
    --------
    >>> calm = Recalibration(temperature=2.0, new_bias=0.5)
    >>> calm.apply(AntecedentDistribution.from_lists([[], [0]], [[], [3.0]])).scores
    array([1.])
    """

    temperature: float = 1.0
    new_bias: float = 0.0

    def __post_init__(self) -> None:
        for name in ("temperature", "new_bias"):
            value = getattr(self, name)
            number = isinstance(value, numbers.Real) and not isinstance(value, bool) and math.isfinite(value)
            if not number or (name == "temperature" and value <= 0.0):
                rule = "a finite number above 0" if name == "temperature" else "a finite number"
                raise ParameterError(f"{name} must be {rule}, got {value!r}")
            object.__setattr__(self, name, float(value))

    def scores(self, scores: npt.ArrayLike) -> FloatArray:
        """Recalibrated scores of the same shape.

        Raises
        ------
        ParameterError
            If a score would overflow.
        """
        with np.errstate(over="ignore"):
            changed = np.asarray(scores, np.float64) / self.temperature - self.new_bias
        if not np.isfinite(changed).all():
            raise ParameterError(f"temperature must leave every score finite, got {self.temperature!r}")
        return changed

    def apply(self, antecedents: AntecedentDistribution) -> AntecedentDistribution:
        """Recalibrate the distribution over antecedents of one document."""
        require_distribution(antecedents)
        return AntecedentDistribution._from_valid(
            antecedents.indptr, antecedents.antecedents, self.scores(antecedents.scores)
        )

    def apply_document(self, document: ScoredDocument) -> ScoredDocument:
        """Return the document with its scores recalibrated, and everything else as it is."""
        return dataclasses.replace(document, antecedents=self.apply(document.antecedents))

    def to_json(self) -> dict[str, float]:
        """The two numbers by name."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self:
        """Build from what `to_json` gave.

        Raises
        ------
        ParameterError
            If a number is missing or outside its range, or there is something else.
        """
        if not isinstance(content, Mapping) or set(content) != {"temperature", "new_bias"}:
            found = ", ".join(map(str, content)) if isinstance(content, Mapping) else type(content).__name__
            raise ParameterError(f"recalibration must hold temperature and new_bias alone, got {found or 'nothing'}")
        return cls(content["temperature"], content["new_bias"])


@dataclass(frozen=True, slots=True)
class GoldCounts:
    """What the gold annotation gave to a fit, and what was left out of it.

    Attributes
    ----------
    n_documents
        Documents with an annotated mention.
    n_without_gold
        Documents without one, left out.
    n_mentions
        Mentions of the documents with gold.
    n_unannotated
        Of them, mentions without a gold entity.
    n_new
        Mentions that are the first annotated one of their entity.
    n_linked
        Mentions with a gold antecedent among their candidates.
    n_missing
        Mentions with earlier mentions of their gold entity, none of them among the candidates.
    n_floored
        Of these, how many the rule "floor" gave a term; the others have none.
    """

    n_documents: int
    n_without_gold: int
    n_mentions: int
    n_unannotated: int
    n_new: int
    n_linked: int
    n_missing: int
    n_floored: int

    def to_json(self) -> dict[str, int]:
        """The counts by name."""
        return dataclasses.asdict(self)


@dataclass(frozen=True, slots=True)
class RecalibrationFit:
    """A recalibration fitted on documents with gold.

    Attributes
    ----------
    recalibration
        The fit.
    objective
        Name of what was made small.
    score_before, score_after
        Mean loss a term on the same documents, as scored and recalibrated: the second flatters (see `cross_fit`).
    n_terms
        Mentions, pairs, or what else the objective sums over.
    gold
        What the annotation gave.
    """

    recalibration: Recalibration
    objective: str
    score_before: float
    score_after: float
    n_terms: float
    gold: GoldCounts

    def to_json(self) -> dict[str, Any]:
        """The fields by name, nested ones too."""
        return dataclasses.asdict(self)


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
