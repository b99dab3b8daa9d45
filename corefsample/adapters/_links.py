"""Candidate links of one document in the order of the system that scored them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from corefsample._arrays import Floats, Ints
from corefsample.adapters._arrays import float_matrix, int_matrix, row_bounds
from corefsample.coreference._antecedents import AntecedentDistribution
from corefsample.coreference._dense import is_masked, relative_to_new
from corefsample.errors import ParameterError


@dataclass(frozen=True, slots=True, eq=False)
class Links:
    """Links from mentions to mentions before them, ascending by mention, without the masked ones.

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
    def from_top_k(cls, name: str, scores: Floats, new: Floats, antecedents_name: str, antecedents: Ints) -> Self:
        """Links of scored candidates, in any order within a row.

        Parameters
        ----------
        scores, antecedents
            (n_mentions, n_candidates): score and index of each candidate. Masked candidates may have any index: e2e's
            first rows point before the document's beginning, and top candidates of early rows lie after them.
        new
            (n_mentions,): score of NEW, on the same scale.
        """
        n_mentions = scores.shape[0]
        scored = ~is_masked(scores)
        wrong = np.argwhere(scored & ((antecedents < 0) | (antecedents >= np.arange(n_mentions)[:, None])))
        if wrong.size:
            i, k = wrong[0]
            raise ParameterError(
                f"{antecedents_name}[{i}][{k}] must be a mention before {i}, unless masked, got {antecedents[i, k]}"
            )
        relative = relative_to_new(name, scores, new, scored)
        mentions, columns = np.nonzero(scored)
        candidates = antecedents[mentions, columns]
        _require_distinct(antecedents_name, mentions, candidates)
        return cls(n_mentions, mentions.astype(np.int64), candidates, relative[mentions, columns])

    @classmethod
    def from_new_first(
        cls, scores: Any, antecedents: Any, n_rows: int, row: str, *, n_new: tuple[int, ...] = (1,)
    ) -> Self:
        """Links of unsorted top antecedents, with the columns of NEW before theirs.

        Parameters
        ----------
        scores
            (n_rows, number of columns for NEW + k); several columns for NEW are summed as probabilities.
        antecedents
            (n_rows, k): indices.
        n_rows, row
            Number of rows, and the name of one in an error.
        n_new
            Possible numbers of columns for NEW.
        """
        values, indices = float_matrix("scores", scores), int_matrix("antecedents", antecedents)
        if values.shape[0] != n_rows or indices.shape[0] != n_rows:
            raise ParameterError(
                f"scores and antecedents must have one row per {row} ({n_rows}), "
                f"got {values.shape[0]} and {indices.shape[0]}"
            )
        extra = values.shape[1] - indices.shape[1]
        if extra not in n_new:
            columns = "1 more column" if n_new == (1,) else f"{' or '.join(map(str, n_new))} more columns"
            raise ParameterError(
                f"must have {columns} than antecedents, in front, for NEW, "
                f"got {values.shape[1]} and {indices.shape[1]}",
                parameter="scores",
            )
        new = np.logaddexp.reduce(values[:, :extra], axis=1)
        require_new("scores", new, "begin")
        return cls.from_top_k("scores", values[:, extra:], new, "antecedents", indices)

    @classmethod
    def from_square(cls, name: str, scores: Floats, new: Floats) -> Self:
        """Links with a score for each pair: (n_mentions, n_mentions), of which the strict lower triangle is used."""
        n_mentions = scores.shape[0]
        earlier = np.where(np.tri(n_mentions, k=-1, dtype=bool), scores, -np.inf)
        columns = np.broadcast_to(np.arange(n_mentions), scores.shape)
        return cls.from_top_k(name, earlier, new, name, columns)

    def probabilities(self) -> Floats:
        """Float64 (n_links,): the probability of each link according to the system."""
        by_candidate = np.lexsort((self.antecedents, self.mentions))
        probabilities = np.empty(self.scores.shape[0])
        probabilities[by_candidate] = AntecedentDistribution.from_csr(
            row_bounds(self.mentions, self.n_mentions), self.antecedents, self.scores
        ).probs
        return probabilities


def require_new(name: str, new: Floats, end: str) -> None:
    """Raise if the score of NEW, with which each row must begin or end, is masked."""
    masked = np.flatnonzero(is_masked(new))
    if masked.size:
        raise ParameterError(f"{name}[{masked[0]}] must {end} with the score of NEW, got {new[masked[0]]}")


def _require_distinct(name: str, mentions: Ints, antecedents: Ints) -> None:
    order = np.lexsort((antecedents, mentions))
    same = (np.diff(mentions[order]) == 0) & (np.diff(antecedents[order]) == 0)
    if same.any():
        link = order[np.flatnonzero(same)[0]]
        raise ParameterError(f"{name}[{mentions[link]}] must be distinct, got {antecedents[link]} twice")
