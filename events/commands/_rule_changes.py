"""Changes of a rule that may find events it misses: drafted from the parses of documents that people labelled yes.

A change is a piece of a rule file that extends the rule, so that what is tried is what can be written.
"""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from corefsample._arrays import Ints32
from corefsample.documents._tokens import Tokens
from corefsample.syntax import SCHEMES
from corefsample.syntax._paths import ParseView
from events.commands._rule_draft import path_in_schemes
from events.lexicon._lexicon import Lexicon
from events.matching._tracing import EXCLUDED, NO_PATH, DocumentTrace, trace_document
from events.rules._extending import extended
from events.rules._format import RuleFile, check_rule_file
from events.rules._rules import Rule, presets_of

NAME = "name"  # kind of the changes of a lexicon; the others are of a rule
_MOST_STEPS = 3  # of a path from a trigger to an actor: longer ones are by chance
_MOST_OF_KIND = 15  # paths, and names: those of most documents
_TRIGGERS = ("VERB", "NOUN")
_OF_NOUNS = ("noun_possessor", "noun_by", "light_verb_subject"), ("noun_of",)  # paths of both roles of a noun
_NO_PART = ("nsubj", "csubj", "conj", "parataxis", "acl", "advcl", "relcl", "ccomp", "xcomp", "appos")  # of a phrase


@dataclass(frozen=True, slots=True)
class Change:
    """One addition to a rule, or a condition less.

    Attributes
    ----------
    kind
        lemma, phrase, path, condition or name.
    text
        The trigger, path, condition or noun.
    place
        The frame, the role, the preset or the actor to which it belongs, for readers.
    content
        What a file has that extends the rule; of a name, nouns by code.
    """

    kind: str
    text: str
    place: str
    content: Mapping[str, Any] = field(compare=False)

    def __str__(self) -> str:
        return f"{self.kind} {self.text} ({self.place})"


@dataclass(frozen=True, slots=True, eq=False)
class ParsedDocument:
    """The likeliest parse of a labelled document."""

    tokens: Tokens
    mentions: Ints32
    date: datetime.date


class RuleChanges:
    """Finds and makes changes of one preset of a rule.

    Parameters
    ----------
    file, sources
        The rule, as of `events.rules._rules.rule_file`.
    preset, lexicon, scheme
        Of the run.
    """

    def __init__(
        self, file: RuleFile, sources: tuple[str, ...], preset: str, lexicon: Lexicon, scheme: str | None
    ) -> None:
        self.file, self.sources, self.preset = file, sources, preset
        self._lexicon, self._scheme = lexicon, scheme
        self.rule = self.changed({})
        resolved = file.resolved(preset)
        self._is_restricted = resolved.frames is not None
        self._frames = [each for each in file.all_frames() if not resolved.frames or each.name in resolved.frames]
        self._paths: dict[tuple[str, str, str], str] = {}  # name of the path of a frame, role and route

    def changed(self, content: Mapping[str, Any]) -> Rule:
        """The preset with a change."""
        source = self.sources[0]
        file = extended(self.file, {"version": 1, "name": self.file.name, "extends": source, **content}, source)
        check_rule_file(file, source)
        return next(rule for rule in presets_of(file, self.sources) if rule.preset == self.preset)

    def trial(self, change: Change) -> Rule:
        """The preset with a change, without triggers that it has anyway if there are new ones."""
        rule = self.changed(change.content)
        known = {frame.name: frame for frame in self.rule.frames}
        new = [
            replace(
                frame,
                lemmas=frame.lemmas - (known[frame.name].lemmas if frame.name in known else frozenset()),
                phrases=tuple(
                    each for each in frame.phrases if frame.name not in known or each not in known[frame.name].phrases
                ),
            )
            for frame in rule.frames
        ]
        return replace(rule, frames=tuple(frame for frame in new if frame.words) or rule.frames)

    def trace(self, document: ParsedDocument) -> DocumentTrace:
        """The triggers and names of a document."""
        each = document
        return trace_document(each.tokens, each.mentions, self.rule, self._lexicon, each.date, self._scheme)

    def from_traces(self, missed: Sequence[tuple[ParsedDocument, str]]) -> list[Change]:
        """Conditions, paths and names that would let triggers of missed events count; of an actor, or of "*" anybody.

        Those of most documents come first.
        """
        found: dict[str, Counter[Change]] = {"condition": Counter(), "path": Counter(), NAME: Counter()}
        for document, target in missed:
            for change in set(self._of_triggers(document, target)):
                found[change.kind][change] += 1
        return [change for each in found.values() for change, _ in each.most_common(_MOST_OF_KIND)]

    def _of_triggers(self, document: ParsedDocument, target: str) -> Iterator[Change]:
        trace = self.trace(document)
        wanted = dict(zip(self.rule.event, target.split(">"), strict=False))
        for trigger in trace.triggers:
            if trigger.outcome == EXCLUDED and len(trigger.conditions) == 1:
                yield self._condition(trigger.conditions[0])
            for role in trigger.roles:
                code = wanted.get(role.role, "")
                if role.path is None and (role.outcome == NO_PATH or role.is_optional):
                    for actor in trigger.actors:
                        steps = 0 if actor.route is None else actor.route.count(">") + actor.route.count("<")
                        if actor.describes and actor.code == code and actor.route and steps <= _MOST_STEPS:
                            yield self._path(trigger.frame, role.role, actor.route, trace.scheme)
                elif role.token is not None and not role.codes and code in self._lexicon.codes:
                    yield from self._name(document.tokens, role.token, code)

    def _condition(self, name: str) -> Change:
        content = {"remove": {"presets": {self.preset: {"unless": [name]}}}}
        return Change("condition", name, self.preset, content)

    def _path(self, frame: str, role: str, route: str, scheme: str) -> Change:
        name = self._paths.setdefault((frame, role, route), f"suggested_{role}_{len(self._paths) + 1}")
        own = next(each for each in self._frames if each.name == frame)
        part, of = ("frames", frame) if role in own.roles else ("presets", self.preset)
        added = {part: {of: {"roles": {role: [name]}}}}
        content = {"paths": {name: path_in_schemes(route, scheme)}, "add": added}
        return Change("path", route, f"{role}, frame {frame}", content)

    def _name(self, tokens: Tokens, token: int, code: str) -> Iterator[Change]:
        if tokens.upos[token] == "NOUN" and tokens.lemma[token].isalpha():
            noun = tokens.lemma[token].lower()
            yield Change(NAME, noun, code, {code: [noun]})

    def from_words(self, kind: str, upos: str, words: Sequence[str]) -> Change:
        """A trigger of one word or several, in a frame of this part of speech, or in a new one."""
        text = " ".join(words)
        frames = [each for each in self._frames if each.trigger is not None and upos in each.trigger.upos]
        if frames:
            name = max(frames, key=lambda each: bool(getattr(each.trigger, kind))).name
            content: dict[str, Any] = {"add": {"frames": {name: {kind: [text]}}}}
            return Change(kind, text, f"frame {name}", content)
        name = f"suggested_{upos.lower()}"
        of_roles = _OF_NOUNS if upos == "NOUN" else ((), ())
        roles = {role: list(paths) for role, paths in zip(self.rule.event, of_roles, strict=False) if paths}
        content = {"frames": [{"name": name, "trigger": {kind: [text], "upos": [upos]}, "roles": roles}]}
        if self._is_restricted:
            content["add"] = {"presets": {self.preset: {"frames": [name]}}}
        return Change(kind, text, f"new frame {name}", content)


