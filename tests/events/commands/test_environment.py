"""`doctor --environment`: versions, extras, kernels; the warm-up; and the page on installation."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numba
import pytest
from places import PROJECT

compiled = pytest.mark.skipif(
    numba.config.DISABLE_JIT,  # type: ignore[attr-defined]
    reason="nothing is compiled",
)


@compiled
def test_kernels_of_an_empty_cache_are_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CPU_NAME", "generic")
    found = json.loads(run_cached(tmp_path, "doctor", "--environment", "--json").stdout)
    assert found["kernels_missing"] == ["score", "events"]
    assert all(Path(folder).is_relative_to(tmp_path) for folder in found["kernel_folders"])
    assert found["processor"] == "generic"
    assert found["variables"]["NUMBA_CACHE_DIR"] == str(tmp_path)


# --- the warm-up -------------------------------------------------------------------------------------------


PROGRAM = [sys.executable, "-m", "events.commands"]
OWN_NEWS = PROJECT / "notebooks" / "own_news.conllu"


def run_cached(cache: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run a command with a cache of its own."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    command = [*PROGRAM, *map(str, arguments)]
    return subprocess.run(command, cwd=PROJECT, env=environment, capture_output=True, text=True, check=True)


@compiled
def test_score_and_events_compile_nothing_after_a_warm_up(tmp_path: Path) -> None:
    cache, scored = tmp_path / "cache", tmp_path / "scored.parquet"
    content = json.loads(run_cached(cache, "warm-up", "--json").stdout)
    assert all(list(Path(folder).glob("*.nbc")) for folder in content["folders"])
    assert content["n_kernels"] >= len(content["folders"])
    assert json.loads(run_cached(cache, "doctor", "--environment", "--json").stdout)["kernels_missing"] == []
    kernels = sorted(cache.rglob("*.nbc"))
    run_cached(cache, "score", OWN_NEWS, "--mentions", "parse", "--out", scored)
    run_cached(cache, "events", scored, "--out", tmp_path / "run", "--no-pictures")
    assert sorted(cache.rglob("*.nbc")) == kernels


@compiled
def test_warm_up_without_a_compiler_is_an_error() -> None:
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    finished = subprocess.run([*PROGRAM, "warm-up"], cwd=PROJECT, env=environment, capture_output=True, text=True)
    assert (finished.returncode, finished.stdout) == (1, "")
    assert finished.stderr.startswith("corefsample: a folder for compiled kernels must be writable")
    assert finished.stderr.count("\n") == 1
