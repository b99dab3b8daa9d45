"""The hints of missing extras, against pyproject.toml."""

from __future__ import annotations

import shlex
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

from corefsample._extras import install_hint, require_extra, requirements
from corefsample.errors import ParameterError

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
FOR_DEVELOPERS = {"bench", "dev", "docs", "notebooks", "test"}
EXTRAS = sorted(PROJECT["optional-dependencies"].keys() - FOR_DEVELOPERS)


def test_the_requirements_are_those_of_the_project() -> None:
    needed, extras = requirements()
    assert sorted(needed) == sorted(PROJECT["dependencies"])
    assert sorted(extras) == EXTRAS


@pytest.mark.parametrize("extra", EXTRAS)
def test_a_hint_installs_what_the_extra_names(extra: str) -> None:
    name, _, command = install_hint(extra).partition(": ")
    assert name == f"extra {extra!r}"
    words = shlex.split(command)
    assert words[:4] == ["python", "-m", "pip", "install"]
    assert sorted(words[4:]) == sorted(PROJECT["optional-dependencies"][extra])


def test_without_an_installation_the_hint_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> list[str]:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "requires", missing)
    assert install_hint("report") == "install the packages of the extra 'report'"


def test_a_missing_module_is_an_error_with_the_hint() -> None:
    with pytest.raises(ParameterError, match="a library must be installed, got no module no_such_module") as caught:
        require_extra("no_such_module", "a library", "tagging")
    assert caught.value.hint == install_hint("tagging")
