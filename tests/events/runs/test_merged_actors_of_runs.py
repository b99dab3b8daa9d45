"""How often coreference merges distinct actors, in the record of a run, on the screen, and in the report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command_line import Calls
from references import events as er
from run_cases import in_groups

from events.pages import write_report

SENTENCES = [
    "Iraq/PROPN>2:nsubj met=meet/VERB>0:root Iran/PROPN>2:obl",
    "they/PRON>2:nsubj attacked=attack/VERB>0:root soldiers/NOUN>2:obj",
]


@pytest.fixture(scope="module")
def news(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve documents, in which the two names are of one entity with probabilities from .65 to .42."""
    folder = tmp_path_factory.mktemp("news")
    lines = [
        er.json_document(f"doc {n}", f"1999-01-{28 - n}", SENTENCES, {1: {0: -0.2 * n}, 2: {0: 0.5, 1: 1.0}})
        for n in range(12)
    ]
    return in_groups(folder / "news.parquet", lines, 1)


def merged(folder: Path) -> Any:
    return json.loads((folder / "run.json").read_text(encoding="utf-8"))["summary"]["merged_actors"]


def test_the_screen_and_the_report_say_it(news: Path, tmp_path: Path, call: Calls) -> None:
    for preset in ("extended", "paper"):
        out = tmp_path / preset
        words = ("events", news, "--preset", preset, "--samples", "60", "--no-pictures", "--out", out)
        status, printed, err = call(*words)
        assert status == 0, err
        sentence = "Coreference merges different actors with probability"
        assert (sentence in " ".join(printed.split())) == (preset == "extended")
        assert (merged(out) is None) == (preset == "paper")
        pytest.importorskip("altair", reason="extra `report`")
        write_report(out)
        page = " ".join((out / "report.html").read_text(encoding="utf-8").split())
        assert (sentence in page) == (preset == "extended")


def test_doctor_says_it_of_a_lexicon(tmp_path: Path, call: Calls) -> None:
    apart = er.json_document("b", "1999-01-06", ["Iraq/PROPN>2:nsubj met=meet/VERB>0:root"], {})
    unknown = er.json_document("c", "1999-01-07", ["Iraq/PROPN>2:SBJ-X met=meet/VERB>0:root"], {})
    merging = er.json_document("a", "1999-01-05", SENTENCES, {1: {0: 30.0}})
    path = er.write_lines(tmp_path / "d.jsonl", [merging, apart, unknown])
    sentence = (
        "different actors with probability 0.667 per mention that names one, before the samples are conditioned: "
    )
    for options in (("--lexicon", "countries"), ("--rule", "attack", "--preset", "paper"), ()):
        _, printed, _ = call("doctor", path, *options)  # the rule cannot read the third document
        assert (sentence + "above .2 for 66.7% of 3 mentions" in " ".join(printed.split())) == bool(options)
    status, printed, _ = call("doctor", path, "--lexicon", "countries", "--json")
    assert status == 0
    assert json.loads(printed)[0]["merged_actors"]["n_documents"] == {"as drawn": 1, "drawn again": 0, "chain": 1}


def test_a_small_probability_is_not_printed(tmp_path: Path, call: Calls) -> None:
    line = er.json_document("d", "1999-01-05", SENTENCES, {1: {0: -30.0}, 2: {0: 0.5}})
    path = er.write_lines(tmp_path / "d.jsonl", [line])
    out = tmp_path / "run"
    status, printed, err = call("events", path, "--preset", "extended", "--no-pictures", "--out", out)
    assert status == 0, err
    assert merged(out)["probability"] == 0.0
    assert "Coreference merges" not in printed
