"""The hash in a model file covers every number that features are made of, and every word."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path
from typing import Any

import msgspec
import pytest

from corefsample.languages._language import load_language
from corefsample.mention_ranking.features import _codes, _encoding
from corefsample.mention_ranking.features._encoding import features_hash
from corefsample.syntax import _codes as syntax_codes

MODULES = (syntax_codes, _codes)
ENGLISH = load_language("en")
HASH = features_hash(ENGLISH)
KERNELS = (
    *("syntax._role_kernels", "syntax._mention_kernels"),
    *(f"mention_ranking.features._{name}_kernels" for name in ("encoding", "atom", "pair", "hash")),
)
NUMBERS = [
    (module, name)
    for module in MODULES
    for name, value in vars(module).items()
    if isinstance(value, (int, float, tuple)) and not name.startswith("__")
]


def changed(value: Any) -> list[Any]:
    """A number, or each number of a table, raised by one."""
    if not isinstance(value, tuple):
        return [value + 1]
    others = [f"{item}x" if isinstance(item, str) else item + 1 for item in value]
    tables = [(*value[:place], other, *value[place + 1 :]) for place, other in enumerate(others)]
    return [type(value)(*table) for table in tables] if hasattr(value, "_fields") else tables


@pytest.mark.parametrize(("module", "name"), NUMBERS, ids=[name for _, name in NUMBERS])
def test_any_other_code_or_limit_gives_another_hash(module: Any, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if name == "UPOS":  # the names of `Upos`
        return
    for value in changed(getattr(module, name)):
        monkeypatch.setattr(module, name, value)
        assert features_hash.__wrapped__(ENGLISH) != HASH


def test_another_word_gives_another_hash(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("pronouns", "plural_nouns", "definite_articles"):
        other = msgspec.structs.replace(ENGLISH, **{name: getattr(ENGLISH, name)[1:]})
        assert features_hash(other) != HASH
    monkeypatch.setattr(_encoding, "_QUOTES", frozenset({"x"}))
    assert features_hash.__wrapped__(ENGLISH) != HASH


@pytest.mark.parametrize("name", KERNELS)
def test_kernels_have_no_numbers_outside_the_table(name: str) -> None:
    # 0, 1 and 2 count and index; the mask keeps 32 bits.
    tree = ast.parse(Path(str(importlib.import_module(f"corefsample.{name}").__file__)).read_text(encoding="utf-8"))
    numbers = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    assert {number for number in numbers if type(number) in (int, float)} <= {0, 1, 2, 0xFFFFFFFF}
