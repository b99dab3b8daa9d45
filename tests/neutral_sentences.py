"""Sentences in three notations: UD version 2, UD version 1 (which follows from version 2) and ClearNLP."""

from asserted_sentences import UD1_LABELS
from places import TEST_DATA


def _sections() -> dict[str, str]:
    text = (TEST_DATA / "neutral_sentences.txt").read_text(encoding="utf-8")
    sections = (section.partition("\n") for section in f"\n{text}".split("\n= ")[1:])
    return {name: lines.strip() for name, _, lines in sections}


SENTENCES = _sections()
TEXT = SENTENCES.pop("a text of all constructions")


def notations(text: str) -> dict[str, str]:
    """A text in the three schemes, one line per word: form, lemma, part of speech, head, label."""
    parses: dict[str, list[str]] = {"ud2": [], "ud1": [], "clearnlp": []}
    for line in text.strip().splitlines():
        words, _, other = line.partition("|")
        *columns, label = words.split() or [""]
        parses["ud2"].append(" ".join([*columns, label]))
        parses["ud1"].append(" ".join([*columns, UD1_LABELS.get(label, label)]))
        parses["clearnlp"].append(" ".join([*columns[:3], *other.split()]))
    return {scheme: "\n".join(lines) for scheme, lines in parses.items()}
