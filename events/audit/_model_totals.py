"""Totals that use more than labels: learned P, proxies, or the errors of rules that readers have checked."""

from bisect import bisect_left
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from corefsample._arrays import Floats, Ints, pd
from corefsample.errors import ParameterError, ParameterHint
from corefsample.files._reading import read_json
from events.audit._audit_frame import COUNTED, event_and_actor
from events.audit._plan import AuditPlan
from events.audit._sheets import UNSURE, YES, SheetLabels
from events.audit._strata import DIVISIONS, LEAST_NEITHER, target_error, target_kind, target_strata
from events.audit._totals import DEFAULT_METHOD, cell_counts, is_possible, log_share_sampled
from events.rule_error._counts import central_interval, expected_width, unlabelled_yes
from events.rule_error._model import AUDIT, AUDIT_RECORD, AUDITED, COLUMNS, RuleErrorModel, reference_model

# Columns of totals that rest on more than the labels.
LEARNED = ("event", "actor", "n_docs", "n_labelled", "n_positive", "estimate", "lower", "upper", "level", "assumption")
N_FOLDS = 10
# Half a label of yes and half of no, as in Jeffreys' prior, are added to the variance of each stratum, with its mean P:
# labels without a surprise say little about how many there are.
HALF = 0.5
HALF_OF_PROXIES = 0.25  # weights are fewer than the coefficients of learned P: intervals hold with less
REFERENCE = "reference class"  # the assumption of totals that begin from the errors of other rules
N_DRAWS = 20_000  # of the error of a rule that labels weigh


# --- labels and P ------------------------------------------------------------------------------------------


class StratumErrors:
    """The difference estimator by stratum; strata without a document are 0 throughout.

    Attributes
    ----------
    size, n, yes
        int64 (n_strata,): number of documents, of labels, and of labels of yes.
    estimate, variance
        float64 (n_strata,): estimate of the number of positive documents, and its variance; the sum of P and 0 in a
        stratum without a label.
    added_variance
        float64 (n_strata,): the share of the variance that comes from the `half` labels of either kind.
    """

    def __init__(self, strata: Ints, rows: Ints, y: Floats, p: Floats, half: float = HALF) -> None:
        n_strata = int(strata.max()) + 1
        of_sample, error = strata[rows], y - p[rows]
        self.size, self.n = np.bincount(strata), np.bincount(of_sample, minlength=n_strata)
        self.yes = np.bincount(of_sample, y, n_strata).astype(np.int64)
        labels, documents = np.maximum(self.n, 1), np.maximum(self.size, 1)
        mean = np.bincount(of_sample, error, n_strata) / labels
        squares = np.bincount(of_sample, error**2, n_strata) - self.n * mean**2
        sums = np.bincount(strata, p, n_strata)
        share = sums / documents
        added = half * ((1.0 - share) ** 2 + share**2)
        self.estimate: Floats = sums + self.size * mean
        factor = self.size**2 * (1.0 - self.n / documents) / labels / (labels - 1.0 + 2.0 * half)
        self.variance: Floats = np.where(self.n > 0, factor * (squares + added), 0.0)
        self.added_variance: Floats = np.where(self.n > 0, factor * added, 0.0)

    def beyond_labels(self, u: Floats) -> Floats:
        """Quantiles of the total less the positive labels: lower limits for u below one half, upper limits above."""
        from scipy.special import gammaincinv

        beyond = max(float((self.estimate - self.yes).sum()), 0.5)
        scale = self.variance.sum() / beyond
        limits = np.asarray(scale * gammaincinv(beyond / scale + 0.5 * (u > 0.5), u))
        varies = self.variance > 0.0
        all_labelled = log_share_sampled(self.yes[varies], self.n[varies], self.size[varies]).sum()
        # The positive labels may be all positive documents.
        limits[[each <= 0.5 and bool(is_possible(all_labelled, 1.0 - 2.0 * each, DEFAULT_METHOD)) for each in u]] = 0.0
        return limits


