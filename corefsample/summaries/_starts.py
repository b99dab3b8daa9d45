"""Clusterings from which a search starts."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from corefsample._arrays import Floats, Ints32
from corefsample.coreference._exact import canonical_labels, map_clustering
from corefsample.summaries._posterior import Posterior

_CUTS = tuple(round(0.1 * cut, 1) for cut in range(1, 10))
_SAMPLES = 4


def starts(source: Posterior) -> dict[str, Ints32]:
    """Name clusterings that differ, with canonical labels: of equal ones, the first name.

    "map": the likeliest antecedents; "average linkage at t": average-linkage clusters whose mean link marginal is at
    least t; "sample s"; "singletons".
    """
    found: dict[bytes, str] = {}
    chosen: dict[str, Ints32] = {}
    for name, labels in _candidates(source):
        if found.setdefault(labels.tobytes(), name) == name:
            chosen[name] = labels
    return chosen


def _candidates(source: Posterior) -> Iterator[tuple[str, Ints32]]:
    if source.antecedents is not None:
        yield "map", map_clustering(source.antecedents)
    for cut, labels in zip(_CUTS, average_linkage(source.marginals, _CUTS), strict=True):
        yield f"average linkage at {cut:g}", labels
    if source.samples is not None:
        n_samples = source.samples.n_samples
        for s in np.unique(np.linspace(0, n_samples - 1, _SAMPLES).astype(np.int64)).tolist():
            yield f"sample {s}", np.ascontiguousarray(source.samples.labels[s])
    yield "singletons", np.arange(source.n_mentions, dtype=np.int32)


def average_linkage(marginals: Floats, cuts: tuple[float, ...]) -> list[Ints32]:
    """Average-linkage clusters of mentions, cut where the mean link marginal falls below each of `cuts`."""
    n = marginals.shape[0]
    if n < 2:
        return [np.zeros(n, np.int32)] * len(cuts)
    from scipy.cluster.hierarchy import fcluster, linkage

    tree = linkage(np.clip(1.0 - marginals[np.triu_indices(n, 1)], 0.0, 1.0), "average")
    return [canonical_labels(fcluster(tree, 1.0 - cut, "distance")) for cut in cuts]
