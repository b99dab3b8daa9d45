"""Articles of simulated news: their countries and other entities, and sentences about them.

The words are in events/data/simulated_news.yaml and events/data/simulated_countries.yaml. Phrases are written in a
small notation, whose items are separated by blanks:

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

import datetime
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib import resources
from typing import Any, NamedTuple, TypeVar

import msgspec

Uniform = Callable[[], float]  # draws from [0, 1)
Choice = TypeVar("Choice")
NO_COUNTRY = ""

_CAN_BE_PRONOUNS = frozenset({"nsubj", "nsubj:pass", "obj", "obl", "obl:agent", "nmod"})
_RECENT = 2  # largest number of sentences from the last mention of an entity to a pronoun
_PRONOUN_OF_SUBJECT, _PRONOUN_OF_OTHERS, _PRONOUN_IF_POSSIBLE = 0.6, 0.25, 0.75
_SCENE = 10  # number of sentences after which some roles pass to other entities

_UPOS = {"V": "VERB", "N": "NOUN", "J": "ADJ", "R": "ADV", "PN": "PROPN", "PR": "PRON", "S": "SCONJ", "#": "NUM"}
_NOMINAL = frozenset({"NOUN", "PROPN", ""})  # a slot has no part of speech
_BEFORE_NOUNS = frozenset({"amod", "compound", "nummod", "nmod:poss"})


def pick(uniform: Uniform, choices: Sequence[Choice]) -> Choice:
    """Return one of the choices, each equally likely."""
    return choices[int(uniform() * len(choices))]


# --- notation ----------------------------------------------------------------------------------------------


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
    """A word of a phrase with its parse, or a slot of a template.

    `head` is the index of a word of the phrase, or -1 for the root; `slot` the name of a slot, and `manner` what its
    notation adds to the name.
    """

    text: str
    lemma: str
    upos: str
    dep: str
    head: int = -1
    slot: str = ""
    manner: str = ""


class Template(NamedTuple):
    """Words and slots of a phrase, and the first, last and head word of each mention without a slot."""

    words: tuple[Word, ...]
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


@cache
def parsed(notation: str) -> Template:
    """Read a template, which has exactly one root."""
    words, towards, open_positions, brackets = [], [], [], []
    pieces = notation.split()
    for position, (piece, after) in enumerate(zip(pieces, [*pieces[1:], ""], strict=True)):
        left, body, right = re.fullmatch(r"(\[*)(.+?)(\]*)", piece).groups()  # type: ignore[union-attr]
        open_positions += [position] * len(left)
        brackets += [(open_positions.pop(), position) for _ in right]
        text, *annotation = body.split("/")
        slot = re.fullmatch(r"\{(\w+)('s|!|\?)?\}", text)
        lemma = upos = ""
        if slot is None and annotation:
            text, _, lemma = text.partition("=")
            upos = _UPOS[annotation.pop(0)]
        elif slot is None:
            name = "to (infinitive)" if text == "to" and "/V" in after else text
            lemma, upos, *annotation = news_texts()["function_words"][name]
        dep, head = [*annotation, "root", "root"][:2]
        words.append(Word(text, lemma or text, upos, dep, -1, *(slot.groups("") if slot else ())))
        towards.append(head)
    (root,) = (position for position, word in enumerate(words) if word.dep == "root")
    for position, head in enumerate(towards):
        if position != root:
            words[position] = words[position]._replace(head=root if head == "root" else _head(words, position, head))
    mentions = []
    for first, last in brackets:
        inside = [p for p in range(first, last + 1) if not first <= words[p].head <= last]
        mentions.append((first, last, inside[0]))
    return Template(tuple(words), tuple(mentions))


def _head(words: Sequence[Word], position: int, towards: str) -> int:
    """Position of the head of a word: the next word of a kind, or the first that is named."""
    kinds: dict[str, Callable[[Word], bool]] = {
        "noun": lambda word: word.upos in _NOMINAL and word.dep not in _BEFORE_NOUNS,
        "verb": lambda word: word.upos == "VERB",
        "conjunct": lambda word: word.dep == "conj",
    }
    if towards in kinds:
        return next(p for p in range(position + 1, len(words)) if kinds[towards](words[p]))
    return next(p for p, word in enumerate(words) if (word.slot or word.text) == towards and word.manner != "'s")


def joined(template: Template, filler: Callable[[Word], ParsedPhrase], scene: str = "") -> ParsedPhrase:
    """Fill the slots of a template.

    Parameters
    ----------
    template
        Template that `parsed` returns.
    filler
        Function that returns the phrase for a slot; it is called for each slot in the order of the words.
    scene
        Name of the scene, because "the bridge" of one scene is not the bridge of another scene.
    """
    phrase = ParsedPhrase()
    words, starts, positions = phrase.words, [], []
    for item in template.words:
        insertion = filler(item) if item.slot else ParsedPhrase([item])
        starts.append(len(words))
        positions.append(len(words) + insertion.root)
        phrase.append(insertion)
    starts.append(len(words))
    for item, position in zip(template.words, positions, strict=True):
        word, dep = words[position], item.dep
        if item.slot and dep == "amod" and word.upos == "PROPN":
            dep = "compound"  # a name instead of an adjective
        text = "an" if item.text == "a" and words[position + 1].text[0] in "AEIOaeio" else word.text
        if item.head < 0:
            phrase.root = position
        words[position] = word._replace(text=text, dep=dep, head=positions[item.head] if item.head >= 0 else -1)
    for first, last, head_item in template.mentions:
        start, end, head = starts[first], starts[last + 1], positions[head_item]
        (text, definiteness), lemma = phrase.description(start, end), words[head].lemma
        agreement = "it" if words[head].text == lemma else "they"
        phrase.marks.append((start, end, head, Traits(f"{lemma}#{scene}", agreement, lemma, text, definiteness)))
    return phrase


# --- texts -------------------------------------------------------------------------------------------------


@cache
def news_texts() -> dict[str, Any]:
    """Kinds of entities, topics, and sentences with attacks, as the comments of the shipped file describe them."""
    return msgspec.yaml.decode(resources.files("events").joinpath("data", "simulated_news.yaml").read_bytes())  # type: ignore[no-any-return]


# --- countries ------------------------------------------------------------------------------------------


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
    episodes: tuple[tuple[datetime.date, datetime.date, float], ...] = ()
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
    return joined(parsed(notation), lambda item: _country_words(item, countries[item.slot.endswith("2")]))


def _country_words(item: Word, country: SimulatedCountry) -> ParsedPhrase:
    """Words of a country for a slot, by default its name. A name is a mention, an adjective is not."""
    slot = item.slot.rstrip("2")
    words = {"adj": country.adjective, "people": country.people, "abbr": country.abbreviation}.get(slot, country.name)
    is_name = slot in ("name", "abbr") or not words
    tokens = (words or country.name).split()
    if item.dep in ("amod", "compound", "conj"):  # before a noun, the country's own article is dropped
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


class _Entity:
    """An entity of an article, and the noun phrases of its first and its later mentions."""

    def __init__(self, name: str, countries: tuple[SimulatedCountry, ...], number: int, uniform: Uniform) -> None:
        kind = news_texts()["kinds"][name]
        noun = pick(uniform, kind["nouns"].split())
        self.key = countries[0].code if name == "country" else f"{name} {number}"
        # A key of the pronouns, or "" for no pronoun.
        self.agreement = pick(uniform, ("he", "she")) if kind["pronoun"] == "person" else kind["pronoun"]
        self.countries = countries
        self.last_sentence: int | None = None
        # The entity must have words for all slots of a noun phrase.
        self.first, self.later = (
            [text.replace("@", noun) for text in phrases if "{" not in text or len(countries) > text.count("2")]
            for phrases in (kind["first"], kind["later"])
        )


class _Cast:
    """Entities of an article by role, and the phrases of their next mentions."""

    def __init__(self, roles: str, countries: Sequence[SimulatedCountry], uniform: Uniform) -> None:
        self._countries = countries
        self._uniform = uniform
        self._choices = {role: kinds.split(",") for role, _, kinds in (each.partition(":") for each in roles.split())}
        self._entities: dict[str, _Entity] = {}
        self._earlier: list[_Entity] = []
        self.sentence = 0
        self.change(1.0)

    def change(self, share: float = 0.5) -> None:
        """Assign new entities to a share of the roles."""
        for role, choices in self._choices.items():
            if self._uniform() < share:
                self._entities[role] = self._entity(pick(self._uniform, choices))

    def _entity(self, spec: str) -> _Entity:
        name = spec.rstrip("123")
        countries = tuple(self._countries[int(digit) - 1] for digit in spec[len(name) :])
        for entity in self._earlier:
            if name == "country" and entity.key == countries[0].code:
                return entity
        entity = _Entity(name, countries, len(self._earlier) + 1, self._uniform)
        self._earlier.append(entity)
        return entity

    def recent(self, role: str) -> bool:
        """Whether a pronoun could refer to the entity in a role."""
        last_sentence = self._entities[role].last_sentence
        return last_sentence is not None and self.sentence - last_sentence <= _RECENT

    def sentence_from(self, template: Template) -> ParsedPhrase:
        """Fill the slots of a sentence."""
        phrase = joined(template, self._mention, str(self.sentence // _SCENE))
        self.sentence += 1
        return phrase

    def _mention(self, item: Word) -> ParsedPhrase:
        entity, is_possessive = self._entities[item.slot], item.manner == "'s"
        age = None if entity.last_sentence is None else self.sentence - entity.last_sentence
        entity.last_sentence = self.sentence
        if age is not None and entity.agreement and self._is_pronoun(item, entity.agreement, age):
            subject, object_form, possessive = news_texts()["pronouns"][entity.agreement]
            lemma = possessive if is_possessive else subject
            text = lemma if is_possessive or item.dep.startswith("nsubj") else object_form
            traits = Traits(entity.key, entity.agreement, subject, text, 1, pronoun=True)
            return ParsedPhrase([Word(text, lemma, "PRON", "root", -1)], [(0, 1, 0, traits)])
        notation = pick(self._uniform, entity.first if age is None else entity.later)
        return _noun_phrase(entity, notation, possessive=is_possessive)

    def _is_pronoun(self, item: Word, agreement: str, age: int) -> bool:
        dep, is_possessive = item.dep, item.manner == "'s"
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
    phrase = ParsedPhrase([*bare.words], [*bare.marks], bare.root)
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
    country = countries[0].code if re.search(r"\{(name|adj|people|abbr)[}']", notation) else NO_COUNTRY
    country += f"+{countries[1].code}" if "{adj2}" in notation else ""
    lemma = phrase.words[phrase.root].lemma
    traits = Traits(entity.key, entity.agreement, lemma, text, definiteness, country)
    phrase.marks.append((0, len(phrase.words), phrase.root, traits))
    return phrase


# --- articles ----------------------------------------------------------------------------------------------


def written(
    topic: str, countries: Sequence[SimulatedCountry], attacks: Sequence[str], n_mentions: int, uniform: Uniform
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
    texts = news_texts()["topics"][topic]
    cast, sentences = _Cast(texts["roles"], countries, uniform), texts["sentences"].splitlines()
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
