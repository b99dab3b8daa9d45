"""Distributions over the dependency trees of a sentence, given by scores of arcs.

Legend of dimensions and names
    i : token as a dependent     j, k : token as a head     n : number of tokens     s : sample
    log_weights (n, n)   : scores of heads, each row with a maximum of 0; -inf on the diagonal
    log_roots (n,)       : scores of the root, shifted as the rows are, then to a maximum of 0
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from corefsample import _checks
from corefsample._arrays import Floats, HtmlTable, Ints, Ints32, Words
from corefsample._jit import inner_kernel, kernel
from corefsample._lazy import needed
from corefsample._random import document_key
from corefsample._random_kernels import GAMMA, mix, splitmix64, uniform
from corefsample.errors import ParameterError

_LARGEST = 1e300  # sums over the arcs of a tree are finite
_MOST_ERROR = 1e-11  # of a marginal that is computed from the inverse of a matrix
# Steps of the walks of a sample, together, before it is drawn in another way: some, and more for each pair of tokens.
_MOST_STEPS, _MOST_STEPS_OF_PAIR = 1000, 20
ROOT, NOT_DRAWN = -1, -2  # heads


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


@dataclass(frozen=True, eq=False, repr=False)
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

    @classmethod
    def from_scores(cls, scores: np.typing.ArrayLike) -> Self:
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
        array = _checks.numbers_in("scores", scores, 2).astype(np.float64)
        n = array.shape[0]
        shape = f"shape {array.shape}"
        _checks.require("scores", n >= 1 and array.shape[1] == n + 1, "must be (n, n + 1) with n at least 1", shape)
        array[np.arange(n), np.arange(n) + 1] = -np.inf
        _checks.require_all("scores", array, array < np.inf, "be finite or -inf")
        within = (np.abs(array) <= _LARGEST) | (array == -np.inf)
        _checks.require_all("scores", array, within, f"be from -{_LARGEST:g} to {_LARGEST:g}, or -inf")
        _require_tree(array)
        array.flags.writeable = False
        return cls(array)

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

    def log_prob(self, heads: np.typing.ArrayLike) -> float:
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
        tree = _checks.integers("heads", heads)
        _checks.require("heads", tree.shape == (self.n,), f"must be {self.n} heads", len(tree))
        _checks.require_all("heads", tree, (tree >= -1) & (tree < self.n), f"be from -1 to {self.n - 1}")
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
        sample whose walks take long is drawn again, token by token, each head from its exact probabilities given those
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
        _checks.at_most("sentence", _checks.whole("sentence", sentence, 0), 2**62)
        key = np.empty(1, np.uint64)  # the first word of the document's stream at `sentence`
        splitmix64(np.uint64(document_key(seed, doc_id)), sentence, key)
        log_weights, _, _ = shifted_scores(self.scores)
        heads, words = np.empty((n_samples, self.n), np.int32), np.empty(n_samples, np.uint64)
        head_sums, root_sums = np.cumsum(np.exp(log_weights), axis=1), np.cumsum(self.marginals()[:, 0])
        most_steps = _MOST_STEPS + _MOST_STEPS_OF_PAIR * self.n**2
        sample_trees(head_sums, root_sums, most_steps, key[0], words, heads)
        slow = np.flatnonzero((heads == NOT_DRAWN).any(axis=1))
        if slow.size:
            _draw_by_marginals(self.scores, slow, words, heads)
        return heads


def is_tree(heads: Ints) -> bool:
    """Whether heads, -1 for the root, form a tree with a single root."""
    if np.count_nonzero(heads == -1) != 1:
        return False
    above = heads.copy()
    for _ in range(len(heads).bit_length()):  # each round doubles how far up the tree `above` points
        above = np.where(above < 0, -1, above[np.maximum(above, 0)])
    return bool(np.all(above == -1))


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
    nx = needed("networkx")
    dependents, columns = np.nonzero(np.isfinite(scores))
    values = scores[dependents, columns].copy()
    # A penalty larger than any difference between trees, so that the best arborescence has the fewest roots: one.
    values[columns == 0] -= (float(np.ptp(values)) + 1.0) * (n + 1)
    graph = nx.DiGraph()
    graph.add_nodes_from(range(n + 1))
    graph.add_weighted_edges_from(zip(columns.tolist(), (dependents + 1).tolist(), values.tolist(), strict=True))
    tree_heads = np.full(n, -1, np.int32)
    for head, dependent in nx.maximum_spanning_arborescence(graph).edges:
        tree_heads[dependent - 1] = head - 1
    return tree_heads


# --- exact inference -----------------------------------------------------------------------------------------


def shifted_scores(scores: Floats) -> tuple[Floats, Floats, float]:
    """Logarithms of the weights of heads and of the root for scores (n, n + 1), and the sum of all shifts."""
    largest = scores[:, 1:].max(axis=1)
    shifts = np.where(largest > -np.inf, largest, 0.0)  # a token without other heads is the root
    log_roots = scores[:, 0] - shifts
    shift = float(log_roots.max())
    return scores[:, 1:] - shifts[:, None], log_roots - shift, math.fsum((*shifts.tolist(), shift))


def log_partition_and_marginals(scores: Floats) -> tuple[float, Floats]:
    """Logarithm of the sum of exp(score) over trees, and the probability of each arc (n, n + 1), for checked scores.

    By the matrix-tree theorem, where rounding cannot matter; otherwise by elimination on logarithms, which never
    subtracts weights, so that scores may be of any size.
    """
    log_weights, log_roots, shift = shifted_scores(scores)
    result = _by_inverse(np.exp(log_weights), np.exp(log_roots)) or _by_elimination(log_weights, log_roots)
    log_total, marginals = result
    marginals /= marginals.sum(axis=1, keepdims=True)
    marginals.flags.writeable = False
    return log_total + shift, marginals


def _by_inverse(weights: Floats, roots: Floats) -> tuple[float, Floats] | None:
    """Logarithm of the sum and marginals from the inverse of the Laplacian, or None if they could be inaccurate."""
    n = len(weights)
    laplacian = np.diag(weights.sum(axis=1)) - weights
    laplacian[:, 0] = roots  # so that the determinant is a sum over trees with a single root (Koo et al. 2007)
    try:
        inverse = np.linalg.inv(laplacian)
    except np.linalg.LinAlgError:
        return None
    sizes = np.abs(inverse)
    derivatives = np.diagonal(inverse)[:, None] - inverse.T
    derivatives[0] = -inverse[:, 0]  # column 0 of the Laplacian has the roots
    derivatives[1:, 0] = np.diagonal(inverse)[1:]
    with np.errstate(over="ignore", invalid="ignore"):  # a bound that overflows is too large, too
        errors = n * np.finfo(np.float64).eps * (sizes @ np.abs(laplacian) @ sizes)  # bounds of rounding
        of_arcs = weights * (np.diagonal(errors)[:, None] + errors.T)
        if not of_arcs.max(initial=0.0) + (roots * errors[0]).max() < _MOST_ERROR:
            return None
    log_total = float(np.linalg.slogdet(laplacian)[1])
    return log_total, np.maximum(np.column_stack((roots * inverse[0], weights * derivatives)), 0.0)


def _by_elimination(log_weights: Floats, log_roots: Floats) -> tuple[float, Floats]:
    """Logarithm of the sum and marginals for scores of any size.

    A walk goes from each token to one of its heads. Elimination of token k replaces each way j -> k by the ways
    j -> k -> u to the tokens u that are left; rows of eliminated tokens become the probabilities of the token that a
    walk from them reaches first. The reward of a token is the sum of the root weights that a walk from it collects. If
    token i alone is left, a tree has the arc i -> j and its root elsewhere with a weight proportional to
    weights[i, j] times the reward of j, and i is its root with one proportional to its root weight. Halves of the
    tokens are eliminated together, so that each token is the one that is left at some time (Alfa, Xue & Ye 2002).
    """
    n = len(log_weights)
    marginals, log_total = np.empty((n, n + 1)), 0.0
    work = [(log_weights, log_roots, 0, n, 0.0, False)]
    while work:
        graph, rewards, low, high, log_pivots, ends = work.pop()
        if high - low == 1:
            row = np.append(-np.inf if ends else log_roots[low], log_weights[low] + rewards)
            total = float(np.logaddexp.reduce(row))
            marginals[low] = np.exp(row - total)
            log_total = log_pivots + total if low == 0 else log_total
            continue
        middle = (low + high) // 2
        for first, last in ((low, middle), (middle, high)):
            pivots, ended, ways, gains = log_pivots, ends, graph.copy(), rewards.copy()
            for k in range(high - 1, last - 1, -1) if first == low else range(low, first):
                remaining = slice(low, k) if first == low else slice(k + 1, high)
                weight = float(np.logaddexp.reduce(ways[k, remaining]))
                if weight > -np.inf:
                    ways[k, remaining] -= weight
                    gains[k] -= weight
                    pivots += weight
                else:  # the root is k or a token whose walks reach k last: walks end at k
                    pivots += float(gains[k])
                    gains[:], gains[k], ended = -np.inf, 0.0, True
                into = ways[:, k].copy()
                into[k] = -np.inf
                ways[:, remaining] = np.logaddexp(ways[:, remaining], into[:, None] + ways[k, remaining])
                gains = np.logaddexp(gains, into + gains[k])
            work.append((ways, gains, first, last, pivots, ended))
    return log_total, marginals


# --- samples -------------------------------------------------------------------------------------------------


@inner_kernel
def first_above(sums, level):  # type: ignore[no-untyped-def]
    """First place whose cumulative weight is above a level below the last one."""
    low, high = 0, sums.shape[0] - 1
    while low < high:
        middle = (low + high) >> 1
        if sums[middle] > level:
            high = middle
        else:
            low = middle + 1
    return low


@kernel
def sample_trees(
    head_sums: Floats, root_sums: Floats, most_steps: int, key: np.uint64, words: Words, heads: Ints32
) -> None:
    """Fill heads[s], (n_samples, n), by Wilson's algorithm with a root that is drawn first.

    head_sums[i] are the cumulative weights of heads of token i, other than the root; root_sums those of roots. After
    `most_steps` steps only the root is put in its place, and the heads of other tokens stay NOT_DRAWN. words[s] becomes
    the state of the random stream after the last draw.
    """
    n = root_sums.shape[0]
    tree_of = np.full(n, -1, np.int64)  # the last sample in whose tree a token is
    for s in range(heads.shape[0]):
        word = mix(key + np.uint64(s + 1) * GAMMA) + GAMMA
        row = heads[s]
        root = first_above(root_sums, uniform(word) * root_sums[n - 1])
        row[root] = ROOT
        tree_of[root] = s
        n_steps = 0
        for start in range(n):
            i = start
            while tree_of[i] != s and n_steps < most_steps:
                word += GAMMA
                n_steps += 1
                sums = head_sums[i]
                row[i] = first_above(sums, uniform(word) * sums[n - 1])
                i = row[i]
            i = start
            while tree_of[i] != s and n_steps < most_steps:
                tree_of[i] = s
                i = row[i]
        words[s] = word
        if n_steps == most_steps:
            for i in range(n):
                row[i] = ROOT if i == root else NOT_DRAWN
