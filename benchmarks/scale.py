"""Rows of the events job on a large corpus: time, memory, growth, workers, parts and resuming.

The corpus is that of benchmarks/large_corpus.py in the folder that the environment names as COREFSAMPLE_LARGE_CORPUS.
Without it a smaller one is simulated, which takes about a minute.
"""

from __future__ import annotations

import gc
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from large_corpus import write_corpus
from measure import Row, in_turn, within
from reading import read_columns

from corefsample import read_documents, sample_clusterings, write_documents
from events.commands import EventsOptions, run_events
from events.rule_error import _model

__all__ = ["peak", "scale_rows"]

LARGE_CORPUS = "COREFSAMPLE_LARGE_CORPUS"
N_DOCUMENTS, N_FILES = 6_000, 4  # of the smaller corpus
LARGE = 100_000  # documents
N_PARTITIONS = 37
SLOPE = 1.05
RESUMING = 2.0  # seconds
LARGEST_PEAK = 600 * 2**20
MOST_OVERHEAD = 1.05


def scale_rows(runs: int) -> Iterator[Row]:
    """All rows; those of time have a second one with the core seconds of both sides, which noise affects less."""
    gc.set_threshold(20_000)  # as the command line does
    with tempfile.TemporaryDirectory() as folder:
        files = _corpus(Path(folder))
        sizes = [pq.ParquetFile(path).metadata.num_rows for path in files]
        yield from _against_reading(files, sum(sizes), folder, runs)
        yield _error_of_rules(files, sum(sizes), folder, runs)
        yield from _parts(files, sizes, folder, runs)
        yield from _growth(files, sizes, folder)
        yield from _sampler_threads(files[0], runs)
        yield from _workers(files, sum(sizes), runs)
        yield from _memory(files, sum(sizes), folder)
        yield from _resuming(files[0], folder, runs)


def _corpus(folder: Path) -> list[Path]:
    name = os.environ.get(LARGE_CORPUS)
    if name is None:
        name = str(folder / "corpus")
        write_corpus(Path(name), N_DOCUMENTS, N_FILES, os.cpu_count() or 1)
    files = sorted(Path(name).glob("*.parquet"))
    if not files:
        raise SystemExit(f"{LARGE_CORPUS} must name a folder of benchmarks/large_corpus.py, got {name}")
    return files


def _job(
    inputs: Sequence[Path], folder: str, *, workers: int | None = None, **options: int | str
) -> Callable[[], object]:
    """The job without parts of an earlier run, with the allocator that the command line chooses for Arrow.

    What it is compared with has Arrow's own.
    """

    def run() -> None:
        own = pa.default_memory_pool()
        pa.set_memory_pool(pa.system_memory_pool())
        try:
            more: dict[str, Any] = {"preset": "paper", "workers": workers, **options}
            shutil.rmtree(f"{folder}/run", ignore_errors=True)
            chosen = EventsOptions(out=f"{folder}/run", pictures=False, **more)
            run_events(inputs, chosen)
        finally:
            pa.set_memory_pool(own)

    return run


def _both(
    work: str, against: str, ours: Callable[[], object], theirs: Callable[[], object], runs: int, at_most: float
) -> Iterator[Row]:
    """Rows of wall time and of core seconds."""
    spent: dict[str, list[float]] = {"ours": [], "theirs": []}

    def counted(side: str, run: Callable[[], object]) -> Callable[[], object]:
        def once() -> None:
            before = time.process_time()
            run()
            spent[side].append(time.process_time() - before)

        return once

    sides = in_turn(counted("ours", ours), counted("theirs", theirs), runs, warm=True)
    yield within(work, against, sides, at_most)
    cores = min(spent["ours"]), min(spent["theirs"])
    yield replace(within(f"{work}, core seconds", against, cores, at_most), figure="", met=None)


def _against_reading(files: Sequence[Path], n_documents: int, folder: str, runs: int) -> Iterator[Row]:
    work = f"events job, {n_documents:,} documents, 1,000 samples"
    runs = runs if n_documents <= N_DOCUMENTS else min(runs, 3)
    against = "pyarrow reading its columns"
    yield from _both(work, against, _job(files, folder), lambda: read_columns(files), runs, 3)
    # The cluster's start of some seconds is part of the job, so there is no figure for a small corpus.
    sides = in_turn(_job(files, folder, workers=2), lambda: read_columns(files), min(runs, 2), warm=False)
    row = within(f"{work}, two workers with their start", against, sides, 3)
    yield row if n_documents >= LARGE else replace(row, figure="", met=None)


def _error_of_rules(files: Sequence[Path], n_documents: int, folder: str, runs: int) -> Row:
    """The job against the same without the error of rules; its fit, which a process keeps, is done every time."""

    def ours() -> None:
        _model._kept_model.cache_clear()
        _job(files, folder)()

    work = f"events job, {n_documents:,} documents, with the error of rules"
    sides = in_turn(ours, _job(files, folder, rule_error="none"), min(runs, 3))
    row = within(work, "--rule-error none", sides, 1.03)
    return row if n_documents >= LARGE else replace(row, figure="", met=None)


