"""The command that makes a page of a run: report."""

from __future__ import annotations

import click

from events.cli._options import Command, json_option, overwrite_option
from events.cli._screen import print_json, tell

__all__ = ["report"]


@click.command(cls=Command, short_help="Make one HTML page of a run, to explore and to keep.")
@click.argument("folder")
@click.option("--out", metavar="FILE", help="The page, .html.  [default: report.html in FOLDER]")
@click.option("--title", metavar="TEXT", help="Title of the page.  [default: the rule's name and the periods]")
@click.option(
    "--documents",
    "n_documents",
    type=int,
    default=1000,
    show_default=True,
    help="Texts in the page: in turn those nearest P = 1/2 and those likeliest to hold an event.",
)
@overwrite_option
@json_option
def report(folder: str, out: str | None, title: str | None, n_documents: int, overwrite: bool, as_json: bool) -> None:
    """Make one HTML page of a finished events run, to explore and to keep.

    FOLDER is what `corefsample events` wrote. The page needs no network: counts by country with their intervals; the
    documents behind each; their text with entities, triggers, and the likeliest antecedents of every mention.

    \b
    Example:
      corefsample report run
    """
    from events.report import write_report

    summary = write_report(folder, out, title=title, n_documents=n_documents, overwrite=overwrite)
    if as_json:
        print_json(summary.to_json())
        return
    click.echo(f"Report   {summary.out} ({summary.n_bytes / 1e6:.1f} MB)")
    tell(
        f"{summary.n_countries:,} countries, {summary.n_periods:,} periods, {summary.n_documents:,} documents with "
        f"evidence, {summary.n_texts:,} of them with their text."
    )
    left_out = summary.n_documents - summary.n_texts
    if left_out:
        tell(f"{left_out:,} texts left out: --documents {summary.n_documents} would hold them all.")
