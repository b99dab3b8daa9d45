"""Options declared once: type, range, default and docstring of a field serve Python and the command line."""

from __future__ import annotations

import dataclasses
import inspect
import os
import re
from collections.abc import Callable, Mapping
from types import NoneType
from typing import (
    Any,
    ClassVar,
    Literal,
    Self,
    TypeVar,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
)

_Class = TypeVar("_Class", bound=type)
_ATTRIBUTES = "\n\nAttributes\n----------\n"

Progress = Callable[[int, int, int], None]  # called with bytes read, bytes in all, documents read


@dataclasses.dataclass(frozen=True, kw_only=True)
class Declared:
    """A field of options.

    Attributes
    ----------
    name
        Name of the field.
    help
        Description of the field in the docstring of its class.
    type
        Type of one value: bool, int, float or str.
    choices
        Values that a text may have; empty if every text is allowed.
    n_values
        Number of values that the field has: usually 1, more for a tuple of that length, 0 for any number.
    is_optional
        True if the field may be None.
    default
        Default value; `dataclasses.MISSING` if the field is required.
    flag, metavar
        Flag and placeholder on the command line, if they do not follow from the name and the type; the flag "" means
        that only Python has the option.
    at_least, above, at_most, below
        Bounds of a number, inclusive (`at_least`, `at_most`) or exclusive (`above`, `below`); None without a bound.
    is_recorded
        True if records of runs contain the field, because results depend on it.
    """

    name: str
    help: str
    type: type
    choices: tuple[str, ...]
    n_values: int
    is_optional: bool
    default: Any
    flag: str | None = None
    metavar: str | None = None
    at_least: float | None = None
    above: float | None = None
    at_most: float | None = None
    below: float | None = None
    is_recorded: bool = True

    def check(self, value: Any) -> None:
        """Raise ParameterError if a value does not have the field's type or does not lie in its range."""
        from corefsample import _checks
        from corefsample.errors import ParameterError

        if value is None and self.is_optional:
            return
        values = value if isinstance(value, (tuple, list)) else (value,)
        if self.n_values > 1 and len(values) != self.n_values:
            raise ParameterError(f"must be {self.n_values} values, got {len(values)}", parameter=self.name)
        for element in values:
            if self.choices:
                _checks.choice(self.name, element, self.choices)
            elif self.type is int:
                number = _checks.whole(self.name, element, int(self.at_least or 0))
                if self.at_most is not None:
                    _checks.at_most(self.name, number, int(self.at_most))
            elif self.type is not float:
                _checks.instance(self.name, element, self.type)
            elif self.at_most is not None or self.below is not None:
                _checks.probability(
                    self.name, element, below_one=self.below is not None, above_zero=self.above is not None
                )
            else:
                (_checks.at_least_zero if self.above is None else _checks.above_zero)(self.name, element)


def option(*, default: Any = dataclasses.MISSING, **rule: Any) -> Any:
    """A field of options; the keywords are attributes of `Declared`: flag, metavar, bounds and is_recorded.

    Floating-point numbers with an upper bound must be probabilities.
    """
    return dataclasses.field(default=default, metadata=rule)


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(option,))
def declared(cls: _Class) -> _Class:
    """Make a frozen dataclass of options, whose docstring describes all its options, including inherited ones."""
    summary, _, rows = inspect.cleandoc(cls.__doc__ or "").partition(_ATTRIBUTES)
    new_class: Any = dataclasses.dataclass(frozen=True, kw_only=True)(cls)
    described = re.findall(r"^(\w+)((?:\n    .*)+)", rows, flags=re.MULTILINE)
    inherited = [pair for base in reversed(new_class.__mro__) for pair in vars(base).get("help_of", {}).items()]
    new_class.help_of = dict([*inherited, *((name, " ".join(text.split())) for name, text in described)])
    lines = []
    for field in dataclasses.fields(new_class):  # as numpydoc writes them
        default = {dataclasses.MISSING: "", None: ", optional"}.get(field.default, f", default {field.default!r}")
        lines.append(f"{field.name} : {field.type}{default}\n    {new_class.help_of.get(field.name, '')}\n")
    new_class.__doc__ = summary.rstrip() + _ATTRIBUTES + "".join(lines)
    return cls


class Options:
    """Base class of options, which checks the value of each field by its declaration.

    Attributes
    ----------
    help_of
        Description of each option, by name.
    """

    help_of: ClassVar[dict[str, str]] = {}

    def __post_init__(self) -> None:
        for field in fields_of(type(self)).values():
            value = getattr(self, field.name)
            if isinstance(value, os.PathLike):
                value = os.fspath(value)
            field.check(value)
            if "://" in str(value):
                from corefsample.files._remote import without_credentials

                value = tuple(map(without_credentials, value)) if field.n_values != 1 else without_credentials(value)
            object.__setattr__(self, field.name, value)
        self._check()

    def _check(self) -> None:
        """Raise ParameterError if options exclude each other."""

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Self:
        """Options from the JSON of a record, whose other fields are ignored."""
        values = {name: record[name] for name in fields_of(cls) if name in record}
        return cls(**{name: tuple(value) if isinstance(value, list) else value for name, value in values.items()})

    def recorded(self) -> dict[str, Any]:
        """Options on which results depend, by name."""
        return {name: getattr(self, name) for name, each in fields_of(type(self)).items() if each.is_recorded}

    def subset(self, *names: str) -> dict[str, Any]:
        """Values of some options, by name."""
        return {name: getattr(self, name) for name in names}


def fields_of(cls: type[Options]) -> dict[str, Declared]:
    """Fields of a class by name: fields of the class, then inherited ones, and last those that are not recorded."""
    hints = get_type_hints(cls)
    order = [name for each in cls.__mro__ for name in vars(each).get("__annotations__", {})]
    declarations = []
    for field in sorted(dataclasses.fields(cls), key=lambda each: order.index(each.name)):  # type: ignore[arg-type]
        hint = hints[field.name]
        members = (hint,) if get_origin(hint) in (None, Literal, tuple) else get_args(hint)
        kind, n_values = next(each for each in members if each is not NoneType), 1
        for inner_types in (get_args(each) for each in members if get_origin(each) is tuple):
            kind, n_values = inner_types[0], 0 if inner_types[-1] is ... else len(inner_types)
        choices = get_args(kind) if get_origin(kind) is Literal else ()
        rule: dict[str, Any] = {
            "name": field.name,
            "help": cls.help_of.get(field.name, "").replace(" [default:", "  [default:"),
            "type": str if choices else kind,
            "choices": choices,
            "n_values": n_values,
            "is_optional": NoneType in members,
            "default": field.default,
        }
        declarations.append(Declared(**rule, **field.metadata))
    return {each.name: each for each in sorted(declarations, key=lambda each: not each.is_recorded)}
