"""Printing of text, JSON, pairs of name and value, progress and errors."""

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
from typing import TYPE_CHECKING, Any

import click

from corefsample.errors import OutputError
from events._summary import Pairs, Summary, Table, counted

if TYPE_CHECKING:
    from corefsample.scorers.protocol import EpochReport


COLUMNS = 80
SECONDS_BETWEEN_LINES = 30.0  # time between two lines of progress if standard error is not a terminal
COMMANDS = "commands"  # logger of the begin, the end and the error of a command, which the screen shows anyway
_LINES = ("progress", "steps")


def print_summary(summary: Summary, *, err: bool = False) -> None:
    """Print the text, the tables, the notices and the files of a summary, to standard error if `err` is true."""
    blocks = [*summary.shown, *summary.notices]
    lines = [line for block in blocks for line in _block_lines(block)]
    if summary.files:
        lines += ["", *(f"{title:<8} {path}" for title, path in summary.files.items())]
    for line in lines:
        click.echo(line, err=err)


def _block_lines(block: str | Table | Pairs) -> list[str]:
    """Lines of a paragraph, a table, or pairs of name and value."""
    if isinstance(block, str):  # only sentences are wrapped: other lines end with a path, for copying
        return _filled(block).split("\n") if block.endswith(".") else [block]
    if isinstance(block, Pairs):
        width = max((len(name) for name, _ in block.pairs), default=0)
        texts = [_filled(value or "none", f"  {name:<{width}}  ", " " * (width + 4)) for name, value in block.pairs]
        return [block.title, *(line for text in texts for line in text.split("\n"))]
    rows = [list(block.header), *block.rows] if block.header else list(block.rows)
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    lines = ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip() for row in rows]
    return ["", *([block.title] if block.title else []), *lines]


def print_error(message: str) -> None:
    """Print one line to standard error."""
    _LINE.clear()
    click.echo(f"corefsample: {' '.join(message.split())}", err=True)


def print_json(summary: Any) -> None:
    """Print a summary that programs can read."""
    click.echo(json.dumps(summary, indent=2, default=str))


def _filled(text: str, indent: str = "", continuation_indent: str = "") -> str:
    return textwrap.fill(
        text,
        COLUMNS,
        initial_indent=indent,
        subsequent_indent=continuation_indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def is_watched() -> bool:
    """Whether standard error is a terminal that can redraw a line."""
    return sys.stderr.isatty() and os.environ.get("TERM") not in ("dumb", "unknown")


class _ScreenHandler(logging.Handler):
    """Prints messages of the library to standard error: those from a level on, and progress."""

    def __init__(self, level: int, *, every_step: bool) -> None:
        super().__init__()
        self._level, self._every_step = level, every_step
        self._last = dict.fromkeys(_LINES, time.monotonic())

    def emit(self, record: logging.LogRecord) -> None:
        logger_name = record.name.removeprefix("corefsample.")
        if logger_name == COMMANDS or (record.levelno < self._level and logger_name not in _LINES):
            return
        if logger_name in _LINES and not self._every_step:  # print progress only from time to time
            seconds = time.monotonic()
            if seconds - self._last[logger_name] < SECONDS_BETWEEN_LINES:
                return
            self._last[logger_name] = seconds
        print_error(record.getMessage())


class _JsonLines(logging.Formatter):
    """Formats records as lines of JSON with time (UTC), level, logger and message."""

    def format(self, record: logging.LogRecord) -> str:
        time_of = datetime.datetime.fromtimestamp(record.created, datetime.UTC).isoformat(timespec="milliseconds")
        fields = {"time": time_of, "level": record.levelname, "logger": record.name, "message": record.getMessage()}
        return json.dumps(fields, ensure_ascii=False)


@contextmanager
def log_to_screen(*, verbose: bool, quiet: bool, log_file: str | None = None) -> Iterator[None]:
    """Print messages of the library to standard error.

    With `verbose`, all messages are printed; with `quiet`, only warnings. Otherwise messages from level INFO on are
    printed to a terminal, and warnings and progress to other outputs; progress at most every 30 seconds. All messages
    are written to `log_file`.

    Raises
    ------
    OutputError
        If the log file cannot be written.
    """
    level = logging.DEBUG if verbose else logging.INFO if is_watched() and not quiet else logging.WARNING
    handlers: list[logging.Handler] = [_ScreenHandler(level, every_step=verbose)]
    if log_file is not None:
        try:
            handlers.append(logging.FileHandler(log_file, encoding="utf-8", errors="replace"))
        except OSError as error:
            raise OutputError(f"log file must be writable, got: {error.strerror}", place=log_file) from None
        handlers[-1].setFormatter(_JsonLines())
    root = logging.getLogger("corefsample")
    progress_loggers = [root.getChild(name) for name in _LINES]
    level_before = root.level
    root.setLevel(level if log_file is None else logging.DEBUG)
    for progress_logger in progress_loggers:
        progress_logger.setLevel(logging.WARNING if quiet else logging.INFO)
    for handler in handlers:
        root.addHandler(handler)
    try:
        yield
    finally:
        for handler in handlers:
            root.removeHandler(handler)
            handler.close()
        root.setLevel(level_before)
        for progress_logger in progress_loggers:
            progress_logger.setLevel(logging.NOTSET)


@contextmanager
def progress(task: str, as_json: bool) -> Iterator[Mapping[str, Callable[..., None]]]:
    """Show the number of documents, their rate and the remaining time, or passes of training, on standard error.

    On a terminal, a line is redrawn, unless the command prints JSON. Other outputs get a line every 30 seconds. The
    yielded functions are called during the work; their keys are names of parameters of the function that does it.
    """
    if not logging.getLogger("corefsample.progress").isEnabledFor(logging.INFO) or (is_watched() and as_json):
        yield {}  # because of --quiet, or outside a command
        return
    started = time.monotonic()
    show = _LINE.draw if is_watched() else logging.getLogger("corefsample.progress").info

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
        _LINE.clear()


class _Line:
    """The line of progress on a terminal, which is redrawn."""

    is_drawn = False

    def draw(self, text: str) -> None:
        """Replace the text of the line."""
        self.is_drawn = bool(text)
        width = shutil.get_terminal_size().columns - 1
        click.echo(f"\r\x1b[K{text[:width]}", err=True, nl=False)

    def clear(self) -> None:
        """Erase the line, so that other text can be printed."""
        if self.is_drawn:
            self.draw("")


_LINE = _Line()
