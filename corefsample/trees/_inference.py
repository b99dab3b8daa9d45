"""Exact inference from the scores of arcs: the sum over all trees with a single root, and the probability of each arc.

Legend of dimensions and names
    i : token as a dependent     j, k : token as a head     n : number of tokens
    log_weights (n, n)   : scores of heads, each row with a maximum of 0; -inf on the diagonal
    log_roots (n,)       : scores of the root, shifted as the rows are, then to a maximum of 0
"""

from __future__ import annotations

import math

import numpy as np

from corefsample._arrays import Floats

_MOST_ERROR = 1e-11  # of a marginal that is computed from the inverse of a matrix


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
    errors = (
        n * np.finfo(np.float64).eps * (sizes @ np.abs(laplacian) @ sizes)
    )  # bounds of rounding, element by element
    derivatives, their_errors = np.diagonal(inverse)[:, None] - inverse.T, np.diagonal(errors)[:, None] + errors.T
    derivatives[0] = -inverse[:, 0]  # column 0 of the Laplacian has the roots
    derivatives[1:, 0] = np.diagonal(inverse)[1:]
    if not (weights * their_errors).max(initial=0.0) + (roots * errors[0]).max() < _MOST_ERROR:
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
