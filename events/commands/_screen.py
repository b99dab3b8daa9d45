"""Printing of summaries, JSON, progress and errors."""

from __future__ import annotations

import datetime
import json
import logging
import os
import shutil
import sys
import textwrap
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from corefsample._lazy import explained
from events._summary import Pairs, Summary, counted

if TYPE_CHECKING:
    from corefsample.scorers.protocol import EpochReport


SECONDS_BETWEEN_LINES = 30.0  # time between two lines of progress if standard error is not a terminal
_LINES = ("progress", "steps")
_ERASED = "\r\x1b[K"  # on a terminal, a line of progress is redrawn
_wrapped = partial(textwrap.wrap, width=80, break_long_words=False, break_on_hyphens=False)


def print_summary(summary: Summary) -> None:
    """Print the text, the tables, the notices and the files of a summary."""
    lines: list[str] = []
    for block in [*filter(None, [summary.work]), *summary.shown, *summary.notices]:
        if isinstance(block, str):  # only sentences are wrapped: other lines end with a path, for copying
            lines += _wrapped(block) if block.endswith(".") else [block]
        elif isinstance(block, Pairs):
            lines.append(block.title)
            width = max((len(name) for name, _ in block.pairs), default=0)
            for name, value in block.pairs:
                start, indent = f"  {name:<{width}}  ", " " * (width + 4)
                lines += _wrapped(value or "none", initial_indent=start, subsequent_indent=indent)
        else:
            rows = [block.header, *block.rows] if block.header else block.rows
            widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
            lines += ["", *([block.title] if block.title else [])]
            for first, *others in rows:
                lines.append("  ".join([first.ljust(widths[0]), *map(str.rjust, others, widths[1:])]).rstrip())
    if summary.files:
        lines += ["", *(f"{title:<8} {path}" for title, path in summary.files.items())]
    for line in lines:
        click.echo(line)


def print_error(message: str) -> None:
    """Print one line to standard error."""
    click.echo(f"{_ERASED if is_watched() else ''}corefsample: {' '.join(message.split())}", err=True)


def print_json(summary: Any) -> None:
    """Print a summary that programs can read."""
    click.echo(json.dumps(summary, indent=2, default=str))


def is_watched() -> bool:
    """Whether standard error is a terminal that can redraw a line."""
    return sys.stderr.isatty() and os.environ.get("TERM") not in ("dumb", "unknown")


class _ScreenHandler(logging.Handler):
    """Prints messages of the library to standard error: those from a level on, and progress."""

    def __init__(self, level: int, *, every_step: bool) -> None:
        super().__init__()
        self._level, self._every_step = level, every_step
        self._last = dict.fromkeys(_LINES, time.monotonic())
        self.warnings: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        logger_name = record.name.removeprefix("corefsample.")
        if logger_name in _LINES and not self._every_step:  # print progress only from time to time
            seconds = time.monotonic()
            if seconds - self._last[logger_name] < SECONDS_BETWEEN_LINES:
                return
            self._last[logger_name] = seconds
        if record.levelno >= logging.WARNING:
            self.warnings.append(record.getMessage())
        if logger_name in _LINES or record.levelno >= self._level:
            print_error(record.getMessage())


@contextmanager
def log_to_screen(*, verbose: bool, quiet: bool) -> Iterator[list[str]]:
    """Print messages of the library to standard error, and yield the list of the warnings so far.

    With `verbose`, all messages are printed; with `quiet`, only warnings. Otherwise messages from level INFO on are
    printed to a terminal, and warnings and progress to other outputs; progress at most every 30 seconds. `quiet` also
    hides warnings of Matplotlib about its cache and fonts.
    """
    root = logging.getLogger("corefsample")
    level = logging.DEBUG if verbose else logging.WARNING if quiet else logging.INFO
    handler = _ScreenHandler(level if verbose or is_watched() else logging.WARNING, every_step=verbose)
    level_before, matplotlib = root.level, logging.getLogger("matplotlib")
    root.setLevel(level)
    root.addHandler(handler)
    matplotlib.setLevel(logging.ERROR if quiet else logging.NOTSET)
    try:
        yield handler.warnings
    finally:
        root.removeHandler(handler)
        root.setLevel(level_before)
        matplotlib.setLevel(logging.NOTSET)


@contextmanager
def progress(task: str, as_json: bool) -> Iterator[Mapping[str, Callable[..., None]]]:
    """Show the number of documents, their rate and the remaining time, or passes of training, on standard error.

    On a terminal, a line is redrawn, unless the command prints JSON. Other outputs get a line every 30 seconds. The
    yielded functions are called during the work; their keys are names of parameters of the function that does it.
    """
    log = logging.getLogger("corefsample.progress")
    if not log.isEnabledFor(logging.INFO) or (is_watched() and as_json):
        yield {}  # because of --quiet, or outside a command
        return
    started = time.monotonic()

    def show(text: str) -> None:
        if is_watched():
            click.echo(f"{_ERASED}{text[: shutil.get_terminal_size().columns - 1]}", err=True, nl=False)
        else:
            log.info(text)

    def on_progress(n_read: int, n_total: int, n_documents: int) -> None:
        seconds = max(time.monotonic() - started, 1e-3)
        text = f"{task}: {counted(n_documents, 'document')}, {n_documents / seconds:,.1f} a second"
        if n_total and n_read:
            share = min(n_read / n_total, 1.0)
            remaining = datetime.timedelta(seconds=round(seconds * (1.0 - share) / share))
            # Documents that are read may still have to be computed, which takes an unknown time.
            text += f", {share:.0%} read, {remaining} left" if share < 1.0 else ", all read"
        show(text)

    def on_epoch(report: EpochReport) -> None:
        held_out = "" if report.held_out is None else f", held out {report.held_out.loss:.4f}"
        passes = f"penalty {report.l2:g}, pass {report.epoch} of {report.n_epochs}"
        show(f"{passes}: training {report.loss:.4f}{held_out}")

    try:
        yield {"on_progress": on_progress, "on_epoch": on_epoch}
    finally:
        if is_watched():
            click.echo(_ERASED, err=True, nl=False)


def described(error: Exception) -> str:
    """Describe an unexpected error; an error of the operating system is described with its file."""
    if isinstance(error, OSError) and error.strerror:
        if error.filename is None:
            return f"a file, or standard output, must be accessible, got: {error.strerror}"
        return f"{os.fsdecode(error.filename)}: file or folder must be accessible, got: {error.strerror}"
    if isinstance(error, ModuleNotFoundError):
        return str(explained(error, "this command"))
    # Notes name the document that was processed.
    notes = "".join(f" {note}" for note in getattr(error, "__notes__", ()))
    name = "out of memory" if isinstance(error, MemoryError) else type(error).__name__
    return f"{name}: {error}{notes}".rstrip(": ") + " (COREFSAMPLE_TRACEBACK=1 shows where)"
