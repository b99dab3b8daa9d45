"""Commands about the installation: warm-up."""

from __future__ import annotations

import click

from events.cli._options import Command, json_option
from events.cli._screen import counted, print_json

__all__ = ["warm_up"]


@click.command("warm-up", cls=Command, short_help="Compile kernels ahead of the first run.")
@json_option
def warm_up(as_json: bool) -> None:
    """Compile the kernels of score and events, by a small run of both, so that their first run does not have to.

    Compiled kernels are kept beside the package, or in the folder NUMBA_CACHE_DIR; each machine needs this once, and
    again after an update. They are valid for processors of one kind.

    \b
    Example:
      corefsample warm-up
    """
    from events.jobs.warm_up import run_warm_up

    run = run_warm_up()
    if as_json:
        print_json(run.to_json())
        return
    click.echo(f"{counted(run.n_kernels, 'kernel')} ready in {run.seconds:,.1f} s:")
    for folder in run.folders:
        click.echo(f"  {folder}")
