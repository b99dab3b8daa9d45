"""Outcomes: unions of events, such as three events by the police, or an arrest by the police or an unnamed actor.

An outcome is written ``NAME=EVENTS:ACTORS``. EVENTS are names of rules, or RULE.FRAME for one frame of a rule. ACTORS
are codes, ``-`` for no named actor, ``{class}`` for any actor of a class of the lexicon, or ``*`` for any actor or no
actor. Alternatives have ``|`` between them. For two roles an actor is ``IRQ>KWT``, or ``IRQ`` for any target. Without
``:ACTORS`` the actors are ``*``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from corefsample import _checks
from corefsample.errors import ParameterError

ANYBODY = "*"  # in place of a code: any actor, or no named actor
NOBODY = "-"  # in place of a code: no named actor
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
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
        if not is_named or not _NAME.fullmatch(name.strip()) or not all(map(all, alternatives)):
            rule = "must be NAME=EVENTS:ACTORS, as police_action=arrest|kill:POLICE"
            raise ParameterError(f"{rule}, got {_checks.shown(text)}", parameter="outcome")
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
