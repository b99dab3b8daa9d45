"""Named baselines: what a user would write with NumPy, SciPy or networkx alone."""

from __future__ import annotations

import networkx as nx
import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

Floats = npt.NDArray[np.float64]
Rows = list[tuple[npt.NDArray[np.int32], Floats]]


def cumulative_rows(indptr: npt.NDArray[np.int64], antecedents: npt.NDArray[np.int32], scores: Floats) -> Rows:
    """Candidates of each mention, NEW last as the mention itself, with cumulative softmax probabilities."""
    rows = []
    for i in range(len(indptr) - 1):
        part = slice(indptr[i], indptr[i + 1])
        logits = np.append(scores[part], 0.0)
        weights = np.exp(logits - logits.max())
        rows.append((np.append(antecedents[part], i).astype(np.int32), np.cumsum(weights / weights.sum())))
    return rows


def _drawn(candidates: npt.NDArray[np.int32], cumulative: Floats, uniforms: Floats) -> npt.NDArray[np.int32]:
    return candidates[np.minimum(np.searchsorted(cumulative, uniforms, side="right"), len(candidates) - 1)]


def numpy_forward(indptr, antecedents, scores, n_samples: int) -> npt.NDArray[np.int32]:  # type: ignore[no-untyped-def]
    """NumPy: all samples of a mention drawn at once, labels copied from the antecedents' labels."""
    rng = np.random.default_rng(0)
    rows = cumulative_rows(indptr, antecedents, scores)
    labels = np.empty((len(rows), n_samples), np.int32)
    columns = np.arange(n_samples)
    for i, (candidates, cumulative) in enumerate(rows):
        labels[i] = i
        labels[i] = labels[_drawn(candidates, cumulative, rng.random(n_samples)), columns]
    return labels


def _antecedents(indptr, antecedents, scores, n_samples: int) -> npt.NDArray[np.int32]:  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(0)
    rows = cumulative_rows(indptr, antecedents, scores)
    return np.stack([_drawn(*row, rng.random(n_samples)) for row in rows], axis=1)


def scipy_components(indptr, antecedents, scores, n_samples: int) -> npt.NDArray[np.int32]:  # type: ignore[no-untyped-def]
    """NumPy draws, then SciPy's connected components sample by sample."""
    drawn = _antecedents(indptr, antecedents, scores, n_samples)
    mentions = np.arange(drawn.shape[1])
    ones = np.ones(len(mentions), np.int8)
    return np.stack(
        [connected_components(coo_array((ones, (mentions, row)), shape=(len(row),) * 2), False)[1] for row in drawn]
    )


def networkx_components(indptr, antecedents, scores, n_samples: int) -> list[list[set[int]]]:  # type: ignore[no-untyped-def]
    """A loop: draw with NumPy's choice mention by mention, build a graph, take its components."""
    rng = np.random.default_rng(0)
    rows = [(c, np.diff(p, prepend=0.0)) for c, p in cumulative_rows(indptr, antecedents, scores)]
    rows = [(c, p / p.sum()) for c, p in rows]
    clusterings = []
    for _ in range(n_samples):
        graph: nx.Graph[int] = nx.Graph()
        graph.add_nodes_from(range(len(rows)))
        for i, (candidates, probs) in enumerate(rows):
            k = int(rng.choice(candidates, p=probs))
            if k != i:
                graph.add_edge(i, k)
        clusterings.append(list(nx.connected_components(graph)))
    return clusterings


def numpy_pair_counts(labels: npt.NDArray[np.int32]) -> Floats:
    """Share of samples in which each pair corefers; labels is (mentions, samples)."""
    shares = np.eye(len(labels))
    for j in range(1, len(labels)):
        shares[j, :j] = shares[:j, j] = np.count_nonzero(labels[:j] == labels[j], axis=1) / labels.shape[1]
    return shares
