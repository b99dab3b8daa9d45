"""Learn from labels the probability that a reader says yes, for every document, and counts that rest on it.

Features are P of the targets, further columns, and what a run knows of a document. Nothing is parsed again: the tables
in the folder of a run have P of each event by actor, the triggers of each document with the conditions that exclude
them, and how roles are filled.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from corefsample import InputError, _checks
from corefsample._arrays import Bools, Floats, HtmlTable, Ints, Ints8, pd
from corefsample.files._paths import PathLike
from events.audit._audit_frame import PROBABILITY_LISTS, RULES, AuditFrame, event_and_actor
from events.audit._model_totals import HALF, N_DRAWS, N_FOLDS, StratumErrors, made_folds
from events.audit._plan import AuditPlan
from events.audit._sheets import MISSING, NO, UNSURE, YES, SheetLabels
from events.audit._strata import target_error, target_strata
from events.counts import count_pmf
from events.counts._credible_intervals import quantile_interval
from events.counts._evidence import read_evidence
from events.rule_error._counts import central_interval, unlabelled_yes
from events.rule_error._model import CLASSES, RuleErrorModel, reference_model
from events.rules._format import ANYBODY, NOBODY

ASSUMPTION = (
    "Learned counts assume that labels of documents with the same features say yes equally often in all periods."
)
LEAST_LABELS = 2  # of yes, and of no
ENOUGH_LABELS = 8  # of both, for more than a recalibration
PROBABILITY = ("logit of P", "P above 0")
_PENALTIES = {"recalibrated": (0.3, 3.0, 30.0), "regression": (0.3, 1.0, 3.0, 10.0, 30.0, 100.0)}
_MOST_TARGETS = 20  # of which each has a feature


# --- features ----------------------------------------------------------------------------------------------


def target_features(
    frame: AuditFrame, target: int, run: RunFeatures | None = None, columns: Mapping[str, Floats] | None = None
) -> dict[str, Floats]:
    """Features of one target by name, numbers of every document; those of `PROBABILITY`, from its P, come first.

    Features that hardly any document has, and those that repeat another, are left out.

    Parameters
    ----------
    frame, target
        The documents, and the index of the target.
    run
        What the run of the documents knows of them; by default, the features are P of the targets alone.
    columns
        Further numbers of each document by name, such as the score of another model.
    """
    p = frame.probability(target)
    clipped = clipped_probability(p)
    others = {"P": p}
    if frame.classes is not None:
        division = frame.divisions(target)
        others |= {f"word and name in one {name}": 1.0 * (division == k) for k, name in enumerate(CLASSES[:-1])}
    if len(frame.targets) <= _MOST_TARGETS:
        others |= {f"P of {name}": frame.probability(t) for t, name in enumerate(frame.targets) if t != target}
    if run is not None:
        event, actor = event_and_actor(frame, frame.targets[target])
        others |= run.columns(event, actor or ANYBODY)
    others |= {name: values.astype(np.float64) for name, values in (columns or {}).items()}
    distinct: dict[bytes, str] = {}
    for name, values in others.items():
        if min(np.count_nonzero(values), np.count_nonzero(values != values[0])) >= 5:
            distinct.setdefault(values.tobytes(), name)
    of_p = np.log(clipped / (1.0 - clipped)), (p > 0.0).astype(np.float64)
    return dict(zip(PROBABILITY, of_p, strict=True)) | {name: others[name] for name in distinct.values()}


def clipped_probability(p: Floats) -> Floats:
    """P within [.005, .995]: a share of samples says no more about a label."""
    return np.clip(p, 0.005, 0.995)


class RunFeatures:
    """What the tables of documents and evidence of a run say of every document, in the order of a frame.

    Parameters
    ----------
    run
        Folder of the run.
    frame
        The documents.
    """

    def __init__(self, run: PathLike, frame: AuditFrame) -> None:
        run_evidence = read_evidence(run)
        documents, evidence = run_evidence.all_documents(), run_evidence.evidence()
        roles = list(run_evidence.settings.roles)
        actors = evidence[roles].fillna("").replace("", NOBODY).agg(">".join, axis=1) if roles else ANYBODY
        n_triggers = np.log1p(evidence["role_mentions"].fillna("").str.count(r" \| ") + 1.0)
        p = evidence["probability"]
        p_by_default = p * evidence["filled"].isin(["default", "both"]) if "filled" in evidence else 0.0 * p
        evidence = evidence.assign(actor=actors, n_triggers=n_triggers, p_by_default=p_by_default)
        self._events = tuple(dict.fromkeys(frame.event.split(RULES)))
        self._documents, self._p = documents, documents[PROBABILITY_LISTS].explode(PROBABILITY_LISTS).dropna()
        texts = documents["triggers"].explode().dropna().astype(str)
        self._triggers = texts.str.extract(r"^(?P<event>.*?)(?:: (?P<conditions>.*))?$").fillna("")
        self._evidence = evidence.set_index(pd.Index(documents["doc_id"]).get_indexer(evidence["doc_id"]))

    def columns(self, event: str, actor: str) -> dict[str, Floats]:
        """Features of an event by an actor, or by anybody."""
        columns: dict[str, Floats] = {}
        for name in (event, *(other for other in self._events if other != event)):
            rows = self._p[self._p["events"] == name]
            actors, p = rows["actors"], rows["probabilities"].astype(np.float64)
            for title, code in ((actor, actor), ("anybody", ANYBODY), ("nobody named", NOBODY)):
                columns[f"P of {name} by {title}"] = self._highest(p[actors == code])
            columns[f"P of {name} by another actor"] = self._highest(p[~actors.isin([actor, ANYBODY, NOBODY])])
        columns["triggers"] = np.zeros(len(self._documents))
        conditions = self._triggers["conditions"][self._triggers["event"] == event].str.split(", ").explode()
        for condition, triggers in conditions.groupby(conditions):
            name = f"triggers left out: {condition}" if condition else "triggers"
            columns[name] = np.log1p(np.bincount(triggers.index, minlength=len(self._documents)).astype(np.float64))
        evidence = self._evidence[self._evidence["event"] == event]
        if actor != ANYBODY:
            evidence = evidence[evidence["actor"] == actor]
        columns["P by default"] = self._highest(evidence["p_by_default"])
        columns["log of triggers that make it"] = self._highest(evidence["n_triggers"])
        columns["name of an actor"] = self._documents["actor"].to_numpy(np.float64)
        columns["log of length"] = np.log1p(self._documents["n_tokens"].to_numpy(np.float64))
        return columns

    def _highest(self, values: pd.Series) -> Floats:
        """The largest value of each document, 0 without one; the index of the values has the documents' rows."""
        highest = values.groupby(level=0).max().reindex(self._documents.index, fill_value=0.0)
        return np.asarray(highest.to_numpy(np.float64))


