"""What commands print: text, JSON, pairs of name and value, progress, errors."""

from __future__ import annotations

import datetime
import json
import logging
import os
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
    from corefsample.scorers.log_linear._training import EpochReport


COLUMNS = 80
SECONDS_BETWEEN_LINES = 30.0  # of progress, where no person watches
COMMANDS = "commands"  # the logger of what the screen has anyway: which command runs, and its error
_LINES = ("progress", STEPS)


def print_text(text: str) -> None:
    """Print text in lines of at most 80 columns, without breaking words."""
    click.echo(_filled(text))


def print_error(message: str) -> None:
    """Print one line to standard error."""
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
        self._level = level
        self.addFilter(self._is_shown)
        if not every_step:
            self.addFilter(_Paced())

    def _is_shown(self, record: logging.LogRecord) -> bool:
        part = record.name.removeprefix(f"{ROOT}.")
        return part != COMMANDS and (record.levelno >= self._level or part in _LINES)

    def emit(self, record: logging.LogRecord) -> None:
        print_error(record.getMessage())


class _JsonLines(logging.Formatter):
    """Records as lines of JSON: time (UTC), level, logger, message."""

    def format(self, record: logging.LogRecord) -> str:
        time_of = datetime.datetime.fromtimestamp(record.created, datetime.UTC).isoformat(timespec="milliseconds")
        content = {"time": time_of, "level": record.levelname, "logger": record.name, "message": record.getMessage()}
        return json.dumps(content, ensure_ascii=False)


class _Paced(logging.Filter):
    """Of the steps of long work, lets one pass every so often."""

    def __init__(self) -> None:
        super().__init__()
        self.last = time.monotonic()

    def filter(self, record: logging.LogRecord) -> bool:
        now = time.monotonic()
        if record.name.endswith(f".{STEPS}"):
            if now - self.last < SECONDS_BETWEEN_LINES:
                return False
            self.last = now
        return True


@contextmanager
def log_to_screen(*, verbose: bool, quiet: bool, log_file: str | None = None) -> Iterator[None]:
    """Print what the library logs to standard error.

    All of it if `verbose`; nothing but warnings if `quiet`; else what takes long where a person watches, and the
    progress alone where nobody does. Steps of long work come every 30 seconds. All of it, every step included, is added
    to `log_file`.

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

    A person who watches sees a bar, unless the command prints JSON. Without a terminal, a line is logged every
    30 seconds. The functions to call are given by the name of the parameter that takes them.
    """
    if not logger("progress").isEnabledFor(logging.INFO):  # --quiet, or not within a command
        yield {}
    elif not is_watched():
        lines = _Lines(task)
        yield {"on_progress": lines.on_progress, "on_epoch": lines.on_epoch}
    elif as_json:
        yield {}
    else:
        with _bar(task) as shown:
            yield shown


class _Lines:
    """Progress as lines of a log, one every so often."""

    def __init__(self, task: str) -> None:
        self.task = task
        self.started = self.last = time.monotonic()

    def _log(self, text: str) -> None:
        now = time.monotonic()
        if now - self.last >= SECONDS_BETWEEN_LINES:
            self.last = now
            logger("progress").info(text)

    def on_progress(self, n_read: int, n_total: int, n_documents: int) -> None:
        share = f"{min(n_read / n_total, 1.0):.0%} read, " if n_total else ""
        seconds = max(time.monotonic() - self.started, 1e-3)
        self._log(f"{self.task}: {share}{counted(n_documents, 'document')}, {n_documents / seconds:,.1f} a second")

    def on_epoch(self, report: EpochReport) -> None:
        self._log(_epoch_line(report))


@contextmanager
def _bar(task: str) -> Iterator[Mapping[str, Callable[..., None]]]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[done]}"),
        TimeRemainingColumn(elapsed_when_finished=True),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        number = bar.add_task(task, total=None, done="")

        def on_progress(n_read: int, n_total: int, n_documents: int) -> None:
            seconds = bar.tasks[0].elapsed
            rate = f", {n_documents / seconds:,.1f} per second" if seconds else ""
            bar.update(number, completed=n_read, total=n_total or None, done=f"{n_documents:,} documents{rate}")

        def on_epoch(report: EpochReport) -> None:
            description = f"penalty {report.l2:g}"
            if bar.tasks[0].description != description:
                bar.reset(number, total=report.n_epochs, description=description)
            bar.update(number, completed=report.epoch, done=f"pass {report.epoch}")
            bar.console.print(_epoch_line(report), highlight=False)

        yield {"on_progress": on_progress, "on_epoch": on_epoch}


def _epoch_line(report: EpochReport) -> str:
    held_out = "" if report.held_out is None else f", held out {report.held_out.loss:.4f}"
    return f"penalty {report.l2:g}, pass {report.epoch} of {report.n_epochs}: training {report.loss:.4f}{held_out}"
