"""Why each trigger of a document makes an event or does not: paths, mentions, actors and conditions.

Tracing repeats the matching of `match_rules` in one scheme and keeps what that leaves out. It is for a reader of a few
sentences and for counts of a rule's parts, not for counting events.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from dataclasses import dataclass, replace

from corefsample._arrays import Ints32
from corefsample.documents._tokens import Tokens
from corefsample.syntax._path_traces import PathTrace, connecting_path, nearest_trace, trace_path
from corefsample.syntax._paths import ParseView
from events.lexicon._lexicon import Lexicon, LexiconMatches
from events.matching._matching import (
    Reading,
    described_words,
    frame_triggers,
    is_filled_by_default,
    readable_schemes,
    served_schemes,
)
from events.rules._rules import Frame, Rule

# What becomes of a trigger; of several frames the first of these outcomes is reported.
COUNTED = "counted"  # an event, without the help of coreference
EXCLUDED = "excluded"  # by a condition of the preset
NO_ACTOR = "no actor"  # a mention fills the role, and is no actor by itself: coreference decides
SEVERAL = "several actors"  # a mention fills the role, and is described as several actors, so as none
OTHER_CLASS = "other class"  # a mention fills the role, and is an actor of a class that the role does not have
NO_MENTION = "no mention"  # a path leads to a token that is the head of no mention
NO_PATH = "no path"  # no path of a role leads anywhere
OUTCOMES = (COUNTED, EXCLUDED, NO_ACTOR, SEVERAL, OTHER_CLASS, NO_MENTION, NO_PATH)


@dataclass(frozen=True, slots=True)
class NamedActor:
    """The name of an actor in the text.

    Attributes
    ----------
    code
        Its code in the lexicon.
    span
        Tokens of the name, end exclusive.
    route
        The path of the parse from the trigger to the head of a mention that the name describes, or else to the name;
        "" if that is the trigger itself, None if they are in different trees.
    describes
        Whether it describes a mention by the paths of the rule.
    """

    code: str
    span: tuple[int, int]
    route: str | None
    describes: bool


@dataclass(frozen=True, slots=True)
class RoleTrace:
    """How one role of the event is filled at a trigger.

    Attributes
    ----------
    role
        Name of the role.
    is_optional
        Whether it may be absent.
    path, token
        The first path that leads to the head of a mention, and that token; None if no path does.
    codes
        Actors of the role's classes as which the mentions there are described, of which an event needs one: without
        those of which others are parts (a country with its police). Without any, actors of other classes.
    in_class
        Whether there are any of the role's classes.
    nearest
        Without such a path, the trace of the one that comes farthest; None if the role has no path in the scheme.
    takes_several
        Whether a mention that names several actors counts for each: where the preset keeps distinct actors apart.
    """

    role: str
    is_optional: bool
    path: str | None
    token: int | None
    codes: tuple[str, ...]
    in_class: bool
    nearest: PathTrace | None
    takes_several: bool = False

    @property
    def outcome(self) -> str:
        """COUNTED if the role is as the event needs it, else what it lacks."""
        if self.is_optional:
            return COUNTED
        if self.path is not None:
            if not self.in_class:
                return OTHER_CLASS if self.codes else NO_ACTOR
            return COUNTED if len(self.codes) == 1 or self.takes_several else SEVERAL
        return NO_MENTION if self.nearest is not None and self.nearest.ends else NO_PATH


@dataclass(frozen=True, slots=True)
class TriggerTrace:
    """A trigger in the text, and its outcome.

    Attributes
    ----------
    token
        The trigger.
    trigger
        The lemma of the rule that it has, or the phrase of which it is the head word.
    frame
        Name of its frame.
    conditions, condition_tokens
        The conditions of the preset that hold of it, and for each the token to which its path leads.
    roles
        The roles of the event.
    actors
        Names of actors in its sentence.
    """

    token: int
    trigger: str
    frame: str
    conditions: tuple[str, ...]
    roles: tuple[RoleTrace, ...]
    actors: tuple[NamedActor, ...]
    condition_tokens: tuple[int, ...] = ()

    @property
    def is_named(self) -> bool:
        """Whether one actor of the lexicon fills each role, also where it is optional."""
        return all(role.in_class and len(role.codes) == 1 for role in self.roles)

    @property
    def outcome(self) -> str:
        """One of OUTCOMES."""
        lacking = max((role.outcome for role in self.roles), key=OUTCOMES.index, default=COUNTED)
        # A condition excludes what would otherwise make an event, perhaps with the help of coreference.
        return EXCLUDED if self.conditions and lacking not in (NO_MENTION, NO_PATH) else lacking


@dataclass(frozen=True, slots=True)
class DocumentTrace:
    """The triggers of one document in the order of the text, and all names of actors in it, by their head tokens."""

    scheme: str
    triggers: tuple[TriggerTrace, ...]
    names: LexiconMatches


def trace_document(
    tokens: Tokens,
    mentions: Ints32,
    rule: Rule,
    lexicon: Lexicon,
    date: datetime.date | None,
    scheme: str | None = None,
) -> DocumentTrace:
    """Trace every trigger of a document; parameters and errors as in `match_document`.

    If the labels fit several schemes, the first that the rule serves is read.
    """
    served = served_schemes(rule, readable_schemes(tokens.dep, scheme))
    tracer = _Tracer(tokens, mentions, rule, lexicon, date, served[0])
    return DocumentTrace(served[0], tuple(tracer.triggers()), tracer.names)


class _Tracer:
    """One parse with the names of actors in it and what they describe."""

    def __init__(
        self,
        tokens: Tokens,
        mentions: Ints32,
        rule: Rule,
        lexicon: Lexicon,
        date: datetime.date | None,
        scheme: str,
    ) -> None:
        self._rule, self._lexicon, self._scheme = rule, lexicon, scheme
        words = frozenset[str]().union(*(frame.words for frame in rule.frames))
        self._reading = Reading(tokens, mentions, scheme, words, rule.language)
        self._view, self._mentions = self._reading.view, self._reading.by_head
        self._sentences = tokens.sent.tolist()
        self.names = lexicon.match(tokens.text, self._view.heads, date, tokens.lemma)
        self._codes: dict[int, set[str]] = {}  # by head of a mention
        self._described: dict[int, list[int]] = {}  # by head token of a name: heads of the mentions that it describes
        described = described_words(self._view, self._mentions, rule.described[scheme], self.names.codes)
        for (mention, code), word in sorted(described.items()):
            head = int(mentions[mention, 2])
            self._codes.setdefault(head, set()).add(code)
            self._described.setdefault(word, []).append(head)

    def triggers(self) -> Iterable[TriggerTrace]:
        """The triggers in the order of the text; of several frames at one token the one with the best outcome."""
        view, rule = self._view, self._rule
        frames: dict[int, list[tuple[Frame, str]]] = {}
        for frame in rule.frames:
            # Phrases first: where a token is the head of one and has a lemma of its own, the phrase says more.
            parts = [
                *((replace(frame, lemmas=frozenset(), phrases=(phrase,)), phrase.words) for phrase in frame.phrases),
                *((replace(frame, lemmas=frozenset({lemma}), phrases=()), (lemma,)) for lemma in sorted(frame.lemmas)),
            ]
            for part, trigger in parts:
                for token in frame_triggers(part, view, self._reading.index):
                    frames.setdefault(token, []).append((frame, " ".join(trigger)))
        for token, several in sorted(frames.items()):
            found = {name: rule.conditions[name].ends(view, token, self._scheme) for name in rule.unless}
            conditions = {name: min(ends) for name, ends in found.items() if ends}
            actors = tuple(self._actors_near(token))
            traces = [
                TriggerTrace(token, trigger, frame.name, tuple(conditions), roles, actors, tuple(conditions.values()))
                for frame, trigger in several
                for roles in [tuple(self._role(role, frame, token) for role in rule.event)]
            ]
            yield min(traces, key=lambda trace: OUTCOMES.index(trace.outcome))

    def _role(self, role: str, frame: Frame, token: int) -> RoleTrace:
        view = self._view
        of_scheme = frame.roles.get(role, {}).get(self._scheme, ())
        is_optional = role in self._rule.optional - frame.required
        filled = [
            (path, head) for path in of_scheme for head in trace_path(path, view, token).ends if self._mentions[head]
        ]
        if not filled:
            nearest = nearest_trace(of_scheme, view, token)
            is_free = role not in frame.required and not (nearest and nearest.ends)
            is_optional = is_optional or (is_free and self._has_default(role, token))
            return RoleTrace(role, is_optional, None, None, (), False, nearest)
        # Of several mentions the one that comes nearest to an event.
        joint = self._rule.distinct_actors
        traces = [
            RoleTrace(role, is_optional, path, head, *self._actors_at(role, head), None, joint) for path, head in filled
        ]
        return min(traces, key=lambda trace: (OUTCOMES.index(trace.outcome), not trace.codes))

    def _has_default(self, role: str, trigger: int) -> bool:
        """Whether the lexicon has a default actor of a role whose conditions hold at a trigger."""
        default = self._rule.defaults.get(role)
        is_wanted = default is not None and default.actor in self._lexicon.kinds and self._rule.filled != "named"
        return is_wanted and is_filled_by_default(self._rule, role, self._reading, trigger)

    def _actors_at(self, role: str, head: int) -> tuple[tuple[str, ...], bool]:
        """Actors as which the mentions with a head are described, and whether a role's classes have them."""
        codes = self._codes.get(head, set())
        kinds = self._rule.classes.get(role)
        own = self._lexicon.countable(codes, kinds)
        # The finest: of the police of a country those in this country, or else the police, or else any actor.
        composite, inner = {*own}.difference(codes), self._lexicon.inner_codes.intersection(own)
        return tuple(sorted(composite or inner or own or codes)), bool(own)

    def _actors_near(self, trigger: int) -> Iterable[NamedActor]:
        """The actors that the sentence of a trigger names."""
        view = self._view
        for token, code in sorted(self.names.codes.items()):
            if self._sentences[token] != self._sentences[trigger]:
                continue
            ends = self._described.get(token) or [token]
            yield NamedActor(code, self.names.spans[token], _shortest(view, trigger, ends), token in self._described)


def _shortest(view: ParseView, start: int, ends: Iterable[int]) -> str | None:
    """The path with the fewest steps to one of several tokens."""
    routes = [route for route in (connecting_path(view, start, end) for end in ends) if route is not None]
    return min(routes, key=lambda route: route.count(">") + route.count("<"), default=None)