# --- regression --------------------------------------------------------------------------------------------


def fitted(x: Floats, y: Floats, weights: Floats, penalties: Floats, lowest: Floats, centre: Floats) -> Floats:
    """Coefficients of a logistic regression with the smallest penalised loss within their bounds.

    Parameters
    ----------
    x, y, weights
        Features, (n, n_columns); labels 0 and 1, and their weights, (n,).
    penalties, lowest, centre
        float64 (n_columns,): L2 penalty of each coefficient, its lower bound, and the value to which the penalty draws.
    """
    from scipy.optimize import Bounds, minimize

    def loss(beta: Floats) -> tuple[float, Floats]:
        logits, distance = x @ beta, beta - centre
        value = weights @ (np.logaddexp(0.0, logits) - y * logits) + 0.5 * penalties @ distance**2
        return float(value), x.T @ (weights * (sigmoid(logits) - y)) + penalties * distance

    return np.asarray(minimize(loss, centre, jac=True, method="L-BFGS-B", bounds=Bounds(lowest, np.inf)).x)


def coefficient_draws(
    x: Floats, weights: Floats, penalties: Floats, lowest: Floats, mode: Floats, n_draws: int, rng: np.random.Generator
) -> Floats:
    """Coefficients drawn from the normal distribution at the mode, cut off at their bounds; parameters of `fitted`."""
    p = sigmoid(x @ mode)
    hessian = (x.T * (weights * p * (1.0 - p))) @ x + np.diag(penalties)
    return np.maximum(rng.multivariate_normal(mode, np.linalg.inv(hessian), n_draws), lowest)


