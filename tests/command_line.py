"""Commands called as a terminal calls them, in this process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import click
import pytest

from events.commands._program import _status, cli

LEAVES: dict[str, click.Command] = {}  # those of a group after its name: "audit plan"
for _name, _command in cli.commands.items():
    _inner = _command.commands if isinstance(_command, click.Group) else {}
    LEAVES |= {f"{_name} {each}": command for each, command in _inner.items()} or {_name: _command}


@dataclass(frozen=True)
class Calls:
    """Calls commands; the fixture `call` is one."""

    capsys: pytest.CaptureFixture[str]

    def __call__(self, *arguments: Any) -> tuple[int, str, str]:
        """Status, standard output and standard error of a command."""
        try:
            status = _status([str(argument) for argument in arguments])
        except SystemExit as stop:
            status = int(stop.code or 0)
        captured = self.capsys.readouterr()
        return status, captured.out, captured.err

    def refused(self, *arguments: Any) -> tuple[int, str]:
        """Status and the one line of a command that fails."""
        status, out, err = self(*arguments)
        (line,) = err.splitlines()
        assert out == ""
        return status, line
