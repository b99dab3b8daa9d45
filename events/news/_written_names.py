"""Names and common words in the lists of this project: countries, capitals, leaders, given names, the calendar."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources
from typing import Any

from corefsample.languages._language import load_language

_CALENDAR = (
    "January February April June July August September October November December Monday Tuesday Wednesday Thursday "
    "Friday Saturday Sunday Christmas Easter Ramadan"
)
_LISTS = (
    ("corefsample", "languages/en/countries.yaml"),
    ("events", "data/capitals.yaml"),
    ("events", "data/leaders.yaml"),
)


def words_of(text: str) -> frozenset[str]:
    """The words of a text, as a set."""
    return frozenset(text.split())


def _entries(package: str, path: str) -> Iterator[Mapping[str, Any]]:
    import yaml

    text = resources.files(package).joinpath(path).read_bytes()
    lexicon = yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    yield from lexicon["entries"]
    yield from lexicon.get("titles", ())


@cache
def place_names() -> frozenset[str]:
    """Names of countries, of their people and of their capitals, in lower case."""
    names = (name for path in _LISTS[:2] for entry in _entries(*path) for name in _names(entry))
    return frozenset(name.lower() for name in names)


@cache
def capital_cities() -> frozenset[str]:
    """Names of capitals, in lower case."""
    return frozenset(name.lower() for entry in _entries(*_LISTS[1]) for name in _names(entry))


@cache
def written_names() -> Mapping[tuple[str, ...], str]:
    """Names in the form in which sentences write them, by their words in lower case."""
    names = [name for path in _LISTS for entry in _entries(*path) for name in _names(entry)]
    people = load_language("en").given_names.values()
    # The entry "President Bush" shows how "Bush" is written.
    names += [name.split()[-1] for name in names if name.startswith(("President ", "Mr. ", "Prime Minister "))]
    names += [*_CALENDAR.split(), *(name.capitalize() for group in people for name in group)]
    forms: dict[tuple[str, ...], str] = {}
    for name in names:  # "TURKEY" is listed for headlines; sentences write the mixed form, which comes first
        forms.setdefault(tuple(re.findall(r"\w+|\S", name.lower())), name)
    return forms


def _names(entry: Mapping[str, Any]) -> Iterator[str]:
    for field in ("aliases", "cased", "title"):
        names = entry.get(field, ())
        yield from [names] if isinstance(names, str) else names


@cache
def _cased_names() -> re.Pattern[str]:
    """Pattern of names of countries, in lower case, that a lexicon matches only with a capital; no common words."""
    entries = list(_entries(*_LISTS[0]))
    in_any_case = {name.lower() for entry in entries for name in entry.get("aliases", ())}
    cased = {name.lower() for entry in entries for name in entry.get("cased", ()) if not name.isupper()}
    names = sorted(cased - in_any_case - words_of("pole poles polish jersey"))
    return re.compile(rf"\b(?:the us|{'|'.join(map(re.escape, names))})\b")


def has_lost_name(text: str) -> bool:
    """Whether a text in lower case has a name that a lexicon matches only with its capital: "turkey", "the us"."""
    return bool(_cased_names().search(text))


@cache
def common_words() -> frozenset[str]:
    """Words in lower case from the lists of nouns (with plurals), of common words, and from the examples of rules."""
    data = resources.files("events").joinpath("data")
    lines = data.joinpath("common_words.txt").read_text(encoding="utf-8").splitlines()
    listed = {word for line in lines if not line.startswith("#") for word in line.split()}
    nouns = {noun for group in load_language("en").nouns.values() for noun in group}
    rules = (file.read_text(encoding="utf-8") for file in data.joinpath("rules").iterdir() if file.is_file())
    examples = {word for text in rules for word in re.findall(r"\b[a-z]{3,}\b", text)}
    return frozenset(listed | nouns | {f"{noun}s" for noun in nouns} | examples)
