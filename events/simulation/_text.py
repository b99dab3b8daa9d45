"""Texts of simulated news: kinds of entities, and sentences about them, from events/data/simulated_news.yaml."""

from __future__ import annotations

from functools import cache
from importlib import resources

import msgspec


class Kind(msgspec.Struct, frozen=True):
    """Entities with the same noun phrases.

    Attributes
    ----------
    pronoun
        Pronoun for one: they, it, person (he or she), or empty for none.
    nouns
        Choices for ``@``, separated by blanks.
    first, later
        Noun phrases that introduce an entity, and that return to it; ``@`` is the noun.
    """

    pronoun: str
    nouns: str
    first: tuple[str, ...]
    later: tuple[str, ...]


class Topic(msgspec.Struct, frozen=True):
    """A topic of articles.

    Attributes
    ----------
    roles
        Letters of slots, each with kinds to choose from; digits are the numbers of the article's countries.
    sentences
        One per line.
    """

    roles: str
    sentences: str


class NewsTexts(msgspec.Struct, frozen=True):
    """Kinds and topics by name, and sentences with an attack, one per line."""

    kinds: dict[str, Kind]
    topics: dict[str, Topic]
    attacks: str
    other_attacks: str


@cache
def news_texts() -> NewsTexts:
    """Return the shipped texts."""
    content = resources.files("events").joinpath("data", "simulated_news.yaml").read_bytes()
    return msgspec.yaml.decode(content, type=NewsTexts)
