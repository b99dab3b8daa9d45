"""The page of a run over documents with several parses, in a browser: at_trigger at the trigger."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from chromium import Browser, missing
from references import events as er
from references import parses as pr
from report_pages import all_of, choose_actor, one, open_document, text
from run_cases import CountOptions, count_events

from events.pages._report import write_report

REASON = missing()
pytestmark = pytest.mark.skipif(REASON is not None, reason=str(REASON))

# Iraqis attacked a town, or a town attacked Iraqis; the third parse has no event.
PARSES = (
    (6, "Iraqis/PROPN>2:nsubj attacked=attack/VERB>0:root town/NOUN>2:obj yesterday/NOUN>2:obl:tmod ./PUNCT>2:punct"),
    (3, "Iraqis/PROPN>2:nsubj attacked=attack/VERB>0:root town/NOUN>2:obj yesterday/NOUN>3:nmod ./PUNCT>2:punct"),
    (1, "Iraqis/PROPN>2:obj attacked=attack/VERB>0:root town/NOUN>2:nsubj yesterday/NOUN>2:obl:tmod ./PUNCT>2:punct"),
)
HOSTILE = "<script>alert(1)</script>"


def mixture() -> dict[str, Any]:
    """A document with these parses, whose town has a name that a page must not run."""
    document = pr.of_several_parses("several parses", [(weight, [sentence]) for weight, sentence in PARSES])
    return {**document, "tokens": {"text": ["Iraqis", "attacked", HOSTILE, "yesterday", "."]}}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("parses")
    one_parse = er.json_document("one parse", "1999-02-05", [PARSES[0][1]])
    news = er.write_lines(folder / "news.jsonl", [mixture(), one_parse])
    count_events(news, folder / "run", CountOptions(n_samples=1000, threads=1))
    return folder / "run"


@pytest.fixture(scope="module")
def page(run: Path) -> Path:
    return Path(write_report(run, run.with_name("page.html")).out)


def rows(browser: Browser) -> list[list[str]]:
    return [
        [str(cell.get_attribute("textContent")) for cell in row.find_elements("css selector", "td")]
        for row in all_of(browser, "table.parses tbody tr")
    ]


def test_the_parses_at_the_trigger_are_those_of_the_evidence(browser: Browser, run: Path) -> None:
    choose_actor(browser, "IRQ")
    open_document(browser, "several parses")
    evidence = pd.read_parquet(run / "evidence.parquet").set_index("doc_id").loc["several parses"]
    at_trigger = json.loads(evidence["places"])["parses"]
    assert rows(browser) == [
        [f"{share:.3f}", f"{probability:.3f}", f"attacked {words}"] for _, words, share, probability in at_trigger
    ]
    # The weights are 6, 3 and 1; in the third parse the Iraqis are no agent.
    shares = [float(share) for share, _, _ in rows(browser)]
    assert shares == pytest.approx([0.6, 0.3, 0.1], abs=0.01)
    assert [probability for _, probability, _ in rows(browser)] == ["1.000", "1.000", "0.000"]
    assert "nsubj Iraqis" in rows(browser)[0][2]
    assert f"nsubj {HOSTILE}" in rows(browser)[2][2]
    assert one(browser, "table.parses").is_displayed()
    assert text(browser, "table.parses caption") == "Parses at the trigger: what depends on it"
    assert f"P(Iraq) = {evidence['probability']:.3f}" in text(browser, "#reader-facts")
