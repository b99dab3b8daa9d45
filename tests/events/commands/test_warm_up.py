"""A warm-up runs `score` and `events`, so that these commands compile nothing afterwards."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numba
import pytest
from places import PROJECT

pytestmark = pytest.mark.skipif(
    numba.config.DISABLE_JIT,  # type: ignore[attr-defined]
    reason="nothing is compiled",
)

PROGRAM = [sys.executable, "-m", "events.commands"]
OWN_NEWS = PROJECT / "notebooks" / "own_news.conllu"


def run(cache: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run a command with a cache of its own."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    command = [*PROGRAM, *map(str, arguments)]
    return subprocess.run(command, cwd=PROJECT, env=environment, capture_output=True, text=True, check=True)


def test_score_and_events_compile_nothing_after_a_warm_up(tmp_path: Path) -> None:
    cache, scored = tmp_path / "cache", tmp_path / "scored.parquet"
    content = json.loads(run(cache, "warm-up", "--json").stdout)
    assert all(list(Path(folder).glob("*.nbc")) for folder in content["folders"])
    assert content["n_kernels"] >= len(content["folders"])
    assert json.loads(run(cache, "doctor", "--environment", "--json").stdout)["kernels_missing"] == []
    kernels = sorted(cache.rglob("*.nbc"))
    run(cache, "score", OWN_NEWS, "--mentions", "parse", "--out", scored)
    run(cache, "events", scored, "--out", tmp_path / "run", "--no-pictures")
    assert sorted(cache.rglob("*.nbc")) == kernels


def test_warm_up_without_a_compiler_is_an_error() -> None:
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    command = [*PROGRAM, "warm-up"]
    finished = subprocess.run(command, cwd=PROJECT, env=environment, capture_output=True, text=True, check=False)
    assert (finished.returncode, finished.stdout) == (1, "")
    assert finished.stderr.startswith("corefsample: a folder for compiled kernels must be writable")
    assert finished.stderr.count("\n") == 1
