"""Matchings of an estimate with samples, which bound CEAFe in the search, against plain loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from references import metrics

from corefsample.summaries import _kernels as kernels
from corefsample.summaries import _matching_kernels as matchings
from corefsample.summaries import _score_search_kernels as scores
from corefsample.summaries._posterior import Grouped, SampleTables, clustering_samples, grouped, posterior_from
from corefsample.summaries._proposals import _SampleCosts


def clusterings(seed: int, n: int, n_samples: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, max(n // 2, 1), (n_samples, n))


def matched(tables: SampleTables, labels: np.ndarray) -> matchings.Matching:
    matching = matchings.Matching.of(tables.n_mentions, tables.n_samples)
    matchings.match_greedily(labels, np.bincount(labels, minlength=tables.n_mentions), tables.arrays, matching)
    return matching


def weights_by_loop(matching: matchings.Matching, labels: np.ndarray, rows: np.ndarray) -> list[float]:
    """Sum of the Dice coefficients of the partners; fails unless each cluster has at most one."""
    weights = []
    for s, row in enumerate(rows):
        partners = {k: int(matching.partner[k, s]) for k in range(labels.shape[0]) if matching.partner[k, s] >= 0}
        assert len(set(partners.values())) == len(partners)
        assert all(matching.free[r, s] == (r not in partners.values()) for r in row.tolist())
        weight = 0.0
        for k, r in partners.items():
            ours, theirs = set(np.flatnonzero(labels == k)), set(np.flatnonzero(row == r))
            assert ours & theirs
            weight += 2.0 * len(ours & theirs) / (len(ours) + len(theirs))
        weights.append(weight)
    return weights


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 9))
def test_a_greedy_matching_has_at_least_half_the_weight_of_the_heaviest(seed: int, n: int) -> None:
    tables = SampleTables(clustering_samples("samples", clusterings(seed, n, 4)))
    labels = clusterings(seed + 1, n, 1)[0]
    matching = matched(tables, labels)
    found = weights_by_loop(matching, labels, tables.arrays.rows)
    assert matching.weight.tolist() == pytest.approx(found)
    for row, weight in zip(tables.arrays.rows.tolist(), found, strict=True):
        ours, theirs = metrics.clusters(labels.tolist()), metrics.clusters(row)
        heaviest = float(metrics.scores(theirs, ours)["ceafe"][0]) * len(theirs)
        assert heaviest / 2 - 1e-9 <= weight <= heaviest + 1e-9


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 9))
def test_moves_of_a_sweep_keep_the_matching_and_the_sums(seed: int, n: int) -> None:
    tables = SampleTables(clustering_samples("samples", clusterings(seed, n, 4)))
    labels = clusterings(seed + 1, n, 1)[0].astype(np.int64)
    sizes = np.bincount(labels, minlength=n)
    clustering = Grouped(np.argsort(labels, kind="stable"), np.append(0, np.cumsum(sizes)))
    squares = np.empty((n, 4), np.int64)
    scores.squared_cells(clustering.members, clustering.indptr, tables.arrays.columns, squares)
    totals = scores.Totals(tables.cell_sums(clustering), squares, matched(tables, labels))
    scores.sample_sweep(scores.CONLL, tables.arrays, tables.x_log_x, totals, labels, sizes)
    assert totals.matching.weight.tolist() == pytest.approx(
        weights_by_loop(totals.matching, labels, tables.arrays.rows)
    )
    sums = tables.cell_sums(grouped(labels))
    for row in (kernels.CELLS, kernels.B3_RECALL, kernels.B3_PRECISION):
        np.testing.assert_allclose(totals.sums[row], sums[row], atol=1e-9)
    np.testing.assert_array_equal(sizes, np.bincount(labels, minlength=n))


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(3, 9))
def test_weights_where_clusters_are_replaced_are_those_of_a_matching(seed: int, n: int) -> None:
    """The others keep their partners, and the new cluster takes the best that is left."""
    rows = clusterings(seed, n, 4)
    source = posterior_from(rows)
    labels = clusterings(seed + 1, n, 1)[0].astype(np.int64)
    names = np.unique(labels)
    if names.shape[0] < 2:
        return
    costs = _SampleCosts(source, labels, "conll")
    matching, rooms = costs.matching, source.tables.arrays
    a, b = (np.flatnonzero(labels == k) for k in names[:2])
    both = np.concatenate([a, b])
    weights = np.empty(4)
    arrays = both, np.array([0, both.shape[0]]), costs.sizes, source.tables.arrays, matching
    matchings.replaced_weights(names[:2], *arrays, weights)
    for s in range(4):
        kept = {int(matching.partner[k, s]) for k in names[2:].tolist()}
        row = rooms.rows[s]
        weight = 0.0
        for k in names[2:].tolist():
            ours, theirs = labels == k, row == matching.partner[k, s]
            weight += 2.0 * (ours & theirs).sum() / (ours.sum() + theirs.sum())
        left = [r for r in set(row[both].tolist()) if r not in kept]
        weight += max((2.0 * (row[both] == r).sum() / (both.shape[0] + (row == r).sum()) for r in left), default=0.0)
        assert weights[s] == pytest.approx(weight)
