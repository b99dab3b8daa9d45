"""What recalibration is, and the results of fitting one."""

from __future__ import annotations

import dataclasses
import math
import numbers
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from corefsample.coreference import AntecedentDistribution, require_distribution
from corefsample.documents import ScoredDocument
from corefsample.errors import ParameterError

if TYPE_CHECKING:
    pass

__all__ = ["GoldCounts", "Recalibration", "RecalibrationFit"]

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
