"""The steps of the container's image: what they copy is there, and its check scores and counts an article."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from places import EN_CORE_WEB_SM, PACKAGES, PROJECT

IMAGE = PROJECT / "Dockerfile"

pytestmark = pytest.mark.skipif(not IMAGE.exists(), reason="the Dockerfile is beside the sources alone")


def steps(kind: str) -> list[str]:
    """The steps of a kind, each in one line."""
    lines = IMAGE.read_text("utf-8").replace("\\\n", " ").splitlines()
    return [line.removeprefix(f"{kind} ") for line in lines if line.startswith(f"{kind} ")]


@pytest.mark.skipif(not EN_CORE_WEB_SM.is_dir(), reason="needs the pipeline en_core_web_sm")
def test_the_check_of_the_image_scores_and_counts(tmp_path: Path) -> None:
    (check,) = (step for step in steps("RUN") if "corefsample score" in step)
    here = check.replace("--pipeline en_core_web_sm", f"--pipeline {EN_CORE_WEB_SM.resolve()}").replace("/tmp/", "")
    (tmp_path / "corefsample").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m corefsample "$@"\n')
    (tmp_path / "corefsample").chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": str(PACKAGES)}
    done = subprocess.run(
        ["sh", "-c", here], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "arrest,POLICE,2001Q1," in done.stdout
