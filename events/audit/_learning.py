"""Learn from labels the probability that a reader says yes, for every document, and counts that rest on it."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from corefsample import _checks
from corefsample._arrays import Floats, Ints, Ints8
from corefsample._lazy import pd
from corefsample._results import HtmlTable
from corefsample.calibration import ReliabilityCurve, reliability_curve
from corefsample.calibration._error import binned_error
from corefsample.calibration._intervals import simulated_interval
from corefsample.errors import InputError
from corefsample.files._paths import PathLike
from events.audit._documents import event_and_actor
from events.audit._features import Features, RunFeatures, clipped_probability
from events.audit._learned_model import (
    AS_IT_IS,
    WITH_WORDS,
    Candidate,
    LabelRegression,
    PeriodTest,
    TextFeatures,
    log_losses,
    made_folds,
    period_test,
    sigmoid,
    standardised,
    weighted_candidates,
)
from events.audit._plan import AuditPlan
from events.audit._quality import LabelledCells, average_precision, bootstrap_weights
from events.audit._reference import ReferenceClass
from events.audit._sheets import MISSING, NO, UNSURE, YES, SheetLabels
from events.audit._totals import total_draws
from events.counting import count_pmf
from events.counting._counts import quantile_interval
from events.rule_error._labels import LabelledStrata
from events.rule_error._model import reference_model

ASSUMPTION = (
    "Learned counts assume that labels of documents with the same features say yes equally often in all periods."
)
LEAST_LABELS = 2  # of yes, and of no
ENOUGH_LABELS = 8  # of both, for more than a recalibration
_N_RESAMPLES = 1000
_BIN_SIZE = 20  # labels of a bin of the reliability curve


@dataclass(frozen=True, slots=True)
class Score:
    """A measure of P against the labels.

    Attributes
    ----------
    measure
        Name of the measure: "log score" (mean -log P(label), lower is better) and "average precision" are weighted to
        be those of all documents; "calibration error" is that of the labelled documents.
    p
        P that is measured: "run", or "learned", which is cross-fitted.
    estimate, lower, upper
        Value of the measure, and its interval; the first two have intervals from labels resampled within strata.
    """

    measure: str
    p: str
    estimate: float
    lower: float
    upper: float


@dataclass(frozen=True, slots=True)
class LearnedCount:
    """The number of documents of which a reader says yes, in one period or in all.

    Attributes
    ----------
    event, actor, period, period_start, n_docs
        Event, actor, period and its first day, and number of documents: see `AuditCount`.
    n_labels
        Number of documents with a label, which count as labelled.
    mean, sd, lower, upper, level
        Posterior mean, standard deviation, and interval with its level. They cover the number of positive documents in
        each stratum, the coefficients, and the documents without a label.
    run_mean, run_lower, run_upper
        Mean and interval of the count from P of the run.
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


