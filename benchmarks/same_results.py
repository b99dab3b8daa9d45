"""Compare the results of this tree with those of an earlier revision, by value, and its ways of running, by bytes.

    python benchmarks/same_results.py REVISION [--only NAME ...]

Both trees run the same public functions and commands, each in its own processes and by its own entry point. Tables
are compared by their values (numbers to 1e-12, relative or absolute) under the names of `COLUMNS`; the order of
columns does not matter, that of rows does. Then this tree runs some commands in several ways (processes, partitions,
order of the inputs), whose outputs must agree in each byte. The shared GUM files and spaCy pipelines are used where
they exist. The exit status is 1 if anything differs.
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
import math
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared"
GUM = SHARED / "data" / "gum"
PIPELINES = ("en_gum_ud", "en_core_web_sm")
CLOSE = 1e-12

# Old names of columns, and of keys of summaries, with the new ones. A name counts only where the new tree has it.
COLUMNS = {
    "country": "actor",
    "target_country": "target",
    "country_mentions": "actor_mentions",
    "agent_mentions": "role_mentions",
    "alternatives": "trigger_parses",
    "n_mixtures": "n_several_parses",
    "n_boot": "n_resamples",
    "n_draws": "n_resamples",
    "refits": "n_resamples",
    "jobs": "workers",
    "n_partitions": "n_parts",
}
# Columns and keys that only the new tree may have.
ADDED = {
    *("schema_version", "version"),
    *("samples", "named_samples", "inefficiency", "triggers", "parses", "ambiguous_names", "n_parses"),
    *("conditioned", "named_mentions", "merged_mentions", "often_merged", "worst_merged"),
    *("title", "genre", "split", "simulated"),  # metadata of the documents
}
# Other spellings of options; a command of a tree is given the first one that its help has.
OPTIONS = {
    "--jobs": ("--jobs", "--workers"),
    "--refits": ("--refits", "--n-resamples", "--resamples"),
    "--resamples": ("--resamples", "--n-resamples"),
    "--samples": ("--samples", "--n-samples"),
    "--partition-size": ("--partition-size", "--part-size"),
}
# Not compared: pictures and pages, records of when and with what a run was made, the store of finished parts.
VOLATILE = {".json", ".png", ".svg", ".html"}
INTERNAL = {"partitions", "unfinished", "parts"}
# Keys of summaries that depend on the time, the place or the version.
UNSTABLE = {"seconds", "out", "folder", "sheet", "page", "record", "version", "corefsample", "plan", "sha256", "inputs"}

NEWS = """doc_id,date,text
one,1999-05-03,"American forces attacked a bridge near the town. The president of the United States said that they had \
warned the village. Serbian soldiers left it in the morning, and their officers attacked a convoy."
two,1999-06-10,"Iraqi soldiers attacked a convoy near the border. They were later attacked by Turkey. The minister \
said that he regretted it, because his troops had crossed the river."
"""

PROBE = """
import itertools, sys
import numpy as np
import corefsample as cs
from events import simulate_documents

simulated = [each.document for each in simulate_documents(60, seed=3)]
shared = list(itertools.islice(cs.read_documents(sys.argv[2]), 0, None, 12)) if len(sys.argv) > 2 else []
results = {}
for document in simulated + shared:
    distribution = document.antecedents
    samples = cs.sample_clusterings(distribution, n_samples=300, seed=7, doc_id=document.doc_id)
    found = {
        "samples": samples.labels,
        "probabilities": distribution.probs,
        "probabilities of NEW": distribution.new_probs,
        "link marginals": cs.link_marginals(distribution),
        "roots": cs.root_posterior(distribution),
        "numbers of entities": cs.entity_count_pmf(distribution),
        "likeliest antecedents": cs.map_clustering(distribution),
        "probability of a clustering": np.float64(cs.clustering_log_prob(distribution, samples.labels[0])),
    }
    results.update({f"{document.doc_id} {name}": value for name, value in found.items()})
