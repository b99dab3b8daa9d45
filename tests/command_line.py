"""Commands called as a terminal calls them, in this process."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import click
import pytest

from events.commands._program import _status, cli


def _leaves(group: click.Group, words: str = "") -> dict[str, click.Command]:
    """Commands by name, those of a group after its name: "audit plan"."""
    context, leaves = click.Context(group), {}
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        is_group = isinstance(command, click.Group)
        leaves |= _leaves(command, f"{words}{name} ") if is_group else {f"{words}{name}": command}
    return leaves


LEAVES = _leaves(cli)


def unknown_options(words: Sequence[str]) -> set[str]:
    """Options in the words of a command that the command does not have; the command must exist."""
    command = LEAVES.get(words[0]) or LEAVES[" ".join(words[:2])]
    options = {option for each in command.params for option in (*each.opts, *each.secondary_opts)}
    return {word.partition("=")[0] for word in words if word.startswith("--")} - options - {"--help"}


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

    def good(self, *arguments: Any) -> str:
        """Standard output of a command that succeeds and reports nothing but progress, which slow machines show."""
        status, out, err = self(*arguments)
        reported = [line for line in err.splitlines() if " a second, " not in line and ": finalising: " not in line]
        assert (status, reported) == (0, [])
        return out

    def refused(self, *arguments: Any, status: int = 3) -> str:
        """The one line of a command that fails with this status."""
        found, out, err = self(*arguments)
        (line,) = err.splitlines()
        assert (found, out) == (status, "")
        return line