def sigmoid(z: Floats) -> Floats:
    """1 / (1 + exp(-z))."""
    from scipy.special import expit

    return np.asarray(expit(z))


def log_losses(y: Floats, p: Floats) -> Floats:
    """-log P(label) of each label."""
    clipped = np.clip(p, 1e-4, 1.0 - 1e-4)
    return -(y * np.log(clipped) + (1.0 - y) * np.log1p(-clipped))


# --- counts ------------------------------------------------------------------------------------------------


def total_draws(
    strata: Ints,
    rows: Ints,
    y: Floats,
    p: Floats,
    n_draws: int,
    rng: np.random.Generator,
    unlabelled_yes: Mapping[int, Ints],
) -> Ints:
    """Draws of the number of positive documents in each stratum, whose sums have the limits of `difference_total`.

    Each stratum has draws of a gamma distribution with the mean and variance of its estimate. Their sums are then
    replaced, in their order, by draws of the total.

    Parameters
    ----------
    strata, rows, y, p
        Strata, labelled documents, labels and P: see `difference_total`.
    n_draws, rng
        Number of draws, and source of randomness.
    unlabelled_yes
        By stratum, int64 (n_draws,): draws from elsewhere of the positive documents without a label.

    Returns
    -------
    int64 (n_draws, n_strata): -1 in a stratum without a label, of which nothing is known.
    """
    by_stratum = StratumErrors(strata, rows, y, p)
    drawn = list(unlabelled_yes)
    by_stratum.estimate[drawn], by_stratum.variance[drawn] = by_stratum.yes[drawn], 0.0
    varies = by_stratum.variance > 0.0
    mean = np.maximum(by_stratum.estimate - by_stratum.yes, np.where(varies, HALF, 0.0))
    draws = np.tile(mean, (n_draws, 1))
    scale = by_stratum.variance[varies] / mean[varies]
    draws[:, varies] = rng.gamma(mean[varies] / scale, scale, (n_draws, int(varies.sum())))
    if varies.any():
        sums = draws.sum(axis=1)
        order = np.argsort(sums)
        total = by_stratum.beyond_labels((np.arange(n_draws) + rng.random(n_draws)) / n_draws)
        draws[order] *= (total / np.maximum(sums[order], 1e-300))[:, None]
    # One random number rounds all strata of a draw, so that their sum is rounded once.
    ends = np.floor(draws.cumsum(axis=1) + rng.random((n_draws, 1)))
    counts = by_stratum.yes + np.diff(ends, axis=1, prepend=0.0).astype(np.int64)
    counts[:, by_stratum.n == 0] = -1
    for stratum, draws_of_stratum in unlabelled_yes.items():
        counts[:, stratum] = by_stratum.yes[stratum] + draws_of_stratum
    return np.asarray(np.minimum(counts, by_stratum.size - (by_stratum.n - by_stratum.yes)))


