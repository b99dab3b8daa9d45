"""Failures of commands: their exit statuses and descriptions."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import click

from corefsample._lazy import explained
from corefsample.errors import CorefsampleError, InputError, Obstacle, ParameterError
from corefsample.files._atomic import FULL
from events._summary import Summary
from events.commands._screen import print_error, print_json

# Exit statuses; 75 is EX_TEMPFAIL of sysexits.h, and 128 + the number of a signal is the convention of shells.
USAGE, BAD_INPUT, FAILURE, TRY_AGAIN, INTERRUPTED, TERMINATED = 2, 3, 1, 75, 130, 143


class Failure(click.ClickException):
    """An error of the library, described with the options and arguments of the command that raised it.

    Parameters
    ----------
    error
        Error of the library.
    context
        Context of the command that raised the error, which has its options and arguments.

    Attributes
    ----------
    status
        Exit status.
    fields
        Fields of the error for programs: kind, parameter, place and hint; None if the error lacks one.
    """

    def __init__(self, error: CorefsampleError, context: click.Context) -> None:
        names = {parameter.name: _shown_name(parameter) for parameter in context.command.params}

        def shown(name: str) -> str:
            return names.get(name, name)

        super().__init__(error.described(shown))
        hint = None if error.hint is None else CorefsampleError("", hint=error.hint).described(shown).strip()[1:-1]
        parameter = None if error.parameter is None else shown(error.parameter)
        self.fields = {
            "kind": error.obstacle or type(error).__name__,
            "parameter": parameter,
            "place": error.place,
            "hint": hint,
        }
        status_of_kind = {ParameterError: USAGE, InputError: BAD_INPUT}
        self.status = next((status for kind, status in status_of_kind.items() if isinstance(error, kind)), FAILURE)
        if error.obstacle is not None:
            self.status = TRY_AGAIN


def _shown_name(parameter: click.Parameter) -> str:
    return parameter.human_readable_name if isinstance(parameter, click.Argument) else max(parameter.opts, key=len)


def print_problems(summary: Summary, context: click.Context) -> None:
    """Print the first problems of what was checked to standard error, and the number of the others."""
    hints = set()
    for problem in summary.problems:
        if problem.hint in hints:  # each next step is printed once
            problem = InputError(problem.message, parameter=problem.parameter, place=problem.place)
        hints.add(problem.hint)
        print_error(Failure(problem, context).message)
    if summary.n_hidden_problems:
        print_error(f"and {summary.n_hidden_problems:,} more")


def obstacle_of(error: Exception) -> Obstacle | None:
    """Obstacle that an error of the operating system shows and that may disappear later; None for other errors."""
    if isinstance(error, OSError) and error.errno in FULL:
        return "DiskFull"
    return "NoConnection" if isinstance(error, ConnectionError) and not isinstance(error, BrokenPipeError) else None


def usage_message(error: click.ClickException) -> str:
    """Describe wrong usage in one line; click would print four lines, with the rule in the last."""
    message = " ".join(error.format_message().split())
    if isinstance(error, click.NoSuchOption) and error.ctx is not None:
        similar = get_close_matches(error.option_name, error.possibilities or (), cutoff=0.7)  # --quiet is not --out
        message = f"{error.message} Did you mean {similar[0]!r}?" if similar else error.message
    context = error.ctx if isinstance(error, click.UsageError) else None
    if context is None:  # click finds an option without its value before it knows the command
        return message
    listed = "commands" if isinstance(context.command, click.Group) else "options"
    return f"{message} ('{context.command_path} --help' lists the {listed})"


def failed(message: str, status: int, arguments: Sequence[str] | None, fields: Mapping[str, Any] | None = None) -> int:
    """Print an error in one line, and with --json also as JSON on standard output; return its exit status."""
    print_error(message)
    if "--json" in (sys.argv[1:] if arguments is None else arguments):
        described = {"kind": "Error", "parameter": None, "place": None, "hint": None, **(fields or {})}
        print_json({"error": {"message": " ".join(message.split()), "status": status, **described}})
    return status


def described(error: Exception) -> str:
    """Describe an unexpected error; an error of the operating system is described with its file."""
    if isinstance(error, OSError) and error.strerror:
        if error.filename is None:
            return f"a file, or standard output, must be accessible, got: {error.strerror}"
        return f"{os.fsdecode(error.filename)}: file or folder must be accessible, got: {error.strerror}"
    if isinstance(error, ModuleNotFoundError):
        return str(explained(error, "this command"))
    # Notes name the document that was processed.
    notes = "".join(f" {note}" for note in getattr(error, "__notes__", ()))
    name = "out of memory" if isinstance(error, MemoryError) else type(error).__name__
    return f"{name}: {error}{notes}".rstrip(": ") + " (COREFSAMPLE_TRACEBACK=1 shows where)"
