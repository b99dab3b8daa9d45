"""Commands called as a terminal calls them, in this process."""

from __future__ import annotations

from typing import Any

import pytest

from events.cli._program import _status


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
