"""Event rules: the frames of an event with their triggers, the descriptions of mentions, and the roles they fill."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import Path
from typing import Any, Literal

from corefsample import _checks
from corefsample.errors import InputError, ParameterError
from corefsample.syntax._schemes import SCHEMES, Scheme
from events._yaml_file import file_bytes, read_yaml, typed
from events.rules._conditions import Condition, SharedFile, conditions_with, paths_with
from events.rules._extending import as_yaml, extended
from events.rules._format import ROLE_COLUMNS as ROLE_COLUMNS
from events.rules._format import (
    Example,
    FrameEntry,
    OutcomeFile,
    Preset,
    QuestionClauses,
    RuleFile,
    check_rule_file,
    outcomes_of,
)
from events.rules._outcomes import Outcome

_FOLDER = "data/rules"
_SHARED = ("senses",)  # shipped files of conditions and words that are no rules
DEFAULT_PRESET = "asserted"

Filled = Literal["either", "named", "default"]
FILLED: tuple[Filled, ...] = ("either", "named", "default")

PathsByScheme = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Phrase:
    """A trigger of several words.

    Attributes
    ----------
    words
        Their lemmas, in lower case.
    adjacent
        Whether they must be adjacent tokens in this order, or connected in the parse in any order.
    """

    words: tuple[str, ...]
    adjacent: bool


@dataclass(frozen=True, slots=True)
class Frame:
    """One way in which a text can express an event.

    Attributes
    ----------
    name
        Name of the frame.
    lemmas, phrases
        A trigger is a token with one of these lemmas (lower case), or the head word of one of these phrases.
    upos
        The parts of speech of that token.
    roles
        For each role and each scheme, the paths from the trigger to the head of a mention that fills the role.
    required
        Optional roles of the rule without which this frame is no event.
    """

    name: str
    lemmas: frozenset[str]
    phrases: tuple[Phrase, ...]
    upos: frozenset[str]
    roles: Mapping[str, PathsByScheme]
    required: frozenset[str] = frozenset()

    @property
    def words(self) -> frozenset[str]:
        """Lemmas that a trigger can have: single words, and all words of phrases."""
        return self.lemmas | {word for phrase in self.phrases for word in phrase.words}


@dataclass(frozen=True, slots=True)
class Default:
    """Actor that fills a role by default, if the text has nothing that fills it.

    Attributes
    ----------
    actor
        Code of the actor. If the lexicon has no such actor, the role has no default.
    when
        Names of conditions, at least one of which must hold; if empty, no condition is required. "near NAME" holds if
        the condition holds of some token of the trigger's sentence or of a neighbouring sentence; any other name holds
        if the condition holds of the trigger.
    unless
        Names of conditions, in the same form, none of which may hold.
    """

    actor: str
    when: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, repr=False)
class Rule:
    """One preset of one rule file.

    Attributes
    ----------
    name, preset, source
        Name of the rule, name of the preset, and the file of both.
    frames
        A document has the event if one of these matches.
    described
        For each scheme, the paths from a mention's head to a word that describes the mention.
    event
        The role whose entity is counted, the two roles whose pair is counted, or none: then documents are counted.
    optional
        Roles that may be absent, or filled by an entity that is no actor of the lexicon.
    defaults
        Actors that fill roles by default, by the name of the role; other roles have no default.
    filled
        Actors that are counted: "named" for actors in the text, "default" for actors that fill a role by default,
        "either" for both. An event in which no role has an actor counts in all three cases.
    classes
        For some roles, the classes of actors that can fill them.
    conditions
        All conditions on triggers, by name.
    unless
        Names of the conditions that exclude a trigger.
    distinct_actors
        True if an entity is never two distinct actors, and a mention that names several actors counts for each of them;
        if False, an entity counts only if its mentions name a single actor.
    stands_for
        Whether words of a class, such as "the guerrillas", can stand for a named actor of the class; used only if
        `distinct_actors` is True.
    outcomes
        Outcomes that the file declares.
    examples
        Inline examples of the rule file, for all presets.
    description
        Description of the rule in its file.
    question, codebook
        Question for a person who labels documents, and text that says what counts as the event and what does not.
    bases
        Names or paths of the rule that the file extends, of the rule that this one extends, and so on.
    language
        Code of the language of the rule's words; "" if the file does not declare it.
    """

    name: str
    preset: str
    source: str
    frames: tuple[Frame, ...]
    described: PathsByScheme
    event: tuple[str, ...]
    optional: frozenset[str] = frozenset()
    defaults: Mapping[str, Default] = field(default_factory=dict)
    filled: Filled = "either"
    classes: Mapping[str, frozenset[str]] = field(default_factory=dict)
    conditions: Mapping[str, Condition] = field(default_factory=dict)
    unless: tuple[str, ...] = ()
    distinct_actors: bool = False
    stands_for: bool = True
    outcomes: tuple[Outcome, ...] = ()
    examples: tuple[Example, ...] = ()
    description: str = ""
    question: QuestionClauses = field(default_factory=QuestionClauses)
    codebook: str = ""
    bases: tuple[str, ...] = ()
    language: str = ""

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of the roles of the event in tables."""
        return ROLE_COLUMNS[: len(self.event)]

    def with_frame(self, name: str) -> Rule:
        """The rule with one of its frames alone, named RULE.FRAME; ParameterError for another frame."""
        frames = {frame.name: frame for frame in self.frames}
        if name not in frames:
            rule = f"must name a frame of {self.name}, preset {self.preset} ({', '.join(frames)})"
            raise ParameterError(f"{rule}, got {name!r}", parameter="outcome")
        return replace(self, name=f"{self.name}.{name}", frames=(frames[name],), outcomes=(), examples=())

    def __repr__(self) -> str:
        event = " > ".join(self.event) or "no role"
        return f"Rule({self.name!r}, preset {self.preset!r}, event: {event}, triggers: {_checks.shown(self.triggers)})"

    @property
    def triggers(self) -> str:
        """Lemmas and phrases of all frames, as text."""
        lemmas = {lemma for frame in self.frames for lemma in frame.lemmas}
        phrases = {" ".join(phrase.words) for frame in self.frames for phrase in frame.phrases}
        return ", ".join([*sorted(lemmas), *sorted(phrases)])

    @property
    def lemmas(self) -> frozenset[str]:
        """Triggers of one word, of all frames."""
        return frozenset[str]().union(*(frame.lemmas for frame in self.frames))

    @property
    def upos(self) -> frozenset[str]:
        """Parts of speech of the triggers of all frames."""
        return frozenset[str]().union(*(frame.upos for frame in self.frames))

    @property
    def roles(self) -> dict[str, dict[str, tuple[str, ...]]]:
        """For each role and each scheme, the paths of all frames."""
        return {
            role: {
                scheme: tuple(
                    dict.fromkeys(path for frame in self.frames for path in frame.roles.get(role, {}).get(scheme, ()))
                )
                for scheme in SCHEMES
            }
            for role in dict.fromkeys(role for frame in self.frames for role in frame.roles)
        }

    @property
    def may_be_absent(self) -> frozenset[str]:
        """Roles that nothing need fill: those that are optional, or have a default actor."""
        return self.optional.union(self.defaults)

    def serves(self, scheme: str) -> bool:
        """Whether the rule has paths in a scheme: for descriptions, and in every frame for each role it requires."""
        required = [role for role in self.event if role not in self.optional]
        return (not self.event or bool(self.described[scheme])) and all(
            frame.roles[role][scheme] for frame in self.frames for role in required
        )


