"""Marginals of the tags of many sentences, without keeping their chains."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise as neighbours

import numpy as np
import numpy.typing as npt

from corefsample._arrays import Floats, Ints
from corefsample._memory import require_memory
from corefsample.tagging import _chain_kernels
from corefsample.tagging._messages import Messages, NoSequenceError, messages_by_logs
from corefsample.tagging._passes import PassArrays, Transitions, passes, transitions_of
from corefsample.tagging._scores import batches, joined_scores, sentence_arrays, valid_scores

_BATCH_TOKENS = 768  # whose arrays stay in the processor's cache


def tag_marginals(unaries: Sequence[npt.ArrayLike], pairwise: npt.ArrayLike) -> list[Floats]:
    """Probability of each tag of each token of many sentences, with one matrix of transitions.

    The fast way if marginals are all that is needed: no chain is kept, and the arrays that the passes work in are used
    again. Results are those of `LinearChain.from_scores(unary, pairwise).marginals()`.

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
        One for each sentence, read-only; rows sum to 1. Those of neighbouring sentences share memory.

    Raises
    ------
    ParameterError
        As for `LinearChain.from_scores`.

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
    batch = _Batches(unaries, pairwise)
    found: list[Floats] = []
    for bounds, probs, _ in batch:
        probs.flags.writeable = False
        ends = bounds.tolist()
        found += [probs[a:b] for a, b in neighbours(ends)]
    return found


def tag_pair_marginals(unaries: Sequence[npt.ArrayLike], pairwise: npt.ArrayLike) -> Iterator[tuple[Floats, Floats]]:
    """Probability of each tag and of each pair of tags of neighbours, sentence by sentence, in one pass.

    Parameters
    ----------
    unaries, pairwise
        As for `tag_marginals`.

    Yields
    ------
    probs, pair_probs
        For each sentence float64 (n, n_tags), as of `tag_marginals`, and float64 (n - 1, n_tags, n_tags), as of
        `LinearChain.pair_marginals`; both read-only. The next sentence overwrites `pair_probs`: copy what is kept.

    Raises
    ------
    ParameterError
        As for `LinearChain.from_scores`: shapes are validated at once, the scores of a sentence before it is reached.
        Also if the pair marginals of the longest sentence do not fit into memory.

    Examples
    --------
    >>> for probs, pair_probs in tag_pair_marginals([[[0.0, 0.0], [0.0, 0.0]]], [[0.0, float("-inf")], [0.0, 0.0]]):
    ...     print(pair_probs.round(3))
    [[[0.333 0.   ]
      [0.333 0.333]]]
    """
    batch = _Batches(unaries, pairwise)
    n_cells = (batch.longest - 1) * batch.pairwise.size if batch.longest else 0
    hint = "LinearChain.pair_marginal_blocks computes those of a long sentence block by block"
    require_memory(8 * n_cells, parameter="unaries", what="an array of pair marginals", hint=hint)
    return _pairs(batch, np.empty(n_cells))


def _pairs(batch: _Batches, cells: Floats) -> Iterator[tuple[Floats, Floats]]:
    n_tags = len(batch.pairwise)
    weights = batch.transitions.weights
    for bounds, probs, by_logs in batch:
        probs.flags.writeable = False
        emissions, _, forward, scales, backward = batch.arrays
        ends = bounds.tolist()
        for c, (a, b) in enumerate(neighbours(ends)):
            pair_probs = cells[: (b - a - 1) * n_tags**2].reshape(b - a - 1, n_tags, n_tags)
            if c in by_logs:
                by_logs[c].fill_pairs(batch.rows[a:b], batch.pairwise[None], 0, pair_probs)
            else:
                _chain_kernels.pair_marginals(weights, a, emissions, forward, backward, scales, pair_probs)
            pair_probs.flags.writeable = False
            yield probs[a:b], pair_probs


class _Batches:
    """Passes of one batch of sentences after the other, in the same arrays.

    Iteration yields for each batch the bounds of its sentences, their marginals (fresh), and the messages of those
    sentences whose scores are too far apart for exponentials. `rows` and `arrays` belong to the batch yielded last.
    """

    def __init__(self, unaries: Sequence[npt.ArrayLike], pairwise: npt.ArrayLike) -> None:
        self.pairwise = valid_scores("pairwise", pairwise, (2,))
        self.pairwise.flags.writeable = False
        self._sentences = sentence_arrays(unaries, self.pairwise)
        self._lengths = [len(each) for each in self._sentences]
        self.longest = max(self._lengths, default=0)
        self.transitions: Transitions = transitions_of(self.pairwise[None])

    def __iter__(self) -> Iterator[tuple[Ints, Floats, dict[int, Messages]]]:
        n_tags = len(self.pairwise)
        n_tokens = min(_BATCH_TOKENS + self.longest, sum(self._lengths))
        scores, work = np.empty((n_tokens, n_tags)), PassArrays.empty(n_tokens, n_tags)
        for start, stop in batches(self._lengths, _BATCH_TOKENS):
            bounds = np.cumsum([0, *self._lengths[start:stop]])
            n = int(bounds[-1])
            joined_scores(self._sentences, start, stop, scores[:n])
            self.rows = scores[:n].view()
            self.rows.flags.writeable = False
            self.arrays, probs = work.rows(0, n), np.empty((n, n_tags))
            _, agree = passes(bounds, self.rows, self.transitions, self.arrays, probs)
            by_logs = {}
            for c in np.flatnonzero(~agree).tolist():
                a, b = bounds[c], bounds[c + 1]
                try:
                    by_logs[c] = messages_by_logs(self.rows[a:b], self.pairwise[None], chain=c)
                except NoSequenceError as error:
                    raise error.of_sentence(start) from None
                probs[a:b] = by_logs[c].probs
            yield bounds, probs, by_logs
