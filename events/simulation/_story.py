"""Articles of simulated news: who is in them, and sentence after sentence about them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from events.simulation._countries import SimulatedCountry
from events.simulation._notation import NO_COUNTRY, Item, Mark, Phrase, Template, Traits, joined, parsed
from events.simulation._text import KINDS, TOPICS

__all__ = ["PhraseBook", "Story", "Uniform", "pick", "written"]

Uniform = Callable[[], float]  # draws from [0, 1)
Choice = TypeVar("Choice")

# agreement: (subject, object, possessive)
_PRONOUNS = {
    "they": ("they", "them", "their"),
    "it": ("it", "it", "its"),
    "he": ("he", "him", "his"),
    "she": ("she", "her", "her"),
}
_CAN_BE_PRONOUNS = frozenset({"nsubj", "nsubj:pass", "obj", "obl", "obl:agent", "nmod"})
_RECENT = 2  # sentences over which a pronoun reaches
_PRONOUN_OF_SUBJECT, _PRONOUN_OF_OTHERS, _PRONOUN_WHERE_LIKED = 0.6, 0.25, 0.75
_FIRST_COUNTRY = re.compile(r"\{(name|adj|people|abbr)[}']")
_SCENE = 10  # sentences before some of those spoken of change
_CHANGE = 0.5  # share that does


def pick(uniform: Uniform, choices: Sequence[Choice]) -> Choice:
    """Return one of the choices, each equally likely."""
    return choices[int(uniform() * len(choices))]


# --- countries' words --------------------------------------------------------------------------------------


class PhraseBook:
    """Noun phrases with the words of countries, each put together once.

    Countries' codes are the key: one book serves one set of countries.
    """

    def __init__(self) -> None:
        self._phrases: dict[tuple[str, ...], Phrase] = {}

    def phrase(self, notation: str, countries: tuple[SimulatedCountry, ...]) -> Phrase:
        """Phrase of a template about an entity of these countries."""
        said = countries if "2" in notation else countries[:1]
        key = (notation, *(country.code for country in said))
        found = self._phrases.get(key)
        if found is None:
            template = parsed(notation)
            fillers = {
                i: _country_words(item, countries[item.slot.endswith("2")])
                for i, item in enumerate(template.items)
                if item.slot
            }
            found = self._phrases[key] = joined(template, fillers)
        return found


def _country_words(item: Item, country: SimulatedCountry) -> Phrase:
    """Words of a country for a slot, its name where it has no such words. A name is a mention, an adjective is not."""
    slot = item.slot.rstrip("2")
    words = {"adj": country.adjective, "people": country.people, "abbr": country.abbreviation}.get(slot, country.name)
    named = slot in ("name", "abbr") or not words
    parts = (words or country.name).split()
    if item.dep in ("amod", "compound", "conj"):  # before a noun, which has an article of its own or none
        parts = [part for part in parts if part != "the"]
    phrase = Phrase(root=len(parts) - 1)
    for part in parts[:-1]:
        phrase.add(part, part, *(("DET", "det") if part == "the" else ("PROPN", "compound")), phrase.root)
    lemma = parts[-1].removesuffix("s") if slot == "people" and not named else parts[-1]
    phrase.add(parts[-1], lemma, "ADJ" if slot == "adj" and not named else "PROPN", "root", -1)
    text = " ".join(parts).lower()
    if item.manner == "'s":
        _make_possessive(phrase)
    if named:
        traits = Traits(country.code, "it", lemma, text, 1, country.code)
        phrase.marks.append((0, len(phrase.text), phrase.root, traits))
    return phrase


def _make_possessive(phrase: Phrase) -> None:
    phrase.add("'" if phrase.text[phrase.root].endswith("s") else "'s", "'s", "PART", "case", phrase.root)


# --- entities ----------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Entity:
    key: str
    agreement: str  # a key of _PRONOUNS, or empty
    countries: tuple[SimulatedCountry, ...]
    first: list[str]
    later: list[str]
    last_sentence: int | None = None
    named: dict[tuple[str, str], Phrase] = field(default_factory=dict)  # phrases said of it before


@dataclass(slots=True)
class Story:
    """The text of an article and its mentions, in no particular order."""

    words: Phrase = field(default_factory=Phrase)
    sent: list[int] = field(default_factory=list)

    @property
    def marks(self) -> list[Mark]:
        """Mentions so far."""
        return self.words.marks

    def add(self, sentence: Phrase) -> None:
        """Add a sentence."""
        number = self.sent[-1] + 1 if self.sent else 0
        start = len(self.words.text)
        self.words.append(sentence)
        self.sent += [number] * len(sentence.text)
        opening = self.words.text[start]
        self.words.text[start] = opening[0].upper() + opening[1:]


class _Cast:
    """Who fills which role, and how each is spoken of next."""

    def __init__(self, roles: str, countries: Sequence[SimulatedCountry], book: PhraseBook, uniform: Uniform) -> None:
        self._countries = countries
        self._book = book
        self._uniform = uniform
        self._choices = {role: kinds.split(",") for role, _, kinds in (each.partition(":") for each in roles.split())}
        self._entities: dict[str, _Entity] = {}
        self._by_country: dict[str, _Entity] = {}
        self._n_entities = 0
        self.sentence = 0
        self.change(1.0)

    def change(self, share: float = _CHANGE) -> None:
        """Give some roles to somebody else."""
        for role, choices in self._choices.items():
            if self._uniform() < share:
                self._entities[role] = self._entity(pick(self._uniform, choices))

    def _entity(self, spec: str) -> _Entity:
        name = spec.rstrip("123")
        kind = KINDS[name]
        countries = tuple(self._countries[int(digit) - 1] for digit in spec[len(name) :])
        if name == "country" and countries[0].code in self._by_country:
            return self._by_country[countries[0].code]
        noun = pick(self._uniform, kind.nouns.split())
        agreement = pick(self._uniform, ("he", "she")) if kind.pronoun == "person" else kind.pronoun
        first, later = (
            [each.replace("@", noun) for each in phrases.split("|") if _sayable(each, len(countries))]
            for phrases in (kind.first, kind.later)
        )
        self._n_entities += 1
        entity = _Entity(f"{name} {self._n_entities}", agreement, countries, first, later)
        if name == "country":
            entity.key = countries[0].code
            self._by_country[entity.key] = entity
        return entity

    def recent(self, role: str) -> bool:
        """Whether a pronoun could reach whoever has a role."""
        before = self._entities[role].last_sentence
        return before is not None and self.sentence - before <= _RECENT

    def sentence_from(self, template: Template) -> Phrase:
        """Fill a sentence's slots."""
        fillers = {i: self._spoken(item) for i, item in enumerate(template.items) if item.slot}
        scene = str(self.sentence // _SCENE)
        self.sentence += 1
        return joined(template, fillers, scene)

    def _spoken(self, item: Item) -> Phrase:
        entity = self._entities[item.slot]
        before, entity.last_sentence = entity.last_sentence, self.sentence
        ago = None if before is None else self.sentence - before
        if ago is not None and entity.agreement and self._says_pronoun(item, entity.agreement, ago):
            return _pronoun(entity, item)
        notation = pick(self._uniform, entity.first if ago is None else entity.later)
        found = entity.named.get((notation, item.manner))
        if found is None:
            found = self._named(entity, notation, possessive=item.manner == "'s")
            entity.named[notation, item.manner] = found
        return found

    def _says_pronoun(self, item: Item, agreement: str, ago: int) -> bool:
        if item.manner == "!" or (item.dep not in _CAN_BE_PRONOUNS and item.manner != "'s"):
            return False
        if ago == 0:
            return item.manner == "'s"
        likely = _PRONOUN_OF_SUBJECT if item.dep.startswith("nsubj") or item.manner == "'s" else _PRONOUN_OF_OTHERS
        if agreement == "it":
            likely /= 3.0
        if item.manner == "?":
            likely = _PRONOUN_WHERE_LIKED
        return ago <= _RECENT and self._uniform() < likely

    def _named(self, entity: _Entity, notation: str, *, possessive: bool) -> Phrase:
        """Noun phrase for an entity, with the mention that it is."""
        known = self._book.phrase(notation, entity.countries)
        phrase = Phrase(root=known.root)
        phrase.append(known)
        end = len(phrase.text)
        if possessive:
            _make_possessive(phrase)
        if phrase.marks and phrase.marks[0][:2] == (0, end):
            # the country itself: its name is the mention already
            start, _, head, traits = phrase.marks[0]
            phrase.marks[0] = (start, len(phrase.text), head, traits)
            return phrase
        traits = Traits(
            entity.key,
            entity.agreement,
            phrase.lemma[phrase.root],
            " ".join(phrase.text[:end]).lower(),
            phrase.definiteness(),
            _country_of(notation, entity.countries),
        )
        phrase.marks.append((0, len(phrase.text), phrase.root, traits))
        return phrase


def _sayable(notation: str, n_countries: int) -> bool:
    return n_countries > 1 if "2" in notation else n_countries > 0 or "{" not in notation


def _country_of(notation: str, countries: tuple[SimulatedCountry, ...]) -> str:
    """Countries that a noun phrase describes its entity as; one where it only is (name2) does not count."""
    first = countries[0].code if _FIRST_COUNTRY.search(notation) else NO_COUNTRY
    return f"{first}+{countries[1].code}" if "{adj2}" in notation else first


def _pronoun(entity: _Entity, item: Item) -> Phrase:
    subject, other, possessive = _PRONOUNS[entity.agreement]
    text = possessive if item.manner == "'s" else subject if item.dep.startswith("nsubj") else other
    phrase = Phrase()
    phrase.add(text, possessive if item.manner == "'s" else subject, "PRON", "root", -1)
    traits = Traits(entity.key, entity.agreement, subject, text, 1, pronoun=True)
    phrase.marks.append((0, 1, 0, traits))
    return phrase


# --- articles ----------------------------------------------------------------------------------------------


def written(
    topic: str,
    countries: Sequence[SimulatedCountry],
    attacks: Sequence[str],
    n_mentions: int,
    book: PhraseBook,
    uniform: Uniform,
) -> Story:
    """Write an article.

    Parameters
    ----------
    topic
        A key of `TOPICS`.
    countries
        Three countries: the one that matters most, one against it, one beside it.
    attacks
        Sentences to bring in besides the topic's own, in this order, at places that `uniform` chooses.
    n_mentions
        The article ends near this many mentions, and not before all attacks are in.
    book, uniform
        Phrases of these countries; the source of all choices.
    """
    cast = _Cast(TOPICS[topic].roles, countries, book, uniform)
    sentences = TOPICS[topic].sentences.strip().splitlines()
    waiting = sorted((0.9 * n_mentions * uniform() for _ in attacks), reverse=True)
    coming = list(reversed(attacks))
    story = Story()
    deck: list[str] = []
    while coming or len(story.marks) < n_mentions - 1:
        if cast.sentence and cast.sentence % _SCENE == 0:
            cast.change()
        if coming and len(story.marks) >= waiting[-1] and cast.recent("A"):
            waiting.pop()
            sentence = coming.pop()
        else:
            deck = deck or list(sentences)
            sentence = deck.pop(int(uniform() * len(deck)))
        story.add(cast.sentence_from(parsed(sentence)))
    return story
