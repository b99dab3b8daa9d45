"""The distribution of a tag sequence whose score is a sum over tokens and pairs of neighbours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample._arrays import Floats, Ints32
from corefsample._memory import require_memory
from corefsample._random import document_key
from corefsample.errors import ParameterError
from corefsample.tagging import _chain_kernels, _information_kernels, _log_kernels, _search_kernels
from corefsample.tagging._messages import (
    Messages,
    NoSequenceError,
    messages_of_chain,
    messages_of_chains,
    transitions_of,
)

if TYPE_CHECKING:
    import pandas as pd

_BLOCK_CELLS = 2**18  # of the pair marginals that are computed together by default
_BATCH_TOKENS = 1024  # whose arrays stay in the processor's cache


@dataclass(frozen=True, slots=True, eq=False)
class LinearChain:
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
        rows = _scores("unary", unary, (2,))
        matrices = _scores("pairwise", pairwise, (2, 3))
        n, n_tags = rows.shape
        if n == 0 or n_tags == 0:
            rule = "must have at least one token and one tag"
            raise ParameterError(f"{rule}, got the shape {rows.shape}", parameter="unary")
        expected = (n_tags, n_tags) if matrices.ndim == 2 else (n - 1, n_tags, n_tags)
        if matrices.shape != expected:
            rule = f"must have the shape {(n_tags, n_tags)} or {(n - 1, n_tags, n_tags)}, as unary has {rows.shape}"
            raise ParameterError(f"{rule}, got {matrices.shape}", parameter="pairwise")
        rows.flags.writeable = matrices.flags.writeable = False
        if matrices.ndim == 3 and n > 1:
            messages = messages_of_chain(rows, matrices)
        else:
            shared = matrices if matrices.ndim == 2 else np.zeros((n_tags, n_tags))
            (messages,) = messages_of_chains(np.array([0, n]), rows, shared)
        return cls(rows, matrices, messages)

    @classmethod
    def from_batch(cls, unaries: Sequence[npt.ArrayLike], pairwise: npt.ArrayLike) -> list[Self]:
        """Build the chains of many sentences with one matrix of transitions, in a fraction of the time.

        Results are those of `from_scores`. Chains of a batch share memory, so that one of them keeps that of its
        neighbours in use.

        Parameters
        ----------
        unaries
            For each sentence (n, n_tags), as for `from_scores`.
        pairwise
            (n_tags, n_tags), the same for all.

        Raises
        ------
        ParameterError
            As for `from_scores`.
        """
        matrix = _scores("pairwise", pairwise, (2,))
        arrays = [np.asarray(each) for each in unaries]
        for c, each in enumerate(arrays):
            if each.ndim != 2 or each.shape[0] == 0 or matrix.shape != (each.shape[1], each.shape[1]):
                rule = f"must have the shape (n, {matrix.shape[1]}), at least one token and tag, and pairwise be square"
                got = f"got the shape {each.shape}, and {matrix.shape} of pairwise"
                raise ParameterError(f"{rule}, {got}", parameter=f"unaries[{c}]")
        transitions = transitions_of(matrix[None])
        matrix.flags.writeable = False
        chains: list[Self] = []
        for start, stop in _batches([len(each) for each in arrays]):
            rows = np.concatenate(arrays[start:stop])
            rows.flags.writeable = False
            try:
                rows = _scores("unaries", rows, (2,))
            except ParameterError:  # name the sentence instead
                for c in range(start, stop):
                    _scores(f"unaries[{c}]", arrays[c], (2,))
                raise
            bounds = np.cumsum([0, *(len(each) for each in arrays[start:stop])])
            try:
                messages = messages_of_chains(bounds, rows, matrix, transitions)
            except NoSequenceError as error:
                place = f"unaries[{start + error.chain}]"
                raise ParameterError(error.message, parameter="scores", place=place) from None
            ends = bounds.tolist()
            chains += [cls(rows[a:b], matrix, each) for a, b, each in zip(ends, ends[1:], messages, strict=False)]
        return chains

    # --- exact figures -----------------------------------------------------------------------------------

    def marginals(self) -> Floats:
        """Probability of each tag of each token: float64 (n, n_tags), read-only; rows sum to 1."""
        return self._messages.probs

    def pair_marginals(self) -> Floats:
        """Probability of each pair of tags of neighbours: float64 (n - 1, n_tags, n_tags).

        Raises
        ------
        ParameterError
            If they do not fit into memory; `pair_marginal_blocks` needs little.
        """
        hint = "pair_marginal_blocks computes them block by block"
        n_cells = (self.n - 1) * self.n_tags**2
        require_memory(8 * n_cells, parameter="n", what="an array of pair marginals", hint=hint)
        probs = np.empty((self.n - 1, self.n_tags, self.n_tags))
        self._messages.fill_pairs(self.unary, _stack(self.pairwise), 0, probs)
        return probs

    def pair_marginal_blocks(self, block_size: int | None = None) -> Iterator[tuple[int, Floats]]:
        """Probability of each pair of tags of neighbours, a block of tokens at a time.

        Parameters
        ----------
        block_size
            Pairs of neighbours in a block, at least 1; by default as many as take about 2 MiB.

        Yields
        ------
        first, probs
            probs[p] is the float64 (n_tags, n_tags) matrix of tokens first + p and first + p + 1.
        """
        default = max(_BLOCK_CELLS // self.n_tags**2, 1)
        size = default if block_size is None else _checks.whole("block_size", block_size, 1)
        return self._pair_blocks(size)

    def _pair_blocks(self, size: int) -> Iterator[tuple[int, Floats]]:
        for first in range(0, self.n - 1, size):
            probs = np.empty((min(size, self.n - 1 - first), self.n_tags, self.n_tags))
            self._messages.fill_pairs(self.unary, _stack(self.pairwise), first, probs)
            yield first, probs

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
        outside = np.flatnonzero((sequence < 0) | (sequence >= self.n_tags))
        if outside.size:
            place = f"tags[{outside[0]}]"
            raise ParameterError(f"must be from 0 to {self.n_tags - 1}, got {sequence[outside[0]]}", parameter=place)
        scores = self.unary[np.arange(self.n), sequence]
        before, after = sequence[:-1], sequence[1:]
        pairs = (
            self.pairwise[before, after]
            if self.pairwise.ndim == 2
            else self.pairwise[np.arange(self.n - 1), before, after]
        )
        return min(float(scores.sum() + pairs.sum()) - self.log_partition, 0.0)

    def map(self) -> Ints32:
        """Return the likeliest tag sequence, int32 (n,); of several, the first in lexicographic order of tags."""
        tags = np.empty(self.n, np.int32)
        _search_kernels.best_tags(self.unary, _stack(self.pairwise), tags)
        return tags

    def k_best(self, k: int) -> BestSequences:
        """Return the k likeliest tag sequences with their exact log probabilities.

        Parameters
        ----------
        k
            At least 1. Where fewer sequences are allowed, all of them are returned.

        Returns
        -------
        BestSequences
            Best first. Sequences of equal score come in lexicographic order of tags.

        Raises
        ------
        ParameterError
            If k is below 1, or its tables do not fit into memory.
        """
        k = _checks.whole("k", k, 1)
        _checks.at_most("k", k, (2**31 - 1) // self.n_tags)
        require_memory(4 * k * self.n * (self.n_tags + 1), parameter="k", what="a table of the best ends")
        links = np.empty((self.n, self.n_tags, k), np.int32)
        tags, scores = np.empty((k, self.n), np.int32), np.empty(k)
        found = _search_kernels.best_sequences(self.unary, _stack(self.pairwise), links, tags, scores)
        return BestSequences(tags[:found], np.minimum(scores[:found] - self.log_partition, 0.0))

    def entropy(self) -> float:
        """Entropy of the distribution of sequences, in nats: exact, by the chain rule, without cancellation."""
        return _information_kernels.entropy(*self._conditionals(), self._messages.probs)

    def kl_divergence(self, other: LinearChain) -> float:
        """Kullback-Leibler divergence of `other` from this chain, in nats: exact, by the chain rule.

        It is the expectation, under this chain, of the difference of the two log probabilities: 0 for equal
        distributions, infinite where `other` forbids a sequence that has a probability here.

        Raises
        ------
        ParameterError
            If `other` has another number of tokens or tags.
        """
        if not isinstance(other, LinearChain) or other.unary.shape != self.unary.shape:
            rule = f"must be a LinearChain of {self.n} tokens and {self.n_tags} tags"
            raise ParameterError(f"{rule}, got {_checks.shown(other)}", parameter="other")
        conditionals = self._conditionals()
        return _information_kernels.divergence(*conditionals, self._messages.probs, *other._conditionals())

    def _conditionals(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Scores, and the weights of ends as logarithms, which hold any ratio."""
        backward, scales = np.empty(self.unary.shape), np.empty(self.n)
        pairwise = _stack(self.pairwise)
        _log_kernels.log_backward_pass(self.unary, pairwise, backward, scales)
        return self.unary, pairwise, backward, scales

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
            At least 1.
        seed
            In [0, 2**64).
        doc_id
            Gives each sentence or document a random stream of its own.
        first_sample
            Index of the first sample, for drawing more later.

        Returns
        -------
        array of shape (n_samples, n), int32 in [0, n_tags)
            A transposed view: the samples of one token are contiguous.

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
        require_memory(4 * n_samples * self.n, parameter="n_samples", what="an array of samples")
        tags = np.empty((self.n, n_samples), np.int32)
        self._messages.sample(_stack(self.pairwise), key, first_sample, tags)
        return tags.T

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row per token and tag: position, tag, probability (the marginal)."""
        import pandas as pd

        return pd.DataFrame(
            {
                "position": np.repeat(np.arange(self.n), self.n_tags),
                "tag": np.tile(np.arange(self.n_tags), self.n),
                "probability": self.marginals().ravel(),
            }
        )


@dataclass(frozen=True, slots=True, eq=False)
class BestSequences:
    """The likeliest tag sequences of a chain, best first.

    Attributes
    ----------
    tags
        int32 (k, n), read-only.
    log_probs
        float64 (k,), read-only, never rising: natural log of each sequence's probability.
    """

    tags: Ints32
    log_probs: Floats

    def __post_init__(self) -> None:
        self.tags.flags.writeable = self.log_probs.flags.writeable = False

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row per sequence and token: rank (from 0), log_prob, position, tag."""
        import pandas as pd

        k, n = self.tags.shape
        return pd.DataFrame(
            {
                "rank": np.repeat(np.arange(k), n),
                "log_prob": np.repeat(self.log_probs, n),
                "position": np.tile(np.arange(n), k),
                "tag": self.tags.ravel(),
            }
        )


