"""The distribution over antecedents of one document's mentions: validation, softmax, pruning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample.coreference import _kernels
from corefsample.coreference._conditioning import require_possible, settled_arrays
from corefsample.documents import _faults
from corefsample.documents._check_kernels import in_order, sort_rows
from corefsample.errors import ParameterError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["AntecedentDistribution", "Pruned"]

_LARGEST_SCORE = 300.0  # the exponentials of a million such scores still add up to a finite sum


@dataclass(frozen=True, slots=True, eq=False)
class AntecedentDistribution:
    """Independent distributions of each mention's antecedent, as compressed sparse rows.

    Row i holds the candidate antecedents of mention i in ascending order; NEW (no antecedent) stands apart.
    ``probs[indptr[i]:indptr[i + 1]].sum() + new_probs[i] == 1`` up to rounding. Arrays are read-only.
    Build one with `from_lists` or `from_csr`, which validate.

    Attributes
    ----------
    indptr
        int64 (n_mentions + 1,): where the candidates of each mention begin.
    antecedents
        int32 (n_candidates,): candidate mentions, each before its own mention.
    scores
        float64 (n_candidates,): natural-log scores relative to NEW = 0.
    probs
        float64 (n_candidates,) in [0, 1]: P(a_i = antecedent).
    new_probs
        float64 (n_mentions,) in [0, 1]: P(a_i = NEW).

    References
    ----------
    Nguyen & O'Connor (2015), Definition 2.
    """

    indptr: npt.NDArray[np.int64]
    antecedents: npt.NDArray[np.int32]
    scores: npt.NDArray[np.float64]
    probs: npt.NDArray[np.float64]
    new_probs: npt.NDArray[np.float64]

    @property
    def n_mentions(self) -> int:
        """Number of mentions."""
        return int(self.new_probs.shape[0])

    @property
    def n_candidates(self) -> int:
        """Number of candidate antecedents of all mentions together."""
        return int(self.antecedents.shape[0])

    @classmethod
    def from_lists(cls, antecedents: Sequence[Sequence[int]], scores: Sequence[Sequence[float]]) -> Self:
        """Build from one list of candidates and one of scores for each mention.

        Parameters
        ----------
        antecedents
            For mention i its candidate antecedents: distinct mentions before i, in any order.
        scores
            The same shape: finite natural-log scores relative to NEW = 0.

        Raises
        ------
        ParameterError
            If the shapes differ, a candidate is not before its mention or comes twice, or a score is not finite.

        Examples
        --------
        >>> AntecedentDistribution.from_lists([[], [0]], [[], [0.0]]).probs
        array([0.5])
        """
        if len(antecedents) != len(scores):
            raise ParameterError(
                f"scores must have one list a mention, as antecedents has ({len(antecedents)}), got {len(scores)}"
            )
        lengths = [len(row) for row in antecedents]
        for i, row in enumerate(scores):
            if len(row) != lengths[i]:
                raise ParameterError(f"scores[{i}] must be as long as antecedents[{i}] ({lengths[i]}), got {len(row)}")
        indptr = np.zeros(len(lengths) + 1, np.int64)
        np.cumsum(lengths, out=indptr[1:])
        return cls.from_csr(
            indptr,
            _checks.integers("antecedents", [k for row in antecedents for k in row]),
            _checks.floats("scores", [x for row in scores for x in row]),
        )

    @classmethod
    def from_csr(cls, indptr: npt.ArrayLike, antecedents: npt.ArrayLike, scores: npt.ArrayLike) -> Self:
        """Build from compressed sparse rows: those of mention i are ``indptr[i]:indptr[i + 1]``.

        Parameters
        ----------
        indptr
            int (n_mentions + 1,), from 0 up to the number of candidates, never falling.
        antecedents
            int (n_candidates,): distinct mentions before their own, in any order within a mention.
        scores
            float (n_candidates,): finite natural-log scores relative to NEW = 0.

        Raises
        ------
        ParameterError
            As `from_lists`, and if indptr is not as above.
        """
        starts = _checks.integers("indptr", indptr)
        candidates = _checks.mentions("antecedents", antecedents)
        log_scores = _checks.floats("scores", scores)
        ends = starts.shape[0] > 0 and starts[0] == 0 and starts[-1] == candidates.shape[0]
        if not ends or (starts[1:] < starts[:-1]).any():
            raise ParameterError(
                f"indptr must rise from 0 to the number of candidates ({candidates.shape[0]}), "
                f"got {_checks.shown(starts.tolist())}"
            )
        if candidates.shape != log_scores.shape:
            raise ParameterError(f"scores must be as long as antecedents ({candidates.size}), got {log_scores.size}")
        _checks.at_most("n_mentions", starts.shape[0] - 1, _checks.MAX_MENTIONS)
        if not in_order(starts, candidates, log_scores):
            fault = _faults.antecedent_fault(starts, candidates, log_scores)
            if fault is not None:
                raise ParameterError(fault)
            sort_rows(starts, candidates, log_scores)
        return cls._from_valid(starts, candidates, log_scores)

    @classmethod
    def _from_valid(
        cls, indptr: npt.NDArray[np.int64], antecedents: npt.NDArray[np.int32], scores: npt.NDArray[np.float64]
    ) -> Self:
        """Normalise; the arrays keep the rules, ascend within each mention, and are not shared."""
        n_mentions = indptr.shape[0] - 1
        # NumPy's exp is vectorised where the compiler's is not; a score far below the largest goes to exactly 0.
        with np.errstate(under="ignore"):
            if scores.max(initial=0.0) <= _LARGEST_SCORE:  # NEW's 1 is near enough the largest weight
                probs, new_probs = np.exp(scores), np.ones(n_mentions)
            else:
                probs, new_probs = np.empty_like(scores), np.empty(n_mentions)
                _kernels.shifted_scores(indptr, scores, probs, new_probs)
                np.exp(probs, out=probs)
                np.exp(new_probs, out=new_probs)
        _kernels.normalise(indptr, probs, new_probs)
        for array in (indptr, antecedents, scores, probs, new_probs):
            array.flags.writeable = False
        return cls(indptr, antecedents, scores, probs, new_probs)

    def row(self, mention: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float64]]:
        """Candidate antecedents of one mention and their probabilities, ascending by candidate."""
        rows = slice(self.indptr[mention], self.indptr[mention + 1])
        return self.antecedents[rows], self.probs[rows]

    def pruned(self, min_prob: float) -> Pruned:
        """Leave out every candidate of probability below `min_prob`; the rest of its mention renormalises.

        Parameters
        ----------
        min_prob
            In [0, 1). NEW is never left out.

        Returns
        -------
        Pruned
            The smaller distribution and, for each mention, the probability that was left out.
        """
        _checks.probability("min_prob", min_prob, below_one=True)
        keep = self.probs >= min_prob
        kept_before = np.concatenate(([0], np.cumsum(keep, dtype=np.int64)))
        dropped_mass = np.concatenate(([0.0], np.cumsum(np.where(keep, 0.0, self.probs))))[self.indptr]
        dropped = np.maximum(np.diff(dropped_mass), 0.0)
        dropped.flags.writeable = False
        distribution = self._from_valid(kept_before[self.indptr], self.antecedents[keep], self.scores[keep])
        return Pruned(distribution, dropped, int(keep.size - kept_before[-1]))

    def with_antecedent(self, mention: int, antecedent: int | None) -> Self:
        """Settle one mention's antecedent: the distribution given that a_i = k.

        Antecedents are independent, so the other mentions keep theirs; the same seed and doc_id draw the same for them.
        Settling several mentions one after another gives the distribution given them all.

        Parameters
        ----------
        mention
            The one to settle.
        antecedent
            One of its candidates, of a probability above 0; None: NEW.

        Returns
        -------
        AntecedentDistribution
            The mention has this one choice, with probability 1.

        Raises
        ------
        ParameterError
            If there is no such mention, or the antecedent is not before it or has probability 0.

        Examples
        --------
        >>> AntecedentDistribution.from_lists([[], [0], [0, 1]], [[], [0.0], [0.0, 0.0]]).with_antecedent(2, 1).probs
        array([0.5, 1. ])
        """
        require_possible(self, mention, antecedent)
        arrays = settled_arrays(self, mention, antecedent)
        for array in arrays:
            array.flags.writeable = False
        return type(self)(*arrays)

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row a mention and choice: mention, antecedent (-1: NEW), score, probability."""
        import pandas as pd

        n_choices = np.diff(self.indptr)
        before_new = self.indptr[1:]  # NEW comes after a mention's candidates
        return pd.DataFrame(
            {
                "mention": np.repeat(np.arange(self.n_mentions), n_choices + 1),
                "antecedent": np.insert(self.antecedents, before_new, -1),
                "score": np.insert(self.scores, before_new, 0.0),
                "probability": np.insert(self.probs, before_new, self.new_probs),
            }
        )


def require_distribution(value: object) -> None:
    """Refuse what is no AntecedentDistribution, a document above all, which holds one."""
    if not isinstance(value, AntecedentDistribution):
        raise ParameterError(f"antecedents must be an AntecedentDistribution, got {type(value).__name__}")


@dataclass(frozen=True, slots=True, eq=False)
class Pruned:
    """A pruned distribution beside what the pruning cost.

    Attributes
    ----------
    distribution
        The distribution over the candidates kept.
    dropped_mass
        float64 (n_mentions,) in [0, 1): probability of the candidates left out, before renormalising.
    n_dropped
        Number of candidates left out.
    """

    distribution: AntecedentDistribution
    dropped_mass: npt.NDArray[np.float64]
    n_dropped: int

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row a mention: mention, n_candidates (kept), dropped_mass."""
        import pandas as pd

        return pd.DataFrame(
            {
                "mention": np.arange(self.distribution.n_mentions),
                "n_candidates": np.diff(self.distribution.indptr),
                "dropped_mass": self.dropped_mass,
            }
        )
