"""The two commands that run in parts, in one form: how to call them, what they write, and what they leave."""

import dataclasses
import os
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from places import PACKAGES, PROJECT
from references import events as er, scoring as sr

from corefsample.documents._batch import DocumentBatch
from corefsample.formats.scored._parquet import ParquetWriter
from events.commands import EventsOptions, ScoreOptions, run_events, run_score
from events.runs._engines import completed_parts
from events.runs._run_options import CountOptions, ScoringOptions
from events.runs._store import PartStore, StoredPart

TABLES = (
    *("counts.csv", "counts.parquet", "evidence.csv", "evidence.parquet", "near_half.csv", "comparisons.csv"),
    *("totals.csv", "events.csv", "count_samples.parquet"),
    *("documents.parquet", "all_documents.parquet"),
)
# Without the error of rules, whose model takes most of the time of a small run.
OPTIONS = CountOptions(n_samples=60, compare=("USA", "IRQ"), part_size=15, threads=1, rule_error="none")
PART = 16  # documents of a part of `score`
# Loaded by every process of a job: it waits before each record, and before it scores the documents of a part.
SLOW = """
import os, time
import events.runs._score_run as score_run
import events.runs._store as store
def slower(function):
    def slow(*arguments, **keywords):
        time.sleep(float(os.environ["SLOW"]))
        return function(*arguments, **keywords)
    return slow
store.write_sealed = slower(store.write_sealed)
score_run.ScorePart.compute = slower(score_run.ScorePart.compute)
"""


def count_events(
    inputs: Any, out: Any, options: CountOptions | None = None, *, on_progress: Any = None, **more: Any
) -> SimpleNamespace:
    """Run `events` with options of counting and others; without pictures, whose drawing takes most of a small run."""
    chosen = EventsOptions(out=out, **vars(options or CountOptions()), **{"pictures": False, **more})
    return SimpleNamespace(**run_events(inputs, chosen, on_progress=on_progress).result)


def score_corpus(
    inputs: Any, out: Any, options: ScoringOptions | None = None, *, on_progress: Any = None, **more: Any
) -> SimpleNamespace:
    """Run `score` with options of scoring and others."""
    chosen = ScoreOptions(out=out, **vars(options or ScoringOptions()), **{"part_size": PART, **more})
    return SimpleNamespace(**run_score(inputs, chosen, on_progress=on_progress).values)


@dataclass(frozen=True)
class Case:
    """A command and its corpus of sixty documents.

    Attributes
    ----------
    name
        "events" or "score".
    corpus
        Its input.
    n_parts
        Parts of a run.
    model
        Of `score`.
    """

    name: str
    corpus: Path
    n_parts: int
    model: str = ""

    def out(self, folder: Path) -> Path:
        """The output in a folder, which is made."""
        folder.mkdir(exist_ok=True)
        return folder / ("run" if self.name == "events" else "scored.jsonl")

    def options(self, **changed: Any) -> Any:
        """Options, some of them changed."""
        return dataclasses.replace(OPTIONS if self.name == "events" else ScoringOptions(model=self.model), **changed)

    def run(self, out: Any, *, inputs: Any = None, options: Any = None, **keywords: Any) -> Any:
        """Run in this process, or with workers."""
        given, chosen = inputs or self.corpus, options or self.options()
        if self.name == "events":
            return count_events(given, out, chosen, **keywords)
        return score_corpus(given, out, chosen, **keywords)

    def n_left(self, summary: Any) -> int:
        """Parts, or documents, that an earlier run had left."""
        return int(summary.n_parts - summary.n_computed if self.name == "events" else summary.n_resumed)

    def content(self, out: Path) -> dict[str, bytes]:
        """Bytes of what a run writes."""
        if not out.is_dir():
            return {out.name: out.read_bytes()}
        return {name: (out / name).read_bytes() for name in TABLES if (out / name).exists()}

    def command(self, out: Any, *more: Any) -> list[str]:
        """Arguments of the command line."""
        arguments: list[Any] = [self.name, self.corpus, "--out", out, "--quiet", *more]
        if self.name == "events":
            arguments += ["--samples", 60, "--compare", "USA", "IRQ", "--part-size", 15, "--threads", 1]
            arguments += ["--no-pictures", "--rule-error", "none"]
        else:
            arguments += ["--model", self.model, "--part-size", PART]
        return list(map(str, arguments))


def events_case(folder: Path) -> Case:
    return Case("events", in_groups(folder / "news.parquet", documents()), 4)


