"""Make the picture of docs/alternative-parses.md: ``python docs/make_parses_picture.py [PIPELINE]``.

The pipeline is en_core_web_sm, a package or a folder. The picture is drawn by displaCy.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from html import escape
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import spacy
from spacy import displacy

from corefsample.parses import parse_samples
from corefsample.spacy_bridge.documents import tokens_of_doc
from corefsample.syntax._mentions import mentions_from_parse
from events import load_lexicon, load_rules
from events.matching._tracing import trace_document

SENTENCE = "Iraqi soldiers attacked near Basra fled across the border."
READINGS = {"attackers": "Iraqi soldiers attacked", "attacked": "Iraqi soldiers were attacked"}
N_SAMPLES = 1000
OUT = Path(__file__).with_name("alternative-parses.svg")
OPTIONS = {"distance": 100, "word_spacing": 32, "arrow_spacing": 18, "offset_x": 50}
TITLE = '<text x="30" y="{y}" font-family="Arial" font-size="19" font-weight="bold">{text}</text>'
TITLE_HEIGHT = 22


def reading_of(parse: Any) -> str:
    """Whether the soldiers are the subject of "attacked", or "attacked" is a modifier of the soldiers."""
    soldiers, attacked = parse[1], parse[2]
    if soldiers.head == attacked and soldiers.dep_ == "nsubj":
        return "attackers"
    return "attacked" if attacked.head == soldiers else "other"


def is_event(parse: Any) -> bool:
    """Whether the rule attack finds an attack by Iraq in a parse."""
    tokens = tokens_of_doc(parse)
    triggers, _ = trace_document(tokens, mentions_from_parse(tokens), load_rules("attack"), load_lexicon(), None)
    return any(trigger.outcome == "counted" for trigger in triggers)


def drawing(parse: Any, number: int) -> tuple[str, float, float]:
    """SVG of a parse by displaCy, with identifiers of its own, and its width and height."""
    markup = displacy.render(parse, style="dep", options=OPTIONS, jupyter=False)
    markup = re.sub(r"[0-9a-f]{32}", f"parse-{number}", markup)
    picture = ElementTree.fromstring(markup)
    return markup, float(picture.attrib["width"]), float(picture.attrib["height"])


def main(pipeline: str) -> None:
    """Draw the likeliest parse of each reading."""
    nlp = spacy.load(pipeline)
    samples = parse_samples(nlp, nlp(SENTENCE), N_SAMPLES, seed=0)
    readings: dict[str, Counter[int]] = {}  # parses by their number of samples
    docs = {id(sample): sample for sample in samples}
    for key, count in Counter(map(id, samples)).items():
        readings.setdefault(reading_of(docs[key]), Counter())[key] += count
    parts: list[str] = []
    y = widest = 0.0
    for number, (reading, text) in enumerate(READINGS.items()):
        ((key, _),) = readings[reading].most_common(1)
        share = readings[reading].total() / N_SAMPLES
        title = f"{share:.2f} of the parses: {text}"
        markup, width, height = drawing(docs[key], number)
        parts += [
            TITLE.format(y=f"{y + TITLE_HEIGHT:g}", text=escape(title)),
            f'<g transform="translate(0, {y + TITLE_HEIGHT:g})">{markup}</g>',
        ]
        y, widest = y + TITLE_HEIGHT + height, max(widest, width)
    size = f'viewBox="0 0 {widest:g} {y:g}" width="{widest:g}" height="{y:g}"'
    names = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
    lines = [f"<svg {names} {size}>", '<rect width="100%" height="100%" fill="#fff"/>', *parts, "</svg>"]
    OUT.write_text("\n".join(lines) + "\n", encoding="utf-8")
    n_events = sum(count for key, count in Counter(map(id, samples)).items() if is_event(docs[key]))
    shares = ", ".join(f"{reading} {parses.total() / N_SAMPLES:.3f}" for reading, parses in readings.items())
    print(f"{shares}; the rule attack finds an attack by Iraq in {n_events / N_SAMPLES:.3f}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "en_core_web_sm")
