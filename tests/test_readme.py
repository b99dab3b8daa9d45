"""The README's code runs, and the names in it exist."""

from __future__ import annotations

import re

import click
import pytest
from places import PROJECT

README = PROJECT / "README.md"
PIPELINE, UD_PIPELINE = "en_core_web_sm", PROJECT / ".." / "shared" / "models" / "en_gum_ud"

pytestmark = pytest.mark.skipif(not README.exists(), reason="the README is beside the sources alone")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README.read_text(), flags=re.S)


def test_the_python_of_the_readme_runs(capsys: pytest.CaptureFixture[str]) -> None:
    assert blocks("python")
    for code in blocks("python"):
        if PIPELINE in code:  # it stands for any pipeline
            if not UD_PIPELINE.exists():
                continue
            code = code.replace(PIPELINE, str(UD_PIPELINE.resolve()))
        exec(compile(code, "README.md", "exec"), {})
    assert "probability" in capsys.readouterr().out


def test_every_command_of_the_readme_exists() -> None:
    from events.cli._program import cli

    named = {name for block in blocks("sh") for name in re.findall(r"\bcorefsample ([a-z-]+)", block)}
    assert {"demo", "events", "doctor"} <= named <= set(cli.commands)


def test_every_option_of_the_readme_exists() -> None:
    from events.cli._program import cli

    groups = [each for each in cli.commands.values() if isinstance(each, click.Group)]
    commands = [*cli.commands.values(), *(each for group in groups for each in group.commands.values())]
    known = {option for command in commands for p in command.params for option in p.opts}
    known |= {"--help", "--quick", "--json", "--only", "--screenshot"}  # of all commands, and of scripts
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", README.read_text())) <= known


def test_every_link_of_the_readme_has_a_target() -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)\)", README.read_text())
    assert links
    assert [link for link in links if not (PROJECT / link).exists()] == []
