"""The YAML format of rule files, and the checks for which the file alone is enough."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import msgspec

from corefsample.errors import InputError, ParameterError, did_you_mean, shown
from corefsample.languages._language import code_of
from corefsample.syntax._codes import UPOS
from corefsample.syntax._schemes import SCHEMES
from events.rules._conditions import check_words_and_paths, shipped_conditions

Name = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z][A-Za-z0-9_-]*$")]
Text = Annotated[str, msgspec.Meta(min_length=1)]
Words = Annotated[list[Text], msgspec.Meta(min_length=1)]

_UPOS = sorted({*UPOS} - {"SPACE"})
_WORD = re.compile(r"\w[\w'’.&/-]*")
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
ROLE_COLUMNS = ("actor", "target")  # columns of tables for the first and the second role of an event
NEAR = "near "  # before a condition that may hold for any token of the trigger's sentence and of its neighbours
_ROLES, _PATH = "must name roles of the event ({})", "path must be one of {}"
VERB_FRAME = "verb"  # name of the frame of a file that has one trigger and no frames


# --- outcomes --------------------------------------------------------------------------------------------------

# An outcome is written NAME=EVENTS:ACTORS. EVENTS are names of rules, or RULE.FRAME for one frame of a rule. ACTORS are
# codes, - for no named actor, {class} for any actor of a class of the lexicon, or * for any actor or no actor.
# Alternatives have | between them. For two roles an actor is IRQ>KWT, or IRQ for any target. Without :ACTORS the actors
# are *.
_OUTCOME_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
ANYBODY = "*"  # in place of a code: any actor, or no named actor
NOBODY = "-"  # in place of a code: no named actor
CLASS = re.compile(r"\{([^{}]+)\}")  # in place of a code: any actor of a class


@dataclass(frozen=True, slots=True)
class Outcome:
    """A union of events.

    Attributes
    ----------
    name
        Name of the outcome; tables show it in the column `event`.
    events
        Names of the rules whose events belong to the union.
    actors
        Actors of the events, in the notation ``IRQ|{police}|-``; tables show them in the column `actor`.
    title
        Name of the outcome in pictures and on pages; by default `name`.
    question
        Clause that completes the question "Does the article say that ...?" for a person who labels documents.
    """

    name: str
    events: tuple[str, ...]
    actors: str = ANYBODY
    title: str = ""
    question: str = ""

    @classmethod
    def parsed(cls, text: str, *, title: str = "", question: str = "") -> Outcome:
        """Read an outcome in its notation; raises ParameterError if the text does not follow the notation."""
        name, is_named, union = text.partition("=") if isinstance(text, str) else ("", "", "")
        events, has_actors, actors = union.partition(":")
        unions = (events, actors if has_actors else ANYBODY)
        alternatives = [[item.strip() for item in items.split("|")] for items in unions]
        if not is_named or not _OUTCOME_NAME.fullmatch(name.strip()) or not all(map(all, alternatives)):
            rule = "must be NAME=EVENTS:ACTORS, as police_action=arrest|kill:POLICE"
            raise ParameterError(f"{rule}, got {shown(text)}", parameter="outcome")
        return cls(name.strip(), tuple(alternatives[0]), "|".join(alternatives[1]), title, question)

    def __str__(self) -> str:
        return f"{self.name}={'|'.join(self.events)}:{self.actors}"

    def matching_keys(self, keys: Iterable[tuple[str, ...]], kinds: Mapping[str, str]) -> list[int]:
        """Indices of the keys that belong to the outcome; `kinds` gives the class of each actor by its code."""
        patterns = [actors.split(">") for actors in self.actors.split("|")]
        return [e for e, key in enumerate(keys) if any(map(partial(_fits, key, kinds), patterns))]


def _fits(key: tuple[str, ...], kinds: Mapping[str, str], pattern: Sequence[str]) -> bool:
    # A pattern can name the first role only.
    for code, actor in zip(key, pattern, strict=False):
        class_name = CLASS.fullmatch(actor)
        if actor != ANYBODY and (kinds.get(code) != class_name[1] if class_name else (code or NOBODY) != actor):
            return False
    return True


# --- the format ------------------------------------------------------------------------------------------------


class Example(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An inline example of a rule: a parsed sentence and the events that each preset must find in it.

    Attributes
    ----------
    parse
        One line per token: number, word, lemma, part of speech, number of the head (0 for the root), label, and
        optionally features (Tense=Past|VerbForm=Fin).
    expect
        For each preset the codes of the actors with an event: "AAA>BBB" for two roles, "-" for a role that is not
        filled by an actor, and "event" for an event without roles.
    scheme
        Name of the dependency scheme of the labels.
    coreferent
        Groups of token numbers whose mentions (the token with its subtree) belong to one entity. Every other noun,
        name and pronoun is an entity of its own.
    words
        Codes of the actors that words of the example name, by the word; they replace the lexicon.
    """

    parse: str
    expect: dict[str, tuple[str, ...]]
    scheme: str = "ud2"
    coreferent: tuple[tuple[int, ...], ...] = ()
    words: dict[str, str] = {}


