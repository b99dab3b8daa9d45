"""What commands put on the screen: prose, JSON, pairs of name and value, progress, complaints."""

from __future__ import annotations

import json
import os
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click

__all__ = ["complain", "counted", "print_json", "print_pairs", "progress", "tell", "tell_counts", "watched"]

COLUMNS = 80


def tell(text: str) -> None:
    """Print prose in lines of at most 80 columns; words stay whole, however long."""
    click.echo(_filled(text))


def counted(number: int, noun: str) -> str:
    """A number of things: "1 document", "2,000 documents"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def tell_counts(*counts: tuple[int, str, str]) -> None:
    """Print a line for each number of things and what is said of them, where there are any."""
    for number, noun, said in counts:
        if number:
            click.echo(f"{counted(number, noun)} {said}.")


def print_json(content: Any) -> None:
    """Print a summary that programs can read."""
    click.echo(json.dumps(content, indent=2, default=str))


def print_pairs(title: str, pairs: Sequence[tuple[str, str]]) -> None:
    """Print a title, and beneath it a line a name and value; a long value goes on beneath itself."""
    click.echo(title)
    width = max((len(name) for name, _ in pairs), default=0)
    for name, value in pairs:
        click.echo(_filled(value or "none", f"  {name:<{width}}  ", " " * (width + 4)))


def _filled(text: str, first: str = "", other: str = "") -> str:
    return textwrap.fill(
        text,
        COLUMNS,
        initial_indent=first,
        subsequent_indent=other,
        break_long_words=False,
        break_on_hyphens=False,
    )


def watched() -> bool:
    """Whether a person watches standard error, on a terminal that can draw a line anew."""
    return sys.stderr.isatty() and os.environ.get("TERM") not in ("dumb", "unknown")


@contextmanager
def progress(what: str, quiet: bool) -> Iterator[Callable[[int, int, int], None] | None]:
    """Show progress on standard error, if a person watches."""
    if quiet or not watched():
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
