"""Search for a clustering of small expected loss: a compiled sweep for Binder and VI, then trials for every loss."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from corefsample._arrays import Bools, Ints32
from corefsample.coreference._exact import canonical_labels
from corefsample.summaries import _kernels as kernels
from corefsample.summaries._losses import Loss, loss_under
from corefsample.summaries._posterior import Posterior, log_steps

SWEPT: tuple[Loss, ...] = ("binder", "vi")
_MOST_SWEEPS = 100  # each gains, so the search ends anyway; in practice after 3 to 10
_MOST_TRIALS = 100
_LEAST_GAIN = 1e-12


def swept(source: Posterior, start: Ints32, loss: Loss, split_cost: float) -> Ints32:
    """Move single mentions until no move lowers the loss, which is Binder or VI."""
    n, merge_cost = start.shape[0], 2.0 - split_cost
    labels, sizes = start.astype(np.int64), np.bincount(start, minlength=n)
    if loss == "binder":
        weights = split_cost * source.marginals - merge_cost * (1.0 - source.marginals)
        arrays = weights, np.empty((n, 0), np.int32), 0.0
    else:
        arrays = source.shares, source.columns, merge_cost
    for _ in range(_MOST_SWEEPS if n > 1 else 0):
        if kernels.sweep(*arrays, log_steps(n), labels, sizes) == 0:
            break
    return canonical_labels(labels)


def improved(source: Posterior, start: Ints32, loss: Loss, split_cost: float) -> Ints32:
    """Try merges of clusters and moves of mentions, which are kept where they lower the loss."""
    labels, before, left = start, None, _MOST_TRIALS
    least = loss_under(source, labels, loss, split_cost).value
    while before is not labels and left > 0:
        before = labels
        for members, target in _proposals(source, labels, left):
            left -= 1
            joined = labels.copy()
            joined[members] = labels.shape[0] if target is None else labels[target]
            joined = canonical_labels(joined)
            value = loss_under(source, joined, loss, split_cost).value
            if value < least - _LEAST_GAIN:
                labels, least = joined, value
    return labels


def _proposals(source: Posterior, labels: Ints32, most: int) -> Iterator[tuple[Bools, int | None]]:
    """Mentions that could join the cluster of another mention, or form one of their own (None).

    First whole clusters join others, those with the largest mean link marginal first. Then single mentions do, or they
    leave their cluster, those with the smallest mean link marginal first.
    """
    firsts, clusters, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    n_clusters, several = firsts.shape[0], sizes[clusters] > 1
    belongs = labels[:, None] == firsts
    links = source.marginals @ belongs / sizes
    likely = np.full((n_clusters + labels.shape[0], n_clusters + 1), -1.0)  # clusters, mentions; clusters, alone
    earlier = np.tri(n_clusters, k=-1, dtype=bool)
    likely[:n_clusters, :-1] = np.where(earlier, 1.0 + belongs.T @ links / sizes[:, None], -1.0)
    likely[n_clusters:, :-1] = np.where(belongs | ~several[:, None], -1.0, links)
    with_others = ((links * sizes)[belongs] - 1.0) / np.maximum(sizes[clusters] - 1, 1)
    likely[n_clusters:, -1] = np.where(several, 1.0 - with_others, -1.0)
    order = np.argsort(-likely, axis=None, kind="stable")[: min(most, np.count_nonzero(likely >= 0.0))]
    for row, column in zip(*np.unravel_index(order, likely.shape), strict=True):
        members = belongs[:, row] if row < n_clusters else np.arange(labels.shape[0]) == row - n_clusters
        yield members, int(firsts[column]) if column < n_clusters else None
