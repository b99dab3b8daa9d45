"""Event rules: frames with triggers, descriptions of mentions as actors, and the roles that mentions fill."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import Path
from typing import Any, Literal

import msgspec

from corefsample._arrays import fields_of
from corefsample.errors import InputError, ParameterError, did_you_mean, shown
from corefsample.languages._language import ENGLISH, load_language
from corefsample.syntax._schemes import SCHEMES, Scheme
from events._yaml_file import file_bytes, read_yaml, typed
from events.rules import _conditions, _format
from events.rules._format import ROLE_COLUMNS as ROLE_COLUMNS

_FOLDER = "data/rules"
_SHARED = ("senses",)  # shipped files of conditions and words that are no rules
DEFAULT_PRESET = "asserted"
BY_RULES = "rules"  # in place of a trigger model

Filled = Literal["either", "named", "default"]

PathsByScheme = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Phrase:
    """A trigger of several words.

    Attributes
    ----------
    words
        Lemmas of the words, in lower case.
    adjacent
        True if the words must be adjacent tokens in this order; False if they must be connected in the parse, in any
        order.
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
    lemmas
        Lemmas of triggers of one word, in lower case.
    phrases
        Triggers of several words; the trigger is the head word of the phrase.
    upos
        Parts of speech that the trigger can have.
    roles
        For each role and each scheme, the paths from the trigger to the head of a mention that fills the role.
    required
        Roles that are optional in the rule, but must be filled in this frame.
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


