"""Exact inference: quantities of the antecedent model that need no sampling."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample._arrays import Floats, Ints, Ints32
from corefsample._memory import require_memory
from corefsample.coreference import _kernels
from corefsample.coreference._antecedents import AntecedentDistribution, require_distribution
from corefsample.errors import ParameterError


def canonical_labels(labels: npt.ArrayLike, *, name: str = "labels", n_mentions: int | None = None) -> Ints32:
    """Label each mention by the first mention of its cluster.

    Parameters
    ----------
    labels
        int (n_mentions,): mentions with the same label form a cluster; the numbers themselves have no meaning.
    name
        What error messages call the labels.
    n_mentions
        Number of mentions that there must be; None: any.

    Returns
    -------
    array of shape (n_mentions,), int32

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
    if n_mentions is not None and numbers.shape[0] != n_mentions:
        raise ParameterError(
            f"must have one label for each mention ({n_mentions}), got {numbers.shape[0]}", parameter=name
        )
    _, first, inverse = np.unique(numbers, return_index=True, return_inverse=True)
    return first[inverse].astype(np.int32)


def link_marginals(antecedents: AntecedentDistribution) -> Floats:
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
        Symmetric, with a unit diagonal.

    Raises
    ------
    ParameterError
        If the array does not fit into the free memory: n_mentions = 20,000 take 3 GiB.

    References
    ----------
    Nguyen & O'Connor (2015), Eq. 2, which they estimate from samples.

    Examples
    --------
    >>> link_marginals(AntecedentDistribution.from_lists([[], [0]], [[], [0.0]]))
    array([[1. , 0.5],
           [0.5, 1. ]])
    """
    indptr, candidates, probs, _ = _rows_of(antecedents)
    marginals = _square(antecedents)
    _kernels.link_marginals(indptr, candidates, probs, marginals)
    return marginals


def root_posterior(antecedents: AntecedentDistribution) -> Floats:
    """Probability of each mention being the first of each mention's entity, exactly.

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
        If the array does not fit into the free memory, as of `link_marginals`.

    Examples
    --------
    >>> root_posterior(AntecedentDistribution.from_lists([[], [0]], [[], [0.0]]))
    array([[1. , 0. ],
           [0.5, 0.5]])
    """
    rows = _rows_of(antecedents)
    roots = _square(antecedents)
    _kernels.root_posterior(*rows, roots)
    return roots


def clustering_log_prob(antecedents: AntecedentDistribution, labels: npt.ArrayLike) -> float:
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
        In [-inf, 0].

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


def entity_count_pmf(antecedents: AntecedentDistribution) -> Floats:
    """Distribution of the number of entities, exactly.

    An entity is counted by its first mention, so the number is a sum of independent Bernoulli(P(a_i = NEW)).

    Returns
    -------
    array of shape (n_mentions + 1,), float64 in [0, 1]
        Entry c: P(c entities).
    """
    require_distribution(antecedents)
    return poisson_binomial_pmf(antecedents.new_probs)


def map_clustering(antecedents: AntecedentDistribution) -> Ints32:
    """Clustering by each mention's likeliest antecedent: the usual single answer of an antecedent model.

    Ties go to NEW, then to the nearest antecedent. It is in general not the most probable clustering.

    Returns
    -------
    array of shape (n_mentions,), int32
        The first mention of each mention's entity.
    """
    rows = _rows_of(antecedents)
    labels = np.empty(antecedents.n_mentions, np.int32)
    _kernels.map_labels(*rows, labels)
    return labels


def poisson_binomial_pmf(probs: npt.ArrayLike) -> Floats:
    """Distribution of the number of successes of independent trials, by convolution.

    Parameters
    ----------
    probs
        float (n_trials,) in [0, 1].

    Returns
    -------
    array of shape (n_trials + 1,), float64 in [0, 1]
        Entry c: P(c successes). No entry is negative, and small ones are accurate, unlike those of a Fourier transform.

    Raises
    ------
    ParameterError
        If a probability lies outside [0, 1].
    """
    trials = _checks.floats("probs", probs)
    _checks.each("probs", trials, (trials >= 0.0) & (trials <= 1.0), "lie in [0, 1]")
    pmf = np.empty(trials.shape[0] + 1)
    _kernels.poisson_binomial(trials, pmf)
    return pmf


def _rows_of(antecedents: AntecedentDistribution) -> tuple[Ints, Ints32, Floats, Floats]:
    """Arrays that the kernels take, of what must be a distribution."""
    require_distribution(antecedents)
    return antecedents.indptr, antecedents.antecedents, antecedents.probs, antecedents.new_probs


def _square(antecedents: AntecedentDistribution) -> Floats:
    """Return an array for each pair of mentions, to be filled."""
    n = antecedents.n_mentions
    hint = "`sample_clusterings` needs memory for n_samples numbers a mention only"
    what = f"a matrix of {n:,} x {n:,} mentions"
    require_memory(8 * n * n, parameter="antecedents", what=what, hint=hint)
    return np.empty((n, n))
