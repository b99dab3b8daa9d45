"""What a label of an audit answers: the question, and a codebook of what counts and what does not.

Both are made from the rules of a run: the clauses and the codebook of a rule file, its inline examples, the names of
the lexicon, and the conditions that the preset excludes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from events.audit import AuditFrame
from events.evidence._columns import shown_name
from events.evidence._examples import example_tokens
from events.evidence._rule_set import RuleSet
from events.lexicon._file import lexicon_content
from events.pages._document_texts import spaced
from events.rules._format import ANYBODY, CLASS, Example, Outcome
from events.rules._rules import Rule

_NOBODY = "-"  # in the name of a target: no actor of the lexicon fills the role
_WITH_ARTICLE = re.compile(
    "^United |^(Bahamas|Comoros|Gambia|Maldives|Netherlands|Philippines|Seychelles)$|(Emirates|Islands|Republic|Union)$"
)
_MOST_WORDS = 30  # of an actor, in a codebook
# What a text that a condition excludes says only, after "it".
_ONLY_SAYS = {
    "negated": "did not happen",
    "modal": "might or should happen",
    "future": "will happen",
    "conditional": "happens under a condition",
    "desired": "is wanted, planned or tried",
    "denied": "is denied",
    "question": "is asked about",
    "reported": "is said by others to have happened",
}


@dataclass(frozen=True, slots=True)
class Question:
    """What a label answers.

    Attributes
    ----------
    text
        Question that a label answers.
    codebook
        Paragraphs: what counts and what does not, and examples.
    """

    text: str
    codebook: tuple[str, ...] = ()


def default_question(frame: AuditFrame) -> str:
    """The question about documents of which no rule is known; it names the event."""
    event = frame.event.replace("_", " ")
    if frame.label_kind == "events":
        return "Which of these events are in this document?"
    if frame.label_kind == "actors":
        return f"Which actors have the event “{event}” in this document?"
    by_actor = "" if frame.targets == (frame.event,) else f" by {frame.targets[0]}"
    return f"Is the event “{event}”{by_actor} in this document?"


def rule_question(frame: AuditFrame, definitions: RuleSet) -> Question:
    """The question about documents of a run, and its codebook.

    Parameters
    ----------
    frame
        Documents of the audit, with the targets that labels are about.
    definitions
        Rules and lexicon of the run.
    """
    asked = [(rule, codes) for rule in definitions.rules if (codes := _codes(frame, rule)) is not None]
    unions = [
        outcome
        for outcome in definitions.outcomes
        if {outcome.name, f"{outcome.name}: {outcome.actors}"} & {*frame.targets}
    ]
    wording = _Wording(definitions)
    if unions:
        return _of_unions(wording, asked, unions, definitions.rules)
    if not asked:
        return Question(default_question(frame))
    as_fact = _as_fact(rule for rule, _ in asked)
    (rule, codes), *further = asked
    has_several_targets = len(frame.targets) > 1
    if further or (has_several_targets and not codes):
        text = f"Which of these does the article say{as_fact}?"
    elif has_several_targets:
        who = "actors" if len(rule.event) == 1 else "pairs"
        they = ("they",) if len(rule.event) == 1 else ("the first", "the second")
        text = f"Of which of these {who} does the article say that {wording.clause(rule, they)}{as_fact}?"
    else:
        text = f"Does the article say that {wording.asked(rule, codes)}{as_fact}?"
    paragraphs = [
        paragraph
        for rule, codes in asked
        for paragraph in ([f"{rule.name}: {wording.asked(rule, ())}."] * bool(further) + [*wording.about(rule, codes)])
    ]
    return Question(text, tuple(dict.fromkeys(paragraphs)))


def _as_fact(rules: Iterable[Rule]) -> str:
    return ", as a fact" if all(_ONLY_SAYS.keys() & {*rule.unless} for rule in rules) else ""


def _of_unions(
    wording: _Wording,
    asked: Sequence[tuple[Rule, tuple[str, ...]]],
    unions: Sequence[Outcome],
    rules: Sequence[Rule],
) -> Question:
    """The question about outcomes, and perhaps events of rules beside them; what each of these is, in the codebook."""
    by_name = {rule.name: rule for rule in rules}
    clauses = {rule.name: wording.asked(rule, codes) for rule, codes in asked}
    for union in unions:
        clause = union.question or _either(wording.alternatives(union, by_name))
        name = union.title or union.name
        clauses[name] = f"{clauses[name]} or {clause}" if name in clauses and clause != clauses[name] else clause
    names = dict.fromkeys([*(rule.name for rule, _ in asked), *(name for union in unions for name in union.events)])
    rules_of_unions = [by_name[name] for name in names]
    as_fact = _as_fact(rules_of_unions)
    paragraphs = [paragraph for rule in rules_of_unions for paragraph in wording.about(rule, ())]
    if len(clauses) == 1:
        (clause,) = clauses.values()
        return Question(f"Does the article say that {clause}{as_fact}?", tuple(dict.fromkeys(paragraphs)))
    described = [f"{name}: {clause}." for name, clause in clauses.items()]
    return Question(f"Which of these does the article say{as_fact}?", tuple(dict.fromkeys([*described, *paragraphs])))


def _codes(frame: AuditFrame, rule: Rule) -> tuple[str, ...] | None:
    """Targets that are events of a rule, without its name; () for a target of any actor, None if no target is."""
    if rule.name in frame.targets:
        return ()
    if frame.event == rule.name:
        return frame.targets
    codes = [target.removeprefix(f"{rule.name}: ") for target in frame.targets if target.startswith(f"{rule.name}: ")]
    return tuple(codes) or None


class _Wording:
    """Clauses about events, with the names of a lexicon."""

    def __init__(self, definitions: RuleSet) -> None:
        self._lexicon = definitions.lexicon
        self._entries = lexicon_content(self._lexicon.source).entries

    def name(self, code: str) -> str:
        """Name of an actor within a sentence: with a small letter where the lexicon has it so among its words."""
        name = self._lexicon.names.get(code, code)
        small = name.lower()
        if not {small, small.removesuffix("s")}.isdisjoint(self._words(code)):
            return small
        return f"the {name}" if _WITH_ARTICLE.search(name) else name

    def _words(self, code: str) -> list[str]:
        """What the lexicon calls an actor, each once without regard to case."""
        entry = self._entries.get(code)
        return [] if entry is None else [*{alias.written.casefold(): alias.written for alias in entry.names}.values()]

    def clause(self, rule: Rule, actors: Sequence[str]) -> str:
        """A clause that completes "the article says that", about actors in words."""
        template = rule.question.actor or f"there is the event “{rule.name}” by {{actor}}"
        return template.format(**dict(zip(("actor", "target"), actors, strict=False)))

    def asked(self, rule: Rule, codes: Sequence[str]) -> str:
        """Clause about the event of one target: by the first of `codes`, or by any actor if `codes` is empty."""
        any_actor = f"an actor of the lexicon {self._lexicon.source}"
        anyone = rule.question.anyone or (
            self.clause(rule, [any_actor] * 2) if rule.event else f"there is the event “{rule.name}”"
        )
        if not codes:
            return anyone
        if codes[0] == _NOBODY:
            return f"{anyone}, and not that {any_actor} did it"
        someone_else = f"someone who is not {any_actor}"
        return self.clause(rule, [someone_else if part == _NOBODY else self.name(part) for part in codes[0].split(">")])

    def alternatives(self, outcome: Outcome, rules: Mapping[str, Rule]) -> list[str]:
        """A clause for each event and actor of an outcome."""
        clauses: dict[str, None] = {}
        for name in outcome.events:
            for actors in outcome.actors.split("|"):
                rule, of_class = rules[name], CLASS.fullmatch(actors)
                if of_class:
                    clauses[self.clause(rule, [f"someone of the class {of_class[1]}", "someone"])] = None
                elif actors == ANYBODY or not rule.event:
                    clauses[self.asked(rule, ())] = None
                else:
                    other_roles = ["-"] * (len(rule.event) - 1 - actors.count(">"))
                    clauses[self.asked(rule, (">".join([actors, *other_roles]),))] = None
        return list(clauses)

    def about(self, rule: Rule, codes: Sequence[str]) -> Iterator[str]:
        """Paragraphs of the codebook of a rule: its text, what the preset excludes, who is meant, and two examples."""
        text = " ".join((rule.codebook or rule.description).split())
        if text:
            yield text
        only = [_ONLY_SAYS[name] for name in rule.unless if name in _ONLY_SAYS]
        if only:
            yield f"It does not count where the article only says that it {_either(only)}."
        for default in rule.defaults.values():
            if default.actor in codes:
                yield f"Where nobody is named, it counts for {self.name(default.actor)} if the article leaves no other."
        if len(codes) == 1:
            for code in codes[0].split(">"):
                words = [word for word in self._words(code) if word.lower() != self.name(code).lower()]
                if words:
                    shown = ", ".join(words[:_MOST_WORDS]) + (" ..." if len(words) > _MOST_WORDS else "")
                    yield f"Words for {self.name(code)}: {shown}."
        yield from self._examples(rule, codes)

    def _examples(self, rule: Rule, codes: Sequence[str]) -> Iterator[str]:
        """A sentence that counts, and one that does not, of the examples of the rule file."""
        examples = [(each, each.expect[rule.preset]) for each in rule.examples if rule.preset in each.expect]
        wanted = set(codes)
        counted = [item for item in examples if item[1] and (not wanted or (_NOBODY in item[1]) == (_NOBODY in wanted))]
        for example, actors in sorted(counted, key=lambda item: wanted.isdisjoint(item[1]))[:1]:
            shown = () if _NOBODY in wanted else actors  # a default actor has the event of nobody named, too
            named = [self._shown(code) for code in shown if code not in (_NOBODY, "event")]
            yield f"Counts{' for ' * bool(named)}{' and '.join(named)}: “{_sentence(example)}”"
        left_out = [example for example, actors in examples if not actors]
        # One that other presets count shows best what this one leaves out.
        for example in sorted(left_out, key=lambda candidate: -sum(map(bool, candidate.expect.values())))[:1]:
            yield f"Does not count: “{_sentence(example)}”"

    def _shown(self, code: str) -> str:
        return shown_name(code, {part: self.name(part) for part in code.split(">")})


def _sentence(example: Example) -> str:
    return "".join(spaced(example_tokens(example)))


def _either(clauses: Sequence[str]) -> str:
    """Parts of a sentence joined by commas and "or"."""
    *first, last = clauses
    return f"{', '.join(first)} or {last}" if first else last
