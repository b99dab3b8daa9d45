"""Progress of long work, for a person who watches: with its rate and what is left, and with what training finds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from events.cli._screen import watched

if TYPE_CHECKING:
    from corefsample.mention_ranking import EpochReport

__all__ = ["scoring_progress", "training_progress"]

OnProgress = Callable[[int, int, int], None]
OnEpoch = Callable[["EpochReport"], None]


def _console() -> Any:
    from rich.console import Console

    return Console(stderr=True)


@contextmanager
def scoring_progress(quiet: bool) -> Iterator[OnProgress | None]:
    """Show documents done, their rate and the time left on standard error, if a person watches."""
    if quiet or not watched():
        yield None
        return
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

    columns = (
        SpinnerColumn(),
        TextColumn("scoring"),
        BarColumn(),
        TextColumn("{task.fields[done]}"),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=_console(), transient=True) as bar:
        task = bar.add_task("scoring", total=None, done="", rate="")

        def advance(read: int, total: int, done: int) -> None:
            elapsed = bar.tasks[0].elapsed or 0.0
            rate = f"{done / elapsed:,.1f} a second" if elapsed > 0 else ""
            bar.update(task, completed=read, total=total or None, done=f"{done:,} documents", rate=rate)

        yield advance


@contextmanager
def training_progress(quiet: bool, n_passes: int) -> Iterator[tuple[OnProgress | None, OnEpoch | None]]:
    """Show documents read, then each pass with its held-out likelihood, on standard error, if a person watches."""
    if quiet or not watched():
        yield None, None
        return
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[done]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=_console(), transient=True) as bar:
        reading = bar.add_task("reading", total=None, done="")
        training = bar.add_task("training", total=n_passes, done="", visible=False)

        def advance(read: int, total: int, done: int) -> None:
            bar.update(reading, completed=read, total=total or None, done=f"{done:,} documents")

        def note(report: EpochReport) -> None:
            bar.update(reading, visible=False)
            bar.update(training, visible=True, advance=1, done=f"penalty {report.l2:g}, pass {report.epoch}")
            bar.console.print(_line(report), highlight=False)

        yield advance, note


def _line(report: EpochReport) -> str:
    found = "" if report.held_out is None else f", held out {report.held_out.loss:.4f}"
    return f"penalty {report.l2:g}, pass {report.epoch} of {report.n_epochs}: training {report.loss:.4f}{found}"
