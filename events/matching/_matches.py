"""Matches of rules and a lexicon in one parse: described mentions, and mentions that fill the roles of events."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from corefsample._arrays import Bools, Bytes, Floats, Ints32
from corefsample._random import document_draws
from events.lexicon._file import INNER

ABSENT = -1  # in place of a mention: nothing fills an optional role
DEFAULT = -2  # the same, and the role's default actor does
NO_ACTOR = ""  # in place of a code: an optional role is absent, or its entity is no single actor
_LIKELIEST = 0.5  # in place of a draw, for the likeliest clustering


@dataclass(frozen=True, slots=True)
class InferredDescription:
    """A description that holds in some samples.

    Attributes
    ----------
    mention
        Index of the mention.
    code
        Code of the actor as which the mention is described.
    word
        Offset of the token that describes the mention.
    described_mentions
        Mentions that are described as the actor in every sample. For a stand-in, mentions that are described as any
        actor of its class: the description does not hold if one of them is in its entity.
    possessor
        Mention that is the possessor of `mention`: the description holds if the possessor is in one entity with a
        mention in `described_mentions`. By default, `mention` is a stand-in, a noun that stands for the actor.
    start, chance
        Interval of uniform draws [start, start + chance) in which a stand-in stands for the actor, within [0, 1]; by
        default it stands for the actor in every draw.
    """

    mention: int
    code: str
    word: int
    described_mentions: tuple[int, ...]
    possessor: int | None = None
    start: float = 0.0
    chance: float = 1.0

    def holds(self, labels: Ints32, draws: Floats) -> Bools:
        """Whether the description holds in each sample, for labels (n_mentions, n_samples) and draws (n_samples,)."""
        entity = labels[self.mention if self.possessor is None else self.possessor]
        same: Bools = (labels[list(self.described_mentions)] == entity).any(axis=0)
        stands: Bools = ~same & (draws >= self.start) & (draws < self.start + self.chance)
        return stands if self.possessor is None else same


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class MentionMatches:
    """Matches of a rule and a lexicon in one document.

    Attributes
    ----------
    actors
        Codes of the actors as which mentions are described, sorted.
    described_mentions, described_actors
        int32 (n_descriptions,): index of a mention, and index in `actors` of the actor as which it is described. A
        mention may have several descriptions.
    instances
        int32 (n_instances, n_roles): mentions that fill the event's roles at one trigger; -1 if no mention fills an
        optional role, and -2 if none does and the role's default actor has the event too.
    triggers
        int32 (n_instances,): token of the trigger.
    frames
        Name of the frame of each instance; empty if unknown.
    n_ambiguous
        Number of names in the text that the lexicon declares ambiguous.
    described_words
        int32 (n_descriptions, 2): first token and exclusive end of the actor's name that makes a description, or of
        the first such name; None if unknown.
    event
        Name of the rule.
    role_codes
        Codes that each role can have: those of its classes, then "" if the role is optional, and last its default actor
        if some instance has it and no class includes it. By default, each role can have all codes of `actors`.
    inner
        Codes of actors that are part of other actors, such as the police of a country.
    inner_counts_as
        Actors as which an entity counts if it is described as an inner actor and as another: see `Lexicon`. By default
        it counts as the inner actor.
    excluded
        Tokens of triggers that would make instances of the event, each with names of the conditions that exclude it.
    apart
        int32 (n_pairs, 2): mentions of different entities, the same for all rules of a run: mentions that are described
        as distinct actors, and subject and object of one verb. A mention that names several actors counts for each of
        them. None if the rule allows an entity to be several actors, or if no mention fills a role.
    n_distinct
        Number of pairs at the beginning of `apart` that are described as distinct actors; None if all are.
    naming
        int32 (n,): mentions that name an actor, by the paths that determine `apart`; None if `apart` is None.
    defaults
        Code of the default actor of each role, "" if a role has none; empty if no role has one.
    only_default
        True if named actors are not counted, so that an event has its default actors or no actors.
    inferred
        Descriptions that hold in some samples only; they are the last of the descriptions.
    chances
        float64 (n_instances,): P(the trigger of each instance reports an event of the rule); None if all are 1.
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
    excluded: tuple[tuple[int, tuple[str, ...]], ...] = ()
    apart: Ints32 | None = None
    n_distinct: int | None = None
    naming: Ints32 | None = None
    frames: tuple[str, ...] = ()
    defaults: tuple[str, ...] = ()
    only_default: bool = False
    inferred: tuple[InferredDescription, ...] = ()
    chances: Floats | None = None

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
        """Codes that each role of the event can have in this document."""
        return (self.actors,) * self.instances.shape[1] if self.role_codes is None else self.role_codes

    @property
    def keys(self) -> tuple[tuple[str, ...], ...]:
        """Keys of the possible events: every combination of codes, one for each role."""
        return tuple(product(*self.codes_of_roles))

    @property
    def by_default(self) -> Bools:
        """Whether an instance can make the event of a key only with a default actor: bool (n_instances, n_keys)."""
        needed: Bools = np.zeros((len(self.instances), len(self.keys)), np.bool_)
        for role, default in enumerate(self.defaults):
            if default:
                needed |= np.outer(self.instances[:, role] == DEFAULT, [key[role] == default for key in self.keys])
        return needed

    def with_virtual_mentions(self, labels: Ints32, draws: Floats | None, *, stand_ins: bool = True) -> Ints32:
        """Clusterings with rows for the virtual mentions of inferred descriptions after the rows of the mentions.

        Parameters
        ----------
        labels
            int32 (n_mentions, n_samples): label of each mention's entity.
        draws
            float64 (n_samples,): uniform draws of the document, in [0, 1). If None, every draw is 0.5, as for the
            likeliest clustering.
        stand_ins
            Whether class nouns can stand for names; by default they can.
        """
        draws = np.full(labels.shape[1], _LIKELIEST) if draws is None else draws
        rows = [labels]
        for row, description in enumerate(self.inferred, len(labels)):
            is_used = stand_ins or description.possessor is not None
            holds = is_used & description.holds(labels, draws)
            rows.append(np.where(holds, labels[description.mention], np.int32(row))[np.newaxis])
        return np.ascontiguousarray(np.concatenate(rows)) if self.inferred else labels

    def rows_of_descriptions(self, n_rows: int) -> Ints32:
        """Row of each description's mention or virtual mention in clusterings with `n_rows` rows."""
        n_inferred = len(self.inferred)
        if not n_inferred:
            return self.described_mentions
        virtual = np.arange(n_rows - n_inferred, n_rows, dtype=np.int32)
        return np.append(self.described_mentions[:-n_inferred], virtual)

    def reported(self, seed: int, doc_id: str, n_samples: int) -> Bytes | None:
        """Whether the trigger of each instance reports an event in each sample: uint8 (n_instances, n_samples).

        A trigger has one uniform draw for each sample, which all rules and actors share. None if all triggers report.
        """
        if self.chances is None:
            return None
        draws = {t: document_draws(seed, f"{doc_id}\0trigger {t}", n_samples) for t in set(self.triggers.tolist())}
        pairs = zip(self.triggers.tolist(), self.chances.tolist(), strict=True)
        return np.array([draws[token] < chance for token, chance in pairs], np.uint8)

    def agrees(self, matches: MentionMatches) -> bool:
        """Whether both matches lead to the same events: they are equal, or no event is possible in either."""
        contents = [
            (
                either.actors,
                {*zip(either.described_mentions.tolist(), either.described_actors.tolist(), strict=True)},
                {*map(tuple, either.instances.tolist())},
            )
            for either in (self, matches)
        ]
        return not (self.possible or matches.possible) or contents[0] == contents[1]
