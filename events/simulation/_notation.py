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
_SLOT = re.compile(r"\{(\w+)('s|!|\?)?\}")


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


class Word(NamedTuple):
    """A word of a phrase with its parse; `head` is the index of a word of the phrase, or -1 for the root."""

    text: str
    lemma: str
    upos: str
    dep: str
    head: int


class Item(NamedTuple):
    """A word of a template, or a slot if `slot` is not empty; heads are indices of items."""

    word: Word
    slot: str
    manner: str


class Template(NamedTuple):
    """Items of a phrase, and the first, last and head item of each mention without a slot."""

    items: tuple[Item, ...]
    mentions: tuple[tuple[int, int, int], ...]


@dataclass(slots=True)
class ParsedPhrase:
    """Words with their parse, mentions, and the index of the root."""

    words: list[Word] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    root: int = 0

    def append(self, phrase: ParsedPhrase) -> None:
        """Append all words and mentions of another phrase, which stays unchanged."""
        start = len(self.words)
        self.words += [word if word.head < 0 else word._replace(head=start + word.head) for word in phrase.words]
        self.marks += [(start + a, start + b, start + head, traits) for a, b, head, traits in phrase.marks]

    def description(self, start: int, end: int) -> tuple[str, int]:
        """Text of a noun phrase in lower case, and its definiteness: see `Traits`."""
        first = self.words[start]
        is_definite = first.upos in ("PROPN", "PRON") or first.text in ("the", "these")
        text = " ".join(word.text for word in self.words[start:end]).lower()
        return text, -1 if first.lemma == "a" else int(is_definite)


# --- reading -----------------------------------------------------------------------------------------------


@cache
def parsed(notation: str) -> Template:
    """Read a template, which has exactly one root."""
    pieces, open_positions, brackets = [], [], []
    for position, piece in enumerate(notation.split()):
        left, body, right = _ITEM.fullmatch(piece).groups()  # type: ignore[union-attr]
        pieces.append(body)
        open_positions += [position] * len(left)
        brackets += [(open_positions.pop(), position) for _ in right]
    raw = [_fields(pieces, position) for position in range(len(pieces))]
    (root,) = (position for position, (*_, dep, _) in enumerate(raw) if dep == "root")
    items = []
    for position, (text, lemma, upos, dep, towards) in enumerate(raw):
        later = range(position + 1, len(raw))
        if dep == "root":
            head = -1
        elif towards == "root":
            head = root
        elif towards == "noun":
            head = next(p for p in later if raw[p][2] in _NOMINAL and raw[p][3] not in _BEFORE_NOUNS)
        elif towards == "verb":
            head = next(p for p in later if raw[p][2] == "VERB")
        elif towards == "conjunct":
            head = next(p for p in later if raw[p][3] == "conj")
        else:
            head = next(p for p, other in enumerate(raw) if re.sub(r"[{}!?]", "", other[0]) == towards)
        slot, manner = _SLOT.fullmatch(text).groups("") if text.startswith("{") else ("", "")  # type: ignore[union-attr]
        items.append(Item(Word(text, lemma, upos, dep, head), slot, manner))
    mentions = []
    for first, last in brackets:
        inside = [p for p in range(first, last + 1) if not first <= items[p].word.head <= last]
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


def _fields(pieces: Sequence[str], position: int) -> tuple[str, str, str, str, str]:
    """Text, lemma, part of speech, label and kind of the head of an item."""
    word, *annotation = pieces[position].split("/")
    if word.startswith("{"):
        text, lemma, upos = word, "", ""
    elif annotation:
        text, _, lemma = word.partition("=")
        upos = _UPOS[annotation.pop(0)]
    else:
        infinitive = word == "to" and "/V" in pieces[position + 1]
        return word, *(_INFINITIVE if infinitive else _function_words()[word])
    dep, towards = (*annotation, *("root", "root")[len(annotation) :])
    return text, lemma or text, upos, dep, towards


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
    words, starts, positions = phrase.words, [], []
    for i, item in enumerate(template.items):
        starts.append(len(words))
        positions.append(len(words) + (fillers[i].root if item.slot else 0))
        if item.slot:
            phrase.append(fillers[i])
        else:
            words.append(item.word)
    starts.append(len(words))
    for item, position in zip(template.items, positions, strict=True):
        word, (text, _, _, dep, head) = words[position], item.word
        if item.slot and dep == "amod" and word.upos == "PROPN":
            dep = "compound"  # a name instead of an adjective
        text = "an" if text == "a" and words[position + 1].text[0] in "AEIOaeio" else word.text
        if head < 0:
            phrase.root = position
        words[position] = word._replace(text=text, dep=dep, head=positions[head] if head >= 0 else -1)
    for first, last, head_item in template.mentions:
        start, end, head = starts[first], starts[last + 1], positions[head_item]
        (text, definiteness), lemma = phrase.description(start, end), words[head].lemma
        agreement = "it" if words[head].text == lemma else "they"
        phrase.marks.append((start, end, head, Traits(f"{lemma}#{scene}", agreement, lemma, text, definiteness)))
    return phrase
