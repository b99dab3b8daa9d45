"""Entity clusterings under an antecedent distribution: samples, and quantities that are exact without sampling."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

import numpy as np

from corefsample import _checks
from corefsample._arrays import ByValue, Floats, Ints, Ints32, Result, pd
from corefsample._machine import require_memory
from corefsample._random import document_key
from corefsample.coreference import _antecedents, _kernels
from corefsample.coreference._conditioning import CannotLinks, Conditioned, ProbabilitySets


@dataclass(frozen=True, slots=True, eq=False)
class ClusteringSamples(ByValue, Result):
    """Independent draws of one document's entity clustering.

    Attributes
    ----------
    labels
        int32 (n_samples, n_mentions), read-only: index of the first mention of each mention's entity. It is a
        transposed view: ``labels.T`` is contiguous, so work on one mention over all samples is the fast direction.
    seed, doc_id, first_sample
        Seed, document and first sample of the random stream, which determine the draws; row s of `labels` is sample
        ``first_sample + s`` of the document.
    conditioned
        Method and cost of conditioning on cannot-link pairs of mentions; None without such pairs.
    """

    labels: Ints32
    seed: int
    doc_id: str
    first_sample: int = 0
    conditioned: Conditioned | None = None

    def __repr__(self) -> str:
        return (
            f"ClusteringSamples(doc_id={self.doc_id!r}, n_samples={self.n_samples}, n_mentions={self.n_mentions},"
            f" mean_n_entities={self.n_entities().mean():.1f}, seed={self.seed}, first_sample={self.first_sample})"
        )

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>"  # the table has a row for each mention of each sample

    @property
    def n_samples(self) -> int:
        """Number of clusterings drawn."""
        return int(self.labels.shape[0])

    @property
    def n_mentions(self) -> int:
        """Number of mentions of the document."""
        return int(self.labels.shape[1])

    def n_entities(self) -> Ints:
        """Count the entities of each sample: int64 (n_samples,)."""
        counts: Ints = np.count_nonzero(self.labels == np.arange(self.n_mentions), axis=1)
        return counts

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row per sample and mention: sample, mention, entity (its first mention)."""
        return pd.DataFrame(
            {
                "sample": np.repeat(np.arange(self.n_samples) + self.first_sample, self.n_mentions),
                "mention": np.tile(np.arange(self.n_mentions), self.n_samples),
                "entity": self.labels.ravel(),
            }
        )


def sample_clusterings(
    antecedents: _antecedents.AntecedentDistribution,
    *,
    n_samples: int = 1000,
    seed: int = 0,
    doc_id: str = "",
    first_sample: int = 0,
    cannot_link: np.typing.ArrayLike | CannotLinks | None = None,
) -> ClusteringSamples:
    """Draw entity clusterings: antecedents independently, then the connected components of the links.

    Every link points backwards, so a mention's label is its antecedent's label and no union-find is needed.

    A sample depends only on the distribution and on (seed, doc_id, index of the sample): the first 100 of 1,000
    samples are the same as 100 samples. The random words are SplitMix64's, seeded for each mention by a key of seed
    and document, with the sample's index as the counter. Each draw uses one 64-bit word and an alias table with
    thresholds of 32 bits, so the error of each probability is about 2**-32 times the number of candidates.

    Parameters
    ----------
    antecedents
        Distribution over antecedents of the n_mentions mentions of one document.
    n_samples
        Number of clusterings to draw, at least 1.
    seed
        Seed of the random streams, in [0, 2**64).
    doc_id
        Id of the document: documents with different ids have independent random streams.
    first_sample
        Index of the first sample, at least 0; a call with a later index continues an earlier one.
    cannot_link
        int (n_pairs, 2): pairs of mentions of different entities, on which the clusterings are conditioned. A sample is
        then the first draw of its stream in which no pair is of one entity; see docs/theory.md for the proposals, and
        for documents in which even these are nearly always rejected. By default there is no condition.

    Returns
    -------
    ClusteringSamples
        Samples; their `labels` are int32 (n_samples, n_mentions).

    Raises
    ------
    ParameterError
        If antecedents is not a distribution, n_samples, seed or first_sample is outside its range, doc_id is not a
        string, or a pair is not of two different mentions.

    References
    ----------
    Nguyen & O'Connor (2015), Definition 2 and section 5.2; Steele, Lea & Flood (2014) for SplitMix64;
    Walker (1977) and Vose (1991) for alias tables.

    Examples
    --------
    >>> from corefsample import AntecedentDistribution
    >>> certain = AntecedentDistribution.from_lists([[], [0], [1]], [[], [50.0], [-50.0]])
    >>> sample_clusterings(certain, n_samples=2).labels
    array([[0, 0, 2],
           [0, 0, 2]], dtype=int32)
    """
    n_samples = _checks.n_samples(n_samples, 1)
    first_sample = _checks.whole("first_sample", first_sample, 0)
    _checks.at_most("first_sample", first_sample, 2**63 - 1 - n_samples)
    _antecedents.AntecedentDistribution.require(antecedents)
    if cannot_link is not None and not isinstance(cannot_link, CannotLinks):
        cannot_link = CannotLinks.of_pairs(cannot_link, antecedents.n_mentions)
    sets = antecedents.probs[None], antecedents.new_probs[None], np.array([0, n_samples])
    labels, conditioned = _drawn(antecedents, sets, cannot_link, seed=seed, doc_id=doc_id, first_sample=first_sample)
    return ClusteringSamples(labels.T, seed, doc_id, first_sample, conditioned)


