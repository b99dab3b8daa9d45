"""Input of summaries: an antecedent distribution, samples of it, or both."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample._arrays import Floats, Ints32
from corefsample.coreference._antecedents import AntecedentDistribution
from corefsample.coreference._clusterings import ClusteringSamples, canonical_labels, link_marginals, sample_clusterings
from corefsample.errors import ParameterError
from corefsample.summaries import _search_kernels as kernels

_THINNING = 10
_FEWEST_THINNED = 500  # samples


@runtime_checkable
class Sampled(Protocol):
    """An object with samples, such as a `DocumentPosterior`, whose recalibration may be uncertain."""

    def clusterings(self) -> ClusteringSamples:
        """Sampled clusterings."""
        ...


Samples: TypeAlias = ClusteringSamples | Sampled | npt.NDArray[np.integer] | Sequence[Sequence[int]]


class SummaryInput:
    """A distribution, samples of it, or both, and a cache of statistics of them.

    Attributes
    ----------
    antecedents
        Distribution over antecedents; None if only samples are available.
    samples
        Samples of clusterings; None if only the distribution is available.
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
        """Samples; raises ParameterError if the input has none."""
        if self.samples is None:
            raise ParameterError("is required", parameter="samples")
        return self.samples

    @cached_property
    def thinned(self) -> SummaryInput:
        """Input with every tenth sample, or with all samples if they are fewer than 500."""
        if self.drawn.n_samples < _FEWEST_THINNED:
            return self
        return SummaryInput(self.antecedents, ClusteringSamples(self.drawn.labels[::_THINNING], 0, ""))

    @cached_property
    def rows(self) -> Ints32:
        """First mention of each mention's cluster in each sample: int32 (n_samples, n_mentions)."""
        return np.ascontiguousarray(self.drawn.labels)

    @cached_property
    def columns(self) -> Ints32:
        """First mention of each mention's cluster in each sample: int32 (n_mentions, n_samples)."""
        return np.ascontiguousarray(self.drawn.labels.T)

    @cached_property
    def own_sums(self) -> Floats:
        """Sums over the clusters of each sample: see `cell_sums`."""
        return cell_sums(self.rows, self.rows)

    @cached_property
    def shares(self) -> Floats:
        """Share of the samples in which two mentions corefer."""
        shares = np.empty((self.n_mentions, self.n_mentions))
        kernels.share_together(self.columns, shares)
        return shares

    @cached_property
    def marginals(self) -> Floats:
        """P(two mentions corefer): exact with a distribution, otherwise shares of the samples."""
        return self.shares if self.antecedents is None else link_marginals(self.antecedents)


def log_steps(n_mentions: int) -> Floats:
    """Increase of c * log(c) from c to c + 1, for c from 0 to n_mentions."""
    numbers = np.arange(n_mentions + 2, dtype=np.float64)
    return np.diff(numbers * np.log(np.maximum(numbers, 1.0)))


def cell_sums(first: Ints32, second: Ints32) -> Floats:
    """Sums over the cells of pairs of clusterings, first[p] and second[p] (or first[0] if it is the only one).

    The result is float64 (2, n_pairs): the sum of c * log(c) over cells of size c, and the number of pairs of mentions
    within cells; see `_search_kernels`. The cells of a clustering with itself are its clusters.
    """
    sums = np.empty((2, second.shape[0]))
    kernels.cell_sums(first, second, log_steps(second.shape[1]), sums)
    return sums


def posterior_from(
    posterior: AntecedentDistribution | Samples, samples: Samples | None = None, *, draw: bool = True
) -> SummaryInput:
    """Collect the input of summaries.

    Parameters
    ----------
    posterior
        Antecedent distribution, or samples.
    samples
        Samples of the distribution. By default, 1,000 samples are drawn if `draw` is True.
    draw
        Whether samples are drawn from a distribution without samples; by default they are.
    """
    if isinstance(posterior, AntecedentDistribution):
        if samples is None:
            return SummaryInput(posterior, sample_clusterings(posterior) if draw else None)
        drawn = clustering_samples("samples", samples)
        if drawn.n_mentions != posterior.n_mentions:
            rule = f"must be of the same document, with {posterior.n_mentions} mentions"
            raise ParameterError(f"{rule}, got {drawn.n_mentions}", parameter="samples")
        return SummaryInput(posterior, drawn)
    # A document or a path is neither, and gets the error of a distribution.
    if isinstance(posterior, str) or not isinstance(posterior, (ClusteringSamples, Sampled, np.ndarray, Sequence)):
        AntecedentDistribution.require(posterior)
    if samples is not None:
        raise ParameterError("must not be given if the posterior is samples", parameter="samples")
    return SummaryInput(None, clustering_samples("posterior", posterior))


def clustering_samples(name: str, samples: Samples) -> ClusteringSamples:
    """Return samples, also of a document's posterior or of a two-dimensional array of labels, or raise."""
    if isinstance(samples, Sampled):
        samples = samples.clusterings()
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
