"""Links of mentions to earlier mentions, with scores relative to NEW: from arrays, or without some mentions."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample._arrays import Floats, Ints
from corefsample.coreference._antecedents import AntecedentDistribution
from corefsample.coreference._dense import dense_rows, is_masked, relative_to_new
from corefsample.documents._scored import ScoredDocument
from corefsample.errors import ParameterError, shown


def host_array(name: str, value: Any) -> npt.NDArray[Any]:
    """NumPy array of a value that may lie on a device, have gradients, or be of a type that NumPy does not know."""
    if hasattr(value, "detach"):  # torch
        value = value.detach().cpu()
        if "bfloat16" in str(value.dtype):
            value = value.float()
    elif type(value).__module__.split(".")[0] == "cupy":
        value = value.get()
    return _checks.regular_array(name, value)


def _matrix(name: str, value: Any, kinds: str, elements: str) -> npt.NDArray[Any]:
    try:
        array = host_array(name, value)
    except (TypeError, ValueError):
        raise ParameterError(f"must be an array of {elements}, got {shown(value)}", parameter=name) from None
    array = array[0] if array.ndim == 3 and array.shape[0] == 1 else array  # a batch of one document
    if array.ndim != 2 or (array.dtype.kind not in kinds and array.size):
        rule = f"must be {elements} of one document in 2 dimensions"
        raise ParameterError(f"{rule}, got {array.dtype} of shape {array.shape}", parameter=name)
    return array


def float_matrix(name: str, value: Any) -> Floats:
    """Scores of one document as float64 in two dimensions; masks are allowed, NaN and +inf raise ParameterError."""
    scores = _matrix(name, value, "fiu", "numbers").astype(np.float64)
    _checks.require_all(name, scores, scores < np.inf, "be finite or a mask")
    return scores


def int_matrix(name: str, value: Any, n_columns: int | None = None) -> Ints:
    """Indices of one document as int64, two dimensions."""
    if isinstance(value, Sequence) and not len(value):
        return np.zeros((0, n_columns or 0), np.int64)
    indices = _matrix(name, value, "iu", "whole numbers").astype(np.int64)
    if n_columns is not None and indices.shape[1] != n_columns:
        raise ParameterError(f"must have {n_columns} columns, got shape {indices.shape}", parameter=name)
    return indices


def row_bounds(rows: Ints, n_rows: int) -> Ints:
    """CSR bounds, int64 (n_rows + 1,), of entries whose rows ascend."""
    return np.concatenate(([0], np.cumsum(np.bincount(rows, minlength=n_rows))))


@dataclass(frozen=True, slots=True, eq=False)
class Links:
    """Links from mentions to earlier mentions, ascending by mention, without masked links.

    Attributes
    ----------
    n_mentions
        Number of rows of the system's scores.
    mentions, antecedents
        int64 (n_links,): both ends of each link, as rows of the system's scores.
    scores
        float64 (n_links,): natural-log scores relative to NEW = 0.
    """

    n_mentions: int
    mentions: Ints
    antecedents: Ints
    scores: Floats

    @classmethod
    def from_new_first(
        cls, scores: Any, antecedents: Any, n_rows: int, row: str, *, n_new: tuple[int, ...] = (1,)
    ) -> Self:
        """Links of top antecedents, in any order within a row; the columns for NEW come before those of antecedents.

        Parameters
        ----------
        scores
            (n_rows, number of columns for NEW + k); several columns for NEW are summed as probabilities.
        antecedents
            (n_rows, k): index of the candidate in each column after the columns for NEW. Masked candidates may have any
            index: e2e's first rows point before the document's beginning, and top candidates of early rows lie after
            them.
        n_rows, row
            Expected number of rows of the scores, and the name of a row in error messages.
        n_new
            Numbers of columns for NEW that are allowed; by default only one.
        """
        values, indices = float_matrix("scores", scores), int_matrix("antecedents", antecedents)
        if values.shape[0] != n_rows or indices.shape[0] != n_rows:
            raise ParameterError(
                f"scores and antecedents must have one row per {row} ({n_rows}), "
                f"got {values.shape[0]} and {indices.shape[0]}"
            )
        extra = values.shape[1] - indices.shape[1]
        if extra not in n_new:
            rule = f"must have {' or '.join(map(str, n_new))} more columns than antecedents, in front, for NEW"
            raise ParameterError(f"{rule}, got {values.shape[1]} and {indices.shape[1]}", parameter="scores")
        new = np.logaddexp.reduce(values[:, :extra], axis=1)
        require_new("scores", new, "begin")
        values = values[:, extra:]
        is_scored = ~is_masked(values)
        invalid = np.argwhere(is_scored & ((indices < 0) | (indices >= np.arange(n_rows)[:, None])))
        if invalid.size:
            i, k = invalid[0]
            raise ParameterError(
                f"antecedents[{i}][{k}] must be a mention before {i}, unless masked, got {indices[i, k]}"
            )
        mentions, columns = np.nonzero(is_scored)
        candidates = indices[mentions, columns]
        order = np.lexsort((candidates, mentions))
        is_repeated = (np.diff(mentions[order]) == 0) & (np.diff(candidates[order]) == 0)
        if is_repeated.any():
            link = order[np.argmax(is_repeated)]
            raise ParameterError(f"antecedents[{mentions[link]}] must be distinct, got {candidates[link]} twice")
        relative = relative_to_new("scores", values, new, is_scored)
        return cls(n_rows, mentions.astype(np.int64), candidates, relative[mentions, columns])

    @classmethod
    def from_square(cls, name: str, scores: Floats, new: Floats) -> Self:
        """Links of a square of scores, (n_mentions, n_mentions), of which the strict lower triangle is used."""
        indptr, antecedents, relative = dense_rows(name, scores, new)
        n_mentions = scores.shape[0]
        mentions = np.repeat(np.arange(n_mentions), np.diff(indptr))
        return cls(n_mentions, mentions, antecedents.astype(np.int64), relative)


def require_new(name: str, new: Floats, end: str) -> None:
    """Raise if the score of NEW, with which each row must begin or end, is masked."""
    masked = np.flatnonzero(is_masked(new))
    if masked.size:
        raise ParameterError(f"{name}[{masked[0]}] must {end} with the score of NEW, got {new[masked[0]]}")


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
        Probability of each mention, in text order.

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

    It is meant for systems that score every word or span, where NEW may mean "not a mention". The result is exactly the
    distribution of the other mentions, given that the removed mentions are alone. So no probability of an event changes
    by more than the probability that a removed mention is linked, which is at most the number of removed mentions times
    `min_prob`.

    Parameters
    ----------
    document
        Scored document. Gold entities of the removed mentions are removed, too.
    min_prob
        Smallest probability of being linked with which a mention remains, in [0, 1). With 0, all mentions remain.

    Returns
    -------
    ScoredDocument
        The document with the remaining mentions and the links between them.

    Raises
    ------
    ParameterError
        If `min_prob` lies outside its range, or `document` is not a ScoredDocument.
    """
    if not isinstance(document, ScoredDocument):
        raise ParameterError(f"must be a ScoredDocument, got {type(document).__name__}", parameter="document")
    _checks.probability("min_prob", min_prob, below_one=True)
    antecedents = document.antecedents
    is_linked = linked_probabilities(antecedents) >= min_prob
    rows = np.repeat(np.arange(antecedents.n_mentions), np.diff(antecedents.indptr))
    is_kept = is_linked[rows] & is_linked[antecedents.antecedents]
    new_indices = np.cumsum(is_linked) - 1
    bounds = row_bounds(new_indices[rows[is_kept]], int(is_linked.sum()))
    return dataclasses.replace(
        document,
        mentions=document.mentions[is_linked],
        antecedents=AntecedentDistribution.from_csr(
            bounds, new_indices[antecedents.antecedents[is_kept]], antecedents.scores[is_kept]
        ),
        gold=None if document.gold is None else list(itertools.compress(document.gold, is_linked)),
    )
