"""Merges and splits of clusters that lower an expected loss."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from corefsample._arrays import Floats, Ints
from corefsample.summaries import _kernels as kernels
from corefsample.summaries import _matching_kernels as matchings
from corefsample.summaries._losses import Loss, losses_of_sums, own_sums_of
from corefsample.summaries._posterior import Grouped, Posterior, grouped

_PARTNERS = 2  # clusters with which a cluster is tried together
_PROPOSALS = 200  # merges tried in a round where each takes a pass over all samples
_LEAST_LINK = 0.02  # mean link marginal of clusters that are tried together
_LEAST_GAIN = 1e-12
_BY_CLUSTER: tuple[Loss, ...] = ("vi", "vi-bound")  # sums of a cost of each cluster


def merged_and_split(source: Posterior, labels: Ints, loss: Loss, split_cost: float) -> Ints | None:
    """Try merges of linked clusters, then splits of clusters around their least linked pair; None if none gains."""
    by_cluster = loss in _BY_CLUSTER
    costs: _Costs = _ClusterCosts(source, loss, split_cost) if by_cluster else _SampleCosts(source, labels, loss)
    tried = _Proposals(source, labels, costs)
    for a, b in tried.merges(None if by_cluster else _PROPOSALS):
        if a in tried.clusters and b in tried.clusters:  # neither was merged before
            both = np.concatenate([tried.clusters[a], tried.clusters[b]])
            tried.accept_if_better([a, b], [both])
    for a in list(tried.clusters):
        members = tried.clusters[a]
        if members.shape[0] >= 4:  # moves of one mention find the splits of smaller clusters
            marginals = source.marginals[np.ix_(members, members)]
            if marginals.min() < 1.0:
                side = _two_sides(marginals)
                tried.accept_if_better([a], [members[side], members[~side]])
    return tried.labels if tried.n_accepted else None


class _Costs(Protocol):
    """What a proposal changes."""

    def gain(self, old: list[Ints], new: list[Ints]) -> float:
        """How much less the loss is, times the number of mentions or not, where clusters `old` become `new`."""

    def accept(self, labels: Ints) -> None:
        """Continue from the labels after the last proposal."""


class _Proposals:
    """Clusters that are replaced where that lowers the loss."""

    def __init__(self, source: Posterior, labels: Ints, costs: _Costs) -> None:
        self.source, self.costs = source, costs
        self.labels = labels.copy()
        clustering = grouped(labels)
        parts = np.split(clustering.members, clustering.indptr[1:-1])
        self.clusters: dict[int, Ints] = {int(part[0]): part for part in parts}
        self.n_accepted = 0

    def merges(self, limit: int | None) -> list[tuple[int, int]]:
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
        return [(int(names[a]), int(names[b])) for _, a, b in linked[:limit]]

    def accept_if_better(self, names: list[int], new: list[Ints]) -> None:
        """Replace clusters by others if that lowers the loss."""
        if self.costs.gain([self.clusters[name] for name in names], new) <= _LEAST_GAIN:
            return
        for name in names:
            del self.clusters[name]
        for part in new:
            self.labels[part] = part[0]
            self.clusters[int(part[0])] = part
        self.costs.accept(self.labels)
        self.n_accepted += 1


class _ClusterCosts:
    """VI or its bound, which are sums over clusters, times the number of mentions."""

    def __init__(self, source: Posterior, loss: Loss, split_cost: float) -> None:
        self.source, self.loss, self.merge_cost = source, loss, 2.0 - split_cost
        self._known: dict[bytes, float] = {}

    def gain(self, old: list[Ints], new: list[Ints]) -> float:
        return sum(map(self._cost, old)) - sum(map(self._cost, new))

    def accept(self, labels: Ints) -> None:
        pass

    def _cost(self, members: Ints) -> float:
        size = members.shape[0]
        if self.loss == "vi":
            return float(self.merge_cost * size * np.log(size) - 2.0 * self.source.tables.mean_joint(members))
        name = members.tobytes()
        if name not in self._known:
            within = self.source.marginals[np.ix_(members, members)].sum(axis=1)
            self._known[name] = float(self.merge_cost * size * np.log(size) - 2.0 * np.log(within).sum())
        return self._known[name]


class _SampleCosts:
    """Losses that are computed sample by sample from sums over clusters; for CoNLL from a matching as well."""

    def __init__(self, source: Posterior, labels: Ints, loss: Loss) -> None:
        self.tables, self.loss = source.tables, loss
        self.n = labels.shape[0]
        self.matching = matchings.Matching.of(self.n if loss == "conll" else 0, self.tables.n_samples)
        self.accept(labels)

    def accept(self, labels: Ints) -> None:
        clustering = grouped(labels)
        self.labels, self.sizes = labels, np.bincount(labels, minlength=self.n)
        self.sums = self.tables.cell_sums(clustering)
        if self.loss == "conll":
            matchings.match_greedily(labels, self.sizes, self.tables.arrays, self.matching)
        self.value = self._loss(self.sums, clustering.sizes, self.matching.weight)

    def gain(self, old: list[Ints], new: list[Ints]) -> float:
        before, after = _together(old), _together(new)
        sums = self.sums + self.tables.cell_sums(after) - self.tables.cell_sums(before)
        names = self.labels[[members[0] for members in old]]
        sizes = self.sizes.copy()
        sizes[names] = 0
        weights = self.matching.weight
        if self.loss == "conll":
            weights = np.empty(self.tables.n_samples)
            arrays = after.members, after.indptr, self.sizes, self.tables.arrays, self.matching
            matchings.replaced_weights(names, *arrays, weights)
        return self.value - self._loss(sums, np.concatenate([sizes[sizes > 0], after.sizes]), weights)

    def _loss(self, sums: Floats, sizes: Ints, weights: Floats) -> float:
        own, truth = own_sums_of(sizes), self.tables.own_sums()
        if self.loss != "conll":
            return float(losses_of_sums(sums, own, truth, self.n, self.loss, 1.0).mean())
        muc, b3 = (losses_of_sums(sums, own, truth, self.n, loss, 1.0) for loss in ("muc", "b3"))
        ceafe = 1.0 - 2.0 * weights / (own.n_clusters + truth.n_clusters)
        return float((muc + b3 + ceafe).mean() / 3.0)


def _together(clusters: list[Ints]) -> Grouped:
    return Grouped(np.concatenate(clusters), np.append(0, np.cumsum([part.shape[0] for part in clusters])))


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
