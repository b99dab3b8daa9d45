"""Matches of rules and a lexicon in one parse: described mentions, and mentions that fill the roles of events."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from corefsample._arrays import Bools, Floats, Ints32
from events.lexicon._content import INNER

ABSENT = -1  # in place of a mention: nothing fills an optional role
DEFAULT = -2  # the same, and the role's default actor does
NO_ACTOR = ""  # in place of a code: an optional role is absent, or its entity is no single actor
_LIKELIEST = 0.5  # in place of a draw, for the likeliest clustering


@dataclass(frozen=True, slots=True)
class InferredDescription:
    """A description that holds in some samples.

    Attributes
    ----------
    mention, code, word
        The mention, the actor that it is described as, and the token of the word that says so.
    possessor
        The mention that possesses it: it is described as the actor where its possessor is of one entity with one of
        `others`. None: it stands for the actor.
    others
        Mentions that are described as the actor; of a stand-in, as any actor of its class: none of its entity may be.
    start, chance
        Of a stand-in: it stands for the actor where the document's uniform draw is in [start, start + chance).
    """

    mention: int
    code: str
    word: int
    others: tuple[int, ...]
    possessor: int | None = None
    start: float = 0.0
    chance: float = 1.0

    def holds(self, labels: Ints32, draws: Floats) -> Bools:
        """Whether it holds in each sample; labels (n_mentions, n_samples), draws (n_samples,)."""
        entity = labels[self.mention if self.possessor is None else self.possessor]
        same: Bools = (labels[list(self.others)] == entity).any(axis=0)
        if self.possessor is not None:
            return same
        stands: Bools = ~same & (draws >= self.start) & (draws < self.start + self.chance)
        return stands


@dataclass(frozen=True, slots=True)
class ExcludedTrigger:
    """A trigger that would make instances of the event, and the conditions that exclude it: its token, their names."""

    token: int
    conditions: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class MentionMatches:
    """Matches of a rule and a lexicon in one document.

    Attributes
    ----------
    actors
        Codes of the actors described by any mention, sorted.
    described_mentions, described_actors
        int32 (n_descriptions,): mention i is described as ``actors[c]``; a mention may appear several times.
    instances
        int32 (n_instances, n_roles): mentions that fill the event's roles at one trigger; -1 where nothing fills an
        optional role, and -2 where nothing does and the role's default actor has the event too.
    triggers
        int32 (n_instances,): token of the trigger.
    frames
        Name of the frame of each instance; empty if unknown.
    n_ambiguous
        Names in the text that the lexicon declares ambiguous.
    described_words
        int32 (n_descriptions, 2): tokens, end exclusive, of the actor's name that makes a description, the first of
        several; None if unknown.
    event
        Name of the rule.
    role_codes
        For each role the codes that it can have: those of its classes, then "" if the role is optional, and last its
        default actor if some instance has it and it is not among the others. None: all codes for every role.
    inner
        Codes of actors that are parts of others (the police of a country).
    inner_counts_as
        What an entity counts as that is described as an inner actor and as another, as of `Lexicon`.
    excluded
        Triggers that a condition of the preset excludes.
    apart
        int32 (n_pairs, 2): mentions of different entities, the same for all rules of a run: those described as distinct
        actors, and subject and object of one verb. None if the rule lets an entity be several actors, or has no
        instance. Where actors are kept apart, a mention that names several counts for each.
    n_distinct
        How many of the first pairs of `apart` are described as distinct actors; None: all.
    naming
        int32 (n,): mentions that name an actor, by the paths that decide about `apart`; None if that is None.
    defaults
        For each role the code of its default actor, "" for none; empty stands for none of any role.
    only_default
        Whether named actors are left out: then an event has its default actors or none.
    inferred
        The last descriptions, which hold in some samples only.
    """

    actors: tuple[str, ...]
    described_mentions: Ints32
    described_actors: Ints32
    instances: Ints32
    triggers: Ints32
    n_ambiguous: int = 0
    described_words: Ints32 | None = None
    event: str = "event"
    role_codes: tuple[tuple[str, ...], ...] | None = None
    inner: frozenset[str] = frozenset()
    inner_counts_as: frozenset[str] = frozenset({INNER})
    excluded: tuple[ExcludedTrigger, ...] = ()
    apart: Ints32 | None = None
    n_distinct: int | None = None
    naming: Ints32 | None = None
    frames: tuple[str, ...] = ()
    defaults: tuple[str, ...] = ()
    only_default: bool = False
    inferred: tuple[InferredDescription, ...] = ()

    def __repr__(self) -> str:
        codes = ", ".join(self.actors) or "none"
        n_descriptions, n_instances = len(self.described_mentions), len(self.instances)
        return f"MentionMatches(actors: {codes}; {n_descriptions} descriptions, {n_instances} instances)"

    @property
    def possible(self) -> bool:
        """Whether an event is possible in some clustering."""
        return bool(len(self.instances)) and all(self.codes_of_roles)

    @property
    def codes_of_roles(self) -> tuple[tuple[str, ...], ...]:
        """For each role of the event the codes that it can have in this document."""
        return (self.actors,) * self.instances.shape[1] if self.role_codes is None else self.role_codes

    @property
    def keys(self) -> tuple[tuple[str, ...], ...]:
        """The possible events: for each a code for each role."""
        return tuple(product(*self.codes_of_roles))

    @property
    def by_default(self) -> Bools:
        """Whether an instance makes an event, if it does, by a default actor: bool (n_instances, n_keys)."""
        found: Bools = np.zeros((len(self.instances), len(self.keys)), np.bool_)
        for role, default in enumerate(self.defaults):
            if default:
                found |= np.outer(self.instances[:, role] == DEFAULT, [key[role] == default for key in self.keys])
        return found

    def with_virtual_mentions(self, labels: Ints32, draws: Floats | None, *, stand_ins: bool = True) -> Ints32:
        """Clusterings with a row for the virtual mention of each inferred description, after those of the mentions.

        Parameters
        ----------
        labels
            int32 (n_mentions, n_samples).
        draws
            float64 (n_samples,): uniform draws of the document; None: each description holds if it is likely.
        stand_ins
            Whether class nouns stand for names.
        """
        draws = np.full(labels.shape[1], _LIKELIEST) if draws is None else draws
        rows = [labels]
        for row, description in enumerate(self.inferred, len(labels)):
            virtual = np.full((1, labels.shape[1]), row, np.int32)
            if stand_ins or description.possessor is not None:
                virtual[0] = np.where(description.holds(labels, draws), labels[description.mention], virtual[0])
            rows.append(virtual)
        return np.ascontiguousarray(np.concatenate(rows)) if self.inferred else labels

    def rows_of_descriptions(self, n_rows: int) -> Ints32:
        """Rows of clusterings with virtual mentions that have the entity of each description."""
        n_inferred = len(self.inferred)
        if not n_inferred:
            return self.described_mentions
        virtual = np.arange(n_rows - n_inferred, n_rows, dtype=np.int32)
        return np.append(self.described_mentions[:-n_inferred], virtual)

    def _compared(self) -> tuple[object, ...]:
        pairs = zip(self.described_mentions.tolist(), self.described_actors.tolist(), strict=True)
        return self.actors, frozenset(pairs), frozenset(map(tuple, self.instances.tolist()))

    def agrees(self, other: MentionMatches) -> bool:
        """Whether both give the same events: they are equal, or no event is possible in either."""
        return not (self.possible or other.possible) or self._compared() == other._compared()
