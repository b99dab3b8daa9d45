"""`doctor --environment`: versions, extras, kernels; the warm-up; and the page on installation."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numba
import pytest
from places import PROJECT

PAGE = PROJECT / "docs" / "installation.md"
beside_sources = pytest.mark.skipif(not PAGE.exists(), reason="the pages are beside the sources alone")


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")  # type: ignore[attr-defined]
def test_kernels_of_an_empty_cache_are_missing(tmp_path: Path) -> None:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "NUMBA_CPU_NAME": "generic"}
    command = [sys.executable, "-m", "events.commands", "doctor", "--environment", "--json"]
    done = subprocess.run(command, cwd=PROJECT, env=environment, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert found["kernels_missing"] == ["score", "events"]
    assert all(Path(folder).is_relative_to(tmp_path) for folder in found["kernel_folders"])
    assert found["processor"] == "generic"
    assert found["variables"]["NUMBA_CACHE_DIR"] == str(tmp_path)


@beside_sources
def test_the_example_of_the_page_runs() -> None:
    (block,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.S)
    subprocess.run([sys.executable, "-c", block], cwd=PROJECT, check=True, capture_output=True)


# --- the warm-up -------------------------------------------------------------------------------------------


compiled = pytest.mark.skipif(
    numba.config.DISABLE_JIT,  # type: ignore[attr-defined]
    reason="nothing is compiled",
)

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