def drawn_counts(
    z: Floats, strata: Ints, group_of: Ints, coefficients: Floats, n_positive: Ints, rng: np.random.Generator
) -> Ints:
    """Draws of the number of positive documents by group: (n_draws, n_groups).

    Labels are independent given their number in each stratum: the positive documents have the largest sums of logit and
    logistic noise (Pareto sampling, Rosén 1997, "On sampling with probability proportional to size", Journal of
    Statistical Planning and Inference 62).

    Parameters
    ----------
    z, strata, group_of
        Features of the documents, (n, n_columns); their strata, and their groups, (n,).
    coefficients
        float64 (n_draws, n_columns).
    n_positive
        int64 (n_draws, n_strata): number of positive documents; where it is negative, those with a positive sum are.
    rng
        Source of randomness.
    """
    members = [np.flatnonzero(strata == h) for h in range(n_positive.shape[1])]
    counts = np.zeros((len(coefficients), group_of.max(initial=-1) + 1), np.int64)
    z = z.astype(np.float32)
    for draw, beta in enumerate(coefficients.astype(np.float32)):
        sums = z @ beta + rng.logistic(size=len(z))
        for inside, n in zip(members, n_positive[draw].tolist(), strict=True):
            if n < 0:
                positive = inside[sums[inside] > 0.0]
            else:
                first = len(inside) - min(n, len(inside))
                positive = inside[np.argpartition(sums[inside], first)[first:]] if first < len(inside) else inside[:0]
            counts[draw] += np.bincount(group_of[positive], minlength=counts.shape[1])
    return counts


# --- learning ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LearnedTarget:
    """What labels teach about one target.

    Attributes
    ----------
    name, event, actor
        Name of the target in the plan; name of its event, and of its actor, "" for any actor.
    model, penalty
        The candidate with the best log score.
    n_labels, n_positive
        Number of labels of yes or no, and of labels of yes.
    features
        Coefficients of the best candidate by name of the feature, on the scale of standard deviations.
    candidates
        Cross-validated log score (weighted mean of -log P(label), lower is better): model, penalty, log_score.
    scores
        Log scores of P of the run and of the cross-fitted P: p ("run" or "learned") and log_score.
    counts
        Counts of all documents, and by period: the columns of learned_counts.csv, see docs/audit.md.
    documents
        Every document: the columns of learned.csv, see docs/audit.md.
    """

    name: str
    event: str
    actor: str
    model: str
    penalty: float
    n_labels: int
    n_positive: int
    features: dict[str, float]
    candidates: pd.DataFrame
    scores: pd.DataFrame
    counts: pd.DataFrame
    documents: pd.DataFrame

    def to_json(self) -> dict[str, Any]:
        """What learned.json has of a target: see docs/audit.md."""
        names = ("event", "actor", "model", "penalty", "n_labels", "n_positive", "features")
        tables = {name: getattr(self, name).to_dict("records") for name in ("candidates", "scores")}
        return {name: getattr(self, name) for name in names} | tables


