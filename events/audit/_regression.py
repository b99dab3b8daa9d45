"""Regression of counts on covariates: from labels and P to coefficients whose errors cover those of the model."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from corefsample import InputError, _checks
from corefsample._arrays import Floats, HtmlTable, Ints, pd
from events.audit._audit_frame import event_and_actor
from events.audit._model_totals import HALF_OF_PROXIES, StratumErrors, combined_probability
from events.audit._plan import AuditPlan
from events.audit._sheets import UNSURE, SheetLabels

Outcome = Literal["count", "share", "log-rate"]
INTERCEPT = "(intercept)"
POWER = 0.8
_COLUMNS = (
    *("term", "estimate", "standard_error", "lower", "upper", "p_value", "label_share"),
    *("detectable", "detectable_twice", "run_estimate"),
)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CountRegression(HtmlTable):
    """Coefficients of a regression of counts, and the units that it used.

    Attributes
    ----------
    coefficients
        Tidy table of the intercept, then the covariates in the order of their table:

        - term: name of the covariate, or "(intercept)"
        - estimate, its robust standard_error, and its confidence interval, lower and upper
        - p_value of the hypothesis that the coefficient is 0, two-sided
        - label_share: share of the variance of the estimate that comes from documents without a label, in [0, 1]
        - detectable and detectable_twice: size of a coefficient that is found in four of five samples, with these
          labels and with twice as many
        - run_estimate: coefficient of the same regression on sums of P, which has no uncertainty of the model and its
          bias
    units
        The rows of the table of covariates, with n_docs, the estimated count, and the sum of P (run_mean).
    outcome, level
        Outcome of the regression, and level of the intervals.
    """

    coefficients: pd.DataFrame
    units: pd.DataFrame
    outcome: Outcome
    level: float

    def __repr__(self) -> str:
        rows = self.coefficients[["term", "estimate", "lower", "upper"]].itertuples(index=False, name=None)
        terms = [f"  {term}: {estimate:.4g}, {lower:.4g} to {upper:.4g}" for term, estimate, lower, upper in rows]
        return "\n".join([f"CountRegression({self.outcome} of {len(self.units)} units)", *terms])

    def to_frame(self) -> pd.DataFrame:
        """Table of the coefficients."""
        return self.coefficients


def regress_counts(
    plan: AuditPlan,
    labels: SheetLabels,
    covariates: pd.DataFrame,
    *,
    outcome: Outcome = "count",
    level: float = 0.95,
    learned: Mapping[str, Floats] | None = None,
) -> CountRegression:
    """Regress numbers of documents with a target on covariates, from labels and P.

    Every document has a pseudo-outcome: P, and in the sample the difference of label and P divided by the probability
    of a label. Sums of pseudo-outcomes by unit have the true counts as expectations, whatever the errors of P, so that
    the regression has no bias from them; robust standard errors cover the labels as well as the counts. A regression on
    P alone is biased where its errors are related to a covariate.

    Parameters
    ----------
    plan
        Plan of the audit.
    labels
        Labels of its sample, from `read_sheets`. Unsure and missing labels are left out, as if they were missing at
        random within a stratum.
    covariates
        One row for each unit. The columns `period` (such as "1999Q2"), `event`, `actor`, and those of the frame's
        properties say which documents belong to a unit; all other columns are covariates and must be numbers.
    outcome
        Dependent variable: ``"count"``, the number of documents with the target, or ``"share"``, their share of all
        documents of the unit, by least squares; ``"log-rate"``, the logarithm of the expected share, by Poisson
        regression.
    level
        Probability that each interval has, in (0, 1).
    learned
        P of every document by target, learned from the labels of other documents. By default, and for targets without
        it, the weighted sum of P and the plan's proxies that fits other labels best.

    Raises
    ------
    ParameterError
        If `plan`, `labels` or `covariates` has another type, `outcome` is unknown, or `level` is outside (0, 1).
    InputError
        If no column of the covariates says which documents belong to a unit, the columns `event` and `actor` do not
        distinguish the targets of the plan, units repeat, a covariate is not a number, a unit has no documents but
        needs some, all units have none, there are too few units for the coefficients, covariates are collinear, a
        coefficient depends on one unit alone, a stratum has no label of yes or no, or too few labels are positive for a
        logarithmic rate.

    References
    ----------
    Egami, Hinck, Stewart & Wei (2023), "Using imperfect surrogates for downstream inference: design-based supervised
    learning for social science applications of large language models", NeurIPS 36. Long & Ervin (2000), "Using
    heteroscedasticity consistent standard errors in the linear regression model", The American Statistician 54 (HC3).
    """
    from scipy.stats import norm, t

    _checks.instance("plan", plan, AuditPlan, hint="`plan_audit` makes one")
    _checks.instance("labels", labels, SheetLabels, hint="`read_sheets` reads them")
    _checks.instance("covariates", covariates, pd.DataFrame)
    _checks.choice("outcome", outcome, get_args(Outcome))
    level = _checks.probability("level", level, below_one=True, above_zero=True)
    units, x = _design(plan, covariates)
    totals, learned = np.zeros((len(units), 5)), learned or {}
    for target, name in enumerate(plan.frame.targets):
        p = learned[name] if name in learned else combined_probability(plan, labels, target, plan.proxies)
        answers, strata = labels.labels[:, target], plan.stratum_of
        rows, y = plan.sample[answers < UNSURE], answers[answers < UNSURE].astype(np.float64)
        by_stratum = StratumErrors(strata, rows, y, p, HALF_OF_PROXIES)
        if not by_stratum.n.all():
            h = int(np.argmin(by_stratum.n))
            rule = "every stratum must have a label of yes or no"
            raise InputError(f"{rule}, got none in stratum {h + 1} ({plan.strata[h].name})")
        outcomes = p.astype(np.float64)
        outcomes[rows] += (y - p[rows]) * (by_stratum.size / by_stratum.n)[strata[rows]]
        # The added variance is the one that labels without a surprise hide: see `StratumErrors`.
        variances = (np.stack([by_stratum.variance, by_stratum.added_variance]) / by_stratum.size)[:, strata]
        values = np.column_stack([np.ones(len(p)), outcomes, *variances, plan.frame.probability(target)])
        unit_of = _unit_of_documents(plan, units, target)
        np.add.at(totals, unit_of[unit_of >= 0], values[unit_of >= 0])
    n_docs, counts, label_variances, added_variances, run_counts = totals.T
    empty = np.flatnonzero(n_docs == 0.0)
    if empty.size == len(units) or (empty.size and outcome != "count"):
        raise InputError(f"every unit must have documents, got none in row {empty[0] + 1} of the covariates")
    scale = n_docs if outcome == "share" else np.ones(len(x))
    exposure = n_docs if outcome == "log-rate" else None
    estimate, bread, residuals = _fit(x, counts / scale, exposure)
    run_estimate, *_ = _fit(x, run_counts / scale, exposure)
    meats = residuals**2 + added_variances / scale**2, label_variances / scale**2
    variance, of_labels = (np.diag(bread @ (x.T * meat) @ x @ bread) for meat in meats)
    of_labels = np.minimum(of_labels, variance)
    errors = np.sqrt(variance)
    freedom = len(x) - x.shape[1]
    reach = t.ppf(0.5 * (1.0 + level), freedom) * errors
    to_detect = norm.ppf(0.5 * (1.0 + level)) + norm.ppf(POWER)
    columns = (
        *(estimate, errors, estimate - reach, estimate + reach, 2.0 * t.sf(np.abs(estimate) / errors, freedom)),
        *(of_labels / variance, to_detect * errors, to_detect * np.sqrt(variance - 0.5 * of_labels), run_estimate),
    )
    terms = [INTERCEPT, *(str(name) for name in covariates if name not in units)]
    coefficients = pd.DataFrame(dict(zip(_COLUMNS, (terms, *columns), strict=True)))
    table = units.assign(n_docs=n_docs.astype(np.int64), estimate=counts, run_mean=run_counts)
    return CountRegression(coefficients, table, outcome, level)


def _design(plan: AuditPlan, covariates: pd.DataFrame) -> tuple[pd.DataFrame, Floats]:
    """Columns that say which documents belong to a unit, and the matrix of the covariates with a column of ones."""
    names = ("period", "event", "actor", *plan.frame.properties)
    keys = [name for name in covariates if name in names]
    if not keys:
        rule = f"covariates must have a column that names the documents of a unit, one of {', '.join(names)}"
        raise InputError(f"{rule}, got {', '.join(map(str, covariates))}")
    pairs = [event_and_actor(plan.frame, name) for name in plan.frame.targets]
    if len({("event" in keys and event, "actor" in keys and actor) for event, actor in pairs}) < len(pairs):
        rule = "covariates must have a column actor or event where the plan has several of them"
        raise InputError(f"{rule}, got {', '.join(keys)}")
    units = covariates[keys].astype(str).reset_index(drop=True)
    repeated = units[units.duplicated()]
    if len(repeated):
        rule = f"{', '.join(keys)} must name each unit once"
        raise InputError(f"{rule}, got {', '.join(repeated.iloc[0])} again in row {repeated.index[0] + 1}")
    columns = [np.ones(len(units))]
    terms = covariates.columns.difference(keys, sort=False)
    for name in terms:
        values = pd.to_numeric(covariates[name], errors="coerce").to_numpy(np.float64)
        wrong = np.flatnonzero(~np.isfinite(values))
        if wrong.size:
            value = covariates[name].iloc[int(wrong[0])]
            raise InputError(f"covariate {name} must be a number, got {value!r} in row {wrong[0] + 1}")
        columns.append(values)
    x = np.column_stack(columns)
    if len(x) <= x.shape[1] + 1:
        raise InputError(f"covariates must have more than {x.shape[1] + 1} rows, got {len(x)}")
    scaled = x / np.maximum(np.abs(x).max(axis=0), 1e-300)
    for n_terms, name in enumerate(terms, start=2):
        if np.linalg.matrix_rank(scaled[:, :n_terms]) < n_terms:
            raise InputError(f"covariate {name} must not be constant, nor a sum of multiples of those before it")
    return units, x


def _unit_of_documents(plan: AuditPlan, units: pd.DataFrame, target: int) -> Ints:
    """Row of the unit to which the target in each document belongs, -1 for none: int64 (n_documents,)."""
    frame = plan.frame
    event, actor = event_and_actor(frame, frame.targets[target])
    keys: dict[str, object] = {"event": event, "actor": actor, **frame.properties}
    groups, number_of = frame.groups()
    keys["period"] = np.array([label for label, *_ in groups[1:]], dtype=object)[number_of]
    documents = pd.DataFrame({name: keys[str(name)] for name in units}, index=range(len(frame))).astype(str)
    index = pd.MultiIndex.from_frame(units)
    return np.asarray(index.get_indexer(pd.MultiIndex.from_frame(documents)), np.int64)


def _fit(x: Floats, y: Floats, exposure: Floats | None) -> tuple[Floats, Floats, Floats]:
    """Coefficients, inverse of the information, and residuals divided by one less their leverage (HC3).

    Least squares; with an exposure, the quasi-likelihood of a Poisson regression with a logarithmic link.
    """
    if exposure is None:
        bread = np.asarray(np.linalg.inv(x.T @ x), np.float64)
        beta = bread @ (x.T @ y)
        fitted, weight = x @ beta, np.ones(len(x))
    else:
        rate = float(y.sum() / exposure.sum())
        beta = np.zeros(x.shape[1])
        beta[0] = np.log(rate) if rate > 0.0 else np.nan
        step = np.full(len(beta), np.inf)
        for _ in range(100):  # Newton's method needs some ten steps
            if not np.isfinite(beta).all() or np.abs(step).max() < 1e-10:
                break
            fitted = weight = exposure * np.exp(x @ beta)
            bread = np.asarray(np.linalg.pinv((x.T * weight) @ x), np.float64)
            step = np.clip(bread @ (x.T @ (y - fitted)), -2.0, 2.0)
            beta = beta + step
        if not np.abs(step).max() < 1e-10:
            hint = "label more documents, or take shares"
            raise InputError("labels must have enough of yes for a logarithmic rate, got too few", hint=hint)
    freedom = 1.0 - weight * ((x @ bread) * x).sum(axis=1)
    if freedom.min() < 1e-9:
        raise InputError(f"no coefficient must depend on one row alone, got row {freedom.argmin() + 1}")
    return beta, bread, (y - fitted) / freedom
