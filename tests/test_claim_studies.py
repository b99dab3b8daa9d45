"""Studies behind docs/papers.md: types of error on a text written for it, and types of error of an audit's sheet."""

from __future__ import annotations

import dataclasses
import importlib
import re
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest
from places import PROJECT
from references import events as er

from corefsample import ScoredDocument
from corefsample.calibration import ReliabilityCurve

pytestmark = pytest.mark.skipif(
    not (PROJECT / "benchmarks").exists(), reason="the studies are beside the sources alone"
)

# Mentions: Ann, cats, they, he. Queries: a name, or a plural noun, and a pronoun as subject of run, or say.
STORY = [
    "Ann/PROPN>2:nsubj saw=see/VERB>0:root cats=cat/NOUN>2:obj",
    "they/PRON>2:nsubj ran=run/VERB>0:root",
    "he/PRON>2:nsubj said=say/VERB>0:root",
]
RIGHT = {2: {1: 1.0}, 3: {0: 2.0}}  # they are the cats, he is Ann


def story(links: dict[int, dict[int, float]], gold: list[int | str | None]) -> ScoredDocument:
    document = er.scored(er.json_document("d", "2000-01-01", STORY, links))
    return dataclasses.replace(document, gold=gold)


def study(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(PROJECT / "benchmarks"))
    return importlib.import_module(name)


@pytest.mark.parametrize(
    ("links", "gold", "expected"),
    [
        (RIGHT, [0, 1, 1, 0], []),
        # They are Ann: the name is missed, the plural noun found wrongly.
        (RIGHT, [0, 1, 0, 0], [{("linked to the wrong entity", "pronoun"): 1.0}] * 2),
        (RIGHT, [0, 1, 1, 2], [{("linked, but begins an entity", "pronoun"): 1.0}]),
        ({2: {1: 1.0}, 3: {0: -2.0}}, [0, 1, 1, 0], [{("link missed", "pronoun"): 1.0}]),
        # All are one entity and nothing is linked: only "the cats ran" needs a single link.
        ({}, [0, 0, 0, 0], [{("several errors together", ""): 1.0}] * 3 + [{("link missed", "pronoun"): 1.0}]),
    ],
)
def test_the_error_that_changes_a_query_is_found(
    links: dict[int, dict[int, float]],
    gold: list[int | str | None],
    expected: list[dict[tuple[str, str], float]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = study("error_types", monkeypatch).examined(story(links, gold))
    causes = [cause for cause in found.causes if cause]
    assert sorted(causes, key=str) == sorted(expected, key=str)
    assert found.wrong.sum() == len(expected)


def test_uncertain_answers_are_counted_by_distance_from_certainty(monkeypatch: pytest.MonkeyPatch) -> None:
    module = study("error_types", monkeypatch)
    parts = [
        module.Found(f"d{k}", np.array([0.02, 0.5, 0.97]), np.array([False, True, False]), np.array(answer), ({},) * 3)
        for k, answer in enumerate(([False, False, True], [False, True, False]))
    ]
    table, (gap, _) = module.uncertainty_table(parts)
    assert table["queries"].tolist() == [4, 0, 0, 2]
    assert table["wrong"].tolist() == [1, 0, 0, 1]
    assert gap == pytest.approx(1 / 2 - 1 / 4)


def test_halves_have_half_of_the_documents_and_draws_are_centred(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("spacy")
    module = study("later_study", monkeypatch)
    drawn = module.halves(11, 7)
    assert (drawn.shape, set(drawn.sum(axis=1))) == ((7, 11), {5.0})
    np.testing.assert_allclose(module.centred(np.array([0.9, 0.2, 0.4])), [0.9, 0.8, 1.0])


def run_page(name: str) -> dict[str, object]:
    """Run the Python of a page; return its names."""
    (code,) = re.findall(r"```python\n(.*?)```", (PROJECT / "docs" / f"{name}.md").read_text("utf-8"), flags=re.S)
    names: dict[str, object] = {}
    exec(compile(code, name, "exec"), names)
    return names


def test_the_smooth_curve_of_the_page_is_drawn_from_its_pairs() -> None:
    curve = run_page("calibration-studies")["curve"]
    assert isinstance(curve, ReliabilityCurve)
    assert curve.smooth is not None


def test_notes_of_an_audit_are_counted_by_type_of_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "audit").mkdir()
    (tmp_path / "audited").mkdir()
    sheet = {"doc_id": ["a", "b", "c", "d"], "inclusion_probability": [0.5, 0.1, 0.1, 1.0]}
    pd.DataFrame(sheet).to_csv(tmp_path / "audit" / "sheet.csv", index=False)
    rows = {
        "doc_id": ["a", "b", "c"],
        "label": ["no", "yes", "yes"],
        "note": ["actor: a company", "link: two Husseins", "link: he"],
    }
    pd.DataFrame(rows).to_csv(tmp_path / "audited" / "disagreements.csv", index=False)
    monkeypatch.chdir(tmp_path)
    found = run_page("papers")["errors"]
    assert isinstance(found, pd.DataFrame)
    # 1 / .5 documents with the wrong actor, twice 1 / .1 with a missed link.
    assert found["documents"].to_dict() == {("actor", "no"): 2.0, ("link", "yes"): 20.0}
    assert found["labelled"].to_dict() == {("actor", "no"): 1, ("link", "yes"): 2}
    assert "actor" in capsys.readouterr().out
