"""Event rules: the triggers of an event, the descriptions of mentions, and the roles that mentions fill."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Annotated

import msgspec

from corefsample import _checks
from corefsample.errors import InputError, ParameterError
from corefsample.syntax import SCHEMES, Scheme, path_labels
from events._yaml_file import file_bytes, read_yaml, typed

_FOLDER = "data/rules"
DEFAULT_PRESET = "paper"

_UPOS = frozenset({"ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM", "PART", "PRON", "PROPN", "PUNCT"})
_UPOS |= {"SCONJ", "SYM", "VERB", "X"}

Name = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z][A-Za-z0-9_-]*$")]
Words = Annotated[list[Annotated[str, msgspec.Meta(min_length=1)]], msgspec.Meta(min_length=1)]


class Example(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An inline example of a rule: a parsed sentence and what each preset must find in it.

    Attributes
    ----------
    parse
        One line per token: number, word, lemma, part of speech, number of the head (0: root), label.
    expect
        For each preset the codes of the countries with an event ("AAA>BBB" for two roles).
    scheme
        The dependency scheme of the labels.
    coreferent
        Groups of token numbers whose mentions (the token with its subtree) belong to one entity. Every other noun,
        name and pronoun is an entity of its own.
    words
        Country words of the example (word: code), used instead of the shipped lexicon.
    """

    parse: str
    expect: dict[str, tuple[str, ...]]
    scheme: str = "ud2"
    coreferent: tuple[tuple[int, ...], ...] = ()
    words: dict[str, str] = {}


