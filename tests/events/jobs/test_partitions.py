"""Runs in partitions: the same bytes whatever happened in between, with real processes that are really killed."""

from __future__ import annotations

import dataclasses
import errno
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from places import PROJECT
from references import events as er
from worker_processes import is_alive, workers_of

from corefsample import InputError, OutputError, ParameterError, write_documents
from corefsample.documents import from_documents
from corefsample.formats.scored import ParquetWriter
from events.jobs.count_events import (
    EventsOptions,
    RunSummary,
    finalise_run,
    initialise_run,
    run_events,
    run_partition,
)
from events.jobs.partitions import Store, unfinished_store

POSIX = pytest.mark.skipif(os.name != "posix", reason="signals are of POSIX")
OPTIONS = EventsOptions(n_samples=60, compare=("USA", "IRQ"), partition_size=9, threads=1)
TABLES = (
    "counts.csv",
    "counts.parquet",
    "evidence.csv",
    "evidence.parquet",
    "near_half.csv",
    "comparisons.csv",
    "documents.parquet",
    "all_documents.parquet",
)
ROUNDS = 6  # of ten documents each


def documents() -> list[dict[str, Any]]:
    """Sixty documents on many days, so that the order of dates is not that of the file."""
    made = []
    for number in range(ROUNDS):
        for each in er.corpus():
            year = 1999 + (7 * number) % 5
            date = f"{year}{each['date'][4:]}"
            made.append({**each, "doc_id": f"{each['doc_id']} of round {number}", "date": date})
    return made


def in_groups(path: Path, given: list[dict[str, Any]], size: int = 3) -> Path:
    """A Parquet file of row groups of a few documents."""
    with ParquetWriter(str(path)) as writer:
        for start in range(0, len(given), size):
            writer.write(from_documents([er.scored(each) for each in given[start : start + size]]))
            writer.end_group()
    return path


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return in_groups(tmp_path_factory.mktemp("corpus") / "news.parquet", documents())