@dataclass(frozen=True, slots=True, repr=False)
class Rule:
    """One preset of one rule file.

    Attributes
    ----------
    name
        Name of the rule.
    preset
        Name of the preset.
    source
        Name or path of the rule file.
    frames
        Frames of the event; a document has the event if one of them matches.
    described
        For each scheme, the paths from a mention's head to a word that describes the mention.
    event
        Names of the roles: one role whose entities are counted, two roles whose pairs are counted, or no role, so that
        documents are counted.
    optional
        Roles that may be absent, or filled by an entity that is no actor of the lexicon.
    defaults
        Actors that fill roles by default, by the name of the role; other roles have no default.
    filled
        Actors that are counted: "named" for actors in the text, "default" for actors that fill a role by default,
        "either" for both. An event in which no role has an actor counts in all three cases.
    classes
        Classes of actors that can fill a role, by the name of the role; other roles accept every class.
    conditions
        All conditions on triggers that the rule can name, by name.
    unless
        Names of the conditions that exclude a trigger.
    distinct_actors
        True if an entity is never two distinct actors, and a mention that names several actors counts for each of them;
        if False, an entity counts only if its mentions name a single actor.
    stands_for
        Whether words of a class, such as "the guerrillas", can stand for a named actor of the class; used only if
        `distinct_actors` is True.
    forms
        Words of the triggers by their inflected forms, in lower case: a verb with such a form has this lemma, whatever
        lemma its document has. Empty if the preset matches by lemma alone.
    outcomes
        Outcomes that the file declares.
    examples
        Inline examples of the rule file, for all presets.
    description
        Description of the rule in its file.
    question
        Clauses of the question for a person who labels documents.
    codebook
        Text for this person about what counts as the event and what does not.
    bases
        Names or paths of the rule that the file extends, then of the rule that this base extends, and so on.
    language
        Code of the language of the rule's words; "" if the file does not declare it.
    trigger_model
        Name or path of the trigger model that decides whether a predicate reports the event; "rules" for none: the
        frames and the conditions decide.
    encoder
        Folder of the encoder of the trigger model; empty without one.
    model_checksum
        CRC-32 of the file of the trigger model; empty without one.
    event_type
        Event type of the trigger model; empty without one.
    prototype
        Vector of the rule's triggers in its examples, to which the trigger model compares other predicates; empty if
        the model knows the event type or has no encoder, or no example has an event.
    """

    name: str
    preset: str
    source: str
    frames: tuple[Frame, ...]
    described: PathsByScheme
    event: tuple[str, ...]
    optional: frozenset[str] = frozenset()
    defaults: Mapping[str, _format.DefaultEntry] = field(default_factory=dict)
    filled: Filled = "either"
    classes: Mapping[str, frozenset[str]] = field(default_factory=dict)
    conditions: Mapping[str, _conditions.Condition] = field(default_factory=dict)
    unless: tuple[str, ...] = ()
    distinct_actors: bool = False
    stands_for: bool = True
    forms: Mapping[str, str] = field(default_factory=dict)
    outcomes: tuple[_format.Outcome, ...] = ()
    examples: tuple[_format.Example, ...] = ()
    description: str = ""
    question: _format.QuestionClauses = field(default_factory=_format.QuestionClauses)
    codebook: str = ""
    bases: tuple[str, ...] = ()
    language: str = ""
    trigger_model: str = BY_RULES
    encoder: str = ""
    model_checksum: str = ""
    event_type: str = ""
    prototype: tuple[float, ...] = ()

    @property
    def kin(self) -> str:
        """Name of the shipped rule that a file of a user extends, directly or through others; otherwise its own."""
        names = () if is_shipped_rule(self.source) else filter(is_shipped_rule, self.bases)
        return next((name.rpartition("/")[2] for name in names), self.name)

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of the roles of the event in tables."""
        return ROLE_COLUMNS[: len(self.event)]

    def with_frame(self, name: str) -> Rule:
        """The rule with one frame only, named RULE.FRAME; raises ParameterError if the rule has no such frame."""
        frames = {frame.name: frame for frame in self.frames}
        if name not in frames:
            rule = f"must name a frame of {self.name}, preset {self.preset} ({', '.join(frames)})"
            raise ParameterError(f"{rule}, got {name!r}", parameter="outcome")
        return replace(self, name=f"{self.name}.{name}", frames=(frames[name],), outcomes=(), examples=())

    def __repr__(self) -> str:
        event = " > ".join(self.event) or "no role"
        return f"Rule({self.name!r}, preset {self.preset!r}, event: {event}, triggers: {shown(self.triggers)})"

    @property
    def triggers(self) -> str:
        """Lemmas and phrases of all frames, as text."""
        lemmas = {lemma for frame in self.frames for lemma in frame.lemmas}
        phrases = {" ".join(phrase.words) for frame in self.frames for phrase in frame.phrases}
        return ", ".join([*sorted(lemmas), *sorted(phrases)])

    @property
    def upos(self) -> frozenset[str]:
        """Parts of speech of the triggers of all frames."""
        return frozenset[str]().union(*(frame.upos for frame in self.frames))

    @property
    def may_be_absent(self) -> frozenset[str]:
        """Roles that need not be filled by a mention: optional roles, and roles with a default actor."""
        return self.optional.union(self.defaults)

    def serves(self, scheme: str) -> bool:
        """Whether the rule has paths in a scheme for descriptions and, in every frame, for each required role."""
        required = [role for role in self.event if role not in self.optional]
        return (not self.event or bool(self.described[scheme])) and all(
            frame.roles[role][scheme] for frame in self.frames for role in required
        )


def shipped_rules(language: str = "") -> tuple[str, ...]:
    """Names of the rules that come with the package, by default for English; "es" gives names such as "es/attack"."""
    folder = resources.files("events") / _FOLDER / language
    names = (entry.name.removesuffix(".yaml") for entry in folder.iterdir() if entry.name.endswith(".yaml"))
    return tuple(sorted(f"{language}/{name}".lstrip("/") for name in names))


def is_shipped_rule(name: str) -> bool:
    """Whether a shipped rule of any language has this name."""
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
        If the file cannot be read or breaks the format; the error's place is the file and the path to the value.
    ParameterError
        If no shipped rule has the name `rule`, if the file has no preset of the name `preset`, or if `preset` is None
        and the file has several presets but no preset "asserted".

    Notes
    -----
    The rule contains the file's inline examples; `check_examples` checks them.
    """
    if isinstance(rule, str) and is_shipped_rule(rule):
        return _shipped_rule(rule, preset)
    return _rule_of_file(rule, preset)


@functools.cache
def _shipped_rule(name: str, preset: str | None) -> Rule:
    return _rule_of_file(name, preset)


def _rule_of_file(rule: str | os.PathLike[str], preset: str | None) -> Rule:
    file, sources = rule_file(rule)
    return _rule(file, preset, sources)


def presets_of(file: _format.RuleFile, sources: tuple[str, ...]) -> list[Rule]:
    """All presets of a rule file, as `rule_file` returns it."""
    return [_rule(file, preset, sources) for preset in file.presets]


def rules_and_outcomes(
    names: Sequence[str | os.PathLike[str]], preset: str | None = None
) -> tuple[list[Rule], tuple[_format.Outcome, ...]]:
    """Load rules, each once, and the outcomes of files that contain only outcomes.

    A name stands for a rule as in `load_rules`, or for a file of outcomes, whose rules are loaded too; their paths are
    relative to this file. The errors are those of `load_rules`.
    """
    rules: list[Rule] = []
    outcomes: tuple[_format.Outcome, ...] = ()
    for name in names:
        if isinstance(name, str) and is_shipped_rule(name):
            rules.append(_shipped_rule(name, preset))
            continue
        file, sources = _read(name, ())
        if isinstance(file, _format.OutcomeFile):
            rules_of_outcomes, _ = rules_and_outcomes(_rules_of(file, sources), preset)
            rules += [rule for rule in rules_of_outcomes if rule.source not in {loaded.source for loaded in rules}]
            outcomes += _format.outcomes_of(file.outcomes, sources[0])
        else:
            rules.append(_rule(file, preset, sources))
    return rules, outcomes