def score_case(folder: Path) -> Case:
    corpus = sr.corpus_file(folder / "corpus.conllu", sr.short_documents(60))
    return Case("score", corpus, 4, str(sr.small_model(folder)))


def documents() -> list[dict[str, Any]]:
    """Sixty documents on many days, so that the order of dates is not that of the file."""
    made = []
    for number in range(6):
        for each in er.corpus():
            date = f"{1999 + (7 * number) % 5}{each['date'][4:]}"
            made.append({**each, "doc_id": f"{each['doc_id']} of round {number}", "date": date})
    return made


def in_groups(path: Path, given: list[dict[str, Any]], size: int = 3) -> Path:
    """A Parquet file of row groups of a few documents."""
    with ParquetWriter(str(path)) as writer:
        for start in range(0, len(given), size):
            writer.write(DocumentBatch.of([er.scored(each) for each in given[start : start + size]]))
            writer._flush()
    return path


def engine_options(engine: str, request: pytest.FixtureRequest) -> dict[str, Any]:
    """Options of an engine: "here", "workers" or "scheduler", for which a test has the fixture `cluster`."""
    if engine == "scheduler":
        return {"scheduler": request.getfixturevalue("cluster").scheduler_address}
    return {"workers": 2} if engine == "workers" else {"workers": 1}


def left(out: Path) -> Path:
    """The folder of the parts of a run."""
    beside = out.with_name(f"{out.name}.parts")  # of a file, or of a folder at a URL
    return beside if out.suffix or beside.exists() else out / "parts"


def complete(out: Path) -> list[Path]:
    """Records of its complete parts."""
    return sorted(left(out).glob("*/record.json"))


def stop_after(n_parts: int, out: Path, error: type[BaseException] = KeyboardInterrupt) -> Callable[..., None]:
    """A report of progress that raises when parts are complete."""

    def on_progress(*_: int) -> None:
        if len(complete(out)) >= n_parts:
            raise error

    return on_progress


def wait_for(condition: Callable[[], Any], job: subprocess.Popen[str] | None = None, seconds: float = 90.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "nothing happened"
        assert job is None or job.poll() is None, job.communicate()[1]
        time.sleep(0.02)


def slowly(folder: Path, seconds: float) -> dict[str, str]:
    """Environment of processes that take so many seconds a part."""
    (folder / "slow").mkdir(exist_ok=True)
    (folder / "slow" / "sitecustomize.py").write_text(SLOW)
    path = os.pathsep.join([str(folder / "slow"), str(PACKAGES)])
    return {**os.environ, "SLOW": str(seconds), "PYTHONPATH": path}


@contextmanager
def started(folder: Path, arguments: list[str], *, slow: float) -> Iterator[subprocess.Popen[str]]:
    """A job in a process group of its own, as a terminal starts it, that takes so many seconds a part."""
    command = [sys.executable, "-m", "events.commands", *arguments]
    pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "env": slowly(folder, slow)}
    with subprocess.Popen(command, cwd=PROJECT, start_new_session=True, **pipes) as job:
        try:
            yield job
        finally:
            if job.poll() is None:
                job.kill()


@dataclass(frozen=True)
class NumberedPart:
    """A part of as many documents as its number; it fails at 7.

    At 14 its worker sends the length of a result, and never the result, once there is the file "begin".
    """

    number: int
    folder: Path
    n_bytes: float = 1.0

    def __str__(self) -> str:
        return str(self.number)

    @property
    def key(self) -> str:
        return str(self.number)

    def compute(self, on_progress: Any = None) -> StoredPart:
        if self.number == 7:
            raise ZeroDivisionError
        if self.number == 14 and not (self.folder / "sent").exists():
            while not (self.folder / "begin").exists():
                time.sleep(0.01)
            frame = sys._getframe()
            while "result_queue" not in frame.f_locals:
                assert frame.f_back is not None
                frame = frame.f_back
            os.write(frame.f_locals["result_queue"]._writer.fileno(), struct.pack("!i", 1000))
            (self.folder / "sent").write_text(str(os.getpid()))
            time.sleep(600)
        return StoredPart(self.folder, {"documents": self.number})


def computed_by_two(folder: Path, *numbers: int, on_progress: Any = None) -> None:
    """Have two workers compute numbered parts."""
    parts = [NumberedPart(number, folder) for number in numbers]
    store, engine = PartStore(folder), EventsOptions(out="run", workers=2)
    completed_parts(parts, store, engine, raise_first_fault=False, total_bytes=len(parts), on_progress=on_progress)
