"""Mutate every kind of input and read it: python benchmarks/attack_inputs.py [--mutations 12000] [--seed 1].

Documents of several parses (JSON Lines, Parquet), a recalibration, a tagging model, a sheet of labels and the tables of
a run are changed at random, as bytes and as content. A reader must raise InputError or ParameterError, or return values
that are possible. The script prints how often it did which, and every other outcome on standard error.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import io
import random
import re
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from corefsample import InputError, ParameterError, read_documents, write_documents
from corefsample.files._atomic import write_csv
from corefsample.recalibration import read_recalibration
from corefsample.recalibration._uncertain import recalibration_file
from corefsample.tagging import HiddenMarkovModel, TaggedSentence, load_tagger, save_tagger
from events import simulate_documents
from events.audit import plan_audit, read_sheets
from events.audit._audit_frame import read_run_documents
from events.commands import EventsOptions, run_events
from events.counts import read_count_posterior
from events.counts._distributions import read_count_samples
from events.counts._run_tables import run_table

ODD = [b"null", b"NaN", b"-1", b"1e999", b'""', b"[]", b"{}", b"9" * 30, b"true", b'"\\u0000"', b"[" * 3000, b"\xff"]
LITERAL = re.compile(rb'-?\d+(?:\.\d+)?|"[^"]*"|[\[\]{}:,]')
NUMBERS = [-1, 0, 2**31 - 1, -(2**31), 2**62, float("nan"), float("inf"), 2.0, -0.5]
VALUES = [None, *NUMBERS, "", "x", " ", "\x00", [], [None]]
TABLES = ("counts", "evidence", "count_samples", "all_documents")


def mutated(content: bytes, rng: random.Random) -> bytes:
    """Bytes with one to three changes: of bits, of spans, or of a literal of a text."""
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        kind, start = rng.randrange(6), rng.randrange(max(len(content), 1))
        end = min(len(content), start + rng.choice((1, 2, 8, 40)))
        if kind == 0 and content:
            content = content[:start] + bytes([content[start] ^ 1 << rng.randrange(8)]) + content[start + 1 :]
        elif kind == 1:
            content = content[:start] + content[end:]
        elif kind == 2:
            content = content[:end] + content[start:]
        elif kind == 3 and rng.random() < 0.2:
            content = content[:start]
        elif literals := [*LITERAL.finditer(content[:200_000])]:
            chosen = rng.choice(literals)
            content = content[: chosen.start()] + rng.choice(ODD) + content[chosen.end() :]
    return content


def with_other_values(table: pa.Table, rng: random.Random) -> pa.Table:
    """A table with one value changed, at any depth, of its type or of another one."""
    number = rng.randrange(table.num_columns)
    values, field = table.column(number).to_pylist(), table.schema.field(number)
    place: Any = values
    while keys := list(place) if isinstance(place, dict) else range(len(place)):
        key = rng.choice(keys)
        if not (isinstance(place[key], (list, dict)) and place[key]) or rng.random() >= 0.9:
            place[key] = rng.choice(VALUES)
            break
        place = place[key]
    try:
        column = pa.array(values, field.type if rng.random() < 0.8 else None)
    except (pa.ArrowException, ValueError, TypeError, OverflowError):
        return table.drop_columns([field.name])
    return table.set_column(number, field.name, column)


def changed_parquet(content: bytes, rng: random.Random) -> bytes:
    if rng.random() < 0.5:
        return mutated(content, rng)
    stream = io.BytesIO()
    pq.write_table(with_other_values(pq.ParquetFile(io.BytesIO(content)).read(use_threads=False), rng), stream)
    return stream.getvalue()


def changed_archive(content: bytes, rng: random.Random) -> bytes:
    if rng.random() < 0.3:
        return mutated(content, rng)
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as before, zipfile.ZipFile(stream, "w") as after:
        names = before.namelist()
        chosen = rng.choice(names)
        for name in names:
            after.writestr(name, mutated(before.read(name), rng) if name == chosen else before.read(name))
    return stream.getvalue()


def read_parsed(path: Path) -> None:
    for document in read_documents(path):
        assert document.doc_id
        assert document.samples is None or 0 <= document.samples[0] <= document.samples[1]
        probs = document.antecedents.probs
        assert ((probs >= 0.0) & (probs <= 1.0 + 1e-9)).all()


def read_tables(run: Path) -> None:
    counts = run_table(run, "counts")
    assert counts["one_best"].between(0, counts["n_docs"]).all()
    if len(counts):
        row = counts.to_dict("records")[0]
        pmf = read_count_posterior(run, row["actor"], row["period"], event=row["event"]).pmf
        assert np.all(pmf >= -1e-12) & (abs(pmf.sum() - 1.0) < 1e-6)
    samples = read_count_samples(run, event=None)
    assert ((samples.counts >= 0) & (samples.counts <= samples.n_docs)).all()
    frame = read_run_documents(run)
    assert ((frame.values >= 0.0) & (frame.values <= 1.0)).all()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mutations", type=int, default=12_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        outcomes = attack(Path(name), options.mutations, random.Random(options.seed))
    print("| input | rejected | accepted | other |", "|---|---:|---:|---:|", sep="\n")
    n_others = {kind: found.total() - found["rejected"] - found["accepted"] for kind, found in outcomes.items()}
    for kind, found in outcomes.items():
        print(f"| {kind} | {found['rejected']:,} | {found['accepted']:,} | {n_others[kind]} |")
    return sum(n_others.values())


def attack(folder: Path, n_mutations: int, rng: random.Random) -> dict[str, collections.Counter[str]]:
    """Make good inputs, change and read each; how often each outcome came, by kind of input."""
    inputs = made(folder)
    outcomes: dict[str, collections.Counter[str]] = {}
    for kind, (path, change, read) in inputs.items():
        good, found = path.read_bytes(), outcomes.setdefault(kind, collections.Counter())
        read()
        for _ in range(n_mutations // len(inputs)):
            path.write_bytes(change(good, rng))
            try:
                read()
                found["accepted"] += 1
            except (InputError, ParameterError):
                found["rejected"] += 1
            except Exception as error:
                found[f"{type(error).__name__}: {error}"[:160]] += 1
        path.write_bytes(good)
        print(kind, dict(found), file=sys.stderr)
    return outcomes


Input = tuple[Path, Callable[[bytes, random.Random], bytes], Callable[[], object]]


def made(folder: Path) -> dict[str, Input]:
    """Good inputs: their file, how it is changed, and how it is read."""
    documents = [each.document for each in simulate_documents(30, seed=1, median_mentions=10.0)]
    write_documents(documents, folder / "news.jsonl")
    run_events([folder / "news.jsonl"], EventsOptions(out=str(folder / "run"), pictures=False, n_samples=20))
    parses = [*enumerate([(0, 7), (7, 10)])]
    parsed = [dataclasses.replace(each, parse=k, samples=s) for each in documents[:3] for k, s in parses]
    lines, table = folder / "parses.jsonl", folder / "parses.parquet"
    write_documents(parsed, lines)
    write_documents(parsed, table)
    record = folder / "recalibration.json"
    record.write_bytes(Path(recalibration_file("english")).read_bytes())
    model = folder / "model.zip"
    save_tagger(HiddenMarkovModel().fit([TaggedSentence(("the", "dog", "barks"), ("D", "N", "V"), "a")] * 3), model)
    run, sheet = folder / "run", folder / "sheet.csv"
    plan = plan_audit(read_run_documents(run), 12, floor=1)
    write_csv(plan.sheet(1, {each.doc_id: "-1 text" for each in documents}).assign(label="yes"), str(sheet))
    row = run_table(run, "counts").to_dict("records")[0]
    named = {key: [row[key]] for key in ("event", "actor", "period")}
    drawn = pa.array([np.zeros(row["n_samples"], np.int32)], pa.list_(pa.int32()))
    pq.write_table(pa.table({**named, "counts": drawn}), run / "count_samples.parquet")
    return {
        "parses, JSON Lines": (lines, mutated, lambda: read_parsed(lines)),
        "parses, Parquet": (table, changed_parquet, lambda: read_parsed(table)),
        "recalibration": (record, mutated, lambda: read_recalibration(record).sampled("fit", 5)),
        "tagging model": (model, changed_archive, lambda: load_tagger(model).posterior(["dog"]).marginals()),
        "sheet": (sheet, mutated, lambda: read_sheets(plan, [sheet])),
        **{name: (run / f"{name}.parquet", changed_parquet, lambda: read_tables(run)) for name in TABLES},
    }


if __name__ == "__main__":
    sys.exit(min(main(), 1))
