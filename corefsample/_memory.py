"""How much memory is free, so that an array that does not fit is an error and not a swapping machine."""

from __future__ import annotations

from pathlib import Path

from corefsample.errors import ParameterError

_SMALL = 2**28  # bytes; smaller arrays are not checked, as most calls are short


def available_memory() -> int | None:
    """Bytes that this process can still use: those of the machine, or of its control group; None if not known."""
    found = []
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        found += [1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")]
    except (OSError, ValueError):
        pass
    try:
        group = Path("/sys/fs/cgroup")
        limit, used = ((group / f"memory.{name}").read_text(encoding="ascii") for name in ("max", "current"))
        found.append(int(limit) - int(used))
    except (OSError, ValueError):  # no control group, or no limit, which is "max"
        pass
    return min(found, default=None)


def require_memory(n_bytes: int, *, parameter: str, what: str, hint: str | None = None) -> None:
    """Raise if an array does not fit into memory.

    Raises
    ------
    ParameterError
        With the size of the array and the memory that is available.
    """
    available = available_memory() if n_bytes >= _SMALL else None
    if available is not None and n_bytes > available:
        sizes = f"{n_bytes / 2**30:.1f} GiB, got {max(available, 0) / 2**30:.1f} GiB of free memory"
        raise ParameterError(f"must fit into memory: {what} takes {sizes}", parameter=parameter, hint=hint)
