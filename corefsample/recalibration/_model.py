"""A recalibration of antecedent scores, and the results of fitting one."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample._arrays import Floats
from corefsample.coreference import AntecedentDistribution, require_distribution
from corefsample.documents import ScoredDocument
from corefsample.errors import ParameterError


@dataclass(frozen=True, slots=True)
class Recalibration:
    """A change of antecedent scores: new score = score / temperature - new_bias, while NEW stays at 0.

    A temperature above 1 reduces confidence, one below 1 increases it. A positive new_bias makes NEW more likely (it
    is subtracted from every antecedent's score), a negative one less likely. The order of a mention's antecedents does
    not change. Antecedents that are not candidates keep probability 0.

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
        object.__setattr__(self, "temperature", _checks.above_zero("temperature", self.temperature))
        object.__setattr__(self, "new_bias", _checks.finite("new_bias", self.new_bias))

    def scores(self, scores: npt.ArrayLike) -> Floats:
        """Recalibrated scores of the same shape.

        Raises
        ------
        ParameterError
            If a score would overflow.
        """
        with np.errstate(over="ignore"):
            changed = np.asarray(scores, np.float64) / self.temperature - self.new_bias
        if not np.isfinite(changed).all():
            raise ParameterError(f"must leave every score finite, got {self.temperature!r}", parameter="temperature")
        return changed

    def apply(self, antecedents: AntecedentDistribution) -> AntecedentDistribution:
        """Recalibrate the distribution over antecedents of one document."""
        require_distribution(antecedents)
        return antecedents.with_scores(self.scores(antecedents.scores))

    def apply_document(self, document: ScoredDocument) -> ScoredDocument:
        """Return the document with recalibrated scores and all other fields unchanged."""
        if not document.parses:
            return dataclasses.replace(document, antecedents=self.apply(document.antecedents))
        parses = [dataclasses.replace(each, antecedents=self.apply(each.antecedents)) for each in document.parses]
        return ScoredDocument.of_parses(document.doc_id, parses, date=document.date, metadata=document.metadata)

    def to_json(self) -> dict[str, float]:
        """The two numbers by name."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self:
        """Build from the result of `to_json`.

        Raises
        ------
        ParameterError
            If a number is missing or outside its range, or there is another field.
        """
        if not isinstance(content, Mapping) or set(content) != {"temperature", "new_bias"}:
            names = ", ".join(map(str, content)) if isinstance(content, Mapping) else type(content).__name__
            rule = "must have the fields temperature and new_bias only"
            raise ParameterError(f"{rule}, got {names or 'nothing'}", parameter="recalibration")
        return cls(content["temperature"], content["new_bias"])


@dataclass(frozen=True, slots=True)
class GoldCounts:
    """Counts of the gold annotation that a fit used, and of what it left out.

    Attributes
    ----------
    n_documents
        Documents with an annotated mention.
    n_without_gold
        Other documents, which are left out.
    n_mentions
        Mentions of the documents with gold.
    n_unannotated
        Those of them without a gold entity.
    n_new
        Mentions that are the first annotated one of their entity.
    n_linked
        Mentions with a gold antecedent among their candidates.
    n_missing
        Mentions with earlier mentions of their gold entity, none of them among the candidates.
    n_floored
        Those of them that have a term because of the rule "floor"; the others have none.
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
        Name of the minimised loss.
    score_before, score_after
        Mean loss per term on the same documents, before and after recalibration. The second is too optimistic for other
        documents (see `RecalibrationFitter.cross_fit`).
    n_terms
        Number of terms: mentions, pairs, or other terms of the objective.
    gold
        Counts of annotated documents and mentions.
    """

    recalibration: Recalibration
    objective: str
    score_before: float
    score_after: float
    n_terms: float
    gold: GoldCounts