def sample_rescored(
    antecedents: _antecedents.AntecedentDistribution,
    scores: Floats,
    n_samples: Ints,
    cannot_link: CannotLinks | None = None,
    *,
    seed: int,
    doc_id: str,
    first_sample: int,
) -> tuple[Ints32, Conditioned | None]:
    """Draw clusterings of the same candidates under several sets of scores, one after another.

    The result equals that of `sample_clusterings` for `antecedents.with_scores` of each set, where each set continues
    at the sample at which the previous set ended. A call for each set would spend more time in Python than in sampling.

    Parameters
    ----------
    antecedents
        Antecedent distribution of one document, of which only the candidates are used.
    scores
        float64 (n_sets, n_candidates): finite natural-log scores relative to NEW = 0, in the order of `antecedents`.
    n_samples
        int64 (n_sets,): number of samples under each set, at least 1.
    cannot_link
        Pairs of mentions of different entities, on which the clusterings are conditioned. By default there is no
        condition.
    seed, doc_id, first_sample
        Seed, document and first sample of the random stream: see `sample_clusterings`.

    Returns
    -------
    array of shape (n_mentions, n_samples of all sets), int32
        Index of the first mention of each mention's entity, in each sample.
    Conditioned or None
        Method and cost of conditioning; None without `cannot_link`.
    """
    n_sets = len(n_samples)
    bounds = np.concatenate(([0], np.cumsum(n_samples, dtype=np.int64)))
    starts = antecedents.indptr[:-1] + antecedents.n_candidates * np.arange(n_sets)[:, None]
    rows = np.append(starts.ravel(), scores.size)
    probs, new_probs = _antecedents.probabilities(rows, np.ascontiguousarray(scores).ravel())
    probs.flags.writeable = new_probs.flags.writeable = False  # as those of a distribution: one kernel serves both
    sets = probs.reshape(n_sets, -1), new_probs.reshape(n_sets, -1), bounds
    return _drawn(antecedents, sets, cannot_link, seed=seed, doc_id=doc_id, first_sample=first_sample)


def _drawn(
    antecedents: _antecedents.AntecedentDistribution,
    sets: ProbabilitySets,
    cannot_link: CannotLinks | None,
    *,
    seed: int,
    doc_id: str,
    first_sample: int,
) -> tuple[Ints32, Conditioned | None]:
    """Samples from sets of probabilities, int32 (n_mentions, n_samples), and the method and cost of conditioning."""
    labels = np.empty((antecedents.n_mentions, int(sets[2][-1])), np.int32)
    key = np.uint64(document_key(seed, doc_id))
    _kernels.sample_sets(antecedents.indptr, antecedents.antecedents, *sets, key, first_sample, labels)
    if cannot_link is None:
        return labels, None
    conditioned = cannot_link.condition(labels, antecedents, sets, seed=seed, doc_id=doc_id, first_sample=first_sample)
    return labels, conditioned


def canonical_labels(labels: np.typing.ArrayLike, *, name: str = "labels", n_mentions: int | None = None) -> Ints32:
    """Label each mention by the first mention of its cluster.

    Parameters
    ----------
    labels
        int (n_mentions,): mentions with the same label form a cluster; the numbers themselves have no meaning.
    name
        Name of the labels in error messages.
    n_mentions
        Required number of labels. By default any number is accepted.

    Returns
    -------
    array of shape (n_mentions,), int32
        Index of the first mention of each mention's cluster.

    Raises
    ------
    ParameterError
        If labels are not n_mentions whole numbers.

    Examples
    --------
    >>> canonical_labels([7, 5, 7])
    array([0, 1, 0], dtype=int32)
    """
    numbers = _checks.integers(name, labels)
    rule = f"must have one label for each mention ({n_mentions})"
    _checks.require(name, n_mentions in (None, numbers.shape[0]), rule, numbers.shape[0])
    _, first, inverse = np.unique(numbers, return_index=True, return_inverse=True)
    return first[inverse].astype(np.int32)


