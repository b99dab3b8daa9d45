"""The number of processors, and how many of them Arrow uses."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager


def processors() -> int:
    """Number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def one_processor_left() -> Iterator[None]:
    """Keep Arrow from using all processors while its tables are used as they are read.

    Its threads would take turns with the one that uses the tables, and both would take longer.
    """
    import pyarrow as pa

    before = pa.cpu_count()
    pa.set_cpu_count(max(1, min(before, processors() - 1)))
    try:
        yield
    finally:
        pa.set_cpu_count(before)
