"""The job behind `corefsample warm-up`: kernels are compiled ahead of the first run."""

from __future__ import annotations

import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from corefsample._jit import cache_folders, compiled_kernels, kernels_of
from corefsample.errors import CorefsampleError
from corefsample.formats import write_documents
from events.runs.counting._job import CountOptions, count_events
from events.runs.scoring._options import ScoringOptions
from events.runs.scoring._run import score_corpus
from events.simulation import simulate_documents

__all__ = ["WarmUp", "run_warm_up"]

_DOCUMENTS, _SAMPLES = 5, 100


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
    """Score simulated news and count their events, so that the kernels of both are in numba's cache.

    Raises
    ------
    CorefsampleError
        If no folder for them can be written, or numba is told not to compile.
    """
    if not cache_folders(kernels_of("events.counting")):
        rule = "a folder for compiled kernels must be writable, and NUMBA_DISABLE_JIT unset"
        raise CorefsampleError(f"{rule}, got no such folder; NUMBA_CACHE_DIR can name one")
    started = time.time()
    with tempfile.TemporaryDirectory() as name:
        news, scored = (Path(name) / f"{each}.parquet" for each in ("news", "scored"))
        write_documents((each.document for each in simulate_documents(_DOCUMENTS, seed=0, event_share=1.0)), news)
        score_corpus(news, scored, ScoringOptions(mentions="parse"))
        count_events(scored, Path(name) / "run", CountOptions(n_samples=_SAMPLES), pictures=False)
    kernels = compiled_kernels()
    return WarmUp(tuple(cache_folders(kernels)), len(kernels), round(time.time() - started, 3))
