"""Several partitions in this process: the result of one is written while the documents of the next are counted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack

from corefsample.files import FolderCopy, is_url
from events.jobs.partitions._run import OnProgress, counted_partition

__all__ = ["run_in_turn"]


def run_in_turn(
    folder: FolderCopy,
    numbers: Sequence[int],
    *,
    progress_of: Callable[[int], OnProgress | None],
    on_counted: Callable[[int], None],
) -> None:
    """Compute partitions one after another, each as `run_partition` does.

    Parameters
    ----------
    folder
        The folder of the run.
    numbers
        Of the partitions.
    progress_of
        For a partition, what is called after each of its batches.
    on_counted
        Called with the number of each partition whose documents are counted.

    Raises
    ------
    ParameterError, InputError, OutputError
        As of `run_partition`; where a result cannot be written, perhaps when the next partition is counted.
    """
    with ThreadPoolExecutor(1, thread_name_prefix="corefsample-write") as background:
        written: Future[None] | None = None
        for number in numbers:
            with ExitStack() as counting:
                complete = counting.enter_context(counted_partition(folder, number, on_progress=progress_of(number)))
                on_counted(number)
                if written is not None:
                    written.result()
                counted = counting.pop_all()
            written = background.submit(_complete, counted, complete)
            # The first complete partition decides what scores the others must have. A copy of a run brings its
            # changes to its URL for one partition at a time.
            if number == numbers[0] or is_url(folder.given):
                written.result()
        if written is not None:
            written.result()


def _complete(counted: ExitStack, complete: Callable[[], None]) -> None:
    with counted:
        complete()
