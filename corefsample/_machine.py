"""Processors, free memory, and worker processes of the machine."""

import multiprocessing
import multiprocessing.connection
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from corefsample.errors import ParameterError


def processors() -> int:
    """Number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def one_processor_left() -> Iterator[None]:
    """Leave one processor free of Arrow's threads, for the thread that uses its tables while they are read.

    Otherwise the threads would take turns, and both reading and using would take longer.
    """
    import pyarrow as pa

    n_processors = pa.cpu_count()
    pa.set_cpu_count(max(1, min(n_processors, processors() - 1)))
    try:
        yield
    finally:
        pa.set_cpu_count(n_processors)


_SMALL = 2**28  # bytes; smaller arrays are not checked, which keeps short calls short


def available_memory() -> int | None:
    """Bytes of memory that are free for this process on the machine and in its control group; None if unknown."""
    limits = []
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        limits += [1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")]
    except (OSError, ValueError):
        pass
    try:
        group = Path("/sys/fs/cgroup")
        limit, used = ((group / f"memory.{name}").read_text(encoding="ascii") for name in ("max", "current"))
        limits.append(int(limit) - int(used))
    except (OSError, ValueError):  # no control group, or no limit, which is "max"
        pass
    return min(limits, default=None)


def require_memory(n_bytes: int, *, parameter: str, contents: str, hint: str | None = None) -> None:
    """Raise if an array does not fit into memory.

    Raises
    ------
    ParameterError
        If the array does not fit into free memory; the message has its `contents`, its size and the free memory.
    """
    available = available_memory() if n_bytes >= _SMALL else None
    if available is not None and n_bytes > available:
        sizes = f"{n_bytes / 2**30:.1f} GiB, got {max(available, 0) / 2**30:.1f} GiB of free memory"
        raise ParameterError(f"must fit into memory: {contents} takes {sizes}", parameter=parameter, hint=hint)


_PARENT_GONE = 1


def begin_worker() -> None:
    """Prepare a worker process: it ends when its parent ends, and ignores interrupts, which the parent handles.

    Call it first in the initializer of a pool of spawned processes. A parent that is killed cannot stop its workers,
    which would otherwise continue, and keep the terminal and the files of the parent open.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent.sentinel,), name="end with parent", daemon=True).start()


def _end_with(sentinel: int) -> None:
    multiprocessing.connection.wait([sentinel])
    os._exit(_PARENT_GONE)
