"""The code of docs/recalibration.md runs, and its groups are those of the code."""

from __future__ import annotations

import itertools
import re
from typing import Any

import pytest
from places import PROJECT

from events.queries._true_counts import SIZES

PAGE = PROJECT / "docs" / "recalibration.md"

pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="the pages are beside the sources alone")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.S)


def test_the_example_of_the_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    by_kind, example, by_default = blocks("python")
    names: dict[str, Any] = {}
    exec(compile(by_kind, str(PAGE), "exec"), names)
    assert names["recalibrated"].antecedents.n_candidates == names["documents"][0].antecedents.n_candidates
    capsys.readouterr()
    names = {}
    exec(compile(example, str(PAGE), "exec"), names)
    assert names["fit"].temperature == pytest.approx(1.5, rel=0.2)  # what the simulation divided by
    ends = [int(n) for n in re.findall(r"\d+", capsys.readouterr().out)]
    assert len(ends) == 4
    assert ends[3] - ends[2] >= ends[1] - ends[0]  # the second interval carries more
    names = {}
    exec(compile(by_default, str(PAGE), "exec"), names)
    assert capsys.readouterr().out == "True\n"
    scores = [names[name][0].antecedents.scores.tolist() for name in ("recalibrated", "again", "plain")]
    assert scores[0] == scores[1] != scores[2]


def test_groups_of_the_page_are_those_of_the_code() -> None:
    names = [f"{least}-{more - 1}" for least, more in itertools.pairwise(SIZES)] + [f"{SIZES[-1]}+"]
    assert f"| {' | '.join(names)} |" in PAGE.read_text(encoding="utf-8")
