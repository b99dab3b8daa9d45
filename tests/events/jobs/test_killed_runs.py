"""Runs that are killed, and runs into the same place at the same time: real processes."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from places import PROJECT
from references import scoring as sr

from corefsample import ParameterError
from events.jobs import RunFolder
from events.jobs.scoring import ScoreOptions, run_score

# One document a part, and a pause after each part: the run lasts for some seconds after its first part.
SLOW_SCORE = """
import sys, time
import events.jobs.scoring._job as job
from events.commands import main
from events.jobs.scoring._parts import Parts
if __name__ == "__main__":
    job.DOCUMENTS_A_TASK = job.TASKS_A_PART = 1
    add = Parts.add
    Parts.add = lambda *arguments: (add(*arguments), time.sleep(5))[0]
    main(sys.argv[1:])
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sr.small_model(tmp_path_factory.mktemp("model"))


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return sr.corpus_file(tmp_path / "corpus.conllu", sr.short_documents(9))


@contextmanager
def slow_score(corpus: Path, model: Path, out: Path, *arguments: Any) -> Iterator[subprocess.Popen[bytes]]:
    """A run of `score` in another process that has finished a part."""
    command = [sys.executable, "-c", SLOW_SCORE, "score", corpus, "--model", model, "--out", out, *arguments]
    pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([str(part) for part in command], cwd=PROJECT, **pipes) as process:
        try:
            wait_for(lambda: [*Path(f"{out}.parts").glob("part-*.json")])
            yield process
        finally:
            process.kill()


def wait_for(found: Any) -> None:
    deadline = time.monotonic() + 90
    while not found():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_workers_end_when_their_parent_is_killed(corpus: Path, model: Path, tmp_path: Path) -> None:
    with slow_score(corpus, model, tmp_path / "s.jsonl", "--jobs", 2) as process:
        process.send_signal(signal.SIGKILL)
        # The pipes end when the last process that holds them ends; this raises TimeoutExpired while workers live.
        process.communicate(timeout=30)


def test_a_second_run_says_who_holds_the_parts_and_disturbs_nothing(corpus: Path, model: Path, tmp_path: Path) -> None:
    out = tmp_path / "s.jsonl"
    parts = Path(f"{out}.parts")
    with slow_score(corpus, model, out) as process:
        before = {path: path.read_bytes() for path in parts.glob("part-*")}
        for keywords in ({}, {"overwrite": True}, {"resume": True}):
            with pytest.raises(ParameterError, match=f"must not be in use by another run, got process {process.pid} "):
                run_score(corpus, out, ScoreOptions(model=str(model)), **keywords)
        assert before.items() <= {path: path.read_bytes() for path in parts.glob("part-*")}.items()
        assert process.poll() is None
    # The lock of a dead process is free, though its file is still there.
    assert (parts / ".lock").exists()
    assert run_score(corpus, out, ScoreOptions(model=str(model)), overwrite=True).tally.n_documents == 9
    assert not parts.exists()


FILL = """
import os, sys, signal
from pathlib import Path
from events.jobs import RunFolder
class Folder(RunFolder):
    FILES = frozenset(["a.csv", "b.csv", "run.json"])
    RECORD = "run.json"
    def _open(self): pass
    def _close(self): pass
n_moves = int(sys.argv[2])
replace = os.replace
def killed(source, place):
    global n_moves
    if n_moves == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    n_moves -= 1
    replace(source, place)
with Folder(sys.argv[1], overwrite=True) as folder:
    for name in ("a.csv", "b.csv"):
        folder.file(name).write_text("new")
    folder.finish_record({"corefsample": "0"})
    if n_moves >= 0:
        os.replace = killed
    else:
        os.kill(os.getpid(), signal.SIGKILL)
"""


class SmallFolder(RunFolder):
    """A run folder of two tables."""

    FILES = frozenset(["a.csv", "b.csv", "run.json"])
    RECORD = "run.json"

    def _open(self) -> None: ...

    def _close(self) -> None: ...


def killed_while_filling(folder: Path, n_moves: int) -> None:
    """A run that is killed after moving some files into its folder; -1: before it has moved any."""
    command = [sys.executable, "-c", FILL, str(folder), str(n_moves)]
    assert subprocess.run(command, cwd=PROJECT, check=False).returncode == -signal.SIGKILL


def fill(folder: Path, content: str) -> None:
    with SmallFolder(folder, overwrite=True) as made:
        for name in ("a.csv", "b.csv"):
            made.file(name).write_text(content)
        made.finish_record({"corefsample": "0"})


@pytest.mark.parametrize("n_moves", [0, 1, 2])
def test_a_run_killed_while_it_replaced_another_can_be_replaced(tmp_path: Path, n_moves: int) -> None:
    folder = tmp_path / "run"
    fill(folder, "old")
    killed_while_filling(folder, n_moves)
    assert not (folder / "run.json").exists()
    if n_moves:
        with pytest.raises(ParameterError, match=r"must be a new or empty folder, got .*/run \(overwrite replaces it"):
            SmallFolder(folder)
    # A failing run in between does not make the folder foreign.
    with pytest.raises(ZeroDivisionError), SmallFolder(folder, overwrite=True):
        _ = 1 // 0
    fill(folder, "newer")
    assert {path.name: path.read_text() for path in folder.glob("*.csv")} == {"a.csv": "newer", "b.csv": "newer"}
    assert sorted(path.name for path in folder.iterdir()) == ["a.csv", "b.csv", "run.json"]


def test_tables_without_a_record_are_not_taken_for_a_run(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("mine")
    with pytest.raises(ParameterError, match="with other files"):
        SmallFolder(tmp_path, overwrite=True)


@pytest.mark.parametrize("exists", [False, True])
def test_the_next_run_removes_what_a_killed_run_left_and_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, exists: bool
) -> None:
    folder = tmp_path / "run"
    if exists:
        fill(folder, "old")
    killed_while_filling(folder, -1)
    place = folder if exists else tmp_path
    (leftover,) = place.glob(".partial-*")
    fill(folder, "new")
    assert caplog.messages == [f"removed {leftover}, which a killed run left"]
    assert not [*tmp_path.rglob(".partial-*")]
    assert json.loads((folder / "run.json").read_text()) == {"corefsample": "0"}
