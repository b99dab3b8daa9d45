"""The version is the same wherever it is written."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from places import EN_CORE_WEB_SM, PACKAGES, PROJECT

from corefsample import __version__

CHANGES, CITATION = PROJECT / "CHANGELOG.md", PROJECT / "CITATION.cff"

pytestmark = pytest.mark.skipif(not CHANGES.exists(), reason="the changelog is beside the sources alone")


def test_changelog_citation_image_and_package_have_one_version_and_date() -> None:
    titles = re.findall(r"^## (.+)$", CHANGES.read_text("utf-8"), re.MULTILINE)
    assert titles[0] == "Unreleased"
    cited = yaml.safe_load(CITATION.read_text("utf-8"))
    assert titles[1] == f"{__version__} - {cited['date-released']}"
    assert cited["version"] == __version__
    assert f"image.version={__version__}\n" in (PROJECT / "Dockerfile").read_text("utf-8")
    assert len(titles) == len(set(titles))


# --- the steps of the container's image -------------------------------------------------------------------


IMAGE = PROJECT / "Dockerfile"


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