np.savez(sys.argv[1], **results)
"""


@dataclass(frozen=True)
class Tree:
    """A tree of sources, and the folder of its results."""

    sources: Path
    out: Path

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "PYTHONPATH": str(self.sources)}

    def python(self, *arguments: object) -> str:
        """Run Python with the tree's packages; return what it prints."""
        command = [sys.executable, *map(str, arguments)]
        done = subprocess.run(command, cwd=self.sources, env=self.environment, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{self.sources}: {' '.join(command)}\n{done.stderr}")
        return done.stdout

    def run(self, command: str, *arguments: object) -> str:
        """Run a command, with the tree's spelling of options."""
        entry = "events.commands" if (self.sources / "events" / "commands").is_dir() else "events.cli"
        text = _help(self, entry, command)
        spelled = [next((s for s in OPTIONS.get(a, ()) if f"{s} " in text), a) for a in map(str, arguments)]
        return self.python("-m", entry, *command.split(), *spelled)


@cache
def _help(tree: Tree, entry: str, command: str) -> str:
    return tree.python("-m", entry, *command.split(), "--help")


@dataclass
class Inputs:
    """Files that the commands read, made once for all trees."""

    folder: Path
    scored: Path = GUM / "gum-scored.jsonl.gz"
    corpus: Path = GUM / "en_gum-ud-dev.conllu.gz"
    halves: list[Path] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.news = self.folder / "news.csv"
        self.news.write_text(NEWS, encoding="utf-8")
        if self.scored.exists():
            with gzip.open(self.scored, "rt", encoding="utf-8") as file:
                lines = file.readlines()[::5]
            for name, half in (("first", lines[::2]), ("second", lines[1::2])):
                self.halves.append(self.folder / f"{name}.jsonl")
                self.halves[-1].write_text("".join(half), encoding="utf-8")

    @property
    def pipelines(self) -> list[Path]:
        return [path for path in (SHARED / "models" / name for name in PIPELINES) if path.exists()]


# --- what is run -------------------------------------------------------------------------------------------


def works(inputs: Inputs) -> dict[str, Callable[[Tree], None]]:
    """What both trees do, by name; each writes below its folder."""
    found: dict[str, Callable[[Tree], None]] = {"functions": lambda tree: functions(tree, inputs)}
    found["demo"] = lambda tree: tree.run("demo", "--out", tree.out / "demo", "--documents", 1000) and None
    found["audit"] = audit
    if inputs.scored.exists():
        found["events"] = lambda tree: count(tree, inputs)
        found["calibrate"] = lambda tree: calibrate(tree, inputs)
        found["recalibrate"] = lambda tree: recalibrate(tree, inputs)
    if inputs.corpus.exists():
        found["score"] = lambda tree: tree.run("score", inputs.corpus, "--out", tree.out / "gum.jsonl.gz") and None
    if inputs.pipelines:
        found["score news"] = lambda tree: score_news(tree, inputs)
    return found


def functions(tree: Tree, inputs: Inputs) -> None:
    scored = [inputs.scored] if inputs.scored.exists() else []
    tree.python("-c", PROBE, tree.out / "functions.npz", *scored)


def count(tree: Tree, inputs: Inputs) -> None:
    for rule, preset, interval in (
        ("attack", "paper", "quantile"),
        ("conflict", "extended", "hdi"),
        ("attack_target", "asserted", "normal"),
    ):
        options = ["--rule", rule, "--preset", preset, "--interval", interval, "--period", "year", "--no-pictures"]
        tree.run("events", inputs.scored, *options, "--out", tree.out / rule)


def calibrate(tree: Tree, inputs: Inputs) -> None:
    tree.run("calibrate", inputs.scored, "--out", tree.out / "calibration", "--resamples", 200)


def recalibrate(tree: Tree, inputs: Inputs) -> None:
    first, second = inputs.halves
    for form, objective in (("global", "links-log"), ("kinds", "likelihood")):
        out = tree.out / f"{form}-{objective}.jsonl"
        options = ["--form", form, "--objective", objective, "--folds", 2, "--resamples", 3]
        text = tree.run("recalibrate", first, second, "--out", out, *options, "--json")
        (tree.out / f"{form}-{objective}.summary").write_text(text)
    tree.run("events", out, "--preset", "paper", "--period", "year", "--out", tree.out / "recalibrated")


def score_news(tree: Tree, inputs: Inputs) -> None:
    for pipeline in inputs.pipelines:
        for parses in (1, 4):
            out = tree.out / f"{pipeline.name}-{parses}.parquet"
            several = ["--parses", parses] if parses > 1 else []
            tree.run("score", inputs.news, "--pipeline", pipeline, "--out", out, *several)
            tree.run("events", out, "--preset", "extended", "--no-pictures", "--out", out.with_suffix(""))


def audit(tree: Tree) -> None:
    """Plan an audit of the demo's run, label it by the names of the documents, and estimate."""
    run, folder = tree.out / "audited", tree.out / "audit"
    tree.run("demo", "--out", run, "--documents", 300)
    tree.run("audit plan", run / "run", "--out", folder, "--labels", 60, "--seed", 3)
    sheet = pd.read_csv(folder / "sheet.csv", dtype=str, keep_default_na=False)
    labels = ["yes" if sum(name.encode()) % 3 else "no" for name in sheet["doc_id"]]
    sheet.assign(label=labels).to_csv(folder / "sheet.csv", index=False)
    text = tree.run("audit estimate", run / "run", folder / "sheet.csv", "--no-pictures", "--json")
    (tree.out / "audit.summary").write_text(text)


# --- by value ----------------------------------------------------------------------------------------------


def contents(path: Path) -> Any:
    """The content of a file: arrays by name, a table as its columns by name, values of JSON."""
    name = path.name
    if name.endswith(".npz"):
        with np.load(path) as arrays:
            return {key: arrays[key] for key in arrays.files}
    if name.endswith((".csv", ".parquet")):
        table = pd.read_csv(path, keep_default_na=False) if name.endswith(".csv") else pd.read_parquet(path)
        if name == "evidence.parquet":  # earlier trees had no rows of events that are true in no sample
            table = table[table["probability"] > 0.0]
        return {str(column): table[column].tolist() for column in table.columns}
    if name.endswith((".jsonl", ".jsonl.gz")):
        content = gzip.decompress(path.read_bytes()) if name.endswith(".gz") else path.read_bytes()
        return [json.loads(line) for line in content.splitlines()]
    return json.loads(path.read_text()) if name.endswith(".summary") else path.read_bytes()


def differences(old: Any, new: Any, place: str) -> Iterator[str]:
    """Places in which two contents differ; of a list or an array the first one."""
    if isinstance(old, dict) and isinstance(new, dict):
        named = {
            COLUMNS[key] if key not in new and COLUMNS.get(key) in new else key: value for key, value in old.items()
        }
        for key in sorted((named.keys() | new.keys()) - UNSTABLE):
            if key not in new:
                yield f"{place}: {key} is missing now"
            elif key not in named:
                yield from () if key in ADDED else [f"{place}: {key} is new"]
            else:
                yield from differences(named[key], new[key], f"{place}: {key}")
    elif isinstance(old, (list, np.ndarray)) and isinstance(new, (list, np.ndarray)):
        if np.shape(old)[:1] != np.shape(new)[:1] if isinstance(old, np.ndarray) else len(old) != len(new):
            yield f"{place}: has another length"
        elif not _close_arrays(old, new):
            pairs = enumerate(zip(old, new, strict=True))
            yield from next((found for i, (a, b) in pairs if (found := list(differences(a, b, f"{place}[{i}]")))), [])
    elif not _same(old, new):
        yield f"{place}: {str(old)[:60]!r} before, {str(new)[:60]!r} now"


def _close_arrays(old: Any, new: Any) -> bool:
    """Whether both are numbers of one shape, and close."""
    if not (isinstance(old, np.ndarray) and isinstance(new, np.ndarray)) or old.dtype.kind not in "biuf":
        return False
    return old.shape == new.shape and bool(np.allclose(old, new, rtol=CLOSE, atol=CLOSE, equal_nan=True))


def _same(old: Any, new: Any) -> bool:
    if isinstance(old, (bool, np.bool_)) or isinstance(new, (bool, np.bool_)):
        return bool(old == new)
    if isinstance(old, (int, float, np.number)) and isinstance(new, (int, float, np.number)):
        both_nan = math.isnan(old) and math.isnan(new)
        return both_nan or math.isclose(old, new, rel_tol=CLOSE, abs_tol=CLOSE)
    if isinstance(old, date) or isinstance(new, date):  # of one tree it may be a text
        return str(pd.Timestamp(old)) == str(pd.Timestamp(new))
    return bool(old == new)


def outputs(folder: Path) -> dict[str, Path]:
    """Files of results below a folder."""
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.suffix not in VOLATILE]
    named = {path.relative_to(folder): path for path in paths}
    return {str(name): path for name, path in named.items() if not INTERNAL & set(name.parts)}


