"""Limits of a total that hold by construction: a test of every total, over all ways to divide it among the strata.

The hypothesis that t documents are positive is a union: of all divisions t = t_1 + ... + t_H among the strata. The test
rejects it if it rejects every division, so that its level holds whatever the truth (a union-intersection test, as in
risk-limiting audits: Stark 2020). Instead of combining one P value per stratum by Fisher's formula, we bound the
tail of the stratified estimator itself over all divisions.

References
----------
Stark (2020), "Sets of half-average nulls generate risk-limiting audits: SHANGRLA", Financial Cryptography, section 2.
Berger & Boos (1994), "P values maximized over a confidence set for the nuisance parameter", JASA 89, 1012-1016.
"""

from __future__ import annotations

import math

import numpy as np

from corefsample._arrays import Ints
from events.audit import _kernels

_SHARE = 0.1  # of the error, for the confidence set of the division


def guaranteed_limits(
    n_positive: Ints, n_labelled: Ints, n_documents: Ints, alpha: float, *, steps: int = 240, values: int = 720
) -> tuple[int, int]:
    """Limits of the total at level 1 - alpha, each tail alpha / 2; every stratum has a label.

    The upper limit is all documents less the lower limit of the negative ones. `steps` and `values` are the sizes of
    the grids of totals and of the statistic: with smaller ones the interval is a little longer.
    """
    lower = _lower_limit(n_positive, n_labelled, n_documents, 0.5 * alpha, steps, values)
    negative = _lower_limit(n_labelled - n_positive, n_labelled, n_documents, 0.5 * alpha, steps, values)
    return lower, int(n_documents.sum()) - negative


def _lower_limit(k: Ints, n: Ints, size: Ints, alpha: float, steps: int, values: int) -> int:
    """The smallest total that the one-sided test does not reject.

    The P value of a total is the share of the error for the confidence set of the division, plus the largest
    probability, over the divisions in that set, of an estimate at least as large as the observed one (Berger & Boos).
    """
    counted = size == n
    known = int(k[counted].sum())  # strata in which every document is labelled
    k, n, size = k[~counted], n[~counted], size[~counted]
    if not len(k) or not k.any():
        return known + int(k.sum())
    ends = np.empty((2, len(k)))
    _kernels.limits(k, size, n, _SHARE * alpha / len(k), _kernels.EQUAL, ends[0], ends[1])
    lows, highs = np.ceil(ends[0]).astype(np.int64), np.floor(ends[1]).astype(np.int64)
    # Fewer positive labels than these are too rare to list even at the lowest numbers of positive documents.
    floors = np.empty_like(k)
    _kernels.floors(size, n, lows, floors)
    observed = float((size / n * (k - floors)).sum())
    estimate = float((size / n * k).sum())
    lowest = int(lows.sum())
    step = max(1, math.ceil((estimate - lowest) / steps))
    n_steps = max(1, math.ceil((min(estimate, float(highs.sum())) - lowest) / step)) + len(k) + 1
    if observed <= 0.0:
        return known + lowest
    bound = np.zeros((n_steps, values + 1))
    bound[:, 0] = 1.0
    order = np.argsort(size / np.sqrt(n), kind="stable")
    for h in order.tolist():
        after = np.zeros_like(bound)
        range_of = int(floors[h]), int(lows[h]), int(highs[h])
        least = values if h == order[-1] else 0  # of the last stratum, one value is needed
        _kernels.add_stratum(np.array([size[h], n[h]]), *range_of, step, observed / values, least, bound, after)
        bound = np.maximum.accumulate(np.minimum(after, 1.0), axis=0)
    slack = 0 if step == 1 else len(k) - 1  # each stratum's number is rounded up to a step
    kept = np.flatnonzero(_SHARE * alpha + bound[:, -1] > alpha * (1.0 - _kernels.TOLERANCE))
    j = int(kept[0]) if kept.size else n_steps
    return known + max(lowest, lowest + (j - slack - 1) * step + 1)
