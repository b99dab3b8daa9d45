"""Distributions of tag sequences, whose score is a sum over tokens and neighbours: one chain, or marginals of many."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise as neighbours
from typing import NamedTuple, Self

import numpy as np

from corefsample import _checks
from corefsample._arrays import Bools, Floats, HtmlTable, Ints, Ints32, pd
from corefsample._machine import require_memory
from corefsample._random import document_key
from corefsample.errors import ParameterError
from corefsample.tagging import _chain_kernels as kernels

_LARGEST_SCORE = 1e300  # 10**8 such scores have a finite sum
_NEGLIGIBLE = 40.0  # log of how much more a weight must be, so that another one is lost in rounding
_BATCH_TOKENS = 768  # whose arrays stay in the processor's cache
_BLOCK_CELLS = 2**18  # of pair marginals that are computed at a time


class Passes(NamedTuple):
    """Both passes of chains whose rows follow each other; arrays are float64, logarithms without padding.

    Attributes
    ----------
    forward, backward
        (n, n_tags): log weights, each row with a maximum of 0.
    norms
        (n,): number that was subtracted from each row of `forward`.
    probs
        (n, n_tags), read-only: marginals of the tags of each token.
    """

    forward: Floats
    backward: Floats
    norms: Floats
    probs: Floats

    @classmethod
    def of(cls, indptr: Ints, unary: Floats, pairwise: Floats, work: Floats) -> Self:
        """Both passes of the chains of rows indptr[c] to indptr[c + 1], by logarithms where others may underflow.

        `pairwise` is (m, n_tags, n_tags): one matrix for all pairs of neighbours, or those of one chain. `work` has
        three arrays that have at least the rows of `unary`, and are overwritten.
        """
        emissions, forward, backward = (array[: len(unary)] for array in work)
        probs, norms, is_exact = np.empty(unary.shape), np.empty(len(unary)), np.zeros(len(indptr) - 1, np.bool_)
        if len(pairwise) == 1:
            shifts = _exponentials(unary, emissions)
            weights = np.empty((1, pairwise.size))
            shift = _exponentials(pairwise.reshape(1, -1), weights)
            is_far = weights < kernels.LEAST_EXPONENTIAL
            largest_far = float((pairwise.reshape(1, -1) - shift)[is_far].max(initial=-np.inf))
            weights[is_far] = 0.0
            matrix = weights.reshape(pairwise[0].shape)
            kernels.scaled_passes(indptr, unary, emissions, matrix, forward, norms, backward, probs, is_exact)
            with np.errstate(divide="ignore"):
                for weight in (forward, backward, norms):
                    np.log(weight, out=weight)
            # Sequences with a transition that was left out have at most this weight together.
            left_out = largest_far + np.diff(indptr) * math.log(unary.shape[1])
            is_exact &= np.add.reduceat(norms, indptr[:-1]) > left_out + _NEGLIGIBLE
            norms += shifts + shift
            norms[indptr[:-1]] -= shift
        for c in np.flatnonzero(~is_exact).tolist():
            rows = slice(indptr[c], indptr[c + 1])
            fill_by_logs(unary[rows], pairwise, forward[rows], norms[rows], backward[rows], probs[rows])
        probs.flags.writeable = False
        return cls(forward, backward, norms, probs)

    def require_sequence(self, start: int, stop: int, location: str | None = None) -> None:
        """Raise if no sequence is allowed in the rows of one chain, at `location`."""
        unreached = np.flatnonzero(self.norms[start:stop] == -np.inf)
        if unreached.size:
            rule = f"must allow a tag sequence, got none that reaches token {unreached[0]}"
            raise ParameterError(rule, parameter="scores", place=location)


def fill_by_logs(
    unary: Floats, pairwise: Floats, forward: Floats, norms: Floats, backward: Floats, probs: Floats
) -> None:
    """Fill both passes and the marginals of one chain by sums of logarithms, for scores of any size.

    `norms` becomes -inf from the first token on that no sequence reaches; then the other arrays have no meaning.
    """
    norms[:] = -np.inf
    for i, row in enumerate(unary):
        if i > 0:
            before = forward[i - 1][:, None] + pairwise[(i - 1) % len(pairwise)]
            row = row + np.logaddexp.reduce(before, axis=0)
        norms[i] = row.max()
        if norms[i] == -np.inf:
            return
        forward[i] = row - norms[i]
    backward[-1] = 0.0
    for i in range(len(unary) - 2, -1, -1):
        row = np.logaddexp.reduce(pairwise[i % len(pairwise)] + (unary[i + 1] + backward[i + 1]), axis=1)
        backward[i] = row - row.max()
    probs[:] = _normalised(forward + backward, 1)


def _normalised(logs: Floats, axis: int | tuple[int, ...]) -> Floats:
    """Probabilities from their logarithms, which they overwrite; their sum along the axes is 1."""
    logs -= logs.max(axis=axis, keepdims=True)
    np.exp(logs, out=logs)
    logs /= logs.sum(axis=axis, keepdims=True)
    return logs


def _exponentials(scores: Floats, weights: Floats) -> Floats:
    """Fill exponentials of scores without the maximum of their row (0 if all are -inf), and return these maxima."""
    shifts: Floats = scores.max(axis=1)
    shifts[shifts == -np.inf] = 0.0
    np.subtract(scores, shifts[:, None], out=weights)
    np.exp(weights, out=weights)
    return shifts


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LinearChain(HtmlTable):
    """Distribution of the tags of n tokens: P(tags) is proportional to the exponential of the sequence's score.

    The score is the sum of unary[i, tags[i]] over tokens and of pairwise[tags[i], tags[i + 1]] over pairs of
    neighbours. A hidden Markov model and a conditional random field given their words, and a neural tagger with a
    matrix of transitions, are all such chains. Build one with `from_scores`, which validates its arguments.

    Attributes
    ----------
    unary
        float64 (n, n_tags), read-only: natural-log potentials of each token's tag; -inf forbids a tag.
    pairwise
        float64 (n_tags, n_tags), or (n - 1, n_tags, n_tags) with a matrix for each pair of neighbours, read-only:
        natural-log potentials of a tag (row) and the next (column); -inf forbids a transition.

    References
    ----------
    Rabiner (1989), section III; Lafferty, McCallum & Pereira (2001).
    """

    unary: Floats
    pairwise: Floats
    _passes: Passes = field(repr=False)

    @property
    def n(self) -> int:
        """Number of tokens."""
        return int(self.unary.shape[0])

    @property
    def n_tags(self) -> int:
        """Number of tags."""
        return int(self.unary.shape[1])

    @property
    def log_partition(self) -> float:
        """Natural log of the summed exponentials of the scores of all sequences."""
        norms = self._passes.norms.tolist()
        return math.fsum((*norms, math.log(np.exp(self._passes.forward[-1]).sum())))

    @classmethod
    def from_scores(cls, unary: np.typing.ArrayLike, pairwise: np.typing.ArrayLike) -> Self:
        """Build from natural-log potentials, which need not be normalised.

        Parameters
        ----------
        unary
            (n, n_tags): score of each tag of each token, at least one token and one tag. -inf forbids the tag.
        pairwise
            (n_tags, n_tags), or (n - 1, n_tags, n_tags): score of each tag (row) and the next (column). -inf forbids
            the transition. An array is copied, unless it is read-only, contiguous and float64.

        Raises
        ------
        ParameterError
            If the shapes disagree, a score is NaN, +inf, or finite and above 1e300 in size, there is no token, or no
            sequence is allowed.

        Examples
        --------
        >>> chain = LinearChain.from_scores([[0.0, 0.0], [0.0, 0.0]], [[0.0, float("-inf")], [0.0, 0.0]])
        >>> chain.marginals().round(3)
        array([[0.333, 0.667],
               [0.667, 0.333]])
        """
        rows = _valid_scores("unary", unary, 2)
        matrices = _valid_scores("pairwise", pairwise, 2, 3)
        n, n_tags = rows.shape
        rule = "must have at least one token and one tag"
        _checks.require("unary", rows.size > 0, rule, f"the shape {rows.shape}")
        expected = (n_tags, n_tags) if matrices.ndim == 2 else (n - 1, n_tags, n_tags)
        rule = f"must have the shape {(n_tags, n_tags)} or {(n - 1, n_tags, n_tags)}, as unary has {rows.shape}"
        _checks.require("pairwise", matrices.shape == expected, rule, matrices.shape)
        passes = Passes.of(np.array([0, n]), rows, _stack(matrices), np.empty((3, n, n_tags)))
        passes.require_sequence(0, n)
        return cls(rows, matrices, passes)

    # --- exact figures -----------------------------------------------------------------------------------

    def marginals(self) -> Floats:
        """Probability of each tag of each token: float64 (n, n_tags), read-only; rows sum to 1."""
        return self._passes.probs

    def pair_marginals(self) -> Floats:
        """Probability of each pair of tags of neighbours: float64 (n - 1, n_tags, n_tags).

        Raises
        ------
        ParameterError
            If the result does not fit into memory; `pair_marginal_blocks` needs less.
        """
        hint = "pair_marginal_blocks computes them block by block"
        n_cells = (self.n - 1) * self.n_tags**2
        require_memory(8 * n_cells, parameter="n", contents="an array of pair marginals", hint=hint)
        return self._pairs(0, self.n - 1)

    def pair_marginal_blocks(self) -> Iterator[tuple[int, Floats]]:
        """Probability of each pair of tags of neighbours, in blocks of tokens that take about 2 MiB.

        Yields
        ------
        first, probs
            Index of the block's first token, and float64 (n_pairs, n_tags, n_tags): entry p is the matrix of tokens
            first + p and first + p + 1.
        """
        return ((first, self._pairs(first, stop)) for first, stop in self._blocks())

    def _pairs(self, first: int, stop: int) -> Floats:
        following = self.unary[first + 1 : stop + 1] + self._passes.backward[first + 1 : stop + 1]
        logs = self._passes.forward[first:stop, :, None] + self._transitions(first, stop) + following[:, None]
        return _normalised(logs, (1, 2))

    def _transitions(self, first: int, stop: int) -> Floats:
        """Scores of transitions from the tokens `first` to `stop` - 1: one matrix for all, or one for each."""
        return self.pairwise[None] if self.pairwise.ndim == 2 else self.pairwise[first:stop]

    def _blocks(self) -> list[tuple[int, int]]:
        """Runs of pairs of neighbours whose matrices are computed together."""
        step = max(_BLOCK_CELLS // self.n_tags**2, 1)
        return [(first, min(first + step, self.n - 1)) for first in range(0, self.n - 1, step)]

    def log_prob(self, tags: np.typing.ArrayLike) -> float:
        """Natural log of the probability of one tag sequence; -inf for a forbidden one.

        Parameters
        ----------
        tags
            int (n,): a tag from 0 to n_tags - 1 for each token.

        Raises
        ------
        ParameterError
            If there is not one tag for each token.
        """
        sequence = _checks.integers("tags", tags)
        _checks.require("tags", sequence.shape == (self.n,), f"must be one for each of {self.n} tokens", sequence.size)
        in_range = (sequence >= 0) & (sequence < self.n_tags)
        _checks.require_all("tags", sequence, in_range, f"be from 0 to {self.n_tags - 1}")
        scores = self.unary[np.arange(self.n), sequence]
        matrices = _stack(self.pairwise)
        pairs = matrices[np.arange(self.n - 1) % len(matrices), sequence[:-1], sequence[1:]]
        return min(float(scores.sum() + pairs.sum()) - self.log_partition, 0.0)

    def map(self) -> Ints32:
        """Return the likeliest tag sequence, int32 (n,); of several, the first in lexicographic order of tags."""
        likeliest: Ints32 = self.k_best(1)[0][0]
        return likeliest

    def k_best(self, k: int) -> tuple[Ints32, Floats]:
        """Return the k likeliest tag sequences with their exact log probabilities.

        Parameters
        ----------
        k
            Number of sequences, at least 1. If fewer sequences are allowed, all of them are returned.

        Returns
        -------
        tags
            Sequences, int32 (k, n), best first; of equal score, in lexicographic order of tags.
        log_probs
            Natural logarithm of each sequence's probability, float64 (k,).

        Raises
        ------
        ParameterError
            If `k` is below 1, or the tables for `k` sequences do not fit into memory.
        """
        k = _checks.whole("k", k, 1)
        _checks.at_most("k", k, (2**31 - 1) // self.n_tags)
        require_memory(4 * k * self.n * (self.n_tags + 1), parameter="k", contents="a table of the best ends")
        links = np.empty((self.n, self.n_tags, k), np.int32)
        tags, scores = np.empty((k, self.n), np.int32), np.empty(k)
        n_listed = kernels.best_sequences(self.unary, _stack(self.pairwise), links, tags, scores)
        return tags[:n_listed], np.minimum(scores[:n_listed] - self.log_partition, 0.0)

    def entropy(self) -> float:
        """Entropy of the distribution of sequences, in nats: that of the first tag, and of each tag given the last."""
        from scipy.special import entr, rel_entr

        total = float(entr(self.marginals()[0]).sum())
        for _, pairs in self.pair_marginal_blocks():
            # Sums of pairs, as a marginal of 1e-90 may be 0 where they are not, and the divergence infinite.
            total -= float(rel_entr(pairs, pairs.sum(axis=2, keepdims=True)).sum())
        return max(total, 0.0)

    # --- samples -----------------------------------------------------------------------------------------

    def sample(self, n_samples: int = 1000, *, seed: int = 0, doc_id: str = "") -> Ints32:
        """Draw tag sequences independently: int32 (n_samples, n).

        The last tag is drawn from its marginal, then each tag given the next one (forward filtering, backward
        sampling). A sample depends only on the chain and on (seed, doc_id, index of the sample): the first 100 of 1,000
        samples are the same as 100 samples. The random words are SplitMix64's, seeded for each token by a key of seed
        and doc_id, with the sample's index as the counter; 53 bits of a word pick the tag.

        Parameters
        ----------
        n_samples
            Number of samples, at least 1.
        seed
            Seed of the samples, in [0, 2**64).
        doc_id
            Id of the sentence or document, which gives it a random stream of its own.

        Returns
        -------
        array of shape (n_samples, n), int32 in [0, n_tags)
            Code of each tag of each sample. The array is a transposed view: the samples of one token are contiguous.

        Raises
        ------
        ParameterError
            If n_samples or seed is outside its range, or doc_id is not a string.

        References
        ----------
        Frühwirth-Schnatter (1994) for backward sampling; Steele, Lea & Flood (2014) for SplitMix64.
        """
        n_samples = _checks.n_samples(n_samples, 1)
        key = np.uint64(document_key(seed, doc_id))
        require_memory(4 * n_samples * self.n, parameter="n_samples", contents="an array of samples")
        tags = np.empty((self.n, n_samples), np.int32)
        last = np.cumsum(np.exp(self._passes.forward[-1]))
        kernels.draw_tags(last[None, None], self.n - 1, key, tags)
        for first, stop in reversed(self._blocks()):
            logs = self._passes.forward[first:stop, None] + self._transitions(first, stop).swapaxes(1, 2)
            largest = logs.max(axis=2, keepdims=True)
            weights = np.exp(logs - np.where(largest > -np.inf, largest, 0.0))
            kernels.draw_tags(np.cumsum(weights, axis=2), first, key, tags)
        return tags.T

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row per token and tag: position, tag, probability (the marginal)."""
        return pd.DataFrame(
            {
                "position": np.repeat(np.arange(self.n), self.n_tags),
                "tag": np.tile(np.arange(self.n_tags), self.n),
                "probability": self.marginals().ravel(),
            }
        )


