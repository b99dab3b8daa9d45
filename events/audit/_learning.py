"""Learn from labels the probability that a reader says yes, for every document, and counts that rest on it."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from corefsample import _checks
from corefsample._arrays import Floats, Floats32, Ints, Ints8
from corefsample.calibration import ReliabilityCurve, reliability_curve
from corefsample.calibration._error import binned_error
from corefsample.calibration._intervals import simulated_interval
from corefsample.errors import InputError
from corefsample.files._paths import PathLike
from events.audit._documents import event_and_actor
from events.audit._features import Features, RunFeatures
from events.audit._learned_model import (
    Candidate,
    Labelled,
    Standardised,
    TextFeatures,
    candidates,
    log_losses,
    made_folds,
    model_weights,
)
from events.audit._learned_results import (
    CandidateScore,
    Coefficient,
    LearnedCount,
    LearnedTarget,
    LearnResult,
    Score,
)
from events.audit._learned_total import total_draws
from events.audit._logistic import sigmoid
from events.audit._paired import average_precision
from events.audit._period_test import PeriodTest, period_test
from events.audit._plan import AuditPlan
from events.audit._sheets import MISSING, NO, YES, SheetLabels
from events.counting import count_pmf
from events.counting._counts import quantile_interval

N_DRAWS = 1000
LEAST_LABELS = 2  # of yes, and of no
ENOUGH_LABELS = 8  # of both, for more than a recalibration
_N_RESAMPLES = 1000
_CHUNK = 2000  # documents whose P is computed at once
_MOST_NUMBERS = 2_000_000  # simulated at once
_LEAST = np.float32(1e-30)
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
        Folder of the run of the plan, whose tables are features; None: P of the targets alone.
    columns
        Further features by name, numbers of every document in the order of the plan's frame, such as another model's
        scores.
    texts
        Text of every document, in the order of the plan's frame: words then are features too.
    level
        Of the intervals, in (0, 1).
    n_draws
        Draws of the coefficients, at least 100.
    seed
        Of the folds and draws, in [0, 2**64).

    Raises
    ------
    InputError
        If no target has 2 labels of yes, and 2 of no. A target that has not is left out.
    ParameterError
        If a parameter breaks its rule, or scikit-learn is missing, which words need.
    """
    level = _checks.probability("level", level, below_one=True, above_zero=True)
    n_draws, seed = _checks.whole("n_draws", n_draws, 100), _checks.seed(seed)
    known = RunFeatures(plan.frame, run, columns)
    words = None if texts is None else TextFeatures(texts)
    learned: dict[str, LearnedTarget] = {}
    left_out: list[str] = []
    for target, name in enumerate(plan.frame.targets):
        given = target_labels(plan, labels, target)
        n_yes, n_no = int((given == YES).sum()), int((given == NO).sum())
        if min(n_yes, n_no) < LEAST_LABELS:
            left_out.append(f"labels of {name} must have {LEAST_LABELS} of yes and of no, got {n_yes} and {n_no}")
        else:
            own = TargetLearning(plan, labels, target, known.of(target), words, level, n_draws, seed)
            learned[name] = own.result()
    if not learned:
        raise InputError(left_out[0], hint="label more documents: `corefsample audit plan` adds a round")
    return LearnResult(plan, learned, tuple(left_out))


def target_labels(plan: AuditPlan, labels: SheetLabels, target: int) -> Ints8:
    """Label of every document: those of the sample, then those of documents that a person chose."""
    found = np.full(len(plan.frame), MISSING, np.int8)
    for row, label in labels.chosen.items():
        found[row] = label[target]
    own = labels.labels[:, target]
    found[plan.sample[own != MISSING]] = own[own != MISSING]
    return found


def label_weights(plan: AuditPlan, labels: SheetLabels, target: int, rows: Ints) -> Floats:
    """Documents of its stratum for each label, scaled so that the weights add up to the effective number of labels.

    A document that a person chose has the least weight of any in the sample.
    """
    own = labels.labels[:, target]
    given = plan.sample[(own == YES) | (own == NO)]
    n_given = np.bincount(plan.stratum_of[given], minlength=len(plan.strata))
    sizes = np.array([each.n_documents for each in plan.strata], np.float64)
    weight = np.zeros(len(plan.frame))
    weight[given] = (sizes / np.maximum(n_given, 1))[plan.stratum_of[given]]
    found = weight[rows]
    found = np.where(found > 0.0, found, found[found > 0.0].min() if len(given) else 1.0)
    scaled: Floats = found * (found.sum() / (found**2).sum())
    return scaled


