"""How many processors there are to work on."""

from __future__ import annotations

import os

__all__ = ["processors"]


def processors() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
