"""Conditions on triggers: whether the text asserts an event, denies it, expects it, or asks for it.

Each condition has a list of paths in every scheme; it holds of a trigger from which one of them leads anywhere. In a
path, ``{name}`` stands for the lemmas of a word list, and ``{name}`` at its beginning for a list of first steps.

The paths of a user's file are read and checked here, too, because they can name the same lists.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources

import msgspec

from corefsample.errors import InputError, ParameterError
from corefsample.languages._language import ENGLISH, load_language
from corefsample.syntax._paths import follow, path_labels
from corefsample.syntax._schemes import LISTED, SCHEMES, WORDS, with_words
from corefsample.syntax._views import ParseView
from events._yaml_file import read_yaml, typed

_FILE = "data/conditions.yaml"


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition on triggers.

    Attributes
    ----------
    name
        negated, modal, future, conditional, desired, denied, question, reported, or a name of the user's.
    paths
        For each scheme, paths from the trigger; the condition holds if one of them ends at some token.
    """

    name: str
    paths: Mapping[str, tuple[str, ...]]

    def holds(self, view: ParseView, trigger: int, scheme: str) -> bool:
        """Whether the condition holds of the trigger, a token of a parse that is read in a scheme."""
        return bool(self.ends(view, trigger, scheme))

    def ends(self, view: ParseView, trigger: int, scheme: str) -> Iterable[int]:
        """Tokens to which the first path leads that leads to any; empty if the condition does not hold."""
        return next((ends for path in self.paths[scheme] if (ends := follow(path, view, trigger))), ())


class SharedFile(msgspec.Struct, forbid_unknown_fields=True):
    """A file of word lists, conditions and paths that rules share."""

    words: dict[str, list[str]] = {}
    conditions: dict[str, dict[str, list[str]]] = {}
    paths: dict[str, dict[str, list[str]]] = {}
    version: int = 1


class ConditionsFile(msgspec.Struct, forbid_unknown_fields=True):
    """By condition and scheme the paths, and word lists; `starts` are the first steps that a path can name."""

    conditions: dict[str, dict[str, list[str]]]
    words: dict[str, list[str]] = {}
    starts: dict[str, dict[str, list[str]]] = {}
    version: int = 1


@functools.cache
def _shipped() -> ConditionsFile:
    content = (resources.files("events") / _FILE).read_bytes()
    file = typed("conditions.yaml", read_yaml("conditions.yaml", content), ConditionsFile)
    file.words = {name: list(words) for name, words in WORDS.items()}
    return file


def shipped_words_and_conditions() -> tuple[dict[str, list[str]], dict[str, dict[str, list[str]]]]:
    """The word lists of English, and the paths of conditions as they are written in the package's file."""
    return _shipped().words, _shipped().conditions


@functools.cache
def shipped_conditions() -> Mapping[str, Condition]:
    """The conditions that come with the package, by name."""
    return _compiled(_shipped())


def conditions_with(
    words: Mapping[str, Sequence[str]], paths: Mapping[str, Mapping[str, Sequence[str]]], language: str = ""
) -> Conditions:
    """The shipped conditions, with a user's word lists and conditions in place of those with the same names.

    In another language than English, the words are those of the language. A list that it lacks is left out where a path
    names others beside it ("{one}|{other}"); other paths with such a list are left out.
    """
    if not (words or paths) and language in ("", ENGLISH):
        return shipped_conditions()
    return _compiled(_combined(words, paths, language))


Conditions = Mapping[str, Condition]


def faults_of_conditions(file: ConditionsFile, source: str) -> Iterator[InputError]:
    """The faults of the word lists and conditions of a user's file.

    A path must be in the notation, name known word lists, and have labels of its scheme.
    """
    for name, words in file.words.items():
        for word in words:
            if not word or any(char in " ,|[]{}=" for char in word):
                rule = "must be single lemmas without white space and , | [ ] { } ="
                yield InputError(f"words.{name} {rule}, got {word!r}", place=source)
    for name, by_scheme in file.conditions.items():
        yield from faults_of_paths(file.words, by_scheme, f"{source}: conditions.{name}")


def _combined(
    words: Mapping[str, Sequence[str]], paths: Mapping[str, Mapping[str, Sequence[str]]], language: str = ""
) -> ConditionsFile:
    shipped = _shipped()
    known: Mapping[str, Sequence[str]] = shipped.words
    if language not in ("", ENGLISH):
        known = {**dict.fromkeys(shipped.words, ()), **load_language(language).words}
    return ConditionsFile(
        words={name: list(lemmas) for name, lemmas in {**known, **words}.items()},
        conditions=shipped.conditions
        | {name: {scheme: list(each) for scheme, each in by_scheme.items()} for name, by_scheme in paths.items()},
        starts=shipped.starts,
    )


def _compiled(file: ConditionsFile) -> Conditions:
    return {
        name: Condition(
            name,
            {
                scheme: tuple(each for path in by_scheme.get(scheme, ()) for each in _expanded(path, scheme, file))
                for scheme in SCHEMES
            },
        )
        for name, by_scheme in file.conditions.items()
    }


def _expanded(path: str, scheme: str, file: ConditionsFile) -> list[str]:
    """The paths that one path stands for: with each of its first steps, and with the lemmas of its word lists."""
    start = LISTED.match(path)
    firsts = [""]
    if start and start.group(1) in file.starts:
        firsts = file.starts[start.group(1)].get(scheme, [])
        path = path[start.end() :]
    known = (_without_missing(first + path, file.words) for first in firsts)
    return [with_words(each, file.words) for each in known if each is not None]


def _without_missing(path: str, words: Mapping[str, Sequence[str]]) -> str | None:
    """A path without the word lists that a language lacks; None if nothing else is where one of them is."""
    for name in LISTED.findall(path):
        if not words.get(name, [""]):
            path = path.replace(f"|{{{name}}}", "").replace(f"{{{name}}}|", "")
            if f"{{{name}}}" in path:
                return None
    return path


def paths_with(words: Mapping[str, Sequence[str]], paths: Sequence[str], scheme: str, language: str = "") -> list[str]:
    """Expanded paths, with the word lists that `conditions_with` uses in place of their names."""
    file = _combined(words, {}, language)
    return [each for path in paths for each in _expanded(path, scheme, file)]


def faults_of_paths(
    words: Mapping[str, Sequence[str]], by_scheme: Mapping[str, Sequence[str]], place: str
) -> Iterator[InputError]:
    """The faults of paths that cannot be read, name unknown word lists, or have labels that are not of the scheme."""
    file = _combined(words, {})
    known = {*file.words, *file.starts}
    for scheme, paths in by_scheme.items():
        if scheme not in SCHEMES:
            rule = f"scheme must be one of {', '.join(SCHEMES)}"
            yield InputError(f"{rule}, got {scheme!r}", place=place)
            continue
        for path in paths:
            unknown = [part for part in LISTED.findall(path) if part not in known]
            for part in unknown:
                rule = f"word list must be one of {', '.join(sorted(known))}"
                yield InputError(f"{rule}, got {part!r}", place=f"{place}.{scheme}")
            for each in [] if unknown else _expanded(path, scheme, file):
                yield from _faults_of_path(each, scheme, f"{place}.{scheme}")


def _faults_of_path(path: str, scheme: str, place: str) -> Iterator[InputError]:
    try:
        labels = path_labels(path)
    except ParameterError as error:
        yield error.as_input_error(place)
        return
    for label in labels:
        if SCHEMES[scheme].reads(label.rstrip("*")) != label.rstrip("*"):
            yield InputError(f"labels must be of the scheme, got {label!r} in {path!r}", place=place)
