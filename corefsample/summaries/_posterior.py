"""What summaries are computed from: a distribution, samples of it, or both."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample._arrays import Floats, Ints, Ints32
from corefsample.coreference import (
    AntecedentDistribution,
    ClusteringSamples,
    canonical_labels,
    link_marginals,
    require_distribution,
    sample_clusterings,
)
from corefsample.errors import ParameterError
from corefsample.summaries import _kernels as kernels

Samples: TypeAlias = ClusteringSamples | npt.NDArray[np.integer]


@dataclass(frozen=True, slots=True, eq=False)
class Grouped:
    """Mentions of each cluster of one clustering: members[indptr[k]:indptr[k + 1]], clusters by first mention."""

    members: Ints
    indptr: Ints

    @property
    def sizes(self) -> Ints:
        """Mentions of each cluster."""
        return np.diff(self.indptr)


def grouped(labels: npt.NDArray[np.integer]) -> Grouped:
    """Group the mentions of a clustering by their label."""
    counts = np.unique(labels, return_counts=True)[1]
    return Grouped(np.argsort(labels, kind="stable"), np.append(0, np.cumsum(counts)).astype(np.int64))


def x_log_x(n_mentions: int) -> Floats:
    """Values of c * log(c) for c up to n_mentions + 1."""
    numbers = np.arange(n_mentions + 2, dtype=np.float64)
    return numbers * np.log(np.maximum(numbers, 1.0))


class SampleTables:
    """Samples in the form that the kernels take.

    Attributes
    ----------
    rows
        int32 (n_samples, n_mentions): the first mention of each mention's cluster.
    orders, begins, rooms
        int32 (n_samples, n_mentions), then twice (n_mentions, n_samples): see `_kernels`.
    x_log_x
        float64 (n_mentions + 2,).
    """

    def __init__(self, samples: ClusteringSamples) -> None:
        n, n_samples = samples.n_mentions, samples.n_samples
        self.rows: Ints32 = np.array(samples.labels, np.int32, order="C")
        self.orders: Ints32 = np.empty((n_samples, n), np.int32)
        self.begins: Ints32 = np.empty((n, n_samples), np.int32)
        self.rooms: Ints32 = np.empty((n, n_samples), np.int32)
        kernels.group_samples(self.rows, self.orders, self.begins, self.rooms)
        self.x_log_x = x_log_x(n)

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return int(self.rows.shape[0])

    @property
    def n_mentions(self) -> int:
        """Number of mentions."""
        return int(self.rows.shape[1])

    def statistics(self, clustering: Grouped, *, scores: bool = True) -> Floats:
        """Sums over the cells of a clustering and each sample: see `overlap_statistics`."""
        statistics = np.empty((self.n_samples, kernels.N_STATISTICS))
        arrays = clustering.members, clustering.indptr, self.rows, self.x_log_x
        kernels.overlap_statistics(*arrays, scores, statistics)
        return statistics

    @cached_property
    def own_sums(self) -> Floats:
        """Sums over the clusters of each sample, in the columns SAMPLE_ENTROPY, SAMPLE_PAIRS and SAMPLE_ENTITIES."""
        return self.statistics(grouped(np.arange(self.n_mentions)), scores=False)

    def pair_statistics(self, first: Ints, second: Ints) -> Floats:
        """Statistics of samples `first` as estimates and samples `second` as truths, for losses of pairs and VI."""
        statistics = self.own_sums[second]
        kernels.pair_statistics(self.rows, self.orders, first, second, self.x_log_x, statistics)
        return statistics


class Posterior:
    """A distribution, samples of it, or both; what is computed from them is computed once.

    Attributes
    ----------
    antecedents
        The distribution, or None.
    samples
        The samples, or None.
    """

    def __init__(self, antecedents: AntecedentDistribution | None, samples: ClusteringSamples | None) -> None:
        self.antecedents = antecedents
        self.samples = samples

    @property
    def n_mentions(self) -> int:
        """Number of mentions of the document."""
        return (self.antecedents or self.drawn).n_mentions

    @property
    def drawn(self) -> ClusteringSamples:
        """The samples, which there must be."""
        if self.samples is None:
            raise ParameterError("is required", parameter="samples")
        return self.samples

    @cached_property
    def tables(self) -> SampleTables:
        """The samples as arrays for the kernels."""
        return SampleTables(self.drawn)

    @cached_property
    def marginals(self) -> Floats:
        """P(two mentions corefer): exact with a distribution, otherwise shares of the samples."""
        if self.antecedents is not None:
            return link_marginals(self.antecedents)
        shares = np.empty((self.n_mentions, self.n_mentions))
        tables = self.tables
        kernels.share_together(tables.orders, tables.begins, tables.rooms, shares)
        return shares


def posterior_from(
    posterior: AntecedentDistribution | Samples,
    *,
    samples: Samples | None = None,
    draw: bool = True,
    n_samples: int = 1000,
    seed: int = 0,
    doc_id: str = "",
) -> Posterior:
    """Collect what summaries need.

    Parameters
    ----------
    posterior
        A distribution, or samples.
    samples
        Samples of the distribution. None: `n_samples` are drawn if `draw`.
    n_samples, seed, doc_id
        As for `sample_clusterings`.
    """
    if isinstance(posterior, (ClusteringSamples, np.ndarray)):
        if samples is not None:
            raise ParameterError("must not be given if the posterior is samples", parameter="samples")
        return Posterior(None, clustering_samples("posterior", posterior))
    require_distribution(posterior)
    if samples is None:
        drawn = sample_clusterings(posterior, n_samples=n_samples, seed=seed, doc_id=doc_id) if draw else None
        return Posterior(posterior, drawn)
    drawn = clustering_samples("samples", samples)
    if drawn.n_mentions != posterior.n_mentions:
        rule = f"must be of the same document, with {posterior.n_mentions} mentions"
        raise ParameterError(f"{rule}, got {drawn.n_mentions}", parameter="samples")
    return Posterior(posterior, drawn)


def clustering_samples(name: str, samples: Samples) -> ClusteringSamples:
    """Return samples, of a two-dimensional array of labels too, or raise."""
    if not isinstance(samples, ClusteringSamples):
        array = np.asarray(samples)
        if array.ndim != 2 or array.dtype.kind not in "iu":
            rule = "must be ClusteringSamples or whole numbers of shape (n_samples, n_mentions)"
            raise ParameterError(f"{rule}, got {array.ndim} dimensions of {array.dtype}", parameter=name)
        rows = np.empty(array.shape[::-1], np.int32)
        for s in range(array.shape[0]):
            rows[:, s] = canonical_labels(array[s])
        samples = ClusteringSamples(rows.T, 0, "")
    _checks.whole(f"{name}.n_samples", samples.n_samples, 1)
    return samples
