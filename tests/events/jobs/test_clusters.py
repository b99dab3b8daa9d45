"""Dask clusters: the same bytes, and what happens when workers, schedulers and whole jobs die; real processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from events.jobs._cluster import connected_cluster
from places import PROJECT
from references import events as er
from references import scoring as sr
from worker_processes import is_alive, workers_of

from corefsample import InputError, ParameterError
from corefsample.documents import from_documents
from corefsample.formats.scored import ParquetWriter
from events.jobs.count_events import EventsOptions, run_events
from events.jobs.scoring import ScoreOptions, run_score
from events.jobs.scoring._engines import _identity, _work_on_cluster
from events.jobs.scoring._workers import Scorer

pytest.importorskip("distributed", reason="dask[distributed] is not installed")
pytestmark = [
    pytest.mark.skipif(not Path("/proc").exists(), reason="processes are found in /proc"),
    pytest.mark.filterwarnings("ignore"),
]

OPTIONS = EventsOptions(n_samples=60, partition_size=9, threads=1)
ARGUMENTS = ["--samples", "60", "--partition-size", "9", "--threads", "1", "--no-pictures"]
TABLES = ("counts.csv", "counts.parquet", "evidence.csv", "evidence.parquet", "near_half.csv", "documents.parquet")
# Loaded by each worker: it waits before each document that it samples, and before each task of documents it scores.
SLOW = """
import os, time
import events.jobs.partitions._evaluation as run
import events.jobs.scoring._engines as engines
def slower(function):
    def slow(*arguments, **keywords):
        time.sleep(float(os.environ["SLOW"]))
        return function(*arguments, **keywords)
    slow.__wrapped__ = function
    return slow
if not hasattr(run.evaluate_rules, "__wrapped__"):
    run.evaluate_rules = slower(run.evaluate_rules)
    engines._scorer_of = type("Known", (dict,), {"__getitem__": slower(dict.__getitem__)})()
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("clusters")


@pytest.fixture(scope="module")
def news(folder: Path) -> Path:
    """Thirty documents in row groups of three."""
    given = [{**each, "doc_id": f"{each['doc_id']} of round {n}"} for n in range(3) for each in er.corpus()]
    path = folder / "news.parquet"
    with ParquetWriter(str(path)) as writer:
        for start in range(0, len(given), 3):
            writer.write(from_documents([er.scored(each) for each in given[start : start + 3]]))
            writer.end_group()
    return path


@pytest.fixture(scope="module")
def counted(news: Path, folder: Path) -> dict[str, bytes]:
    run_events(news, folder / "reference", OPTIONS, pictures=False)
    return tables(folder / "reference")


def tables(out: Path) -> dict[str, bytes]:
    return {name: (out / name).read_bytes() for name in TABLES}


@pytest.fixture(scope="module")
def slow(folder: Path) -> dict[str, str]:
    """Environment of a job whose workers take their time."""
    path = folder / "slow.py"
    path.write_text(SLOW)
    return {**os.environ, "DASK_DISTRIBUTED__WORKER__PRELOAD": str(path), "SLOW": "0.2"}


@contextmanager
def started(environment: dict[str, str], *arguments: Any) -> Iterator[subprocess.Popen[str]]:
    """A job in a process group of its own, as a terminal starts it."""
    command = [sys.executable, "-m", "events.cli", *map(str, arguments), "--quiet"]
    pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=PROJECT, env=environment, start_new_session=True, **pipes) as job:
        try:
            yield job
        finally:
            if job.poll() is None:
                job.kill()