@pytest.fixture(scope="module")
def reference(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Bytes of a run in one partition."""
    out = tmp_path_factory.mktemp("reference") / "run"
    assert run(corpus, out, partition_size=1000).n_partitions == 1
    return tables(out)


def run(inputs: Any, out: Path, *, options: EventsOptions = OPTIONS, **changed: Any) -> RunSummary:
    keywords = {name: changed.pop(name) for name in ("overwrite", "restart", "workers", "scheduler") if name in changed}
    return run_events(inputs, out, dataclasses.replace(options, **changed), pictures=False, **keywords)


def tables(out: Path) -> dict[str, bytes]:
    return {name: (out / name).read_bytes() for name in TABLES}


# --- the same bytes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("size", "n_partitions"), [(3, 20), (9, 7), (30, 2)])
def test_the_number_of_partitions_does_not_matter(
    corpus: Path, tmp_path: Path, reference: dict[str, bytes], size: int, n_partitions: int
) -> None:
    assert run(corpus, tmp_path / "run", partition_size=size).n_partitions == n_partitions
    assert tables(tmp_path / "run") == reference


@pytest.mark.parametrize("seed", [1, 2])
def test_shuffled_documents_and_lines_of_json_do_not_matter(
    tmp_path: Path, reference: dict[str, bytes], seed: int
) -> None:
    shuffled = documents()
    np.random.default_rng(seed).shuffle(shuffled)
    run(in_groups(tmp_path / "news.parquet", shuffled), tmp_path / "parquet")
    er.write_lines(tmp_path / "first.jsonl", shuffled[:25])
    write_documents(map(er.scored, shuffled[25:]), tmp_path / "second.jsonl.gz")
    run([tmp_path / "second.jsonl.gz", tmp_path / "first.jsonl"], tmp_path / "lines")
    assert tables(tmp_path / "parquet") == tables(tmp_path / "lines") == reference


@pytest.mark.parametrize(("wide", "run_bytes"), [(0, 1), (2**40, 1), (0, 2**25)])
def test_rows_that_need_many_runs_are_merged_in_order(
    corpus: Path,
    tmp_path: Path,
    reference: dict[str, bytes],
    wide: int,
    run_bytes: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("events.counting._sorted_rows._WIDE", wide)
    monkeypatch.setattr("events.counting._sorted_rows._RUN_BYTES", run_bytes)
    monkeypatch.setattr("events.counting._sorted_rows._MOST_OPEN", 3)
    monkeypatch.setattr("events.jobs._count_part._BATCH", 2)
    run(corpus, tmp_path / "run")
    assert tables(tmp_path / "run") == reference
    assert not list((tmp_path / "run" / "partitions").glob("merged*"))


@pytest.mark.parametrize("interval", ["hdi", "normal"])
def test_other_intervals_do_not_depend_on_partitions_either(corpus: Path, tmp_path: Path, interval: Any) -> None:
    run(corpus, tmp_path / "one", interval=interval, partition_size=1000)
    run(corpus, tmp_path / "many", interval=interval, partition_size=3)
    assert tables(tmp_path / "one") == tables(tmp_path / "many")


# --- the three steps ---------------------------------------------------------------------------------------


def test_the_three_steps_by_hand_in_any_order(corpus: Path, tmp_path: Path, reference: dict[str, bytes]) -> None:
    out = tmp_path / "run"
    numbers = initialise_run(corpus, out, OPTIONS)
    assert numbers == (1, 2, 3, 4, 5, 6, 7)
    for number in [5, 2, 7, 1, 6]:
        run_partition(out, number)
    with pytest.raises(InputError, match=r"got 2 missing: partition 3 .news.parquet, row groups 6 to 8.*, partition 4"):
        finalise_run(out, pictures=False)
    assert not out.exists()
    assert initialise_run(corpus, out, OPTIONS) == (3, 4)
    for number in (4, 3, 3):  # again: nothing is counted twice
        run_partition(out, number)
    finalise_run(out, pictures=False)
    assert tables(out) == reference
    assert os.listdir(tmp_path) == ["run"]


def test_what_was_not_begun_cannot_be_continued(corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="must be initialised"):
        run_partition(tmp_path / "run", 1)
    with pytest.raises(InputError, match="must be initialised"):
        finalise_run(tmp_path / "run")
    initialise_run(corpus, tmp_path / "run", OPTIONS)
    with pytest.raises(ParameterError, match="number must be one of 7, got 8"):
        run_partition(tmp_path / "run", 8)


def begun(corpus: Any, out: Path, numbers: tuple[int, ...] = (1, 2, 3), **changed: Any) -> Store:
    initialise_run(corpus, out, dataclasses.replace(OPTIONS, **changed))
    for number in numbers:
        run_partition(out, number)
    return unfinished_store(out)


def test_a_finished_run_is_not_computed_again(corpus: Path, tmp_path: Path) -> None:
    first = run(corpus, tmp_path / "run")
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    again = run(corpus, tmp_path / "run")
    assert (first.n_computed, again.n_computed) == (7, 0)
    assert dataclasses.replace(again, n_computed=7) == first
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


def test_a_table_that_was_lost_is_made_again_from_the_partitions(
    corpus: Path, tmp_path: Path, reference: dict[str, bytes]
) -> None:
    run(corpus, tmp_path / "run")
    (tmp_path / "run" / "counts.csv").unlink()
    assert run(corpus, tmp_path / "run").n_computed == 0
    assert tables(tmp_path / "run") == reference


# --- what may not change, and what may ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"seed": 3}, "seed must be 0 as in the unfinished run, got 3"),
        ({"n_samples": 61}, "n_samples must be 60 as in the unfinished run, got 61"),
        ({"compare": None}, "compare must be USA IRQ as in the unfinished run, got none"),
        ({"period": "year"}, "period must be quarter as in the unfinished run, got year"),
    ],
)
def test_a_changed_option_is_named(corpus: Path, tmp_path: Path, changed: dict[str, Any], message: str) -> None:
    begun(corpus, tmp_path / "run")
    with pytest.raises(ParameterError) as error:
        run(corpus, tmp_path / "run", **changed)
    assert str(error.value) == f"{tmp_path}/run.partial: {message} (restart begins anew)"
    summary = run(corpus, tmp_path / "run", restart=True, **changed)
    assert summary.n_computed == 7


def test_threads_and_sizes_of_partitions_may_change(corpus: Path, tmp_path: Path, reference: dict[str, bytes]) -> None:
    begun(corpus, tmp_path / "run")
    assert run(corpus, tmp_path / "run", threads=3, partition_size=1000).n_computed == 4
    assert tables(tmp_path / "run") == reference


def test_another_version_or_rule_is_named(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rule = tmp_path / "own.yaml"
    shutil.copy(PROJECT / "events" / "data" / "rules" / "attack.yaml", rule)
    begun(corpus, tmp_path / "run", rule=str(rule))
    rule.write_text(rule.read_text() + "\n# another comment\n")
    with pytest.raises(InputError, match=r"own.yaml: rule must be as it was .*restart begins anew"):
        run(corpus, tmp_path / "run", rule=str(rule))
    shutil.copy(PROJECT / "events" / "data" / "rules" / "attack.yaml", rule)
    monkeypatch.setattr("corefsample.__version__", "9.9")
    with pytest.raises(InputError, match=r"which began it, got 9.9"):
        run(corpus, tmp_path / "run", rule=str(rule))


def test_changed_content_is_named_and_a_new_time_alone_is_not(tmp_path: Path, reference: dict[str, bytes]) -> None:
    corpus = in_groups(tmp_path / "news.parquet", documents())
    begun(corpus, tmp_path / "run")
    os.utime(corpus, (1, 1))
    assert run(corpus, tmp_path / "run").n_computed == 4
    assert tables(tmp_path / "run") == reference
    begun(corpus, tmp_path / "again")
    content = bytearray(corpus.read_bytes())
    content[100] ^= 1
    corpus.write_bytes(content)
    with pytest.raises(InputError, match=r"news.parquet: file must be as it was when the unfinished run began"):
        run(corpus, tmp_path / "again")
    with pytest.raises(ParameterError, match=r"run of a run with other content of .*overwrite replaces it"):
        run(corpus, tmp_path / "run")


def test_a_bad_file_that_is_mended_is_all_that_is_computed_again(tmp_path: Path, reference: dict[str, bytes]) -> None:
    first = er.write_lines(tmp_path / "1.jsonl", documents()[:30])
    second = er.write_lines(tmp_path / "2.jsonl", [*documents()[30:], "[]"])
    with pytest.raises(InputError, match=r"2.jsonl: line 31"):
        run([first, second], tmp_path / "run")
    er.write_lines(second, documents()[30:])
    assert run([first, second], tmp_path / "run").n_computed == 1
    assert tables(tmp_path / "run") == reference


def test_a_corpus_may_grow_before_and_after_it_is_finished(tmp_path: Path, reference: dict[str, bytes]) -> None:
    parts = [in_groups(tmp_path / f"{n}.parquet", documents()[20 * n : 20 * n + 20]) for n in range(3)]
    begun(parts[1:2], tmp_path / "run", (1,))
    assert run(parts[1:], tmp_path / "run").n_computed == 3
    assert tables(tmp_path / "run") != reference
    summary = run([f"{tmp_path}/?.parquet"], tmp_path / "run")
    assert (summary.n_computed, summary.n_partitions, summary.n_documents) == (2, 6, 60)
    assert tables(tmp_path / "run") == reference
    with pytest.raises(ParameterError, match=r"of a run with the input .*2.parquet \(overwrite replaces it\)"):
        run(parts[:2], tmp_path / "run")


def test_overwrite_begins_anew_beside_the_finished_run(
    corpus: Path, tmp_path: Path, reference: dict[str, bytes]
) -> None:
    run(corpus, tmp_path / "run", seed=4)
    begun_numbers = initialise_run(corpus, tmp_path / "run", OPTIONS, overwrite=True)
    run_partition(tmp_path / "run", begun_numbers[0])
    assert {"counts.csv", "partitions", "unfinished"} <= {*os.listdir(tmp_path / "run")}
    assert run(corpus, tmp_path / "run", overwrite=True).n_computed == 6
    assert tables(tmp_path / "run") == reference
    assert "unfinished" not in os.listdir(tmp_path / "run")


@pytest.mark.parametrize("place", ["replace", "move"])
@pytest.mark.parametrize("exists", [False, True])
def test_a_run_killed_while_its_files_are_moved_is_completed(
    corpus: Path, tmp_path: Path, reference: dict[str, bytes], monkeypatch: pytest.MonkeyPatch, place: str, exists: bool
) -> None:
    """Whether the folder is new or replaced, and before its files are in their place or after."""
    if exists:
        run(corpus, tmp_path / "run", seed=4)
    move = {"replace": os.replace, "move": shutil.move}[place]

    def killed(source: Any, target: Any) -> Any:
        if place == "move" or Path(source).is_dir() or Path(source).name == "evidence.csv":
            raise SystemExit
        return move(source, target)

    with monkeypatch.context() as patch:
        patch.setattr({"replace": "os.replace", "move": "shutil.move"}[place], killed)
        with pytest.raises(SystemExit):
            run(corpus, tmp_path / "run", overwrite=exists)
    assert run(corpus, tmp_path / "run").n_computed == 0
    assert tables(tmp_path / "run") == reference
    assert os.listdir(tmp_path) == ["run"]
    assert not {"unfinished"} & {*os.listdir(tmp_path / "run")}


# --- documents of several partitions -----------------------------------------------------------------------


def test_a_doc_id_in_two_partitions_is_told_with_both_places(tmp_path: Path) -> None:
    given = documents()
    given[41]["doc_id"] = given[5]["doc_id"]
    path = in_groups(tmp_path / "news.parquet", given)
    with pytest.raises(InputError) as error:
        run(path, tmp_path / "run")
    rule = f"doc_id must be unique in the corpus, got it again, first at {path}: row 6"
    assert str(error.value) == f"{path}: row 42: doc_id {given[5]['doc_id']!r}: {rule}"


def test_quarantine_does_not_depend_on_the_partitions(tmp_path: Path) -> None:
    given: list[Any] = documents()
    for row, earlier in ((41, 5), (42, 5), (20, 19), (59, 0)):
        given[row]["doc_id"] = given[earlier]["doc_id"]
    given[30]["tokens"]["dep"] = ["SBJ"] * len(given[30]["tokens"]["dep"])
    path = in_groups(tmp_path / "news.parquet", given)
    one = run(path, tmp_path / "one", partition_size=1000, on_error="quarantine")
    many = run(path, tmp_path / "many", partition_size=3, on_error="quarantine")
    assert (one.n_documents, one.n_quarantined) == (many.n_documents, many.n_quarantined) == (55, 5)
    assert tables(tmp_path / "one") == tables(tmp_path / "many")
    name = "quarantine.jsonl"
    aside = (tmp_path / "many" / name).read_text()
    assert aside == (tmp_path / "one" / name).read_text()
    assert [json.loads(line)["place"] for line in aside.splitlines()] == [f"row {n}" for n in (21, 31, 42, 43, 60)]


def test_a_stray_date_in_another_partition_is_found(tmp_path: Path) -> None:
    given = documents()
    given[50]["date"] = "0999-01-01"
    path = in_groups(tmp_path / "news.parquet", given)
    with pytest.raises(
        InputError, match=r"row 51: doc_id .*: date must leave at most 100,000 periods .*got 0999-01-01"
    ):
        run(path, tmp_path / "run", period="day")


# --- faults ------------------------------------------------------------------------------------------------


def truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-7])


def damaged(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 255
    path.write_bytes(content)


@pytest.mark.parametrize("harm", [truncated, damaged, Path.unlink])
@pytest.mark.parametrize("name", ["counter.json", "evidence-0.arrow", "documents-0.arrow", "ids.npz", "record"])
def test_a_result_that_is_no_longer_as_recorded_is_computed_again(
    corpus: Path, tmp_path: Path, reference: dict[str, bytes], harm: Callable[[Path], None], name: str
) -> None:
    store = begun(corpus, tmp_path / "run")
    (result,) = (each for each in store.path.iterdir() if each.is_dir() and each.name.startswith("partition-00002"))
    harm(store.path / "partition-00002.json" if name == "record" else result / name)
    summary = run(corpus, tmp_path / "run")
    assert summary.n_computed == 5
    assert tables(tmp_path / "run") == reference


COMMAND = [sys.executable, "-m", "events.commands", "events"]
ARGUMENTS = ["--samples", "60", "--compare", "USA", "IRQ", "--partition-size", "9", "--threads", "1", "--no-pictures"]
SLOW = """
import sys, time
import events.counting._counter as work
from events.commands import main
evaluate = work.evaluate_document
def slowly(*arguments, **keywords):
    time.sleep(float(sys.argv[1]))
    return evaluate(*arguments, **keywords)
work.evaluate_document = slowly
main(sys.argv[2:])
"""


def started(corpus: Path, out: Path, *, seconds: float) -> subprocess.Popen[str]:
    """A run that takes some seconds: it waits before each document that it samples."""
    command = [sys.executable, "-c", SLOW, str(seconds), "events", str(corpus), "--out", str(out), *ARGUMENTS]
    return subprocess.Popen(command, cwd=PROJECT, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def wait_for(condition: Callable[[], Any], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "nothing happened"
        time.sleep(0.01)


def complete(out: Path) -> list[Path]:
    return list(out.with_name(out.name + ".partial").glob("partition-*.json"))


@POSIX
def test_a_job_killed_at_random_moments_loses_nothing_and_counts_nothing_twice(
    corpus: Path, tmp_path: Path, reference: dict[str, bytes]
) -> None:
    rng = random.Random(os.environ.get("COREFSAMPLE_KILLS_SEED", "1"))
    out = tmp_path / "run"
    for _ in range(int(os.environ.get("COREFSAMPLE_KILLS", "5"))):
        with started(corpus, out, seconds=0.02) as process:
            wait_for(lambda: out.with_name("run.partial").exists() or process.poll() is not None)
            time.sleep(rng.uniform(0.0, 0.5))
            process.kill()
            process.communicate()
    run(corpus, out)
    assert tables(out) == reference
    assert os.listdir(tmp_path) == ["run"]


@POSIX
def test_an_interrupt_stops_at_once_and_says_how_to_resume(
    corpus: Path, tmp_path: Path, reference: dict[str, bytes]
) -> None:
    out = tmp_path / "run"
    with started(corpus, out, seconds=0.2) as process:
        wait_for(lambda: len(complete(out)) >= 2)
        printed = ""
        for _ in range(5):  # an interrupt is lost if it meets the callback of a library, so a person presses again
            process.send_signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                _, printed = process.communicate(timeout=4)
                break
    assert process.returncode in (130, -signal.SIGINT)  # see test_cli: shells show both as 130
    assert "of 7 partitions complete" in printed
    assert "the same command resumes" in printed
    assert not out.exists()
    assert run(corpus, out).n_computed <= 5
    assert tables(out) == reference


LIMITED = """
import resource, sys
import events.jobs.count_events, events.jobs.partitions._finalise, corefsample.coreference._sampling
from events.commands import main
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)
main(sys.argv[2:])
"""


@POSIX
@pytest.mark.parametrize("limit", [1000, 6000])
def test_a_full_disk_loses_nothing(corpus: Path, tmp_path: Path, reference: dict[str, bytes], limit: int) -> None:
    out = tmp_path / "run"
    begun(corpus, out, (1, 4))
    command = [sys.executable, "-c", LIMITED, str(limit), "events", str(corpus), "--out", str(out), *ARGUMENTS]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith(f"corefsample: {out}: output must be writable, got: ")
    assert done.stderr.endswith("File too large\n")
    assert run(corpus, out).n_computed <= 5
    assert tables(out) == reference


# --- Dask --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A cluster of two processes that several tests use by its address."""
    distributed = pytest.importorskip("distributed", reason="dask[distributed] is not installed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
    ) as running:
        yield running