Words = tuple[str, str, tuple[str, ...]]  # kind of trigger, part of speech of its head word, lemmas


def trigger_words(document: ParsedDocument, trace: DocumentTrace, *, near_names: bool) -> set[Words]:
    """Verbs and nouns of a document, and two or three of their words that the parse connects.

    Parameters
    ----------
    document, trace
        The parse, and what was found in it.
    near_names
        Only from sentences that name an actor.
    """
    tokens = document.tokens
    view = ParseView(tokens, SCHEMES[trace.scheme])
    lemmas = [lemma.lower() for lemma in view.lemma]
    sentences = {int(tokens.sent[token]) for token in trace.names.codes}
    found: set[Words] = set()
    for token, upos in enumerate(view.upos):
        if upos not in _TRIGGERS or (near_names and int(tokens.sent[token]) not in sentences):
            continue
        found.add(("lemma", upos, (lemmas[token],)))
        for others in _connected(view, token):
            found.add(("phrase", upos, tuple(lemmas[each] for each in sorted((token, *others)))))
    return {(kind, upos, words) for kind, upos, words in found if _is_written(words)}


def _connected(view: ParseView, head: int) -> Iterator[tuple[int, ...]]:
    """Dependents of a word that make a phrase with it: a particle, an object, or a noun with its preposition."""
    for dependent in view.dependents[head]:
        upos, label = view.upos[dependent], view.labels[dependent]
        if upos == "ADP":
            below = [each for each in view.dependents[dependent] if view.upos[each] == "NOUN"]
            yield from ((dependent, each) for each in below) if below else [(dependent,)]
        elif upos in ("NOUN", "ADJ") and label not in _NO_PART:
            markers = [each for each in view.dependents[dependent] if view.labels[each] == "case"]
            yield (*markers[:1], dependent)


def _is_written(words: tuple[str, ...]) -> bool:
    return all(word.isalpha() for word in words) and len(set(words)) == len(words)


def merged(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """Two changes in one file: mappings are joined key by key, lists by their items, frames by their names."""
    joined: dict[str, Any] = dict(first)
    for key, value in second.items():
        old = joined.get(key)
        if isinstance(old, dict) and isinstance(value, dict):
            joined[key] = merged(old, value)
        elif key == "frames" and isinstance(old, list):
            named = {each["name"]: each for each in old}
            named |= {each["name"]: merged(named.get(each["name"], {}), each) for each in value}
            joined[key] = list(named.values())
        elif isinstance(old, list):
            joined[key] = [*old, *(item for item in value if item not in old)]
        else:
            joined[key] = value
    return joined
