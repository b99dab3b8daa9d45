"""The code of docs/recalibration.md runs, and its commands and links exist."""

from __future__ import annotations

import itertools
import re
from typing import Any

import click
import pytest
from places import PROJECT

from events.commands._program import cli
from events.queries._counts import SIZES

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


def test_commands_and_options_of_the_page_exist() -> None:
    for command in [line for block in blocks("sh") for line in block.splitlines()]:
        _, name, *words = command.split()
        assert isinstance(cli, click.Group)
        options = {option for parameter in cli.commands[name].params for option in parameter.opts}
        assert {word for word in words if word.startswith("--")} <= options
    text = PAGE.read_text(encoding="utf-8")
    commands = ("calibrate-queries", "recalibrate", "events")
    parameters = [p for name in commands for p in cli.commands[name].params]
    known = {option for parameter in parameters for option in parameter.opts}
    assert set(re.findall(r"`(--[a-z-]+)", text)) <= known | {"--only", "--save"}


def test_groups_of_the_page_are_those_of_the_code() -> None:
    names = [f"{least}-{more - 1}" for least, more in itertools.pairwise(SIZES)] + [f"{SIZES[-1]}+"]
    assert f"| {' | '.join(names)} |" in PAGE.read_text(encoding="utf-8")
