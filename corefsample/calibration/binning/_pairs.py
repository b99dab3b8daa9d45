"""Weighted prediction-label pairs: checked, and pooled where predictions tie."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from corefsample._arrays import Bools, Floats, Ints, Ints32
from corefsample.calibration.binning._validation import (
    coded,
    numbers,
    pair_arrays,
    require_all,
    require_inside,
    require_length,
    require_pairs,
)
from corefsample.errors import ParameterError


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Checked pairs of positive weight.

    Attributes
    ----------
    q, y, weights
        float64 (n,): prediction in [0, 1], label 0 or 1, weight above 0.
    documents
        int32 (n,): number of the document of each pair, or None.
    """

    q: Floats
    y: Floats
    weights: Floats
    documents: Ints32 | None

    @property
    def n(self) -> int:
        """Number of pairs."""
        return int(self.q.shape[0])

    def subset(self, chosen: Bools) -> Pairs:
        """Return the pairs chosen by a mask."""
        documents = None if self.documents is None else self.documents[chosen]
        return Pairs(self.q[chosen], self.y[chosen], self.weights[chosen], documents)


def predictions(name: str, values: npt.ArrayLike) -> Floats:
    """Return probabilities as a float64 array, or raise."""
    array = numbers(name, values)
    require_inside(name, array)
    return array


def labelled(q: npt.ArrayLike, y: npt.ArrayLike, *, names: tuple[str, str] = ("q", "y")) -> tuple[Floats, Floats]:
    """Return predictions and labels as float64 arrays, or raise."""
    given, labels = pair_arrays(q, y, names)
    require_pairs(given, labels, names)
    return given + 0.0, labels.astype(np.float64)  # + 0.0 turns -0.0 into 0.0, which would print as another value


def sample_weights(values: npt.ArrayLike | None, n: int, other: str = "q") -> Floats:
    """Return weights as a float64 (n,) array, all 1 for None, or raise."""
    if values is None:
        return np.ones(n)
    weights = numbers("sample_weight", values)
    require_length("sample_weight", weights, n, other)
    require_all("sample_weight", weights, (weights >= 0.0) & np.isfinite(weights), "be finite and at least 0")
    if not weights.any():
        raise ParameterError(f"must be above 0 somewhere, got {n} zeros", parameter="sample_weight")
    return weights


def checked_pairs(
    q: npt.ArrayLike,
    y: npt.ArrayLike,
    sample_weight: npt.ArrayLike | None = None,
    documents: npt.ArrayLike | None = None,
) -> Pairs:
    """Check pairs, and leave out those of weight 0."""
    given, labels = labelled(q, y)
    weights = sample_weights(sample_weight, given.shape[0])
    codes = None if documents is None else coded("documents", documents, given.shape[0])[0]
    pairs = Pairs(given, labels, weights, codes)
    return pairs if weights.all() else pairs.subset(weights > 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class Ties:
    """Pairs pooled by prediction, ascending.

    Attributes
    ----------
    q
        float64 (n_distinct,): the distinct predictions.
    weights, positives
        float64 (n_distinct,): total weight, and weight of label 1, of each.
    """

    q: Floats
    weights: Floats
    positives: Floats


def pooled(q: Floats, y: Floats, weights: Floats | None = None) -> Ties:
    """Pool the pairs of one prediction; without weights all weigh 1."""
    if weights is None or (weights == 1.0).all():
        # Sorting values alone, and placing the positives in them, takes half the time of sorting indices.
        distinct, counts = np.unique(q, return_counts=True)
        positives = np.bincount(np.searchsorted(distinct, np.sort(q[y == 1.0])), minlength=distinct.shape[0])
        return Ties(distinct, counts.astype(np.float64), positives.astype(np.float64))
    order = np.lexsort((weights, y, q))  # a complete order, so the order of the rows cannot change the sums' last bits
    ordered = q[order]
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    mass = np.add.reduceat(weights[order], starts)
    return Ties(ordered[starts], mass, np.add.reduceat((weights * y)[order], starts))


def isotonic_blocks(ties: Ties) -> tuple[Ints, Floats]:
    """Return the first distinct value of each block of the non-decreasing fit of label on prediction, and its mean."""
    from scipy.optimize import isotonic_regression

    fit = isotonic_regression(ties.positives / ties.weights, weights=ties.weights)
    starts = np.asarray(fit.blocks[:-1], np.int64)
    means = np.add.reduceat(ties.positives, starts) / np.add.reduceat(ties.weights, starts)
    return starts, np.clip(means, 0.0, 1.0)