def shipped_rules(language: str = "") -> tuple[str, ...]:
    """Names of the rules that come with the package: English ones, or those of another language ("es/attack")."""
    folder = resources.files("events") / _FOLDER / language
    names = (entry.name.removesuffix(".yaml") for entry in folder.iterdir() if entry.name.endswith(".yaml"))
    return tuple(sorted(f"{language}/{name}".lstrip("/") for name in names))


def is_shipped_rule(name: str) -> bool:
    """Whether a name is that of a shipped rule in any language."""
    language = name.rpartition("/")[0]
    is_folder = not language or (language.isalpha() and (resources.files("events") / _FOLDER / language).is_dir())
    return is_folder and name in shipped_rules(language)


def load_rules(rule: str | os.PathLike[str] = "attack", preset: str | None = None) -> Rule:
    """Load one preset of a rule.

    Parameters
    ----------
    rule
        Name of a shipped rule, or path of a YAML file (with a path separator or the ending .yaml or .yml).
    preset
        Name of one of the file's presets; by default "asserted", or the only preset of the file.

    Raises
    ------
    InputError
        If the file cannot be read or breaks the format; the place is the file and the path to the value.
    ParameterError
        If no shipped rule or no preset has this name, or a file has several presets and none is asserted.

    Notes
    -----
    The rule contains the file's inline examples; `check_examples` checks them.
    """
    file, sources = rule_file(rule)
    return _rule(file, preset, sources)