def compared_by_value(old: Path, new: Path) -> Iterator[str]:
    before, now = outputs(old), outputs(new)
    for name in sorted(before.keys() | now.keys()):
        if name not in now or name not in before:
            yield f"{name}: is {'new' if name in now else 'missing now'}"
        else:
            yield from differences(contents(before[name]), contents(now[name]), name)


# --- by bytes ----------------------------------------------------------------------------------------------


def ways(tree: Tree, inputs: Inputs) -> dict[str, list[tuple[str, list[object]]]]:
    """Commands that have the same result, by what they compute; each is given another output."""
    found: dict[str, list[tuple[str, list[object]]]] = {}
    if inputs.halves:
        first, second = inputs.halves
        both, options = tree.out / "both.parquet", ["--preset", "extended", "--period", "year", "--no-pictures"]
        tree.run("convert", first, second, both)
        found["events"] = [
            ("events", [both, *options]),
            ("events", [both, *options, "--workers", 2]),
            ("events", [both, *options, "--partition-size", 7]),
            ("events", [both, *options, "--threads", 1]),
        ]
        found["events of two files"] = [
            ("events", [first, second, *options]),
            ("events", [second, first, *options]),
            ("events", [second, first, *options, "--workers", 2]),
        ]
    if inputs.pipelines:
        news = [inputs.news, "--pipeline", inputs.pipelines[0]]
        found["score news"] = [("score", [*news, "--jobs", jobs]) for jobs in (1, 2)]
    return found


