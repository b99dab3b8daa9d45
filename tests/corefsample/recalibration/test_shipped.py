"""The recalibrations of the models of the package: their names, and which scores get them."""

from __future__ import annotations

import pytest
from expected_errors import error

from corefsample.errors import InputError
from corefsample.mention_ranking._model import MENTION_SOURCES, SHIPPED_MODELS
from corefsample.recalibration import english_recalibration, read_recalibration
from corefsample.recalibration._shipped import SHIPPED, chosen_recalibration, known_recalibration
from corefsample.spacy_bridge._settings import Settings


@pytest.mark.parametrize(
    ("choice", "model", "of_parse", "of_annotated"),
    [
        (None, None, "english", "english-annotated"),
        (None, "es", "spanish", None),
        (None, "own.npz", None, None),
        ("none", None, None, None),
        ("none", "es", None, None),
        ("spanish", "own.npz", "spanish", None),
        ("english-annotated", None, "english-annotated", "english-annotated"),
        ("own.json", "es", "own.json", "own.json"),
    ],
)
def test_the_models_of_the_package_have_a_recalibration_by_default(
    choice: str | None, model: str | None, of_parse: str | None, of_annotated: str | None
) -> None:
    assert [chosen_recalibration(choice, model, mentions) for mentions in ("parse", "annotated")] == [
        of_parse, of_annotated,
    ]  # fmt: skip


def test_the_component_takes_that_of_its_model() -> None:
    found = [Settings(model=model).named_recalibration for model in (None, "es", "own.npz")]
    assert found == ["english", "spanish", None]
    assert Settings(mentions="found").named_recalibration == "english-annotated"
    assert Settings(model="es", mentions="found").named_recalibration is None
    assert Settings(model="es", recalibration="none").named_recalibration is None


def test_each_is_of_a_model_and_says_its_language() -> None:
    assert {
        chosen_recalibration(None, model, mentions) for model in (None, *SHIPPED_MODELS) for mentions in MENTION_SOURCES
    } == {None, *SHIPPED}
    languages = {name: read_recalibration(name).language for name in SHIPPED}
    assert languages == {name: "en" if name.startswith("english") else "es" for name in SHIPPED}


def test_the_scores_that_had_one_are_known_by_its_fingerprint() -> None:
    marks = {name: read_recalibration(name).recalibration.fingerprint() for name in SHIPPED}
    assert len({*marks.values()}) == len(SHIPPED)
    for name, mark in marks.items():
        known = known_recalibration(mark)
        assert known is not None
        assert known.to_json() == read_recalibration(name).to_json()
    assert known_recalibration("") is known_recalibration("0" * 12) is None
    assert english_recalibration("annotated") is known_recalibration(marks["english-annotated"])


def test_a_name_of_none_of_them_is_a_file() -> None:
    with error(InputError, place="russian"):
        read_recalibration("russian")
