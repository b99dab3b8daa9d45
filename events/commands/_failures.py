"""Errors of the library on the command line: one line that names options, and the exit status of their kind."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import click

from corefsample.errors import CorefsampleError, InputError, ParameterError
from events._options import Result

if TYPE_CHECKING:
    from corefsample.documents._rejected import Rejected

USAGE, BAD_INPUT, FAILURE, INTERRUPTED = 2, 3, 1, 130


class Failure(click.ClickException):
    """An error of the library, described with the options and arguments of the command that raised it.

    Parameters
    ----------
    error
        The error.
    context
        Of the command.

    Attributes
    ----------
    status
        Exit status.
    fields
        Parts of the error for programs: kind, parameter, place and hint, None where it has none.
    """

    def __init__(self, error: CorefsampleError, context: click.Context) -> None:
        names = {parameter.name: _shown_name(parameter) for parameter in context.command.params}

        def shown(name: str) -> str:
            return names.get(name, name)

        super().__init__(error.described(shown))
        hint = None if error.hint is None else CorefsampleError("", hint=error.hint).described(shown).strip()[1:-1]
        parameter = None if error.parameter is None else shown(error.parameter)
        self.fields = {"kind": type(error).__name__, "parameter": parameter, "place": error.place, "hint": hint}
        status_of_kind = {ParameterError: USAGE, InputError: BAD_INPUT}
        self.status = next((status for kind, status in status_of_kind.items() if isinstance(error, kind)), FAILURE)


def usage_message(error: click.ClickException) -> str:
    """Describe wrong usage in one line: click would print four, the rule in the last of them."""
    message = " ".join(error.format_message().split())
    context = error.ctx if isinstance(error, click.UsageError) else None
    if context is None:  # an option without its value is found before click knows the command
        return message
    parts = "commands" if isinstance(context.command, click.Group) else "options"
    return f"{message} ('{context.command_path} --help' lists the {parts})"


def _shown_name(parameter: click.Parameter) -> str:
    return parameter.human_readable_name if isinstance(parameter, click.Argument) else max(parameter.opts, key=len)


_SHOWN = 20  # problems


@dataclass(slots=True, kw_only=True)
class Report(Result):
    """Base of reports on files.

    Attributes
    ----------
    title
        The files.
    n_problems, problems
        Number of bad documents, and the errors of the first ones.
    """

    title: str
    n_problems: int = 0
    problems: list[CorefsampleError] = field(default_factory=list)

    def reject(self, rejected: Rejected) -> None:
        """Add a bad document."""
        self.n_problems += 1
        if len(self.problems) < _SHOWN:
            self.problems.append(rejected.error())
