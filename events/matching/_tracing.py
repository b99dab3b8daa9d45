"""Explanation in words why each trigger of a document makes an event or does not.

It serves to debug a rule on a few sentences and to count where the rule's parts fail; events are not counted from it.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from corefsample._arrays import Ints32
from corefsample.documents._tokens import Tokens
from corefsample.syntax._paths import FailedStep, connecting_path, nearest_failure
from events.lexicon._lexicon import Lexicon, LexiconMatches
from events.matching import _matching as matching
from events.matching._trigger_model import LEARNED, LEAST
from events.rules._rules import Rule

# Outcomes of a trigger. A trigger of several frames is reported with the outcome that comes first here.
COUNTED = "counted"  # it makes an event without the help of coreference
EXCLUDED = "excluded"  # a condition of the preset excludes it
NO_ACTOR = "no actor"  # the mention that fills the role is not described as an actor: coreference decides
SEVERAL = "several actors"  # the mention that fills the role is described as several actors, so it counts as none
OTHER_CLASS = "other class"  # the mention that fills the role is an actor of a class that the role does not allow
NO_MENTION = "no mention"  # a path leads to a token that is the head of no mention
NO_PATH = "no path"  # no path of a role leads anywhere
OUTCOMES = (COUNTED, EXCLUDED, NO_ACTOR, SEVERAL, OTHER_CLASS, NO_MENTION, NO_PATH)


@dataclass(frozen=True, slots=True)
class NamedActor:
    """The name of an actor in the sentence of a trigger.

    Attributes
    ----------
    actor
        Code of the actor in the lexicon.
    words
        Text of the name.
    path_from_trigger
        Path in the parse from the trigger to the head of a mention that the name describes, or, if it describes none,
        to the name; "" if that is the trigger itself, None if they are in different trees.
    describes_a_mention
        Whether the name describes a mention by the paths of the rule.
    """

    actor: str
    words: str
    path_from_trigger: str | None
    describes_a_mention: bool


@dataclass(frozen=True, slots=True)
class RoleTrace:
    """How one role of the event is filled at a trigger.

    Attributes
    ----------
    role
        Name of the role.
    outcome
        COUNTED if the role fulfils the event's conditions; otherwise the element of OUTCOMES that says what is missing.
    is_optional
        Whether the role may be absent, or filled by an entity that is no actor of the lexicon.
    path, word
        Path that leads to a mention, and the word at the end of the path; None if no path leads to a mention.
    actors
        Codes of the actors as which the mention is described: actors of the role's classes or, if it is described as
        none of these, all actors as which it is described.
    in_class
        Whether `actors` belong to the role's classes.
    near_miss
        If no path leads to a mention: text with the path that leads farthest, and its step that fails. Otherwise None.
    """

    role: str
    outcome: str
    is_optional: bool
    path: str | None = None
    word: str | None = None
    actors: tuple[str, ...] = ()
    in_class: bool = False
    near_miss: str | None = None


@dataclass(frozen=True, slots=True)
class TriggerTrace:
    """A trigger in the text, and its outcome.

    Attributes
    ----------
    token
        Token offset of the trigger in the document.
    trigger
        Lemma of the trigger in the rule, or the phrase of which the trigger is the head word.
    frame
        Name of the frame to which the trigger belongs.
    outcome
        One of OUTCOMES: whether the trigger makes an event, or the reason why not.
    conditions, condition_words
        Names of the preset's conditions that exclude the trigger, and the word to which the path of each leads.
    roles
        How each role of the event is filled.
    actors
        Names of actors in the trigger's sentence.
    chance
        P(the trigger reports an event) by a trigger model; None without one.
    """

    token: int
    trigger: str
    frame: str
    outcome: str
    conditions: tuple[str, ...]
    condition_words: tuple[str, ...]
    roles: tuple[RoleTrace, ...]
    actors: tuple[NamedActor, ...]
    chance: float | None = None

    @property
    def is_named(self) -> bool:
        """Whether exactly one actor of the lexicon fills each role, including optional roles."""
        return all(role.in_class and len(role.actors) == 1 for role in self.roles)


DocumentTrace = tuple[list[TriggerTrace], LexiconMatches]  # triggers in the order of the text; all names of actors


def trace_document(
    tokens: Tokens,
    mentions: Ints32,
    rule: Rule,
    lexicon: Lexicon,
    date: datetime.date | None,
    scheme: str | None = None,
) -> DocumentTrace:
    """Trace every trigger of a document.

    The parameters and errors are those of `match_document`, except that labels may fit several schemes: the first one
    for which the rule has paths is used.
    """
    scheme_names = matching.served_schemes(rule, matching.readable_schemes(tokens.dep, scheme))
    forms, words = matching.verb_forms(tokens, range(len(tokens))), matching.rule_words([rule])
    for_rule = matching.with_forms(tokens, rule, forms)
    reading = matching.ParseReading(for_rule, mentions, scheme_names[0], words, rule.language)
    names = lexicon.match(tokens.text, reading.view.heads, date, tokens.lemma)
    of_rule = matching.RuleReading(reading, rule)
    tracer = _Tracer(reading, mentions, rule, lexicon, names, of_rule.chances)
    by_token: dict[int, list[TriggerTrace]] = {}
    for candidate in of_rule.candidates:
        if candidate.frame.name != LEARNED or of_rule.chances.get(candidate.token, 0.0) >= LEAST:
            by_token.setdefault(candidate.token, []).append(tracer.trigger(candidate))
    best = [min(by_token[token], key=lambda trace: OUTCOMES.index(trace.outcome)) for token in sorted(by_token)]
    return best, names


class _Tracer:
    """One parse with the names of actors in it and the mentions that they describe."""

    def __init__(
        self,
        reading: matching.ParseReading,
        mentions: Ints32,
        rule: Rule,
        lexicon: Lexicon,
        names: LexiconMatches,
        chances: Mapping[int, float],
    ) -> None:
        self._chances = chances
        self._reading, self._rule, self._lexicon, self._names = reading, rule, lexicon, names
        self._view = reading.view
        self._codes: dict[int, set[str]] = {}  # by head of a mention
        self._described: dict[int, list[int]] = {}  # by first token of a name: heads of the mentions that it describes
        described = reading.described(rule.described[reading.scheme], names)
        heads = mentions[described.mentions, 2].tolist()
        for head, number, (first, _) in zip(heads, described.numbers.tolist(), described.words.tolist(), strict=True):
            self._codes.setdefault(head, set()).add(described.codes[number])
            self._described.setdefault(first, []).append(head)

    def trigger(self, candidate: matching.TriggerCandidate) -> TriggerTrace:
        """Trace of a trigger of one frame."""
        token, text, rule = candidate.token, self._view.text, self._rule
        ends = {name: rule.conditions[name].ends(self._view, token, self._reading.scheme) for name in rule.unless}
        conditions = {name: text[min(tokens)] for name, tokens in ends.items() if tokens}
        roles = tuple(
            self._role(candidate, role, path_ends) for role, path_ends in zip(rule.event, candidate.ends, strict=True)
        )
        outcome = max((role.outcome for role in roles), key=OUTCOMES.index, default=COUNTED)
        # Conditions matter only for triggers that could make an event, perhaps with the help of coreference.
        chance = self._chances.get(token)
        is_excluded = bool(conditions) if chance is None else chance < LEAST
        if is_excluded and outcome not in (NO_MENTION, NO_PATH):
            outcome = EXCLUDED
        return TriggerTrace(
            *(token, candidate.words, candidate.frame.name, outcome, tuple(conditions), tuple(conditions.values())),
            *(roles, tuple(self._actors_near(token)), chance),
        )

    def _role(self, candidate: matching.TriggerCandidate, role: str, ends: dict[int, str]) -> RoleTrace:
        frame, rule, reading = candidate.frame, self._rule, self._reading
        is_optional = role in rule.optional - frame.required
        # If several mentions fill the role, the one that is nearest to an event is reported.
        traces = [self._filled(role, is_optional, path, head) for head, path in ends.items() if reading.by_head[head]]
        if traces:
            return min(traces, key=lambda trace: (OUTCOMES.index(trace.outcome), not trace.actors))
        if ends:
            end, path = next(iter(ends.items()))
            near_miss = f"{path or 'the trigger'} leads to {self._view.text[end]!r}, which is the head of no mention"
            return RoleTrace(role, COUNTED if is_optional else NO_MENTION, is_optional, near_miss=near_miss)
        if role in rule.defaults and role not in frame.required and rule.filled != "named":
            is_optional = is_optional or (
                rule.defaults[role].actor in self._lexicon.kinds
                and matching.is_filled_by_default(rule, role, reading, candidate.token)
            )
        failure = nearest_failure(frame.roles.get(role, {}).get(reading.scheme, ()), self._view, candidate.token)
        near_miss = "the rule has no path" if failure is None else f"{failure.path}: {self._failure(failure)}"
        return RoleTrace(role, COUNTED if is_optional else NO_PATH, is_optional, near_miss=near_miss)

    def _failure(self, failure: FailedStep) -> str:
        """Text that says why a step fails: words that violate its conditions, or the labels that exist instead."""
        view = self._view
        words = ", ".join(repr(view.text[token]) for token in failure.tokens)
        if failure.label_fits:
            return f"{words} is not {failure.step}"
        steps = (([token] if failure.step[0] == "<" else view.dependents[token]) for token in failure.tokens)
        labels = ", ".join(dict.fromkeys(view.labels[token] for neighbours in steps for token in neighbours))
        return f"{failure.step} leads nowhere from {words}, which has {labels or 'no label'}"

    def _filled(self, role: str, is_optional: bool, path: str, head: int) -> RoleTrace:
        """Trace of a role that the mentions with one head fill, with the actors as which they are described."""
        codes = self._codes.get(head, set())
        class_codes = self._lexicon.countable(codes, self._rule.classes.get(role))
        # The most specific codes: for the police of a country its code, otherwise the police, otherwise any actor.
        composites, inner = {*class_codes}.difference(codes), self._lexicon.inner_codes.intersection(class_codes)
        actors = tuple(sorted(composites or inner or class_codes or codes))
        outcome = COUNTED
        if not is_optional and not class_codes:
            outcome = OTHER_CLASS if actors else NO_ACTOR
        elif not is_optional and len(actors) > 1 and not self._rule.distinct_actors:
            outcome = SEVERAL
        return RoleTrace(role, outcome, is_optional, path, self._view.text[head], actors, bool(class_codes))

    def _actors_near(self, trigger: int) -> Iterator[NamedActor]:
        """The actors that the sentence of a trigger names."""
        view, sentences = self._view, self._reading.sentences
        for token, code in sorted(self._names.codes.items()):
            if sentences[token] == sentences[trigger]:
                start, end = self._names.spans[token]
                described = self._described.get(start, [])
                paths = [connecting_path(view, trigger, end) for end in described or [token]]
                connected = [path for path in paths if path is not None]
                shortest = min(connected, key=lambda path: path.count(">") + path.count("<"), default=None)
                yield NamedActor(code, " ".join(view.text[start:end]), shortest, bool(described))