def _learned_target(
    plan: AuditPlan,
    target: int,
    labels: Ints8,
    sampled: Ints,
    features: Mapping[str, Floats],
    reference: RuleErrorModel,
    level: float,
    n_draws: int,
    rng: np.random.Generator,
) -> LearnedTarget:
    """What the labels teach about one target.

    Parameters
    ----------
    plan, target, labels
        The plan, the index of the target, and the label of every document.
    sampled
        Documents of the sample with a label of yes or no; other labels are of documents that a person chose.
    features, reference
        See `target_features` and `learn`.
    level, n_draws, rng
        As in `learn`, and the source of randomness.
    """
    frame, strata, p = plan.frame, plan.stratum_of, plan.frame.probability(target)
    rows = np.flatnonzero(labels < UNSURE)
    y, size = (labels[rows] == YES).astype(np.float64), np.bincount(strata)
    # A label stands for the documents of its stratum; one of a document that a person chose has the least weight.
    # The weights add up to the effective number of labels.
    is_sampled, n_sampled = np.isin(rows, sampled), np.bincount(strata[sampled], minlength=len(size))
    weights = (size / np.maximum(n_sampled, 1))[strata[rows]]
    weights[~is_sampled] = weights[is_sampled].min() if is_sampled.any() else 1.0
    weights = weights * (weights.sum() / (weights**2).sum())
    folds = made_folds(strata[rows], y, rows, len(p), rng)

    # Features have mean 0 and standard deviation 1, after a column of ones. Learned P does not fall when P rises,
    # and the penalty draws to P as it is.
    matrix = np.column_stack(list(features.values()))
    spread = matrix.std(axis=0)
    scaled = (matrix - matrix.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)
    z, centre = np.column_stack([np.ones(len(p)), scaled]), np.append([0.0, spread[0]], np.zeros(len(spread) - 1))
    lowest = np.where([False, *(name in (*PROBABILITY, "P") for name in features)], 0.0, -np.inf)

    def fit(n: int, penalties: Floats, subset: Bools | slice = slice(None)) -> Floats:
        labelled = rows[subset]
        return fitted(z[labelled, :n], y[subset], weights[subset], penalties, lowest[:n], centre[:n])

    n_columns = {"recalibrated": 1 + len(PROBABILITY)}
    if min(y.sum(), len(y) - y.sum()) >= ENOUGH_LABELS:
        n_columns["regression"] = z.shape[1]
    candidates, best_score = [], np.inf
    for candidate, n in n_columns.items():
        for penalty in _PENALTIES[candidate]:
            penalties, q = np.append(1e-4, np.full(n - 1, penalty)), np.empty(len(p))
            for fold in range(N_FOLDS):
                inside = folds == fold
                q[inside] = sigmoid(z[inside, :n] @ fit(n, penalties, folds[rows] != fold))
            score = float(np.average(log_losses(y, q[rows]), weights=weights))
            candidates.append((candidate, penalty, score))
            if score < best_score:
                best_score, best, cross_fitted = score, (candidate, penalty, n, penalties), q
    model, penalty, n, penalties = best
    mode = fit(n, penalties)

    betas = coefficient_draws(z[rows, :n], weights, penalties, lowest[:n], mode, n_draws, rng)
    by_group = _positive_by_group(plan, target, labels, sampled, reference, cross_fitted, z[:, :n], betas, rng)

    event, actor = event_and_actor(frame, frame.targets[target])
    counts = [{"event": event, "actor": actor, **row} for row in _count_rows(frame, p, labels, by_group, level)]
    how = np.full(len(p), "chosen", dtype=object)
    how[plan.sample] = [plan.strata[h].name for h in strata[plan.sample].tolist()]
    documents = {
        "doc_id": frame.doc_ids,
        "date": frame.date_texts(),
        "event": event,
        "actor": actor,
        "probability": p,
        "learned": sigmoid(z[:, :n] @ mode),
        "cross_fitted": cross_fitted,
        "fold": folds,
        "label": np.array(["no", "yes", "unsure", ""], dtype=object)[labels],
        "sampled": np.where(labels == MISSING, "", how),
    }
    log_scores = [
        (name, float(np.average(log_losses(y, q[rows]), weights=weights)))
        for name, q in (("run", clipped_probability(p)), ("learned", cross_fitted))
    ]
    return LearnedTarget(
        name=frame.targets[target],
        event=event,
        actor=actor,
        model=model,
        penalty=penalty,
        n_labels=len(y),
        n_positive=int(y.sum()),
        features=dict(zip(features, mode[1:].tolist(), strict=False)),
        candidates=pd.DataFrame(candidates, columns=["model", "penalty", "log_score"]),
        scores=pd.DataFrame(log_scores, columns=["p", "log_score"]),
        counts=pd.DataFrame(counts),
        documents=pd.DataFrame(documents),
    )