def load_presets(rule: str | os.PathLike[str]) -> list[Rule]:
    """Load all presets of a rule; see `load_rules` for the parameter and the errors."""
    return presets_of(*rule_file(rule))


def presets_of(file: RuleFile, sources: tuple[str, ...]) -> list[Rule]:
    """All presets of a rule file, as `rule_file` returns it."""
    return [_rule(file, preset, sources) for preset in file.presets]


def rules_and_outcomes(
    names: Sequence[str | os.PathLike[str]], preset: str | None = None
) -> tuple[list[Rule], tuple[Outcome, ...]]:
    """Load rules, each once, and the outcomes of files that have nothing else; parameters and errors as `load_rules`.

    A path of a rule in such a file is relative to the file.
    """
    rules: list[Rule] = []
    outcomes: tuple[Outcome, ...] = ()
    for name in names:
        file, sources = _read(name, ())
        if isinstance(file, OutcomeFile):
            inner, _ = rules_and_outcomes(_rules_of(file, sources), preset)
            rules += [rule for rule in inner if rule.source not in {each.source for each in rules}]
            outcomes += outcomes_of(file.outcomes, sources[0])
        else:
            rules.append(_rule(file, preset, sources))
    return rules, outcomes


def sources_of(rule: str | os.PathLike[str]) -> tuple[str, ...]:
    """Names or paths of a rule and of those that it extends, or of a file of outcomes and of its rules."""
    file, sources = _read(rule, ())
    if isinstance(file, RuleFile):
        return sources
    return (*sources, *(source for each in _rules_of(file, sources) for source in sources_of(each)))


def _rules_of(file: OutcomeFile, sources: tuple[str, ...]) -> list[str]:
    folder = Path(sources[0]).parent
    return [str(folder / each) if _is_path(each) else each for each in file.rules]


def rule_file(rule: str | os.PathLike[str]) -> tuple[RuleFile, tuple[str, ...]]:
    """Content of a rule file, checked, with what it takes from the one it extends; and the names of these files."""
    file, sources = _read(rule, ())
    if isinstance(file, OutcomeFile):
        found = f"a file of outcomes of {', '.join(file.rules)}"
        raise ParameterError(f"must be a rule, got {found}: {sources[0]}", parameter="rule")
    return file, sources


def is_outcome_file(content: object) -> bool:
    """Whether the YAML of a file is that of outcomes alone."""
    return isinstance(content, dict) and ("rules" in content or ("outcomes" in content and "name" not in content))


def _read(rule: str | os.PathLike[str], extending: tuple[str, ...]) -> tuple[RuleFile | OutcomeFile, tuple[str, ...]]:
    """Read a file of a rule, which is extended by the files `extending`, the last of them directly, or of outcomes."""
    if not isinstance(rule, (str, os.PathLike)):
        raise ParameterError(f"must be a name or a path, got {_checks.shown(rule)}", parameter="rule")
    source = os.fspath(rule)
    if _is_path(source):
        data = file_bytes(source)
    elif is_shipped_rule(source):
        data = (resources.files("events") / _FOLDER / f"{source}.yaml").read_bytes()
    else:
        names = ", ".join(shipped_rules())
        raise ParameterError(f"must be one of {names}, or a path to a YAML file, got {source!r}", parameter="rule")
    content = read_yaml(source, data)
    if is_outcome_file(content):
        return typed(source, content, OutcomeFile), (source,)
    bases: tuple[str, ...] = ()
    if isinstance(content, dict) and "shares" in content:
        content, bases = _with_shared(content, (*extending, source))
    name = content.get("extends") if isinstance(content, dict) else None
    if isinstance(content, dict) and isinstance(name, str) and name:
        base, base_sources = _base(name, (*extending, source))
        bases = (*base_sources, *(each for each in bases if each not in base_sources))
        file = extended(base, content, source)
    else:
        file = typed(source, content, RuleFile)
    check_rule_file(file, source)
    return file, (source, *bases)