def compared_by_bytes(tree: Tree, inputs: Inputs, only: set[str]) -> Iterator[str]:
    tree.out.mkdir()
    for name, commands in ways(tree, inputs).items():
        if only and name not in only:
            continue
        print(f"  {name}, {len(commands)} ways", flush=True)
        runs = []
        for number, (command, arguments) in enumerate(commands):
            folder = tree.out / name.replace(" ", "-") / str(number)
            folder.mkdir(parents=True)
            tree.run(command, *arguments, "--out", folder / ("run" if command == "events" else "scored.jsonl"))
            runs.append({key: path.read_bytes() for key, path in outputs(folder).items()})
        for (command, arguments), found in zip(commands[1:], runs[1:], strict=True):
            for key in sorted(runs[0].keys() | found.keys()):
                if runs[0].get(key) != found.get(key):
                    yield f"{command} {' '.join(map(str, arguments))}: {key} has other bytes"


def main() -> int:
    """Print what differs between this tree and a revision; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("revision")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="Run only this, such as events.")
    arguments = parser.parse_args()
    only = set(arguments.only)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        inputs = Inputs(folder)
        archive = subprocess.run(["git", "-C", ROOT, "archive", arguments.revision], check=True, capture_output=True)
        with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as sources:
            sources.extractall(folder / "earlier tree", filter="data")
        trees = {
            arguments.revision: Tree(folder / "earlier tree", folder / "earlier"),
            "this tree": Tree(ROOT, folder / "now"),
        }
        for title, tree in trees.items():
            print(f"{title}:", flush=True)
            tree.out.mkdir()
            for work, run in works(inputs).items():
                if not only or work in only:
                    print(f"  {work}", flush=True)
                    run(tree)
        found = list(compared_by_value(folder / "earlier", folder / "now"))
        n_compared = len(outputs(folder / "now"))
        print("this tree, by bytes:", flush=True)
        found += compared_by_bytes(Tree(ROOT, folder / "ways"), inputs, only)
    print(*found, f"{n_compared} files compared by value, {len(found)} differences in all", sep="\n")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
