"""The page of a run over documents with several parses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from references import events as er
from references import parses as pr
from run_cases import CountOptions, count_events

from events.pages import write_report
from events.pages._document_texts import named_places

PLACES = {"instances": [[2, [-1], 0.7]], "descriptions": [], "parses": [[2, "nsubj troops", 0.7, 1.0]]}
PLACES["reasons"] = [["several actors", 0.2, [[0, 0.2], [-1, 0.1]]], ["no actor", 0.1, []]]


def test_places_have_what_the_parses_have_at_the_trigger() -> None:
    assert named_places(json.dumps(PLACES)) == {
        "instances": [{"trigger": 2, "mentions": [], "p": 700}],
        "descriptions": [],
        "reasons": [
            {"text": "several actors", "p": 200, "mentions": [0]},
            {"text": "no actor", "p": 100, "mentions": []},
        ],
        "parses": [{"trigger": 2, "text": "nsubj troops", "share": 700, "p": 1000}],
    }


def test_the_page_says_that_the_intervals_cover_sampled_parses(tmp_path: Path) -> None:
    pytest.importorskip("altair", reason="extra `report`")
    corpus = er.corpus()
    several = [pr.with_other_parses(each, (5, 3)) for each in corpus]
    for name, documents in (("one", corpus), ("several", several)):
        inputs = er.write_lines(tmp_path / f"{name}.jsonl", documents)
        count_events(inputs, tmp_path / name, CountOptions(n_samples=40, threads=1), pictures=False)
    pages = []
    for name in ("one", "several"):
        out = tmp_path / f"{name}.html"
        write_report(tmp_path / name, out)
        pages.append(" ".join(out.read_text(encoding="utf-8").split()))
    scope = "The uncertainty of coreference and of the parse, where a document has several."
    assert scope not in pages[0]
    assert scope in pages[1]
