"""Outcomes: unions of events, such as any of three events by the police, or an arrest by the police or by nobody named.

``NAME=EVENTS:ACTORS`` has alternatives with ``|`` between them: names of rules, and actors: a code, ``-`` for nobody
named, ``{class}`` for any actor of a class of the lexicon, ``*`` for anybody or nobody. For two roles an actor is
``IRQ>KWT``, or ``IRQ`` for any target. Without ``:ACTORS`` they are ``*``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from corefsample import _checks
from corefsample.errors import CorefsampleError, InputError, ParameterError
from events.lexicon._lexicon import Lexicon
from events.rules._rules import Rule

ANYBODY = "*"  # in place of a code: any actor, or nobody named
_NOBODY = "-"
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_CLASS = re.compile(r"\{([^{}]+)\}")


@dataclass(frozen=True, slots=True)
class Outcome:
    """A union of events.

    Attributes
    ----------
    name
        In tables the event.
    events
        Names of the rules.
    actors
        The actors, in the notation above; in tables the actor.
    """

    name: str
    events: tuple[str, ...]
    actors: str = ANYBODY

    @classmethod
    def parsed(cls, text: str) -> Outcome:
        """Read the notation; ParameterError if it is another."""
        name, is_named, union = text.partition("=") if isinstance(text, str) else ("", "", "")
        events, _, actors = union.partition(":")
        alternatives = [[part.strip() for part in each.split("|")] for each in (events, actors or ANYBODY)]
        if not is_named or not _NAME.fullmatch(name.strip()) or not all(part for each in alternatives for part in each):
            rule = "must be NAME=EVENTS:ACTORS, as police_action=arrest|kill:POLICE"
            raise ParameterError(f"{rule}, got {_checks.shown(text)}", parameter="outcome")
        return cls(name.strip(), tuple(alternatives[0]), "|".join(alternatives[1]))

    def __str__(self) -> str:
        return f"{self.name}={'|'.join(self.events)}:{self.actors}"

    def chosen(self, keys: Iterable[tuple[str, ...]], kinds: Mapping[str, str]) -> list[int]:
        """Numbers of the events of a rule, as codes of actors, that the outcome has; `kinds` are those of a lexicon."""
        patterns = [actors.split(">") for actors in self.actors.split("|")]
        return [e for e, key in enumerate(keys) if any(map(partial(_fits, key, kinds), patterns))]


def _fits(key: tuple[str, ...], kinds: Mapping[str, str], pattern: Sequence[str]) -> bool:
    # A pattern can name the first role only.
    for code, wanted in zip(key, pattern, strict=False):
        of_class = _CLASS.fullmatch(wanted)
        if wanted != ANYBODY and (kinds.get(code) != of_class[1] if of_class else (code or _NOBODY) != wanted):
            return False
    return True


def check_outcomes(outcomes: Sequence[Outcome], rules: Sequence[Rule], lexicon: Lexicon) -> None:
    """Raise ParameterError unless outcomes are of these rules and actors, and of rules with the same samples."""
    by_name = {rule.name: rule for rule in rules}
    for n, outcome in enumerate(outcomes):
        try:
            _check(outcome, by_name, lexicon)
            if outcome in outcomes[:n] or any(
                (each.name, each.actors) == (outcome.name, outcome.actors) for each in outcomes[:n]
            ):
                raise ParameterError("must have different names or actors, got the same twice")
        except CorefsampleError as error:
            raise ParameterError(f"{outcome}: {error.message}", parameter="outcome", hint=error.hint) from None


def _check(outcome: Outcome, rules: Mapping[str, Rule], lexicon: Lexicon) -> None:
    if outcome.name in rules:
        raise InputError(f"name must be that of no rule, got {outcome.name!r}")
    unknown = [name for name in outcome.events if name not in rules]
    if unknown:
        raise InputError(f"events must be of the rules {', '.join(rules)}, got {unknown[0]!r}")
    chosen = [rules[name] for name in outcome.events]
    if len({rule.distinct_actors for rule in chosen}) > 1:
        names = ", ".join(rule.name for rule in chosen if rule.distinct_actors)
        raise InputError(f"rules must all have distinct_actors or none, got it for {names} only")
    for pattern in outcome.actors.split("|"):
        codes = pattern.split(">")
        short = [rule for rule in chosen if len(rule.event) < len(codes) and pattern != ANYBODY]
        if short:
            raise InputError(f"actors must be at most as many as roles of {short[0].name}, got {pattern!r}")
        for code in codes:
            of_class = _CLASS.fullmatch(code)
            if of_class is None and code not in (ANYBODY, _NOBODY):
                lexicon.require(code)
            elif of_class is not None and of_class[1] not in lexicon.kinds.values():
                known = ", ".join(sorted(set(lexicon.kinds.values())))
                raise InputError(f"classes must be of the lexicon {lexicon.source} ({known}), got {of_class[1]!r}")
