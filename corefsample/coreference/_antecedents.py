"""The distribution over antecedents of one document's mentions: validation, softmax, pruning."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np

from corefsample import _checks
from corefsample._arrays import Bools, ByValue, Floats, Ints, Ints32, Result, pd
from corefsample.coreference import _kernels
from corefsample.errors import ParameterError, shown

NewPlace = Literal["diagonal", "first", "last"]
NEW_PLACES: tuple[NewPlace, ...] = ("diagonal", "first", "last")

# A score at or below this is a mask: -inf, a dtype's minimum, -1e9, or a true score to which -10,000 was added.
# exp(-5,000) is 0 in float64, so no candidate with a probability is lost.
_MASKED = -5000.0
# If a system has pruned NEW, the score of NEW becomes the score of the best candidate minus this number, so that its
# probability, at most exp(-100) = 4e-44, is lost in rounding.
_PRUNED_NEW = 100.0
_ROUNDING = 1e-4  # largest rounding error of the sum of a row of float32 or float16 probabilities
_LIKE_PROBABILITIES = "scores are in [0, 1] and the rows sum to 1: are they probabilities, as from_probabilities takes?"
_CERTAIN_SCORE = 1e6  # NEW then has a probability of exactly 0, also after recalibration by a temperature up to 1,000
_LARGEST_SCORE = 300.0  # the sum of the exponentials of a million such scores is finite


def probabilities(indptr: Ints, scores: Floats) -> tuple[Floats, Floats]:
    """Probabilities of the candidates and of NEW from finite scores; indptr must be writable, as the kernels expect."""
    shifts = np.zeros(indptr.shape[0] - 1)
    # NumPy's exp is vectorised, unlike the compiler's. The exponential of a very low score is exactly 0.
    with np.errstate(under="ignore"):
        if scores.max(initial=0.0) > _LARGEST_SCORE:  # exp would overflow: the largest score of a mention becomes 0
            mentions = np.repeat(np.arange(shifts.shape[0]), np.diff(indptr))
            np.maximum.at(shifts, mentions, scores)
            scores = scores - shifts[mentions]
        probs, new_probs = np.exp(scores), np.exp(-shifts)
    _kernels.normalise(indptr, probs, new_probs)
    return probs, new_probs


@dataclass(frozen=True, slots=True, eq=False)
class AntecedentDistribution(ByValue, Result):
    """Independent distributions of each mention's antecedent, as compressed sparse rows.

    Row i has the candidate antecedents of mention i in ascending order; NEW (no antecedent) is stored separately.
    ``probs[indptr[i]:indptr[i + 1]].sum() + new_probs[i] == 1`` up to rounding. Arrays are read-only.
    Build a distribution with `from_lists`, `from_csr`, `from_dense` or `from_probabilities`, which validate their
    arguments. Two distributions are equal if their arrays are equal.

    Attributes
    ----------
    indptr
        int64 (n_mentions + 1,): bounds of each mention's candidates in the other arrays.
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

    indptr: Ints
    antecedents: Ints32
    scores: Floats
    probs: Floats
    new_probs: Floats

    def __repr__(self) -> str:
        sizes = f"n_mentions={self.n_mentions}, n_candidates={self.n_candidates}"
        return f"AntecedentDistribution({sizes}, mean_n_entities={self.new_probs.sum():.1f})"

    @staticmethod
    def require(value: object) -> None:
        """Raise ParameterError unless `value` is an AntecedentDistribution (a document is often passed by mistake)."""
        if not isinstance(value, AntecedentDistribution):
            hint = None
            if isinstance(getattr(value, "antecedents", None), AntecedentDistribution):
                hint = "pass document.antecedents"
            elif isinstance(value, (list, tuple)):
                hint = "AntecedentDistribution.from_lists(antecedents, scores) makes one"
            elif isinstance(value, (str, os.PathLike)):
                hint = "read_documents(path) reads documents, whose antecedents are one"
            rule = f"must be an AntecedentDistribution, got {type(value).__name__}"
            raise ParameterError(rule, parameter="antecedents", hint=hint)

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
        """Build a distribution from a list of candidates and a list of scores for each mention.

        Parameters
        ----------
        antecedents
            List of candidate antecedents of each mention i: distinct mentions before i, in any order.
        scores
            Scores of the candidates, in the shape of `antecedents`: finite natural-log scores relative to NEW = 0.

        Raises
        ------
        ParameterError
            If the shapes differ, a candidate is not before its mention or is repeated, or a score is not finite.

        Examples
        --------
        >>> AntecedentDistribution.from_lists([[], [0]], [[], [0.0]]).probs
        array([0.5])
        """
        antecedents = list(_checks.elements("antecedents", antecedents, Sequence, np.ndarray))
        scores = list(_checks.elements("scores", scores, Sequence, np.ndarray))
        rule = f"must have one list per mention, as antecedents has ({len(antecedents)})"
        _checks.require("scores", len(antecedents) == len(scores), rule, len(scores))
        lengths = [len(row) for row in antecedents]
        for i, row in enumerate(scores):
            if len(row) != lengths[i]:
                rule = f"must be as long as antecedents[{i}] ({lengths[i]})"
                raise ParameterError(f"{rule}, got {len(row)}", parameter=f"scores[{i}]")
        indptr = np.zeros(len(lengths) + 1, np.int64)
        np.cumsum(lengths, out=indptr[1:])
        return cls.from_csr(
            indptr,
            _checks.integers("antecedents", [k for row in antecedents for k in row]),
            _checks.floats("scores", [x for row in scores for x in row]),
        )

    @classmethod
    def from_csr(
        cls, indptr: np.typing.ArrayLike, antecedents: np.typing.ArrayLike, scores: np.typing.ArrayLike
    ) -> Self:
        """Build from compressed sparse rows: the candidates of mention i are at ``indptr[i]:indptr[i + 1]``.

        Parameters
        ----------
        indptr
            int (n_mentions + 1,): bounds of each mention's candidates, from 0 up to n_candidates, never decreasing.
        antecedents
            int (n_candidates,): candidates of each mention, which are distinct earlier mentions in any order.
        scores
            float (n_candidates,): finite natural-log scores relative to NEW = 0.

        Raises
        ------
        ParameterError
            If `indptr` does not begin with 0, decreases, or does not end with the number of candidates; if a candidate
            is not before its mention or is repeated, or a score is not finite.
        """
        starts = _checks.integers("indptr", indptr)
        candidates = _checks.integers_32("antecedents", antecedents)
        log_scores = _checks.floats("scores", scores)
        ends = starts.shape[0] > 0 and starts[0] == 0 and starts[-1] == candidates.shape[0]
        if not ends or (starts[1:] < starts[:-1]).any():
            rule = f"must rise from 0 to the number of candidates ({candidates.shape[0]})"
            raise ParameterError(f"{rule}, got {shown(starts.tolist())}", parameter="indptr")
        rule = f"must be as long as antecedents ({candidates.size})"
        _checks.require("scores", candidates.shape == log_scores.shape, rule, log_scores.size)
        _checks.at_most("n_mentions", starts.shape[0] - 1, _checks.MAX_MENTIONS)
        if not _kernels.in_order(starts, candidates, log_scores):
            for fault in candidate_faults(np.array([0, starts.shape[0] - 1]), starts, candidates, log_scores).values():
                raise ParameterError(fault)
            mentions = np.repeat(np.arange(starts.shape[0] - 1), np.diff(starts))
            order = np.argsort(mentions * starts.shape[0] + candidates)
            candidates, log_scores = candidates[order], log_scores[order]
        _warn_of_probabilities(log_scores, np.add.reduceat(log_scores, starts[:-1][np.diff(starts) > 0]))
        return cls._from_valid(starts, candidates, log_scores)

    @classmethod
    def from_dense(cls, scores: np.typing.ArrayLike, *, new: np.typing.ArrayLike | NewPlace = 0.0) -> Self:
        """Build from a matrix with the score of every pair of mentions.

        Parameters
        ----------
        scores
            float (n_mentions, n_mentions), or one column more: natural-log scores; row i and column k have the score of
            mention k as the antecedent of mention i. Entries with k >= i are ignored. Candidates with a score at or
            below -5,000 (-inf, -1e9, the minimum of a type) are masked, and left out.
        new
            Score of NEW: one number for all mentions (by default 0), or float (n_mentions,), or the location of these
            scores in the matrix: "diagonal", or "first" or "last" for an additional column. If the score is masked, the
            mention certainly has an antecedent, unless it is the first mention.

        Raises
        ------
        ParameterError
            If the matrix has another shape, a score is NaN or infinite, all scores of a mention are masked, or only
            entries above the diagonal have a score.

        Examples
        --------
        >>> AntecedentDistribution.from_dense([[0.0, 0.0], [np.log(3.0), 0.0]]).probs
        array([0.75])
        >>> AntecedentDistribution.from_dense([[1.0, 0.0], [1.0, 1.0]], new="diagonal").probs
        array([0.5])
        """
        matrix, new_scores = _split("scores", _matrix("scores", scores), new)
        _require_lower("scores", matrix)
        return cls._from_valid(*dense_rows("scores", matrix, new_scores))

    @classmethod
    def from_probabilities(
        cls, probabilities: np.typing.ArrayLike, *, new: np.typing.ArrayLike | NewPlace | None = None
    ) -> Self:
        """Build from a matrix with the probability of every antecedent.

        Parameters
        ----------
        probabilities
            float (n_mentions, n_mentions), or one column more: row i and column k have the probability that mention k
            is the antecedent of mention i. Entries with k >= i are ignored.
        new
            Probability of NEW, float (n_mentions,), or its location in the matrix, as in `from_dense`. By default it is
            1 minus the sum of the row. Rows that sum to 1 up to the rounding of 16 or 32 bits are normalised.

        Raises
        ------
        ParameterError
            If the matrix has another shape, a value is no probability, or a row with NEW does not sum to 1.

        Examples
        --------
        >>> AntecedentDistribution.from_probabilities([[0.0, 0.0], [0.75, 0.0]]).new_probs
        array([1.  , 0.25])
        """
        return cls._from_valid(*dense_rows("probabilities", *_log_probabilities("probabilities", probabilities, new)))

    @classmethod
    def _from_valid(cls, indptr: Ints, antecedents: Ints32, scores: Floats) -> Self:
        """Normalise scores of valid candidates, which ascend within each mention; the arrays become read-only."""
        return cls(indptr, antecedents, scores, *probabilities(indptr, scores))

    def row(self, mention: int) -> tuple[Ints32, Floats]:
        """Candidate antecedents of one mention in ascending order, without NEW, and the probability of each."""
        rows = slice(self.indptr[mention], self.indptr[mention + 1])
        return self.antecedents[rows], self.probs[rows]

    def first_mentions(self, n_mentions: int) -> Self:
        """Return the distribution of the first `n_mentions` mentions, with the same probabilities.

        Later mentions cannot change the clustering of the earlier ones.
        """
        end = self.indptr[n_mentions]
        return type(self)(
            self.indptr[: n_mentions + 1],
            self.antecedents[:end],
            self.scores[:end],
            self.probs[:end],
            self.new_probs[:n_mentions],
        )

    def with_scores(self, scores: np.typing.ArrayLike) -> Self:
        """Return the distribution of the same candidates with other scores.

        Parameters
        ----------
        scores
            float (n_candidates,): finite natural-log scores relative to NEW = 0, in the order of `antecedents`.

        Raises
        ------
        ParameterError
            If `scores` are not n_candidates finite numbers.
        """
        new_scores = _checks.floats("scores", scores)
        if new_scores.shape[0] != self.n_candidates or not np.isfinite(new_scores).all():
            rule = f"must be {self.n_candidates} finite numbers"
            raise ParameterError(f"{rule}, got {shown(new_scores.tolist())}", parameter="scores")
        # A copy, because it is writable as in new ones: one compiled kernel serves both.
        return self._from_valid(self.indptr.copy(), self.antecedents, new_scores)

    def without_links(self, pairs: np.typing.ArrayLike) -> Self:
        """Remove candidates and renormalise the rest of their mention: the distribution without these direct links.

        Two mentions of a pair can still be of one entity, by a third mention.

        Parameters
        ----------
        pairs
            int (n_pairs, 2): a mention and its candidate in any order; pairs without a link are ignored.

        Raises
        ------
        ParameterError
            If a pair does not consist of two different mentions.

        Examples
        --------
        >>> dist = AntecedentDistribution.from_lists([[], [0], [0, 1]], [[], [0.0], [0.0, 0.0]])
        >>> dist.without_links([[2, 0]]).probs
        array([0.5, 0.5])
        """
        removed = _checks.pairs("pairs", pairs, self.n_mentions)
        mentions = np.repeat(np.arange(self.n_mentions), np.diff(self.indptr))
        n = max(self.n_mentions, 1)
        is_kept = ~np.isin(mentions * n + self.antecedents, removed[:, 0] * n + removed[:, 1])
        n_kept_before = np.concatenate(([0], np.cumsum(is_kept, dtype=np.int64)))
        return self._from_valid(n_kept_before[self.indptr], self.antecedents[is_kept], self.scores[is_kept])

    def with_antecedent(self, mention: int, antecedent: int | None) -> Self:
        """Condition on one mention's antecedent: the distribution given that a_i = k.

        Antecedents are independent, so the probabilities of the other mentions stay the same, and so do their samples
        with the same seed and doc_id. Repeat the call to condition on several mentions.

        Parameters
        ----------
        mention
            Index of the mention whose antecedent is known.
        antecedent
            Index of the antecedent: a candidate of this mention with a probability above 0, or None for NEW.

        Returns
        -------
        AntecedentDistribution
            Distribution in which the mention has this antecedent with probability 1.

        Raises
        ------
        ParameterError
            If `mention` is not the index of a mention, or `antecedent` is not before it or has probability 0.

        Examples
        --------
        >>> AntecedentDistribution.from_lists([[], [0], [0, 1]], [[], [0.0], [0.0, 0.0]]).with_antecedent(2, 1).probs
        array([0.5, 1. ])
        """
        _checks.at_most("mention", _checks.whole("mention", mention, 0), self.n_mentions - 1)
        start, end = self.indptr[mention : mention + 2].tolist()
        if antecedent is None:
            probability = self.new_probs[mention]
        elif _checks.whole("antecedent", antecedent, 0) >= mention:
            rule = f"must be None (NEW) or a mention before {mention}"
            raise ParameterError(f"{rule}, got {antecedent}", parameter="antecedent")
        else:
            probability = self.probs[start:end][self.antecedents[start:end] == antecedent].sum()
        choice = "None (NEW)" if antecedent is None else antecedent
        rule = f"must have a probability above 0 for mention {mention}"
        _checks.require("antecedent", probability > 0.0, rule, f"{choice} of probability 0")
        choices = [] if antecedent is None else [antecedent]
        indptr, new_probs = self.indptr.copy(), self.new_probs.copy()
        indptr[mention + 1 :] -= end - start - len(choices)
        new_probs[mention] = 1 - len(choices)
        return type(self)(
            indptr,
            np.concatenate((self.antecedents[:start], np.array(choices, np.int32), self.antecedents[end:])),
            np.concatenate((self.scores[:start], [_CERTAIN_SCORE] * len(choices), self.scores[end:])),
            np.concatenate((self.probs[:start], [1.0] * len(choices), self.probs[end:])),
            new_probs,
        )

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row per mention and choice: mention, antecedent (-1: NEW), score, probability."""
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


@dataclass(frozen=True, slots=True, eq=False)
class Pruned(Result):
    """A scorer's distribution without unlikely candidates, with their number and probability.

    Attributes
    ----------
    distribution
        Antecedent distribution over the remaining candidates.
    dropped_mass
        float64 (n_mentions,) in [0, 1), read-only: probability of the removed candidates, before renormalising.
    n_dropped
        Number of removed candidates.
    """

    distribution: AntecedentDistribution
    dropped_mass: Floats
    n_dropped: int


def candidate_faults(mention_bounds: Ints, indptr: Ints, antecedents: Ints32, scores: Floats) -> dict[int, str]:
    """Describe the first candidate that breaks a rule, in each document that has one.

    Candidates must be distinct mentions before their own mention, and their scores finite.

    Parameters
    ----------
    mention_bounds
        int64 (n_documents + 1,): bounds of each document's mentions.
    indptr, antecedents, scores
        Candidates of the mentions of all documents, as in `AntecedentDistribution`; antecedents are numbered within
        their document.

    Returns
    -------
    dict of str
        Description of the fault by number of the document; documents without a fault have no entry.
    """
    positions = np.full(mention_bounds.shape[0] - 1, -1, np.int64)
    last_named_by = np.full(np.diff(mention_bounds).max(initial=0), -1, np.int64)
    _kernels.check_antecedents(mention_bounds, indptr, antecedents, scores, last_named_by, positions)
    faults = {}
    for document in np.flatnonzero(positions >= 0).tolist():
        position = int(positions[document])
        row = int(np.searchsorted(indptr, position, side="right")) - 1
        i, k, candidate = row - int(mention_bounds[document]), position - int(indptr[row]), antecedents[position]
        if not 0 <= candidate < i:
            faults[document] = f"antecedents[{i}][{k}] must be a mention before {i}, got {candidate}"
        elif candidate in antecedents[indptr[row] : position]:
            faults[document] = f"antecedents[{i}] must be distinct, got {candidate} twice"
        else:
            faults[document] = f"scores[{i}][{k}] must be finite, got {float(scores[position])}"
    return faults


def is_masked(scores: Floats) -> Bools:
    """Whether each value is a mask rather than a score."""
    return scores <= _MASKED


def relative_to_new(name: str, scores: Floats, new: Floats, is_scored: Bools) -> Floats:
    """Scores minus the score of NEW; a masked NEW gets a score far below the row's best candidate."""
    best = np.where(is_scored, scores, -np.inf).max(axis=1, initial=-np.inf)
    empty = np.flatnonzero(is_masked(new) & ~is_scored.any(axis=1))
    if empty.size:
        raise ParameterError(f"{name}[{empty[0]}] must have a score for NEW or a mention before it, got masks only")
    new_scores = np.where(is_masked(new), best - _PRUNED_NEW, new)
    return np.where(is_scored, scores, 0.0) - new_scores[:, None]


