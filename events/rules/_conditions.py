"""Conditions on triggers: whether the text asserts an event, denies it, expects it, or asks for it.

Each condition has a list of paths in every scheme; it holds for a trigger from which one of the paths leads to a token.
In a path, ``{name}`` stands for the lemmas of a word list, and ``{name}`` at its beginning for a list of first steps.

The paths of a user's file are read and checked here, too, because they can name the same lists.
"""

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources

import msgspec

from corefsample.errors import InputError, ParameterError
from corefsample.languages._language import ENGLISH, load_language
from corefsample.syntax._paths import ParseView, PathGroups, follow, passable, passable_each, path_labels
from corefsample.syntax._schemes import LISTED, SCHEMES, WORDS, with_words
from events._yaml_file import read_yaml, typed

_FILE = "data/conditions.yaml"


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition on triggers.

    Attributes
    ----------
    name
        Name of the condition: negated, modal, future, conditional, desired, denied, question, reported, or a name that
        a rule file defines.
    paths
        Paths from the trigger, by the scheme; the condition holds if one of them leads to a token.
    """

    name: str
    paths: Mapping[str, tuple[str, ...]]

    def holds(self, view: ParseView, trigger: int, scheme: str) -> bool:
        """Whether the condition holds for a trigger, a token of a parse that is read in a scheme."""
        return bool(self.ends(view, trigger, scheme))

    def ends(self, view: ParseView, trigger: int, scheme: str) -> Iterable[int]:
        """Ends of the first path that leads to a token; empty if the condition does not hold."""
        paths = passable(self.paths[scheme], view, trigger)
        return next((ends for path in paths if (ends := follow(path, view, trigger))), ())


Conditions = Mapping[str, Condition]  # by name


def holding(conditions: PathGroups, view: ParseView, trigger: int) -> tuple[str, ...]:
    """Names of the conditions that hold for a trigger, given their paths in the scheme of the view."""
    possible = passable_each(conditions, view.labels[trigger], view.below(trigger))
    return tuple(name for name, paths in possible if any(follow(path, view, trigger) for path in paths))


class ConditionsFile(msgspec.Struct, forbid_unknown_fields=True):
    """Word lists, paths of conditions and of roles by scheme, and `starts`: lists of first steps of paths."""

    words: dict[str, list[str]] = {}
    conditions: dict[str, dict[str, list[str]]] = {}
    paths: dict[str, dict[str, list[str]]] = {}
    starts: dict[str, dict[str, list[str]]] = {}
    version: int = 1


@functools.cache
def shipped_file() -> ConditionsFile:
    """The conditions that come with the package, and the English word lists, before their names are replaced."""
    data = (resources.files("events") / _FILE).read_bytes()
    file = typed("conditions.yaml", read_yaml("conditions.yaml", data), ConditionsFile)
    file.words = {name: list(words) for name, words in WORDS.items()}
    return file


@functools.cache
def shipped_conditions() -> Mapping[str, Condition]:
    """The conditions that come with the package, by name."""
    return _compiled(shipped_file())


def conditions_with(
    words: Mapping[str, Sequence[str]], paths: Mapping[str, Mapping[str, Sequence[str]]], language: str = ""
) -> Conditions:
    """Shipped conditions, in which a user's word lists and conditions replace shipped ones of the same name.

    For another language than English, the word lists of this language are used. If the language lacks a word list, the
    list is removed from alternatives ("{one}|{other}"), and paths with the list alone are left out.
    """
    if not (words or paths) and language in ("", ENGLISH):
        return shipped_conditions()
    return _compiled(_combined(words, paths, language))


def _combined(
    words: Mapping[str, Sequence[str]], paths: Mapping[str, Mapping[str, Sequence[str]]], language: str = ""
) -> ConditionsFile:
    shipped = shipped_file()
    word_lists: Mapping[str, Sequence[str]] = shipped.words
    if language not in ("", ENGLISH):
        word_lists = {**dict.fromkeys(shipped.words, ()), **load_language(language).words}
    return ConditionsFile(
        words={name: list(lemmas) for name, lemmas in {**word_lists, **words}.items()},
        conditions=shipped.conditions
        | {name: {scheme: [*items] for scheme, items in by_scheme.items()} for name, by_scheme in paths.items()},
        starts=shipped.starts,
    )


def _compiled(file: ConditionsFile) -> Conditions:
    return {
        name: Condition(
            name,
            {
                scheme: tuple(full for path in by_scheme.get(scheme, ()) for full in _expanded(path, scheme, file))
                for scheme in SCHEMES
            },
        )
        for name, by_scheme in file.conditions.items()
    }


def _expanded(path: str, scheme: str, file: ConditionsFile) -> list[str]:
    """Paths that a path with names of lists stands for: one for each first step, with the lemmas of word lists."""
    list_name = LISTED.match(path)
    first_steps = [""]
    if list_name and list_name.group(1) in file.starts:
        first_steps = file.starts[list_name.group(1)].get(scheme, [])
        path = path[list_name.end() :]
    candidates = (_without_missing(step + path, file.words) for step in first_steps)
    return [with_words(candidate, file.words) for candidate in candidates if candidate is not None]


def _without_missing(path: str, words: Mapping[str, Sequence[str]]) -> str | None:
    """A path without the word lists that a language lacks; None if such a list has no alternative in the path."""
    for name in LISTED.findall(path):
        if not words.get(name, [""]):
            path = path.replace(f"|{{{name}}}", "").replace(f"{{{name}}}|", "")
            if f"{{{name}}}" in path:
                return None
    return path


def paths_with(words: Mapping[str, Sequence[str]], paths: Sequence[str], scheme: str, language: str = "") -> list[str]:
    """Paths in which names of lists are replaced by the word lists that `conditions_with` uses."""
    file = _combined(words, {}, language)
    return [expanded for path in paths for expanded in _expanded(path, scheme, file)]


def check_words_and_paths(
    words: Mapping[str, Sequence[str]], lists: Mapping[str, Mapping[str, Mapping[str, Sequence[str]]]], source: str
) -> None:
    """Check the word lists of a file, and its paths by scheme, by name, and by the key `paths` or `conditions`.

    Raises
    ------
    InputError
        If a lemma cannot stand in a path, or a path does not follow the notation, names an unknown word list, or has
        labels of another scheme.
    """
    for name, lemmas in words.items():
        for lemma in lemmas:
            if not lemma or any(char in " ,|[]{}=" for char in lemma):
                rule = "must be single lemmas without white space and , | [ ] { } ="
                raise InputError(f"words.{name} {rule}, got {lemma!r}", place=source)
    file = _combined(words, {})
    list_names = {*file.words, *file.starts}
    for key, name, scheme, paths in (
        (key, name, scheme, paths)
        for key, by_name in lists.items()
        for name, by_scheme in by_name.items()
        for scheme, paths in by_scheme.items()
    ):
        if scheme not in SCHEMES:
            rule = f"scheme must be one of {', '.join(SCHEMES)}"
            raise InputError(f"{rule}, got {scheme!r}", place=f"{source}: {key}.{name}")
        location = f"{source}: {key}.{name}.{scheme}"
        for path in paths:
            for list_name in LISTED.findall(path):
                if list_name not in list_names:
                    rule = f"word list must be one of {', '.join(sorted(list_names))}"
                    raise InputError(f"{rule}, got {list_name!r}", place=location)
            for expanded in _expanded(path, scheme, file):
                try:
                    labels = path_labels(expanded)
                except ParameterError as error:
                    raise error.as_input_error(location) from None
                for label in labels:
                    if SCHEMES[scheme].reads(label.rstrip("*")) != label.rstrip("*"):
                        message = f"labels must be of the scheme, got {label!r} in {expanded!r}"
                        raise InputError(message, place=location)
