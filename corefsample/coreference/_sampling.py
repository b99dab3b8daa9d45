"""Draws of entity clusterings from an antecedent distribution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample._random import document_key
from corefsample.coreference import _kernels
from corefsample.coreference._antecedents import AntecedentDistribution, require_distribution

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ClusteringSamples", "sample_clusterings"]


@dataclass(frozen=True, slots=True, eq=False)
class ClusteringSamples:
    """Independent draws of one document's entity clustering.

    Attributes
    ----------
    labels
        int32 (n_samples, n_mentions), read-only: the first mention of each mention's entity. It is a transposed
        view: ``labels.T`` is contiguous, so work on one mention over all samples is the fast direction.
    seed, doc_id, first_sample
        What the draws depend on; sample s of these is sample ``first_sample + s`` of the document.
    """

    labels: npt.NDArray[np.int32]
    seed: int
    doc_id: str
    first_sample: int = 0

    @property
    def n_samples(self) -> int:
        """Number of clusterings drawn."""
        return int(self.labels.shape[0])

    @property
    def n_mentions(self) -> int:
        """Number of mentions of the document."""
        return int(self.labels.shape[1])

    def n_entities(self) -> npt.NDArray[np.int64]:
        """Count the entities of each sample: int64 (n_samples,)."""
        counts: npt.NDArray[np.int64] = np.count_nonzero(self.labels == np.arange(self.n_mentions), axis=1)
        return counts

    def link_frequency(self, i: int, j: int) -> float:
        """Share of samples in which mentions i and j belong to one entity; exact: `link_marginals`."""
        return float(np.mean(self.labels[:, i] == self.labels[:, j]))

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row a sample and mention: sample, mention, entity (its first mention)."""
        import pandas as pd

        return pd.DataFrame(
            {
                "sample": np.repeat(np.arange(self.n_samples) + self.first_sample, self.n_mentions),
                "mention": np.tile(np.arange(self.n_mentions), self.n_samples),
                "entity": self.labels.ravel(),
            }
        )


def sample_clusterings(
    antecedents: AntecedentDistribution,
    *,
    n_samples: int = 1000,
    seed: int = 0,
    doc_id: str = "",
    first_sample: int = 0,
) -> ClusteringSamples:
    """Draw entity clusterings: antecedents independently, then the connected components of the links.

    Every link points backwards, so a mention's label is its antecedent's label and no union-find is needed.

    A sample depends on the distribution and on (seed, doc_id, index of the sample) alone: the first 100 of 1,000 are
    the 100. The random words are SplitMix64's, seeded for each mention from a key of seed and document
    (`document_key`), with the sample's index as the counter; one 64-bit word a draw chooses by alias table, with
    thresholds of 32 bits, so that each probability is met to some 2**-32 times the number of candidates.

    Parameters
    ----------
    antecedents
        Distribution over antecedents of the n_mentions mentions of one document.
    n_samples
        At least 1.
    seed
        In [0, 2**64).
    doc_id
        Keeps the streams of the documents of a corpus apart.
    first_sample
        Index of the first sample, for drawing more later.

    Returns
    -------
    ClusteringSamples
        Its labels: int32 (n_samples, n_mentions).

    Raises
    ------
    ParameterError
        If n_samples, seed or first_sample is outside its range, or doc_id is no string.

    References
    ----------
    Nguyen & O'Connor (2015), Definition 2 and section 5.2; Steele, Lea & Flood (2014) for SplitMix64;
    Walker (1977) and Vose (1991) for alias tables.

    Examples
    --------
    >>> certain = AntecedentDistribution.from_lists([[], [0], [1]], [[], [50.0], [-50.0]])
    >>> sample_clusterings(certain, n_samples=2).labels
    array([[0, 0, 2],
           [0, 0, 2]], dtype=int32)
    """
    n_samples = _checks.whole("n_samples", n_samples, 1)
    first_sample = _checks.whole("first_sample", first_sample, 0)
    _checks.at_most("first_sample", first_sample, 2**63 - 1 - n_samples)
    require_distribution(antecedents)
    labels = np.empty((antecedents.n_mentions, n_samples), np.int32)
    key = np.uint64(document_key(seed, doc_id))
    n_cells = antecedents.n_candidates + antecedents.n_mentions
    cells, values = np.empty(n_cells, np.uint64), np.empty(n_cells, np.uint32)
    _kernels.alias_tables(
        antecedents.indptr, antecedents.antecedents, antecedents.probs, antecedents.new_probs, cells, values
    )
    _kernels.sample_labels(antecedents.indptr, cells, values, key, first_sample, labels)
    labels.flags.writeable = False
    return ClusteringSamples(labels.T, seed, doc_id, first_sample)
