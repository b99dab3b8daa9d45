"""The examples of docs/tagging.md and docs/tagging-studies.md run, and the commands and figures there exist."""

from __future__ import annotations

import re
from typing import Any

import pytest
from places import PROJECT

STUDIES_PAGE = PROJECT / "docs" / "tagging-studies.md"

pytestmark = pytest.mark.skipif(not STUDIES_PAGE.exists(), reason="the pages are beside the sources alone")


def blocks(language: str, page: str = "tagging-studies.md") -> list[str]:
    text = (PROJECT / "docs" / page).read_text(encoding="utf-8")
    return re.findall(rf"```{language}\n(.*?)```", text, flags=re.S)


@pytest.mark.parametrize(("page", "n_blocks"), [("tagging.md", 4), ("tagging-studies.md", 1)])
def test_the_python_of_a_page_runs(page: str, n_blocks: int) -> None:
    codes = blocks("python", page)
    assert len(codes) == n_blocks
    names: dict[str, Any] = {}
    for code in codes:
        exec(compile(code, page, "exec"), names)
    if page == "tagging.md":
        assert names["fit"].loss_after <= names["fit"].loss_before
    else:
        assert len(names["frequent"].events) == 2


def test_every_command_of_the_page_is_a_study(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(PROJECT / "benchmarks"))
    from tagger_studies import STUDIES

    (commands,) = blocks("sh")
    assert re.findall(r"studies\.py (\S+)", commands) == list(STUDIES)


def test_every_figure_of_the_page_exists() -> None:
    figures = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", STUDIES_PAGE.read_text(encoding="utf-8"))
    assert len(figures) == 6
    assert [figure for figure in figures if not (STUDIES_PAGE.parent / figure).exists()] == []
