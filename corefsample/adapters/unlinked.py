"""Mentions that hardly take part in coreference: how likely they do, and a document without them."""

from __future__ import annotations

import dataclasses

import numpy as np

from corefsample import _checks
from corefsample.adapters._arrays import Floats
from corefsample.coreference import AntecedentDistribution, require_distribution
from corefsample.documents import ScoredDocument
from corefsample.errors import ParameterError

__all__ = ["drop_unlinked", "linked_probabilities"]


def linked_probabilities(antecedents: AntecedentDistribution) -> Floats:
    """Probability that each mention is linked to any other, exactly.

    A mention is alone if it is NEW and no later mention takes it as antecedent. Those choices are independent.

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
    require_distribution(antecedents)
    with np.errstate(divide="ignore"):  # log1p(-1) = -inf: certainly linked
        log_alone = np.bincount(
            antecedents.antecedents,
            weights=np.log1p(-np.minimum(antecedents.probs, 1.0)),
            minlength=antecedents.n_mentions,
        ) + np.log(np.minimum(antecedents.new_probs, 1.0))
    return np.asarray(0.0 - np.expm1(log_alone), np.float64)


def drop_unlinked(document: ScoredDocument, *, min_prob: float) -> ScoredDocument:
    """Leave out the mentions that are linked to any other with a probability below `min_prob`.

    For systems that score every word or span, where NEW may mean "not a mention". What remains is distributed exactly
    as given that the mentions left out are alone, so no probability of an event of the others changes by more than the
    probability that one of those is not, which is at most their number times `min_prob`.

    Parameters
    ----------
    document
        The document; its gold goes along.
    min_prob
        In [0, 1). 0 leaves out nothing.

    Returns
    -------
    ScoredDocument
        With fewer mentions.

    Raises
    ------
    ParameterError
        If `min_prob` lies outside its range, or the document is none.
    """
    if not isinstance(document, ScoredDocument):
        raise ParameterError(f"document must be a ScoredDocument, got {type(document).__name__}")
    _checks.probability("min_prob", min_prob, below_one=True)
    given = document.antecedents
    kept = linked_probabilities(given) >= min_prob
    rows = np.repeat(np.arange(given.n_mentions), np.diff(given.indptr))
    links = kept[rows] & kept[given.antecedents]
    places = np.cumsum(kept) - 1
    n_kept = int(kept.sum())
    indptr = np.concatenate(([0], np.cumsum(np.bincount(places[rows[links]], minlength=n_kept))))
    return dataclasses.replace(
        document,
        mentions=document.mentions[kept],
        antecedents=AntecedentDistribution.from_csr(indptr, places[given.antecedents[links]], given.scores[links]),
        gold=None
        if document.gold is None
        else [entity for entity, keep in zip(document.gold, kept, strict=True) if keep],
    )
