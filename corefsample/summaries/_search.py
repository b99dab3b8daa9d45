"""Search for a clustering of small expected loss: sweeps over mentions, then merges and splits of clusters."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from corefsample._arrays import Floats, Ints, Ints32
from corefsample.coreference import canonical_labels
from corefsample.summaries import _kernels as kernels
from corefsample.summaries import _search_kernels as search
from corefsample.summaries._losses import Loss, loss_under
from corefsample.summaries._posterior import Grouped, Posterior, grouped, x_log_x

_CODES: dict[Loss, int] = {
    "nvi": search.NVI,
    "ari": search.ARI,
    "muc": search.MUC,
    "b3": search.B3,
    "lea": search.LEA,
}
_MOST_SWEEPS = 100  # each gains, so the search ends anyway; in practice after 3 to 10
_MOST_ROUNDS = 20  # of sweeps, then merges and splits
_PARTNERS = 2  # clusters with which a cluster is tried together
_PROPOSALS = 200  # tried in a round where each takes a pass over all samples
_LEAST_LINK = 0.02  # mean link marginal of clusters that are tried together
_LEAST_GAIN = 1e-12
_BY_CLUSTER: tuple[Loss, ...] = ("vi", "vi-bound")  # sums of a cost of each cluster


def improved(source: Posterior, start: Ints32, loss: Loss, split_cost: float) -> Ints32:
    """Improve a clustering until no move of one mention and no merge or split that is tried lowers its loss."""
    labels = start.astype(np.int64)
    n = labels.shape[0]
    if n < 2 or loss == "conll":  # the matchings of CEAFe would take too long at each move
        return start
    sweep = _sweep_of(source, loss, split_cost)
    for _ in range(_MOST_ROUNDS):
        _sweep(sweep, labels, np.bincount(labels, minlength=n))
        changed = _merge_and_split(source, labels, loss, split_cost)
        if changed is None:
            break
        labels = changed
    return canonical_labels(labels)


Sweep = Callable[[Ints, Ints], int]


def _sweep(sweep: Sweep, labels: Ints, sizes: Ints) -> None:
    for _ in range(_MOST_SWEEPS):
        if sweep(labels, sizes) == 0:
            return


def _sweep_of(source: Posterior, loss: Loss, split_cost: float) -> Sweep:
    """Return the kernel that moves each mention once, in place, with its arrays."""
    merge_cost = 2.0 - split_cost
    if loss == "binder":
        weights = binder_weights(source, split_cost)

        def binder(labels: Ints, sizes: Ints) -> int:
            moved = search.binder_sweep(weights, labels, sizes)
            if moved == 0:
                moved = search.binder_merges(weights, labels, sizes) + search.binder_splits(weights, labels, sizes)
            return moved

        return binder
    if loss == "vi-bound":
        logs, marginals = x_log_x(source.n_mentions), source.marginals
        return lambda labels, sizes: search.vi_bound_sweep(marginals, merge_cost, logs, labels, sizes)
    tables = source.tables
    if loss == "vi":
        linked = source.marginals > 0.0
        stamps, seen = np.ones(source.n_mentions, np.int64), np.zeros(source.n_mentions, np.int64)
        arrays = tables.orders, tables.begins, tables.rooms, tables.x_log_x, linked, stamps, seen
        return lambda labels, sizes: search.vi_sweep(merge_cost, *arrays, labels, sizes)
    squares = np.empty((source.n_mentions, source.drawn.n_samples), np.int64)

    def by_sample(labels: Ints, sizes: Ints) -> int:
        # The sums are made anew for each sweep, so that rounding errors do not add up.
        clustering = Grouped(np.argsort(labels, kind="stable"), np.append(0, np.cumsum(sizes)))
        base = tables.statistics(clustering)  # with the scores: the sweep updates all sums
        search.squared_cells(clustering.members, clustering.indptr, tables.rows, squares)
        arrays = tables.orders, tables.begins, tables.rooms, tables.x_log_x
        return search.sample_sweep(_CODES[loss], *arrays, base, squares, labels, sizes)

    return by_sample


def binder_weights(source: Posterior, split_cost: float) -> Floats:
    """What the Binder loss gains where two mentions are together instead of apart, without its scale."""
    weights = split_cost * source.marginals - (2.0 - split_cost) * (1.0 - source.marginals)
    np.fill_diagonal(weights, 0.0)
    return weights


# --- merges and splits -------------------------------------------------------------------------------------


def _merge_and_split(source: Posterior, labels: Ints, loss: Loss, split_cost: float) -> Ints | None:
    """Try merges of linked clusters, then splits of clusters around their least linked pair; None if none gains."""
    if loss == "binder":  # its sweep does both
        return None
    tried = _Proposals(source, labels, loss, split_cost)
    for a, b in tried.merges():
        if a in tried.clusters and b in tried.clusters:  # neither was merged before
            tried.accept_if_better(a, b, np.concatenate([tried.clusters[a], tried.clusters[b]]), None)
    for a in list(tried.clusters):
        members = tried.clusters[a]
        if members.shape[0] >= 4:  # moves of one mention find the splits of smaller clusters
            side = _two_sides(source.marginals[np.ix_(members, members)])
            tried.accept_if_better(a, None, members[side], members[~side])
    return tried.labels if tried.n_accepted else None


class _Proposals:
    """Clusters that are replaced where that lowers the loss."""

    def __init__(self, source: Posterior, labels: Ints, loss: Loss, split_cost: float) -> None:
        self.source, self.loss, self.split_cost = source, loss, split_cost
        self.labels = labels.copy()
        clustering = grouped(labels)
        parts = np.split(clustering.members, clustering.indptr[1:-1])
        self.clusters: dict[int, Ints] = {int(labels[part[0]]): part for part in parts}
        self.n_accepted = 0
        self._costs: dict[int, float] = {}
        self._whole: float | None = None

    def merges(self) -> list[tuple[int, int]]:
        """Pairs of clusters with the largest mean link marginal between them, largest first."""
        names = np.fromiter(self.clusters, np.int64)
        if names.shape[0] < 2:
            return []
        numbers = np.empty(self.labels.shape[0], np.int64)
        for number, members in enumerate(self.clusters.values()):
            numbers[members] = number
        between = np.empty((names.shape[0], names.shape[0]))
        kernels.mean_between(self.source.marginals, numbers, np.bincount(numbers), between)
        best = np.argsort(-between, axis=1, kind="stable")[:, :_PARTNERS]
        pairs = {(min(a, b), max(a, b)) for a, row in enumerate(best.tolist()) for b in row if a != b}
        linked = sorted((-between[a, b], a, b) for a, b in pairs if between[a, b] >= _LEAST_LINK)
        limit = None if self.loss in _BY_CLUSTER else _PROPOSALS
        return [(int(names[a]), int(names[b])) for _, a, b in linked[:limit]]

    def accept_if_better(self, a: int, b: int | None, first: Ints, second: Ints | None) -> None:
        """Replace clusters a and b, if b is given, by one or two others, if that lowers the loss."""
        if self.loss in _BY_CLUSTER:
            before = self._cost_of(a) + (0.0 if b is None else self._cost_of(b))
            after = self._cost(first) + (0.0 if second is None else self._cost(second))
        else:
            before = self._cost_of_all(self.labels)
            labels = self.labels.copy()
            labels[first] = first[0]
            if second is not None:
                labels[second] = second[0]
            after = self._cost_of_all(labels)
        if not after < before - _LEAST_GAIN:
            return
        for name in (a, b):
            if name is not None:
                del self.clusters[name]
                self._costs.pop(name, None)
        for part in (first, second):
            if part is not None:
                self.labels[part] = part[0]
                self.clusters[int(part[0])] = part
        self._whole = None if self.loss in _BY_CLUSTER else after
        self.n_accepted += 1

    def _cost_of(self, name: int) -> float:
        if name not in self._costs:
            self._costs[name] = self._cost(self.clusters[name])
        return self._costs[name]

    def _cost(self, members: Ints) -> float:
        """Part of VI or its bound that one cluster has, times the number of mentions."""
        merge_cost, size = 2.0 - self.split_cost, members.shape[0]
        if self.loss == "vi":
            tables = self.source.tables
            total = kernels.joint_sum(members, tables.rows, tables.x_log_x)
            return float(merge_cost * tables.x_log_x[size] - 2.0 * total / tables.n_samples)
        within = self.source.marginals[np.ix_(members, members)].sum(axis=1)
        return float(merge_cost * size * np.log(size) - 2.0 * np.log(within).sum())

    def _cost_of_all(self, labels: Ints) -> float:
        if labels is self.labels and self._whole is not None:
            return self._whole
        value = loss_under(self.source, canonical_labels(labels), self.loss, self.split_cost).value
        if labels is self.labels:
            self._whole = value
        return value


def _two_sides(marginals: Floats) -> npt.NDArray[np.bool_]:
    """Divide mentions around the least linked pair of them: each goes to the side with the larger mean marginal."""
    first, second = np.unravel_index(np.argmin(marginals), marginals.shape)
    side = np.zeros(marginals.shape[0], np.int64)
    side[first], side[second] = 1, -1
    for i in np.argsort(-np.abs(marginals[first] - marginals[second]), kind="stable").tolist():
        if side[i] == 0:
            near, far = marginals[i][side == 1].mean(), marginals[i][side == -1].mean()
            side[i] = 1 if near >= far else -1
    first_side: npt.NDArray[np.bool_] = side == 1
    return first_side
