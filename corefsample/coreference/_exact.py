"""What the antecedent model gives without sampling."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample.coreference import _kernels
from corefsample.coreference._antecedents import AntecedentDistribution, require_distribution
from corefsample.errors import ParameterError

__all__ = [
    "clustering_log_prob",
    "entity_count_pmf",
    "link_marginals",
    "map_clustering",
    "poisson_binomial_pmf",
    "root_posterior",
]

FloatArray = npt.NDArray[np.float64]


def link_marginals(antecedents: AntecedentDistribution) -> FloatArray:
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

    References
    ----------
    Nguyen & O'Connor (2015), Eq. 2, which they estimate from samples.

    Examples
    --------
    >>> link_marginals(AntecedentDistribution.from_lists([[], [0]], [[], [0.0]]))
    array([[1. , 0.5],
           [0.5, 1. ]])
    """
    require_distribution(antecedents)
    marginals = np.empty((antecedents.n_mentions, antecedents.n_mentions))
    _kernels.link_marginals(antecedents.indptr, antecedents.antecedents, antecedents.probs, marginals)
    return marginals


def root_posterior(antecedents: AntecedentDistribution) -> FloatArray:
    """Probability of each mention being the first of each mention's entity, exactly.

    Parameters
    ----------
    antecedents
        Distribution over antecedents of the n_mentions mentions of one document.

    Returns
    -------
    array of shape (n_mentions, n_mentions), float64 in [0, 1]
        Entry (i, r): P(r is the first mention of i's entity). Lower triangular; rows sum to 1.

    Examples
    --------
    >>> root_posterior(AntecedentDistribution.from_lists([[], [0]], [[], [0.0]]))
    array([[1. , 0. ],
           [0.5, 0.5]])
    """
    require_distribution(antecedents)
    roots = np.empty((antecedents.n_mentions, antecedents.n_mentions))
    _kernels.root_posterior(
        antecedents.indptr, antecedents.antecedents, antecedents.probs, antecedents.new_probs, roots
    )
    return roots


def clustering_log_prob(antecedents: AntecedentDistribution, labels: npt.ArrayLike) -> float:
    """Natural log of the probability of one clustering, exactly.

    All antecedent vectors that give the clustering are summed: a cluster's first mention is NEW, each other one may
    choose any earlier mention of the cluster.

    Parameters
    ----------
    antecedents
        Distribution over antecedents of the n_mentions mentions of one document.
    labels
        int (n_mentions,): mentions with the same label form a cluster; which number labels it does not matter.

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
    require_distribution(antecedents)
    given = _checks.integers("labels", labels)
    if given.shape[0] != antecedents.n_mentions:
        raise ParameterError(f"labels must be as many as mentions ({antecedents.n_mentions}), got {given.shape[0]}")
    _, first, inverse = np.unique(given, return_index=True, return_inverse=True)
    canonical = first[inverse].astype(np.int32)
    return float(
        _kernels.clustering_log_prob(
            antecedents.indptr, antecedents.antecedents, antecedents.probs, antecedents.new_probs, canonical
        )
    )


def entity_count_pmf(antecedents: AntecedentDistribution) -> FloatArray:
    """Law of the number of entities, exactly.

    An entity is counted by its first mention, so the number is a sum of independent Bernoulli(P(a_i = NEW)).

    Returns
    -------
    array of shape (n_mentions + 1,), float64 in [0, 1]
        Entry c: P(c entities).
    """
    require_distribution(antecedents)
    return poisson_binomial_pmf(antecedents.new_probs)


def map_clustering(antecedents: AntecedentDistribution) -> npt.NDArray[np.int32]:
    """Clustering by each mention's likeliest antecedent: the usual single answer of an antecedent model.

    Ties go to NEW, then to the nearest antecedent. It is in general not the most probable clustering.

    Returns
    -------
    array of shape (n_mentions,), int32
        The first mention of each mention's entity.
    """
    require_distribution(antecedents)
    labels = np.empty(antecedents.n_mentions, np.int32)
    _kernels.map_labels(antecedents.indptr, antecedents.antecedents, antecedents.probs, antecedents.new_probs, labels)
    return labels


def poisson_binomial_pmf(probs: npt.ArrayLike) -> FloatArray:
    """Law of the number of successes of independent trials, by convolution.

    Parameters
    ----------
    probs
        float (n_trials,) in [0, 1].

    Returns
    -------
    array of shape (n_trials + 1,), float64 in [0, 1]
        Entry c: P(c successes). No term is negative, and none is lost to a transform's rounding.

    Raises
    ------
    ParameterError
        If a probability lies outside [0, 1].
    """
    trials = _checks.floats("probs", probs)
    bad = np.flatnonzero(~((trials >= 0.0) & (trials <= 1.0)))
    if bad.size:
        raise ParameterError(f"probs[{bad[0]}] must lie in [0, 1], got {trials[bad[0]]}")
    pmf = np.empty(trials.shape[0] + 1)
    _kernels.poisson_binomial(trials, pmf)
    return pmf
