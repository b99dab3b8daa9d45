"""What a label of an audit answers: the question, and a codebook of what counts and what does not.

Both are made from the rules of a run: the clauses and the codebook of a rule file, its inline examples, the names of
the lexicon, and the conditions that the preset excludes.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from events.audit import AuditFrame
from events.evidence._columns import shown_name
from events.evidence._examples import example_tokens
from events.evidence._rule_set import RuleSet
from events.lexicon._file import lexicon_content
from events.pages._document_texts import spaced
from events.rules._format import ANYBODY, CLASS, Outcome
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


def default_question(frame: AuditFrame) -> str:
    """The question about documents of which no rule is known; it names the event."""
    event = frame.event.replace("_", " ")
    if frame.label_kind == "events":
        return "Which of these events are in this document?"
    if frame.label_kind == "actors":
        return f"Which actors have the event “{event}” in this document?"
    by_actor = "" if frame.targets == (frame.event,) else f" by {frame.targets[0]}"
    return f"Is the event “{event}”{by_actor} in this document?"


def rule_question(frame: AuditFrame, definitions: RuleSet) -> tuple[str, tuple[str, ...]]:
    """The question about documents of a run, and its codebook: paragraphs on what counts and what does not.

    Parameters
    ----------
    frame
        Documents of the audit, with the targets that labels are about.
    definitions
        Rules and lexicon of the run.
    """
    wording, targets = _Wording(definitions), {*frame.targets}
    rules = {rule.name: rule for rule in definitions.rules}
    asked: dict[str, tuple[str, ...]] = {}  # actors of each rule that is asked about; () for any actor
    for name in rules:
        codes = tuple(target.removeprefix(f"{name}: ") for target in frame.targets if target.startswith(f"{name}: "))
        if name in targets or frame.event == name or codes:
            asked[name] = () if name in targets else frame.targets if frame.event == name else codes
    unions = [union for union in definitions.outcomes if {union.name, f"{union.name}: {union.actors}"} & targets]
    if not asked and not unions:
        return default_question(frame), ()
    named = [rules[name] for name in dict.fromkeys([*asked, *(name for union in unions for name in union.events)])]
    as_fact = ", as a fact" if all(_ONLY_SAYS.keys() & {*rule.unless} for rule in named) else ""
    which = f"Which of these does the article say{as_fact}?"
    clauses = {name: wording.asked(rules[name], codes) for name, codes in asked.items()}
    paragraphs: list[str] = []
    if unions:
        for union in unions:
            clause = union.question or _either(wording.alternatives(union, rules))
            name = union.title or union.name
            clauses[name] = f"{clauses[name]} or {clause}" if name in clauses and clause != clauses[name] else clause
        if len(clauses) > 1:
            paragraphs += [f"{name}: {clause}." for name, clause in clauses.items()]
        for rule in named:
            paragraphs += wording.about(rule, ())
    for name, codes in {} if unions else asked.items():
        if len(asked) > 1:
            paragraphs.append(f"{name}: {wording.asked(rules[name], ())}.")
        paragraphs += wording.about(rules[name], codes)
    first, actors = named[0], asked.get(named[0].name, ())
    if len(clauses) > 1 or (not unions and len(targets) > 1 and not actors):
        text = which
    elif not unions and len(targets) > 1:
        who, they = ("actors", ("they",)) if len(first.event) == 1 else ("pairs", ("the first", "the second"))
        text = f"Of which of these {who} does the article say that {wording.clause(first, they)}{as_fact}?"
    else:
        text = f"Does the article say that {next(iter(clauses.values()))}{as_fact}?"
    return text, tuple(dict.fromkeys(paragraphs))


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
        examples = [(each, each.expect[rule.preset]) for each in rule.examples if rule.preset in each.expect]
        wanted = set(codes)
        counted = [item for item in examples if item[1] and (not wanted or (_NOBODY in item[1]) == (_NOBODY in wanted))]
        for example, actors in sorted(counted, key=lambda item: wanted.isdisjoint(item[1]))[:1]:
            # A default actor has the event of nobody named, too.
            codes_shown = [] if _NOBODY in wanted else [code for code in actors if code not in (_NOBODY, "event")]
            named = [shown_name(code, {part: self.name(part) for part in code.split(">")}) for code in codes_shown]
            yield f"Counts{' for ' * bool(named)}{' and '.join(named)}: “{''.join(spaced(example_tokens(example)))}”"
        left_out = [example for example, actors in examples if not actors]
        # One that other presets count shows best what this one leaves out.
        for example in sorted(left_out, key=lambda candidate: -sum(map(bool, candidate.expect.values())))[:1]:
            yield f"Does not count: “{''.join(spaced(example_tokens(example)))}”"


def _either(clauses: Sequence[str]) -> str:
    """Parts of a sentence joined by commas and "or"."""
    *first, last = clauses
    return f"{', '.join(first)} or {last}" if first else last