def difference_total(
    strata: Ints, rows: Ints, y: Floats, p: Floats, level: float, *, half: float = HALF
) -> tuple[float, int, int]:
    """Estimate and limits of a total by the difference estimator in a stratified random sample.

    The sum of P is corrected by the mean difference of label and P in each stratum. The limits are those of a gamma
    distribution with the mean and variance of the estimate beyond the positive labels, as in `gamma_limit`; the lower
    one is the number of positive labels if the corpus may have no others (`is_possible`).

    Parameters
    ----------
    strata
        int64 (n_documents,): stratum of each document; every stratum has at least one label.
    rows, y
        Rows of the documents of the sample, and their labels, 0 or 1.
    p
        float64 (n_documents,): P of each document, which must not depend on the document's own label.
    level
        Probability that the interval has, in (0, 1).
    half
        Number of labels of either kind that are added to the variance of each stratum.

    References
    ----------
    Cochran (1977), "Sampling Techniques", section 7.10 and Eq. 5.6 (difference estimator, by stratum); Breidt & Opsomer
    (2017), "Model-assisted survey estimation with modern prediction techniques", Statistical Science 32, section 4.
    """
    by_stratum = StratumErrors(strata, rows, y, p, half)
    n_positive, n_documents = float(y.sum()), len(strata)
    most = n_documents - (len(rows) - n_positive)  # each other document is positive
    estimate = float(np.clip(by_stratum.estimate.sum(), n_positive, most))
    if by_stratum.variance.sum() <= 0.0:
        return estimate, int(n_positive), int(n_positive)
    tail = 0.5 * (1.0 - level)
    lower, upper = by_stratum.beyond_labels(np.array([tail, 1.0 - tail]))
    lower = min(np.ceil(n_positive + lower), np.floor(estimate))
    upper = max(np.floor(n_positive + upper), np.ceil(estimate))
    return estimate, int(max(lower, n_positive)), int(min(upper, most))


def learned_totals(
    plan: AuditPlan,
    labels: SheetLabels,
    learned: Mapping[str, Floats],
    level: float,
    *,
    assumption: str = "learned P",
    half: float = HALF,
) -> pd.DataFrame:
    """Total of each target that has a learned P: rows of `AuditEstimate.learned`.

    Parameters
    ----------
    plan, labels
        Plan of the audit, and labels of its sample.
    learned
        P of every document by target, learned from the labels of other documents.
    level
        Probability that each interval has, in (0, 1).
    assumption, half
        Name of what the totals rest on, and number of labels that are added: see `difference_total`.
    """
    begun = plan.round_of <= labels.n_rounds
    rows, totals = plan.sample[begun], []
    for target, name in enumerate(plan.frame.targets):
        if name not in learned:
            continue
        answers = labels.labels[begun, target]
        if_no, if_yes = (
            difference_total(plan.stratum_of, rows, y, learned[name], level, half=half)
            for y in (np.where(answers < UNSURE, answers, open_label) for open_label in (0.0, 1.0))
        )
        counts = len(plan.frame), int((answers < UNSURE).sum()), int((answers == YES).sum())
        interval = 0.5 * (if_no[0] + if_yes[0]), if_no[1], if_yes[2]
        totals.append((*event_and_actor(plan.frame, name), *counts, *interval, level, assumption))
    return pd.DataFrame(totals, columns=list(LEARNED))


