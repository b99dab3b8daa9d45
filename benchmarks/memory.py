"""How the memory of `corefsample events` grows with documents: python benchmarks/memory.py [--largest 100000].

Two corpora of short documents, each as Parquet in row groups of 5,000: documents with an uncertain event each, and
documents ten times as many without one. Prints a Markdown table of the peak memory of a process for each step, for a
tenth of the documents and for all of them. Then `corefsample calibrate` of the first documents of GUM, which takes some
1.2 MB a document.
"""

from __future__ import annotations

import argparse
import datetime
import json
import subprocess
import sys
import tempfile
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from corefsample import AntecedentDistribution, ScoredDocument, read_documents, write_documents
from corefsample.documents._tokens import Tokens

ROW_GROUP = 5_000
FIRST_DAY, N_DAYS = np.datetime64("1987-01-01"), 7_670

# Each step in a process of its own: what one step keeps does not hide the peak of the next.
STEP = """
import json, sys
from events.commands import EventsOptions, run_events
from events.commands.calibrate import CalibrateOptions, run_calibrate
step, path, out = sys.argv[1:]
if step == "calibrate":
    run_calibrate(path, CalibrateOptions(out=out, n_resamples=500))
else:
    run_events(path, EventsOptions(out=out, n_samples=100, pictures=False))
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
print(1024 * int(status["VmHWM"].split()[0]))
"""
STEPS = ("events", "events again")  # the second run finds all parts, and only merges them
GUM = Path(__file__).parents[1] / ".." / "shared" / "data" / "gum" / "gum-scored.jsonl.gz"


def document(*, with_event: bool) -> ScoredDocument:
    """Two short sentences; in the first, Americans attack, or nobody does."""
    actor = "Americans" if with_event else "Rebels"
    text = [actor, "left", ".", "They", "attacked", "Norvo", "."]
    tokens = Tokens(
        text=text,
        lemma=[actor.lower(), "leave", ".", "they", "attack", "Norvo", "."],
        upos=["PROPN", "VERB", "PUNCT", "PRON", "VERB", "PROPN", "PUNCT"],
        dep=["nsubj", "root", "punct", "nsubj", "root", "obj", "punct"],
        head=np.array([1, -1, 1, 4, -1, 4, 4], np.int32),
        sent=np.array([0, 0, 0, 1, 1, 1, 1], np.int32),
    )
    return ScoredDocument(
        doc_id="0",
        mentions=[[0, 1, 0], [3, 4, 3], [5, 6, 5]],
        antecedents=AntecedentDistribution.from_lists([[], [0], [1]], [[], [0.3], [-1.0]]),
        date=datetime.date(1987, 1, 1),
        tokens=tokens,
    )


def corpus(path: Path, n_documents: int, *, with_event: bool) -> Path:
    """One document many times, with other doc_ids and dates."""
    single = path.with_name("single.parquet")
    write_documents([document(with_event=with_event)], single, overwrite=True)
    one = pq.read_table(single)
    names = one.schema.names
    with pq.ParquetWriter(path, one.schema) as writer:
        for start in range(0, n_documents, ROW_GROUP):
            numbers = np.arange(start, min(start + ROW_GROUP, n_documents))
            rows = one.take(pa.array(np.zeros(len(numbers), np.int64)))
            new = {
                "doc_id": pa.array([f"document-{n:08d}" for n in numbers], pa.string()),
                "date": pa.array(FIRST_DAY + numbers * 7 % N_DAYS),
            }
            for name, values in new.items():
                place = names.index(name)
                rows = rows.set_column(place, one.schema.field(place), values.cast(one.schema.field(place).type))
            writer.write_table(rows, row_group_size=ROW_GROUP)
    return path


def peaks(path: Path, out: Path, steps: tuple[str, ...] = STEPS) -> dict[str, int]:
    """Peak memory of each step in bytes."""
    found = {}
    for step in steps:
        command = [sys.executable, "-c", STEP, step, str(path), str(out)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        found[step] = int(json.loads(done.stdout))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--largest", type=int, default=100_000, help="documents with an event")
    largest = parser.parse_args().largest
    print(f"| documents | number | {' | '.join(STEPS)} |\n|---|---|{'---|' * len(STEPS)}")
    for title, with_event, most in (("with an event", True, largest), ("without", False, 10 * largest)):
        for n_documents in (most // 10, most):
            with tempfile.TemporaryDirectory() as folder:
                path = corpus(Path(folder) / "news.parquet", n_documents, with_event=with_event)
                found = peaks(path, Path(folder) / "run")
            cells = " | ".join(f"{found[step] / 2**20:.0f} MiB" for step in STEPS)
            print(f"| {title} | {n_documents:,} | {cells} |", flush=True)
    print("\n| documents of GUM | calibrate |\n|---|---|")
    for n_documents in (30, 120, 237):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "gum.jsonl"
            write_documents(islice(read_documents(GUM), n_documents), path)
            peak = peaks(path, Path(folder) / "calibration", ("calibrate",))["calibrate"]
        print(f"| {n_documents} | {peak / 2**20:.0f} MiB |", flush=True)


if __name__ == "__main__":
    main()
