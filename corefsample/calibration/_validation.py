"""Checks of prediction-label pairs, of the ids of their blocks, and of norms, levels and seeds."""

from typing import Any, Literal, cast

import numpy as np

from corefsample import _checks
from corefsample._arrays import Bools, Floats, Ints32, pd
from corefsample.errors import ParameterError, shown


def _numbers(name: str, values: np.typing.ArrayLike) -> Floats:
    """Return a contiguous one-dimensional array, copied only if necessary; raise if values are no numbers."""
    return np.ascontiguousarray(_plain(name, values, "iuf", "numbers"), np.float64)


def _plain(name: str, values: np.typing.ArrayLike, kinds: str, rule: str) -> np.typing.NDArray[Any]:
    """Return an array of one dimension and a numeric type, which columns of objects (pandas) may have; or raise."""
    array = _checks.regular_array(name, values)
    if array.ndim == 1 and array.dtype.kind in "OU":
        for k, value in enumerate(array.tolist()):
            if not isinstance(value, (bool, int, float, np.number, np.bool_)):
                actual = f"{shown(value)} ({type(value).__name__}) at index {k}"
                raise ParameterError(f"must be {rule}, got {actual}", parameter=name)
        array = np.array(array.tolist())
    if array.ndim != 1 or array.dtype.kind not in kinds:
        hint = "of two columns, as predict_proba has, pass the second: [:, 1]" if array.shape[1:] == (2,) else None
        hint = "predictions and labels may be swapped" if array.dtype.kind == "b" else hint
        message = f"must be {rule} in one dimension, got {array.ndim} of {array.dtype}"
        raise ParameterError(message, parameter=name, hint=hint)
    return array


def pair_arrays(
    q: np.typing.ArrayLike, y: np.typing.ArrayLike, names: tuple[str, str] = ("q", "y")
) -> tuple[Floats, np.typing.NDArray[Any]]:
    """Return predictions, and labels of a type that kernels read (uint8, int64 or float64); raise if shapes are wrong.

    Arrays are contiguous and copied only if necessary. The values are not checked.
    """
    predictions = _numbers(names[0], q)
    labels = np.ascontiguousarray(_plain(names[1], y, "biuf", "labels 0 or 1"))
    if labels.dtype.kind == "b":
        labels = labels.view(np.uint8)
    elif labels.dtype != np.uint8:
        labels = labels.astype(np.float64 if labels.dtype.kind == "f" else np.int64, copy=False)
    require_length(names[1], labels, predictions.shape[0], names[0])
    _checks.require(names[0], predictions.size, "must contain at least one prediction", "none")
    return predictions, labels


def require_length(name: str, values: np.typing.ArrayLike, n: int, reference: str = "q") -> None:
    """Raise unless an array has `n` rows, as many as `reference`."""
    shape = np.shape(values)
    if shape and shape[0] != n:
        raise ParameterError(f"must be as many as {reference} ({n}), got {shape[0]}", parameter=name)


def _require_all(
    name: str, values: np.typing.NDArray[Any], is_valid: Bools, rule: str, hint: str | None = None
) -> None:
    """Raise at the first value that breaks its rule."""
    if not is_valid.all():
        k = int(np.argmin(is_valid))
        raise ParameterError(f"must {rule}, got {values[k]} at index {k}", parameter=name, hint=hint)


def _require_inside(name: str, array: Floats) -> None:
    """Raise at the first value outside [0, 1], or NaN."""
    _require_all(name, array, (array >= 0.0) & (array <= 1.0), "lie in [0, 1]")


def require_pairs(q: Floats, y: np.typing.NDArray[Any], names: tuple[str, str] = ("q", "y")) -> None:
    """Raise at the first prediction or label that breaks its rule."""
    _require_inside(names[0], q)
    is_swapped = bool(np.isin(q, (0.0, 1.0)).all() and ((y >= 0) & (y <= 1)).all())
    hint = f"{names[0]} and {names[1]} may be swapped" if is_swapped else None
    _require_all(names[1], y, (y == 0) | (y == 1), "be 0 or 1", hint)


def coded(name: str, ids: np.typing.ArrayLike, n: int, reference: str = "q") -> tuple[Ints32, tuple[Any, ...]]:
    """Number ids in the order of their names: int32 (n,) codes, and the names, ascending."""
    array = np.asarray(ids)
    _checks.require(name, array.ndim == 1, "must be ids in one dimension", f"{array.ndim} dimensions")
    require_length(name, array, n, reference)
    codes, distinct = pd.factorize(array)
    missing = np.flatnonzero(codes < 0)
    if missing.size:
        k = missing[0]
        raise ParameterError(f"must be ids, got {shown(array[k])} at index {k}", parameter=name)
    ids_as_met = distinct.tolist()
    try:
        names = tuple(sorted(ids_as_met))
    except TypeError:
        kinds = ", ".join(sorted({type(each).__name__ for each in ids_as_met}))
        raise ParameterError(f"must be ids of one kind, got {kinds}", parameter=name) from None
    rank = {id_: code for code, id_ in enumerate(names)}
    return np.array([rank[id_] for id_ in ids_as_met], np.int32)[codes], names


Norm = Literal["rms", "mse", "l1", "max"]

NORMS: tuple[Norm, ...] = ("rms", "mse", "l1", "max")
SQUARED: tuple[Norm, ...] = ("rms", "mse")


def checked_norm(norm: str, squared_for: str | None = None) -> Norm:
    """Return the norm, or raise if it is unknown, or not a squared one where `squared_for` gives a reason for that."""
    _checks.choice("norm", norm, NORMS)
    if squared_for is not None and norm not in SQUARED:
        raise ParameterError(f"must be one of {', '.join(SQUARED)} {squared_for}, got {norm!r}", parameter="norm")
    return cast("Norm", norm)


def checked_level(level: float) -> float:
    """Return a level; raise unless it is in (0, 1)."""
    return _checks.probability("level", level, below_one=True, above_zero=True)


def generator(seed: int) -> np.random.Generator:
    """Return the random generator (Philox) of a seed; raise unless the seed is in [0, 2**64)."""
    return np.random.Generator(np.random.Philox(_checks.seed(seed)))


def predictions(name: str, values: np.typing.ArrayLike) -> Floats:
    """Return probabilities as a float64 array; raise at the first one outside [0, 1]."""
    array = _numbers(name, values)
    _require_inside(name, array)
    return array


def labelled(
    q: np.typing.ArrayLike, y: np.typing.ArrayLike, *, names: tuple[str, str] = ("q", "y")
) -> tuple[Floats, Floats]:
    """Return predictions and labels as float64 arrays; raise unless predictions are in [0, 1] and labels 0 or 1."""
    predicted, labels = pair_arrays(q, y, names)
    require_pairs(predicted, labels, names)
    return predicted + 0.0, labels.astype(np.float64)  # + 0.0 turns -0.0 into 0.0, which would print as another value
