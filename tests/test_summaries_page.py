"""The page of summaries: its code runs, and its links have targets."""

from __future__ import annotations

import re

import matplotlib as mpl
import pytest
from places import PROJECT

PAGE = PROJECT / "docs" / "summaries.md"

pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="the pages are beside the sources alone")


def test_the_code_of_the_page_runs() -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.S)
    assert len(blocks) == 8
    names: dict[str, object] = {}
    with mpl.rc_context():
        for block in blocks:
            exec(block, names)


def test_every_loss_is_in_the_table() -> None:
    from corefsample.summaries._losses import LOSSES

    table = re.findall(r"^\| (`.*?`) \|", PAGE.read_text(encoding="utf-8"), flags=re.M)
    assert set(re.findall(r"`([a-z0-9-]+)`", " ".join(table))) == set(LOSSES)
