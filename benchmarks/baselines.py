"""Named baselines: what a user would write with NumPy, SciPy or networkx alone."""

from __future__ import annotations

import networkx as nx
import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

Floats = npt.NDArray[np.float64]
Rows = list[tuple[npt.NDArray[np.int32], Floats]]


def probability_rows(indptr: npt.NDArray[np.int64], antecedents: npt.NDArray[np.int32], scores: Floats) -> Rows:
    """Candidates of each mention, NEW last as the mention itself, with their softmax probabilities."""
    rows = []
    for i in range(len(indptr) - 1):
        part = slice(indptr[i], indptr[i + 1])
        logits = np.append(scores[part], 0.0)
        weights = np.exp(logits - logits.max())
        rows.append((np.append(antecedents[part], i).astype(np.int32), weights / weights.sum()))
    return rows


def numpy_forward(indptr, antecedents, scores, n_samples: int) -> npt.NDArray[np.int32]:  # type: ignore[no-untyped-def]
    """Generator.choice draws all samples of a mention at once; labels are copied from the antecedents' labels."""
    rng = np.random.default_rng(0)
    rows = probability_rows(indptr, antecedents, scores)
    labels = np.empty((len(rows), n_samples), np.int32)
    columns = np.arange(n_samples)
    for i, (candidates, probs) in enumerate(rows):
        labels[i] = i
        labels[i] = labels[rng.choice(candidates, n_samples, p=probs), columns]
    return labels


def scipy_components(indptr, antecedents, scores, n_samples: int) -> npt.NDArray[np.int32]:  # type: ignore[no-untyped-def]
    """Generator.choice draws, then SciPy's connected components sample by sample."""
    rng = np.random.default_rng(0)
    rows = probability_rows(indptr, antecedents, scores)
    drawn = np.stack([rng.choice(candidates, n_samples, p=probs) for candidates, probs in rows], axis=1)
    mentions = np.arange(drawn.shape[1])
    ones = np.ones(len(mentions), np.int8)
    return np.stack(
        [
            connected_components(csr_array((ones, (mentions, row)), shape=(len(row), len(row))), directed=False)[1]
            for row in drawn
        ]
    )


def networkx_components(indptr, antecedents, scores, n_samples: int) -> list[list[set[int]]]:  # type: ignore[no-untyped-def]
    """A loop: draw with Generator.choice mention by mention, build a graph, take its components."""
    rng = np.random.default_rng(0)
    rows = probability_rows(indptr, antecedents, scores)
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