def _stack(pairwise: Floats) -> Floats:
    """Matrices in three dimensions: one for each pair of neighbours, or one for all pairs, even if there is no pair."""
    if pairwise.ndim == 3 and len(pairwise) == 0:
        return np.zeros((1, *pairwise.shape[1:]))
    return pairwise[None] if pairwise.ndim == 2 else pairwise


def _valid_scores(name: str, values: np.typing.ArrayLike, *dimensions: int) -> Floats:
    """Return scores as a contiguous, read-only float64 array; raises ParameterError if they are invalid."""
    array = _checks.numbers_in(name, values, *dimensions)
    is_usable = array.dtype == np.float64 and array.flags.c_contiguous and not array.flags.writeable
    scores: Floats = array if is_usable else np.array(array, np.float64, order="C")
    is_valid = _are_valid(scores)
    if not is_valid.all():
        index = np.argwhere(~is_valid)[0].tolist()
        rule = f"must be -inf or a number of at most {_LARGEST_SCORE:g} in size"
        raise ParameterError(f"{rule}, got {float(scores[tuple(index)])}", parameter=f"{name}{index}")
    scores.flags.writeable = False
    return scores


def _are_valid(scores: Floats) -> Bools:
    is_valid: Bools = (np.abs(scores) <= _LARGEST_SCORE) | (scores == -np.inf)
    return is_valid