@pytest.mark.filterwarnings("ignore")
def test_an_existing_cluster_computes_the_same_bytes(
    corpus: Path, tmp_path: Path, reference: dict[str, bytes], cluster: Any
) -> None:
    begun(corpus, tmp_path / "run", (2,))
    seen: list[tuple[int, int, int]] = []
    summary = run_events(
        corpus,
        tmp_path / "run",
        OPTIONS,
        scheduler=cluster.scheduler_address,
        pictures=False,
        on_progress=lambda *numbers: seen.append(numbers),
    )
    assert (summary.n_computed, len(seen), seen[-1][2]) == (6, 6, 60)
    assert tables(tmp_path / "run") == reference


@pytest.mark.filterwarnings("ignore")
def test_the_first_bad_document_is_told_with_workers_too(tmp_path: Path, cluster: Any) -> None:
    given = documents()
    for row in (25, 58):
        given[row]["tokens"]["dep"] = ["SBJ"] * len(given[row]["tokens"]["dep"])
    path = in_groups(tmp_path / "news.parquet", given)
    with pytest.raises(InputError, match=r"news.parquet: row 26: doc_id"):
        run(path, tmp_path / "run", scheduler=cluster.scheduler_address)


@POSIX
def test_a_killed_worker_is_replaced(corpus: Path, tmp_path: Path, reference: dict[str, bytes]) -> None:
    pytest.importorskip("distributed", reason="dask[distributed] is not installed")
    out = tmp_path / "run"
    command = [*COMMAND, str(corpus), "--out", str(out), *ARGUMENTS, "--workers", "2"]
    with subprocess.Popen(command, cwd=PROJECT, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        wait_for(lambda: workers_of(process.pid) and list(tmp_path.glob("run.partial/computing-*")))
        os.kill(workers_of(process.pid)[0], signal.SIGKILL)
        _, told = process.communicate(timeout=60)
    assert process.returncode == 0, told
    assert tables(out) == reference


@POSIX
def test_workers_end_with_the_job(corpus: Path, tmp_path: Path, reference: dict[str, bytes]) -> None:
    pytest.importorskip("distributed", reason="dask[distributed] is not installed")
    out = tmp_path / "run"
    command = [*COMMAND, str(corpus), "--out", str(out), *ARGUMENTS, "--workers", "2"]
    with subprocess.Popen(command, cwd=PROJECT, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        wait_for(lambda: len(workers_of(process.pid)) >= 2 and out.with_name("run.partial").exists())
        workers = workers_of(process.pid)
        process.kill()
        process.communicate()
    wait_for(lambda: not any(map(is_alive, workers)), 20)
    run(corpus, out)
    assert tables(out) == reference


@pytest.mark.skipif(not Path("/proc").exists(), reason="processes are found in /proc")
def test_a_lost_scheduler_is_told_and_loses_nothing(corpus: Path, tmp_path: Path, reference: dict[str, bytes]) -> None:
    pytest.importorskip("distributed", reason="dask[distributed] is not installed")
    out, ready = tmp_path / "run", tmp_path / "scheduler.json"
    program = [sys.executable, "-m", "distributed.cli.dask_scheduler"]
    options = ["--port", "0", "--no-dashboard", "--no-show", "--scheduler-file", str(ready), "--host", "127.0.0.1"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": PROJECT}
    with subprocess.Popen([*program, *options], **quiet) as scheduler:  # type: ignore[call-overload]
        wait_for(ready.exists)
        address = json.loads(ready.read_text())["address"]
        command = [*COMMAND, str(corpus), "--out", str(out), *ARGUMENTS, "--scheduler", address]
        with subprocess.Popen(command, cwd=PROJECT, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as job:
            wait_for(out.with_name("run.partial").exists)  # no worker: the job waits
            time.sleep(1.0)
            scheduler.kill()
            _, told = job.communicate(timeout=60)
    assert job.returncode == 1
    assert "scheduler must" in told
    run(corpus, out)
    assert tables(out) == reference


def test_a_cluster_needs_dask_and_files(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ParameterError, match=r"scheduler must be an address like tcp://"):
        run(corpus, tmp_path / "run", scheduler="localhost")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ParameterError, match=r"workers needs dask\[distributed\], .*pip install 'dask\[distributed\]"):
        run(corpus, tmp_path / "run", workers=2)
    assert not list(tmp_path.iterdir())


def test_the_files_have_row_groups_of_fixed_sizes(corpus: Path, tmp_path: Path) -> None:
    run(corpus, tmp_path / "run", partition_size=3)
    about = pq.ParquetFile(tmp_path / "run" / "documents.parquet").metadata
    assert about.num_row_groups == 1


@pytest.mark.parametrize("failing", [1, 3, 7])
def test_a_result_that_cannot_be_written_stops_the_run_and_loses_nothing(
    corpus: Path, tmp_path: Path, reference: dict[str, bytes], monkeypatch: pytest.MonkeyPatch, failing: int
) -> None:
    complete = Store.complete

    def fails(store: Store, partition: Any, *given: Any) -> None:
        if partition.number == failing:
            raise OSError(errno.ENOSPC, "No space left on device", str(store.path))
        complete(store, partition, *given)

    with monkeypatch.context() as patch:
        patch.setattr(Store, "complete", fails)
        with pytest.raises(OutputError, match="No space left on device"):
            run(corpus, tmp_path / "run")
    left = tmp_path / "run.partial"
    # While a result is written, the next partition is counted, and no other.
    assert len(list(left.glob("partition-*.json"))) == failing - 1
    assert not list(left.glob("computing-*"))
    assert run(corpus, tmp_path / "run").n_computed == 8 - failing
    assert tables(tmp_path / "run") == reference


def test_progress_of_partitions_in_turn_never_falls(corpus: Path, tmp_path: Path) -> None:
    seen: list[tuple[int, int, int]] = []
    run_events(corpus, tmp_path / "run", OPTIONS, pictures=False, on_progress=lambda *given: seen.append(given))
    assert seen == sorted(seen)
    n_bytes = corpus.stat().st_size
    assert seen[-1][0] in (n_bytes - 1, n_bytes)  # the shares of partitions are rounded
    assert seen[-1][1:] == (n_bytes, 60)