class LearnedTarget:
    """What labels teach about one target; parameters as in `learn`.

    Attributes
    ----------
    name, event, actor
        Name of the target in the plan; name of its event, and of its actor, "" for any actor.
    probability, learned, cross_fitted
        float64 (n_documents,): P of the run, P that a reader says yes, and the same from the labels of other folds.
    labels
        int8 (n_documents,): label of every document, NO, YES, UNSURE or MISSING.
    folds
        int64 (n_documents,): fold of every document.
    regression, candidates
        The labels of yes and no with the features, and every model with each of its penalties, with their weights.
    """

    def __init__(
        self,
        plan: AuditPlan,
        labels: SheetLabels,
        target: int,
        features: Features,
        words: TextFeatures | None,
        reference: ReferenceClass,
        level: float,
        n_draws: int,
        seed: int,
    ) -> None:
        self._plan, self._target, self._reference, self._n_draws, self._seed = plan, target, reference, n_draws, seed
        self._level, self._tails = level, (0.5 * (1.0 - level), 0.5 * (1.0 + level))
        self._rng = np.random.default_rng([seed, target])
        self.name, self.probability = plan.frame.targets[target], plan.frame.probability(target)
        self.event, self.actor = event_and_actor(plan.frame, self.name)
        self.labels = target_labels(plan, labels, target)
        self._is_known = self.labels < UNSURE
        self._sampled = plan.sample[labels.labels[:, target] < UNSURE]
        rows = np.flatnonzero(self._is_known)
        y = (self.labels[rows] == YES).astype(np.float64)
        self.n_labels, self.n_positive = len(rows), int(y.sum())
        self._few = min(self.n_positive, self.n_labels - self.n_positive) < ENOUGH_LABELS
        self._features, self._words = features, None if self._few else words
        self.folds = plan.same_for_copies(made_folds(plan.stratum_of[rows], y, rows, len(plan.frame), self._rng))
        columns = standardised(features, None if self._words is None else self._words.columns)
        self.regression = LabelRegression(rows, y, self._label_weights(rows), self.folds, *columns)
        self.candidates = weighted_candidates(
            self.regression, self.probability, len(features.names), few=self._few, rng=self._rng
        )
        self._used = [candidate for candidate in self.candidates if candidate.weight > 0.0]
        self.cross_fitted: Floats = np.sum([used.weight * used.cross_fitted for used in self._used], axis=0)
        self.learned: Floats = np.sum([used.weight * self._fitted(used) for used in self._used], axis=0)

    def _label_weights(self, rows: Ints) -> Floats:
        """Documents of its stratum for each label, scaled so that they add up to the effective number of labels.

        A document that a person chose has the least weight of any in the sample.
        """
        strata, is_sampled = self._plan.stratum_of, np.isin(rows, self._sampled)
        n_sampled = np.bincount(strata[self._sampled], minlength=len(self._plan.strata))
        weights = (np.bincount(strata) / np.maximum(n_sampled, 1))[strata[rows]]
        weights[~is_sampled] = weights[is_sampled].min() if is_sampled.any() else 1.0
        return np.asarray(weights * (weights.sum() / (weights**2).sum()))

    @cached_property
    def models(self) -> list[Candidate]:
        """The best candidate of each model with the sum of the weights of all its penalties; the best model first."""
        models: dict[str, Candidate] = {}
        for candidate in sorted(self.candidates, key=lambda candidate: -candidate.weight):
            first = models.setdefault(candidate.model, replace(candidate, weight=0.0))
            models[candidate.model] = replace(first, weight=first.weight + candidate.weight)
        return sorted(models.values(), key=lambda candidate: -candidate.weight)

    @property
    def model(self) -> str:
        """Name of the model with the largest weight."""
        return self.models[0].model

    def _fitted(self, candidate: Candidate) -> Floats:
        """P of every document from all labels."""
        if candidate.model == AS_IT_IS:
            return clipped_probability(self.probability)
        beta = self.regression.fitted(candidate.n_columns, candidate.penalty)
        return sigmoid(self.regression.z[:, : len(beta)] @ beta)

    @cached_property
    def _coefficients(self) -> Floats:
        """Coefficients of the best candidate without the intercept: features, then columns of words."""
        return self.regression.fitted(self.models[0].n_columns, self.models[0].penalty)[1:]

    @property
    def features(self) -> dict[str, float]:
        """Coefficients of the best candidate by name of the feature, for one standard deviation."""
        return dict(zip(self._features.names, self._coefficients.tolist(), strict=False))

    @property
    def words(self) -> dict[str, float]:
        """The words with the largest coefficients, if the best candidate has words."""
        if self._words is None or self.model != WITH_WORDS:
            return {}
        return self._words.words(self._coefficients[len(self._features.names) :])

    @cached_property
    def period_test(self) -> PeriodTest:
        """Whether errors are of the same kind in all periods."""
        rows = self.regression.rows
        return period_test(self._plan.frame.dates[rows], self.regression.y, self.cross_fitted[rows])

    @property
    def warnings(self) -> tuple[str, ...]:
        """Sentences about few labels, and about errors that differ between periods."""
        warnings = []
        if self._few:
            rule = f"with fewer than {ENOUGH_LABELS} of yes or of no, P is only recalibrated"
            warnings.append(f"{self.name}: {self.n_positive} of {self.n_labels} labels say yes: {rule}")
        if self.period_test.p_value < 1.0 - self._level:
            difference = f"errors differ between periods (P value {self.period_test.p_value:.3f})"
            warnings.append(f"{self.name}: {difference}: counts by period are wrong in some")
        return tuple(warnings)

    # --- counts ---

    @cached_property
    def counts(self) -> tuple[LearnedCount, ...]:
        """Counts of all documents, and by period.

        The labels of a stratum say how many of its documents are positive (`total_draws`), and the coefficients which:
        an error that documents of a stratum share is not in the coefficients.
        """
        groups, number_of = self._plan.frame.groups()
        by_period = self._drawn_counts(number_of, len(groups) - 1)
        by_period += np.bincount(number_of[self.labels == YES], minlength=len(groups) - 1)
        return tuple(
            self._count(label, start, int(self._is_known[inside].sum()), self.probability[inside], drawn)
            for (label, start, inside), drawn in zip(groups, [by_period.sum(axis=1), *by_period.T], strict=True)
        )

    def _drawn_counts(self, group_of: Ints, n_groups: int) -> Ints:
        """Draws of the number of positive documents without a label by period: (n_draws, n_groups).

        Independent labels given their number in each stratum: the documents with the largest sums of logit and
        logistic noise (Pareto sampling, Rosén 1997, "On sampling with probability proportional to size", Journal of
        Statistical Planning and Inference 62). Where a stratum has no label, those with a positive sum.
        """
        draws = self._draws()
        missing = self.missing(len(draws))
        rows = np.flatnonzero(~self._is_known)
        z = self.regression.z[rows].astype(np.float32)
        strata = [np.flatnonzero(self._plan.stratum_of[rows] == h) for h in range(missing.shape[1])]
        counts = np.zeros((len(draws), n_groups), np.int64)
        for draw, beta in enumerate(draws.astype(np.float32)):
            score = z[:, : len(beta)] @ beta + self._rng.logistic(size=len(rows))
            for inside, n in zip(strata, missing[draw].tolist(), strict=True):
                positive = _largest(score[inside], n)
                counts[draw] += np.bincount(group_of[rows[inside[positive]]], minlength=n_groups)
        return counts

    def _draws(self) -> Floats:
        """Draws of the coefficients of all features, of each candidate in proportion to its weight."""
        n_columns, draws_by_candidate = self.regression.z.shape[1], []
        for used in self._used:
            n_draws = max(1, round(used.weight * self._n_draws))
            drawn = self.regression.draws(used.n_columns, used.penalty, n_draws, self._rng)
            draws_by_candidate.append(np.pad(drawn, ((0, 0), (0, n_columns - used.n_columns))))
        return np.concatenate(draws_by_candidate)

    def missing(self, n_draws: int) -> Ints:
        """Draws of the number of positive documents without a label: (n_draws, n_strata), -1 where nothing is known.

        Where P is 0 and few labels say yes, the misses of other rules are the prior of their number.
        """
        strata, rows = self._plan.stratum_of, self._sampled
        y = (self.labels[rows] == YES).astype(np.float64)
        sums_of_p, size = np.bincount(strata, self.probability), np.bincount(strata)
        n_labels, n_yes = (np.bincount(strata[each], minlength=len(size)) for each in (rows, rows[y == 1.0]))
        labelled = LabelledStrata(size, sums_of_p / np.maximum(size, 1), n_labels, n_yes)
        drawn = self._reference.unlabelled_yes(self._plan.frame, self._target, labelled, self._seed)
        drawn = np.resize(drawn, (n_draws, len(size)))
        few = (sums_of_p == 0.0) & (n_yes < ENOUGH_LABELS)
        missed = {h: drawn[:, h] for h in np.flatnonzero(few).tolist()}
        totals = total_draws(strata, rows, y, self.cross_fitted, n_draws, self._rng, missed)
        n_known_positive = np.bincount(strata[self.labels == YES], minlength=totals.shape[1])
        return np.where(totals < 0, -1, np.maximum(totals - n_known_positive, 0))

    def _count(self, label: str, start: datetime.date | None, n_labels: int, p: Floats, counts: Ints) -> LearnedCount:
        lower, upper = np.quantile(counts, self._tails, method="inverted_cdf")
        of_draws = float(counts.mean()), float(counts.std()), int(lower), int(upper)
        of_run = float(p.sum()), *quantile_interval(count_pmf(p[p > 0.0]), self._level)
        return LearnedCount(self.event, self.actor, label, start, len(p), n_labels, *of_draws, self._level, *of_run)

    # --- P against labels ---

    @cached_property
    def scores(self) -> tuple[Score, ...]:
        """Log score, average precision and calibration error of P of the run and of the cross-fitted P."""
        rows, y, weights = self.regression.rows, self.regression.y, self.regression.weights
        cells = LabelledCells(rows, np.zeros_like(rows), y == 1.0, weights, self._plan.stratum_of[rows])
        draws = bootstrap_weights(cells, _N_RESAMPLES, self._seed)
        scores = []
        for name, ranked, p in (
            ("run", self.probability, self.candidates[0].cross_fitted),  # P = 0 and P = .005 may have different ranks
            ("learned", self.cross_fitted, self.cross_fitted),
        ):
            log_scores = draws @ log_losses(y, p[rows]) / draws.sum(axis=1)
            precisions = average_precision(ranked[rows], y, draws)
            for measure, values in (("log score", log_scores), ("average precision", precisions)):
                lower, upper = np.quantile(values[1:], self._tails)
                scores.append(Score(measure, name, float(values[0]), float(lower), float(upper)))
            # The functions below `calibration_error`, which would log a warning where equal P leave few bins.
            bins = self._curve(p).bins
            ends = simulated_interval(
                bins, level=self._level, n_resamples=_N_RESAMPLES, seed=self._seed, method="inverted"
            )
            scores.append(Score("calibration error", name, binned_error(bins, debiased=True), ends.lower, ends.upper))
        return tuple(scores)

    @property
    def curves(self) -> dict[str, ReliabilityCurve]:
        """Reliability of P of the run and of the cross-fitted P, of the labelled documents."""
        return {"run": self._curve(self.probability), "learned": self._curve(self.cross_fitted)}

    def _curve(self, p: Floats) -> ReliabilityCurve:
        return reliability_curve(p[self.regression.rows], self.regression.y, bin_size=_BIN_SIZE, level=self._level)

    def to_json(self) -> dict[str, Any]:
        """What learned.json has of a target: see docs/audit-details.md."""
        names = ("event", "actor", "model", "n_labels", "n_positive", "features", "words", "warnings")
        of_candidate = ("model", "penalty", "log_score", "weight")
        return {
            **{name: getattr(self, name) for name in names},
            "penalty": self.models[0].penalty,
            "candidates": [{name: getattr(model, name) for name in of_candidate} for model in self.models],
            "scores": [dataclasses.asdict(score) for score in self.scores],
            "curve": {name: curve.to_frame().to_dict("records") for name, curve in self.curves.items()},
            "period_test": dataclasses.asdict(self.period_test),
        }


