"""What commands print: text, JSON, pairs of name and value, progress, errors."""

from __future__ import annotations

import datetime
import json
import logging
import os
import shutil
import sys
import textwrap
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from corefsample._log import ROOT, STEPS, logger
from corefsample.errors import OutputError

if TYPE_CHECKING:
    from corefsample.scorers.protocol import EpochReport


COLUMNS = 80
SECONDS_BETWEEN_LINES = 30.0  # of progress, where no person watches
COMMANDS = "commands"  # the logger of what the screen has anyway: which command runs, and its error
_LINES = ("progress", STEPS)


def print_text(text: str) -> None:
    """Print text in lines of at most 80 columns, without breaking words."""
    click.echo(_filled(text))


def print_error(message: str) -> None:
    """Print one line to standard error."""
    _LINE.clear()
    click.echo(f"corefsample: {' '.join(message.split())}", err=True)


def print_json(content: Any) -> None:
    """Print a summary that programs can read."""
    click.echo(json.dumps(content, indent=2, default=str))


def print_pairs(title: str, pairs: Sequence[tuple[str, str]]) -> None:
    """Print a title and below it a line for each name and value; long values continue on the next line."""
    for line in pair_lines(title, pairs):
        click.echo(line)


def pair_lines(title: str, pairs: Sequence[tuple[str, str]]) -> list[str]:
    """The lines that `print_pairs` prints."""
    width = max((len(name) for name, _ in pairs), default=0)
    filled = [_filled(value or "none", f"  {name:<{width}}  ", " " * (width + 4)) for name, value in pairs]
    return [title, *(line for text in filled for line in text.split("\n"))]


def print_files(folder: str | None, names: Mapping[str, str]) -> None:
    """Print an empty line, and the files of a folder, if there is one, by their titles; those that do not exist not."""
    from corefsample.files._paths import is_file, joined

    if folder is None:
        return
    click.echo()
    for title, name in names.items():
        path = joined(folder, name)
        if is_file(path):
            click.echo(f"{title:<8} {path}")


def covered_uncertainty(*, parses: bool, recalibration: bool) -> str:
    """What the intervals of a run cover: "coreference, sampled parses and the recalibration"."""
    more = [*(["sampled parses"] if parses else []), *(["the recalibration"] if recalibration else [])]
    return " and ".join([", ".join(["coreference", *more[:-1]]), *more[-1:]]) if more else "coreference only"


def counted(number: int, noun: str) -> str:
    """A number of things: "1 document", "2,000 documents"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def listed(names: Sequence[str], most: int) -> str:
    """The first few of some names, and how many more there are."""
    more = f", and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def mention_counts(counts: Mapping[str, int]) -> str:
    """Counts by reason in words: "3 crossing sentences, 1 discontinuous"."""
    return ", ".join(f"{count:,} {reason.replace('_', ' ')}" for reason, count in sorted(counts.items()))


def print_counts(*counts: tuple[int, str, str]) -> None:
    """Print a line for each number, noun and remark of which the number is not 0."""
    for number, noun, remark in counts:
        if number:
            click.echo(f"{counted(number, noun)} {remark}.")


def _filled(text: str, first: str = "", other: str = "") -> str:
    return textwrap.fill(
        text,
        COLUMNS,
        initial_indent=first,
        subsequent_indent=other,
        break_long_words=False,
        break_on_hyphens=False,
    )


def is_watched() -> bool:
    """Whether standard error is a terminal that can redraw a line."""
    return sys.stderr.isatty() and os.environ.get("TERM") not in ("dumb", "unknown")


class _ScreenHandler(logging.Handler):
    """Prints what the library logs to standard error: from a level, and lines of progress."""

    def __init__(self, level: int, *, every_step: bool) -> None:
        super().__init__()
        self._level, self._every_step = level, every_step
        self._last = dict.fromkeys(_LINES, time.monotonic())

    def emit(self, record: logging.LogRecord) -> None:
        logger_name = record.name.removeprefix(f"{ROOT}.")
        if logger_name == COMMANDS or (record.levelno < self._level and logger_name not in _LINES):
            return
        if logger_name in _LINES and not self._every_step:  # of the steps of long work, one every so often
            now = time.monotonic()
            if now - self._last[logger_name] < SECONDS_BETWEEN_LINES:
                return
            self._last[logger_name] = now
        print_error(record.getMessage())


class _JsonLines(logging.Formatter):
    """Records as lines of JSON: time (UTC), level, logger, message."""

    def format(self, record: logging.LogRecord) -> str:
        time_of = datetime.datetime.fromtimestamp(record.created, datetime.UTC).isoformat(timespec="milliseconds")
        content = {"time": time_of, "level": record.levelname, "logger": record.name, "message": record.getMessage()}
        return json.dumps(content, ensure_ascii=False)


@contextmanager
def log_to_screen(*, verbose: bool, quiet: bool, log_file: str | None = None) -> Iterator[None]:
    """Print what the library logs to standard error.

    With `verbose`, all messages are printed; with `quiet`, only warnings. Otherwise a terminal gets messages from level
    INFO, and other output gets warnings and progress; progress is printed at most every 30 seconds. `log_file` gets all
    messages.

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
    root = logger()
    lines = [logger(name) for name in _LINES]
    before = root.level
    root.setLevel(level if log_file is None else logging.DEBUG)
    for each in lines:
        each.setLevel(logging.WARNING if quiet else logging.INFO)
    for handler in handlers:
        root.addHandler(handler)
    try:
        yield
    finally:
        for handler in handlers:
            root.removeHandler(handler)
            handler.close()
        root.setLevel(before)
        for each in lines:
            each.setLevel(logging.NOTSET)


@contextmanager
def progress(task: str, as_json: bool) -> Iterator[Mapping[str, Callable[..., None]]]:
    """Show documents done, their rate and the time left on standard error; for training passes, too.

    A person who watches sees a line that is redrawn, unless the command prints JSON. Without a terminal, a line is
    printed every 30 seconds. The functions to call are given by the name of the parameter that takes them.
    """
    if not logger("progress").isEnabledFor(logging.INFO) or (is_watched() and as_json):
        yield {}  # --quiet, or not within a command
        return
    started = time.monotonic()
    show = _LINE.draw if is_watched() else logger("progress").info

    def on_progress(n_read: int, n_total: int, n_documents: int) -> None:
        seconds = max(time.monotonic() - started, 1e-3)
        text = f"{task}: {counted(n_documents, 'document')}, {n_documents / seconds:,.1f} a second"
        if n_total and n_read:
            share = min(n_read / n_total, 1.0)
            left = datetime.timedelta(seconds=round(seconds * (1.0 - share) / share))
            # What is read may still have to be computed, and nobody knows how long that takes.
            text += f", {share:.0%} read, {left} left" if share < 1.0 else ", all read"
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
        """Leave an empty line for other text."""
        if self.is_drawn:
            self.draw("")


_LINE = _Line()