def tag_marginals(unaries: Sequence[np.typing.ArrayLike], pairwise: np.typing.ArrayLike) -> list[Floats]:
    """Probability of each tag of each token of many sentences, with one matrix of transitions.

    Results are those of `LinearChain.from_scores(unary, pairwise).marginals()`. This function is faster, because it
    keeps no chain, and uses the arrays of the forward and backward passes again.

    Parameters
    ----------
    unaries
        For each sentence (n, n_tags), at least one token and one tag: natural-log score of each tag of each token.
        -inf forbids the tag.
    pairwise
        (n_tags, n_tags): score of each tag (row) and the next (column), for all sentences. -inf forbids the transition.

    Returns
    -------
    list of arrays of shape (n, n_tags), float64 in [0, 1]
        One array for each sentence, read-only; rows sum to 1. Arrays of neighbouring sentences share memory.

    Raises
    ------
    ParameterError
        If the scores of a sentence are invalid for `LinearChain.from_scores`.

    References
    ----------
    Rabiner (1989), section III.

    Examples
    --------
    >>> first, second = tag_marginals([[[0.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]]], [[0.0, float("-inf")], [0.0, 0.0]])
    >>> second.round(3)
    array([[0.333, 0.667],
           [0.667, 0.333]])
    """
    matrix = _valid_scores("pairwise", pairwise, 2)
    sentences = [np.asarray(scores) for scores in unaries]
    n_tags = matrix.shape[1]
    for c, scores in enumerate(sentences):
        if scores.ndim != 2 or scores.shape[0] == 0 or scores.shape[1] != n_tags or not matrix.shape[0] == n_tags > 0:
            rule = f"must have the shape (n, {n_tags}), at least one token and tag, and pairwise be square"
            got = f"got the shape {scores.shape}, and {matrix.shape} of pairwise"
            raise ParameterError(f"{rule}, {got}", parameter=f"unaries[{c}]")
        if scores.dtype.kind not in "iuf":
            _valid_scores(f"unaries[{c}]", scores, 2)
    lengths = [len(scores) for scores in sentences]
    n_most, first, n_tokens = min(_BATCH_TOKENS + max(lengths, default=0), sum(lengths)), 0, 0
    work = np.empty((4, n_most, n_tags))
    marginals: list[Floats] = []
    for stop in range(1, len(sentences) + 1):  # a batch of sentences, from `first` to before `stop`
        n_tokens += lengths[stop - 1]
        if n_tokens < _BATCH_TOKENS and stop < len(sentences):
            continue
        bounds, unary = np.cumsum([0, *lengths[first:stop]]), work[3, :n_tokens]
        np.concatenate(sentences[first:stop], out=unary)
        if not _are_valid(unary).all():
            for c in range(first, stop):
                _valid_scores(f"unaries[{c}]", sentences[c], 2)
        passes = Passes.of(bounds, unary, matrix[None], work[:3])
        for c, (a, b) in enumerate(neighbours(bounds.tolist()), start=first):
            passes.require_sequence(a, b, f"unaries[{c}]")
            marginals.append(passes.probs[a:b])
        first, n_tokens = stop, 0
    return marginals
