"""Short news in which a reader knows who attacks: P(event) of `score` and `events`, with the English model."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pytest
from places import EN_CORE_WEB_SM, EN_GUM_UD, TEST_DATA

from events.commands import EventsOptions, ScoreOptions, run_events, run_score

PROBES = [
    [part.strip() for part in line.split("|")]
    for line in (TEST_DATA / "probes.txt").read_text(encoding="utf-8").splitlines()
    if not line.startswith("#")
]
# What the parse of a pipeline reads otherwise than a reader, and what coreference does not know.
ALLOWED = {"en_core_web_sm": 5, "en_gum_ud": 6}


class Miss(NamedTuple):
    """A bound that does not hold."""

    text: str
    bound: str
    probability: float


def misses(pipeline: Path, folder: Path) -> list[Miss]:
    news = folder / "news.csv"
    with open(news, "w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["doc_id", "date", "title", "text"])
        # The Soviet Union is one until 1991; every other actor is of both days.
        table.writerows(
            [n, "1990-05-03" if "SUN" in probe[2] else "1999-05-03", *probe[:2]] for n, probe in enumerate(PROBES)
        )
    run_score(str(news), ScoreOptions(out=str(folder / "scored.parquet"), pipeline=str(pipeline)))
    run_events(str(folder / "scored.parquet"), EventsOptions(out=str(folder / "run"), pictures=False))
    evidence = pd.read_parquet(folder / "run" / "evidence.parquet", filters=[("probability", ">", 0)]).set_index(
        ["doc_id", "actor"]
    )["probability"]
    found = []
    for n, (_, text, bounds) in enumerate(PROBES):
        for bound in bounds.split():
            actor, sign, limit = re.fullmatch(r"(\w+)([<>])(\.\d+)", bound).groups()  # type: ignore[union-attr]
            p = float(evidence.get((str(n), actor), 0.0))
            if (p <= float(limit)) if sign == ">" else (p >= float(limit)):
                found.append(Miss(text, bound, round(p, 3)))
    return found


@pytest.mark.parametrize("pipeline", [EN_CORE_WEB_SM, EN_GUM_UD], ids=lambda path: path.name)
def test_probabilities_are_what_a_reader_would_say(pipeline: Path, tmp_path: Path) -> None:
    if not pipeline.exists():
        pytest.skip(f"needs {pipeline}")
    found = misses(pipeline, tmp_path)
    assert len(found) <= ALLOWED[pipeline.name], "\n".join(map(str, found))
