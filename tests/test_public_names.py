"""Public names: few enough to be listed, each at one place, each shown in a page or a notebook."""

from __future__ import annotations

import ast
import re

import pytest
from places import PROJECT

MOST = 220
FACES = sorted(
    (path, path.parent.relative_to(PROJECT))
    for top in ("corefsample", "events")
    for path in (PROJECT / top).rglob("*.pyi")
)
PAGES = [PROJECT / "README.md", *(PROJECT / "docs").glob("*.md"), *(PROJECT / "notebooks").glob("*.py")]

pytestmark = pytest.mark.skipif(not (PROJECT / "docs").exists(), reason="the pages are beside the sources alone")


def names_of_faces() -> dict[str, list[str]]:
    """Names by face, packages left out."""
    found = {}
    for path, folder in FACES:
        nodes = [node for node in ast.parse(path.read_text(encoding="utf-8")).body if isinstance(node, ast.ImportFrom)]
        found[str(folder)] = [alias.name for node in nodes if node.module for alias in node.names]
    return found


def test_the_public_names_can_be_listed() -> None:
    assert 150 < sum(map(len, names_of_faces().values())) <= MOST


def test_every_public_name_has_one_place() -> None:
    modules: dict[tuple[str, str], list[str]] = {}
    for path, folder in FACES:
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ImportFrom) and node.module:
                home = f"{'.'.join(folder.parts)}." if node.level else ""
                for alias in node.names:
                    modules.setdefault((f"{home}{node.module}", alias.name), []).append(str(folder))
    assert {name: faces for name, faces in modules.items() if len(faces) > 1} == {}


def test_every_public_name_is_shown_in_a_page_or_a_notebook() -> None:
    shown = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    words = set(re.findall(r"\w+", shown))
    assert {name for names in names_of_faces().values() for name in names if name not in words} == set()
