"""Simulate ten years of news with known truth, count who attacks, and draw the bands.

Examples
--------
  corefsample demo --out corefsample-demo
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from events import _shared_options as shared
from events._options import declared, option
from events.commands._parser import Command
from events.commands._screen import counted, print_text
from events.commands.events import print_counts_of_run

if TYPE_CHECKING:
    from events.commands._simulated_run import DemoResult
    from events.runs._progress import Progress


@declared
class DemoOptions(shared.Seed, shared.Overwrite):
    """What to simulate, and where.

    Attributes
    ----------
    out
        Folder for the simulated news and the run.
    n_documents
        Articles to simulate.
    seed
        Same seed, same news, same samples.
    """

    out: str = option(default="corefsample-demo", metavar="FOLDER")
    n_documents: int = option(default=2000, at_least=1)


def run_demo(options: DemoOptions | None = None, *, on_progress: Progress | None = None) -> DemoResult:
    """Simulate news into a folder, count its events, and make the HTML page if the libraries are installed.

    Parameters
    ----------
    options
        What to simulate, and where.
    on_progress
        Called from time to time with documents done, documents in all, and documents done.

    Raises
    ------
    ParameterError
        If the folder contains an earlier demo, or something else, or a number is outside its range.
    """
    from events.commands._simulated_run import simulated_run

    return simulated_run(options or DemoOptions(), on_progress)


def print_demo(result: DemoResult) -> None:
    """Print what was simulated, what was counted, and how many intervals hold the truth."""
    click.echo(f"Simulated news: {result.news}")
    print_text("Its countries and dates are names in a simulation, not facts.")
    print_counts_of_run(result.summary)
    click.echo()
    level, n = 100 * result.level, max(result.n_uncertain, 1)
    print_text(
        f"The simulation knows the true counts. The posterior is uncertain about "
        f"{counted(result.n_uncertain, 'count')}; {result.n_covered:,} of them lie in their {level:g}% interval, "
        f"{result.n_covered / n:.1%}. Limits are whole numbers, so that intervals of small counts cover more than "
        f"{level:g}%: here {result.expected / n:.1%} is right."
    )


command = Command(DemoOptions, run_demo, print_demo, task="simulating and counting", reads_lines=False)