Draws = Sequence[tuple[Standardised, Floats]]  # of each candidate: its features, and draws of their coefficients


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """Candidates and what they say together.

    Attributes
    ----------
    candidates, weights
        The candidates, and their weights (n_candidates,).
    cross_fitted
        float64 (n_documents,): their weighted mean.
    draws
        Of each candidate with a weight, in proportion to it.
    """

    candidates: tuple[Candidate, ...]
    weights: Floats
    cross_fitted: Floats
    draws: Draws

    @property
    def best(self) -> Candidate:
        """The candidate with the largest weight, of the model with the largest sum of weights."""
        return max(self.of_models(), key=lambda each: each[1])[0]

    def of_models(self) -> list[tuple[Candidate, float]]:
        """Of each model the candidate with the largest weight, and the weight of the model with all its penalties."""
        found: dict[str, tuple[Candidate, float, float]] = {}
        for each, weight in zip(self.candidates, self.weights.tolist(), strict=True):
            candidate, most, total = found.get(each.model, (each, -1.0, 0.0))
            found[each.model] = (each if weight > most else candidate, max(weight, most), total + weight)
        return [(candidate, total) for candidate, _, total in found.values()]


class TargetLearning:
    """Learning of one target; parameters as of `learn`."""

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
        self._plan, self._features, self._level, self._n_draws = plan, features, level, n_draws
        self._rng = np.random.default_rng([seed, target])
        self._seed = seed
        frame = plan.frame
        self._name = frame.targets[target]
        self._p = frame.probability(target)
        self._labels = target_labels(plan, labels, target)
        own = labels.labels[:, target]
        self._sampled = plan.sample[(own == YES) | (own == NO)]
        rows = np.flatnonzero((self._labels == YES) | (self._labels == NO))
        y = (self._labels[rows] == YES).astype(np.float64)
        self._n_positive = int(y.sum())
        self._few = min(self._n_positive, len(y) - self._n_positive) < ENOUGH_LABELS
        folds = made_folds(plan.stratum_of[rows], y, rows, len(frame), self._rng)
        self.labelled = Labelled(rows, y, label_weights(plan, labels, target, rows), folds)
        self._text = None if words is None or self._few else words.rotated(rows)

    def fitted(self) -> Fitted:
        """The candidates with their weights, and draws of each."""
        plain = Standardised.of(self._features)
        words = None if self._text is None else self._text.joined(plain)
        found = candidates(self.labelled, self._p, plain, words, few=self._few)
        weights = model_weights(self.labelled, found, self._rng)
        draws = []
        for each, weight in zip(found, weights.tolist(), strict=True):
            n = max(1, round(weight * self._n_draws))
            if weight:
                regression = each.features.regression(self.labelled, each.penalty)
                draws.append((each.features, regression.draws(n, self._rng)))
        crossed = weights @ np.array([each.cross_fitted for each in found])
        return Fitted(tuple(found), weights, crossed, tuple(draws))

    def result(self) -> LearnedTarget:
        """Everything about the target."""
        labelled, fitted = self.labelled, self.fitted()
        best = fitted.best
        learned, counts = self.counted(fitted)
        before, after = fitted.candidates[0].cross_fitted, fitted.cross_fitted
        event, actor = event_and_actor(self._plan.frame, self._name)
        tested = period_test(self._plan.frame.dates[labelled.rows], labelled.y, after[labelled.rows], seed=self._seed)
        shown = best.features.regression(labelled, best.penalty).draws(self._n_draws, self._rng)
        return LearnedTarget(
            event=event,
            actor=actor,
            model=best.model,
            penalty=best.penalty,
            probability=self._p,
            learned=learned,
            cross_fitted=after,
            folds=labelled.folds,
            labels=self._labels,
            n_labels=len(labelled.rows),
            n_positive=self._n_positive,
            candidates=self._candidate_scores(fitted),
            features=self._coefficients(shown, len(best.features.centre)),
            scores=self._scores(before, after),
            counts=counts,
            curves={"run": self._curve(self._p), "learned": self._curve(after)},
            period_test=tested,
            words=self._words(best, shown),
            warnings=self._warnings(tested),
        )

    def _words(self, best: Candidate, draws: Floats) -> tuple[tuple[str, float], ...]:
        if self._text is None or best.model != "regression with words":
            return ()
        return self._text.words(draws[:, 1:].mean(axis=0))

    def _warnings(self, tested: PeriodTest) -> tuple[str, ...]:
        warnings = []
        if self._few:
            n = len(self.labelled.rows)
            warnings.append(
                f"{self._name}: {self._n_positive} of {n} labels say yes: with fewer than {ENOUGH_LABELS} of yes or of "
                "no, P is only recalibrated"
            )
        if tested.p_value < 1.0 - self._level:
            warnings.append(
                f"{self._name}: errors differ between periods (P value {tested.p_value:.3f}): counts by period are "
                "wrong in some"
            )
        return tuple(warnings)

    # --- counts ---

    def counted(self, fitted: Fitted) -> tuple[Floats, tuple[LearnedCount, ...]]:
        """Mean P of every document over the draws, and counts: of all documents, and by period.

        The coefficients say which documents are likelier than others of their stratum, and the labels of the stratum
        how many there are (`total_draws`): an error that documents of a stratum share is not in the coefficients.
        """
        frame = self._plan.frame
        groups, number_of = frame.groups()
        n_periods = len(groups) - 1
        is_known = (self._labels == YES) | (self._labels == NO)
        n_draws = sum(len(own) for _, own in fitted.draws)
        missing = self._missing(fitted.cross_fitted, n_draws)
        learned, counts = np.zeros(len(frame)), np.zeros((0, n_periods), np.int64)
        for features, own in fitted.draws:
            learned += len(own) / n_draws * self._mean_probability(features, own)
            n = self._simulated(features, own, missing[len(counts) : len(counts) + len(own)], number_of, n_periods)
            counts = np.concatenate([counts, n])
        counts += np.bincount(number_of[self._labels == YES], minlength=n_periods)
        made = tuple(
            self._count(label, start, int(is_known[inside].sum()), self._p[inside], own)
            for (label, start, inside), own in zip(groups, [counts.sum(axis=1), *counts.T], strict=True)
        )
        return learned, made

    def _missing(self, cross_fitted: Floats, n_draws: int) -> Ints:
        """Draws of the number of positive documents without a label: (n_draws, n_strata), -1 where nothing is known."""
        strata, rows = self._plan.stratum_of, self._sampled
        y = (self._labels[rows] == YES).astype(np.float64)
        totals = total_draws(strata, rows, y, cross_fitted, n_draws, self._rng)
        known = np.bincount(strata[self._labels == YES], minlength=totals.shape[1])
        return np.where(totals < 0, -1, np.maximum(totals - known, 0))

    def _mean_probability(self, features: Standardised, draws: Floats) -> Floats:
        p = np.empty(len(self._p))
        for start in range(0, len(p), _CHUNK):
            chunk = np.arange(start, min(start + _CHUNK, len(p)))
            p[chunk] = sigmoid(_logits(features, draws, chunk).astype(np.float64)).mean(axis=0)
        return p

    def _simulated(self, features: Standardised, draws: Floats, missing: Ints, group_of: Ints, n_groups: int) -> Ints:
        """Number of positive documents without a label by draw and period: (n_draws, n_groups).

        Independent labels given their number in each stratum: the documents with the largest sums of logit and
        logistic noise (Pareto sampling, Rosén 1997, "On sampling with probability proportional to size", Journal of
        Statistical Planning and Inference 62).
        """
        counts = np.zeros((len(draws), n_groups), np.int64)
        is_open = (self._labels != YES) & (self._labels != NO)
        for h in range(missing.shape[1]):
            rows = np.flatnonzero(is_open & (self._plan.stratum_of == h))
            step = max(1, _MOST_NUMBERS // max(len(rows), 1))
            for start in range(0, len(draws), step):
                score = _logits(features, draws[start : start + step], rows)
                u = self._rng.random(score.shape, dtype=np.float32)
                score += np.log(np.maximum(u, _LEAST)) - np.log1p(-u)
                for draw, own in enumerate(score, start):
                    k = min(int(missing[draw, h]), len(rows))
                    if k < 0:
                        found = rows[own > 0.0]
                    else:
                        found = rows[np.argpartition(own, len(rows) - k)[len(rows) - k :]] if k else rows[:0]
                    counts[draw] += np.bincount(group_of[found], minlength=n_groups)
        return counts

    def _count(self, label: str, start: datetime.date, n_labels: int, p: Floats, counts: Ints) -> LearnedCount:
        event, actor = event_and_actor(self._plan.frame, self._name)
        tail = 0.5 * (1.0 - self._level)
        lower, upper = np.quantile(counts, [tail, 1.0 - tail], method="inverted_cdf")
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

    @cached_property
    def _resampled(self) -> Floats:
        """Weights of labels resampled within strata: (n_resamples, n_labels)."""
        labelled = self.labelled
        strata = self._plan.stratum_of[labelled.rows]
        times = np.zeros((_N_RESAMPLES, len(strata)))
        for h in np.unique(strata).tolist():
            inside = np.flatnonzero(strata == h)
            times[:, inside] = self._rng.multinomial(len(inside), np.full(len(inside), 1.0 / len(inside)), _N_RESAMPLES)
        return times * labelled.weights

    def _candidate_scores(self, fitted: Fitted) -> tuple[CandidateScore, ...]:
        """Of each model the penalty with the largest weight; the weights are those of all its penalties."""
        scores = []
        for each, weight in fitted.of_models():
            gains = fitted.candidates[0].losses - each.losses
            gain = self._interval(lambda weights, gains=gains: weights @ gains / weights.sum(axis=-1))
            log_score = float(self.labelled.weights @ each.losses / self.labelled.weights.sum())
            scores.append(CandidateScore(each.model, each.penalty, log_score, *gain, weight))
        return tuple(scores)

    def _interval(self, measure: Any) -> tuple[float, float, float]:
        tail = 0.5 * (1.0 - self._level)
        estimate = float(measure(self.labelled.weights))
        lower, upper = np.quantile(measure(self._resampled), [tail, 1.0 - tail])
        return estimate, float(lower), float(upper)

    def _scores(self, before: Floats, after: Floats) -> tuple[Score, ...]:
        rows, y = self.labelled.rows, self.labelled.y
        found = []
        for name, p_all in (("run", before), ("learned", after)):
            p = p_all[rows]
            losses = log_losses(y, p)
            scores = self._interval(lambda weights, losses=losses: weights @ losses / weights.sum(axis=-1))
            found.append(Score("log score", name, *scores))
            raw = self._p[rows] if name == "run" else p  # P = 0 and P = .005 may have different ranks
            precision = self._interval(partial(average_precision, raw, y))
            found.append(Score("average precision", name, *precision))
            # The functions below `calibration_error`, which would log a warning where equal P leave few bins.
            bins = self._curve(p_all).bins
            limits = simulated_interval(
                bins, level=self._level, n_resamples=_N_RESAMPLES, seed=self._seed, method="inverted"
            )
            error = binned_error(bins, debiased=True)
            found.append(Score("calibration error", name, error, limits.lower, limits.upper))
        return tuple(found)

    def _curve(self, p: Floats) -> ReliabilityCurve:
        return reliability_curve(p[self.labelled.rows], self.labelled.y, bin_size=_BIN_SIZE, level=self._level)

    def _coefficients(self, draws: Floats, n_features: int) -> tuple[Coefficient, ...]:
        features = self._features
        tail = 0.5 * (1.0 - self._level)
        n = min(n_features, len(features.names))
        lower, upper = np.quantile(draws[:, 1 : 1 + n], [tail, 1.0 - tail], axis=0)
        means = draws[:, 1 : 1 + n].mean(axis=0)
        return tuple(
            Coefficient(features.names[i], float(means[i]), float(lower[i]), float(upper[i]), bool(features.rises[i]))
            for i in range(n)
        )


def _logits(features: Standardised, draws: Floats, rows: Ints) -> Floats32:
    """Logits of P of documents by draw: float32 (n_draws, n_rows)."""
    z: Floats32 = draws[:, 1:].astype(np.float32) @ features.z[rows].astype(np.float32).T
    return z + draws[:, :1].astype(np.float32)