def combined_probability(
    plan: AuditPlan, labels: SheetLabels, target: int, proxies: Mapping[str, Floats], *, seed: int = 0
) -> Floats:
    """Weighted sum of P and proxies for every document, with weights from the labels of other folds.

    The weights minimise the estimated variance of the difference estimator of the total: least squares of the labels
    within strata, where a label counts as it does in that variance. Weights are not negative, so a proxy without
    information gets none.

    Parameters
    ----------
    plan, labels
        Plan of the audit, and labels of its sample; unsure and missing labels are left out.
    target
        Index of the target.
    proxies
        Further numbers of every document by name, (n_documents,) each, which rise with the probability.
    seed
        Seed of the folds.

    Returns
    -------
    float64 (n_documents,) in [0, 1]

    References
    ----------
    Angelopoulos et al. (2023), "PPI++: Efficient prediction-powered inference", section 4 (power tuning); Shan et al.
    (2025), "SADA: Safe and adaptive aggregation of multiple black-box predictions in semi-supervised learning".
    """
    from scipy.optimize import nnls

    answered = labels.labels[:, target] < UNSURE
    rows, y = plan.sample[answered], labels.labels[answered, target].astype(np.float64)
    x = np.column_stack([plan.frame.probability(target), *proxies.values()])
    strata, sizes = plan.stratum_of[rows], np.bincount(plan.stratum_of)
    folds = made_folds(strata, np.zeros_like(y), rows, len(x), np.random.default_rng([seed, target]))
    combined = np.empty(len(x))
    for fold in range(N_FOLDS):
        train = folds[rows] != fold
        h = strata[train]
        n_labels = np.maximum(np.bincount(h, minlength=len(sizes)), 1)
        values = np.column_stack([y, x[rows]])[train]
        means = np.column_stack([np.bincount(h, column, len(sizes)) / n_labels for column in values.T])
        weight = (sizes / n_labels) * np.sqrt(np.maximum(1.0 - n_labels / sizes, 0.0))
        centred = (values - means[h]) * weight[h, None]
        coefficients, _ = nnls(centred[:, 1:], centred[:, 0])
        level = (sizes @ (means[:, 0] - means[:, 1:] @ coefficients)) / sizes.sum()
        inside = folds == fold
        combined[inside] = level + x[inside] @ coefficients
    return np.clip(combined, 0.0, 1.0)


def made_folds(strata: Ints, y: Floats, rows: Ints, n_documents: int, rng: np.random.Generator) -> Ints:
    """Fold of every document; labels of each value and stratum are spread over the folds."""
    folds = rng.permutation(n_documents) % N_FOLDS
    order = np.lexsort((rng.random(len(rows)), strata, y))
    folds[rows[order]] = np.arange(len(rows)) % N_FOLDS
    return folds


# --- errors of other rules ---------------------------------------------------------------------------------


def prior_model(plan: AuditPlan, table: str | None = None) -> RuleErrorModel:
    """Model of the reference class of the package, or of the table in a file.

    Raises
    ------
    ParameterError
        If the table is that of the plan's audit, whose labels would count twice.
    """
    model = reference_model(table)  # verifies the record of an audit
    if table is not None and Path(table).name == AUDITED:
        record = Path(table).with_name(AUDIT_RECORD)
        if record.is_file() and read_json(record)["summary"]["plan"] == plan.identity:
            hint = ParameterHint("prior", "reference is the table of the package")
            rule = f"must not be the table of the same audit, whose labels would count twice, got {table!r}"
            raise ParameterError(rule, parameter="prior", hint=hint)
    return model


def reference_totals(
    plan: AuditPlan, labels: SheetLabels, model: RuleErrorModel, *, level: float = 0.95, seed: int = 0
) -> pd.DataFrame:
    """Posterior of the total of each target, given the reference class and the labels: see `AuditEstimate.learned`.

    Parameters
    ----------
    plan, labels
        The plan, and its labels; unsure and missing ones are left out.
    model
        Error of rules that readers have checked.
    level
        Probability that each interval has, in (0, 1).
    seed
        Seed of the random draws, in [0, 2**64).
    """
    totals = []
    for target, name in enumerate(plan.frame.targets):
        (cells,) = cell_counts(plan, labels, target)
        n_labels = cells.n_labelled - cells.n_open
        error, rng = target_error(plan.frame, target, model, N_DRAWS, seed)
        others = unlabelled_yes(cells.n_documents, cells.mean_p, cells.classes, n_labels, cells.n_yes, error, rng)
        draws = cells.n_yes.sum() + others.sum(axis=1)
        counts = len(plan.frame), int(n_labels.sum()), int(cells.n_yes.sum())
        interval = float(draws.mean()), *central_interval(draws, level).astype(int).tolist()
        totals.append((*event_and_actor(plan.frame, name), *counts, *interval, level, REFERENCE))
    return pd.DataFrame(totals, columns=list(LEARNED))


