"""What commands put on the screen: JSON, pairs of name and value, progress, complaints."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click

__all__ = ["complain", "print_json", "print_pairs", "progress"]


def print_json(content: Any) -> None:
    """Print a summary that programs can read."""
    click.echo(json.dumps(content, indent=2, default=str))


def print_pairs(title: str, pairs: Sequence[tuple[str, str]]) -> None:
    """Print a title, and beneath it a line a name and value."""
    click.echo(title)
    width = max((len(name) for name, _ in pairs), default=0)
    for name, value in pairs:
        click.echo(f"  {name:<{width}}  {value}")


@contextmanager
def progress(what: str, quiet: bool) -> Iterator[Callable[[int, int, int], None] | None]:
    """Show progress on standard error, if a person watches."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[done]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None, done="")

        def advance(read: int, total: int, done: int) -> None:
            bar.update(task, completed=read, total=total or None, done=f"{done:,} documents")

        yield advance


def complain(message: str) -> None:
    """Print one line to standard error."""
    click.echo(f"corefsample: {' '.join(message.split())}", err=True)
