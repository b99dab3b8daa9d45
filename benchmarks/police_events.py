"""What shipped rules find in news about the police against labels of people: python benchmarks/police_events.py.

Every article has four labels: whether the police arrest, kill, use force, or do anything. A rule says yes where its
event by the police has a probability above one half. No text of an article is printed.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from studies import markdown

from corefsample import read_documents
from corefsample._arrays import Floats
from events import EventCounter, load_lexicon, load_rules

DATA = Path(__file__).parents[1] / ".." / "shared" / "data" / "police-events"
LABELS = {"arrest": "arrest", "kill": "kill", "force": "force", "police_action": "any_action"}


def average_precision(probabilities: Floats, labels: Floats) -> float:
    """The sum over thresholds of precision times the growth of recall; equal probabilities are one threshold."""
    order = np.argsort(-probabilities, kind="stable")
    probabilities, found = probabilities[order], np.cumsum(labels[order])
    ends = np.append(np.flatnonzero(np.diff(probabilities)), len(labels) - 1)
    return float(np.sum(np.diff(found[ends], prepend=0) / found[-1] * found[ends] / (ends + 1)))


def table(scored: Path, n_samples: int) -> pd.DataFrame:
    """One row a label."""
    labels = pd.read_csv(DATA / "labels.csv", dtype={"doc_id": str}).set_index("doc_id")
    rules = [load_rules(name) for name in LABELS]
    counter = EventCounter(rules, load_lexicon("police"), n_samples=n_samples, recalibration=None)
    counter.update(read_documents(scored))
    evidence = counter.evidence()
    evidence = evidence[evidence["actor"] == "POLICE"]
    rows = []
    for rule, label in LABELS.items():
        found = evidence[evidence["event"] == rule].groupby("doc_id")["probability"].max()
        probabilities = found.reindex(labels.index, fill_value=0.0).to_numpy(np.float64)
        true = labels[label].to_numpy(np.float64)
        hits = probabilities > 0.5
        rows.append(
            {
                "rule": rule,
                "label": label,
                "articles": len(true),
                "labelled": int(true.sum()),
                "found": int(hits.sum()),
                "precision": true[hits].mean(),
                "recall": hits[true > 0].mean(),
                "average precision": average_precision(probabilities, true),
            }
        )
    return pd.DataFrame(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scored", type=Path, help="a scored file of the articles, instead of scoring them")
    parser.add_argument("--pipeline", default="en_core_web_sm")
    parser.add_argument("--parses", type=int, help="drawn of each article; by default its usual parse")
    parser.add_argument("--samples", type=int, default=200)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        scored = options.scored or Path(folder) / "scored.parquet"
        if options.scored is None:
            command = ["corefsample", "score", str(DATA / "news.csv.gz"), "--out", str(scored)]
            command += ["--pipeline", options.pipeline]
            command += [] if options.parses is None else ["--parses", str(options.parses)]
            subprocess.run(command, check=True)
        markdown("Events of the police", table(scored, options.samples), digits=2)


if __name__ == "__main__":
    main()
