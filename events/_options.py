"""Options that are declared once: type, range, default and help of a field serve Python and the command line."""

from __future__ import annotations

import dataclasses
import os
from types import NoneType
from typing import Any, Literal, NamedTuple, TypeVar, dataclass_transform, get_args, get_origin, get_type_hints

_Class = TypeVar("_Class", bound=type)


class Declared(NamedTuple):
    """A field of options.

    Attributes
    ----------
    name, help
        Of the field.
    type, choices
        bool, int, float or str; and the values that a text may have, if not all.
    n_values
        How many values the field has: usually 1, more for a tuple of that length, 0 for any number.
    is_optional
        Whether it may be None.
    default
        `dataclasses.MISSING` if there is none.
    flag, metavar
        Of the command line, if they do not follow from the name and the type; "" if Python alone has the option.
    at_least, above, at_most, below
        Bounds of numbers.
    is_recorded
        Whether records of runs have it: results depend on it.
    """

    name: str
    help: str
    type: type
    choices: tuple[str, ...]
    n_values: int
    is_optional: bool
    default: Any
    flag: str | None
    metavar: str | None
    at_least: float | None
    above: float | None
    at_most: float | None
    below: float | None
    is_recorded: bool

    def check(self, value: Any) -> None:
        """Raise ParameterError unless a value has the type, and lies in the range."""
        from corefsample import _checks
        from corefsample.errors import ParameterError

        if value is None and self.is_optional:
            return
        values = value if isinstance(value, (tuple, list)) else (value,)
        if self.n_values > 1 and len(values) != self.n_values:
            raise ParameterError(f"must be {self.n_values} values, got {len(values)}", parameter=self.name)
        for each in values:
            if self.choices:
                _checks.choice(self.name, each, self.choices)
            elif self.type is int:
                number = _checks.whole(self.name, each, int(self.at_least or 0))
                if self.at_most is not None:
                    _checks.at_most(self.name, number, int(self.at_most))
            elif self.type is not float:
                _checks.instance(self.name, each, self.type)
            elif self.at_most is not None or self.below is not None:
                _checks.probability(
                    self.name, each, below_one=self.below is not None, above_zero=self.above is not None
                )
            else:
                (_checks.at_least_zero if self.above is None else _checks.above_zero)(self.name, each)


def option(
    *,
    help: str,
    default: Any = dataclasses.MISSING,
    flag: str | None = None,
    metavar: str | None = None,
    at_least: float | None = None,
    above: float | None = None,
    at_most: float | None = None,
    below: float | None = None,
    is_recorded: bool = True,
) -> Any:
    """A field of options: see `Declared`; the range of numbers with an upper bound is within 0 and 1 if not whole."""
    bounds = {"at_least": at_least, "above": above, "at_most": at_most, "below": below}
    rule = {"help": help, "flag": flag, "metavar": metavar, **bounds, "is_recorded": is_recorded}
    return dataclasses.field(default=default, metadata=rule)


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(option,))
def declared(cls: _Class) -> _Class:
    """Make a frozen dataclass of options; its docstring lists them with their help."""
    made: Any = dataclasses.dataclass(frozen=True, kw_only=True)(cls)
    rows = [f"    {field.name}\n        {field.metadata['help']}" for field in dataclasses.fields(made)]
    made.__doc__ = "\n".join([f"{cls.__doc__}\n\n    Attributes\n    ----------", *rows, ""])
    return cls


class Options:
    """Base of options, each of which is checked by its declaration."""

    def __post_init__(self) -> None:
        for each in fields_of(type(self)).values():
            value = getattr(self, each.name)
            if isinstance(value, os.PathLike):
                value = os.fspath(value)
                object.__setattr__(self, each.name, value)
            each.check(value)
        self._check()

    def _check(self) -> None:
        """Raise ParameterError if options exclude each other."""

    def recorded(self) -> dict[str, Any]:
        """The options by name on which results depend."""
        return {name: getattr(self, name) for name, each in fields_of(type(self)).items() if each.is_recorded}

    def chosen(self, *names: str) -> dict[str, Any]:
        """Some options by name."""
        return {name: getattr(self, name) for name in names}


def fields_of(cls: Any) -> dict[str, Declared]:
    """The fields of a class by name: its own before those that it inherits, and last those that no record has."""
    hints = get_type_hints(cls)
    order = [name for each in cls.__mro__ for name in vars(each).get("__annotations__", {})]
    fields = sorted(
        dataclasses.fields(cls), key=lambda field: (not field.metadata["is_recorded"], order.index(field.name))
    )
    return {
        field.name: Declared(name=field.name, default=field.default, **_kind(hints[field.name]), **field.metadata)
        for field in fields
    }


def _kind(hint: Any) -> dict[str, Any]:
    members = (hint,) if get_origin(hint) in (None, Literal, tuple) else get_args(hint)
    item, n_values = next(each for each in members if each is not NoneType), 1
    for inner in (get_args(each) for each in members if get_origin(each) is tuple):
        item, n_values = inner[0], 0 if inner[-1] is ... else len(inner)
    choices = get_args(item) if get_origin(item) is Literal else ()
    return {
        "type": str if choices else item,
        "choices": choices,
        "n_values": n_values,
        "is_optional": NoneType in members,
    }
