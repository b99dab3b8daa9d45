"""Sentences as news agencies write them: probabilities of the shipped rules' events within a reader's bounds."""

import csv
import re
from pathlib import Path
from typing import NamedTuple

import pytest
from places import EN_CORE_WEB_SM, EN_GUM_UD, TEST_DATA

from corefsample import read_documents
from events import EventCounter, load_lexicon, load_rules
from events.commands import ScoreOptions, run_score

RULES = ("attack", "conflict", "kill", "arrest", "force", "protest", "meet", "bomb", "kidnap", "arson", "violence")
SILENT = 0.2  # most that an event has that a reader does not see
ALLOWED = {"en_core_web_sm": 0.05, "en_gum_ud": 0.15}  # share of sentences: the rest are errors of the parse
_BOUND = re.compile(r"(\w+):(\w+|-)([<>])(\.\d+)")


class Sentence(NamedTuple):
    kind: str
    bounds: str
    text: str


def sentences() -> list[Sentence]:
    lines = (TEST_DATA / "wire_sentences.txt").read_text(encoding="utf-8").splitlines()
    return [Sentence(*(field.strip() for field in line.split("|"))) for line in lines if not line.startswith("#")]


def score(pipeline: Path, folder: Path) -> Path:
    news = folder / "news.csv"
    with open(news, "w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["doc_id", "date", "text"])
        table.writerows([n, "2001-05-03", sentence.text] for n, sentence in enumerate(sentences()))
    scheme = "clearnlp" if pipeline == EN_CORE_WEB_SM else "ud2"
    out = str(folder / "scored.parquet")
    run_score(str(news), ScoreOptions(out=out, pipeline=str(pipeline), scheme=scheme, workers=1))
    return folder / "scored.parquet"


def misses(scored: Path, pipeline: Path) -> list[str]:
    """One line a sentence with a probability outside its bounds."""
    scheme = "clearnlp" if pipeline == EN_CORE_WEB_SM else "ud2"
    counter = EventCounter(
        list(map(load_rules, RULES)), load_lexicon("forces"), n_samples=200, scheme=scheme, triggers="rules"
    )
    counter.update(read_documents(scored))
    evidence: dict[int, dict[tuple[str, str], float]] = {}
    for row in counter.evidence().itertuples():
        evidence.setdefault(int(row.doc_id), {})[row.event, row.actor or "-"] = row.probability
    outside = []
    for n, sentence in enumerate(sentences()):
        probabilities = evidence.get(n, {})
        faults = [
            f"{match.group()}: {p:.2f}"
            for match in _BOUND.finditer(sentence.bounds)
            if ((p := probabilities.get((match[1], match[2]), 0.0)) <= float(match[4])) is (match[3] == ">")
        ]
        silent = RULES if sentence.bounds == "none" else re.findall(r"no (\w+)", sentence.bounds)
        faults += [f"{':'.join(key)}: {p:.2f}" for key, p in probabilities.items() if key[0] in silent and p > SILENT]
        if faults:
            outside.append(f"{sentence.kind} | {sentence.text} | {', '.join(faults)}")
    return outside


@pytest.mark.parametrize("pipeline", [EN_CORE_WEB_SM, EN_GUM_UD], ids=lambda path: path.name)
def test_probabilities_are_within_a_readers_bounds(pipeline: Path, tmp_path: Path) -> None:
    if not pipeline.exists():
        pytest.skip(f"needs {pipeline}")
    outside = misses(score(pipeline, tmp_path), pipeline)
    assert len(outside) <= ALLOWED[pipeline.name] * len(sentences()), "\n".join(outside)
