"""Commands called as a terminal calls them, in this process."""

from __future__ import annotations

from typing import Any

import click
import pytest

from events.commands._program import _status, cli

LEAVES: dict[str, click.Command] = {}  # those of a group after its name: "audit plan"
for _name, _command in cli.commands.items():
    _inner = _command.commands if isinstance(_command, click.Group) else {}
    LEAVES |= {f"{_name} {each}": command for each, command in _inner.items()} or {_name: _command}


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
