"""The folder of a run: its files, errors, and when it appears."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from places import PROJECT

from corefsample import ParameterError
from events.runs._output_folder import RunFolder


def finished(folder: RunFolder) -> None:
    folder.file("counts.csv").touch()
    folder.finish_record({"corefsample": "0", "run": 1})


@pytest.mark.skipif(os.name != "posix", reason="umasks are of POSIX")
@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002])
def test_the_rights_of_a_folder_and_its_files_follow_the_umask(tmp_path: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        with RunFolder(tmp_path / "new" / "run") as folder:
            finished(folder)
    finally:
        os.umask(before)
    for made in (tmp_path / "new", tmp_path / "new" / "run"):
        assert stat.S_IMODE(made.stat().st_mode) == 0o777 & ~mask
    assert {stat.S_IMODE(file.stat().st_mode) for file in (tmp_path / "new" / "run").iterdir()} == {0o666 & ~mask}


# --- killed runs ---------------------------------------------------------------------------------------------

FILL = """
import os, sys, signal
from pathlib import Path
from events.runs._output_folder import OutputFolder as RunFolder
class Folder(RunFolder):
    FILES = frozenset(["a.csv", "b.csv", "run.json"])
    RECORD = "run.json"
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
def test_the_next_run_removes_what_one_left(tmp_path: Path, caplog: pytest.LogCaptureFixture, exists: bool) -> None:
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
