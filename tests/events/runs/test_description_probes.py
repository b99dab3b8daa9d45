"""Short news in which a description means a name: link marginals of `score`, with the English model."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import NamedTuple

import pytest
from places import EN_CORE_WEB_SM, EN_GUM_UD, TEST_DATA

import corefsample as cs
from corefsample import ScoredDocument
from events.commands import ScoreOptions, run_score

RIGHT, WRONG = 0.5, 0.2  # least probability of the right name, and most of a wrong one
MISSES = {  # allowed, of 20, 20 and 32 texts
    "description_probes": {EN_CORE_WEB_SM: 1, EN_GUM_UD: 6},
    "description_probes_kept": {EN_CORE_WEB_SM: 5, EN_GUM_UD: 11},
    "description_probes_wrong": {EN_CORE_WEB_SM: 3, EN_GUM_UD: 3},
}


class Probe(NamedTuple):
    """A text, the head of a description, and the last words of the name that it means, and of one that it does not."""

    text: str
    description: str
    right: str
    wrong: str


def probes(name: str) -> list[Probe]:
    lines = (TEST_DATA / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    return [Probe(*(part.strip() for part in line.split("|"))) for line in lines if not line.startswith("#")]


def linked(document: ScoredDocument, description: str, name: str) -> float:
    """Largest link marginal of a description and a name."""
    tokens = document.tokens
    assert tokens is not None
    spans = document.mentions.tolist()
    descriptions = [i for i, (_, _, head) in enumerate(spans) if tokens.text[head] == description]
    names = [i for i, (_, end, _) in enumerate(spans) if name and tokens.text[end - 1] == name]
    marginals = cs.link_marginals(document.antecedents)
    return max((float(marginals[i, k]) for i in descriptions for k in names), default=0.0)


@pytest.mark.parametrize("pipeline", [EN_CORE_WEB_SM, EN_GUM_UD], ids=lambda path: path.name)
@pytest.mark.parametrize("texts", MISSES)
def test_a_description_means_the_name_that_a_reader_would_say(texts: str, pipeline: Path, tmp_path: Path) -> None:
    if not pipeline.exists():
        pytest.skip(f"needs {pipeline}")
    news, expected = tmp_path / "news.csv", probes(texts)
    rows = [(n, "1999-05-03", probe.text) for n, probe in enumerate(expected)]
    with open(news, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("doc_id", "date", "text"), *rows])
    run_score(str(news), ScoreOptions(out=str(tmp_path / "scored.jsonl"), pipeline=str(pipeline)))
    misses = []
    for document in cs.read_documents(tmp_path / "scored.jsonl"):
        probe = expected[int(document.doc_id)]
        right, wrong = (linked(document, probe.description, name) for name in (probe.right, probe.wrong))
        if (probe.right and right < RIGHT) or wrong > WRONG:
            misses.append((probe.text, round(right, 2), round(wrong, 2)))
    assert len(misses) <= MISSES[texts][pipeline], "\n".join(map(str, misses))
