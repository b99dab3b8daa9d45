"""Checks of parameters; each failure raises ParameterError with parameter, rule and value."""

import contextlib
import datetime
import math
import numbers
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar

import numpy as np

from corefsample._arrays import Bools, Floats, Ints, Ints32
from corefsample.errors import ParameterError, ParameterHint, shown

MAX_SAMPLES = 10**8  # with so many samples, the error of a share is at most 0.00005
MAX_MENTIONS = np.iinfo(np.int32).max
READS = "read_documents(path) reads those of a file"
T = TypeVar("T")
_ISO_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def integers(name: str, values: np.typing.ArrayLike) -> Ints:
    """Return a new one-dimensional int64 array, or raise."""
    return numbers_in(name, values, 1, kinds="iu", noun="whole numbers").astype(np.int64)


def floats(name: str, values: np.typing.ArrayLike) -> Floats:
    """Return a new one-dimensional float64 array, or raise."""
    return numbers_in(name, values, 1).astype(np.float64)


def regular_array(name: str, values: object) -> np.typing.NDArray[Any]:
    """Return values as an array of any type, or raise if lists in them differ in length."""
    try:
        return np.asarray(values)
    except ValueError:
        raise ParameterError("must be an array, got lists of different lengths", parameter=name) from None


def numbers_in(
    name: str, values: object, *dimensions: int, kinds: str = "iuf", noun: str = "numbers"
) -> np.typing.NDArray[Any]:
    """Return numbers as an array with one of these numbers of dimensions, or raise; `kinds` as NumPy names types."""
    array = regular_array(name, values)
    if array.ndim not in dimensions or (array.size and array.dtype.kind not in kinds):
        rule = f"must be {noun} in {' or '.join(map(str, dimensions))} dimension{'s' * (dimensions != (1,))}"
        raise ParameterError(f"{rule}, got {array.dtype} in {array.ndim}", parameter=name)
    return array


def pairs(name: str, values: np.typing.ArrayLike, n_mentions: int) -> Ints:
    """Distinct pairs of mentions as int64 (n_pairs, 2), the later one first, ascending; raises ParameterError."""
    array = regular_array(name, values)
    if array.size and array.shape[1:] != (2,):
        raise ParameterError(f"must be (n_pairs, 2), got the shape {array.shape}", parameter=name)
    rows = integers(name, array.ravel()).reshape(-1, 2) if array.size else np.zeros((0, 2), np.int64)
    wrong = ((rows < 0) | (rows >= n_mentions)).any(axis=1) | (rows[:, 0] == rows[:, 1])
    if wrong.any():
        rule = f"must be pairs of different mentions from 0 to below {n_mentions}"
        raise ParameterError(f"{rule}, got {rows[wrong][0].tolist()}", parameter=name)
    return np.unique(np.sort(rows, axis=1)[:, ::-1], axis=0)


def integers_32(name: str, values: np.typing.ArrayLike) -> Ints32:
    """Return a new one-dimensional int32 array, or raise."""
    array = regular_array(name, values)
    if array.dtype == np.int32 and array.ndim == 1:
        return array.copy()
    wide = integers(name, array)
    narrow = wide.astype(np.int32)
    if (wide != narrow).any():
        raise ParameterError(f"must fit into 32 bits, got {wide[wide != narrow][0]}", parameter=name)
    return narrow


def require(name: str, good: object, rule: str, actual: object, *, hint: str | ParameterHint | None = None) -> None:
    """Raise if a parameter is not good: ``name rule, got actual``, a text or the representation of a value."""
    if not good:
        text = actual if isinstance(actual, str) else shown(actual)
        raise ParameterError(f"{rule}, got {text}", parameter=name, hint=hint)


def require_all(name: str, values: np.typing.NDArray[Any], good: Bools, rule: str) -> None:
    """Raise for the first value of an array that is not good, with its index: ``name[i][k] must rule, got value``."""
    if not good.all():
        index = np.unravel_index(np.argmin(good), good.shape)
        raise ParameterError(f"must {rule}, got {values[index]}", parameter=name + "".join(f"[{c}]" for c in index))


def iso_date(text: str) -> datetime.date | None:
    """Day of a text such as "2024-05-31", or None if it has another form."""
    try:
        return datetime.date.fromisoformat(text) if _ISO_DATE.fullmatch(text) else None
    except ValueError:
        return None


