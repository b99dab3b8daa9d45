"""Simulate a corpus of the paper's size as partitioned Parquet, for benchmarks only.

    python benchmarks/large_corpus.py FOLDER [--documents 193403] [--partitions 37] [--processes 2]

193,403 documents over 1987 to 2007, with about 150 mentions each, 18 candidates per mention and 430 tokens; one
document in ten can contain an event. Each file is simulated with a seed of its own, so a file depends only on its
number and its size. Files that exist are kept, so an interrupted run continues.
"""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

from corefsample import ScoredDocument, write_documents
from events import simulate_documents

PAPER_DOCUMENTS = 193_403
FIRST_DAY, LAST_DAY = datetime.date(1987, 1, 1), datetime.date(2007, 12, 31)


def documents(number: int, size: int) -> Iterator[ScoredDocument]:
    """Documents of one file, with doc_ids that are unique in the corpus."""
    for simulated in simulate_documents(size, seed=number, start=FIRST_DAY, end=LAST_DAY):
        document = simulated.document
        yield dataclasses.replace(document, doc_id=f"{number:04d}-{document.doc_id}")


def write_file(folder: Path, number: int, size: int) -> int:
    """Write one file of the corpus, unless it exists; return its number of documents."""
    path = folder / f"news-{number:04d}.parquet"
    if not path.exists():
        write_documents(documents(number, size), path)
    return size


def write_corpus(folder: Path, n_documents: int, n_partitions: int, n_processes: int) -> None:
    """Write all files, with a line of progress for each."""
    folder.mkdir(parents=True, exist_ok=True)
    sizes = [n_documents * (i + 1) // n_partitions - n_documents * i // n_partitions for i in range(n_partitions)]
    started, n_written = time.monotonic(), 0
    with ProcessPoolExecutor(n_processes) as pool:
        futures = [pool.submit(write_file, folder, number, size) for number, size in enumerate(sizes)]
        for future in as_completed(futures):
            n_written += future.result()
            print(f"{n_written:,} of {n_documents:,} documents, {time.monotonic() - started:.0f} s", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--documents", type=int, default=PAPER_DOCUMENTS)
    parser.add_argument("--partitions", type=int, default=37)
    parser.add_argument("--processes", type=int, default=2)
    chosen = parser.parse_args()
    write_corpus(chosen.folder, chosen.documents, chosen.partitions, chosen.processes)