@dataclass(frozen=True, slots=True, repr=False)
class Rule:
    """One preset of one rule file.

    Attributes
    ----------
    name, preset, source
        Name of the rule, name of the preset, and the file of both.
    lemmas, upos
        A trigger is a token with one of these lemmas (lower case) and one of these parts of speech.
    described
        For each scheme, the paths from a mention's head to a word that describes the mention.
    roles
        For each role and each scheme, the paths from the trigger to the head of a mention that fills the role.
    event
        The role whose entity is counted, or the two roles whose pair is counted.
    examples
        Inline examples of the rule file, for all presets.
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

    def __repr__(self) -> str:
        event, lemmas = " > ".join(self.event), ", ".join(sorted(self.lemmas))
        return f"Rule({self.name!r}, preset {self.preset!r}, event: {event}, triggers: {_checks.shown(lemmas)})"

    def serves(self, scheme: str) -> bool:
        """Whether the rule has paths in a scheme for the descriptions and for every role of its event."""
        return bool(self.described[scheme]) and all(self.roles[role][scheme] for role in self.event)


class _Trigger(msgspec.Struct, forbid_unknown_fields=True):
    lemma: Words
    upos: Words = msgspec.field(default_factory=lambda: ["VERB"])


class _Preset(msgspec.Struct, forbid_unknown_fields=True):
    described: Words
    roles: dict[Name, Words]


class _RuleFile(msgspec.Struct, forbid_unknown_fields=True):
    name: Name
    trigger: _Trigger
    presets: Annotated[dict[Name, _Preset], msgspec.Meta(min_length=1)]
    version: int = 1
    description: str = ""
    event: Annotated[tuple[str, ...], msgspec.Meta(min_length=1, max_length=2)] = ("agent",)
    paths: dict[Name, dict[str, Words]] = msgspec.field(default_factory=dict)
    examples: tuple[Example, ...] = ()


def shipped_rules() -> tuple[str, ...]:
    """Names of the rules that come with the package."""
    folder = resources.files("events") / _FOLDER
    return tuple(sorted(entry.name.removesuffix(".yaml") for entry in folder.iterdir() if entry.name.endswith(".yaml")))


def load_rules(rule: str | os.PathLike[str] = "attack", preset: str = DEFAULT_PRESET) -> Rule:
    """Load one preset of a rule.

    Parameters
    ----------
    rule
        Name of a shipped rule, or path of a YAML file (with a path separator or the ending .yaml or .yml).
    preset
        Name of one of the file's presets.

    Raises
    ------
    InputError
        If the file cannot be read or breaks the format; the place is the file and the path to the value.
    ParameterError
        If no shipped rule or no preset has this name.

    Notes
    -----
    The rule contains the file's inline examples; `events.counting.check_examples` checks them.
    """
    file, source = _file(rule)
    return _rule(file, preset, source)


def load_presets(rule: str | os.PathLike[str]) -> list[Rule]:
    """Load all presets of a rule; parameters and errors as in `load_rules`."""
    file, source = _file(rule)
    return [_rule(file, preset, source) for preset in file.presets]


def _file(rule: str | os.PathLike[str]) -> tuple[_RuleFile, str]:
    if not isinstance(rule, (str, os.PathLike)):
        raise ParameterError(f"must be a name or a path, got {_checks.shown(rule)}", parameter="rule")
    source = os.fspath(rule)
    if Path(source).suffix in (".yaml", ".yml") or os.sep in source:
        data = file_bytes(source)
    elif source in shipped_rules():
        data = (resources.files("events") / _FOLDER / f"{source}.yaml").read_bytes()
    else:
        names = ", ".join(shipped_rules())
        raise ParameterError(f"must be one of {names}, or a path to a YAML file, got {source!r}", parameter="rule")
    file = typed(source, read_yaml(source, data), _RuleFile)
    _validate(file, source)
    return file, source


def _rule(file: _RuleFile, preset: str, source: str) -> Rule:
    if preset not in file.presets:
        raise ParameterError(f"must be one of {', '.join(file.presets)} ({source}), got {preset!r}", parameter="preset")
    chosen = file.presets[preset]
    return Rule(
        name=file.name,
        preset=preset,
        source=source,
        lemmas=frozenset(lemma.lower() for lemma in file.trigger.lemma),
        upos=frozenset(file.trigger.upos),
        described=_paths(file, chosen.described),
        roles={role: _paths(file, names) for role, names in chosen.roles.items()},
        event=file.event,
        examples=file.examples,
    )


def _validate(file: _RuleFile, source: str) -> None:
    """Check what the types alone cannot: versions, parts of speech, and names of schemes, paths, roles and presets."""
    if file.version != 1:
        raise InputError(f"version must be 1, got {file.version}", place=source)
    for upos in file.trigger.upos:
        if upos not in _UPOS:
            rule = f"trigger.upos must be universal parts of speech ({' '.join(sorted(_UPOS))})"
            raise InputError(f"{rule}, got {upos!r}", place=source)
    _validate_paths(file, source)
    known = {*file.paths, *(name for scheme in SCHEMES.values() for name in scheme.paths)}
    for preset, content in file.presets.items():
        place = f"{source}: presets.{preset}"
        for role in file.event:
            if role not in content.roles:
                raise InputError(
                    f"roles must include the role of the event, {role!r}, got {[*content.roles]}", place=place
                )
        for name in (*content.described, *(name for names in content.roles.values() for name in names)):
            if name not in known:
                raise InputError(f"path must be one of {', '.join(sorted(known))}, got {name!r}", place=place)
    for number, example in enumerate(file.examples):
        place = f"{source}: examples[{number}]"
        if example.scheme not in SCHEMES:
            raise InputError(f"scheme must be one of {', '.join(SCHEMES)}, got {example.scheme!r}", place=place)
        for name in example.expect:
            if name not in file.presets:
                raise InputError(f"expect must name presets ({', '.join(file.presets)}), got {name!r}", place=place)


def _validate_paths(file: _RuleFile, source: str) -> None:
    """Check that each path is for a known scheme, can be read, and has labels of that scheme."""
    for name, by_scheme in file.paths.items():
        for scheme, paths in by_scheme.items():
            if scheme not in SCHEMES:
                rule = f"scheme must be one of {', '.join(SCHEMES)}"
                raise InputError(f"{rule}, got {scheme!r}", place=f"{source}: paths.{name}")
            place = f"{source}: paths.{name}.{scheme}"
            for path in paths:
                try:
                    labels = path_labels(path)
                except ParameterError as error:
                    raise error.as_input_error(place) from None
                for label in labels:
                    if SCHEMES[scheme].reads(label.rstrip("*")) != label.rstrip("*"):
                        raise InputError(f"labels must be of the scheme, got {label!r} in {path!r}", place=place)


def _paths(file: _RuleFile, names: list[str]) -> dict[str, tuple[str, ...]]:
    """Paths of several names in each scheme; a path of the file replaces one of the scheme with the same name."""

    def paths_of(name: str, scheme: Scheme) -> Sequence[str]:
        return file.paths[name].get(scheme.name, ()) if name in file.paths else scheme.paths.get(name, ())

    return {
        scheme.name: tuple(dict.fromkeys(path for name in names for path in paths_of(name, scheme)))
        for scheme in SCHEMES.values()
    }
