"""How cost grows with documents, samples, mentions and candidates: python benchmarks/growth.py CORPUS [--out FOLDER].

CORPUS is a folder that benchmarks/large_corpus.py made. The command prints the times, the peak memory of the job and
the slopes fitted on logarithmic axes as Markdown tables, and draws growth.png. A slope of 1 is cost proportional to
size. Each run of the job is a process of its own, which first counts the smallest corpus to load and compile.
Slopes and plot are of core seconds, the processor time of all threads, which other programs on the machine affect less
than seconds on the clock.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pyarrow.parquet as pq

from corefsample import AntecedentDistribution, link_marginals, read_documents, sample_clusterings, write_documents
from corefsample.plots import save_figure

DOCUMENTS = 1_000
FILES = (1, 4, 12, 37)
SAMPLES = (100, 300, 1_000, 3_000, 10_000)
MENTIONS = (10, 30, 100, 300, 1_000, 2_000, 5_000)
CANDIDATES = (1, 3, 10, 30, 100, 300, 999)
N_MENTIONS, N_CANDIDATES, N_SAMPLES = 150, 20, 1_000
REPEAT_SECONDS = 0.5  # short work is repeated for as long, and its median is taken

JOB = """
import json, sys, time
from events.commands import EventsOptions, run_events
first, out, n_samples, *inputs = sys.argv[1:]
run_events(first, EventsOptions(out=out, n_samples=100, pictures=False))
started = time.process_time()
run = run_events(inputs, EventsOptions(out=out, n_samples=int(n_samples), overwrite=True, pictures=False)).result
cores = time.process_time() - started
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
peak = 1024 * int(status["VmHWM"].split()[0])  # getrusage would count the process that started this one
print(json.dumps([run.n_documents, run.seconds, cores, peak]))
"""


@dataclass(frozen=True)
class Cost:
    """Seconds on the clock and core seconds for one size; peak memory in bytes where a whole process did the work."""

    panel: str
    series: str
    size: int
    seconds: float
    cores: float
    peak: float | None = None


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds on the clock, and core seconds."""
    clock, cores = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - clock, time.process_time() - cores


# --- the job -----------------------------------------------------------------------------------------------