def _with_shared(content: dict[str, Any], files: tuple[str, ...]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Content of the last of the files with what it shares with others, and the names of these.

    Word lists, conditions, paths and frames of other rules or of files without a rule; those of the file itself
    replace others with the same names. A frame gets the name of its rule before its own: attack_verb.
    """
    names, own = content["shares"], {key: value for key, value in content.items() if key != "shares"}
    sources: tuple[str, ...] = ()
    for name in [names] if isinstance(names, str) else typed(f"{files[-1]}: shares", names, list[str]):
        shared: SharedFile | RuleFile
        if name in _SHARED:
            shared = typed(
                name, read_yaml(name, (resources.files("events") / "data" / f"{name}.yaml").read_bytes()), SharedFile
            )
            shared_sources: tuple[str, ...] = ()
        else:
            shared, shared_sources = _base(name, files, "shares")
        sources += tuple(each for each in shared_sources if each not in sources)
        for key in ("words", "conditions", "paths"):
            if isinstance(own.get(key, {}), dict):
                own[key] = {**as_yaml(getattr(shared, key)), **own.get(key, {})}
        if isinstance(shared, RuleFile) and isinstance(own.get("frames", []), list):
            frames = [{**as_yaml(frame), "name": f"{shared.name}_{frame.name}"} for frame in shared.all_frames()]
            own["frames"] = [*own.get("frames", []), *frames]
    return own, sources


def _base(name: str, extending: tuple[str, ...], key: str = "extends") -> tuple[RuleFile, tuple[str, ...]]:
    """The rule of this name, or at this path beside the last of the files that extend each other."""
    place = f"{extending[-1]}: {key}"
    if _is_path(name):
        name = os.path.join(os.path.dirname(extending[-1]), name)
    if os.path.realpath(name) in map(os.path.realpath, extending):
        chain = " -> ".join(map(os.path.basename, (*extending, name)))
        raise InputError(f"must not lead back to the file itself, got {chain}", place=place)
    try:
        base, sources = _read(name, extending)
    except ParameterError as error:
        raise InputError(error.message, place=place) from None
    if isinstance(base, OutcomeFile):
        raise InputError(f"must be a rule, got a file of outcomes: {name}", place=place)
    return base, sources


def _is_path(rule: str) -> bool:
    return Path(rule).suffix in (".yaml", ".yml") or (os.sep in rule and not is_shipped_rule(rule))


def _rule(file: RuleFile, preset: str | None, sources: tuple[str, ...]) -> Rule:
    source, *bases = sources
    found = "none" if preset is None else repr(preset)
    if preset is None:
        preset = next(iter(file.presets)) if len(file.presets) == 1 else DEFAULT_PRESET
    if preset not in file.presets:
        raise ParameterError(f"must be one of {', '.join(file.presets)} ({source}), got {found}", parameter="preset")
    chosen = file.resolved(preset)
    return Rule(
        name=file.name,
        preset=preset,
        source=source,
        frames=tuple(
            _frame(file, frame, chosen)
            for frame in file.all_frames()
            if chosen.frames is None or frame.name in chosen.frames
        ),
        described=_paths(file, chosen.described or []),
        event=file.event,
        optional=frozenset(file.optional),
        defaults={
            role: Default(each.actor, tuple(each.when), tuple(each.unless))
            for role, each in (file.defaults if chosen.defaults is None else chosen.defaults).items()
        },
        classes={role: frozenset(kinds) for role, kinds in file.classes.items()},
        conditions=conditions_with(file.words, file.conditions, file.language),
        unless=tuple(dict.fromkeys(chosen.unless or ())),
        distinct_actors=bool(chosen.distinct_actors),
        stands_for=chosen.stands_for is not False,
        outcomes=outcomes_of(file.outcomes, source),
        examples=file.examples,
        description=file.description,
        question=file.question,
        codebook=file.codebook,
        bases=tuple(bases),
        language=file.language,
    )


def _frame(file: RuleFile, entry: FrameEntry, preset: Preset) -> Frame:
    trigger = entry.trigger
    assert trigger is not None  # checked with the file
    phrases = [(phrase, False) for phrase in trigger.phrase] + [(phrase, True) for phrase in trigger.span]
    return Frame(
        name=entry.name,
        lemmas=frozenset(lemma.lower() for lemma in trigger.lemma),
        phrases=tuple(Phrase(tuple(phrase.lower().split()), adjacent) for phrase, adjacent in phrases),
        upos=frozenset(trigger.upos),
        roles={role: _paths(file, names) for role, names in {**(preset.roles or {}), **entry.roles}.items()},
        required=frozenset(entry.required),
    )


def _paths(file: RuleFile, names: list[str]) -> dict[str, tuple[str, ...]]:
    """Paths of several names in each scheme; a path of the file replaces one of the scheme with the same name."""

    def paths_of(name: str, scheme: Scheme) -> Sequence[str]:
        written = file.paths[name].get(scheme.name, ()) if name in file.paths else scheme.written.get(name, ())
        return paths_with(file.words, written, scheme.name, file.language)

    return {
        scheme.name: tuple(dict.fromkeys(path for name in names for path in paths_of(name, scheme)))
        for scheme in SCHEMES.values()
    }
