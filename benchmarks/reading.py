"""How long does pyarrow take to read the columns that the events job reads? python benchmarks/reading.py FOLDER."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable
from pathlib import Path

import pyarrow.parquet as pq

__all__ = ["JOB_COLUMNS", "read_columns"]

JOB_COLUMNS = ["doc_id", "date", "mentions", "antecedents", "scores", "tokens"]


def read_columns(files: Iterable[str | Path]) -> None:
    """Read the columns of the job in batches, as it does, and nothing more."""
    for path in files:
        for _ in pq.ParquetFile(path).iter_batches(batch_size=256, columns=JOB_COLUMNS):
            pass


def main() -> None:
    """Print seconds and core seconds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="with Parquet files, of benchmarks/large_corpus.py")
    files = sorted(parser.parse_args().folder.glob("*.parquet"))
    begun, cores = time.perf_counter(), time.process_time()
    read_columns(files)
    seconds, cores = time.perf_counter() - begun, time.process_time() - cores
    print(f"{len(files)} files: {seconds:.1f} s, {cores:.1f} core seconds")


if __name__ == "__main__":
    main()