def _largest(scores: Floats, n: int) -> Ints:
    """Places of the n largest scores; of those above 0 if n is negative."""
    if n < 0:
        return np.flatnonzero(scores > 0.0)
    n = min(n, len(scores))
    return np.argpartition(scores, len(scores) - n)[len(scores) - n :] if n else np.zeros(0, np.int64)


def target_labels(plan: AuditPlan, labels: SheetLabels, target: int) -> Ints8:
    """Label of every document: those of the sample, then those of documents that a person chose."""
    values = np.full(len(plan.frame), MISSING, np.int8)
    for row, label in labels.hand_picked.items():
        values[row] = label[target]
    sampled = labels.labels[:, target]
    values[plan.sample[sampled != MISSING]] = sampled[sampled != MISSING]
    return values


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LearnResult(HtmlTable):
    """The probability that a reader says yes, for every document and target, and counts that rest on it.

    Attributes
    ----------
    plan
        The plan of the labels.
    targets
        What was learned of each target, in the order of the plan.
    left_out
        Why other targets were left out: they have too few labels.
    """

    plan: AuditPlan
    targets: tuple[LearnedTarget, ...]
    left_out: tuple[str, ...]

    def __repr__(self) -> str:
        return f"LearnResult({len(self.targets)} targets: {', '.join(target.name for target in self.targets)})"

    @property
    def cross_fitted(self) -> dict[str, Floats]:
        """By target, P of every document from the labels of other folds: what `estimate_counts` takes."""
        return {target.name: target.cross_fitted for target in self.targets}

    def to_frame(self) -> pd.DataFrame:
        """Counts as a tidy table, with the fields of `LearnedCount` as columns."""
        return pd.DataFrame([count for target in self.targets for count in target.counts])

    def documents_frame(self) -> pd.DataFrame:
        """The documents as a tidy table, the columns of learned.csv: see docs/audit-details.md."""
        frame, plan = self.plan.frame, self.plan
        words = np.array(["no", "yes", "unsure", ""], dtype=object)
        sampled = np.full(len(frame), "chosen", dtype=object)
        sampled[plan.sample] = [plan.strata[h].name for h in plan.stratum_of[plan.sample].tolist()]
        documents = pd.DataFrame({"doc_id": frame.doc_ids, "date": frame.date_texts()})
        tables = []
        for target in self.targets:
            table = documents.assign(event=target.event, actor=target.actor, probability=target.probability)
            table = table.assign(learned=target.learned, cross_fitted=target.cross_fitted, fold=target.folds)
            how = np.where(target.labels == MISSING, "", sampled)
            tables.append(table.assign(label=words[target.labels], sampled=how))
        return pd.concat(tables, ignore_index=True)

    def to_json(self) -> dict[str, Any]:
        """Content of learned.json: see docs/audit-details.md."""
        return {
            "format": 1,
            "plan": self.plan.identity,
            "source": dict(self.plan.frame.source),
            "assumption": ASSUMPTION,
            "targets": [target.to_json() for target in self.targets],
            "left_out": list(self.left_out),
        }