def _warn_of_probabilities(scores: Floats, *sums: Floats) -> None:
    """Warn if scores are in [0, 1], some between, and the rows of several mentions have one of these sums, all 1."""
    is_between = ((scores > 0.01) & (scores < 0.99)).any()
    are_shares = len(sums[0]) > 2 and is_between and scores.min() >= 0.0 and scores.max() <= 1.0
    if are_shares and any(np.allclose(each, 1.0, atol=_ROUNDING) for each in sums):
        warnings.warn(_LIKE_PROBABILITIES, stacklevel=4)


def _require_lower(name: str, matrix: Floats) -> None:
    """Raise if a square matrix has different values above the diagonal, in all rows but the last, and none below."""
    has_value = ~is_masked(matrix) & (matrix != 0.0)
    above = np.triu(has_value, 1)
    is_upper = not np.tril(has_value, -1).any() and above.any(axis=1)[:-1].all()
    is_upper = is_upper and len(np.unique(matrix[above])) > 1
    rule, hint = (
        "must have values below the diagonal",
        "rows are mentions and columns their antecedents: pass the transpose",
    )
    _checks.require(name, not is_upper, rule, "only the upper triangle", hint=hint)


def dense_rows(
    name: str, scores: np.typing.ArrayLike, new: np.typing.ArrayLike | NewPlace
) -> tuple[Ints, Ints32, Floats]:
    """Bounds of the rows, candidates and relative scores of a matrix; see `AntecedentDistribution.from_dense`."""
    matrix, new_scores = _split(name, _matrix(name, scores), new)
    n = matrix.shape[0]
    _checks.require_all(name, matrix, matrix < np.inf, "be finite or a mask")
    new_scores[:1][is_masked(new_scores[:1])] = 0.0  # the first mention has no antecedent
    is_scored = np.tri(n, k=-1, dtype=bool) & ~is_masked(matrix)
    below = np.where(is_scored, matrix, 0.0).sum(axis=1)
    _warn_of_probabilities(matrix[is_scored], (below + new_scores)[1:], (below + np.diagonal(matrix))[1:])
    relative = relative_to_new(name, matrix, new_scores, is_scored)
    indptr = np.append(0, np.cumsum(is_scored.sum(axis=1))).astype(np.int64)
    return indptr, np.nonzero(is_scored)[1].astype(np.int32), relative[is_scored]


