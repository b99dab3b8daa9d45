"""Why an event that is true in some samples of a document is not true in the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import repeat
from operator import or_
from typing import Self

import numpy as np

from corefsample._arrays import Bytes, Ints, Ints32
from events.evidence import _event_kernels
from events.lexicon._file import INNER, OF, OUTER
from events.matching._matches import NO_ACTOR, MentionMatches

# In the order of the counts. A sample has the reason of the instance that comes closest to the event, and this the one
# of the role that is farthest from it; from far to close: another actor, no actor, several actors.
SEVERAL = "several actors"
REASONS = ("another actor", "no actor", SEVERAL, "no event in the parse")
_OTHERS = 63  # bits of a word beside the first


@dataclass(frozen=True, slots=True, eq=False)
class Reasons:
    """Reasons why an event is not true in samples.

    Attributes
    ----------
    counts
        int64 (4,): number of samples with each reason, in the order of `REASONS`.
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
    """Samples without an event by reason, int64 (3,), and by the mention that names another actor, for one parse.

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
    counts, other_hits = np.zeros(3, np.int64), np.zeros(len(matches.described_actors), np.int64)
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
