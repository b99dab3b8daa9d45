"""Seconds of a corpus's parts on two Dask workers and on one: python benchmarks/worker_scaling.py RUNS FILE ...

Each worker has one thread and a processor of its own, so that two workers have twice the processors of one. The clock
runs from the first part's start to the last one's end: workers are started, and have computed a part, before.
Prints the two medians as JSON, those of two workers first.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import distributed

from events.runs._count_parts import CountPart, checked_contents, file_parts
from events.runs._run_options import CountOptions
from events.runs._store import opened_store


def confined(processor: int) -> None:
    """Confine this process, and the threads that Arrow starts in it, to one processor."""
    import pyarrow as pa

    for thread in os.listdir("/proc/self/task"):
        os.sched_setaffinity(int(thread), {processor})
    pa.set_cpu_count(1)


def parts(client: Any, files: list[str], addresses: list[str]) -> float:
    """Seconds of all parts of a new run on some of the workers, one part at a time on each."""
    options = CountOptions(threads=1)
    contents = checked_contents(options)
    with tempfile.TemporaryDirectory() as folder, opened_store(Path(folder) / "parts", folder) as store:
        missing = [part for source in store.sources(files) for part in file_parts(options, contents, source, store)]
        started = time.perf_counter()
        futures = [client.submit(CountPart.compute, part, workers=addresses, pure=False) for part in missing]
        client.gather(futures)
        return time.perf_counter() - started


def main(runs: int, files: list[str]) -> None:
    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, memory_limit=0)
    with cluster, distributed.Client(cluster) as client:
        both = sorted(client.scheduler_info()["workers"])
        for processor, address in zip(sorted(os.sched_getaffinity(0)), both, strict=False):
            client.run(confined, processor, workers=[address])
        parts(client, files[:1], both[:1])
        parts(client, files[:1], both[1:])
        pairs = [(parts(client, files, both), parts(client, files, both[:1])) for _ in range(runs)]
    print(json.dumps([statistics.median(side) for side in zip(*pairs, strict=True)]))


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
