"""The job behind `corefsample warm-up`: kernels are compiled ahead of the first run."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import Any

from corefsample.errors import CorefsampleError
from events.jobs._compiling import compiled_meanwhile, folders_of_kernels, load_kernels

__all__ = ["WarmUp", "run_warm_up"]

_COMMANDS = ("score", "score with ClearNLP", "events")


@dataclass(frozen=True, slots=True)
class WarmUp:
    """What was compiled, and where it is.

    Attributes
    ----------
    folders
        Folders with the compiled kernels.
    n_kernels
        Number of kernels, those included that an earlier run had compiled.
    seconds
        Wall time.
    """

    folders: tuple[str, ...]
    n_kernels: int
    seconds: float

    def to_json(self) -> dict[str, Any]:
        """Return the fields by name."""
        return asdict(self)


def run_warm_up() -> WarmUp:
    """Compile the kernels of scoring and counting into numba's cache, in as many processes as there are processors.

    Raises
    ------
    CorefsampleError
        If no folder for them can be written, or numba is told not to compile.
    """
    started = time.time()
    folders = folders_of_kernels(*_COMMANDS)
    if not folders:
        rule = "a folder for compiled kernels must be writable, and NUMBA_DISABLE_JIT unset"
        raise CorefsampleError(f"{rule}, got no such folder; NUMBA_CACHE_DIR can name one")
    with compiled_meanwhile(*_COMMANDS):
        pass
    n_kernels = load_kernels(*_COMMANDS)
    return WarmUp(tuple(folders), n_kernels, round(time.time() - started, 3))
