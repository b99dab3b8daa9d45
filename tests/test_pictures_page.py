"""The page of pictures: it shows every picture, and its command makes them."""

from __future__ import annotations

import ast
import re

import pytest
from places import PROJECT

PAGE = PROJECT / "docs" / "pictures.md"
SCRIPT = PROJECT / "docs" / "make_pictures.py"

pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="the pages are beside the sources alone")


def test_every_plot_is_shown_and_every_shown_plot_exists() -> None:
    shown = re.findall(r"!\[[^]]+\]\(([^)]+)\)", PAGE.read_text(encoding="utf-8"))
    assert sorted(shown) == sorted(path.name for path in PAGE.parent.glob("picture-*.png"))
    assert len(set(shown)) == len(shown) == 9


def test_the_command_of_the_page_makes_the_pictures() -> None:
    assert f"python {SCRIPT.relative_to(PROJECT)}" in PAGE.read_text(encoding="utf-8")
    keys = {
        key.value
        for node in ast.walk(ast.parse(SCRIPT.read_text(encoding="utf-8")))
        if isinstance(node, ast.Dict)
        for key in node.keys
        if isinstance(key, ast.Constant)
    }
    assert {path.stem.removeprefix("picture-") for path in PAGE.parent.glob("picture-*.png")} <= keys