def sources_of(rule: str | os.PathLike[str]) -> tuple[str, ...]:
    """Names or paths of a rule and of the rules that it extends, or of a file of outcomes and of its rules."""
    file, sources = _read(rule, ())
    if isinstance(file, _format.RuleFile):
        return sources
    return (*sources, *(source for name in _rules_of(file, sources) for source in sources_of(name)))


def _rules_of(file: _format.OutcomeFile, sources: tuple[str, ...]) -> list[str]:
    folder = Path(sources[0]).parent
    return [str(folder / name) if _is_path(name) else name for name in file.rules]


def rule_file(rule: str | os.PathLike[str]) -> tuple[_format.RuleFile, tuple[str, ...]]:
    """Checked content of a rule file, merged with the rule that it extends, and the names of all these files."""
    file, sources = _read(rule, ())
    if isinstance(file, _format.OutcomeFile):
        description = f"a file of outcomes of {', '.join(file.rules)}"
        raise ParameterError(f"must be a rule, got {description}: {sources[0]}", parameter="rule")
    return file, sources


def is_outcome_file(tree: object) -> bool:
    """Whether the YAML of a file contains only outcomes, and no rule."""
    return isinstance(tree, dict) and ("rules" in tree or ("outcomes" in tree and "name" not in tree))


def _read(
    rule: str | os.PathLike[str], extending: tuple[str, ...]
) -> tuple[_format.RuleFile | _format.OutcomeFile, tuple[str, ...]]:
    """Read a rule, or a file of outcomes, and the names of its files.

    The files `extending` lead to the rule: each extends the next one, and the last one extends the rule.
    """
    if not isinstance(rule, (str, os.PathLike)):
        raise ParameterError(f"must be a name or a path, got {shown(rule)}", parameter="rule")
    source = os.fspath(rule)
    if _is_path(source):
        data = file_bytes(source)
    elif is_shipped_rule(source):
        data = (resources.files("events") / _FOLDER / f"{source}.yaml").read_bytes()
    else:
        message = f"must be one of {', '.join(shipped_rules())}, or a path to a YAML file, got {source!r}"
        raise ParameterError(message, parameter="rule", hint=did_you_mean(source, shipped_rules()))
    tree = read_yaml(source, data)
    if is_outcome_file(tree):
        return typed(source, tree, _format.OutcomeFile), (source,)
    bases: tuple[str, ...] = ()
    if isinstance(tree, dict) and "shares" in tree:
        tree, bases = _with_shared(tree, (*extending, source))
    name = tree.get("extends") if isinstance(tree, dict) else None
    if isinstance(tree, dict) and isinstance(name, str) and name:
        base, base_sources = _base(name, (*extending, source))
        bases = (*base_sources, *(each for each in bases if each not in base_sources))
        file = _extended(base, tree, source)
    else:
        file = typed(source, tree, _format.RuleFile)
    _format.check_rule_file(file, source)
    return file, (source, *bases)


