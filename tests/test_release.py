"""The version is the same wherever it is written."""

import re

import pytest
import yaml
from places import PROJECT

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