def link_marginals(antecedents: _antecedents.AntecedentDistribution) -> Floats:
    """Probability that each pair of mentions belongs to one entity, exactly.

    Each mention links to at most one earlier mention, so the marginals of mention j are the antecedent-weighted
    mean of its candidates' marginals.

    Parameters
    ----------
    antecedents
        Distribution over antecedents of the n_mentions mentions of one document.

    Returns
    -------
    array of shape (n_mentions, n_mentions), float64 in [0, 1]
        Link marginals: a symmetric matrix with a unit diagonal.

    Raises
    ------
    ParameterError
        If `antecedents` is no AntecedentDistribution, or the array does not fit into the free memory (n_mentions =
        20,000 take 3 GiB).

    References
    ----------
    Nguyen & O'Connor (2015), Eq. 2, which they estimate from samples.

    Examples
    --------
    >>> from corefsample import AntecedentDistribution
    >>> link_marginals(AntecedentDistribution.from_lists([[], [0]], [[], [0.0]]))
    array([[1. , 0.5],
           [0.5, 1. ]])
    """
    indptr, candidates, probs, _ = _rows_of(antecedents)
    marginals = _square(antecedents)
    _kernels.link_marginals(indptr, candidates, probs, marginals)
    return marginals


def root_posterior(antecedents: _antecedents.AntecedentDistribution) -> Floats:
    """Probability that mention r is the first mention of the entity of mention i, exactly, for all pairs.

    Parameters
    ----------
    antecedents
        Distribution over antecedents of the n_mentions mentions of one document.

    Returns
    -------
    array of shape (n_mentions, n_mentions), float64 in [0, 1]
        Entry (i, r): P(r is the first mention of i's entity). Lower triangular; rows sum to 1.

    Raises
    ------
    ParameterError
        If `antecedents` is no AntecedentDistribution, or the array does not fit into the free memory (n_mentions =
        20,000 take 3 GiB).

    Examples
    --------
    >>> from corefsample import AntecedentDistribution
    >>> root_posterior(AntecedentDistribution.from_lists([[], [0]], [[], [0.0]]))
    array([[1. , 0. ],
           [0.5, 0.5]])
    """
    rows = _rows_of(antecedents)
    roots = _square(antecedents)
    _kernels.root_posterior(*rows, roots)
    return roots


def clustering_log_prob(antecedents: _antecedents.AntecedentDistribution, labels: np.typing.ArrayLike) -> float:
    """Natural log of the probability of one clustering, exactly.

    It is the sum over all antecedent vectors that give the clustering: the first mention of a cluster is NEW, and each
    other one links to any earlier mention of the cluster.

    Parameters
    ----------
    antecedents
        Distribution over antecedents of the n_mentions mentions of one document.
    labels
        int (n_mentions,): mentions with the same label form a cluster; the numbers themselves have no meaning.

    Returns
    -------
    float
        Log probability, in [-inf, 0]; -inf for a clustering that cannot occur.

    Raises
    ------
    ParameterError
        If labels are not n_mentions whole numbers.

    References
    ----------
    Nguyen & O'Connor (2015), section 5.1: the probability of a clustering is the sum over its antecedent vectors.
    """
    rows = _rows_of(antecedents)
    canonical = canonical_labels(labels, n_mentions=antecedents.n_mentions)
    return float(_kernels.clustering_log_prob(*rows, canonical))


def entity_count_pmf(antecedents: _antecedents.AntecedentDistribution) -> Floats:
    """Distribution of the number of entities, exactly.

    An entity is counted by its first mention, so the number is a sum of independent Bernoulli(P(a_i = NEW)).

    Parameters
    ----------
    antecedents
        Distribution over antecedents of the n_mentions mentions of one document.

    Returns
    -------
    array of shape (n_mentions + 1,), float64 in [0, 1]
        Entry c is the probability of c entities.
    """
    _antecedents.AntecedentDistribution.require(antecedents)
    pmf = np.empty(antecedents.n_mentions + 1)
    _kernels.poisson_binomial(antecedents.new_probs, pmf)
    return pmf


def map_clustering(antecedents: _antecedents.AntecedentDistribution) -> Ints32:
    """Clustering by each mention's likeliest antecedent: the usual single answer of an antecedent model.

    Ties go to NEW, then to the nearest antecedent. It is in general not the most probable clustering.

    Parameters
    ----------
    antecedents
        Distribution over antecedents of the n_mentions mentions of one document.

    Returns
    -------
    array of shape (n_mentions,), int32
        The first mention of each mention's entity.
    """
    rows = _rows_of(antecedents)
    labels = np.empty(antecedents.n_mentions, np.int32)
    _kernels.map_labels(*rows, labels)
    return labels


def _rows_of(antecedents: _antecedents.AntecedentDistribution) -> tuple[Ints, Ints32, Floats, Floats]:
    """Arrays of a distribution for kernels; raises ParameterError if `antecedents` is no AntecedentDistribution."""
    _antecedents.AntecedentDistribution.require(antecedents)
    return antecedents.indptr, antecedents.antecedents, antecedents.probs, antecedents.new_probs


def _square(antecedents: _antecedents.AntecedentDistribution) -> Floats:
    """Return an uninitialised array with an entry for each pair of mentions."""
    n = antecedents.n_mentions
    hint = "`sample_clusterings` needs memory for n_samples numbers a mention only"
    contents = f"a matrix of {n:,} x {n:,} mentions"
    require_memory(8 * n * n, parameter="antecedents", contents=contents, hint=hint)
    return np.empty((n, n))
