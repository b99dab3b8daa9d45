"""The examples of docs/tagging.md run."""

from __future__ import annotations

import re

import pytest
from places import PROJECT

PAGE = PROJECT / "docs" / "tagging.md"


@pytest.mark.skipif(not PAGE.exists(), reason="the pages are beside the sources alone")
def test_the_python_of_the_page_runs() -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.S)
    assert len(blocks) == 3
    names: dict[str, object] = {}
    for code in blocks:
        exec(compile(code, PAGE.name, "exec"), names)
    assert names["fit"].loss_after <= names["fit"].loss_before  # type: ignore[attr-defined]
