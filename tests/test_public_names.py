"""Public names: few enough to be listed, each at one place, each shown in a page or a notebook."""

import ast
import importlib
import importlib.util
import pydoc
import re

import pytest
from places import PROJECT

MOST = 120
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
    assert 100 < sum(map(len, names_of_faces().values())) <= MOST


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


REFERENCE = re.compile(r"`((?:corefsample|events)(?:\.\w+)+)`")


def test_a_name_in_a_docstring_can_be_imported_as_it_is_written() -> None:
    missing = set()
    for top in ("corefsample", "events"):
        for path in (PROJECT / top).rglob("*.py"):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            owners = (node for node in ast.walk(tree) if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)))
            texts = "\n".join(ast.get_docstring(node) or "" for node in owners)
            missing |= {(path.name, name) for name in REFERENCE.findall(texts) if not is_there(name)}
    assert missing == set()


def is_there(name: str) -> bool:
    """Whether a dotted name is that of a module, or of what modules and classes have."""
    module, _, attribute = name.rpartition(".")
    try:
        if importlib.util.find_spec(name) is not None:
            return True
    except ModuleNotFoundError:
        pass
    try:
        return bool(module) and is_there(module) and hasattr(pydoc.locate(module), attribute)
    except (ImportError, pydoc.ErrorDuringImport):
        return True  # of an optional library
