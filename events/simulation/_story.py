"""Articles of simulated news: their countries and other entities, and sentences about them.

The words are in events/data/simulated_news.yaml and events/data/simulated_countries.yaml.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources
from typing import TypeVar

import msgspec

from events.simulation._notation import NO_COUNTRY, Item, ParsedPhrase, Template, Traits, Word, joined, parsed

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
_RECENT = 2  # largest number of sentences from the last mention of an entity to a pronoun
_PRONOUN_OF_SUBJECT, _PRONOUN_OF_OTHERS, _PRONOUN_IF_POSSIBLE = 0.6, 0.25, 0.75
_FIRST_COUNTRY = re.compile(r"\{(name|adj|people|abbr)[}']")
_SCENE = 10  # number of sentences after which some roles pass to other entities
_CHANGE = 0.5  # share of the roles that pass to other entities


def pick(uniform: Uniform, choices: Sequence[Choice]) -> Choice:
    """Return one of the choices, each equally likely."""
    return choices[int(uniform() * len(choices))]


# --- texts -------------------------------------------------------------------------------------------------


class EntityKind(msgspec.Struct, frozen=True):
    """A kind of entities, which are mentioned by the same noun phrases.

    Attributes
    ----------
    pronoun
        Pronoun for an entity: they, it, person (he or she), or "" if pronouns never stand for it.
    nouns
        Nouns that can replace ``@``, separated by blanks.
    first, later
        Noun phrases for the first mention of an entity, and for later mentions; ``@`` stands for the noun.
    """

    pronoun: str
    nouns: str
    first: tuple[str, ...]
    later: tuple[str, ...]


class NewsTexts(msgspec.Struct, frozen=True):
    """Texts of simulated news.

    Attributes
    ----------
    kinds
        Kinds of entities by name.
    topics
        For each topic its "roles": letters of slots, each with the kinds of its entity, where digits are the numbers of
        the article's countries; and its "sentences" in the notation, one per line.
    attacks, other_attacks
        Sentences with an attack by the main country, and with other attacks, one per line.
    """

    kinds: dict[str, EntityKind]
    topics: dict[str, dict[str, str]]
    attacks: str
    other_attacks: str


@cache
def news_texts() -> NewsTexts:
    """Return the shipped texts."""
    data = resources.files("events").joinpath("data", "simulated_news.yaml").read_bytes()
    return msgspec.yaml.decode(data, type=NewsTexts)


# --- countries ------------------------------------------------------------------------------------------


Episode = tuple[datetime.date, datetime.date, float]


class SimulatedCountry(msgspec.Struct, frozen=True, eq=False, forbid_unknown_fields=True):
    """A country, or an organisation of states, in simulated news.

    Attributes
    ----------
    code
        Code of the country, unique among the countries of a simulation.
    name
        Name of the country, with its article if it has one, as "Iraq" and "the United States".
    adjective
        Adjective of the country, as "American"; by default, the name is used instead.
    people
        Plural noun for the people of the country, as "Americans"; by default, the name is used instead.
    abbreviation
        Short name with its article, as "the U.S."; by default, the name is used instead.
    rate
        Rate of the country's attacks relative to other countries, at least 0.
    episodes
        First day, last day and additional rate of each period with more attacks.
    opponents
        Codes of the countries that the country attacks; if none of them exists, it attacks any other country.
    since, until
        First and last day on which the country exists; None is no bound.
    """

    code: str
    name: str
    adjective: str = ""
    people: str = ""
    abbreviation: str = ""
    rate: float = 0.1
    episodes: tuple[Episode, ...] = ()
    opponents: tuple[str, ...] = ()
    since: datetime.date | None = None
    until: datetime.date | None = None

    def exists(self, day: datetime.date) -> bool:
        """Whether the country exists on a day."""
        return (self.since is None or self.since <= day) and (self.until is None or day <= self.until)


@cache
def default_countries() -> tuple[SimulatedCountry, ...]:
    """Thirty-one countries with invented attacks, in bursts, from 1990 to 1999."""
    data = resources.files("events").joinpath("data", "simulated_countries.yaml").read_bytes()
    return msgspec.yaml.decode(data, type=tuple[SimulatedCountry, ...])


@lru_cache(maxsize=2**15)
def _country_phrase(notation: str, countries: tuple[SimulatedCountry, ...]) -> ParsedPhrase:
    """Phrase of a template about an entity of these countries; it is cached, so callers must not change it."""
    items = enumerate(parsed(notation).items)
    fillers = {i: _country_words(item, countries[item.slot.endswith("2")]) for i, item in items if item.slot}
    return joined(parsed(notation), fillers)


def _country_words(item: Item, country: SimulatedCountry) -> ParsedPhrase:
    """Words of a country for a slot, by default its name. A name is a mention, an adjective is not."""
    slot = item.slot.rstrip("2")
    words = {"adj": country.adjective, "people": country.people, "abbr": country.abbreviation}.get(slot, country.name)
    is_name = slot in ("name", "abbr") or not words
    tokens = (words or country.name).split()
    if item.word.dep in ("amod", "compound", "conj"):  # before a noun, the country's own article is dropped
        tokens = [token for token in tokens if token != "the"]
    phrase = ParsedPhrase(root=len(tokens) - 1)
    for token in tokens[:-1]:
        upos, dep = ("DET", "det") if token == "the" else ("PROPN", "compound")
        phrase.words.append(Word(token, token, upos, dep, phrase.root))
    lemma = tokens[-1].removesuffix("s") if slot == "people" and not is_name else tokens[-1]
    phrase.words.append(Word(tokens[-1], lemma, "ADJ" if slot == "adj" and not is_name else "PROPN", "root", -1))
    if item.manner == "'s":
        _make_possessive(phrase)
    if is_name:
        traits = Traits(country.code, "it", lemma, " ".join(tokens).lower(), 1, country.code)
        phrase.marks.append((0, len(phrase.words), phrase.root, traits))
    return phrase


def _make_possessive(phrase: ParsedPhrase) -> None:
    text = "'" if phrase.words[phrase.root].text.endswith("s") else "'s"
    phrase.words.append(Word(text, "'s", "PART", "case", phrase.root))


# --- entities ----------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Entity:
    key: str
    agreement: str  # a key of _PRONOUNS, or "" for no pronoun
    countries: tuple[SimulatedCountry, ...]
    first: list[str]
    later: list[str]
    last_sentence: int | None = None


class _Cast:
    """Entities of an article by role, and the phrases of their next mentions."""

    def __init__(self, roles: str, countries: Sequence[SimulatedCountry], uniform: Uniform) -> None:
        self._countries = countries
        self._uniform = uniform
        self._choices = {role: kinds.split(",") for role, _, kinds in (each.partition(":") for each in roles.split())}
        self._entities: dict[str, _Entity] = {}
        self._by_country: dict[str, _Entity] = {}
        self._n_entities = 0
        self.sentence = 0
        self.change(1.0)

    def change(self, share: float = _CHANGE) -> None:
        """Assign new entities to a share of the roles."""
        for role, choices in self._choices.items():
            if self._uniform() < share:
                self._entities[role] = self._entity(pick(self._uniform, choices))

    def _entity(self, spec: str) -> _Entity:
        name = spec.rstrip("123")
        kind = news_texts().kinds[name]
        countries = tuple(self._countries[int(digit) - 1] for digit in spec[len(name) :])
        if name == "country" and countries[0].code in self._by_country:
            return self._by_country[countries[0].code]
        noun = pick(self._uniform, kind.nouns.split())
        agreement = pick(self._uniform, ("he", "she")) if kind.pronoun == "person" else kind.pronoun
        # The entity must have words for all slots of a noun phrase.
        first, later = (
            [
                template.replace("@", noun)
                for template in phrases
                if (len(countries) > 1 if "2" in template else countries or "{" not in template)
            ]
            for phrases in (kind.first, kind.later)
        )
        self._n_entities += 1
        entity = _Entity(f"{name} {self._n_entities}", agreement, countries, first, later)
        if name == "country":
            entity.key = countries[0].code
            self._by_country[entity.key] = entity
        return entity

    def recent(self, role: str) -> bool:
        """Whether a pronoun could refer to the entity in a role."""
        last_sentence = self._entities[role].last_sentence
        return last_sentence is not None and self.sentence - last_sentence <= _RECENT

    def sentence_from(self, template: Template) -> ParsedPhrase:
        """Fill the slots of a sentence."""
        fillers = {i: self._mention(item) for i, item in enumerate(template.items) if item.slot}
        scene = str(self.sentence // _SCENE)
        self.sentence += 1
        return joined(template, fillers, scene)

    def _mention(self, item: Item) -> ParsedPhrase:
        entity = self._entities[item.slot]
        age = None if entity.last_sentence is None else self.sentence - entity.last_sentence
        entity.last_sentence = self.sentence
        if age is not None and entity.agreement and self._is_pronoun(item, entity.agreement, age):
            return _pronoun(entity, item)
        notation = pick(self._uniform, entity.first if age is None else entity.later)
        return _noun_phrase(entity, notation, possessive=item.manner == "'s")

    def _is_pronoun(self, item: Item, agreement: str, age: int) -> bool:
        dep, is_possessive = item.word.dep, item.manner == "'s"
        if item.manner == "!" or (dep not in _CAN_BE_PRONOUNS and not is_possessive):
            return False
        if age == 0:
            return is_possessive
        likely = _PRONOUN_OF_SUBJECT if dep.startswith("nsubj") or is_possessive else _PRONOUN_OF_OTHERS
        if agreement == "it":
            likely /= 3.0
        if item.manner == "?":
            likely = _PRONOUN_IF_POSSIBLE
        return age <= _RECENT and self._uniform() < likely


def _noun_phrase(entity: _Entity, notation: str, *, possessive: bool) -> ParsedPhrase:
    """Noun phrase for an entity, with its mention."""
    countries = entity.countries
    bare = _country_phrase(notation, countries if "2" in notation else countries[:1])
    phrase = ParsedPhrase(root=bare.root)
    phrase.append(bare)
    end = len(phrase.words)
    if possessive:
        _make_possessive(phrase)
    if phrase.marks and phrase.marks[0][:2] == (0, end):
        # The name of the country itself is already a mention.
        start, _, head, traits = phrase.marks[0]
        phrase.marks[0] = (start, len(phrase.words), head, traits)
        return phrase
    text, definiteness = phrase.description(0, end)
    # Codes of the countries that describe the entity; the country of its location (name2) does not count.
    country = countries[0].code if _FIRST_COUNTRY.search(notation) else NO_COUNTRY
    country += f"+{countries[1].code}" if "{adj2}" in notation else ""
    lemma = phrase.words[phrase.root].lemma
    traits = Traits(entity.key, entity.agreement, lemma, text, definiteness, country)
    phrase.marks.append((0, len(phrase.words), phrase.root, traits))
    return phrase


def _pronoun(entity: _Entity, item: Item) -> ParsedPhrase:
    subject, object_form, possessive = _PRONOUNS[entity.agreement]
    text = possessive if item.manner == "'s" else subject if item.word.dep.startswith("nsubj") else object_form
    word = Word(text, possessive if item.manner == "'s" else subject, "PRON", "root", -1)
    traits = Traits(entity.key, entity.agreement, subject, text, 1, pronoun=True)
    return ParsedPhrase([word], [(0, 1, 0, traits)])


# --- articles ----------------------------------------------------------------------------------------------


def written(
    topic: str,
    countries: Sequence[SimulatedCountry],
    attacks: Sequence[str],
    n_mentions: int,
    uniform: Uniform,
) -> tuple[ParsedPhrase, list[int]]:
    """Write an article: its words with their mentions, in any order, and the sentence of each word.

    Parameters
    ----------
    topic
        Name of the topic in `news_texts`.
    countries
        Three countries: the main country, its opponent and its ally.
    attacks
        Sentences to insert in this order at random positions between the sentences of the topic.
    n_mentions
        Number of mentions near which the article ends, after all attacks.
    uniform
        Function that returns a uniform draw from [0, 1), for all random choices.
    """
    cast = _Cast(news_texts().topics[topic]["roles"], countries, uniform)
    sentences = news_texts().topics[topic]["sentences"].splitlines()
    # In reverse order: the number of mentions before each attack, and the attacks.
    thresholds = sorted((0.9 * n_mentions * uniform() for _ in attacks), reverse=True)
    waiting = list(reversed(attacks))
    story, numbers = ParsedPhrase(), list[int]()
    deck: list[str] = []
    while waiting or len(story.marks) < n_mentions - 1:
        if cast.sentence and cast.sentence % _SCENE == 0:
            cast.change()
        if waiting and len(story.marks) >= thresholds[-1] and cast.recent("A"):
            thresholds.pop()
            template = waiting.pop()
        else:
            deck = deck or list(sentences)
            template = deck.pop(int(uniform() * len(deck)))
        start, number = len(story.words), cast.sentence
        story.append(cast.sentence_from(parsed(template)))
        numbers += [number] * (len(story.words) - start)
        opening = story.words[start]
        story.words[start] = opening._replace(text=opening.text[0].upper() + opening.text[1:])
    return story, numbers