def whole(name: str, value: object, at_least: int) -> int:
    """Return `value` as an int, or raise."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < at_least:
        raise ParameterError(f"must be a whole number of at least {at_least}, got {shown(value)}", parameter=name)
    return int(value)


def n_samples(value: object, at_least: int, name: str = "n_samples") -> int:
    """Return a number of samples as an int, or raise."""
    number = whole(name, value, at_least)
    at_most(name, number, MAX_SAMPLES)
    return number


def at_most(name: str, value: int, limit: int) -> None:
    """Raise if a value is above its limit."""
    if value > limit:
        raise ParameterError(f"must be at most {limit}, got {value}", parameter=name)


def finite(name: str, value: object) -> float:
    """Return `value` as a finite float, or raise."""
    number = float("nan")
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        with contextlib.suppress(OverflowError):
            number = float(value)
    if not math.isfinite(number):
        raise ParameterError(f"must be a finite number, got {shown(value)}", parameter=name)
    return number


def at_least_zero(name: str, value: object) -> float:
    """Return `value` as a finite float of at least 0, or raise."""
    number = finite(name, value)
    if number < 0:
        raise ParameterError(f"must be at least 0, got {shown(value)}", parameter=name)
    return number


def above_zero(name: str, value: object) -> float:
    """Return `value` as a finite float above 0, or raise."""
    number = finite(name, value)
    if number <= 0:
        raise ParameterError(f"must be above 0, got {shown(value)}", parameter=name)
    return number


def probability(name: str, value: object, *, below_one: bool = False, above_zero: bool = False) -> float:
    """Return `value` as a float in [0, 1], or in an interval without one of its ends, or raise."""
    rule = f"{'(' if above_zero else '['}0, 1{')' if below_one else ']'}"
    good = isinstance(value, numbers.Real) and not isinstance(value, bool) and 0.0 <= float(value) <= 1.0
    if not good or (below_one and value == 1) or (above_zero and value == 0):
        raise ParameterError(f"must lie in {rule}, got {shown(value)}", parameter=name)
    return float(value)  # type: ignore[arg-type]


def seed(value: object) -> int:
    """Return a seed that fits the generator's 64 bits, or raise."""
    number = whole("seed", value, 0)
    at_most("seed", number, 2**64 - 1)
    return number


def choice(name: str, value: object, allowed: tuple[str, ...]) -> str:
    """Return `value` if it is one of `allowed`, or raise."""
    if not isinstance(value, str) or value not in allowed:
        raise ParameterError(f"must be one of {', '.join(allowed)}, got {shown(value)}", parameter=name)
    return value


def path(name: str, value: object) -> str:
    """Return the path of a file or folder as text, or raise."""
    if not isinstance(value, (str, os.PathLike)):
        raise ParameterError(f"must be a path, got {shown(value)}", parameter=name)
    return str(os.fspath(value))


def elements(name: str, values: Iterable[T], *kinds: type, hint: str | None = None) -> Iterator[T]:
    """Yield the elements of an iterable; raise if `values` is no iterable, or at the first element of another class."""
    rule = f"must be a list (or other iterable) of {' or '.join(kind.__name__ for kind in kinds)}"
    if isinstance(values, (str, os.PathLike)) or not isinstance(values, Iterable):
        hint = "put it into a list" if isinstance(values, kinds) else hint
        raise ParameterError(f"{rule}, got {shown(values)}", parameter=name, hint=hint)
    for k, value in enumerate(values):
        if not isinstance(value, kinds):
            raise ParameterError(f"{rule}, got {shown(value)} at [{k}]", parameter=name, hint=hint)
        yield value


def instance(name: str, value: object, kind: type, hint: str | None = None) -> None:
    """Raise if a value is not an instance of a class; `hint` tells the user how to get an instance."""
    if not isinstance(value, kind):
        rule = f"must be {kind.__name__}, got {type(value).__name__}"
        raise ParameterError(rule, parameter=name, hint=hint)


_LONGEST = 80  # largest number of characters of a path in a message


def non_finite(tree: Any, root: str = "") -> tuple[str, float] | None:
    """Path and value of the first number in a JSON-like tree that is NaN or infinite; None if all are finite."""
    stack = [(root, tree)]  # no recursion: content may be deeper than Python's stack
    while stack:
        location, value = stack.pop()
        if isinstance(value, float) and not math.isfinite(value):
            return (location if len(location) <= _LONGEST else f"{location[:_LONGEST]}..."), value
        if isinstance(value, Mapping):
            stack += [(f"{location}.{key}", each) for key, each in reversed(list(value.items()))]
        elif isinstance(value, (list, tuple)):
            stack += [(f"{location}[{i}]", each) for i, each in reversed(list(enumerate(value)))]
    return None


def require_json(name: str, fields: Mapping[str, Any], location: str) -> None:
    """Raise if fields cannot be written as JSON, or if a number in them would be written as null.

    Raises
    ------
    ParameterError
        If a value in `fields` cannot be written as JSON; the message has the path of the value.
    """
    import msgspec

    non_finite_value = non_finite(fields, name)
    if non_finite_value is not None:
        raise ParameterError(f"{non_finite_value[0]} must be finite, got {non_finite_value[1]}", place=location)
    try:
        msgspec.json.encode(dict(fields))
    except (TypeError, ValueError, RecursionError) as error:
        rule = f"{name} must be what JSON can represent"
        raise ParameterError(f"{rule}, got {shown(fields)}: {error}", place=location) from None


def spacy_doc(doc: object) -> None:
    """Raise if `doc` is not a spaCy Doc."""
    if not hasattr(doc, "has_annotation"):
        raise ParameterError(f"must be a spaCy Doc, got {type(doc).__name__}", parameter="doc")