def learn(
    plan: AuditPlan,
    labels: SheetLabels,
    run: PathLike | None = None,
    *,
    columns: Mapping[str, Floats] | None = None,
    texts: Sequence[str] | None = None,
    reference: ReferenceClass | None = None,
    level: float = 0.95,
    n_draws: int = 1000,
    seed: int = 0,
) -> LearnResult:
    """Learn the probability that a reader says yes, for every document of a plan.

    The label is regressed on what is known of a document, by a logistic regression that is drawn to P as it is and does
    not fall with it. Labels have the inverse of their inclusion probabilities as weights. P as it is, P recalibrated,
    the regression and the regression with words are averaged by weights from their cross-validated log scores.

    Parameters
    ----------
    plan, labels
        The plan, and the labels of its sheets, from `read_sheets`.
    run
        Folder of the run of the plan, whose tables are features; by default P of the targets alone.
    columns
        Further features by name, numbers of every document in the order of the plan's frame, such as another model's
        scores.
    texts
        Text of every document, in the order of the plan's frame: words then are features too.
    reference
        Rules whose misses are the prior where P is 0; by default those of the package, with actors of unknown kinds.
    level
        Level of the intervals, in (0, 1).
    n_draws
        Number of draws of the coefficients, at least 100.
    seed
        Seed of the folds and draws, in [0, 2**64).

    Raises
    ------
    InputError
        If no target has 2 labels of yes, and 2 of no. A target that has not is left out.
    ParameterError
        If a parameter breaks its rule, or scikit-learn is missing, which words need.
    """
    level = _checks.probability("level", level, below_one=True, above_zero=True)
    n_draws, seed = _checks.whole("n_draws", n_draws, 100), _checks.seed(seed)
    features = RunFeatures(plan.frame, run, columns)
    words = None if texts is None else TextFeatures(texts)
    reference = reference or ReferenceClass(reference_model(), {})
    learned: list[LearnedTarget] = []
    left_out: list[str] = []
    for target, name in enumerate(plan.frame.targets):
        values = target_labels(plan, labels, target)
        n_yes, n_no = int((values == YES).sum()), int((values == NO).sum())
        if min(n_yes, n_no) < LEAST_LABELS:
            left_out.append(f"labels of {name} must have {LEAST_LABELS} of yes and of no, got {n_yes} and {n_no}")
        else:
            of_target = features.of(target)
            learned.append(LearnedTarget(plan, labels, target, of_target, words, reference, level, n_draws, seed))
    if not learned:
        raise InputError(left_out[0], hint="label more documents: `corefsample audit plan` adds a round")
    return LearnResult(plan, tuple(learned), tuple(left_out))