def _parts(files: Sequence[Path], sizes: Sequence[int], folder: str, runs: int) -> Iterator[Row]:
    """Each file a part, against the same row groups in one file and one part."""
    files, n_documents = files[:N_FILES], sum(sizes[:N_FILES])
    whole = Path(folder) / "whole.parquet"
    with pq.ParquetWriter(whole, pq.read_schema(files[0]), compression="zstd") as writer:
        for file in map(pq.ParquetFile, files):
            for group in range(file.num_row_groups):
                writer.write_table(file.read_row_group(group))
    work = f"events job, {n_documents:,} documents in {len(files)} partitions"
    ours, theirs = _job(files, folder), _job([whole], folder, part_size=10 * n_documents)
    yield from _both(work, "in one partition", ours, theirs, runs, MOST_OVERHEAD)
    whole.unlink()


def _growth(files: Sequence[Path], sizes: Sequence[int], folder: str) -> Iterator[Row]:
    """Slopes between two sizes on logarithmic axes."""
    few = max(1, len(files) // 4)
    sides = in_turn(_job(files, folder), _job(files[:few], folder), 1, warm=False)
    yield _slope("documents", sum(sizes), sum(sizes[:few]), sides)
    sides = in_turn(_job(files[:1], folder, n_samples=10_000), _job(files[:1], folder, n_samples=1_000), 1, warm=False)
    yield _slope("samples", 10_000, 1_000, sides)


def _slope(name: str, large: int, small: int, sides: tuple[float, float]) -> Row:
    slope = math.log(sides[0] / sides[1]) / math.log(large / small)
    work, against = f"events job, {large:,} {name}", f"{small:,} {name}"
    return Row(work, against, *sides, slope, f"slope <= {SLOPE}", slope <= SLOPE)


def _sampler_threads(file: Path, runs: int) -> Iterator[Row]:
    distributions = [document.antecedents for document in islice(read_documents(file), 400)]

    def sampled(threads: int) -> Callable[[], object]:
        def run() -> None:
            with ThreadPoolExecutor(threads) as pool:
                for _ in pool.map(lambda each: sample_clusterings(each, n_samples=1000), distributions):
                    pass

        return run

    sides = in_turn(sampled(4), sampled(2), 5 * runs)
    yield within("1,000 samples of 400 documents, four threads", "two threads", sides, MOST_OVERHEAD)


def _workers(files: Sequence[Path], n_documents: int, runs: int) -> Iterator[Row]:
    """Two Dask workers against one, each on a processor of its own with one thread; see worker_scaling.py."""
    if (os.cpu_count() or 1) < 2:
        print("left out: two workers, as there is one processor", file=sys.stderr)
        return
    command = [sys.executable, str(Path(__file__).with_name("worker_scaling.py")), str(min(runs, 3)), *map(str, files)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    two, one = json.loads(done.stdout)
    work = f"partitions of {n_documents:,} documents, two workers on two processors"
    yield Row(work, "one worker on one", two, one, one / two, ">= 1.8x faster", one / two >= 1.8)


def _memory(files: Sequence[Path], n_documents: int, folder: str) -> Iterator[Row]:
    few, most = (peak([*map(str, part)], folder) for part in (files[: max(1, len(files) // 18)], files))
    work = f"peak memory, {n_documents:,} documents"
    yield Row(work, "600 MiB", most, LARGEST_PEAK, most / LARGEST_PEAK, "<= 1x of it", most <= LARGEST_PEAK)
    yield Row(
        work, f"{max(1, len(files) // 18)} of its files", most, few, most / few, "<= 1.1x of it", most <= 1.1 * few
    )


def _resuming(file: Path, folder: str, runs: int) -> Iterator[Row]:
    """The same command again after a run has finished, start-up included."""
    documents, out = read_documents(file), f"{folder}/finished"
    for number in range(N_PARTITIONS):
        write_documents(islice(documents, 20), f"{folder}/part-{number:02d}.parquet")
    inputs = f"{folder}/part-*.parquet"
    more = ["--out", out, "--preset", "paper", "--no-pictures"]
    command = [sys.executable, "-m", "events.commands", "events", inputs, *more]

    def again() -> None:
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

    again()
    ours, _ = in_turn(again, lambda: None, runs)
    work = f"a finished run of {N_PARTITIONS} partitions again"
    yield Row(work, "two seconds", ours, RESUMING, ours / RESUMING, "<= 1x of it", ours <= RESUMING)


def peak(news: Sequence[str], folder: str) -> float:
    """Peak memory in bytes of counting events, start-up and pictures included."""
    return peak_of("events", *news, "--out", f"{folder}/peak", "--overwrite")


def peak_of(*arguments: str) -> float:
    """Peak memory in bytes of a whole command."""
    command = [sys.executable, "-m", "events.commands", *arguments]
    script = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL); "
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    done = subprocess.run([sys.executable, "-c", script, *command], check=True, capture_output=True, text=True)
    return float(done.stdout) * 1024
