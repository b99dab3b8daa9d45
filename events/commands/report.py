"""Make one HTML page of a finished events run, for exploring and archiving.

FOLDER is the output of `corefsample events`. The page needs no network: counts by event and actor with their
intervals; the documents behind each count; their text with entities, triggers, and the likeliest antecedents of
every mention.

Examples
--------
  corefsample report run
  corefsample report run --audit audit --learned learned
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from events import _shared_options as shared
from events._options import declared, fields_of, option
from events.commands._parser import Command
from events.commands._screen import counted, print_text

if TYPE_CHECKING:
    from corefsample.files._paths import PathLike
    from events.pages._report import ReportResult


@declared
class ReportOptions(shared.Overwrite):
    """What the page contains.

    Attributes
    ----------
    out
        The page, .html. [default: report.html in FOLDER]
    title
        Title of the page. [default: the name of the rule and the periods]
    n_documents
        Texts in the page: alternately those nearest P = 1/2 and those most likely to contain an event.
    n_others
        Documents without evidence in the page, where misses are.
    audit
        Folder of `corefsample audit estimate`: labels and audited counts. [default: none]
    learned
        Folder of `corefsample audit learn`: P that a reader says yes, and counts that rest on it. [default: none]
    """

    out: str | None = option(default=None, metavar="FILE")
    title: str | None = option(default=None, metavar="TEXT")
    n_documents: int = option(default=1000, at_least=0)
    n_others: int = option(default=500, at_least=0)
    audit: str | None = option(default=None, metavar="FOLDER")
    learned: str | None = option(default=None, metavar="FOLDER")


def run_report(folder: PathLike, options: ReportOptions | None = None) -> ReportResult:
    """Write the page of a finished events run: see `write_report`."""
    from events.pages._report import write_report

    options = options or ReportOptions()
    return write_report(folder, **options.chosen(*fields_of(ReportOptions)))


def print_report(summary: ReportResult) -> None:
    """Print what the page contains."""
    click.echo(f"Report   {summary.out} ({summary.n_bytes / 1e6:.1f} MB)")
    print_text(
        f"{counted(summary.n_actors, 'count')} by actor, {counted(summary.n_periods, 'period')}, "
        f"{counted(summary.n_with_events, 'document')} with evidence, {summary.n_texts:,} of them with their text; "
        f"{counted(summary.n_others, 'document')} without evidence."
    )
    if summary.n_with_events > summary.n_texts:
        n_left_out = summary.n_with_events - summary.n_texts
        print_text(f"{counted(n_left_out, 'text')} left out; --documents {summary.n_with_events} includes them all.")


command = Command(ReportOptions, run_report, print_report, "folder", reads_lines=False)