def _batches(lengths: list[int]) -> Iterator[tuple[int, int]]:
    """Runs of sentences of about _BATCH_TOKENS tokens: (start, stop)."""
    start, n_tokens = 0, 0
    for c, length in enumerate(lengths):
        n_tokens += length
        if n_tokens >= _BATCH_TOKENS or c == len(lengths) - 1:
            yield start, c + 1
            start, n_tokens = c + 1, 0


def _scores(name: str, values: npt.ArrayLike, dimensions: tuple[int, ...]) -> Floats:
    """Return valid scores as a contiguous float64 array that nobody else can change, or raise."""
    given = np.asarray(values)
    if given.ndim not in dimensions or (given.size and given.dtype.kind not in "iuf"):
        rule = f"must be numbers in {' or '.join(map(str, dimensions))} dimensions"
        described = f"{given.ndim} dimension{'s' * (given.ndim != 1)} of {given.dtype}"
        raise ParameterError(f"{rule}, got {described}", parameter=name)
    kept = given.dtype == np.float64 and given.flags.c_contiguous and not given.flags.writeable
    scores: Floats = given if kept else np.array(given, np.float64, order="C")
    if _chain_kernels.count_invalid(scores.reshape(-1)):
        with np.errstate(invalid="ignore"):
            valid = (np.abs(scores) <= _chain_kernels.LARGEST_SCORE) | (scores == -np.inf)
        place = np.argwhere(~valid)[0].tolist()
        rule = f"must be -inf or a number of at most {_chain_kernels.LARGEST_SCORE:g} in size"
        raise ParameterError(f"{rule}, got {float(scores[tuple(place)])}", parameter=f"{name}{place}")
    return scores


def _stack(pairwise: Floats) -> Floats:
    """Matrices in three dimensions: one for each pair of neighbours, or one for all, also where there is no pair."""
    if pairwise.ndim == 3 and len(pairwise) == 0:
        return np.zeros((1, *pairwise.shape[1:]))
    return pairwise[None] if pairwise.ndim == 2 else pairwise
