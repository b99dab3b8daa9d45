"""Whether datelines, credits, capitals and title case change what is counted.

Ten sentences are counted with every head of tests/data/article_heads.txt before them, and twenty headlines in title
case and in capitals. Printed is how many of the documents have a probability that differs by .2 or more from that of
the plain text, and the events that are found.

Run as ``python benchmarks/text_forms.py PIPELINE...``.
"""

from __future__ import annotations

import csv
import sys
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

from events.commands.run import RunOptions, run_run

HEADS = Path(__file__).parents[1] / "tests" / "data" / "article_heads.txt"
RULES = ("attack", "kill", "arrest", "protest", "meet", "conflict")
SENTENCES = (
    "Ugandan soldiers attacked a camp near the river on Tuesday.",
    "Rebels shot seven officers in a raid, the ministry said.",
    "Police arrested nine people after a rally on Friday.",
    "Protesters marched through the capital against a new tax.",
    "Three women were detained on Monday over a theft.",
    "Egypt's president met his Jordanian counterpart to discuss water.",
    "Hundreds of miners went on strike on Wednesday.",
    "At least 12 people were killed when a bomb exploded at a bus stop, officials said.",
    "Turkish jets bombed a bridge, and its guards fled an hour later.",
    "Gunmen attacked a church on Sunday, wounding two people.",
)
HEADLINES = (
    "Egypt attacks Sudanese border post",
    "Police arrest nine after rally in harbour town",
    "Rebels kill seven officers in raid",
    "French president meets German chancellor in Paris",
    "Syrian troops attack village near Turkish border",
    "Miners march against pay cut",
    "Indian police kill two protesters",
    "Gunmen attack church and wound two",
    "Turkey bombs bridge in northern Iraq",
    "Soldiers shoot dead three smugglers",
    "Pakistan and India trade fire in Kashmir",
    "Students protest against new exam law",
    "Russian jets bomb port for second night",
    "Police detain journalist at airport",
    "Kenyan army attacks militia camp",
    "Chinese and Japanese ministers meet over islands",
    "Troops kill warlord in dawn raid",
    "Iran attacks tanker in the Gulf",
    "Farmers block roads in protest over prices",
    "Israel kills commander in air strike",
)
Probabilities = Mapping[str, Mapping[tuple[str, str], float]]


def probabilities(texts: Mapping[str, str], pipeline: str) -> Probabilities:
    """P of each event and actor in each text."""
    with TemporaryDirectory() as folder:
        path, out = Path(folder, "news.csv"), str(Path(folder, "run"))
        with path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows(
                [("doc_id", "date", "text"), *((name, "2001-05-05", text) for name, text in texts.items())]
            )
        run_run(
            str(path), RunOptions(out=out, pipeline=pipeline, rule=RULES, lexicon="police", pictures=False, workers=1)
        )
        evidence = pd.read_parquet(Path(out, "evidence.parquet"), filters=[("probability", ">", 0)])
    found: dict[str, dict[tuple[str, str], float]] = defaultdict(dict)
    for row in evidence.itertuples():
        found[row.doc_id][row.event, row.actor] = row.probability
    return found


def changes(found: Probabilities, plain: str, other: str) -> dict[tuple[str, str], float]:
    """Differences of .2 or more between two documents, by event and actor."""
    one, two = found.get(plain, {}), found.get(other, {})
    differences = {key: two.get(key, 0.0) - one.get(key, 0.0) for key in {*one, *two}}
    return {key: round(value, 2) for key, value in differences.items() if abs(value) >= 0.2}


def main(pipelines: list[str]) -> None:
    lines = [line for line in HEADS.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    heads = ["", *(line.partition(" | ")[2].replace(r"\n", "\n") for line in lines)]
    texts = {f"{h}.{s}": head + sentence for h, head in enumerate(heads) for s, sentence in enumerate(SENTENCES)}
    for i, headline in enumerate(HEADLINES):
        texts |= {f"sentence.{i}": headline, f"title.{i}": headline.title(), f"capitals.{i}": headline.upper()}
    for pipeline in pipelines:
        found = probabilities(texts, pipeline)
        changed = {name: changes(found, f"0.{name.partition('.')[2]}", name) for name in texts if name[0].isdigit()}
        changed = {name: change for name, change in changed.items() if change}
        print(f"{pipeline}: {len(changed)} of {len(heads) * len(SENTENCES) - len(SENTENCES)} with a head change")
        for name, change in changed.items():
            print(f"  {texts[name]!r}: {change}")
        for form in ("sentence", "title", "capitals"):
            n_events = sum(max([0.0, *found.get(f"{form}.{i}", {}).values()]) > 0.5 for i in range(len(HEADLINES)))
            differing = {f"{form}.{i}": changes(found, f"sentence.{i}", f"{form}.{i}") for i in range(len(HEADLINES))}
            print(f"  headlines in {form} case: {n_events} of {len(HEADLINES)} with an event")
            for name, change in differing.items():
                if change:
                    print(f"    {texts[name]!r}: {change}")


if __name__ == "__main__":
    main(sys.argv[1:])
