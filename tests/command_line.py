"""Commands called as a terminal calls them, in this process."""

from __future__ import annotations

from typing import Any

import click
import pytest

from events.commands._parser import Command, Program
from events.commands._program import _status, cli


def leaves(group: Program, words: str = "") -> dict[str, Command]:
    """The commands of a group by name, those of an inner group after its name: "audit plan"."""
    context, found = click.Context(group), {}
    for name in group.list_commands(context):
        command = group.get_command(click.Context(group, parent=context if words else None), name)
        found |= leaves(command, f"{name} ") if isinstance(command, Program) else {f"{words}{name}": command}
    return found


LEAVES: dict[str, Command] = leaves(cli)


def called(capsys: pytest.CaptureFixture[str], *arguments: Any) -> tuple[int, str, str]:
    """Status, standard output and standard error of a command."""
    try:
        status = _status([str(argument) for argument in arguments])
    except SystemExit as stop:
        status = int(stop.code or 0)
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def refused(capsys: pytest.CaptureFixture[str], *arguments: Any) -> tuple[int, str]:
    """Status and the one line of a command that fails."""
    status, out, err = called(capsys, *arguments)
    (line,) = err.splitlines()
    assert out == ""
    return status, line