def _with_shared(tree: dict[str, Any], files: tuple[str, ...]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Content of the last of the files with the content that it shares, and the names of the files that it shares from.

    Shared content is word lists, conditions, paths and frames of other rules or of files without a rule. Content of the
    file itself replaces shared content with the same name. Shared frames are named RULE_FRAME, as attack_verb.
    """
    names, merged = tree["shares"], {key: value for key, value in tree.items() if key != "shares"}
    sources: tuple[str, ...] = ()
    for name in [names] if isinstance(names, str) else typed(f"{files[-1]}: shares", names, list[str]):
        shared: _conditions.ConditionsFile | _format.RuleFile
        if name in _SHARED:
            data = (resources.files("events") / "data" / f"{name}.yaml").read_bytes()
            shared = typed(name, read_yaml(name, data), _conditions.ConditionsFile)
        else:
            shared, shared_sources = _base(name, files, "shares")
            sources += tuple(each for each in shared_sources if each not in sources)
        for key in ("words", "conditions", "paths"):
            if isinstance(merged.get(key, {}), dict):
                merged[key] = {**_as_yaml(getattr(shared, key)), **merged.get(key, {})}
        if isinstance(shared, _format.RuleFile) and isinstance(merged.get("frames", []), list):
            frames = [{**_as_yaml(frame), "name": f"{shared.name}_{frame.name}"} for frame in shared.all_frames()]
            merged["frames"] = [*merged.get("frames", []), *frames]
    return merged, sources


def _base(name: str, extending: tuple[str, ...], key: str = "extends") -> tuple[_format.RuleFile, tuple[str, ...]]:
    """The rule with a name, or at a path relative to the last of the files `extending`; see `_read`."""
    location = f"{extending[-1]}: {key}"
    if _is_path(name):
        name = os.path.join(os.path.dirname(extending[-1]), name)
    if os.path.realpath(name) in map(os.path.realpath, extending):
        chain = " -> ".join(map(os.path.basename, (*extending, name)))
        raise InputError(f"must not lead back to the file itself, got {chain}", place=location)
    try:
        base, sources = _read(name, extending)
    except ParameterError as error:
        raise InputError(error.message, place=location) from None
    if isinstance(base, _format.OutcomeFile):
        raise InputError(f"must be a rule, got a file of outcomes: {name}", place=location)
    return base, sources


def _is_path(rule: str) -> bool:
    return Path(rule).suffix in (".yaml", ".yml") or (os.sep in rule and not is_shipped_rule(rule))


def _rule(file: _format.RuleFile, preset: str | None, sources: tuple[str, ...]) -> Rule:
    source, *bases = sources
    name = preset
    if name is None:
        name = next(iter(file.presets)) if len(file.presets) == 1 else DEFAULT_PRESET
    if name not in file.presets:
        rule = f"must be one of {', '.join(file.presets)} for the rule {source}"
        raise ParameterError(f"{rule}, got {'none' if preset is None else repr(preset)}", parameter="preset")
    resolved = file.resolved(name)
    frames = tuple(
        _frame(file, frame, resolved)
        for frame in file.all_frames()
        if resolved.frames is None or frame.name in resolved.frames
    )
    words = frozenset[str]().union(*(frame.words for frame in frames))
    inflected = load_language(file.language or ENGLISH).inflected
    return Rule(
        preset=name,
        source=source,
        frames=frames,
        described=_paths(file, resolved.described or []),
        optional=frozenset(file.optional),
        defaults=file.defaults if resolved.defaults is None else resolved.defaults,
        classes={role: frozenset(kinds) for role, kinds in file.classes.items()},
        conditions=_conditions.conditions_with(file.words, file.conditions, file.language),
        unless=tuple(dict.fromkeys(resolved.unless or ())),
        distinct_actors=bool(resolved.distinct_actors),
        stands_for=resolved.stands_for is not False,
        forms={} if resolved.forms is False else {form: word for word in sorted(words) for form in inflected(word)},
        outcomes=_format.outcomes_of(file.outcomes, source),
        bases=tuple(bases),
        **fields_of(file, "name", "event", "examples", "description", "question", "codebook", "language"),
    )


def _frame(file: _format.RuleFile, entry: _format.FrameEntry, preset: _format.Preset) -> Frame:
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


def _paths(file: _format.RuleFile, names: list[str]) -> dict[str, tuple[str, ...]]:
    """Paths with these names in each scheme; a path of the file replaces the scheme's path with the same name."""

    def paths_of(name: str, scheme: Scheme) -> Sequence[str]:
        written = file.paths[name].get(scheme.name, ()) if name in file.paths else scheme.written.get(name, ())
        return _conditions.paths_with(file.words, written, scheme.name, file.language)

    return {
        scheme.name: tuple(dict.fromkeys(path for name in names for path in paths_of(name, scheme)))
        for scheme in SCHEMES.values()
    }


# --- files that extend another file ---

# A rule is a tree of mappings and lists here. A value of the extending file replaces the value of the base with the
# same key; mappings are merged key by key, and a frame is merged with the frame of the same name. `add` and `remove`
# follow the same tree down to a list, where frames are a mapping by name: ``add: {frames: {verb: {lemma: [hold]}}}``.
_CHANGED = ("optional", "frames", "presets", "classes", "paths", "words", "conditions")
_OF_FRAMES = ("roles", "required")  # beside the words of the trigger


def _extended(base: _format.RuleFile, file_tree: Mapping[str, Any], source: str) -> _format.RuleFile:
    """The rule of a file that extends `base`.

    Parameters
    ----------
    base
        Rule that the file extends, already checked.
    file_tree
        YAML content of the file, as mappings and lists.
    source
        Name of the file for error messages.

    Raises
    ------
    InputError
        If a value does not have the type that the format requires, or if `add` or `remove` names a key or an item that
        the rule does not have.
    """
    # The file need not have presets of its own, which its type requires: an empty preset satisfies the check.
    extension = typed(source, {"presets": {"base": {}}, **file_tree}, _format.RuleFile)
    tree = {**_as_yaml(base), "frames": _as_yaml(base.all_frames()), "trigger": None}
    tree["examples"] = [*(tree["examples"] if extension.base_examples else ()), *file_tree.get("examples", ())]
    merged = {key: value for key, value in file_tree.items() if key not in ("frames", "examples", "add", "remove")}
    tree = _merged(tree, merged)
    frames = {frame["name"]: frame for frame in tree["frames"]}
    for frame in file_tree.get("frames", []):
        frames[frame["name"]] = _merged(frames.get(frame["name"], {}), frame)
    tree["frames"] = list(frames.values())
    for key in ("remove", "add"):
        changes = file_tree.get(key, {})
        view = _view(typed(source, tree, _format.RuleFile), changes)
        tree |= _changed(view, changes, f"{source}: {key}", is_removal=key == "remove")
        tree["frames"] = [
            {"name": name, **{key: frame.pop(key) for key in _OF_FRAMES}, "trigger": frame}
            for name, frame in tree["frames"].items()
        ]
    return typed(source, {**tree, "add": {}, "remove": {}}, _format.RuleFile)


def _as_yaml(value: Any) -> Any:
    """Convert a structure of msgspec to the mappings and lists that its YAML would give."""
    return msgspec.json.decode(msgspec.json.encode(value))


def _merged(base: Any, extension: Any) -> Any:
    """A mapping updated with another one, recursively where both values are mappings; an empty mapping clears it."""
    if not (isinstance(base, dict) and isinstance(extension, dict) and extension):
        return extension
    return base | {key: _merged(base.get(key), value) for key, value in extension.items()}


def _view(file: _format.RuleFile, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Tree to which changes apply, with the shipped lists that the changes name and the values that presets inherit."""
    tree = _as_yaml(file)
    view = {key: tree[key] for key in _CHANGED}
    view["frames"] = {
        frame["name"]: {**(frame["trigger"] or {}), **{key: frame[key] for key in _OF_FRAMES}}
        for frame in tree["frames"]
    }
    for name, preset in view["presets"].items():
        if name not in _keys(changes, "presets"):
            continue
        resolved = _as_yaml(file.resolved(name))
        defaults: dict[str, Any] = {"described": [], "roles": {}, "frames": [*view["frames"]], "unless": []}
        for key in _keys(changes["presets"], name):
            if key in defaults and preset[key] is None:
                preset[key] = defaults[key] if resolved[key] is None else resolved[key]
    shipped = _conditions.shipped_file()
    paths = {
        name: {scheme.name: list(scheme.written.get(name, ())) for scheme in SCHEMES.values()}
        for name in next(iter(SCHEMES.values())).written
    }
    for key, shipped_lists in (("words", shipped.words), ("conditions", shipped.conditions), ("paths", paths)):
        view[key] = {name: shipped_lists[name] for name in _keys(changes, key) if name in shipped_lists} | view[key]
    return view


def _keys(changes: Any, key: str) -> Any:
    """Keys or items that changes have below a key."""
    below = changes.get(key) if isinstance(changes, dict) else None
    return below if isinstance(below, (dict, list)) else ()


def _changed(tree: Any, changes: Any, location: str, *, is_removal: bool) -> Any:
    """A tree with items added to its lists, or without some items of its lists and some keys of its mappings.

    A key without a value, whose items a user deleted, changes nothing.
    """
    if changes is None:
        return tree
    if isinstance(tree, dict) and isinstance(changes, dict):
        return tree | {
            key: _changed(_member(tree, key, location), value, f"{location}.{key}", is_removal=is_removal)
            for key, value in changes.items()
        }
    if isinstance(changes, list) and is_removal and isinstance(tree, (dict, list)):
        for item in changes:
            _member(tree, item, location)
        if isinstance(tree, dict):
            return {key: value for key, value in tree.items() if key not in changes}
        return [item for item in tree if item not in changes]
    if isinstance(changes, list) and isinstance(tree, list):
        return tree + [item for item in changes if item not in tree]
    kind = "a mapping" if isinstance(tree, dict) else "a list"
    raise InputError(f"must be {kind}, got {shown(changes)}", place=location)


def _member(tree: Any, key: Any, location: str) -> Any:
    if key not in tree:
        names = ", ".join(map(str, tree)) or "none"
        raise InputError(f"must name what the rule has ({names}), got {shown(key)}", place=location)
    return tree[key] if isinstance(tree, dict) else None
