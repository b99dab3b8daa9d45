"""Errors carry the parameter, the place and the hint beside the message."""

from __future__ import annotations

import pickle

import pytest

from corefsample import CorefsampleError, InputError, OutputError, ParameterError
from corefsample.errors import ParameterHint

FULL = ParameterError(
    "must be at least 1, got 0", parameter="n", place="a.csv: line 2", hint=ParameterHint("m", "sets it")
)


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (InputError("date is missing"), "date is missing"),
        (InputError("date is missing", place="a.csv: line 2"), "a.csv: line 2: date is missing"),
        (ParameterError("must be at least 1, got 0", parameter="n"), "n must be at least 1, got 0"),
        (OutputError("output must not exist", hint="remove it"), "output must not exist (remove it)"),
        (FULL, "a.csv: line 2: n must be at least 1, got 0 (m sets it)"),
    ],
)
def test_an_error_is_one_line(error: CorefsampleError, text: str) -> None:
    assert str(error) == text


def test_parameters_are_called_by_their_options() -> None:
    assert FULL.described(lambda name: f"--{name}") == "a.csv: line 2: --n must be at least 1, got 0 (--m sets it)"


def test_a_place_is_added_before_the_own_place() -> None:
    error = FULL.at("b.tar")
    assert (type(error), error.place, error.parameter) == (ParameterError, "b.tar: a.csv: line 2", "n")


def test_an_input_error_has_the_same_text() -> None:
    error = FULL.as_input_error("b.tar")
    assert (type(error), error.parameter, str(error)) == (InputError, None, f"b.tar: {FULL}")


def test_errors_survive_pickling() -> None:
    error = pickle.loads(pickle.dumps(FULL))
    assert (type(error), str(error), error.hint) == (ParameterError, str(FULL), FULL.hint)


@pytest.mark.parametrize(
    ("kind", "base"), [(ParameterError, ValueError), (InputError, ValueError), (OutputError, OSError)]
)
def test_errors_are_of_the_standard_kinds_too(kind: type[Exception], base: type[Exception]) -> None:
    assert issubclass(kind, base)
    assert issubclass(kind, CorefsampleError)