class Trigger(msgspec.Struct, forbid_unknown_fields=True):
    """The words of a trigger, and the parts of speech of its head word."""

    lemma: list[Text] = []
    phrase: list[Text] = []
    span: list[Text] = []
    upos: Words = msgspec.field(default_factory=lambda: ["VERB"])


class FrameEntry(msgspec.Struct, forbid_unknown_fields=True):
    """One way in which the text can express the event; `required` names optional roles that must be filled here."""

    name: Name
    trigger: Trigger | None = None
    roles: dict[Name, Words] = {}
    required: list[Name] = []


class DefaultEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Actor that fills a role by default, if the text has no mention that fills it.

    Attributes
    ----------
    actor
        Code of the actor. If the lexicon has no such actor, the role has no default.
    when
        Names of conditions, at least one of which must hold; if empty, no condition is required. "near NAME" holds if
        the condition holds for some token of the trigger's sentence or of a neighbouring sentence; any other name holds
        if the condition holds for the trigger.
    unless
        Names of conditions, in the form of `when`, none of which may hold.
    """

    actor: Text
    when: tuple[Text, ...] = ()
    unless: tuple[Text, ...] = ()


class Preset(msgspec.Struct, forbid_unknown_fields=True):
    """A preset of a rule; fields that are None have the value of the preset that it extends."""

    described: Words | None = None
    roles: dict[Name, Words] | None = None
    frames: Annotated[list[Name], msgspec.Meta(min_length=1)] | None = None
    unless: list[str] | None = None
    distinct_actors: bool | None = None
    stands_for: bool | None = None
    forms: bool | None = None
    defaults: dict[Name, DefaultEntry] | None = None
    extends: str | None = None


class QuestionClauses(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Clauses that complete the question "Does the article say that ...?" for a person who labels documents.

    Attributes
    ----------
    actor
        Clause for the event of a named actor, with the placeholder {actor}, and {target} if there is a second role:
        "{actor} arrested someone".
    anyone
        Clause for the event of any actor: "someone was arrested".
    """

    actor: str = ""
    anyone: str = ""


class OutcomeEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An outcome with a title for pictures and pages, and a clause for the question: see `QuestionClauses`."""

    events: Text | Words
    title: str = ""
    question: str = ""


Outcomes = dict[Name, Text | Words | OutcomeEntry]  # by name; texts are "EVENTS:ACTORS": see `Outcome`


class OutcomeFile(msgspec.Struct, forbid_unknown_fields=True):
    """Content of a file of outcomes without a rule: the outcomes, and names or paths of the rules that they unite."""

    rules: Words
    outcomes: Outcomes
    name: str = ""
    version: int = 1
    description: str = ""


def outcomes_of(outcomes: Outcomes, source: str) -> tuple[Outcome, ...]:
    """Outcomes of a file; raises InputError if one of them does not follow the notation."""
    parsed_outcomes = []
    for name, value in outcomes.items():
        entry = value if isinstance(value, OutcomeEntry) else OutcomeEntry(value)
        for text in [entry.events] if isinstance(entry.events, str) else entry.events:
            try:
                parsed_outcomes.append(Outcome.parsed(f"{name}={text}", title=entry.title, question=entry.question))
            except ParameterError as error:
                raise error.as_input_error(source) from None
    return tuple(parsed_outcomes)


class RuleFile(msgspec.Struct, forbid_unknown_fields=True):
    """Content of a rule file."""

    name: Name
    presets: Annotated[dict[Name, Preset], msgspec.Meta(min_length=1)]
    trigger: Trigger | None = None
    frames: list[FrameEntry] = []
    version: int = 1
    language: str = ""
    description: str = ""
    question: QuestionClauses = QuestionClauses()
    codebook: str = ""
    event: Annotated[tuple[Name, ...], msgspec.Meta(max_length=len(ROLE_COLUMNS))] = ("agent",)
    optional: list[Name] = []
    defaults: dict[Name, DefaultEntry] = {}
    classes: dict[Name, Words] = {}
    paths: dict[Name, dict[str, Words]] = {}
    words: dict[Name, Words] = {}
    conditions: dict[Name, dict[str, list[Text]]] = {}
    outcomes: Outcomes = {}
    examples: tuple[Example, ...] = ()
    extends: Text | None = None
    base_examples: bool = False
    add: dict[Name, Any] = {}
    remove: dict[Name, Any] = {}

    def all_frames(self) -> list[FrameEntry]:
        """The frames, or the one frame of the trigger."""
        return self.frames or [FrameEntry(VERB_FRAME, self.trigger)]

    def resolved(self, preset: str) -> Preset:
        """A preset in which the presets that it extends supply the values of fields that are None."""
        declared = self.presets[preset]
        if declared.extends is None:
            return declared
        base = self.resolved(declared.extends)
        values = {name: value for name in declared.__struct_fields__ if (value := getattr(declared, name)) is not None}
        return msgspec.structs.replace(base, **{**values, "extends": None})


def check_rule_file(file: RuleFile, source: str) -> None:
    """Check the rules of the format that types cannot express.

    Raises
    ------
    InputError
        If a value breaks a rule of the format; the error's place is the file and the path to the value.
    """
    if file.version != 1:
        raise InputError(f"version must be 1, got {file.version}", place=source)
    for key in ("add", "remove", "base_examples"):
        if getattr(file, key) and file.extends is None:
            raise InputError(f"{key} needs extends, got a file that extends no rule", place=source)
    _check_frames(file, source)
    _require_different("event must name each role once", file.event, source)
    required_roles = [(f"frames.{frame.name}.required", frame.required) for frame in file.frames]
    for key, names in (("optional", file.optional), ("classes", file.classes), *required_roles):
        _require_known(names, file.event, f"{key} {_ROLES}", source)
    # A clause has the placeholder of each role once, and no others.
    placeholders = {"actor": ROLE_COLUMNS[: len(file.event)], "anyone": ()}
    for key, clause in (("actor", file.question.actor), ("anyone", file.question.anyone)):
        if clause and sorted(_PLACEHOLDER.findall(clause)) != sorted(placeholders[key]):
            required = ", ".join(f"{{{placeholder}}}" for placeholder in placeholders[key]) or "none"
            rule = f"question.{key} must have these places, each once: {required}"
            raise InputError(f"{rule}; got {clause!r}", place=source)
    if file.language and code_of(file.language) != file.language:
        raise InputError(f"language must be a code such as es, got {file.language!r}", place=source)
    check_words_and_paths(file.words, {"paths": file.paths, "conditions": file.conditions}, source)
    path_names = sorted({*file.paths, *(name for scheme in SCHEMES.values() for name in scheme.paths)})
    conditions = sorted({*file.conditions, *shipped_conditions()})
    _check_defaults(file, file.defaults, conditions, source)
    for preset, entry in file.presets.items():
        _check_preset(file, preset, entry, f"{source}: presets.{preset}", path_names, conditions)
    for frame in file.frames:
        _require_known(_named(frame.roles), path_names, _PATH, f"{source}: frames.{frame.name}")
    for number, example in enumerate(file.examples):
        location = f"{source}: examples[{number}]"
        _require_known([example.scheme], SCHEMES, "scheme must be one of {}", location)
        _require_known(example.expect, file.presets, "expect must name presets ({})", location)


def _check_frames(file: RuleFile, source: str) -> None:
    if file.frames and file.trigger is not None:
        raise InputError("trigger must be in the frames, got a trigger beside frames", place=source)
    if not file.frames and file.trigger is None:
        raise InputError("trigger or frames is required, got neither", place=source)
    _require_different("frames must have different names", [frame.name for frame in file.frames], source)
    for frame in file.all_frames():
        location = f"{source}: frames.{frame.name}" if file.frames else source
        trigger = frame.trigger
        if trigger is None or not (trigger.lemma or trigger.phrase or trigger.span):
            raise InputError("trigger must have a lemma, a phrase or a span, got none", place=location)
        _require_known(trigger.upos, _UPOS, "trigger.upos must be universal parts of speech ({})", location)
        for lemma in trigger.lemma:
            if len(lemma.split()) != 1:
                rule = "trigger.lemma must be single words (several words go under phrase or span)"
                raise InputError(f"{rule}, got {lemma!r}", place=location)
        for kind, phrase in [*(("phrase", p) for p in trigger.phrase), *(("span", p) for p in trigger.span)]:
            words = phrase.split()
            if len(words) < 2:
                raise InputError(f"trigger.{kind} must be two words or more, got {phrase!r}", place=location)
            # No text can match other words, because tokens have no white space and no final punctuation.
            for word in words:
                if not _WORD.fullmatch(word) or word.endswith(("'", "’", "-", "/")) or word.find(".") == len(word) - 1:
                    rule = f"trigger.{kind} must be words of one token each"
                    raise InputError(f"{rule}, got {word!r} in {phrase!r}", place=location)
            if kind == "phrase" and len({word.lower() for word in words}) < len(words):
                raise InputError(f"trigger.{kind} must be different words, got {phrase!r}", place=location)


def _check_preset(
    file: RuleFile, preset: str, entry: Preset, location: str, path_names: list[str], conditions: list[str]
) -> None:
    chain = [preset]
    while (base := file.presets[chain[-1]].extends) is not None:
        if base not in file.presets or base in chain:
            other_presets = ", ".join(name for name in file.presets if name not in chain) or "none"
            raise InputError(f"extends must be another preset ({other_presets}), got {base!r}", place=location)
        chain.append(base)
    resolved = file.resolved(preset)
    frames = {frame.name: frame for frame in file.all_frames()}
    _require_known(entry.frames or (), frames, "frames must be some of {}", location)
    if resolved.described is None and file.event:
        raise InputError("described is required", place=location)
    _require_known([*(entry.described or ()), *_named(entry.roles or {})], path_names, _PATH, location)
    for role in (role for role in file.event if role not in file.optional):
        for frame_name in resolved.frames or frames:
            roles = {**(resolved.roles or {}), **frames[frame_name].roles}
            if role not in roles:
                of_frame = f" (frame {frame_name})" if file.frames else ""
                rule = f"roles must include the role of the event, {role!r}"
                raise InputError(f"{rule}, got {[*roles]}{of_frame}", place=location)
    _require_known(entry.unless or (), conditions, "unless must be some of {}", location)
    _check_defaults(file, entry.defaults or {}, conditions, location)


def _check_defaults(file: RuleFile, defaults: dict[str, DefaultEntry], conditions: list[str], location: str) -> None:
    _require_known(defaults, file.event, f"defaults {_ROLES}", location)
    for role, default in defaults.items():
        for key, names in (("when", default.when), ("unless", default.unless)):
            rule = f"defaults.{role}.{key} must be some of {{}}, or {NEAR}and one of them"
            _require_known([name.removeprefix(NEAR) for name in names], conditions, rule, location)


def _named(roles: dict[str, list[str]]) -> list[str]:
    return [name for names in roles.values() for name in names]


def _require_known(names: Iterable[str], valid_names: Collection[str], rule: str, location: str) -> None:
    """Raise InputError for an unknown name; `rule` is a message in which {} is replaced by the valid names."""
    for name in names:
        if name not in valid_names:
            message = f"{rule.format(', '.join(valid_names) or 'none')}, got {name!r}"
            raise InputError(message, place=location, hint=did_you_mean(name, valid_names))


def _require_different(rule: str, names: Sequence[str], location: str) -> None:
    for i, name in enumerate(names):
        if name in names[:i]:
            raise InputError(f"{rule}, got {name!r} twice", place=location)
