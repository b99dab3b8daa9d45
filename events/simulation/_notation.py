"""A small notation for parsed phrases with slots, and functions that read it and fill the slots.

Items are separated by blanks:

==========================  ==========================================================================
``attacked=attack/V``       word=lemma/part of speech; without a label it is the root
``held=hold/V/ccomp``       with a label: attached to the root
``heavy/J/amod/fighting``   attached to the item of that word or slot, which must be unique
``the``, ``of``, ``had``    function words have a known label and a head to the right
``{A}/nsubj``               a slot; ``{A's}`` is possessive, ``{A!}`` never a pronoun, ``{A?}`` if possible
``[a bridge/N/obj]``        a mention without a slot
==========================  ==========================================================================
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

NO_COUNTRY = ""

_UPOS = {
    "V": "VERB",
    "N": "NOUN",
    "J": "ADJ",
    "R": "ADV",
    "PN": "PROPN",
    "PR": "PRON",
    "S": "SCONJ",
    "#": "NUM",
}
# Words (=lemma if it differs), part of speech, label, and kind of the head to their right.
_FUNCTION_WORDS_BY_KIND = """
the,a,some,these=this DET det noun
of,in,on,from,near,over,with,by,for,against,after,before,toward,until,to ADP case noun
that,because,while SCONJ mark verb
will,would,could,might,should,had=have,did=do AUX aux verb
was=be,been=be AUX aux:pass verb
not PART advmod verb
and CCONJ cc conjunct
. PUNCT punct root
"""
_INFINITIVE = ("to", "PART", "mark", "verb")
_NOMINAL = frozenset({"NOUN", "PROPN", ""})  # a slot has no part of speech
_BEFORE_NOUNS = frozenset({"amod", "compound", "nummod", "nmod:poss"})
_ITEM = re.compile(r"(\[*)(.+?)(\]*)")


class Traits(NamedTuple):
    """Properties of a mention on which its antecedent scores depend.

    `entity` is the true entity; `agreement` its pronoun; `definiteness` 1 for a definite noun phrase or name, -1 after
    "a", else 0; `country` the code of the country in its words.
    """

    entity: str
    agreement: str
    lemma: str
    text: str
    definiteness: int
    country: str = NO_COUNTRY
    pronoun: bool = False


Mark = tuple[int, int, int, Traits]  # start, end (exclusive) and head of a mention


@dataclass(frozen=True, slots=True)
class Item:
    """A word of a template, or a slot if `slot` is not empty. `head` is the index of an item, or -1 for the root."""

    text: str
    lemma: str
    upos: str
    dep: str
    head: int
    slot: str = ""
    manner: str = ""


@dataclass(frozen=True, slots=True)
class Template:
    """Items of a phrase, and the first, last and head item of each mention without a slot."""

    items: tuple[Item, ...]
    mentions: tuple[tuple[int, int, int], ...]


@dataclass(slots=True)
class ParsedPhrase:
    """Words with their parse and mentions; heads are word offsets in the phrase, -1 for the root."""

    text: list[str] = field(default_factory=list)
    lemma: list[str] = field(default_factory=list)
    upos: list[str] = field(default_factory=list)
    dep: list[str] = field(default_factory=list)
    head: list[int] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    root: int = 0

    def add(self, text: str, lemma: str, upos: str, dep: str, head: int) -> None:
        """Append a word."""
        self.text.append(text)
        self.lemma.append(lemma)
        self.upos.append(upos)
        self.dep.append(dep)
        self.head.append(head)

    def append(self, phrase: ParsedPhrase) -> None:
        """Append all words and mentions of another phrase, which stays unchanged."""
        start = len(self.text)
        self.text += phrase.text
        self.lemma += phrase.lemma
        self.upos += phrase.upos
        self.dep += phrase.dep
        self.head += [start + head if head >= 0 else -1 for head in phrase.head]
        self.marks += [(start + a, start + b, start + head, traits) for a, b, head, traits in phrase.marks]

    def definiteness(self, start: int = 0) -> int:
        """Definiteness of the noun phrase that begins at a word: see `Traits`."""
        if self.lemma[start] == "a":
            return -1
        return int(self.upos[start] in ("PROPN", "PRON") or self.text[start] in ("the", "these"))


# --- reading -----------------------------------------------------------------------------------------------


@cache
def parsed(notation: str) -> Template:
    """Read a template.

    Raises
    ------
    ValueError
        If a head is missing or ambiguous, or there is not exactly one root.
    """
    pieces, open_positions, brackets = [], [], []
    for position, piece in enumerate(notation.split()):
        left, body, right = _ITEM.fullmatch(piece).groups()  # type: ignore[union-attr]
        pieces.append(body)
        open_positions += [position] * len(left)
        brackets += [(open_positions.pop(), position) for _ in right]
    raw = [_fields(pieces, position) for position in range(len(pieces))]
    roots = [position for position, (_, _, _, dep, _) in enumerate(raw) if dep == "root"]
    names = [re.sub(r"[{}!?]", "", text) for text, *_ in raw]
    items = []
    for position, (text, lemma, upos, dep, towards) in enumerate(raw):
        head = _head(raw, names, position, towards, roots[0])
        slot = re.fullmatch(r"\{(\w+)('s|!|\?)?\}", text)
        items.append(Item(text, lemma, upos, dep, head, *((slot[1], slot[2] or "") if slot else ())))
    mentions = []
    for first, last in brackets:
        inside = [p for p in range(first, last + 1) if not first <= items[p].head <= last]
        mentions.append((first, last, inside[0]))
    return Template(tuple(items), tuple(mentions))


@cache
def _function_words() -> dict[str, tuple[str, str, str, str]]:
    words = {}
    for line in _FUNCTION_WORDS_BY_KIND.strip().splitlines():
        words_of_line, upos, dep, towards = line.split()
        for word, _, lemma in (entry.partition("=") for entry in words_of_line.split(",")):
            words[word] = (lemma or word, upos, dep, towards)
    return words


_Raw = tuple[str, str, str, str, str]  # text, lemma, part of speech, label, kind of the head


def _fields(pieces: Sequence[str], position: int) -> _Raw:
    word, *annotation = pieces[position].split("/")
    if word.startswith("{"):
        return word, "", "", *_label(annotation)
    if annotation:
        upos, *label = annotation
        text, _, lemma = word.partition("=")
        return text, lemma or text, _UPOS[upos], *_label(label)
    infinitive = word == "to" and "/V" in pieces[position + 1]
    return word, *(_INFINITIVE if infinitive else _function_words()[word])


def _label(annotation: Sequence[str]) -> tuple[str, str]:
    dep, towards = (*annotation, *("root", "root")[len(annotation) :])
    return dep, towards


def _head(raw: Sequence[_Raw], names: Sequence[str], position: int, towards: str, root: int) -> int:
    _, _, _, dep, _ = raw[position]
    if dep == "root":
        return -1
    if towards == "root":
        return root
    later_items = range(position + 1, len(raw))
    if towards == "noun":
        heads = [p for p in later_items if raw[p][2] in _NOMINAL and raw[p][3] not in _BEFORE_NOUNS][:1]
    elif towards == "verb":
        heads = [p for p in later_items if raw[p][2] == "VERB"][:1]
    elif towards == "conjunct":
        heads = [p for p in later_items if raw[p][3] == "conj"][:1]
    else:
        heads = [p for p, name in enumerate(names) if name == towards]
    return heads[0]


# --- filling --------------------------------------------------------------------------------------


def joined(template: Template, fillers: Mapping[int, ParsedPhrase], scene: str = "") -> ParsedPhrase:
    """Fill the slots of a template.

    Parameters
    ----------
    template
        Template that `parsed` returns.
    fillers
        Phrase for each item that is a slot, by the index of the item.
    scene
        Name of the scene, because "the bridge" of one scene is not the bridge of another scene.
    """
    phrase = ParsedPhrase()
    starts, positions = [], []
    for i, item in enumerate(template.items):
        start = len(phrase.text)
        starts.append(start)
        if item.slot:
            filler = fillers[i]
            positions.append(start + filler.root)
            phrase.append(filler)
        else:
            positions.append(start)
            phrase.add(item.text, item.lemma, item.upos, item.dep, -1)
    starts.append(len(phrase.text))
    for item, position in zip(template.items, positions, strict=True):
        if item.head < 0:
            phrase.root = position
        else:
            phrase.head[position] = positions[item.head]
        if item.slot:
            # A name instead of an adjective is a compound.
            phrase.dep[position] = "compound" if item.dep == "amod" and phrase.upos[position] == "PROPN" else item.dep
        elif item.text == "a" and phrase.text[position + 1][0] in "AEIOaeio":
            phrase.text[position] = "an"
    for first, last, head in template.mentions:
        phrase.marks.append(_own_mention(phrase, starts[first], starts[last + 1], positions[head], scene))
    return phrase


def _own_mention(phrase: ParsedPhrase, start: int, end: int, head: int, scene: str) -> Mark:
    lemma = phrase.lemma[head]
    agreement = "it" if phrase.text[head] == lemma else "they"
    words = " ".join(phrase.text[start:end]).lower()
    return start, end, head, Traits(f"{lemma}#{scene}", agreement, lemma, words, phrase.definiteness(start))