def expected_width_of(
    plan: AuditPlan, model: RuleErrorModel, labels: SheetLabels | None = None, *, level: float = 0.95, seed: int = 0
) -> float:
    """Expected width of the interval of a total from the labels of a plan; the widest of its targets.

    The interval has the reference class as its prior; if strata do not divide classes of documents, it is by design.
    Labels of earlier rounds of the plan are as they are; by default there are none.
    """
    sizes, n_labels, spreads = np.transpose([(each.n_documents, each.n_sampled, each.spread) for each in plan.strata])
    if not plan.has_classes:
        return float(2.0 * 1.96 * np.sqrt(((sizes * spreads) ** 2 * (1.0 - n_labels / sizes) / n_labels).sum()))
    widths = []
    for target in range(len(plan.frame.targets)):
        error, rng = target_error(plan.frame, target, model, 1000 if labels is None else N_DRAWS // 4, seed)
        n, earlier = len(plan.strata), None
        if labels is not None:
            answers = labels.labels[:, target]
            codes = plan.stratum_of[plan.sample[: len(answers)]]
            earlier = np.bincount(codes[answers < UNSURE], minlength=n), np.bincount(codes[answers == YES], minlength=n)
        strata = target_strata(plan.frame, target, plan.stratum_of, n)
        widths.append(expected_width(*strata, n_labels.astype(np.int64), error, rng, level, earlier))
    return max(widths)


def plan_for_width(plan_of: Callable[[int], AuditPlan], n_documents: int, width: float) -> AuditPlan:
    """Plan with the fewest labels whose `expected_width_of` is at most `width`, but enough for the floors of strata.

    Parameters
    ----------
    plan_of
        Function that returns the plan with a number of labels.
    n_documents
        Number of documents, which are all labelled if nothing less gives this width.
    width
        Width of the 95% interval of a total, in documents.
    """
    model, largest = reference_model(), plan_of(n_documents)
    fewest = min(largest.floor * len(largest.strata) + LEAST_NEITHER, n_documents)
    numbers = range(fewest, n_documents)
    return plan_of(fewest + bisect_left(numbers, -width, key=lambda n: -expected_width_of(plan_of(n), model)))


def reference_rows(plan: AuditPlan, labels: SheetLabels) -> pd.DataFrame:
    """Rows of the audited events and actors for the reference class, with numbers of labelled documents.

    The model compares misses with counted documents: those of the class "sentence" with `sum_p`, and those of "neither"
    with `n_above`. Classes have different shares of labels. Therefore `sum_p` is that of as many documents as the
    labels of "sentence" stand for; and of "neither" the row has as many as `n_above` stands for, at most its labels.
    """
    rows = []
    for target, name in enumerate(plan.frame.targets):
        event, actor = event_and_actor(plan.frame, name)
        answers, division = labels.labels[:, target], plan.frame.divisions(target)
        of_labels = division[plan.sample[answers < UNSURE]]
        sizes, n_labels = (np.bincount(each, minlength=len(DIVISIONS)) for each in (division, of_labels))
        yes = np.bincount(division[plan.sample[answers == YES]], minlength=len(DIVISIONS))
        *near, n_neither, n_above = n_labels.tolist()
        *_, yes_neither, yes_above = yes.tolist()
        exposure = n_neither * sizes[COUNTED] / max(sizes[:COUNTED].sum(), 1)
        if exposure < n_above:
            n_neither = max(min(n_neither, round(exposure * sum(near) / (n_above - exposure))), yes_neither)
        n_documents = n_above + sum(near) + n_neither
        sum_p = plan.frame.probability(target).sum() * near[0] / max(sizes[0], 1)
        numbers = n_documents, round(min(float(sum_p), n_documents), 3), int(yes.sum())
        below = *(n_above, yes_above, int(yes.sum()) - yes_above), *near, *yes[:COUNTED].tolist()
        rows.append((AUDIT, event, actor, target_kind(plan.frame, actor), "", "", "", *numbers, *below))
    return pd.DataFrame(rows, columns=list(COLUMNS))
