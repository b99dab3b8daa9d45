"""Event rules: what triggers an event, how a mention is described, and which mentions fill its roles."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Annotated, NoReturn

import msgspec

from corefsample._checks import shown
from corefsample.errors import InputError, ParameterError
from corefsample.syntax import SCHEMES, Scheme, path_labels
from events._yaml_file import read_yaml, typed

__all__ = ["Example", "Rule", "load_presets", "load_rules", "shipped_rules"]

_FOLDER = "data/rules"
DEFAULT_PRESET = "paper"

_UPOS = frozenset({"ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM", "PART", "PRON", "PROPN", "PUNCT"})
_UPOS |= {"SCONJ", "SYM", "VERB", "X"}

Name = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z][A-Za-z0-9_-]*$")]
Words = Annotated[list[Annotated[str, msgspec.Meta(min_length=1)]], msgspec.Meta(min_length=1)]


@dataclass(frozen=True, slots=True)
class Example:
    """An inline example of a rule: a parsed sentence and what each preset must find in it.

    Attributes
    ----------
    parse
        A line a token: number, word, lemma, part of speech, number of the head (0: root), label.
    scheme
        The dependency scheme of its labels.
    expect
        For each preset the codes of the countries with an event ("AAA>BBB" for two roles).
    coreferent
        Groups of token numbers whose mentions (the token with all below it) belong to one entity. Every other noun,
        name and pronoun is an entity of its own.
    words
        Country words of the example (word: code), instead of the shipped lexicon.
    """

    parse: str
    scheme: str
    expect: Mapping[str, tuple[str, ...]]
    coreferent: tuple[tuple[int, ...], ...] = ()
    words: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Rule:
    """One preset of one rule file.

    Attributes
    ----------
    name, preset, source
        Which rule, which preset, and the file it came from.
    lemmas, upos
        A trigger is a token with one of these lemmas (lower case) and one of these parts of speech.
    described
        For each scheme, the paths from a mention's head to a word that describes the mention.
    roles
        For each role and each scheme, the paths from the trigger to the head of a mention that fills the role.
    event
        The role whose entity is counted, or two roles whose pair is.
    examples
        Inline examples of the rule file, all presets.
    """

    name: str
    preset: str
    source: str
    lemmas: frozenset[str]
    upos: frozenset[str]
    described: Mapping[str, tuple[str, ...]]
    roles: Mapping[str, Mapping[str, tuple[str, ...]]]
    event: tuple[str, ...]
    examples: tuple[Example, ...] = ()

    def serves(self, scheme: str) -> bool:
        """Whether the rule has a path for each thing it looks for in documents of a scheme."""
        return bool(self.described[scheme]) and all(self.roles[role][scheme] for role in self.event)


class _Trigger(msgspec.Struct, forbid_unknown_fields=True):
    lemma: Words
    upos: Words = msgspec.field(default_factory=lambda: ["VERB"])


class _Preset(msgspec.Struct, forbid_unknown_fields=True):
    described: Words
    roles: dict[Name, Words]


class _Example(msgspec.Struct, forbid_unknown_fields=True):
    parse: str
    expect: dict[str, list[str]]
    scheme: str = "ud2"
    coreferent: list[list[int]] = msgspec.field(default_factory=list)
    words: dict[str, str] = msgspec.field(default_factory=dict)


class _RuleFile(msgspec.Struct, forbid_unknown_fields=True):
    name: Name
    trigger: _Trigger
    presets: Annotated[dict[Name, _Preset], msgspec.Meta(min_length=1)]
    version: int = 1
    description: str = ""
    event: Annotated[list[str], msgspec.Meta(min_length=1, max_length=2)] = msgspec.field(
        default_factory=lambda: ["agent"]
    )
    paths: dict[Name, dict[str, Words]] = msgspec.field(default_factory=dict)
    examples: list[_Example] = msgspec.field(default_factory=list)


def shipped_rules() -> tuple[str, ...]:
    """Names of the rules that come with the package."""
    folder = resources.files("events") / _FOLDER
    return tuple(sorted(entry.name.removesuffix(".yaml") for entry in folder.iterdir() if entry.name.endswith(".yaml")))


def load_rules(source: str | os.PathLike[str] = "attack", preset: str = DEFAULT_PRESET) -> Rule:
    """Load one preset of a rule.

    Parameters
    ----------
    source
        Name of a shipped rule, or path of a YAML file (anything with a separator or a .yaml or .yml ending).
    preset
        Name of one of the file's presets.

    Raises
    ------
    InputError
        If the file is missing or breaks the format: place, rule, value found.
    ParameterError
        If there is no shipped rule or no preset of this name.

    Notes
    -----
    The file's inline examples are carried along, and checked by `events.counting.check_examples`.
    """
    file, name = _file(source)
    return _rule(file, preset, name)


def load_presets(source: str | os.PathLike[str]) -> list[Rule]:
    """Load all presets of a rule; raises as `load_rules` does."""
    file, name = _file(source)
    return [_rule(file, preset, name) for preset in file.presets]


def _file(source: str | os.PathLike[str]) -> tuple[_RuleFile, str]:
    if not isinstance(source, (str, os.PathLike)):
        raise ParameterError(f"rule must be a name or a path, got {shown(source)}")
    name = os.fspath(source)
    if Path(name).suffix in (".yaml", ".yml") or os.sep in name:
        try:
            data = Path(name).read_bytes()
        except OSError as error:
            raise InputError(f"{name}: file must be readable, got: {error.strerror}") from None
    elif name in shipped_rules():
        data = (resources.files("events") / _FOLDER / f"{name}.yaml").read_bytes()
    else:
        raise ParameterError(
            f"rule must be one of {', '.join(shipped_rules())}, or a path to a YAML file, got {name!r}"
        )
    file = typed(name, read_yaml(name, data), _RuleFile)
    _validate(file, name)
    return file, name


def _rule(file: _RuleFile, preset: str, source: str) -> Rule:
    if preset not in file.presets:
        raise ParameterError(f"preset must be one of {', '.join(file.presets)} ({source}), got {preset!r}")
    chosen = file.presets[preset]
    return Rule(
        name=file.name,
        preset=preset,
        source=source,
        lemmas=frozenset(lemma.lower() for lemma in file.trigger.lemma),
        upos=frozenset(file.trigger.upos),
        described=_paths(file, chosen.described),
        roles={role: _paths(file, names) for role, names in chosen.roles.items()},
        event=tuple(file.event),
        examples=tuple(
            Example(
                parse=example.parse,
                scheme=example.scheme,
                expect={name: tuple(codes) for name, codes in example.expect.items()},
                coreferent=tuple(tuple(group) for group in example.coreferent),
                words=example.words,
            )
            for example in file.examples
        ),
    )


def _validate(file: _RuleFile, source: str) -> None:
    """Refuse what the types alone cannot: unknown schemes, paths, roles and presets."""

    def refuse(reason: str) -> NoReturn:
        raise InputError(f"{source}: {reason}")

    if file.version != 1:
        refuse(f"version must be 1, got {file.version}")
    for name, by_scheme in file.paths.items():
        for scheme, paths in by_scheme.items():
            if scheme not in SCHEMES:
                refuse(f"paths.{name}: scheme must be one of {', '.join(SCHEMES)}, got {scheme!r}")
            for path in paths:
                try:
                    labels = path_labels(path)
                except ParameterError as error:
                    refuse(f"paths.{name}.{scheme}: {error}")
                for label in labels:
                    if SCHEMES[scheme].reads(label.rstrip("*")) != label.rstrip("*"):
                        refuse(f"paths.{name}.{scheme}: labels must be of the scheme, got {label!r} in {path!r}")
    for upos in file.trigger.upos:
        if upos not in _UPOS:
            refuse(f"trigger.upos must be universal parts of speech ({' '.join(sorted(_UPOS))}), got {upos!r}")
    known = {*file.paths, *(name for scheme in SCHEMES.values() for name in scheme.paths)}
    for preset, content in file.presets.items():
        for role in file.event:
            if role not in content.roles:
                refuse(f"presets.{preset}.roles must hold the role of the event, {role!r}, got {list(content.roles)}")
        for name in (*content.described, *(name for names in content.roles.values() for name in names)):
            if name not in known:
                refuse(f"presets.{preset}: path must be one of {', '.join(sorted(known))}, got {name!r}")
    for number, example in enumerate(file.examples):
        if example.scheme not in SCHEMES:
            refuse(f"examples[{number}].scheme must be one of {', '.join(SCHEMES)}, got {example.scheme!r}")
        for name in example.expect:
            if name not in file.presets:
                refuse(f"examples[{number}].expect must name presets ({', '.join(file.presets)}), got {name!r}")


def _paths(file: _RuleFile, names: list[str]) -> dict[str, tuple[str, ...]]:
    """Paths of several names in each scheme; the file's own names come before the scheme's."""

    def of(name: str, scheme: Scheme) -> Sequence[str]:
        return file.paths[name].get(scheme.name, ()) if name in file.paths else scheme.paths.get(name, ())

    return {
        scheme.name: tuple(dict.fromkeys(path for name in names for path in of(name, scheme)))
        for scheme in SCHEMES.values()
    }