def wait_for(condition: Callable[[], Any], job: subprocess.Popen[str] | None = None, seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "nothing happened"
        assert job is None or job.poll() is None, job.communicate()[1]
        time.sleep(0.02)


# --- events ------------------------------------------------------------------------------------------------


def test_four_workers_give_the_same_bytes(news: Path, tmp_path: Path, counted: dict[str, bytes]) -> None:
    with started({**os.environ}, "events", news, "--out", tmp_path / "run", *ARGUMENTS, "--workers", 4) as job:
        _, printed = job.communicate(timeout=120)
    assert job.returncode == 0, printed
    assert tables(tmp_path / "run") == counted


def test_an_interrupt_from_the_terminal_ends_job_and_workers_and_says_how_to_resume(
    news: Path, tmp_path: Path, counted: dict[str, bytes], slow: dict[str, str]
) -> None:
    out = tmp_path / "run"
    with started(slow, "events", news, "--out", out, *ARGUMENTS, "--workers", 2) as job:
        wait_for(lambda: list(tmp_path.glob("run.partial/partition-*.json")), job)
        workers = workers_of(job.pid)
        os.killpg(job.pid, signal.SIGINT)  # to all processes of the job, as a terminal does
        _, printed = job.communicate(timeout=30)
    assert job.returncode == 130
    lines = printed.strip().splitlines()
    assert len(lines) == 1, printed
    (line,) = lines
    assert "of 3 partitions complete" in line
    assert line.endswith("the same command resumes")
    assert len(workers) == 2
    wait_for(lambda: not any(map(is_alive, workers)), seconds=20)
    assert run_events(news, out, OPTIONS, pictures=False).n_computed <= 2
    assert tables(out) == counted


def test_a_worker_that_dies_in_the_middle_of_a_partition_is_replaced(
    news: Path, tmp_path: Path, counted: dict[str, bytes], slow: dict[str, str]
) -> None:
    out = tmp_path / "run"
    with started(slow, "events", news, "--out", out, *ARGUMENTS, "--workers", 2) as job:
        # Both workers are in the middle of a partition.
        wait_for(lambda: len(list(tmp_path.glob("run.partial/computing-*"))) == 2, job)
        first, _ = workers_of(job.pid)
        os.kill(first, signal.SIGKILL)
        _, printed = job.communicate(timeout=120)
    assert (job.returncode, printed) == (0, "")
    assert tables(out) == counted


def test_a_scheduler_that_dies_with_a_worker_at_work_ends_the_job_in_one_line(
    news: Path, tmp_path: Path, counted: dict[str, bytes], slow: dict[str, str]
) -> None:
    out, ready = tmp_path / "run", tmp_path / "scheduler.json"
    quiet: Any = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": PROJECT, "env": slow}
    scheduler_options = ["--port", "0", "--no-dashboard", "--no-show", "--host", "127.0.0.1"]
    scheduler_program = [sys.executable, "-m", "distributed.cli.dask_scheduler", *scheduler_options]
    worker_program = [sys.executable, "-m", "distributed.cli.dask_worker", "--nthreads", "1", "--no-nanny"]
    worker_options = ["--no-dashboard", "--death-timeout", "2", "--local-directory", str(tmp_path)]
    with subprocess.Popen([*scheduler_program, "--scheduler-file", str(ready)], **quiet) as scheduler:
        wait_for(ready.exists)
        address = json.loads(ready.read_text())["address"]
        with subprocess.Popen([*worker_program, *worker_options, address], **quiet) as worker:
            try:
                arguments = ["--out", out, *ARGUMENTS, "--scheduler", address]
                with started(dict(os.environ), "events", news, *arguments) as job:
                    wait_for(lambda: list(tmp_path.glob("run.partial/partition-*.json")), job)
                    scheduler.kill()
                    _, printed = job.communicate(timeout=60)
            finally:
                scheduler.kill()
                worker.kill()
    assert job.returncode == 1
    (line,) = printed.splitlines()
    assert line == f"corefsample: {address}: scheduler must stay reachable, got no answer (run again to resume)"
    assert run_events(news, out, OPTIONS, pictures=False).n_computed <= 2
    assert tables(out) == counted


def test_a_second_run_into_a_folder_says_who_works_there_and_disturbs_nothing(
    news: Path, tmp_path: Path, counted: dict[str, bytes], slow: dict[str, str]
) -> None:
    out = tmp_path / "run"
    with started(slow, "events", news, "--out", out, *ARGUMENTS, "--workers", 2) as job:
        wait_for(lambda: list(tmp_path.glob("run.partial/computing-*")), job)
        for keywords in ({}, {"overwrite": True}, {"restart": True}):
            with pytest.raises(ParameterError) as error:
                run_events(news, out, OPTIONS, pictures=False, **keywords)
            rule = f"{out}: folder must not be in use by another run, got process {job.pid} on "
            assert str(error.value).startswith(rule)
            assert " since 20" in str(error.value)
        job.kill()
        workers = workers_of(job.pid)
        job.communicate()
    wait_for(lambda: not any(map(is_alive, workers)), seconds=20)
    assert (tmp_path / ".run.lock").exists()  # but its process is dead
    run_events(news, out, OPTIONS, pictures=False)
    assert tables(out) == counted
    assert os.listdir(tmp_path) == ["run"]


# --- score -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def model(folder: Path) -> Path:
    return sr.small_model(folder)


@pytest.fixture(scope="module")
def annotated(folder: Path) -> Path:
    return sr.corpus_file(folder / "corpus.conllu", sr.short_documents(140))  # two parts, 18 tasks


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_scores_are_the_same_bytes_in_one_process_and_on_a_cluster(
    annotated: Path, model: Path, tmp_path: Path, suffix: str
) -> None:
    one, many = tmp_path / f"one.{suffix}", tmp_path / f"many.{suffix}"
    run_score(annotated, one, ScoreOptions(model=str(model), jobs=1))
    with started({**os.environ}, "score", annotated, "--model", model, "--out", many, "--workers", 2, "--json") as job:
        printed, errors = job.communicate(timeout=120)
    assert (job.returncode, errors) == (0, "")
    assert json.loads(printed)["jobs"] == 2
    assert many.read_bytes() == one.read_bytes()


def test_a_worker_that_dies_while_it_scores_is_replaced(
    annotated: Path, model: Path, tmp_path: Path, slow: dict[str, str]
) -> None:
    one, many = tmp_path / "one.jsonl", tmp_path / "many.jsonl"
    run_score(annotated, one, ScoreOptions(model=str(model), jobs=1))
    with started(slow, "score", annotated, "--model", model, "--out", many, "--workers", 2) as job:
        wait_for(lambda: list(tmp_path.glob("many.jsonl.parts/part-*.parquet")), job)
        os.kill(workers_of(job.pid)[0], signal.SIGKILL)
        _, errors = job.communicate(timeout=120)
    assert (job.returncode, errors) == (0, "")
    assert many.read_bytes() == one.read_bytes()


def test_workers_of_score_end_with_the_job_and_it_can_be_resumed(
    annotated: Path, model: Path, tmp_path: Path, slow: dict[str, str]
) -> None:
    one, many = tmp_path / "one.jsonl", tmp_path / "many.jsonl"
    run_score(annotated, one, ScoreOptions(model=str(model), jobs=1))
    with started(slow, "score", annotated, "--model", model, "--out", many, "--workers", 2) as job:
        wait_for(lambda: list(tmp_path.glob("many.jsonl.parts/part-*.json")), job)
        workers = workers_of(job.pid)
        job.kill()
        job.communicate(timeout=30)  # the pipes end with the last process that has them
    wait_for(lambda: not any(map(is_alive, workers)), seconds=20)
    resumed = run_score(annotated, many, ScoreOptions(model=str(model)), resume=True)
    assert resumed.n_resumed == 128
    assert many.read_bytes() == one.read_bytes()


def test_a_worker_with_another_model_is_an_error(annotated: Path, model: Path) -> None:
    options = ScoreOptions(model=str(model))
    identity = _identity(Scorer(options))
    assert _work_on_cluster(options, identity, []).documents == []
    with pytest.raises(InputError, match="a worker must have the same model as the process that began the run"):
        _work_on_cluster(options, {**identity, "model": "another"}, [])


def test_score_checks_the_options_of_a_cluster(annotated: Path, model: Path, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="jobs must be left out with a Dask cluster, got 2"):
        run_score(annotated, tmp_path / "s.jsonl", ScoreOptions(model=str(model), jobs=2), workers=2)
    with pytest.raises(ParameterError, match=r"scheduler must be an address like tcp://"):
        run_score(annotated, tmp_path / "s.jsonl", ScoreOptions(model=str(model)), scheduler="localhost")
    assert not list(tmp_path.iterdir())


def test_an_unexpected_error_names_its_document(
    annotated: Path, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*arguments: Any, **keywords: Any) -> None:
        raise RuntimeError("out of luck")

    monkeypatch.setattr("events.jobs.scoring._workers.score_documents", broken)
    with pytest.raises(RuntimeError) as error:
        run_score(annotated, tmp_path / "s.jsonl", ScoreOptions(model=str(model)))
    (note,) = error.value.__notes__
    assert note.startswith(f"while scoring {annotated}: document 1: doc_id ")


# --- workers -------------------------------------------------------------------------------------------------


def test_workers_keep_the_memory_that_they_free(monkeypatch: pytest.MonkeyPatch) -> None:
    def trimming() -> str | None:  # travels by value: workers cannot import this module
        return os.environ.get("MALLOC_TRIM_THRESHOLD_")

    monkeypatch.delenv("MALLOC_TRIM_THRESHOLD_", raising=False)  # clusters of other tests leave it behind
    with connected_cluster(1, None) as cluster:
        assert cluster.submit(trimming).result(timeout=60) is None
