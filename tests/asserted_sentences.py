"""The hand-written sentences of tests/data/asserted_sentences.txt, in three dependency schemes."""

from dataclasses import dataclass
from pathlib import Path

_FILE = Path(__file__).parent / "data" / "asserted_sentences.txt"
UD1_LABELS = {
    "obj": "dobj",
    "nsubj:pass": "nsubjpass",
    "csubj:pass": "csubjpass",
    "nsubj:outer": "nsubj",
    "aux:pass": "auxpass",
    "fixed": "mwe",
    "flat": "name",
    "obl": "nmod",
    "obl:agent": "nmod:agent",
    "obl:tmod": "nmod:tmod",
    "obl:npmod": "nmod:npmod",
    "obl:unmarked": "nmod:tmod",
    "nmod:unmarked": "nmod:tmod",
    "nmod:desc": "compound",
}
_NEGATIONS = ("not", "n't", "never", "no")


@dataclass(frozen=True)
class Sentence:
    """A sentence with what a rule's presets make of it: "counted", or the condition that excludes its trigger."""

    rule: str
    expected: str
    text: str
    parses: dict[str, str]  # by scheme


def in_ud1(parse: str) -> str:
    """A parse in UD v2 with the labels of UD v1."""
    tokens = []
    for token in parse.split():
        named, _, attached = token.rpartition(">")
        head, _, label = attached.partition(":")
        word = named.rpartition("/")[0]
        lemma = (word.partition("=")[2] or word).lower()
        negation = label in ("advmod", "det") and lemma in _NEGATIONS
        tokens.append(f"{named}>{head}:{'neg' if negation else UD1_LABELS.get(label, label)}")
    return " ".join(tokens)


def sentences() -> list[Sentence]:
    """All sentences of the file."""
    lines = [line for line in _FILE.read_text("utf-8").splitlines() if not line.startswith("#")]
    found = []
    for first, *parses in zip(lines[0::3], lines[1::3], lines[2::3], strict=True):
        rule, expected, text = first.split("\t")
        by_scheme = dict(line.split("\t") for line in parses)
        found.append(Sentence(rule, expected, text, {**by_scheme, "ud1": in_ud1(by_scheme["ud2"])}))
    return found
