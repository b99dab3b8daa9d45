"""Errors carry parameter, place and hint beside the message; common mistakes and missing extras have a next step."""

import dataclasses
import pickle
import shlex
import tomllib
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

import corefsample as cs
from corefsample._lazy import install_hint, require_extra, requirements
from corefsample.errors import ParameterHint
from corefsample.metrics._scores import corpus_posterior

FULL = cs.ParameterError(
    "must be at least 1, got 0", parameter="n", place="a.csv: line 2", hint=ParameterHint("m", "sets it")
)


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (cs.InputError("date is missing"), "date is missing"),
        (cs.InputError("date is missing", place="a.csv: line 2"), "a.csv: line 2: date is missing"),
        (cs.ParameterError("must be at least 1, got 0", parameter="n"), "n must be at least 1, got 0"),
        (cs.OutputError("output must not exist", hint="remove it"), "output must not exist (remove it)"),
        (FULL, "a.csv: line 2: n must be at least 1, got 0 (m sets it)"),
    ],
)
def test_an_error_is_one_line(error: cs.CorefsampleError, text: str) -> None:
    assert str(error) == text


def test_parameters_are_called_by_their_options() -> None:
    assert FULL.described(lambda name: f"--{name}") == "a.csv: line 2: --n must be at least 1, got 0 (--m sets it)"


def test_a_place_is_added_before_the_own_place() -> None:
    error = FULL.at("b.tar")
    assert (type(error), error.place, error.parameter) == (cs.ParameterError, "b.tar: a.csv: line 2", "n")


def test_an_input_error_has_the_same_text() -> None:
    error = FULL.as_input_error("b.tar")
    assert (type(error), error.parameter, str(error)) == (cs.InputError, None, f"b.tar: {FULL}")


def test_errors_survive_pickling() -> None:
    error = pickle.loads(pickle.dumps(FULL))
    assert (type(error), str(error), error.hint) == (cs.ParameterError, str(FULL), FULL.hint)


# --- common mistakes ------------------------------------------------------------------------------------------

DIST = cs.AntecedentDistribution.from_lists([[], [0], [0, 1]], [[], [0.5], [0.0, 1.0]])
DOC = cs.ScoredDocument("d", np.array([[i, i + 1, i] for i in range(3)]), DIST, gold=["a", "a", "b"])
BARE = dataclasses.replace(DOC, gold=None)

MISTAKES: dict[str, tuple[Callable[[], object], str]] = {
    "a document is not its distribution": (lambda: cs.sample_clusterings(DOC), "pass document.antecedents"),  # type: ignore[arg-type]
    "lists are not a distribution": (lambda: cs.link_marginals([[], [0]]), "AntecedentDistribution.from_lists"),  # type: ignore[arg-type]
    "a heat map of a document": (lambda: cs.plots.link_heat_map(DOC), r"document_links\(document\)"),  # type: ignore[arg-type]
    "links of a distribution": (lambda: cs.summaries.document_links(DIST), "pass the document itself"),  # type: ignore[arg-type]
    "scores of a document": (lambda: cs.clustering_scores(DOC, [0, 0, 2]), "pass document.gold"),  # type: ignore[arg-type]
    "scores without gold": (lambda: cs.clustering_scores(BARE.gold, [0, 0, 2]), "has no gold entities"),
    "calibration of documents": (lambda: cs.links.calibrate_links([DOC]), r"link_tables\(documents\)"),  # type: ignore[arg-type]
    "a corpus of documents": (lambda: corpus_posterior([DOC]), r"metric_posterior\("),  # type: ignore[list-item]
    "one mention": (lambda: cs.summaries.cluster_probability(DIST, 1), "must be a list of mentions"),  # type: ignore[arg-type]
    "samples of different lengths": (lambda: cs.summaries.point_estimate([[0, 0], [0]]), "lists of different lengths"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_answered_in_one_line_with_what_to_do(name: str) -> None:
    call, answer = MISTAKES[name]
    with pytest.raises(cs.CorefsampleError, match=answer) as caught:
        call()
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value, (cs.ParameterError, ValueError))


# --- the hints of missing extras, against pyproject.toml ------------------------------------------------------

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
    with pytest.raises(cs.ParameterError, match="a library must be installed, got no module no_such_module") as caught:
        require_extra("no_such_module", "a library", "tagging")
    assert caught.value.hint == install_hint("tagging")
