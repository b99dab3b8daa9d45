"""Learn from labels the probability that a reader says yes, for every document, and counts that rest on it."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial

import numpy as np

from corefsample import _checks
from corefsample._arrays import Floats, Ints, Ints8
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
    Labelled,
    LogisticRegression,
    PeriodTest,
    Standardised,
    TextFeatures,
    log_losses,
    made_folds,
    period_test,
    sigmoid,
    weighted_candidates,
)
from events.audit._learned_results import CandidateScore, LearnedCount, LearnedTarget, LearnResult, Score
from events.audit._learned_total import total_draws
from events.audit._paired import average_precision
from events.audit._plan import AuditPlan
from events.audit._sheets import MISSING, NO, YES, SheetLabels
from events.counting import count_pmf
from events.counting._counts import quantile_interval

N_DRAWS = 1000
LEAST_LABELS = 2  # of yes, and of no
ENOUGH_LABELS = 8  # of both, for more than a recalibration
_N_RESAMPLES = 1000
_BIN_SIZE = 20  # labels of a bin of the reliability curve


def learn(
    plan: AuditPlan,
    labels: SheetLabels,
    run: PathLike | None = None,
    *,
    columns: Mapping[str, Floats] | None = None,
    texts: Sequence[str] | None = None,
    level: float = 0.95,
    n_draws: int = N_DRAWS,
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
    learned: dict[str, LearnedTarget] = {}
    left_out: list[str] = []
    for target, name in enumerate(plan.frame.targets):
        values = target_labels(plan, labels, target)
        n_yes, n_no = int((values == YES).sum()), int((values == NO).sum())
        if min(n_yes, n_no) < LEAST_LABELS:
            left_out.append(f"labels of {name} must have {LEAST_LABELS} of yes and of no, got {n_yes} and {n_no}")
        else:
            learning = TargetLearning(plan, labels, target, features.of(target), words, level, n_draws, seed)
            learned[name] = learning.result()
    if not learned:
        raise InputError(left_out[0], hint="label more documents: `corefsample audit plan` adds a round")
    return LearnResult(plan, learned, tuple(left_out))


def target_labels(plan: AuditPlan, labels: SheetLabels, target: int) -> Ints8:
    """Label of every document: those of the sample, then those of documents that a person chose."""
    values = np.full(len(plan.frame), MISSING, np.int8)
    for row, label in labels.chosen.items():
        values[row] = label[target]
    sampled = labels.labels[:, target]
    values[plan.sample[sampled != MISSING]] = sampled[sampled != MISSING]
    return values


class TargetLearning:
    """Learning of one target; parameters as in `learn`.

    Attributes
    ----------
    labelled, candidates
        The labels, and the candidates with their weights.
    cross_fitted, learned
        float64 (n_documents,): weighted mean P of the candidates, from labels of other folds, and from all labels.
    """

    def __init__(
        self,
        plan: AuditPlan,
        labels: SheetLabels,
        target: int,
        features: Features,
        words: TextFeatures | None,
        level: float,
        n_draws: int,
        seed: int,
    ) -> None:
        self._plan, self._level, self._n_draws, self._seed = plan, level, n_draws, seed
        self._rng = np.random.default_rng([seed, target])
        self._name, self._p = plan.frame.targets[target], plan.frame.probability(target)
        self._labels = target_labels(plan, labels, target)
        self._is_known = (self._labels == YES) | (self._labels == NO)
        values = labels.labels[:, target]
        self._sampled = plan.sample[(values == YES) | (values == NO)]
        rows = np.flatnonzero(self._is_known)
        y = (self._labels[rows] == YES).astype(np.float64)
        self._few = min(y.sum(), len(y) - y.sum()) < ENOUGH_LABELS
        folds = made_folds(plan.stratum_of[rows], y, rows, len(plan.frame), self._rng)
        self.labelled = Labelled(rows, y, self._label_weights(rows), folds)
        self._features, self._words = features, None if self._few else words
        self._z = Standardised.of(features)
        if self._words is not None:
            self._z = self._z.joined(self._words.columns)
        n_words = 0 if self._words is None else self._words.columns.shape[1]
        self.candidates = weighted_candidates(self.labelled, self._p, self._z, n_words, few=self._few, rng=self._rng)
        self.cross_fitted: Floats = np.sum([each.weight * each.cross_fitted for each in self.candidates], axis=0)
        self.learned: Floats = np.sum([each.weight * self._fitted(each) for each in self._used], axis=0)

    def _label_weights(self, rows: Ints) -> Floats:
        """Documents of its stratum for each label, scaled so that they add up to the effective number of labels.

        A document that a person chose has the least weight of any in the sample.
        """
        strata = self._plan.stratum_of
        n_sampled = np.bincount(strata[self._sampled], minlength=len(self._plan.strata))
        sizes = np.array([each.n_documents for each in self._plan.strata], np.float64)
        weights = np.zeros(len(strata))
        weights[self._sampled] = (sizes / np.maximum(n_sampled, 1))[strata[self._sampled]]
        found = weights[rows]
        found = np.where(found > 0.0, found, found[found > 0.0].min() if len(self._sampled) else 1.0)
        scaled: Floats = found * (found.sum() / (found**2).sum())
        return scaled

    @property
    def _used(self) -> list[Candidate]:
        return [each for each in self.candidates if each.weight > 0.0]

    @cached_property
    def models(self) -> list[CandidateScore]:
        """Each model with its best penalty, and the sum of the weights of all its penalties; the best model first."""
        models: dict[str, CandidateScore] = {}
        for each in sorted(self.candidates, key=lambda each: -each.weight):
            log_score = float(np.average(each.losses, weights=self.labelled.weights))
            first = models.setdefault(each.model, CandidateScore(each.model, each.penalty, log_score, 0.0))
            models[each.model] = replace(first, weight=first.weight + each.weight)
        return sorted(models.values(), key=lambda each: -each.weight)

    @property
    def best(self) -> Candidate:
        """The candidate with the best penalty of the best model."""
        model, penalty = self.models[0].model, self.models[0].penalty
        return next(each for each in self.candidates if (each.model, each.penalty) == (model, penalty))

    def _regression(self, candidate: Candidate) -> LogisticRegression:
        return LogisticRegression.of(self.labelled, self._z, candidate.n_columns, candidate.penalty, slice(None))

    def _fitted(self, candidate: Candidate) -> Floats:
        """P of every document from all labels."""
        if candidate.model == AS_IT_IS:
            return clipped_probability(self._p)
        return sigmoid(self._z.z[:, : candidate.n_columns] @ self._regression(candidate).fitted())

    def result(self) -> LearnedTarget:
        """Everything about the target."""
        rows, y = self.labelled.rows, self.labelled.y
        event, actor = event_and_actor(self._plan.frame, self._name)
        tested = period_test(self._plan.frame.dates[rows], y, self.cross_fitted[rows], seed=self._seed)
        best = self.best
        beta, n_words = self._regression(best).fitted()[1:], len(self._features.names)
        return LearnedTarget(
            event=event,
            actor=actor,
            model=best.model,
            penalty=best.penalty,
            probability=self._p,
            learned=self.learned,
            cross_fitted=self.cross_fitted,
            folds=self.labelled.folds,
            labels=self._labels,
            n_labels=len(rows),
            n_positive=int(y.sum()),
            candidates=tuple(self.models),
            features=dict(zip(self._features.names, beta.tolist(), strict=False)),
            scores=tuple(self._scores()),
            counts=self.counts(),
            curves={"run": self._curve(self._p), "learned": self._curve(self.cross_fitted)},
            period_test=tested,
            words=self._words.words(beta[n_words:]) if self._words and best.model == WITH_WORDS else {},
            warnings=self._warnings(tested),
        )

    def _warnings(self, tested: PeriodTest) -> tuple[str, ...]:
        warnings = []
        if self._few:
            n_yes, n = int(self.labelled.y.sum()), len(self.labelled.y)
            rule = f"with fewer than {ENOUGH_LABELS} of yes or of no, P is only recalibrated"
            warnings.append(f"{self._name}: {n_yes} of {n} labels say yes: {rule}")
        if tested.p_value < 1.0 - self._level:
            found = f"errors differ between periods (P value {tested.p_value:.3f})"
            warnings.append(f"{self._name}: {found}: counts by period are wrong in some")
        return tuple(warnings)

    # --- counts ---

    def counts(self) -> tuple[LearnedCount, ...]:
        """Counts of all documents, and by period.

        The labels of a stratum say how many of its documents are positive (`total_draws`), and the coefficients which:
        an error that documents of a stratum share is not in the coefficients.
        """
        groups, number_of = self._plan.frame.groups()
        by_period = self._drawn_counts(number_of, len(groups) - 1)
        by_period += np.bincount(number_of[self._labels == YES], minlength=len(groups) - 1)
        return tuple(
            self._count(label, start, int(self._is_known[inside].sum()), self._p[inside], drawn)
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
        z = self._z.z[rows].astype(np.float32)
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
        n_all = self._z.z.shape[1]
        parts = []
        for each in self._used:
            drawn = self._regression(each).draws(max(1, round(each.weight * self._n_draws)), self._rng)
            parts.append(np.pad(drawn, ((0, 0), (0, n_all - each.n_columns))))
        return np.concatenate(parts)

    def missing(self, n_draws: int) -> Ints:
        """Draws of the number of positive documents without a label: (n_draws, n_strata), -1 where nothing is known."""
        strata, rows = self._plan.stratum_of, self._sampled
        y = (self._labels[rows] == YES).astype(np.float64)
        totals = total_draws(strata, rows, y, self.cross_fitted, n_draws, self._rng)
        known = np.bincount(strata[self._labels == YES], minlength=totals.shape[1])
        return np.where(totals < 0, -1, np.maximum(totals - known, 0))

    def _count(self, label: str, start: datetime.date | None, n_labels: int, p: Floats, counts: Ints) -> LearnedCount:
        event, actor = event_and_actor(self._plan.frame, self._name)
        lower, upper = np.quantile(counts, self._tails, method="inverted_cdf")
        run_lower, run_upper = quantile_interval(count_pmf(p[p > 0.0]), self._level)
        return LearnedCount(
            event=event,
            actor=actor,
            period=label,
            period_start=start,
            n_docs=len(p),
            n_labels=n_labels,
            mean=float(counts.mean()),
            sd=float(counts.std()),
            lower=int(lower),
            upper=int(upper),
            level=self._level,
            run_mean=float(p.sum()),
            run_lower=run_lower,
            run_upper=run_upper,
        )

    # --- scores ---

    @property
    def _tails(self) -> tuple[float, float]:
        return 0.5 * (1.0 - self._level), 0.5 * (1.0 + self._level)

    @cached_property
    def _resampled(self) -> Floats:
        """Weights of labels resampled within strata: (n_resamples, n_labels)."""
        strata = self._plan.stratum_of[self.labelled.rows]
        times = np.zeros((_N_RESAMPLES, len(strata)))
        for h in np.unique(strata).tolist():
            inside = np.flatnonzero(strata == h)
            times[:, inside] = self._rng.multinomial(len(inside), np.full(len(inside), 1.0 / len(inside)), _N_RESAMPLES)
        return times * self.labelled.weights

    def _interval(self, measure: Callable[[Floats], Floats]) -> tuple[float, float, float]:
        lower, upper = np.quantile(measure(self._resampled), self._tails)
        return float(measure(self.labelled.weights)), float(lower), float(upper)

    def _mean_interval(self, values: Floats) -> tuple[float, float, float]:
        return self._interval(lambda weights: weights @ values / weights.sum(axis=-1))

    def _scores(self) -> list[Score]:
        rows, y = self.labelled.rows, self.labelled.y
        scores = []
        for name, ranked, p in (
            ("run", self._p, self.candidates[0].cross_fitted),  # P = 0 and P = .005 may have different ranks
            ("learned", self.cross_fitted, self.cross_fitted),
        ):
            scores.append(Score("log score", name, *self._mean_interval(log_losses(y, p[rows]))))
            precision = self._interval(partial(average_precision, ranked[rows], y))
            scores.append(Score("average precision", name, *precision))
            scores.append(Score("calibration error", name, *self._calibration_error(p)))
        return scores

    def _calibration_error(self, p: Floats) -> tuple[float, float, float]:
        """Debiased calibration error of the labelled documents with its interval."""
        # The functions below `calibration_error`, which would log a warning where equal P leave few bins.
        bins = self._curve(p).bins
        limits = simulated_interval(
            bins, level=self._level, n_resamples=_N_RESAMPLES, seed=self._seed, method="inverted"
        )
        return binned_error(bins, debiased=True), limits.lower, limits.upper

    def _curve(self, p: Floats) -> ReliabilityCurve:
        return reliability_curve(p[self.labelled.rows], self.labelled.y, bin_size=_BIN_SIZE, level=self._level)


def _largest(scores: Floats, n: int) -> Ints:
    """Places of the n largest scores; of those above 0 if n is negative."""
    if n < 0:
        return np.flatnonzero(scores > 0.0)
    n = min(n, len(scores))
    return np.argpartition(scores, len(scores) - n)[len(scores) - n :] if n else np.zeros(0, np.int64)
