"""Weighted prediction-label pairs: checked, and pooled where predictions tie."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from corefsample.calibration.binning import _rows
from corefsample.errors import ParameterError

FloatArray = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int32]


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

    q: FloatArray
    y: FloatArray
    weights: FloatArray
    documents: Codes | None

    @property
    def n(self) -> int:
        """Number of pairs."""
        return int(self.q.shape[0])

    def taken(self, chosen: npt.NDArray[np.bool_]) -> Pairs:
        """The pairs chosen by a mask."""
        documents = None if self.documents is None else self.documents[chosen]
        return Pairs(self.q[chosen], self.y[chosen], self.weights[chosen], documents)


def predictions(name: str, values: npt.ArrayLike) -> FloatArray:
    """Return probabilities as a float64 array, or refuse what is none."""
    array = _rows.numbers(name, values)
    refuse_outside(name, array)
    return array


def refuse_outside(name: str, array: FloatArray) -> None:
    """Name the first value outside [0, 1], or NaN."""
    inside = (array >= 0.0) & (array <= 1.0)
    if not inside.all():
        k = int(np.argmin(inside))
        raise ParameterError(f"{name}[{k}] must lie in [0, 1], got {array[k]}")


def labelled(
    q: npt.ArrayLike, y: npt.ArrayLike, *, names: tuple[str, str] = ("q", "y")
) -> tuple[FloatArray, FloatArray]:
    """Return predictions and labels as float64 arrays, or refuse what is none."""
    given, answers = _rows.numbers(names[0], q), _rows.labels(names[1], y)
    require_as_many(names[1], answers, given.shape[0], names[0])
    if given.shape[0] == 0:
        raise ParameterError(f"{names[0]} must hold at least one prediction, got none")
    refuse_outside(names[0], given)
    known = (answers == 0) | (answers == 1)
    if not known.all():
        k = int(np.argmin(known))
        raise ParameterError(f"{names[1]}[{k}] must be 0 or 1, got {answers[k]}")
    return given + 0.0, answers.astype(np.float64)  # + 0.0: no negative zero, which would show as a value of its own


def require_as_many(name: str, values: npt.ArrayLike, n: int, other: str) -> None:
    """Refuse rows that are not as many as others."""
    found = np.shape(values)
    if found and found[0] != n:
        raise ParameterError(f"{name} must be as many as {other} ({n}), got {found[0]}")


def sample_weights(values: npt.ArrayLike | None, n: int, other: str = "q") -> FloatArray:
    """Return weights as a float64 (n,) array, or refuse what cannot weigh."""
    if values is None:
        return np.ones(n)
    weights = _rows.numbers("sample_weight", values)
    require_as_many("sample_weight", weights, n, other)
    good = (weights >= 0.0) & np.isfinite(weights)
    if not good.all():
        k = int(np.argmin(good))
        raise ParameterError(f"sample_weight[{k}] must be finite and at least 0, got {weights[k]}")
    if not weights.any():
        raise ParameterError(f"sample_weight must be above 0 somewhere, got {n} zeros")
    return weights


def checked_pairs(
    q: npt.ArrayLike,
    y: npt.ArrayLike,
    sample_weight: npt.ArrayLike | None = None,
    documents: npt.ArrayLike | None = None,
) -> Pairs:
    """Check pairs, and leave out those of no weight."""
    given, observed = labelled(q, y)
    weights = sample_weights(sample_weight, given.shape[0])
    codes = None if documents is None else _rows.coded("documents", documents, given)[0]
    pairs = Pairs(given, observed, weights, codes)
    return pairs if weights.all() else pairs.taken(weights > 0.0)


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

    q: FloatArray
    weights: FloatArray
    positives: FloatArray


def pooled(q: FloatArray, y: FloatArray, weights: FloatArray | None = None) -> Ties:
    """Pool the pairs of one prediction; without weights all weigh 1."""
    if weights is None or (weights == 1.0).all():
        # Sorting values alone, and placing the positives in them, takes half the time of sorting indices.
        ordered = np.sort(q)
        starts = _starts(ordered)
        distinct = ordered[starts]
        places = np.searchsorted(distinct, np.sort(q[y == 1.0]))
        positives = np.bincount(places, minlength=distinct.shape[0])
        counts = np.diff(starts, append=q.shape[0])
        return Ties(distinct, counts.astype(np.float64), positives.astype(np.float64))
    order = np.lexsort((weights, y, q))  # not the rows' own order, which would reach the sums' last bits
    ordered = q[order]
    starts = _starts(ordered)
    mass = np.add.reduceat(weights[order], starts)
    return Ties(ordered[starts], mass, np.add.reduceat((weights * y)[order], starts))


def _starts(ordered: FloatArray) -> npt.NDArray[np.int64]:
    return np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])).astype(np.int64)


def isotonic_blocks(ties: Ties) -> tuple[npt.NDArray[np.int64], FloatArray]:
    """Blocks of the non-decreasing fit of label on prediction: first distinct value of each, and its mean label."""
    from scipy.optimize import isotonic_regression

    fit = isotonic_regression(ties.positives / ties.weights, weights=ties.weights)
    starts = np.asarray(fit.blocks[:-1], np.int64)
    means = np.add.reduceat(ties.positives, starts) / np.add.reduceat(ties.weights, starts)
    return starts, np.clip(means, 0.0, 1.0)
