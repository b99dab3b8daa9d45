"""The commands of docs/tagging-studies.md are the studies."""

from __future__ import annotations

import re

import pytest
from places import PROJECT

STUDIES_PAGE = PROJECT / "docs" / "tagging-studies.md"

pytestmark = pytest.mark.skipif(not STUDIES_PAGE.exists(), reason="the pages are beside the sources alone")


def test_every_command_of_the_page_is_a_study(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(PROJECT / "benchmarks"))
    from tagger_studies import STUDIES

    (commands,) = re.findall(r"```sh\n(.*?)```", STUDIES_PAGE.read_text(encoding="utf-8"), flags=re.S)
    assert re.findall(r"studies\.py (\S+)", commands) == list(STUDIES)
