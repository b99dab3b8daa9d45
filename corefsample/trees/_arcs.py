"""Distributions over the dependency trees of a sentence, given by scores of arcs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample._arrays import Bools, Floats, HtmlTable, Ints, Ints32, Words
from corefsample._lazy import needed
from corefsample._random import document_key
from corefsample._random_kernels import splitmix64
from corefsample.errors import ParameterError
from corefsample.trees import _tree_kernels
from corefsample.trees._inference import log_partition_and_marginals, shifted_scores

_LARGEST = 1e300  # sums over the arcs of a tree are finite


def checked_scores(values: npt.ArrayLike) -> Floats:
    """New read-only float64 (n, n + 1), with -inf on the diagonal of heads, or raise."""
    array = _checks.regular_array("scores", values)
    if array.ndim != 2 or array.dtype.kind not in "iuf":
        rule = f"must be numbers in 2 dimensions, got {array.ndim} of {array.dtype}"
        raise ParameterError(rule, parameter="scores")
    scores = array.astype(np.float64)
    n = scores.shape[0]
    if n < 1 or scores.shape[1] != n + 1:
        raise ParameterError(f"must be (n, n + 1) with n at least 1, got shape {scores.shape}", parameter="scores")
    scores[np.arange(n), np.arange(n) + 1] = -np.inf
    _checks.require_all("scores", scores, scores < np.inf, "be finite or -inf")
    within = (np.abs(scores) <= _LARGEST) | (scores == -np.inf)
    _checks.require_all("scores", scores, within, f"be from -{_LARGEST:g} to {_LARGEST:g}, or -inf")
    _require_tree(scores)
    scores.flags.writeable = False
    return scores


def checked_heads(values: npt.ArrayLike, n: int) -> Ints:
    """Heads of one tree as int64 (n,), or raise; whether they form a tree is not checked."""
    heads = _checks.integers("heads", values)
    if heads.shape != (n,):
        raise ParameterError(f"must be {n} heads, got {len(heads)}", parameter="heads")
    _checks.require_all("heads", heads, (heads >= -1) & (heads < n), f"be from -1 to {n - 1}")
    return heads


def _require_tree(scores: Floats) -> None:
    """Raise if no token that may be the root can be reached from all tokens."""
    if np.isfinite(scores[:, 0]).any() and np.isfinite(scores[:, 1:]).sum() == scores.shape[0] * (len(scores) - 1):
        return
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    allowed = scores[:, 1:] > -np.inf
    graph: Any = csr_array(allowed)
    _, component = connected_components(graph, connection="strong")
    dependents, heads = np.nonzero(allowed)
    leaving = component[dependents] != component[heads]
    final = np.setdiff1d(component, component[dependents[leaving]])  # no way leads out of these
    if len(final) > 1 or not np.isfinite(scores[component == final[0], 0]).any():
        tokens = ", ".join(str(int(np.flatnonzero(component == c)[0])) for c in final[:5])
        rule = "must allow a tree with a single root"
        raise ParameterError(f"{rule}, got no way to one from the tokens {tokens}", parameter="scores")


@dataclass(frozen=True, eq=False)
class ArcDistribution(HtmlTable):
    """Distribution over the dependency trees of one sentence: P(tree) is proportional to exp(sum of its arcs' scores).

    Trees have a single root and may be non-projective. Make one with `from_scores`.

    Attributes
    ----------
    scores
        float64 (n, n + 1), read-only: natural-log scores. Row i has the scores of the heads of token i: column 0 is the
        root, and column k is token k - 1. A score is -inf if the arc is not allowed, and for the token itself.
    """

    scores: Floats

    def __repr__(self) -> str:
        return f"ArcDistribution(n={self.n})"

    @classmethod
    def from_scores(cls, scores: npt.ArrayLike) -> Self:
        """Build a distribution over trees from the scores of arcs.

        Parameters
        ----------
        scores
            float (n, n + 1), n at least 1: natural-log scores of arcs. Row i is token i as the dependent; column 0 is
            the root as its head, and column k is token k - 1 as its head. -inf forbids an arc. Scores of a token as its
            own head are ignored. Adding a number to a row changes no probability.

        Raises
        ------
        ParameterError
            If a score is NaN or +inf, the shape is not (n, n + 1), or the scores allow no tree.

        Examples
        --------
        >>> two_words = ArcDistribution.from_scores([[0.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
        >>> two_words.marginals().round(3)
        array([[0.731, 0.   , 0.269],
               [0.269, 0.731, 0.   ]])
        """
        return cls(checked_scores(scores))

    @property
    def n(self) -> int:
        """Number of tokens."""
        return int(self.scores.shape[0])

    @cached_property
    def _inference(self) -> tuple[float, Floats]:
        return log_partition_and_marginals(self.scores)

    @property
    def log_partition(self) -> float:
        """Logarithm of the sum of exp(score) over all single-root trees."""
        return self._inference[0]

    def marginals(self) -> Floats:
        """Probability of each arc.

        By the matrix-tree theorem: the minors of the graph's Laplacian are sums over trees. Where its inverse would not
        give each probability to 1e-11, elimination on logarithms without subtractions gives all of them, whatever the
        size of the scores.

        Returns
        -------
        float64 (n, n + 1), read-only
            Rows sum to one, and so does column 0, because a tree has one root.

        References
        ----------
        Koo, Globerson, Carreras & Collins (2007), "Structured Prediction Models via the Matrix-Tree Theorem";
        Alfa, Xue & Ye (2002), "Accurate computation of the smallest eigenvalue of a diagonally dominant M-matrix".
        """
        return self._inference[1]

    def log_prob(self, heads: npt.ArrayLike) -> float:
        """Logarithm of the probability of a tree.

        Parameters
        ----------
        heads
            int (n,): head of each token, -1 for the root.

        Returns
        -------
        float
            Natural logarithm; -inf for heads that are not a tree with a single root, or have an arc that is not
            allowed.
        """
        tree = checked_heads(heads, self.n)
        if not is_tree(tree):
            return -np.inf
        return float(np.sum(self.scores[np.arange(self.n), tree + 1])) - self.log_partition

    def map(self) -> Ints32:
        """Most probable tree: int32 (n,), the head of each token, -1 for the root.

        If the most probable head of each token and the best root form a tree, it is the result. Otherwise networkx
        searches for the tree, among the arcs that a bound on its score does not exclude.
        """
        return best_heads(self.scores)

    def entropy(self) -> float:
        """Entropy of the distribution over trees, in nats."""
        marginals = self.marginals()
        used = marginals > 0
        return max(self.log_partition - float(np.sum(marginals[used] * self.scores[used])), 0.0)

    def independent_tree_probability(self) -> float:
        """Probability that heads drawn independently, each from the softmax of its token's scores, form a tree."""
        largest = np.max(self.scores, axis=1)
        row_sums = largest + np.log(np.sum(np.exp(self.scores - largest[:, None]), axis=1))
        return min(float(np.exp(self.log_partition - np.sum(row_sums))), 1.0)

    def sample(self, n_samples: int = 1000, *, seed: int = 0, doc_id: str = "", sentence: int = 0) -> Ints32:
        """Draw trees, exactly and independently.

        The root is drawn from its exact marginals. Given the root, Wilson's algorithm draws the rest by random walks. A
        sample whose walks take long is drawn anew, token by token, each head from its exact probabilities given those
        before. That is no source of bias: the number of steps is independent of the tree, as the cycles that the walks
        erase are.

        A sample depends only on the scores and (seed, doc_id, sentence, index of the sample): the first 100 of 1,000
        are the same as 100. The random words are SplitMix64's.

        Parameters
        ----------
        n_samples
            Number of samples, at least 1.
        seed
            Seed of the samples, in [0, 2**64).
        doc_id, sentence
            Id of the document and number of the sentence in it, at least 0, which give each sentence of a corpus a
            random stream of its own.

        Returns
        -------
        int32 (n_samples, n)
            Head of each token in each sample, -1 for the root.

        Raises
        ------
        ParameterError
            If `n_samples`, `seed` or `sentence` is outside its range, or `doc_id` is not text.

        References
        ----------
        Wilson (1996), "Generating random spanning trees more quickly than the cover time"; Propp & Wilson (1998),
        theorem 6.1, for the independence; Stanojević (2022), "Unbiased and Efficient Sampling of Dependency Trees".
        """
        n_samples = _checks.n_samples(n_samples, 1)
        key = self._key(seed, doc_id, sentence)
        log_weights, _, _ = shifted_scores(self.scores)
        heads, words = np.empty((n_samples, self.n), np.int32), np.empty(n_samples, np.uint64)
        head_sums, root_sums = np.cumsum(np.exp(log_weights), axis=1), np.cumsum(self.marginals()[:, 0])
        most_steps = _MOST_STEPS + _MOST_STEPS_OF_PAIR * self.n**2
        _tree_kernels.sample_trees(head_sums, root_sums, most_steps, key, words, heads)
        slow = np.flatnonzero((heads == _tree_kernels.NOT_DRAWN).any(axis=1))
        if slow.size:
            _draw_by_marginals(self.scores, slow, words, heads)
        return heads

    def _key(self, seed: int, doc_id: str, sentence: int) -> np.uint64:
        """Key of a sentence's stream: the first word of the stream seeded with that of the document, at `sentence`."""
        sentence = _checks.whole("sentence", sentence, 0)
        _checks.at_most("sentence", sentence, 2**62)
        words = np.empty(1, np.uint64)
        splitmix64(np.uint64(document_key(seed, doc_id)), sentence, words)
        return np.uint64(words[0])


def is_tree(heads: Ints) -> bool:
    """Whether heads, -1 for the root, form a tree with a single root."""
    if np.count_nonzero(heads == -1) != 1:
        return False
    above = heads.copy()
    for _ in range(len(heads).bit_length()):  # each round doubles how far up the tree `above` points
        above = np.where(above < 0, -1, above[np.maximum(above, 0)])
    return bool(np.all(above == -1))


# Steps of the walks of a sample, together, before it is drawn in another way: some, and more for each pair of tokens.
_MOST_STEPS, _MOST_STEPS_OF_PAIR = 1000, 20


def _draw_by_marginals(scores: Floats, samples: Ints, words: Words, heads: Ints32) -> None:
    """Draw the heads of some samples token by token, given their roots; samples with the same heads share the work."""
    n = len(scores)
    uniforms = np.empty((len(heads), n))
    for s in samples.tolist():
        outputs = np.empty(n, np.uint64)
        splitmix64(words[s], 0, outputs)
        uniforms[s] = ((outputs >> np.uint64(11)) + 0.5) * 2.0**-53
    roots = heads[samples].argmax(axis=1)  # -1, above NOT_DRAWN
    work = []
    for root in np.unique(roots).tolist():
        of_root = scores.copy()
        of_root[:, 0], of_root[root], of_root[root, 0] = -np.inf, -np.inf, 0.0
        work.append((of_root, samples[roots == root], [i for i in range(n) if i != root]))
    while work:
        constrained, drawn, tokens = work.pop()
        if not tokens:
            continue
        i = tokens[0]
        sums = np.cumsum(log_partition_and_marginals(constrained)[1][i])
        columns = np.searchsorted(sums, uniforms[drawn, i] * sums[-1], side="right")
        heads[drawn, i] = columns - 1
        for column in np.unique(columns).tolist():
            with_head = constrained.copy()
            with_head[i], with_head[i, column] = -np.inf, constrained[i, column]
            work.append((with_head, drawn[columns == column], tokens[1:]))


_FEW = 6  # heads of each token that the first search is limited to


def best_heads(scores: Floats) -> Ints32:
    """Heads of a tree with the largest sum of scores, for scores (n, n + 1) that allow a tree.

    No tree is better than the best heads of all tokens and the best root. A tree of few arcs per token gives a lower
    bound, and an arc with which this upper bound is below it is in no best tree. Networkx searches the others.
    """
    n = len(scores)
    best = np.max(scores[:, 1:], axis=1)
    forced = best == -np.inf
    without_root = np.where(forced, 0.0, best)
    roots = scores[:, 0] - without_root
    if forced.any():
        roots[~forced] = -np.inf
    root = int(np.argmax(roots))
    heads = np.argmax(scores[:, 1:], axis=1)
    heads[root] = -1
    if is_tree(heads):
        trivial: Ints32 = heads.astype(np.int32)
        return trivial
    # What a tree loses against the upper bound if it has an arc, at least.
    losses = np.concatenate([(roots[root] - roots)[:, None], without_root[:, None] - scores[:, 1:]], axis=1)
    few = losses <= np.sort(losses, axis=1)[:, [min(_FEW, n)]]
    few[:, 0] = True
    first_tree = _arborescence(scores, few & np.isfinite(losses))
    everything: Bools = np.isfinite(losses)
    if first_tree is not None:
        tokens = np.arange(n)
        loss = losses[tokens, first_tree + 1].sum()
        everything &= losses <= loss + 1e-9 * max(abs(loss), 1.0)
    result = _arborescence(scores, everything)
    assert result is not None  # the scores allow a tree
    return result


def _arborescence(scores: Floats, allowed: Bools) -> Ints32 | None:
    """Best tree of the allowed arcs, or None if these arcs do not contain a tree."""
    nx = needed("networkx")

    dependents, columns = np.nonzero(allowed)
    values = scores[dependents, columns].copy()
    # A penalty larger than any difference between trees, so that the best arborescence has the fewest roots.
    spread = float(np.ptp(values)) + 1.0
    values[columns == 0] -= spread * (len(scores) + 1)
    graph = nx.DiGraph()
    graph.add_nodes_from(range(len(scores) + 1))
    graph.add_weighted_edges_from(zip(columns.tolist(), (dependents + 1).tolist(), values.tolist(), strict=True))
    try:
        tree = nx.maximum_spanning_arborescence(graph)
    except nx.NetworkXException:
        return None
    heads = np.full(len(scores), -1, np.int32)
    for head, dependent in tree.edges:
        heads[dependent - 1] = head - 1
    return heads if np.count_nonzero(heads == -1) == 1 else None
