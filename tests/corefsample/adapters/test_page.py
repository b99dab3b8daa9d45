"""docs/adapters.md names existing objects, and all public ones."""

from __future__ import annotations

import ast
import re

import pytest
from places import PROJECT

from corefsample import adapters
from corefsample.adapters._assembly import Links, Spans, assemble

PAGE = PROJECT / "docs" / "adapters.md"

pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="the pages are beside the sources alone")


def test_every_public_name_is_on_the_page() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert [name for name in adapters.__all__ if name not in text and name != "StanzaScores"] == []
    assert all(hasattr(adapters, name) for name in adapters.__all__)


def test_every_name_that_the_examples_import_exists() -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.S)
    assert len(blocks) >= 5
    for block in blocks:
        for node in ast.walk(ast.parse(block)):
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith("corefsample"):
                module = __import__(str(node.module), fromlist=["_"])
                assert [alias.name for alias in node.names if not hasattr(module, alias.name)] == []


def test_the_counts_of_the_metadata_are_those_of_the_page() -> None:
    import numpy as np

    one = np.zeros(1, np.int64)
    links = Links.from_square("s", np.zeros((1, 1)), np.zeros(1))
    document = assemble("test", links, Spans(one, one + 1), doc_id="a")
    text = PAGE.read_text(encoding="utf-8")
    assert [key for key in document.metadata["adapter"] if f"`{key}`" not in text and key != "system"] == []
