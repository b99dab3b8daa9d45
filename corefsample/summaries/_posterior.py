"""What summaries are computed from: a distribution, samples of it, or both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample._arrays import Floats, Ints
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

Samples: TypeAlias = ClusteringSamples | npt.NDArray[np.integer] | Sequence[Sequence[int]]


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


class OwnSums(NamedTuple):
    """Sums over the clusters of a clustering, or arrays of such sums: size * log(size), pairs, number."""

    entropy: Floats | float
    pairs: Floats | float
    n_clusters: Floats | float


class SampleTables:
    """Samples in the form that the kernels take.

    Attributes
    ----------
    arrays
        See `_kernels`; int32, and float64 for sums.
    x_log_x
        float64 (n_mentions + 2,).
    """

    def __init__(self, samples: ClusteringSamples) -> None:
        n, n_samples = samples.n_mentions, samples.n_samples
        columns, begins, rooms = (np.empty((n, n_samples), np.int32) for _ in range(3))
        rows, orders = np.array(samples.labels, np.int32, order="C"), np.empty((n_samples, n), np.int32)
        own = np.empty((kernels.N_SAMPLE_SUMS, n_samples))
        self.arrays = kernels.Sampled(rows, columns, orders, begins, rooms, own)
        self.x_log_x = x_log_x(n)
        kernels.group_samples(self.arrays, self.x_log_x)
        self._joint: dict[bytes, float] = {}

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return int(self.arrays.rows.shape[0])

    @property
    def n_mentions(self) -> int:
        """Number of mentions."""
        return int(self.arrays.rows.shape[1])

    def cell_sums(self, clustering: Grouped, *, scores: bool = True) -> Floats:
        """Sums over the cells of some clusters with each sample: see `sum_over_cells`."""
        sums = np.empty((kernels.N_SUMS, self.n_samples))
        kernels.sum_over_cells(clustering.members, clustering.indptr, self.arrays, self.x_log_x, scores, sums)
        return sums

    def mean_joint(self, members: Ints) -> float:
        """Mean over the samples of the sum of c log c over the cells of one cluster, computed once per cluster."""
        if members.shape[0] == 1:
            return 0.0
        name = members.tobytes()
        if name not in self._joint:
            self._joint[name] = kernels.joint_sum(members, self.arrays.columns, self.x_log_x) / self.n_samples
        return self._joint[name]

    def own_sums(self, samples: Ints | slice = slice(None)) -> OwnSums:
        """Sums over the clusters of samples."""
        own = self.arrays.own[:, samples]
        return OwnSums(own[kernels.ENTROPY], own[kernels.CLUSTER_PAIRS], own[kernels.CLUSTERS])

    def pair_sums(self, first: Ints, second: Ints) -> Floats:
        """Sums over the cells of pairs of samples, for losses of pairs and VI: float64 (N_PAIR_SUMS, n_pairs)."""
        sums = np.empty((kernels.N_PAIR_SUMS, first.shape[0]))
        kernels.pair_sums(self.arrays.rows, self.arrays.orders, first, second, self.x_log_x, sums)
        return sums


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
        kernels.share_together(self.tables.arrays, shares)
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
    # Not "unless a distribution": a document or a path is neither, and gets the error of a distribution.
    if isinstance(posterior, (ClusteringSamples, np.ndarray, Sequence)) and not isinstance(posterior, str):
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
        rule = "must be ClusteringSamples or whole numbers of shape (n_samples, n_mentions)"
        if isinstance(samples, AntecedentDistribution):
            hint = "corefsample.sample_clusterings(distribution) draws samples"
            raise ParameterError(f"{rule}, got a distribution", parameter=name, hint=hint)
        try:
            array = np.asarray(samples)
        except ValueError:
            raise ParameterError(f"{rule}, got rows of different lengths", parameter=name) from None
        if array.ndim != 2 or array.dtype.kind not in "iu":
            raise ParameterError(f"{rule}, got {array.ndim} dimensions of {array.dtype}", parameter=name)
        rows = np.empty(array.shape[::-1], np.int32)
        for s in range(array.shape[0]):
            rows[:, s] = canonical_labels(array[s])
        samples = ClusteringSamples(rows.T, 0, "")
    _checks.whole(f"{name}.n_samples", samples.n_samples, 1)
    return samples
