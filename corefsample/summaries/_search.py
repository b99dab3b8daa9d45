"""Search for a clustering of small expected loss: sweeps over mentions, then merges and splits of clusters."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from corefsample._arrays import Floats, Ints, Ints32
from corefsample.coreference import canonical_labels
from corefsample.summaries import _marginal_search_kernels as marginal
from corefsample.summaries import _matching_kernels as matchings
from corefsample.summaries import _score_search_kernels as scores
from corefsample.summaries import _vi_search_kernels as vi
from corefsample.summaries._losses import Loss, mean_loss
from corefsample.summaries._posterior import Grouped, Posterior, x_log_x
from corefsample.summaries._proposals import merged_and_split

_CODES: dict[Loss, int] = {
    "nvi": scores.NVI,
    "ari": scores.ARI,
    "muc": scores.MUC,
    "b3": scores.B3,
    "lea": scores.LEA,
    "conll": scores.CONLL,
}
_MOST_SWEEPS = 100  # each gains, so the search ends anyway; in practice after 3 to 10
_MOST_ROUNDS = 20  # of sweeps, then merges and splits
_LEAST_GAIN = 1e-12

Sweep = Callable[[Ints, Ints], int]


def improved(source: Posterior, start: Ints32, loss: Loss, split_cost: float) -> Ints32:
    """Improve a clustering until no move of one mention and no merge or split that is tried lowers its loss.

    "conll" is searched with matchings that bound CEAFe from below, and each round is kept only if the loss itself is
    lower.
    """
    labels = start.astype(np.int64)
    n = labels.shape[0]
    if n < 2:
        return start
    sweep = _sweep_of(source, loss, split_cost)
    best, least = start, mean_loss(source, start, loss, split_cost) if loss == "conll" else np.inf
    for _ in range(_MOST_ROUNDS):
        _sweep(sweep, labels, np.bincount(labels, minlength=n))
        changed = (
            None if loss == "binder" else merged_and_split(source, labels, loss, split_cost)
        )  # its sweep does both
        if loss == "conll":
            current = canonical_labels(labels if changed is None else changed)
            value = mean_loss(source, current, loss, split_cost)
            if not value < least - _LEAST_GAIN:
                return best
            best, least = current, value
        if changed is None:
            break
        labels = changed
    return canonical_labels(labels)


def _sweep(sweep: Sweep, labels: Ints, sizes: Ints) -> None:
    for _ in range(_MOST_SWEEPS):
        if sweep(labels, sizes) == 0:
            return


def _sweep_of(source: Posterior, loss: Loss, split_cost: float) -> Sweep:
    """Return the kernel that moves each mention once, in place, with its arrays."""
    merge_cost = 2.0 - split_cost
    if loss == "binder":
        return _binder_sweep(binder_weights(source, split_cost))
    if loss == "vi-bound":
        logs, marginals = x_log_x(source.n_mentions), source.marginals
        return lambda labels, sizes: marginal.vi_bound_sweep(marginals, merge_cost, logs, labels, sizes)
    tables = source.tables
    if loss == "vi":
        linked = source.marginals > 0.0
        stamps, seen = np.ones(source.n_mentions, np.int64), np.zeros(source.n_mentions, np.int64)
        arrays = tables.arrays, tables.x_log_x, linked, stamps, seen
        return lambda labels, sizes: vi.vi_sweep(merge_cost, *arrays, labels, sizes)
    return _sample_sweep(source, loss)


def _binder_sweep(weights: Floats) -> Sweep:
    def sweep(labels: Ints, sizes: Ints) -> int:
        moved = marginal.binder_sweep(weights, labels, sizes)
        if moved == 0:
            moved = marginal.binder_merges(weights, labels, sizes) + marginal.binder_splits(weights, labels, sizes)
        return moved

    return sweep


def _sample_sweep(source: Posterior, loss: Loss) -> Sweep:
    tables = source.tables
    squares = np.empty((source.n_mentions, tables.n_samples), np.int64)
    matching = matchings.Matching.of(source.n_mentions if loss == "conll" else 0, tables.n_samples)

    def sweep(labels: Ints, sizes: Ints) -> int:
        # The sums are made anew for each sweep, so that rounding errors do not add up.
        clustering = Grouped(np.argsort(labels, kind="stable"), np.append(0, np.cumsum(sizes)))
        sums = tables.cell_sums(clustering)
        scores.squared_cells(clustering.members, clustering.indptr, tables.arrays.columns, squares)
        if loss == "conll":
            matchings.match_greedily(labels, sizes, tables.arrays, matching)
        totals = scores.Totals(sums, squares, matching)
        return scores.sample_sweep(_CODES[loss], tables.arrays, tables.x_log_x, totals, labels, sizes)

    return sweep


def binder_weights(source: Posterior, split_cost: float) -> Floats:
    """What the Binder loss gains where two mentions are together instead of apart, without its scale."""
    weights = split_cost * source.marginals - (2.0 - split_cost) * (1.0 - source.marginals)
    np.fill_diagonal(weights, 0.0)
    return weights
