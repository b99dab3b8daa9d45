"""Totals from labels and learned P, by the difference estimator: P of a document is from the labels of other folds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from corefsample._arrays import Floats, Ints
from events.audit._documents import event_and_actor
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
        event, actor = event_and_actor(plan.frame, name)
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
    found = _errors_by_stratum(strata, rows, y, p)
    n_positive, n_documents = float(y.sum()), len(strata)
    most = n_documents - (len(rows) - n_positive)  # each other document is positive
    estimate = float(np.clip(found.estimate.sum(), n_positive, most))
    if found.variance.sum() <= 0.0:
        return estimate, int(n_positive), int(n_positive)
    tail = 0.5 * (1.0 - level)
    lower, upper = found.beyond_labels(np.array([tail, 1.0 - tail]))
    lower = min(np.ceil(n_positive + lower), np.floor(estimate))
    upper = max(np.floor(n_positive + upper), np.ceil(estimate))
    return estimate, int(max(lower, n_positive)), int(min(upper, most))


def total_draws(strata: Ints, rows: Ints, y: Floats, p: Floats, n_draws: int, rng: np.random.Generator) -> Ints:
    """Draws of the number of positive documents in each stratum, whose sums have the limits of `difference_total`.

    Of each stratum a gamma distribution is drawn with the mean and variance of its own estimate. The sums are then
    replaced, in their order, by draws of the total.

    Returns
    -------
    int64 (n_draws, n_strata): -1 in a stratum without a label, of which nothing is known.
    """
    found = _errors_by_stratum(strata, rows, y, p)
    varies = found.variance > 0.0
    mean = np.maximum(found.estimate - found.yes, np.where(varies, _HALF, 0.0))
    draws = np.tile(mean, (n_draws, 1))
    scale = found.variance[varies] / mean[varies]
    draws[:, varies] = rng.gamma(mean[varies] / scale, scale, (n_draws, int(varies.sum())))
    if varies.any():
        sums = draws.sum(axis=1)
        order = np.argsort(sums)
        total = found.beyond_labels((np.arange(n_draws) + rng.random(n_draws)) / n_draws)
        draws[order] *= (total / np.maximum(sums[order], 1e-300))[:, None]
    # One random number rounds all strata of a draw, so that their sum is rounded once.
    ends = np.floor(draws.cumsum(axis=1) + rng.random((n_draws, 1)))
    counts = found.yes + np.diff(ends, axis=1, prepend=0.0).astype(np.int64)
    counts[:, found.n == 0] = -1
    return np.asarray(np.minimum(counts, found.size - (found.n - found.yes)))


@dataclass(frozen=True, slots=True, eq=False)
class _StratumErrors:
    """The difference estimator by stratum; strata without a document are 0 throughout.

    Attributes
    ----------
    size, n, yes
        int64 (n_strata,): documents, labels, and labels of yes.
    estimate, variance
        float64 (n_strata,): of the number of positive documents; without a label the sum of P, and 0.
    """

    size: Ints
    n: Ints
    yes: Ints
    estimate: Floats
    variance: Floats

    def beyond_labels(self, u: Floats) -> Floats:
        """Quantiles of the total less the positive labels: lower limits for u below one half, upper limits above."""
        from scipy.special import gammaincinv

        beyond = max(float((self.estimate - self.yes).sum()), 0.5)
        scale = self.variance.sum() / beyond
        limits = np.asarray(scale * gammaincinv(beyond / scale + 0.5 * (u > 0.5), u))
        has = self.n > 0
        all_labelled = log_share_sampled(self.yes[has], self.n[has], self.size[has]).sum()
        # The positive labels may be all positive documents.
        limits[[each <= 0.5 and bool(is_possible(all_labelled, 1.0 - 2.0 * each, DEFAULT_METHOD)) for each in u]] = 0.0
        return limits


def _errors_by_stratum(strata: Ints, rows: Ints, y: Floats, p: Floats) -> _StratumErrors:
    n_strata = int(strata.max()) + 1
    of_sample, error = strata[rows], y - p[rows]
    size = np.bincount(strata, minlength=n_strata)
    n = np.bincount(of_sample, minlength=n_strata)
    labels, documents = np.maximum(n, 1), np.maximum(size, 1)
    mean = np.bincount(of_sample, error, n_strata) / labels
    squares = np.bincount(of_sample, error**2, n_strata) - n * mean**2
    sums = np.bincount(strata, p, n_strata)
    share = sums / documents
    spread = (squares + _HALF * ((1.0 - share) ** 2 + share**2)) / (labels - 1.0 + 2.0 * _HALF)
    variance = np.where(n > 0, size**2 * (1.0 - n / documents) * spread / labels, 0.0)
    yes = np.bincount(of_sample, y, n_strata).astype(np.int64)
    return _StratumErrors(size, n, yes, sums + size * mean, variance)