def _positive_by_group(
    plan: AuditPlan,
    target: int,
    labels: Ints8,
    sampled: Ints,
    reference: RuleErrorModel,
    cross_fitted: Floats,
    z: Floats,
    coefficients: Floats,
    rng: np.random.Generator,
) -> Ints:
    """Draws of the number of documents of which readers say yes, by group of the frame: (n_draws, n_groups).

    The labels of a stratum say how many of its documents are positive, and the coefficients which: an error that
    documents of a stratum share is not in the coefficients. Where the rule counts no document and few labels say yes,
    the misses of other rules are the prior of the number; if P is another model's, it is Jeffreys' prior.

    Parameters
    ----------
    plan, target, labels, sampled, reference
        As in `_learned_target`.
    cross_fitted
        float64 (n_documents,): P of each document from a fit without its fold.
    z, coefficients
        Features of all documents, (n_documents, n_columns), and draws of their coefficients, (n_draws, n_columns).
    rng
        Source of randomness.
    """
    frame, strata, n_draws = plan.frame, plan.stratum_of, len(coefficients)
    size, is_yes = np.bincount(strata), labels[sampled] == YES
    n_sampled, n_yes = (np.bincount(strata[of], minlength=len(size)) for of in (sampled, sampled[is_yes]))
    _, mean_p, classes = target_strata(frame, target, strata, len(size))
    if plan.has_classes:
        error, generator = target_error(frame, target, reference, N_DRAWS, 0)
        misses, is_low = unlabelled_yes(size, mean_p, classes, n_sampled, n_yes, error, generator), mean_p <= 0.5
    else:
        shares = rng.beta(n_yes + HALF, n_sampled - n_yes + HALF, (n_draws, len(size)))
        misses, is_low = rng.binomial(size - n_sampled, shares), (mean_p == 0.0) & (n_sampled > 0)
    few = np.flatnonzero(is_low & (n_yes < ENOUGH_LABELS)).tolist()
    missed = {h: np.resize(misses[:, h], n_draws) for h in few}
    totals = total_draws(strata, sampled, is_yes.astype(np.float64), cross_fitted, n_draws, rng, missed)
    n_labelled_yes = np.bincount(strata[labels == YES], minlength=len(size))
    n_positive = np.where(totals < 0, -1, np.maximum(totals - n_labelled_yes, 0))
    groups, group_of = frame.groups()
    is_open, n_groups = labels >= UNSURE, len(groups) - 1
    by_group = np.tile(np.bincount(group_of[labels == YES], minlength=n_groups), (n_draws, 1))
    drawn = drawn_counts(z[is_open], strata[is_open], group_of[is_open], coefficients, n_positive, rng)
    by_group[:, : drawn.shape[1]] += drawn
    return by_group


def _count_rows(
    frame: AuditFrame, p: Floats, labels: Ints8, by_group: Ints, level: float
) -> Iterator[dict[str, object]]:
    """Yield the counts of all documents, and of each group of the frame, as learned and as the run has them."""
    groups, _ = frame.groups()
    for (label, start, inside), draws in zip(groups, [by_group.sum(axis=1), *by_group.T], strict=True):
        lower, upper = central_interval(draws, level).astype(np.int64).tolist()
        run_p = p[inside]
        run_lower, run_upper = quantile_interval(count_pmf(run_p[run_p > 0.0]), level)
        row: dict[str, object] = {"period": label, "period_start": start}
        row |= {"n_docs": len(run_p), "n_labels": int((labels[inside] < UNSURE).sum())}
        row |= {"mean": draws.mean(), "sd": draws.std(), "lower": lower, "upper": upper, "level": level}
        yield row | {"run_mean": run_p.sum(), "run_lower": run_lower, "run_upper": run_upper}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LearnResult(HtmlTable):
    """The probability that a reader says yes, for every document and target, and counts that rest on it.

    Attributes
    ----------
    plan
        The plan of the labels.
    targets
        What was learned of each target, in the order of the plan.
    warnings
        Why other targets were left out, and why P of a target is only recalibrated: they have few labels.
    """

    plan: AuditPlan
    targets: tuple[LearnedTarget, ...]
    warnings: tuple[str, ...]

    @property
    def cross_fitted(self) -> dict[str, Floats]:
        """By target, P of every document from the labels of other folds: what `estimate_counts` takes."""
        return {target.name: target.documents["cross_fitted"].to_numpy() for target in self.targets}

    def to_frame(self) -> pd.DataFrame:
        """Counts as a tidy table: see `LearnedTarget.counts`."""
        return pd.concat([target.counts for target in self.targets], ignore_index=True)

    def documents_frame(self) -> pd.DataFrame:
        """The documents as a tidy table: see `LearnedTarget.documents`."""
        return pd.concat([target.documents for target in self.targets], ignore_index=True)

    def to_json(self) -> dict[str, Any]:
        """Content of learned.json: see docs/audit.md."""
        return {
            "format": 1,
            "plan": self.plan.identity,
            "source": dict(self.plan.frame.source),
            "assumption": ASSUMPTION,
            "targets": [target.to_json() for target in self.targets],
            "warnings": list(self.warnings),
        }


