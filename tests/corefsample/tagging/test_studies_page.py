"""The examples of docs/tagging-studies.md run, and its commands and figures exist."""

from __future__ import annotations

import re

import pytest
from places import PROJECT

PAGE = PROJECT / "docs" / "tagging-studies.md"

pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="the pages are beside the sources alone")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.S)


def test_the_python_of_the_page_runs() -> None:
    (code,) = blocks("python")
    names: dict[str, object] = {}
    exec(compile(code, PAGE.name, "exec"), names)
    assert len(names["frequent"].events) == 2  # type: ignore[attr-defined]


def test_every_command_of_the_page_is_a_study(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(PROJECT / "benchmarks"))
    from tagger_studies import STUDIES

    (commands,) = blocks("sh")
    assert re.findall(r"studies\.py (\S+)", commands) == list(STUDIES)


def test_every_figure_of_the_page_exists() -> None:
    figures = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", PAGE.read_text(encoding="utf-8"))
    assert len(figures) == 6
    assert [figure for figure in figures if not (PAGE.parent / figure).exists()] == []
