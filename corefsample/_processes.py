"""Worker processes of the standard library's executors."""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import os
import signal
import threading

_PARENT_GONE = 1


def begin_worker() -> None:
    """Prepare a worker process: it ends when its parent does, and leaves interrupts to the parent.

    Call it first in the initializer of a pool of spawned processes. A parent that is killed cannot stop its workers,
    which would otherwise work on, and keep its terminal and its files open.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent.sentinel,), name="end with parent", daemon=True).start()


def _end_with(sentinel: int) -> None:
    multiprocessing.connection.wait([sentinel])
    os._exit(_PARENT_GONE)
