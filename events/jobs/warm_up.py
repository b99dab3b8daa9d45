"""The job behind `corefsample warm-up`: kernels are compiled ahead of the first run."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import Any

from corefsample._jit import cache_folders, compiled_kernels
from corefsample.errors import CorefsampleError
from events.jobs._compiling import compiled_meanwhile, folders_of_kernels, load_kernels

__all__ = ["WarmUp", "run_warm_up"]

_COMMANDS = ("score", "events", "demo", "report")
_GROUPS = (
    *("score", "score with ClearNLP", "score with sampled parses"),
    *("events", "events with uncertain scores", "report"),
)


@dataclass(frozen=True, slots=True)
class WarmUp:
    """What was compiled, and where it is.

    Attributes
    ----------
    commands
        Commands whose kernels are compiled.
    folders
        Folders with the compiled kernels.
    n_kernels
        Number of kernels, those included that an earlier run had compiled.
    seconds
        Wall time.
    """

    commands: tuple[str, ...]
    folders: tuple[str, ...]
    n_kernels: int
    seconds: float

    def to_json(self) -> dict[str, Any]:
        """Return the fields by name."""
        return asdict(self)


def run_warm_up(*, all_commands: bool = False) -> WarmUp:
    """Compile the kernels of scoring and counting into numba's cache, in as many processes as there are processors.

    Parameters
    ----------
    all_commands
        Whether to compile those of calibrating, recalibrating and training too, by small runs on simulated documents.

    Raises
    ------
    CorefsampleError
        If no folder for them can be written, or numba is told not to compile.
    """
    started = time.time()
    if not folders_of_kernels(*_GROUPS):
        rule = "a folder for compiled kernels must be writable, and NUMBA_DISABLE_JIT unset"
        raise CorefsampleError(f"{rule}, got no such folder; NUMBA_CACHE_DIR can name one")
    with compiled_meanwhile(*_GROUPS):
        pass
    load_kernels(*_GROUPS)
    commands: tuple[str, ...] = _COMMANDS
    if all_commands:
        from events.jobs._small_runs import SMALL_RUNS, compile_by_small_runs

        compile_by_small_runs()
        commands += SMALL_RUNS
    kernels = compiled_kernels()
    return WarmUp(commands, tuple(cache_folders(*kernels)), len(kernels), round(time.time() - started, 3))
