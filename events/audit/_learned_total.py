"""Totals from labels and learned P, by the difference estimator: P of a document is from the labels of other folds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from corefsample._arrays import Floats, Ints
from events.audit._frame import audited_names
from events.audit._plan import AuditPlan
from events.audit._sheets import MISSING, UNSURE, YES, SheetLabels
from events.audit._totals import DEFAULT_METHOD, is_possible, log_share_sampled

# Half a label of yes and half of no, as in Jeffreys' prior, are added to the variance of each stratum, with its mean P:
# labels without a surprise say little about how many there are.
_HALF = 0.5
LEARNED_ASSUMPTION = "learned P"


@dataclass(frozen=True, slots=True)
class LearnedTotal:
    """The number of documents with a target, from labels and learned P.

    The estimate needs no assumption. The interval rests on an approximation, which is the better the better the learned
    P is: it has no guarantee.

    Attributes
    ----------
    event, actor
        The event, and the actor, or "" for any.
    n_docs, n_labelled, n_positive
        Documents, those of the sample with a label, and of these the positive ones.
    estimate, lower, upper, level
        Estimate and interval; unsure and missing labels are counted both ways.
    assumption
        "learned P".
    """

    event: str
    actor: str
    n_docs: int
    n_labelled: int
    n_positive: int
    estimate: float
    lower: int
    upper: int
    level: float
    assumption: str = LEARNED_ASSUMPTION


def learned_totals(
    plan: AuditPlan, labels: SheetLabels, cross_fitted: Mapping[str, Floats], level: float
) -> tuple[LearnedTotal, ...]:
    """Total of each target of which there is a learned P.

    Parameters
    ----------
    plan, labels
        The plan, and its labels; those of documents that a person chose are not used.
    cross_fitted
        By target: P of every document, from labels among which is not its own.
    level
        Of the intervals.
    """
    begun = plan.round_of <= labels.n_rounds
    rows, found = plan.sample[begun], []
    for target, name in enumerate(plan.frame.targets):
        if name not in cross_fitted:
            continue
        own = labels.labels[begun, target]
        is_open = (own == UNSURE) | (own == MISSING)
        ways = []
        for open_as in (0.0, 1.0):
            y = np.where(is_open, open_as, own == YES)
            ways.append(difference_total(plan.stratum_of, rows, y, cross_fitted[name], level))
        event, actor = audited_names(plan.frame, name)
        counts = len(plan.frame), int((~is_open).sum()), int((own == YES).sum())
        estimate = 0.5 * (ways[0][0] + ways[1][0])
        found.append(LearnedTotal(event, actor, *counts, estimate, ways[0][1], ways[1][2], level))
    return tuple(found)


def difference_total(strata: Ints, rows: Ints, y: Floats, p: Floats, level: float) -> tuple[float, int, int]:
    """Estimate and limits of a total by the difference estimator in a stratified random sample.

    The sum of P is corrected by the mean difference of label and P in each stratum. The limits are those of a gamma
    distribution with the mean and variance of the estimate beyond the positive labels, as in `gamma_limit`; the lower
    one is the number of positive labels where these may be all that there are.

    Parameters
    ----------
    strata
        int64 (n_documents,): each has at least one label.
    rows, y
        Documents of the sample, and their labels, 0 or 1.
    p
        float64 (n_documents,), which does not depend on the document's own label.
    level
        In (0, 1).

    References
    ----------
    Cochran (1977), "Sampling Techniques", section 7.10 and Eq. 5.6 (difference estimator, by stratum); Breidt & Opsomer
    (2017), "Model-assisted survey estimation with modern prediction techniques", Statistical Science 32, section 4.
    """
    from scipy.special import gammaincinv

    n_strata = int(strata.max()) + 1
    of_sample, error = strata[rows], y - p[rows]
    size = np.bincount(strata, minlength=n_strata).astype(np.float64)
    n = np.bincount(of_sample, minlength=n_strata).astype(np.float64)
    has = n > 0.0  # numbers of strata may have gaps
    size, n = size[has], n[has]
    mean = np.bincount(of_sample, error, n_strata)[has] / n
    squares = np.bincount(of_sample, error**2, n_strata)[has] - n * mean**2
    share = np.bincount(strata, p, n_strata)[has] / size
    spread = (squares + _HALF * ((1.0 - share) ** 2 + share**2)) / (n - 1.0 + 2.0 * _HALF)
    variance = float((size**2 * (1.0 - n / size) * spread / n).sum())
    n_positive, n_documents = float(y.sum()), len(strata)
    most = n_documents - (len(rows) - n_positive)  # each other document is positive
    estimate = float(np.clip(p.sum() + (size * mean).sum(), n_positive, most))
    if variance <= 0.0:
        return estimate, int(n_positive), int(n_positive)
    beyond = max(estimate - n_positive, 0.5)
    scale = variance / beyond
    tail = 0.5 * (1.0 - level)
    lower, upper = scale * gammaincinv(beyond / scale + 0.5 * np.array([0.0, 1.0]), [tail, 1.0 - tail])
    yes = np.bincount(of_sample, y, n_strata)[has].astype(np.int64)
    labelled, sizes = n.astype(np.int64), size.astype(np.int64)
    if is_possible(log_share_sampled(yes, labelled, sizes).sum(), level, DEFAULT_METHOD):
        lower = 0.0  # the positive labels may be all positive documents
    lower = min(np.ceil(n_positive + lower), np.floor(estimate))
    upper = max(np.floor(n_positive + upper), np.ceil(estimate))
    return estimate, int(max(lower, n_positive)), int(min(upper, most))
