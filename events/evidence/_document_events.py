"""Results for one document: its events in each sample, and the reasons why they are not true in other samples."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import repeat
from operator import or_
from typing import Self

import numpy as np

from corefsample._arrays import Bools, Bytes, Floats, Ints, Ints32
from corefsample._random import monte_carlo_errors
from corefsample.coreference._conditioning import METHODS, Conditioned
from events.evidence import _event_kernels
from events.evidence._columns import EventKey
from events.lexicon._file import INNER, OF, OUTER
from events.matching._matches import NO_ACTOR, MentionMatches

_FILLED = {
    0: "",
    _event_kernels.NAMED: "named",
    _event_kernels.BY_DEFAULT: "default",
    _event_kernels.STANDS_FOR: "stands for",
}  # "both" in other cases


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DocumentEvents:
    """Events of one document in each sample.

    Attributes
    ----------
    doc_id, date
        Identifier and date of the document; the date is None if it has none.
    keys
        Keys of the possible events: codes of actors, one for each role ("" for no actor), or the names that a predicate
        returned.
    hits
        uint8 (n_keys, n_samples): whether the event is true in the sample.
    one_best
        bool (n_keys,): whether the event is true in the likeliest-antecedent clustering of the first parse. For a
        predicate that returns numbers, int64: its numbers for this clustering.
    event
        Name of the rule.
    matches
        Matches of the rule in the parse; None for a predicate, an outcome, and events of several parses.
    instance_hits
        int64 (n_instances, n_keys): samples in which an instance makes the event true.
    description_hits
        int64 (n_descriptions,): samples in which a description belongs to an entity of an event.
    conditioned
        How distinct actors were kept apart in the samples; None if they were not kept apart, or there is no sample.
    named_hits
        int64 (n_instances, n_keys): `instance_hits` if class nouns are not allowed to stand for actors; None if no
        class noun can, so that the numbers are the same.
    parse, n_drawn
        Number of the parse among those of the document, and number of samples that have it.
    parts
        For events of several parses, or for an outcome: events of one parse each, in whose samples alone they are true.
    reasons
        Reasons why an event is not true, by the row of its key, for events that are true in some samples but not all.
    ways
        uint8 (n_keys, n_samples): 1 if the event is true with named actors or without an actor, 2 if it is true with a
        default actor, 3 if both; 4 if it is true only because a class noun stands for an actor. None if every event is
        true with named actors or without an actor only.
    members
        For an outcome, the events of rules that each of its events unites, with the indices of these events; `parts`
        then have one of these events for each parse. Empty for a rule and a predicate.
    numbers
        int64 (n_keys, n_samples): numbers that a predicate returned, which are above 0 where `hits` is 1; None if it
        returned booleans.
    """

    doc_id: str
    date: datetime.date | None
    keys: tuple[EventKey, ...]
    hits: Bytes
    one_best: Bools | Ints
    event: str = "event"
    matches: MentionMatches | None = None
    instance_hits: Ints = field(default_factory=lambda: np.zeros((0, 0), np.int64))
    description_hits: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    conditioned: Conditioned | None = None
    named_hits: Ints | None = None
    parse: int = 0
    n_drawn: int = 0
    parts: tuple[DocumentEvents, ...] = ()
    reasons: Mapping[int, Reasons] = field(default_factory=dict)
    ways: Bytes | None = None
    members: tuple[tuple[UnionMember, ...], ...] = ()
    numbers: Ints | None = None
    _n_hits: Ints | None = field(default=None, init=False)  # a sum over all samples, made once

    def __repr__(self) -> str:
        pairs = zip(self.keys, self.probabilities, strict=True)
        shares = ", ".join(f"{key.name} {share:.3f}" for key, share in pairs if share) or "none with P > 0"
        return f"DocumentEvents({self.doc_id!r}, {self.date}, {self.n_samples:,} samples: {shares})"

    @property
    def parses(self) -> tuple[DocumentEvents, ...]:
        """Events of each parse in which an event is possible; empty for a predicate."""
        return self.parts or (() if self.matches is None else (self,))

    def parses_with(self, index: int) -> set[int]:
        """Numbers of the parses in which the event with this index is true in some sample."""
        if self.members:
            return {parse for events, rows in self.members[index] for row in rows for parse in events.parses_with(row)}
        key = self.keys[index]
        return {part.parse for part in self.parses if key in part.keys and part.n_hits[part.keys.index(key)]}

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return int(self.hits.shape[1])

    @property
    def n_hits(self) -> Ints:
        """int64 (n_keys,): number of samples in which each event is true."""
        counts = self._n_hits
        if counts is None:
            counts = np.count_nonzero(self.hits, axis=1).astype(np.int64, copy=False)
            counts.flags.writeable = False
            object.__setattr__(self, "_n_hits", counts)
        return counts

    @property
    def n_named(self) -> Ints:
        """int64 (n_keys,): number of samples in which each event is true with named actors or without an actor."""
        if self.ways is None:
            return self.n_hits
        return np.asarray(np.count_nonzero(self.ways & _event_kernels.NAMED, axis=1), np.int64)

    def filled(self, index: int) -> str:
        """How the roles of the event with this index are filled: "named", "default", "stands for" or "both".

        The result is "" if the event is true in no sample or has no actor.
        """
        if not any(self.keys[index]) or not self.n_hits[index]:
            return ""
        if self.ways is None:
            return _FILLED[_event_kernels.NAMED]
        return _FILLED.get(int(np.bitwise_or.reduce(self.ways[index])), "both")

    @property
    def probabilities(self) -> Floats:
        """float64 (n_keys,): share of samples in which each event is true."""
        return self.n_hits / self.n_samples

    @property
    def mc_errors(self) -> Floats:
        """float64 (n_keys,): Monte Carlo standard errors; slightly too large for a document with several parses."""
        return monte_carlo_errors(self.n_hits, self.n_samples, self.inefficiency)

    @property
    def conditionings(self) -> tuple[Conditioned, ...]:
        """How the samples of each parse were conditioned, for parses in which distinct actors are kept apart."""
        return tuple(part.conditioned for part in self.parses if part.conditioned is not None)

    @property
    def inefficiency(self) -> float:
        """Number of samples that are worth one independent sample; above 1 where Markov chains drew them."""
        return max((conditioned.inefficiency for conditioned in self.conditionings), default=1.0)

    @property
    def is_settled(self) -> bool:
        """False if the Markov chains that drew some of the samples do not agree."""
        return all(conditioned.method != METHODS[-1] for conditioned in self.conditionings)


UnionMember = tuple[DocumentEvents, list[int]]  # events of one rule, and the indices of some of them


# In the order of the counts. A sample has the reason of the instance that comes closest to the event, and this the one
# of the role that is farthest from it; from far to close: another actor, no actor, several actors.
SEVERAL = "several actors"
NOT_REPORTED = "no trigger reports it"
REASONS = ("another actor", "no actor", SEVERAL, NOT_REPORTED, "no event in the parse")
_OTHERS = 63  # bits of a word beside the first


@dataclass(frozen=True, slots=True, eq=False)
class Reasons:
    """Reasons why an event is not true in samples.

    Attributes
    ----------
    counts
        int64 (5,): number of samples with each reason, in the order of `REASONS`.
    other_actors
        Mentions that are the reason "several actors": the parse, the mention of the entity that names another actor,
        and the number of samples.
    """

    counts: Ints
    other_actors: tuple[tuple[int, int, int], ...]

    def shares(self) -> list[tuple[str, int]]:
        """Reasons that some samples have, with their numbers of samples, the most frequent first."""
        named = zip(REASONS, self.counts.tolist(), strict=True)
        return sorted((item for item in named if item[1]), key=lambda item: -item[1])

    @classmethod
    def of(cls, key: tuple[str, ...], parse: int, matches: MentionMatches, hits: Bytes, labels: Ints32) -> Self:
        """Make the reasons of one event in the samples of one parse.

        Parameters
        ----------
        key
            Codes of the event's actors, one for each role.
        parse
            Number of the parse.
        matches
            Matches of the rule in this parse, in which the event is possible.
        hits
            uint8 (n,): not 0 for samples in which the event is true.
        labels
            int32 (n_mentions, n): clustering in each sample.
        """
        counts, mentions = _in_parse(matches, key, hits, labels)
        return cls(np.append(counts, 0), tuple((parse, *item) for item in mentions.items()))

    @classmethod
    def united(cls, parts: Sequence[Reasons], n_without: int) -> Self:
        """Reasons of an event of several parses; samples without it that have none have "no event in the parse"."""
        counts: Ints = sum((part.counts for part in parts), np.zeros(len(REASONS), np.int64))
        counts[-1] = n_without - counts.sum()
        return cls(counts, tuple(mention for part in parts for mention in part.other_actors))


def _in_parse(
    matches: MentionMatches, key: tuple[str, ...], hits: Bytes, labels: Ints32
) -> tuple[Ints, dict[int, int]]:
    """Samples without an event by reason, int64 (4,), and by the mention that names another actor, for one parse.

    Parameters
    ----------
    matches
        Matches of the rule in this parse, in which the event is possible.
    key
        Codes of the event's actors, one for each role.
    hits
        uint8 (n,): not 0 for samples in which the event is true.
    labels
        int32 (n_mentions, n): clustering in each sample.
    """
    counts, other_hits = np.zeros(4, np.int64), np.zeros(len(matches.described_actors), np.int64)
    if not key:  # an event without roles is missing only where no trigger reports it
        counts[3] = np.count_nonzero(hits == 0)
        return counts, {}
    bits, *masks = zip(*map(_bits, repeat(matches), key, matches.codes_of_roles), strict=True)
    needed, preferred, opposing = np.array(masks, np.uint64)
    labels = labels.view()
    labels.flags.writeable = False  # as those of samples are: the kernel is compiled once
    _event_kernels.reasons(
        labels,
        hits,
        matches.rows_of_descriptions(len(labels)),
        np.array(bits, np.uint64)[:, matches.described_actors],
        needed,
        preferred,
        opposing,
        np.array([code != NO_ACTOR for code in key], np.bool_),
        matches.apart is not None,
        matches.instances,
        np.empty(len(hits), np.uint64),
        np.empty((4, len(hits)), np.int32),
        counts,
        other_hits,
    )
    if matches.chances is None:
        counts[2:] = counts[2] + counts[3], 0
    by_mention: dict[int, int] = {}
    for mention, n in zip(matches.described_mentions.tolist(), other_hits.tolist(), strict=True):
        if n:
            by_mention[mention] = max(n, by_mention.get(mention, 0))
    return counts, by_mention


def _bits(matches: MentionMatches, actor: str, codes: tuple[str, ...]) -> tuple[list[int], int, int, int]:
    """Bit of each actor in a role, and the bits `needed`, `preferred` and `opposing` of the kernel `closeness`.

    The first bits are those of the actors that the event needs. An actor that cannot fill the role has no bit. If there
    are more than 63 actors, some share a bit.
    """
    actors, counts_as = matches.actors, matches.inner_counts_as
    composites = [code for code in codes if actor != NO_ACTOR and code not in actors]
    possible = {*codes, *(single for code in composites for single in code.split(OF))}
    needed = (actor,) if actor in actors else actor.split(OF)
    n, bits = len(needed), dict.fromkeys(actors, 0)
    for c, actor_code in enumerate(actors):
        if actor_code in possible:
            bits[actor_code] = 1 << needed.index(actor_code) if actor_code in needed else 1 << n + c % (_OTHERS + 1 - n)
    inner = reduce(or_, (bits[actor_code] for actor_code in matches.inner & bits.keys()), 0)
    outer = reduce(or_, (bits[actor_code] for actor_code in bits.keys() - matches.inner), 0)
    preferred, opposing = inner, 0
    if n > 1:
        preferred = inner | outer
    elif actor == NO_ACTOR:
        opposing = outer if OUTER in counts_as else 0
    elif actor in matches.inner:
        opposing = 0 if INNER in counts_as else outer
    elif OUTER in counts_as:
        preferred = outer
    elif counts_as != {INNER}:
        opposing = inner
    return list(bits.values()), (1 << n) - 1, preferred, opposing