def learn(
    plan: AuditPlan,
    labels: SheetLabels,
    run: PathLike | None = None,
    *,
    columns: Mapping[str, Floats] | None = None,
    reference: RuleErrorModel | None = None,
    level: float = 0.95,
    n_draws: int = 1000,
    seed: int = 0,
) -> LearnResult:
    """Learn the probability that a reader says yes, for every document of a plan.

    The label is regressed on what is known of a document, by a logistic regression that is drawn to P as it is and does
    not fall with it. Labels have the inverse of their inclusion probabilities as weights. Of a recalibration of P
    and the regression, each with several penalties, the one with the best cross-validated log score is used.

    Parameters
    ----------
    plan, labels
        The plan, and the labels of its sheets, from `read_sheets`.
    run
        Folder of the run of the plan, whose tables are features; by default P of the targets alone.
    columns
        Further features by name, numbers of every document in the order of the plan's frame, such as another model's
        scores.
    reference
        Errors of rules, whose misses are the prior where few labels say yes; by default those of the package.
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
        If a parameter breaks its rule.
    """
    level = _checks.probability("level", level, below_one=True, above_zero=True)
    n_draws, seed = _checks.whole("n_draws", n_draws, 100), _checks.seed(seed)
    frame, of_run = plan.frame, None if run is None else RunFeatures(run, plan.frame)
    reference = reference or reference_model()
    learned: list[LearnedTarget] = []
    warnings: list[str] = []
    for target, name in enumerate(frame.targets):
        all_labels = np.full(len(frame), MISSING, np.int8)
        for row, label in labels.hand_picked.items():
            all_labels[row] = label[target]
        is_labelled = labels.labels[:, target] != MISSING
        all_labels[plan.sample[is_labelled]] = labels.labels[is_labelled, target]
        n_yes, n_no = int((all_labels == YES).sum()), int((all_labels == NO).sum())
        if min(n_yes, n_no) < LEAST_LABELS:
            warnings.append(f"labels of {name} must have {LEAST_LABELS} of yes and of no, got {n_yes} and {n_no}")
            continue
        if min(n_yes, n_no) < ENOUGH_LABELS:
            rule = f"with fewer than {ENOUGH_LABELS} of yes or of no, P is only recalibrated"
            few = "and so few cannot tell whether it is better than P of the run"
            warnings.append(f"{name}: {n_yes} of {n_yes + n_no} labels say yes: {rule}, {few}")
        features = target_features(frame, target, of_run, columns)
        rng = np.random.default_rng([seed, target])
        sampled = plan.sample[labels.labels[:, target] < UNSURE]
        learned.append(_learned_target(plan, target, all_labels, sampled, features, reference, level, n_draws, rng))
    if not learned:
        raise InputError(warnings[0], hint="label more documents: `corefsample audit plan` adds a round")
    return LearnResult(plan, tuple(learned), tuple(warnings))
