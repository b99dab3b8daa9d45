"""Compile the kernels of score, events, demo and report, so that their first run does not have to.

Compiled kernels are kept beside the package, or in the folder NUMBA_CACHE_DIR; each machine needs this once, and
again after an update. They are valid for processors of one kind.

Examples
--------
  corefsample warm-up
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from events._options import Options, declared
from events.commands._parser import Command
from events.commands._screen import counted

if TYPE_CHECKING:
    from events.commands._small_runs import WarmUp


@declared
class WarmUpOptions(Options):
    """There is nothing to choose."""


def run_warm_up(options: WarmUpOptions | None = None) -> WarmUp:
    """Compile kernels ahead of the first run.

    Raises
    ------
    CorefsampleError
        If no folder for them can be written, or numba is told not to compile.
    """
    from events.commands._small_runs import run_warm_up as run

    return run()


def print_warm_up(run: WarmUp) -> None:
    """Print which kernels are compiled, and where they are."""
    click.echo(f"{counted(run.n_kernels, 'kernel')} ready in {run.seconds:,.1f} s:")
    for folder in run.folders:
        click.echo(f"  {folder}")


command = Command(WarmUpOptions, run_warm_up, print_warm_up, reads_lines=False)
