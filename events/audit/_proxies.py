"""One probability of every document from several models: their weights are estimated from the labels."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from corefsample._arrays import Floats, Ints
from events.audit._plan import AuditPlan
from events.audit._sheets import UNSURE, YES, SheetLabels

N_FOLDS = 10


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
    rows = plan.sample[answered]
    y = (labels.labels[answered, target] == YES).astype(np.float64)
    x = np.column_stack([plan.frame.probability(target), *proxies.values()])
    strata, sizes = plan.stratum_of[rows], np.bincount(plan.stratum_of)
    folds = plan.same_for_copies(
        made_folds(strata, np.zeros_like(y), rows, len(x), np.random.default_rng([seed, target]))
    )
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
