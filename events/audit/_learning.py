"""Learn from labels the probability that a reader says yes, for every document, and counts that rest on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from corefsample import _checks
from corefsample._arrays import Bools, Floats, HtmlTable, Ints, Ints8, pd
from corefsample.calibration import ReliabilityCurve, reliability_curve
from corefsample.errors import InputError
from corefsample.files._paths import PathLike
from events.audit._audit_frame import event_and_actor
from events.audit._features import PROBABILITY, Features, RunFeatures, TextFeatures, clipped_probability
from events.audit._plan import AuditPlan
from events.audit._proxies import N_FOLDS, made_folds
from events.audit._reference import ReferenceClass
from events.audit._sheets import MISSING, NO, UNSURE, YES, SheetLabels
from events.audit._totals import total_draws
from events.counts import count_pmf
from events.counts._credible_intervals import quantile_interval
from events.rule_error._labelled_strata import LabelledStrata
from events.rule_error._model import reference_model

ASSUMPTION = (
    "Learned counts assume that labels of documents with the same features say yes equally often in all periods."
)
LEAST_LABELS = 2  # of yes, and of no
ENOUGH_LABELS = 8  # of both, for more than a recalibration
_N_RESAMPLES = 1000
_BIN_SIZE = 20  # labels of a bin of the reliability curve
_PENALTIES = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
_OF_RECALIBRATION = (0.3, 3.0, 30.0)
_OF_INTERCEPT = 1e-4  # so that it stays finite where all labels are alike


def standardised(features: Features, words: Floats | None) -> tuple[Floats, Floats, Floats]:
    """Features on the scale on which coefficients are penalised, after a column of ones; then columns of words.

    Returns
    -------
    z
        float64 (n_documents, n_columns): each feature with mean 0 and standard deviation 1, or 0 if it is constant.
    lowest
        float64 (n_columns,): 0 where a coefficient must not be negative, else minus infinity.
    centre
        float64 (n_columns,): the coefficients of P as it is, to which the penalty draws.
    """
    spread = features.matrix.std(axis=0)
    scaled = (features.matrix - features.matrix.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)
    z = np.column_stack([np.ones(len(scaled)), scaled, scaled[:, :0] if words is None else words])
    lowest, centre = np.full(z.shape[1], -np.inf), np.zeros(z.shape[1])
    lowest[1 : 1 + len(spread)][features.rises] = 0.0
    centre[1] = spread[0]  # of the logit of P
    return z, lowest, centre


@dataclass(frozen=True, slots=True, eq=False)
class LabelRegression:
    """Logistic regressions of the labels of one target on the first columns of its features.

    Coefficients have an L2 penalty, and may be bound to be at least 0.

    Attributes
    ----------
    rows
        int64 (n_labels,): documents with a label of yes or no.
    y, weights
        Labels 0 and 1, and weights that add up to their effective number, (n_labels,).
    folds
        int64 (n_documents,): fold of every document.
    z, lowest, centre
        See `standardised`.
    """

    rows: Ints
    y: Floats
    weights: Floats
    folds: Ints
    z: Floats
    lowest: Floats
    centre: Floats

    def fitted(self, n_columns: int, penalty: float, subset: Bools | slice = slice(None)) -> Floats:
        """Coefficients with the smallest penalised loss of some labels, within their bounds: (n_columns,)."""
        from scipy.optimize import Bounds, minimize

        x, y, weights = self.z[self.rows[subset], :n_columns], self.y[subset], self.weights[subset]
        centre, penalties = self.centre[:n_columns], _penalties(n_columns, penalty)

        def loss(beta: Floats) -> tuple[float, Floats]:
            logits, distance = x @ beta, beta - centre
            value = weights @ (np.logaddexp(0.0, logits) - y * logits) + 0.5 * penalties @ distance**2
            return float(value), x.T @ (weights * (sigmoid(logits) - y)) + penalties * distance

        bounds = Bounds(self.lowest[:n_columns], np.inf)
        return np.asarray(minimize(loss, centre, jac=True, method="L-BFGS-B", bounds=bounds).x)

    def draws(self, n_columns: int, penalty: float, n_draws: int, rng: np.random.Generator) -> Floats:
        """Coefficients drawn from the normal distribution at the mode, cut off at their bounds."""
        x, mode = self.z[self.rows, :n_columns], self.fitted(n_columns, penalty)
        p = sigmoid(x @ mode)
        hessian = (x.T * (self.weights * p * (1.0 - p))) @ x + np.diag(_penalties(n_columns, penalty))
        draws = rng.multivariate_normal(mode, np.linalg.inv(hessian), n_draws)
        return np.maximum(draws, self.lowest[:n_columns])

    def cross_fitted(self, n_columns: int, penalty: float) -> Floats:
        """P of every document from the labels of other folds."""
        p = np.empty(len(self.z))
        for fold in range(N_FOLDS):
            beta = self.fitted(n_columns, penalty, self.folds[self.rows] != fold)
            inside = self.folds == fold
            p[inside] = sigmoid(self.z[inside, :n_columns] @ beta)
        return p


def _penalties(n_columns: int, penalty: float) -> Floats:
    return np.append(_OF_INTERCEPT, np.full(n_columns - 1, penalty))


def sigmoid(z: Floats) -> Floats:
    """1 / (1 + exp(-z))."""
    from scipy.special import expit

    return np.asarray(expit(z))


def log_losses(y: Floats, p: Floats) -> Floats:
    """-log P(label) of each label."""
    clipped = np.clip(p, 1e-4, 1.0 - 1e-4)
    return -(y * np.log(clipped) + (1.0 - y) * np.log1p(-clipped))


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
    regression
        The labels of yes and no with the features.
    candidates
        Cross-validated log score (weighted mean of -log P(label), lower is better) by model and penalty.
    model, penalty
        The candidate with the best log score.
    coefficients
        Its coefficients: intercept, features, then columns of words.
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
        self._sampled = plan.sample[labels.labels[:, target] < UNSURE]
        rows = np.flatnonzero(self.labels < UNSURE)
        y = (self.labels[rows] == YES).astype(np.float64)
        self.n_labels, self.n_positive = len(rows), int(y.sum())
        self._few = min(self.n_positive, self.n_labels - self.n_positive) < ENOUGH_LABELS
        self._features, self._words = features, None if self._few else words
        self.folds = plan.same_for_copies(made_folds(plan.stratum_of[rows], y, rows, len(plan.frame), self._rng))
        columns = standardised(features, None if self._words is None else self._words.columns)
        self.regression = LabelRegression(rows, y, self._label_weights(rows), self.folds, *columns)
        models: dict[str, tuple[int, tuple[float, ...]]] = {"recalibrated": (1 + len(PROBABILITY), _OF_RECALIBRATION)}
        if not self._few:
            models["regression"] = 1 + len(features.names), _PENALTIES
        if self._words is not None:
            models["regression with words"] = self.regression.z.shape[1], _PENALTIES
        self.candidates: dict[tuple[str, float], float] = {}
        best_score = np.inf
        for model, (n_columns, penalties) in models.items():
            for penalty in penalties:
                p = self.regression.cross_fitted(n_columns, penalty)
                score = float(np.average(log_losses(y, p[rows]), weights=self.regression.weights))
                self.candidates[model, penalty] = score
                if score < best_score:
                    best_score, self.model, self.penalty, self.cross_fitted = score, model, penalty, p
        self._n_columns = models[self.model][0]
        self.coefficients = self.regression.fitted(self._n_columns, self.penalty)
        self.learned = sigmoid(self.regression.z[:, : self._n_columns] @ self.coefficients)

    def _label_weights(self, rows: Ints) -> Floats:
        """Documents of its stratum for each label, scaled so that they add up to the effective number of labels.

        A document that a person chose has the least weight of any in the sample.
        """
        strata, is_sampled = self._plan.stratum_of, np.isin(rows, self._sampled)
        n_sampled = np.bincount(strata[self._sampled], minlength=len(self._plan.strata))
        weights = (np.bincount(strata) / np.maximum(n_sampled, 1))[strata[rows]]
        weights[~is_sampled] = weights[is_sampled].min() if is_sampled.any() else 1.0
        return np.asarray(weights * (weights.sum() / (weights**2).sum()))

    @property
    def warnings(self) -> tuple[str, ...]:
        """A sentence about few labels, if there are few."""
        rule = f"with fewer than {ENOUGH_LABELS} of yes or of no, P is only recalibrated"
        return (f"{self.name}: {self.n_positive} of {self.n_labels} labels say yes: {rule}",) if self._few else ()

    # --- counts ---

    @cached_property
    def counts(self) -> pd.DataFrame:
        """Counts of all documents, and by period: the columns of learned_counts.csv, see docs/audit.md.

        The labels of a stratum say how many of its documents are positive (`total_draws`), and the coefficients which:
        an error that documents of a stratum share is not in the coefficients.
        """
        groups, number_of = self._plan.frame.groups()
        by_period = self._drawn_counts(number_of, len(groups) - 1)
        by_period += np.bincount(number_of[self.labels == YES], minlength=len(groups) - 1)
        rows = []
        for (label, start, inside), drawn in zip(groups, [by_period.sum(axis=1), *by_period.T], strict=True):
            p = self.probability[inside]
            lower, upper = np.quantile(drawn, self._tails, method="inverted_cdf").astype(np.int64).tolist()
            run_lower, run_upper = quantile_interval(count_pmf(p[p > 0.0]), self._level)
            row: dict[str, object] = {
                "event": self.event,
                "actor": self.actor,
                "period": label,
                "period_start": start,
                "n_docs": len(p),
            }
            row |= {"n_labels": int((self.labels[inside] < UNSURE).sum())}
            row |= {"mean": drawn.mean(), "sd": drawn.std(), "lower": lower, "upper": upper, "level": self._level}
            rows.append(row | {"run_mean": p.sum(), "run_lower": run_lower, "run_upper": run_upper})
        return pd.DataFrame(rows)

    def _drawn_counts(self, group_of: Ints, n_groups: int) -> Ints:
        """Draws of the number of positive documents without a label by period: (n_draws, n_groups).

        Independent labels given their number in each stratum: the documents with the largest sums of logit and
        logistic noise (Pareto sampling, Rosén 1997, "On sampling with probability proportional to size", Journal of
        Statistical Planning and Inference 62). Where a stratum has no label, those with a positive sum.
        """
        draws = self.regression.draws(self._n_columns, self.penalty, self._n_draws, self._rng)
        missing = self.missing(len(draws))
        rows = np.flatnonzero(self.labels >= UNSURE)
        z = self.regression.z[rows, : self._n_columns].astype(np.float32)
        strata = [np.flatnonzero(self._plan.stratum_of[rows] == h) for h in range(missing.shape[1])]
        counts = np.zeros((len(draws), n_groups), np.int64)
        for draw, beta in enumerate(draws.astype(np.float32)):
            score = z @ beta + self._rng.logistic(size=len(rows))
            for inside, n in zip(strata, missing[draw].tolist(), strict=True):
                positive = _largest(score[inside], n)
                counts[draw] += np.bincount(group_of[rows[inside[positive]]], minlength=n_groups)
        return counts

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

    # --- P against labels ---

    @cached_property
    def scores(self) -> pd.DataFrame:
        """Log scores (mean -log P(label), lower is better) of P of the run and of the cross-fitted P.

        Columns: p ("run", "learned"), log_score, and its interval from labels resampled within strata, lower and upper.
        """
        rows, rng = self.regression.rows, np.random.default_rng(self._seed)
        strata = self._plan.stratum_of[rows]
        times = np.ones((1 + _N_RESAMPLES, len(rows)))
        for stratum in np.unique(strata):
            members = np.flatnonzero(strata == stratum)
            times[1:, members] = rng.multinomial(len(members), np.full(len(members), 1.0 / len(members)), _N_RESAMPLES)
        weights, table = times * self.regression.weights, []
        for name, p in (("run", clipped_probability(self.probability)), ("learned", self.cross_fitted)):
            values = weights @ log_losses(self.regression.y, p[rows]) / weights.sum(axis=1)
            table.append((name, float(values[0]), *np.quantile(values[1:], self._tails).tolist()))
        return pd.DataFrame(table, columns=["p", "log_score", "lower", "upper"])

    @property
    def curves(self) -> dict[str, ReliabilityCurve]:
        """Reliability of P of the run and of the cross-fitted P, of the labelled documents."""
        return {"run": self._curve(self.probability), "learned": self._curve(self.cross_fitted)}

    def _curve(self, p: Floats) -> ReliabilityCurve:
        return reliability_curve(p[self.regression.rows], self.regression.y, bin_size=_BIN_SIZE, level=self._level)

    def to_json(self) -> dict[str, Any]:
        """What learned.json has of a target: see docs/audit.md."""
        names, of_words = self._features.names, self.coefficients[1 + len(self._features.names) :]
        fields = ("event", "actor", "model", "penalty", "n_labels", "n_positive", "warnings")
        candidates = [(*candidate, score) for candidate, score in self.candidates.items()]
        return {
            **{name: getattr(self, name) for name in fields},
            "features": dict(zip(names, self.coefficients[1:].tolist(), strict=False)),
            "words": self._words.words(of_words) if self._words is not None and len(of_words) else {},
            "candidates": [dict(zip(("model", "penalty", "log_score"), row, strict=True)) for row in candidates],
            "scores": self.scores.to_dict("records"),
            "curve": {name: curve.to_frame().to_dict("records") for name, curve in self.curves.items()},
        }


def _largest(scores: Floats, n: int) -> Ints:
    """Positions of the n largest scores; of those above 0 if n is negative."""
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
        """Counts as a tidy table: see `LearnedTarget.counts`."""
        return pd.concat([target.counts for target in self.targets], ignore_index=True)

    def documents_frame(self) -> pd.DataFrame:
        """The documents as a tidy table, the columns of learned.csv: see docs/audit.md."""
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
        """Content of learned.json: see docs/audit.md."""
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
    not fall with it. Labels have the inverse of their inclusion probabilities as weights. Of a recalibration of P, the
    regression and the regression with words, each with several penalties, the one with the best cross-validated log
    score is used.

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
