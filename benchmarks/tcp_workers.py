"""Run the events job on Dask workers over TCP: python benchmarks/tcp_workers.py CORPUS [--workers 1 2 3].

CORPUS is a folder of Parquet files, such as benchmarks/large_corpus.py makes. For each number of workers the command
starts a scheduler and as many worker processes of one thread each, which communicate over tcp://127.0.0.1, counts the
corpus, and compares the tables with those of a run in one process, byte by byte. It prints a Markdown table.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyarrow.parquet as pq

TABLES = ("counts.parquet", "counts.csv", "evidence.parquet", "evidence.csv", "documents.parquet")


@contextmanager
def process(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A Dask process, ended with the block; its log is on its standard error."""
    command = [sys.executable, "-m", "dask", *arguments]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as started:
        try:
            yield started
        finally:
            started.terminate()


def address(scheduler: subprocess.Popen[str]) -> str:
    """Address of a scheduler, from its log."""
    assert scheduler.stderr is not None
    for line in scheduler.stderr:
        found = re.search(r"Scheduler at:\s*(tcp://\S+)", line)
        if found:
            return found[1]
    raise SystemExit("the scheduler did not start; is the extra dask installed?")


def wait_for_workers(scheduler: str, n: int) -> None:
    """Wait until n workers have reached the scheduler."""
    from distributed import Client

    with Client(scheduler, set_as_default=False) as client:
        client.wait_for_workers(n, timeout=120)


def count(inputs: Sequence[Path], out: Path, *options: str) -> tuple[float, float]:
    """Wall time of the command `events`, and the processor time of it and its children."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [sys.executable, "-m", "events.commands", "events", *map(str, inputs), "--out", str(out), *options]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    seconds, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def processor_seconds(pids: Sequence[int]) -> float:
    """Processor time so far of processes and of their children (Linux); a worker's child does its work."""
    ticks = 0
    parents = {}
    times = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        parents[int(folder.name)], times[int(folder.name)] = int(fields[1]), int(fields[11]) + int(fields[12])
    for pid, own in times.items():
        ancestor = pid
        while ancestor in parents and ancestor not in pids:
            ancestor = parents[ancestor]
        ticks += own if ancestor in pids else 0
    return ticks / os.sysconf("SC_CLK_TCK")


def on_workers(inputs: Sequence[Path], out: Path, n: int, *options: str) -> tuple[float, float]:
    """Wall time of the job on n workers, and processor time of these."""
    with ExitStack() as stack:
        scheduler = address(stack.enter_context(process("scheduler", "--host", "127.0.0.1", "--port", "0")))
        arguments = ("worker", scheduler, "--nworkers", "1", "--nthreads", "1", "--memory-limit", "1GiB")
        workers = [stack.enter_context(process(*arguments)) for _ in range(n)]
        wait_for_workers(scheduler, n)
        pids = [worker.pid for worker in workers]
        before = processor_seconds(pids)
        seconds, _ = count(inputs, out, "--scheduler", scheduler, *options)
        return seconds, processor_seconds(pids) - before


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--part-size", default="1000", help="documents of a part (default: 1000)")
    chosen = parser.parse_args()
    inputs = sorted(chosen.corpus.glob("*.parquet"))
    n_documents = sum(pq.ParquetFile(path).metadata.num_rows for path in inputs)
    options = ("--part-size", chosen.part_size)
    print(f"| {n_documents:,} documents | seconds | core time a document, ms | same bytes |\n|---|---:|---:|---|")
    with tempfile.TemporaryDirectory() as folder:
        reference = Path(folder) / "one"
        seconds, used = count(inputs, reference, *options)
        print(f"| one process, threads | {seconds:.1f} | {1000 * used / n_documents:.2f} | |", flush=True)
        for n in chosen.workers:
            out = Path(folder) / f"tcp-{n}"
            seconds, used = on_workers(inputs, out, n, *options)
            same = all((out / name).read_bytes() == (reference / name).read_bytes() for name in TABLES)
            work = f"{n} worker{'s' if n > 1 else ''} over TCP"
            print(
                f"| {work} | {seconds:.1f} | {1000 * used / n_documents:.2f} | {'yes' if same else 'NO'} |", flush=True
            )
            if not same:
                sys.exit(1)


if __name__ == "__main__":
    main()
