"""Results of learning from labels: counts, scores and the learned P of documents, as tables and as JSON."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from corefsample._arrays import Floats, Ints, Ints8
from corefsample._html import HtmlTable
from corefsample._lazy import pd
from corefsample.calibration import ReliabilityCurve
from events.audit._learned_model import PeriodTest
from events.audit._plan import AuditPlan
from events.audit._sheets import MISSING

ASSUMPTION = (
    "Learned counts assume that labels of documents with the same features say yes equally often in all periods."
)


@dataclass(frozen=True, slots=True)
class Score:
    """A measure of P against the labels.

    Attributes
    ----------
    measure
        "log score" (mean -log P(label), lower is better) and "average precision", both weighted so that they are of all
        documents; "calibration error" of the labelled documents.
    p
        "run" or "learned", which is cross-fitted.
    estimate, lower, upper
        With its interval: of the first two from resampled labels within strata.
    """

    measure: str
    p: str
    estimate: float
    lower: float
    upper: float


@dataclass(frozen=True, slots=True)
class CandidateScore:
    """How well a model predicts labels that it has not seen.

    Attributes
    ----------
    model, penalty
        The model, and its best penalty.
    log_score
        Cross-validated weighted mean of -log P(label); lower is better.
    weight
        Weight of the model in the average, with all its penalties.
    """

    model: str
    penalty: float
    log_score: float
    weight: float


@dataclass(frozen=True, slots=True)
class LearnedCount:
    """The number of documents of which a reader says yes, in one period or in all.

    Attributes
    ----------
    event, actor, period, period_start, n_docs
        As of `AuditCount`.
    n_labels
        Documents with a label, which count as what they are.
    mean, sd, lower, upper, level
        Over the number of positive documents in each stratum, the coefficients, and the documents without a label.
    run_mean, run_lower, run_upper
        The same from P of the run.
    """

    event: str
    actor: str
    period: str
    period_start: datetime.date | None
    n_docs: int
    n_labels: int
    mean: float
    sd: float
    lower: int
    upper: int
    level: float
    run_mean: float
    run_lower: int
    run_upper: int


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LearnedTarget:
    """What labels teach about one target.

    Attributes
    ----------
    event, actor
        The event, and the actor, or "" for any.
    model, penalty
        The candidate with the largest weight.
    probability, learned, cross_fitted
        float64 (n_documents,): P of the run, P that a reader says yes, and the same from the labels of other folds.
    folds
        int64 (n_documents,).
    labels
        int8 (n_documents,): as in a sheet, 3 where there is none.
    n_labels, n_positive
        Labels of yes or no, and of yes.
    candidates, features, scores, counts
        See their classes; features are those of the candidate with the largest weight.
    curves
        Reliability of P of the run and of the cross-fitted P, of the labelled documents.
    period_test
        Whether errors are of the same kind in all periods.
    words
        Words with the largest coefficients, if the model has words.
    warnings
        Sentences.
    """

    event: str
    actor: str
    model: str
    penalty: float
    probability: Floats
    learned: Floats
    cross_fitted: Floats
    folds: Ints
    labels: Ints8
    n_labels: int
    n_positive: int
    candidates: tuple[CandidateScore, ...]
    features: dict[str, float]
    scores: tuple[Score, ...]
    counts: tuple[LearnedCount, ...]
    curves: dict[str, ReliabilityCurve]
    period_test: PeriodTest
    words: dict[str, float]
    warnings: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """What learned.json has of a target: see docs/audit-details.md."""
        names = ("event", "actor", "model", "penalty", "n_labels", "n_positive", "features", "words", "warnings")
        return {
            **{name: getattr(self, name) for name in names},
            "candidates": [dataclasses.asdict(each) for each in self.candidates],
            "scores": [dataclasses.asdict(each) for each in self.scores],
            "curve": {name: curve.to_frame().to_dict("records") for name, curve in self.curves.items()},
            "period_test": dataclasses.asdict(self.period_test),
        }


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LearnResult(HtmlTable):
    """The probability that a reader says yes, for every document and target, and counts that rest on it.

    Attributes
    ----------
    plan
        The plan of the labels.
    by_name
        What was learned of each target of the plan.
    left_out
        Why other targets were left out: they have too few labels.
    """

    plan: AuditPlan
    by_name: Mapping[str, LearnedTarget]
    left_out: tuple[str, ...]

    @property
    def targets(self) -> tuple[LearnedTarget, ...]:
        """What was learned, in the order of the plan."""
        return tuple(self.by_name.values())

    def __repr__(self) -> str:
        return f"LearnResult({len(self.targets)} targets: {', '.join(self.by_name)})"

    @property
    def cross_fitted(self) -> dict[str, Floats]:
        """By target, P of every document from the labels of other folds: what `estimate_counts` takes."""
        return {name: each.cross_fitted for name, each in self.by_name.items()}

    def to_frame(self) -> pd.DataFrame:
        """Counts as a tidy table, with the fields of `LearnedCount` as columns."""
        return pd.DataFrame([dataclasses.asdict(row) for each in self.targets for row in each.counts])

    def documents_frame(self) -> pd.DataFrame:
        """The documents as a tidy table, the columns of learned.csv: see docs/audit-details.md."""
        frame, plan = self.plan.frame, self.plan
        words = np.array(["no", "yes", "unsure", ""], dtype=object)
        tables = []
        for each in self.targets:
            of_sample = np.zeros(len(frame), np.bool_)
            of_sample[plan.sample] = True
            strata = np.array([stratum.name for stratum in plan.strata], dtype=object)[plan.stratum_of]
            sampled = np.where(of_sample, strata, "chosen")
            columns = {
                "doc_id": frame.doc_ids,
                "date": frame.date_texts(),
                "event": each.event,
                "actor": each.actor,
                "probability": each.probability,
                "learned": each.learned,
                "cross_fitted": each.cross_fitted,
                "fold": each.folds,
                "label": words[each.labels],
                "sampled": np.where(each.labels == MISSING, "", sampled),
            }
            tables.append(pd.DataFrame(columns))
        return pd.concat(tables, ignore_index=True)

    def to_json(self) -> dict[str, Any]:
        """Content of learned.json: see docs/audit-details.md."""
        return {
            "format": 1,
            "plan": self.plan.identity,
            "source": dict(self.plan.frame.source),
            "assumption": ASSUMPTION,
            "targets": [each.to_json() for each in self.targets],
            "left_out": list(self.left_out),
        }