def _log_probabilities(
    name: str, probabilities: np.typing.ArrayLike, new: np.typing.ArrayLike | NewPlace | None
) -> tuple[Floats, Floats]:
    """Logarithms of the probabilities of antecedents, a square matrix, and of NEW; raises unless rows sum to 1."""
    full_matrix = _matrix(name, probabilities)
    matrix, new_probs = _split(name, full_matrix, 0.0 if new is None else new)
    _require_lower(name, matrix)
    links = np.tril(matrix, -1)
    _checks.require_all(name, links, (links >= 0.0) & (links <= 1.0 + _ROUNDING), "be a probability")
    sums = links.sum(axis=1) + new_probs
    invalid_rows = np.flatnonzero((sums > 1.0 + _ROUNDING) | (new is not None and np.abs(sums - 1.0) > _ROUNDING))
    if invalid_rows.size:
        rule = "must sum to 1 with NEW" if new is not None else "must sum to at most 1"
        row = invalid_rows[0]
        raise ParameterError(f"{name}[{row}] {rule} over the mentions before it, got {sums[row]:.6g}")
    new_probs = np.maximum(1.0 - sums, 0.0) if new is None else new_probs
    with np.errstate(divide="ignore"):
        return np.log(links), np.log(new_probs)


def _split(name: str, matrix: Floats, new: np.typing.ArrayLike | NewPlace) -> tuple[Floats, Floats]:
    """Split a matrix into the square of pairs of mentions and the values of NEW by mention."""
    n, n_columns = matrix.shape
    location = _checks.choice("new", new, NEW_PLACES) if isinstance(new, str) else "separate"
    has_column = location in ("first", "last")
    if not matrix.size:
        return np.zeros((0, 0)), np.zeros(0)
    rule = f"must have {'one column more than' if has_column else 'as many columns as'} rows"
    hint = "new='first' or new='last' says where the column of NEW is" if n_columns == n + 1 else None
    _checks.require(name, n_columns == n + has_column, rule, f"shape {matrix.shape}", hint=hint)
    if has_column:
        column = 0 if location == "first" else n
        return np.delete(matrix, column, axis=1), matrix[:, column].copy()
    if location == "diagonal":
        return matrix, np.diagonal(matrix).copy()
    values = np.asarray(new, np.float64)
    if values.ndim > 1 or (values.ndim and values.shape[0] != n):
        raise ParameterError(f"must be one number, or one per mention ({n}), got shape {values.shape}", parameter="new")
    if np.isnan(values).any() or np.isposinf(values).any():
        raise ParameterError(f"must be finite or a mask, got {shown(values.tolist())}", parameter="new")
    return matrix, np.broadcast_to(values, n).copy()


def _matrix(name: str, values: np.typing.ArrayLike) -> Floats:
    array = _checks.regular_array(name, values)
    return _checks.numbers_in(name, array, 2).astype(np.float64) if array.size else np.zeros((0, 0))
