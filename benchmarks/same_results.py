"""Compare the results of this tree with those of an earlier revision, bit by bit.

    python benchmarks/same_results.py REVISION

Both trees run the same public functions and commands, each in its own processes. Samples, exact inference, the demo and
the scores of the shipped model need nothing else; the shared GUM files are used where they exist. The exit status is 1
if anything differs.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
GUM = ROOT.parent / "shared" / "data" / "gum"
# Not compared: when and with what a run was made, and pictures.
VOLATILE = {".json", ".png", ".svg", ".html"}

PROBE = """
import hashlib, itertools, json, sys
import numpy as np
import corefsample as cs
from events import simulate_documents

def digest(*arrays):
    content = hashlib.sha256()
    for array in arrays:
        content.update(np.ascontiguousarray(array).tobytes())
    return content.hexdigest()

simulated = [each.document for each in simulate_documents(60, seed=3)]
shared = list(itertools.islice(cs.read_documents(sys.argv[1]), 0, None, 12)) if len(sys.argv) > 1 else []
results = {}
for name, documents in (("simulated", simulated), ("GUM", shared)):
    for document in documents:
        distribution = document.antecedents
        samples = cs.sample_clusterings(distribution, n_samples=300, seed=7, doc_id=document.doc_id)
        results[f"{name} {document.doc_id}: samples"] = digest(samples.labels)
        results[f"{name} {document.doc_id}: exact inference"] = digest(
            distribution.probs,
            distribution.new_probs,
            cs.link_marginals(distribution),
            cs.root_posterior(distribution),
            cs.entity_count_pmf(distribution),
            cs.map_clustering(distribution),
            np.float64(cs.clustering_log_prob(distribution, samples.labels[0])),
        )
print(json.dumps(results))
"""


def commands(folder: Path) -> dict[str, list[str]]:
    """Commands to run, by what they compute; each writes below the folder."""
    found = {"demo": ["demo", "--out", f"{folder}/demo", "--documents", "1000"]}
    scored, corpus = GUM / "gum-scored.jsonl.gz", GUM / "en_gum-ud-dev.conllu.gz"
    if scored.exists():
        for rule, preset, interval in (
            ("attack", "paper", "quantile"),
            ("conflict", "extended", "hdi"),
            ("attack_target", "extended", "normal"),
        ):
            options = ["--rule", rule, "--preset", preset, "--interval", interval, "--period", "year"]
            out = ["--out", f"{folder}/{rule}", "--no-pictures"]
            found[f"events, {rule}, {preset}, {interval}"] = ["events", str(scored), *options, *out]
        found["calibrate"] = ["calibrate", str(scored), "--out", f"{folder}/calibration", "--resamples", "200"]
    if corpus.exists():
        found["score, shipped model"] = ["score", str(corpus), "--out", f"{folder}/scored.jsonl.gz"]
    return found


def results_of(tree: Path, folder: Path) -> dict[str, str]:
    """Digests of all results of one tree, by name."""
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    scored = GUM / "gum-scored.jsonl.gz"
    probe = [sys.executable, "-c", PROBE, *([str(scored)] if scored.exists() else [])]
    finished = subprocess.run(probe, cwd=tree, env=environment, check=True, capture_output=True, text=True)
    results: dict[str, str] = json.loads(finished.stdout)
    program = "events.commands" if (tree / "events" / "commands").exists() else "events.cli"  # of older trees
    for name, arguments in commands(folder).items():
        print(f"  {name}", flush=True)
        command = [sys.executable, "-m", program, *arguments]
        subprocess.run(command, cwd=tree, env=environment, check=True, stdout=subprocess.DEVNULL)
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.suffix not in VOLATILE:
            results[str(path.relative_to(folder))] = hashlib.sha256(path.read_bytes()).hexdigest()
    return results


def main(revision: str) -> int:
    """Print what differs between this tree and a revision; return the exit status."""
    with tempfile.TemporaryDirectory() as name:
        earlier_tree = Path(name) / "tree"
        subprocess.run(["git", "-C", str(ROOT), "worktree", "add", "--detach", str(earlier_tree), revision], check=True)
        try:
            (Path(name) / "earlier").mkdir()
            (Path(name) / "now").mkdir()
            print(f"{revision}:", flush=True)
            earlier = results_of(earlier_tree, Path(name) / "earlier")
            print("this tree:", flush=True)
            now = results_of(ROOT, Path(name) / "now")
        finally:
            subprocess.run(["git", "-C", str(ROOT), "worktree", "remove", "--force", str(earlier_tree)], check=True)
    different = sorted(key for key in earlier.keys() | now.keys() if earlier.get(key) != now.get(key))
    for key in different:
        state = "differs" if key in earlier and key in now else "is missing now" if key in earlier else "is new"
        print(f"{key}: {state}")
    print(f"{len(earlier.keys() & now.keys())} results compared, {len(different)} differ")
    return 1 if different else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(f"usage: {sys.argv[0]} REVISION")
    sys.exit(main(sys.argv[1]))
