"""The command line in a notebook: `run("corefsample demo")` does what the same line does in a terminal."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys

__all__ = ["run"]


def run(command: str, folder: str | os.PathLike[str], *, status: int = 0) -> None:
    """Run one corefsample command in a folder and print what it says.

    Parameters
    ----------
    command
        As in a terminal, "corefsample doctor rule.yaml".
    folder
        Where to run it.
    status
        The exit status that is meant: 0 for done, 3 where the notebook shows bad input.

    Raises
    ------
    RuntimeError
        If the command ends with another status.
    """
    program, *arguments = shlex.split(command)
    if program != "corefsample":
        raise ValueError(f"command must begin with corefsample, got {program!r}")
    print(f"$ {command}", flush=True)
    # The module is what the program `corefsample` calls; so the kernel's own installation runs, whatever the PATH.
    finished = subprocess.run(
        [sys.executable, "-m", "events.commands", *arguments],
        cwd=folder,
        env={**os.environ, "COLUMNS": "100"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
    )
    print(finished.stdout, end="")
    if finished.returncode != status:
        raise RuntimeError(f"{command} ended with status {finished.returncode}, not {status}")
