"""Compile the kernels of score, events, demo and report, so that their first run does not have to.

Compiled kernels are kept beside the package, or in the folder NUMBA_CACHE_DIR; each machine needs this once, and
again after an update. They are valid for processors of one kind.

Examples
--------
  corefsample warm-up
"""

import tempfile
import time
from pathlib import Path

from corefsample.errors import CorefsampleError
from events._options import Options, declared
from events._summary import Summary, counted
from events.commands._parser import Command

_DOCUMENTS, _SAMPLES = 5, 100


@declared
class WarmUpOptions(Options):
    """Options of `warm-up`, which has only those of every command."""


def run_warm_up(options: WarmUpOptions | None = None) -> Summary:
    """Score simulated news and count their events, which compiles the kernels of both and stores them.

    Raises
    ------
    CorefsampleError
        If no folder for compiled kernels is writable, or if NUMBA_DISABLE_JIT is set.
    """
    from corefsample._jit import cache_folders, compiled_kernels, kernels_of
    from corefsample.formats.scored._writing import write_documents
    from events.commands.events import run_events
    from events.runs._run_options import EventsOptions, ScoreOptions
    from events.runs._score_run import score_corpus
    from events.simulation._documents import simulate_documents

    if not cache_folders(kernels_of("events.evidence")):
        rule = "a folder for compiled kernels must be writable, and NUMBA_DISABLE_JIT unset"
        raise CorefsampleError(f"{rule}, got no such folder; NUMBA_CACHE_DIR can name a folder")
    started = time.time()
    with tempfile.TemporaryDirectory() as name:
        news, scored = (Path(name) / f"{each}.parquet" for each in ("news", "scored"))
        write_documents((each.document for each in simulate_documents(_DOCUMENTS, seed=0, event_share=1.0)), news)
        score_corpus(news, ScoreOptions(out=str(scored), mentions="parse"))
        run_events(scored, EventsOptions(out=f"{name}/run", n_samples=_SAMPLES, pictures=False))
    kernels, seconds = compiled_kernels(), round(time.time() - started, 3)
    folders = cache_folders(kernels)
    return Summary(
        values={"folders": folders, "n_kernels": len(kernels), "seconds": seconds},
        shown=[f"{counted(len(kernels), 'kernel')} ready in {seconds:,.1f} s:", *folders],
    )


command = Command(WarmUpOptions, run_warm_up)
