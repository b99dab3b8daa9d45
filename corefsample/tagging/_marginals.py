"""Marginals of the tags of many sentences, without keeping their chains."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise as neighbours

import numpy as np
import numpy.typing as npt

from corefsample._arrays import Floats
from corefsample._memory import require_memory
from corefsample.tagging._passes import Messages, Transitions, passes, sentence_arrays, valid_scores


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
    matrix = valid_scores("pairwise", pairwise, (2,))
    found: list[Floats] = []
    for batch in passes(sentence_arrays(unaries, matrix), matrix, Transitions.of(matrix), again=True):
        found += [batch.probs[a:b] for a, b in neighbours(batch.bounds)]
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
    matrix = valid_scores("pairwise", pairwise, (2,))
    sentences = sentence_arrays(unaries, matrix)
    n_cells = max((len(each) - 1 for each in sentences), default=0) * matrix.size
    hint = "LinearChain.pair_marginal_blocks computes those of a long sentence block by block"
    require_memory(8 * n_cells, parameter="unaries", what="an array of pair marginals", hint=hint)
    return _pairs(sentences, matrix, np.empty(n_cells))


def _pairs(sentences: list[npt.NDArray[np.number]], pairwise: Floats, cells: Floats) -> Iterator[tuple[Floats, Floats]]:
    n_tags, transitions = len(pairwise), Transitions.of(pairwise)
    for bounds, rows, arrays, probs, by_logs in passes(sentences, pairwise, transitions, again=True):
        whole = Messages(probs, arrays, transitions)
        for c, (a, b) in enumerate(neighbours(bounds)):
            pair_probs = cells[: (b - a - 1) * n_tags**2].reshape(b - a - 1, n_tags, n_tags)
            if c in by_logs:
                by_logs[c].fill_pairs(rows[a:b], pairwise[None], 0, pair_probs)
            else:
                whole.fill_pairs(rows, pairwise[None], a, pair_probs)
            pair_probs.flags.writeable = False
            yield probs[a:b], pair_probs
