"""Distributions of tag sequences, whose score is a sum over tokens and neighbours: one chain, or marginals of many."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise as neighbours
from typing import Self

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample._arrays import Floats, Ints32
from corefsample._lazy import pd
from corefsample._machine import require_memory
from corefsample._random import document_key
from corefsample._results import HtmlTable, Result
from corefsample.errors import ParameterError
from corefsample.tagging import _passes
from corefsample.tagging._chain_kernels import best_sequences
from corefsample.tagging._passes import Messages, PassArrays, Transitions


@dataclass(frozen=True, slots=True, eq=False)
class BestSequences(Result):
    """The likeliest tag sequences of a chain, best first.

    Attributes
    ----------
    tags
        int32 (k, n), read-only: code of each tag of each sequence.
    log_probs
        float64 (k,), read-only, never rising: natural log of each sequence's probability.
    """

    tags: Ints32
    log_probs: Floats

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row per sequence and token: rank (from 0), log_prob, position, tag."""
        k, n = self.tags.shape
        return pd.DataFrame(
            {
                "rank": np.repeat(np.arange(k), n),
                "log_prob": np.repeat(self.log_probs, n),
                "position": np.tile(np.arange(n), k),
                "tag": self.tags.ravel(),
            }
        )


@dataclass(frozen=True, slots=True, eq=False)
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
    _messages: Messages = field(repr=False)

    def __repr__(self) -> str:
        return f"LinearChain(n={self.n}, n_tags={self.n_tags}, log_partition={self.log_partition:.6g})"

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
        return self._messages.log_partition

    @classmethod
    def from_scores(cls, unary: npt.ArrayLike, pairwise: npt.ArrayLike) -> Self:
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
        rows = _passes.valid_scores("unary", unary, (2,))
        matrices = _passes.valid_scores("pairwise", pairwise, (2, 3))
        n, n_tags = rows.shape
        if n == 0 or n_tags == 0:
            rule = "must have at least one token and one tag"
            raise ParameterError(f"{rule}, got the shape {rows.shape}", parameter="unary")
        expected = (n_tags, n_tags) if matrices.ndim == 2 else (n - 1, n_tags, n_tags)
        if matrices.shape != expected:
            rule = f"must have the shape {(n_tags, n_tags)} or {(n - 1, n_tags, n_tags)}, as unary has {rows.shape}"
            raise ParameterError(f"{rule}, got {matrices.shape}", parameter="pairwise")
        if matrices.ndim == 3 and n > 1:
            return cls(rows, matrices, _passes.messages_by_logs(rows, matrices))
        shared = matrices if matrices.ndim == 2 else np.zeros((n_tags, n_tags))
        transitions = Transitions.of(shared)
        batch = _passes.passes_of_rows(np.array([0, n]), rows, shared, transitions, PassArrays.empty(n, n_tags))
        return cls(rows, matrices, batch.by_logs.get(0) or Messages(batch.probs, batch.arrays, transitions))

    # --- exact figures -----------------------------------------------------------------------------------

    def marginals(self) -> Floats:
        """Probability of each tag of each token: float64 (n, n_tags), read-only; rows sum to 1."""
        return self._messages.probs

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

    def pair_marginal_blocks(self, block_size: int | None = None) -> Iterator[tuple[int, Floats]]:
        """Probability of each pair of tags of neighbours, a block of tokens at a time.

        Parameters
        ----------
        block_size
            Pairs of neighbours in a block, at least 1; by default as many as take about 2 MiB.

        Yields
        ------
        first, probs
            Index of the block's first token, and float64 (n_pairs, n_tags, n_tags): entry p is the matrix of tokens
            first + p and first + p + 1.
        """
        size = None if block_size is None else _checks.whole("block_size", block_size, 1)
        return ((first, self._pairs(first, stop)) for first, stop in _passes.blocks(self.n - 1, self.n_tags, size))

    def _pairs(self, first: int, stop: int) -> Floats:
        probs = np.empty((stop - first, self.n_tags, self.n_tags))
        self._messages.fill_pairs(self.unary, _stack(self.pairwise), first, probs)
        return probs

    def log_prob(self, tags: npt.ArrayLike) -> float:
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
        if sequence.shape != (self.n,):
            raise ParameterError(f"must be one for each of {self.n} tokens, got {sequence.size}", parameter="tags")
        in_range = (sequence >= 0) & (sequence < self.n_tags)
        _checks.require_all("tags", sequence, in_range, f"be from 0 to {self.n_tags - 1}")
        scores = self.unary[np.arange(self.n), sequence]
        matrices = _stack(self.pairwise)
        pairs = matrices[np.arange(self.n - 1) % len(matrices), sequence[:-1], sequence[1:]]
        return min(float(scores.sum() + pairs.sum()) - self.log_partition, 0.0)

    def map(self) -> Ints32:
        """Return the likeliest tag sequence, int32 (n,); of several, the first in lexicographic order of tags."""
        tags, _ = self._best(1)
        likeliest: Ints32 = tags[0]
        return likeliest

    def k_best(self, k: int) -> BestSequences:
        """Return the k likeliest tag sequences with their exact log probabilities.

        Parameters
        ----------
        k
            Number of sequences, at least 1. If fewer sequences are allowed, all of them are returned.

        Returns
        -------
        BestSequences
            Sequences, best first. Sequences of equal score come in lexicographic order of tags.

        Raises
        ------
        ParameterError
            If `k` is below 1, or the tables for `k` sequences do not fit into memory.
        """
        k = _checks.whole("k", k, 1)
        _checks.at_most("k", k, (2**31 - 1) // self.n_tags)
        require_memory(4 * k * self.n * (self.n_tags + 1), parameter="k", contents="a table of the best ends")
        tags, scores = self._best(k)
        return BestSequences(tags, np.minimum(scores - self.log_partition, 0.0))

    def _best(self, k: int) -> tuple[Ints32, Floats]:
        links = np.empty((self.n, self.n_tags, k), np.int32)
        tags, scores = np.empty((k, self.n), np.int32), np.empty(k)
        n_found = best_sequences(self.unary, _stack(self.pairwise), links, tags, scores)
        return tags[:n_found], scores[:n_found]

    def entropy(self) -> float:
        """Entropy of the distribution of sequences, in nats: that of the first tag, and of each tag given the last."""
        from scipy.special import entr, rel_entr

        probs = self.marginals()
        total = float(entr(probs[0]).sum())
        for first, pairs in self.pair_marginal_blocks():
            total -= float(rel_entr(pairs, probs[first : first + len(pairs), :, None]).sum())
        return max(total, 0.0)

    # --- samples -----------------------------------------------------------------------------------------

    def sample(self, n_samples: int = 1000, *, seed: int = 0, doc_id: str = "", first_sample: int = 0) -> Ints32:
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
        first_sample
            Index of the first sample, for drawing more later.

        Returns
        -------
        array of shape (n_samples, n), int32 in [0, n_tags)
            Code of each tag of each sample. The array is a transposed view: the samples of one token are contiguous.

        Raises
        ------
        ParameterError
            If n_samples, seed or first_sample is outside its range, or doc_id is not a string.

        References
        ----------
        Frühwirth-Schnatter (1994) for backward sampling; Steele, Lea & Flood (2014) for SplitMix64.
        """
        n_samples = _checks.n_samples(n_samples, 1)
        first_sample = _checks.whole("first_sample", first_sample, 0)
        _checks.at_most("first_sample", first_sample, 2**63 - 1 - n_samples)
        key = np.uint64(document_key(seed, doc_id))
        require_memory(4 * n_samples * self.n, parameter="n_samples", contents="an array of samples")
        tags = np.empty((self.n, n_samples), np.int32)
        self._messages.sample(_stack(self.pairwise), key, first_sample, tags)
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
    """Matrices in three dimensions: one for each pair of neighbours, or one for all, also where there is no pair."""
    if pairwise.ndim == 3 and len(pairwise) == 0:
        return np.zeros((1, *pairwise.shape[1:]))
    return pairwise[None] if pairwise.ndim == 2 else pairwise


def tag_marginals(unaries: Sequence[npt.ArrayLike], pairwise: npt.ArrayLike) -> list[Floats]:
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
    matrix = _passes.valid_scores("pairwise", pairwise, (2,))
    marginals: list[Floats] = []
    for batch in _passes.passes(_passes.sentence_arrays(unaries, matrix), matrix, Transitions.of(matrix)):
        marginals += [batch.probs[a:b] for a, b in neighbours(batch.bounds)]
    return marginals


def tag_pair_marginals(unaries: Sequence[npt.ArrayLike], pairwise: npt.ArrayLike) -> Iterator[tuple[Floats, Floats]]:
    """Probability of each tag and of each pair of tags of neighbours, sentence by sentence, in one pass.

    Parameters
    ----------
    unaries, pairwise
        Scores of the tags of each sentence, and of transitions between tags: see `tag_marginals`.

    Yields
    ------
    probs, pair_probs
        For each sentence, the result of `tag_marginals`, float64 (n, n_tags), and the result of
        `LinearChain.pair_marginals`, float64 (n - 1, n_tags, n_tags); both read-only. The next sentence overwrites
        `pair_probs`, so copy arrays that you keep.

    Raises
    ------
    ParameterError
        If scores are invalid for `LinearChain.from_scores`: the shapes of all sentences are validated first, the scores
        of each sentence when it is reached. Also if the pair marginals of the longest sentence do not fit into memory.

    Examples
    --------
    >>> for probs, pair_probs in tag_pair_marginals([[[0.0, 0.0], [0.0, 0.0]]], [[0.0, float("-inf")], [0.0, 0.0]]):
    ...     print(pair_probs.round(3))
    [[[0.333 0.   ]
      [0.333 0.333]]]
    """
    matrix = _passes.valid_scores("pairwise", pairwise, (2,))
    sentences = _passes.sentence_arrays(unaries, matrix)
    n_cells = max((len(each) - 1 for each in sentences), default=0) * matrix.size
    hint = "LinearChain.pair_marginal_blocks computes those of a long sentence block by block"
    require_memory(8 * n_cells, parameter="unaries", contents="an array of pair marginals", hint=hint)
    return _pairs(sentences, matrix, np.empty(n_cells))


def _pairs(sentences: list[npt.NDArray[np.number]], pairwise: Floats, cells: Floats) -> Iterator[tuple[Floats, Floats]]:
    n_tags, transitions = len(pairwise), Transitions.of(pairwise)
    for bounds, rows, arrays, probs, by_logs in _passes.passes(sentences, pairwise, transitions):
        messages = Messages(probs, arrays, transitions)
        for c, (a, b) in enumerate(neighbours(bounds)):
            pair_probs = cells[: (b - a - 1) * n_tags**2].reshape(b - a - 1, n_tags, n_tags)
            if c in by_logs:
                by_logs[c].fill_pairs(rows[a:b], pairwise[None], 0, pair_probs)
            else:
                messages.fill_pairs(rows, pairwise[None], a, pair_probs)
            pair_probs.flags.writeable = False
            yield probs[a:b], pair_probs
