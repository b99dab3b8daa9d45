"""Errors that a user can fix: one family, each with a one-line message."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Literal, NamedTuple, Self

__all__ = ["CorefsampleError", "DamagedFileError", "InputError", "OutputError", "ParameterError", "ParameterHint"]

_SHOWN = 60


class ParameterHint(NamedTuple):
    """The next step after an error, if it is another value of a parameter: "overwrite" with the effect "replaces it".

    Attributes
    ----------
    parameter
        Name of the parameter.
    effect
        Words that follow the name of the parameter in the message, and say what another value of it does.
    """

    parameter: str
    effect: str


def shown(value: object) -> str:
    """Represent a value in one line of about 60 characters at most."""
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def did_you_mean(value: object, choices: Iterable[str], names: Mapping[str, str] | None = None) -> str | None:
    """Hint at the choices that are most like a value, by themselves or by their `names`; None if none is similar."""
    import difflib

    names = names or {}
    choices = {choice.casefold(): choice for choice in choices}
    choices = {names[choice].casefold(): choice for choice in choices.values() if choice in names} | choices
    similar = difflib.get_close_matches(str(value).casefold(), choices, cutoff=0.65)
    matches = dict.fromkeys(choices[text] for text in similar)
    texts = (f"{match} ({names[match]})" if match in names else match for match in matches)
    return f"did you mean {' or '.join(texts)}?" if matches else None


Obstacle = Literal["Locked", "NoConnection", "NoScheduler", "DiskFull"]
"""What prevents the work for now, though call and inputs are right: another run, a network, a scheduler, a disk."""


class CorefsampleError(Exception):
    """Base of every error that corefsample raises on purpose; as text it is one line.

    Parameters
    ----------
    message
        The rule and the value found: "must be at least 1, got 0". With `parameter` its name comes before it.
    parameter
        Name of the invalid parameter of the Python function; the command line shows the name of its option instead.
    place
        File and place in it: "scored.jsonl: line 12: doc_id 'a1'". It comes before the message.
    hint
        The next step, if there is an obvious one; a `ParameterHint` if the step is a parameter.
    obstacle
        What prevents the work for now: the same call may succeed later. None for all other errors.

    Examples
    --------
    >>> print(ParameterError("must be at least 1, got 0", parameter="n_samples"))
    n_samples must be at least 1, got 0
    >>> print(OutputError("output must not exist", place="a.csv", hint=ParameterHint("overwrite", "replaces it")))
    a.csv: output must not exist (overwrite replaces it)
    """

    def __init__(
        self,
        message: str,
        *,
        parameter: str | None = None,
        place: str | None = None,
        hint: str | ParameterHint | None = None,
        obstacle: Obstacle | None = None,
    ) -> None:
        message = message.replace("\n", " ")  # the repr of an array has several lines
        super().__init__(message)
        self.message = message
        self.parameter = parameter
        self.place = place
        self.hint = hint
        self.obstacle = obstacle

    def described(self, name_of: Callable[[str], str] = str) -> str:
        """Return place, parameter, message and hint in one line.

        Parameters
        ----------
        name_of
            Function from the name of a parameter to how the text calls it, such as its option on the command line. By
            default a parameter is called by its name.
        """
        text = self.message if self.parameter is None else f"{name_of(self.parameter)} {self.message}"
        if self.place is not None:
            text = f"{self.place}: {text}"
        if isinstance(self.hint, ParameterHint):
            return f"{text} ({name_of(self.hint.parameter)} {self.hint.effect})"
        return text if self.hint is None else f"{text} ({self.hint})"

    def at(self, place: str) -> Self:
        """Return the same error with `place` before its own place."""
        inner = place if self.place is None else f"{place}: {self.place}"
        return type(self)(self.message, parameter=self.parameter, place=inner, hint=self.hint, obstacle=self.obstacle)

    def as_input_error(self, place: str) -> InputError:
        """Return an InputError of the same text, with `place` first: a file has a value that breaks the rule."""
        text = self.message if self.parameter is None else f"{self.parameter} {self.message}"
        inner = place if self.place is None else f"{place}: {self.place}"
        return InputError(text, place=inner, hint=self.hint)

    def __str__(self) -> str:
        return self.described()


class ParameterError(CorefsampleError, ValueError):
    """Raised if a parameter has an invalid type or value."""


class InputError(CorefsampleError, ValueError):
    """Raised if a file or a document is invalid, or if a file cannot be read."""


class OutputError(CorefsampleError, OSError):
    """Raised if results cannot be written."""


class DamagedFileError(InputError):
    """Raised if a file ends too early, or its bytes are not those that were written."""
