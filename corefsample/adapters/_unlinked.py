"""Mentions that are unlikely to be linked: their probabilities, and a document without them."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np

from corefsample import _checks
from corefsample._arrays import Floats
from corefsample.adapters._arrays import row_bounds
from corefsample.coreference._antecedents import AntecedentDistribution
from corefsample.documents._scored import ScoredDocument
from corefsample.errors import ParameterError


def linked_probabilities(antecedents: AntecedentDistribution) -> Floats:
    """Probability that each mention is linked to any other, exactly.

    A mention is alone if it is NEW and no later mention chooses it as antecedent. These events are independent.

    Parameters
    ----------
    antecedents
        Distribution over antecedents of one document.

    Returns
    -------
    array of shape (n_mentions,), float64 in [0, 1]

    Examples
    --------
    >>> linked_probabilities(AntecedentDistribution.from_lists([[], [0]], [[], [0.0]]))
    array([0.5, 0.5])
    """
    AntecedentDistribution.require(antecedents)
    with np.errstate(divide="ignore"):  # log1p(-1) = -inf: certainly linked
        log_alone = np.bincount(
            antecedents.antecedents,
            weights=np.log1p(-np.minimum(antecedents.probs, 1.0)),
            minlength=antecedents.n_mentions,
        ) + np.log(np.minimum(antecedents.new_probs, 1.0))
    return np.asarray(0.0 - np.expm1(log_alone), np.float64)


def drop_unlinked(document: ScoredDocument, *, min_prob: float) -> ScoredDocument:
    """Remove the mentions that are linked to any other with a probability below `min_prob`.

    For systems that score every word or span, where NEW may mean "not a mention". The result is exactly the
    distribution of the other mentions, given that the removed ones are alone. So no probability of an event changes by
    more than the probability that a removed mention is linked, which is at most their number times `min_prob`.

    Parameters
    ----------
    document
        The document. Its gold entities are reduced likewise.
    min_prob
        In [0, 1). 0 removes nothing.

    Returns
    -------
    ScoredDocument
        With fewer mentions.

    Raises
    ------
    ParameterError
        If `min_prob` lies outside its range, or `document` is not a ScoredDocument.
    """
    if not isinstance(document, ScoredDocument):
        raise ParameterError(f"must be a ScoredDocument, got {type(document).__name__}", parameter="document")
    _checks.probability("min_prob", min_prob, below_one=True)
    antecedents = document.antecedents
    linked = linked_probabilities(antecedents) >= min_prob
    rows = np.repeat(np.arange(antecedents.n_mentions), np.diff(antecedents.indptr))
    links = linked[rows] & linked[antecedents.antecedents]
    places = np.cumsum(linked) - 1
    bounds = row_bounds(places[rows[links]], int(linked.sum()))
    return dataclasses.replace(
        document,
        mentions=document.mentions[linked],
        antecedents=AntecedentDistribution.from_csr(
            bounds, places[antecedents.antecedents[links]], antecedents.scores[links]
        ),
        gold=None if document.gold is None else list(itertools.compress(document.gold, linked)),
    )
