"""Where the work of scoring is done: in this process, in several, or on a Dask cluster; in the order of the corpus."""

from __future__ import annotations

import dataclasses
import os
import threading
import time
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from multiprocessing import get_context
from typing import Any, Protocol

from corefsample._processes import begin_worker
from corefsample.documents import Rejected
from corefsample.errors import CorefsampleError, InputError, ParameterHint
from events.jobs import ReadDocument
from events.jobs._cluster import POLL, Cluster, connected_cluster
from events.jobs.scoring._options import ScoreOptions
from events.jobs.scoring._workers import Scored, Scorer, Task, place_of

__all__ = ["Engine", "in_order"]

_QUEUED_PER_PROCESS = 3  # tasks submitted for each process while the first result is awaited
_FEWEST_QUEUED = 6  # on a cluster whose workers are still to come
_RECOUNTED = 2.0  # seconds after which the threads of a cluster are counted again

Items = Sequence[ReadDocument | Rejected]


@dataclass(frozen=True, slots=True)
class Engine:
    """Processes that score.

    Attributes
    ----------
    jobs
        Number of processes of the standard library's executor; 1: this process.
    workers, scheduler
        Number of processes of a local Dask cluster, or the address of an existing scheduler, instead.
    """

    jobs: int = 1
    workers: int | None = None
    scheduler: str | None = None

    @property
    def is_cluster(self) -> bool:
        """Whether Dask does the work."""
        return self.workers is not None or self.scheduler is not None


class _Pool(Protocol):
    """Processes to which tasks are given."""

    def submit(self, items: Items) -> Any:
        """Begin the work on some documents."""

    def is_full(self, n_waiting: int) -> bool:
        """Whether a result should be taken before the next task is given."""

    def result(self, future: Any, items: Items) -> Scored:
        """Wait for the work on some documents."""


def in_order(tasks: Iterator[Task], scorer: Scorer, engine: Engine) -> Generator[tuple[Task, Scored]]:
    """Work on tasks and yield their results in the order of the tasks.

    A single task is worked on in this process, unless there is a scheduler. Each process has its own model and
    pipeline.

    Raises
    ------
    CorefsampleError
        If a process is killed, several in a row on a cluster.
    OutputError
        If a scheduler cannot be reached.
    """
    first = list(islice(tasks, 2))
    tasks = chain(first, tasks)
    here = engine.jobs == 1 and not engine.is_cluster
    if here or (len(first) < 2 and engine.scheduler is None):
        for task in tasks:
            yield task, scorer.score(task.items)
        return
    waiting: deque[tuple[Task, Any]] = deque()
    with _cluster_pool(scorer, engine) if engine.is_cluster else _process_pool(scorer, engine.jobs) as pool:
        for task in tasks:
            waiting.append((task, pool.submit(task.items)))
            while pool.is_full(len(waiting)) or (waiting and waiting[0][1].done()):
                yield _first_result(pool, waiting)
        while waiting:
            yield _first_result(pool, waiting)


def _first_result(pool: _Pool, waiting: deque[tuple[Task, Any]]) -> tuple[Task, Scored]:
    task, future = waiting.popleft()
    return task, pool.result(future, task.items)


# --- processes of the standard library ---


@contextmanager
def _process_pool(scorer: Scorer, jobs: int) -> Iterator[_Pool]:
    # Spawned processes, because the threads of libraries do not survive in a forked one.
    context = get_context("spawn")
    pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=_begin, initargs=(scorer.options,))
    try:
        yield _Processes(pool, jobs)
    except BrokenProcessPool:
        hint = ParameterHint("jobs", "needs less memory with a smaller number")
        raise CorefsampleError("a process ended before its work was done, perhaps out of memory", hint=hint) from None
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


class _Processes:
    """Processes of an executor."""

    def __init__(self, pool: ProcessPoolExecutor, jobs: int) -> None:
        self._pool, self._jobs = pool, jobs

    def submit(self, items: Items) -> Future[Scored]:
        return self._pool.submit(_work, items)

    def is_full(self, n_waiting: int) -> bool:
        return n_waiting > _QUEUED_PER_PROCESS * self._jobs

    def result(self, future: Future[Scored], items: Items) -> Scored:
        return future.result()


_scorers: list[Scorer] = []  # the single scorer of a worker process


def _begin(options: ScoreOptions) -> None:
    """Prepare a worker process."""
    begin_worker()
    _scorers.append(Scorer(options))


def _work(items: Items) -> Scored:
    return _scorers[0].score(items)


# --- Dask ---


@contextmanager
def _cluster_pool(scorer: Scorer, engine: Engine) -> Iterator[_Pool]:
    with connected_cluster(engine.workers, engine.scheduler) as cluster:
        yield _Workers(cluster, _anywhere(scorer.options), _identity(scorer))


class _Workers:
    """Workers of a cluster."""

    def __init__(self, cluster: Cluster, options: ScoreOptions, identity: dict[str, Any]) -> None:
        self._cluster, self._options, self._identity = cluster, options, identity
        self._n_threads, self._counted = 0, -_RECOUNTED

    def submit(self, items: Items) -> Any:
        return self._cluster.submit(_work_on_cluster, self._options, self._identity, items)

    def is_full(self, n_waiting: int) -> bool:
        if time.monotonic() - self._counted >= _RECOUNTED:  # workers come and go
            self._n_threads, self._counted = self._cluster.n_threads(), time.monotonic()
        return n_waiting > max(_QUEUED_PER_PROCESS * self._n_threads, _FEWEST_QUEUED)

    def result(self, future: Any, items: Items) -> Scored:
        while not future.done():
            self._cluster.require_running([future])
            time.sleep(POLL)
        self._cluster.require_running([future])
        if future.status == "error":
            task = f"the {len(items)} documents from {place_of(items[0])} are"
            raise self._cluster.error_of(future, task, "they may need more memory: fewer workers on a machine")
        scored: Scored = future.result()
        return scored


def _anywhere(options: ScoreOptions) -> ScoreOptions:
    """The same options for processes that work in another folder."""
    named = {name: getattr(options, name) for name in ("model", "pipeline", "recalibration")}
    files = {name: os.path.abspath(path) for name, path in named.items() if path is not None and os.path.exists(path)}
    return dataclasses.replace(options, **files)


def _identity(scorer: Scorer) -> dict[str, Any]:
    """What must be the same in all processes: everything on which scores depend, but not the names of files."""
    described = scorer.described()
    model, pipeline = described["model"]["sha256"], dict(described["pipeline"] or {})
    pipeline.pop("name", None)
    return {**described, "model": model, "pipeline": pipeline}


_lock = threading.Lock()  # a worker may have several threads, a pipeline of spaCy serves one
_scorer_of: dict[ScoreOptions, tuple[Scorer, dict[str, Any]]] = {}  # of a worker, the last one


def _work_on_cluster(options: ScoreOptions, identity: dict[str, Any], items: Items) -> Scored:
    with _lock:
        if options not in _scorer_of:
            _scorer_of.clear()
            scorer = Scorer(options)
            _scorer_of[options] = scorer, _identity(scorer)
        scorer, found = _scorer_of[options]
        for name, expected in identity.items():
            if found[name] != expected:
                rule = f"a worker must have the same {name} as the process that began the run"
                raise InputError(f"{rule}, got {found[name]!r}")
        return scorer.score(items)
