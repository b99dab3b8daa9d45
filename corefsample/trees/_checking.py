"""Checks of the scores, labels and heads of trees."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample._arrays import Floats, Ints
from corefsample.errors import ParameterError

_LARGEST = 1e300  # sums over the arcs of a tree are finite


def checked_scores(values: npt.ArrayLike) -> Floats:
    """New read-only float64 (n, n + 1), with -inf on the diagonal of heads, or raise."""
    scores = _float_array("scores", values, 2)
    n = scores.shape[0]
    if n < 1 or scores.shape[1] != n + 1:
        raise ParameterError(f"must be (n, n + 1) with n at least 1, got shape {scores.shape}", parameter="scores")
    scores[np.arange(n), np.arange(n) + 1] = -np.inf
    _require_scores("scores", scores)
    _require_tree(scores)
    scores.flags.writeable = False
    return scores


def checked_labels(values: npt.ArrayLike, scores: Floats) -> Floats:
    """Log softmax of the scores of labels, read-only float64 (n, n + 1, n_labels), or raise."""
    labels = _float_array("labels", values, 3)
    if labels.shape[:2] != scores.shape or labels.shape[2] < 1:
        rule = f"must be ({scores.shape[0]}, {scores.shape[1]}, number of labels), as scores are {scores.shape}"
        raise ParameterError(f"{rule}, got shape {labels.shape}", parameter="labels")
    labels[scores == -np.inf] = 0.0  # of arcs that are not allowed; what they are does not matter
    _require_scores("labels", labels)
    largest = np.max(labels, axis=2, keepdims=True)
    bad = np.argwhere(largest[:, :, 0] == -np.inf)
    if bad.size:
        i, k = bad[0].tolist()
        raise ParameterError(f"labels[{i}][{k}] must have a finite score for an allowed arc, got none")
    log_probs: Floats = labels - largest - np.log(np.sum(np.exp(labels - largest), axis=2, keepdims=True))
    log_probs.flags.writeable = False
    return log_probs


def checked_heads(values: npt.ArrayLike, n: int) -> Ints:
    """Heads of one tree as int64 (n,), or raise; whether they form a tree is not checked."""
    heads = _checks.integers("heads", values)
    if heads.shape != (n,):
        raise ParameterError(f"must be {n} heads, got {len(heads)}", parameter="heads")
    _checks.each("heads", heads, (heads >= -1) & (heads < n), f"be from -1 to {n - 1}")
    return heads


def is_tree(heads: Ints) -> bool:
    """Whether heads, -1 for the root, form a tree with a single root."""
    if np.count_nonzero(heads == -1) != 1:
        return False
    above = heads.copy()
    for _ in range(len(heads).bit_length()):  # each round doubles how far up the tree `above` points
        above = np.where(above < 0, -1, above[np.maximum(above, 0)])
    return bool(np.all(above == -1))


def _float_array(name: str, values: npt.ArrayLike, ndim: int) -> Floats:
    try:
        array = np.asarray(values)
    except ValueError:
        rule = f"must be numbers in {ndim} dimensions, got rows of different lengths"
        raise ParameterError(rule, parameter=name) from None
    if array.ndim != ndim or array.dtype.kind not in "iuf":
        found = f"{array.ndim} of {array.dtype}"
        raise ParameterError(f"must be numbers in {ndim} dimensions, got {found}", parameter=name)
    return array.astype(np.float64)


def _require_scores(name: str, values: Floats) -> None:
    _checks.each(name, values, values < np.inf, "be finite or -inf")
    within = (np.abs(values) <= _LARGEST) | (values == -np.inf)
    _checks.each(name, values, within, f"be from -{_LARGEST:g} to {_LARGEST:g}, or -inf")


def _require_tree(scores: Floats) -> None:
    """Raise unless some token that may be the root can be reached from all tokens."""
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
    if len(final) > 1:
        tokens = " and ".join(str(int(np.flatnonzero(component == c)[0])) for c in final[:2])
        raise ParameterError(
            f"must allow a tree with a single root, got no way from tokens {tokens} to one head", parameter="scores"
        )
    if not np.isfinite(scores[component == final[0], 0]).any():
        tokens = ", ".join(map(str, np.flatnonzero(component == final[0])[:5].tolist()))
        raise ParameterError(
            f"must allow a tree with a single root, got -inf for the root at all of the tokens {tokens}, one of which "
            "it must be",
            parameter="scores",
        )
