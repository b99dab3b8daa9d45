"""Checks of the notebooks without running them; notebooks/execute.py runs them."""

import ast
import re
import shlex
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("[0-9][0-9]_*.py"))
OWN_NEWS = FOLDER / "own_news.conllu"

pytestmark = pytest.mark.skipif(not FOLDER.exists(), reason="the notebooks are beside the sources alone")
each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def markdown_of(path: Path) -> str:
    """The text of the Markdown cells."""
    parts = re.split(r"^# %%(.*)\n", path.read_text(encoding="utf-8"), flags=re.M)[1:]
    bodies = [body for head, body in zip(parts[::2], parts[1::2], strict=True) if "[markdown]" in head]
    return re.sub(r"^# ?", "", "".join(bodies), flags=re.M)


def commands(path: Path) -> list[str]:
    """The commands that a notebook runs, and those that its text names in blocks."""
    ran = [
        "".join(part.value if isinstance(part, ast.Constant) else "x" for part in parts)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "run"
        for parts in [node.args[0].values if isinstance(node.args[0], ast.JoinedStr) else [node.args[0]]]
    ]
    text = markdown_of(path)
    quoted = [" ".join(code.split()) for code in re.findall(r"(?<!`)`(corefsample [^`]+)`(?!`)", text)]
    return [*ran, *re.findall(r"^corefsample.*$", text, re.M), *quoted]


@each_notebook
def test_a_notebook_imports_only_public_names(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names = [alias.name for alias in node.names] + [getattr(node, "module", None) or ""]
            assert not any(part.startswith("_") for name in names for part in name.split(".")), ast.unparse(node)


@each_notebook
def test_every_command_of_a_notebook_exists_with_its_options(path: Path) -> None:
    from command_line import unknown_options

    for command in commands(path):
        assert unknown_options(shlex.split(command)[1:]) == set(), command


@each_notebook
def test_every_link_of_a_notebook_has_a_target(path: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)\)", markdown_of(path))
    assert [link for link in links if not (FOLDER / link).exists()] == []


def test_the_parses_made_by_hand_fit_the_attack_rule() -> None:
    import numpy as np

    from corefsample import read_corefud
    from events import load_lexicon, load_rules
    from events.evidence._evaluation import evaluate_clustering
    from events.matching._matching import match_document

    rule, lexicon = load_rules("attack"), load_lexicon()
    found = {}
    for document in read_corefud(OWN_NEWS):
        matches = match_document(document.tokens, document.mentions, rule, lexicon, document.date)
        found[document.doc_id] = [code for (code,) in evaluate_clustering(matches, np.asarray(document.labels))]
    # As the articles say: own-08 is about a bank, and all others have one attacker.
    attackers = ["IRQ", "USA", "YUG", "HRV", "HRV", "HRV", "IRN", None, "AZE", "ARM"]
    assert found == {f"own-{n:02d}": [code] if code else [] for n, code in enumerate(attackers, start=1)}