def job(inputs: Sequence[Path], first: Path, n_samples: int) -> tuple[int, float, float, float]:
    """Documents, seconds, core seconds and peak memory of one run in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-c", JOB, first, f"{folder}/run", n_samples, *inputs]
        done = subprocess.run([*map(str, command)], check=True, stdout=subprocess.PIPE, text=True)
    n_documents, seconds, cores, peak = json.loads(done.stdout)
    return n_documents, seconds, cores, peak


def reading(inputs: Sequence[Path]) -> tuple[float, float]:
    """Seconds and core seconds that pyarrow takes to read the columns of the format."""

    def read() -> None:
        for path in inputs:
            for _ in pq.ParquetFile(path).iter_batches(batch_size=256):
                pass

    return timed(read)


def job_costs(corpus: Path, folder: Path) -> Iterator[Cost]:
    files = sorted(corpus.glob("*.parquet"))
    small = folder / "small.parquet"
    write_documents(islice(read_documents(files[0]), DOCUMENTS), small)
    corpora = [[small], *(files[:n] for n in FILES if n <= len(files))]
    for inputs in corpora:
        n_documents, *cost = job(inputs, small, N_SAMPLES)
        yield Cost("documents", "events job", n_documents, *cost)
        yield Cost("documents", "pyarrow reading", n_documents, *reading(inputs))
    for n_samples in SAMPLES:
        n_documents, *cost = job(files[:1], small, n_samples)
        yield Cost("samples", f"events job, {n_documents:,} documents", n_samples, *cost)


# --- one document ------------------------------------------------------------------------------------------


def document(n_mentions: int, n_candidates: int) -> AntecedentDistribution:
    """Distribution over the nearest candidates, with random scores."""
    rng = np.random.default_rng(0)
    sizes = np.minimum(np.arange(n_mentions), n_candidates)
    indptr = np.concatenate(([0], np.cumsum(sizes)))
    starts = np.arange(n_mentions) - sizes
    antecedents = np.arange(indptr[-1]) - np.repeat(indptr[:-1] - starts, sizes)
    return AntecedentDistribution.from_csr(indptr, antecedents, rng.normal(-3.0, 2.0, indptr[-1]))


def repeated(work: Callable[[], object]) -> tuple[float, float]:
    """Median times of a work after a warm-up."""
    first, _ = min(timed(work), timed(work))
    times = [timed(work) for _ in range(max(3, min(200, int(REPEAT_SECONDS / first))))]
    return statistics.median(clock for clock, _ in times), statistics.median(cores for _, cores in times)


def engine_costs() -> Iterator[Cost]:
    fixed = document(N_MENTIONS, N_CANDIDATES)
    for n_samples in SAMPLES:
        cost = repeated(lambda n=n_samples: sample_clusterings(fixed, n_samples=n))  # type: ignore[misc]
        yield Cost("samples", f"sampling, {N_MENTIONS} mentions", n_samples, *cost)
    for n_mentions in MENTIONS:
        yield from document_costs("mentions", n_mentions, document(n_mentions, N_CANDIDATES))
    for n_candidates in CANDIDATES:
        yield from document_costs("candidates", n_candidates, document(1_000, n_candidates))


def document_costs(panel: str, size: int, antecedents: AntecedentDistribution) -> Iterator[Cost]:
    cost = repeated(lambda: sample_clusterings(antecedents, n_samples=N_SAMPLES))
    yield Cost(panel, f"{N_SAMPLES:,} samples", size, *cost)
    yield Cost(panel, "exact link marginals", size, *repeated(lambda: link_marginals(antecedents)))


# --- slopes, tables and the plot ---------------------------------------------------------------------------


def slope(costs: pd.DataFrame) -> float:
    """Least-squares slope of log core seconds against log size."""
    return float(np.polyfit(np.log(costs["size"]), np.log(costs["cores"]), 1)[0])


def tables(costs: pd.DataFrame) -> str:
    lines = []
    for panel, rows in costs.groupby("panel", sort=False):
        lines += [f"| {panel} | work | seconds | core seconds | peak memory, MiB |", "|---:|---|---:|---:|---:|"]
        for row in rows.itertuples():
            memory = "" if np.isnan(row.peak) else f"{row.peak / 2**20:,.0f}"
            lines.append(f"| {row.size:,} | {row.series} | {row.seconds:.3g} | {row.cores:.3g} | {memory} |")
        lines.append("")
    lines += ["| cost of | against | slope | slope of the larger half |", "|---|---|---:|---:|"]
    for (panel, series), rows in costs.groupby(["panel", "series"], sort=False):
        larger = rows.iloc[len(rows) // 2 - 1 :]
        lines.append(f"| {series} | {panel} | {slope(rows):.2f} | {slope(larger):.2f} |")
    return "\n".join(lines)


def draw(costs: pd.DataFrame, path: Path) -> None:
    labels = {
        "documents": "documents, 150 mentions each, 1,000 samples",
        "samples": "samples of a document",
        "mentions": f"mentions, {N_CANDIDATES} candidates each",
        "candidates": "candidates a mention, 1,000 mentions",
    }
    figure, axes = plt.subplots(2, 2, figsize=(11, 8.4), layout="constrained")
    for ax, (panel, label) in zip(axes.flat, labels.items(), strict=True):
        rows = costs[costs["panel"] == panel]
        if len(rows):
            for series, of_series in rows.groupby("series", sort=False):
                ax.loglog(of_series["size"], of_series["cores"], marker="o", label=series)
            ax.set(xlabel=label, ylabel="core seconds")
            ax.legend(frameon=False)
    save_figure(figure, path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path, help="folder of Parquet files, of benchmarks/large_corpus.py")
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "docs", help="folder for growth.png")
    chosen = parser.parse_args()
    found: list[Cost] = []
    with tempfile.TemporaryDirectory() as folder:
        for part in (engine_costs(), job_costs(chosen.corpus, Path(folder))):
            for cost in part:
                found.append(cost)
                print(f"measured: {cost.series}, {cost.size:,} {cost.panel}: {cost.seconds:.3g} s", file=sys.stderr)
    order = ["documents", "samples", "mentions", "candidates"]
    costs = pd.DataFrame([vars(cost) for cost in sorted(found, key=lambda cost: order.index(cost.panel))])
    costs["peak"] = costs["peak"].astype(float)
    draw(costs, chosen.out / "growth.png")
    print(tables(costs))


if __name__ == "__main__":
    main()
