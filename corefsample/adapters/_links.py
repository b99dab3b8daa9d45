"""Candidate links of one document in the order of the system that scored them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from corefsample.adapters._arrays import Floats, Ints, is_masked
from corefsample.coreference import AntecedentDistribution
from corefsample.errors import ParameterError

__all__ = ["Links"]

# Where a system has pruned NEW, the format has no score for it: NEW then lies this far below the best candidate,
# so that its probability, at most exp(-100) = 4e-44, is lost in rounding.
_PRUNED_NEW = 100.0


@dataclass(frozen=True, slots=True, eq=False)
class Links:
    """Links from mentions to mentions before them, ascending by mention; masked ones are not among them.

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
            (n_mentions, n_candidates): score and index of each candidate. What a mask hides may have any index: e2e's
            first rows point before the document's beginning, and top candidates of early rows lie after them.
        new
            (n_mentions,): score of NEW, on the same scale.
        """
        n_mentions = scores.shape[0]
        kept = ~is_masked(scores)
        wrong = np.argwhere(kept & ((antecedents < 0) | (antecedents >= np.arange(n_mentions)[:, None])))
        if wrong.size:
            i, k = wrong[0]
            raise ParameterError(
                f"{antecedents_name}[{i}][{k}] must be a mention before {i}, unless masked, got {antecedents[i, k]}"
            )
        relative = _relative_to_new(name, scores, new, kept)
        mentions, columns = np.nonzero(kept)
        chosen = antecedents[mentions, columns]
        _refuse_twice(antecedents_name, mentions, chosen)
        return cls(n_mentions, mentions.astype(np.int64), chosen, relative[mentions, columns])

    @classmethod
    def from_square(cls, name: str, scores: Floats, new: Floats) -> Self:
        """Links of a score for every pair: (n_mentions, n_mentions), of which the strict lower triangle counts."""
        n_mentions = scores.shape[0]
        earlier = np.where(np.tri(n_mentions, k=-1, dtype=bool), scores, -np.inf)
        columns = np.broadcast_to(np.arange(n_mentions), scores.shape)
        return cls.from_top_k(name, earlier, new, name, columns)

    def probabilities(self) -> Floats:
        """Float64 (n_links,): the probability of each link, as the system has it."""
        counts = np.bincount(self.mentions, minlength=self.n_mentions)
        indptr = np.concatenate(([0], np.cumsum(counts)))
        by_candidate = np.lexsort((self.antecedents, self.mentions))
        probabilities = np.empty(self.scores.shape[0])
        probabilities[by_candidate] = AntecedentDistribution.from_csr(indptr, self.antecedents, self.scores).probs
        return probabilities


def _relative_to_new(name: str, scores: Floats, new: Floats, kept: npt.NDArray[np.bool_]) -> Floats:
    """Scores minus that of NEW; rows whose NEW is masked keep it out of reach of their best candidate."""
    best = np.where(kept, scores, -np.inf).max(axis=1, initial=-np.inf)
    no_new = is_masked(new)
    empty = np.flatnonzero(no_new & ~kept.any(axis=1))
    if empty.size:
        raise ParameterError(f"{name}[{empty[0]}] must leave NEW or a mention before it, got a mask everywhere")
    level = np.where(no_new, best - _PRUNED_NEW, new)
    return np.where(kept, scores, 0.0) - level[:, None]


def _refuse_twice(name: str, mentions: Ints, antecedents: Ints) -> None:
    order = np.lexsort((antecedents, mentions))
    same = (np.diff(mentions[order]) == 0) & (np.diff(antecedents[order]) == 0)
    if same.any():
        place = order[np.flatnonzero(same)[0]]
        raise ParameterError(f"{name}[{mentions[place]}] must be distinct, got {antecedents[place]} twice")
