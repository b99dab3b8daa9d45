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
from events.counting import _kernels
from events.lexicon._content import INNER, OF, OUTER
from events.matching._matches import NO_ACTOR, MentionMatches

# In the order of the counts. A sample has the reason of the instance that comes closest to the event, and this the one
# of the role that is farthest from it; from far to close: another actor, no actor, several actors.
SEVERAL = "several actors"
REASONS = ("another actor", "no actor", SEVERAL, "no event in the parse")
_OTHERS = 63  # bits of a word beside the first


@dataclass(frozen=True, slots=True, eq=False)
class Reasons:
    """What happens in the samples in which an event is not true.

    Attributes
    ----------
    counts
        int64 (4,): samples by reason, in the order of `REASONS`.
    others
        Of samples with several actors: parse, mention of the entity that names one of the others, number of samples.
    """

    counts: Ints
    others: tuple[tuple[int, int, int], ...]

    def shares(self) -> list[tuple[str, int]]:
        """Reasons that some samples have, with the number of these, the most frequent first."""
        named = zip(REASONS, self.counts.tolist(), strict=True)
        return sorted((each for each in named if each[1]), key=lambda each: -each[1])

    @classmethod
    def of_parses(
        cls, key: tuple[str, ...], n_without: int, parses: Sequence[tuple[int, MentionMatches, Bytes, Ints32]]
    ) -> Self:
        """Reasons of one event.

        Parameters
        ----------
        key
            The event.
        n_without
            Number of samples without it; those that none of the parses explains have no event in the parse.
        parses
            Those in which the event is possible and that some sample has: number, matches of the rule, uint8 (n,)
            whether the event is true in each sample, and int32 (n_mentions, n) the clusterings.
        """
        counts, others = np.zeros(len(REASONS), np.int64), list[tuple[int, int, int]]()
        for parse, matches, hits, labels in parses:
            in_parse, mentions = _in_parse(matches, key, hits, labels)
            counts[: len(in_parse)] += in_parse
            others += [(parse, *item) for item in mentions.items()]
        counts[-1] = n_without - counts.sum()
        return cls(counts, tuple(others))


def _in_parse(
    matches: MentionMatches, key: tuple[str, ...], hits: Bytes, labels: Ints32
) -> tuple[Ints, dict[int, int]]:
    """Samples of a parse without an event by reason, int64 (3,); and by mention those in which it names another actor.

    Parameters
    ----------
    matches
        Of the rule in this parse, in which the event is possible.
    key
        The event.
    hits
        uint8 (n,): whether it is true in each sample.
    labels
        int32 (n_mentions, n): the clusterings.
    """
    counts, others = np.zeros(3, np.int64), np.zeros(len(matches.described_actors), np.int64)
    bits, *masks = zip(*map(_bits, repeat(matches), key, matches.codes_of_roles), strict=True)
    needed, first, other = np.array(masks, np.uint64)
    labels = labels.view()
    labels.flags.writeable = False  # as those of samples are: the kernel is compiled once
    _kernels.reasons(
        labels,
        hits,
        matches.rows_of_descriptions(len(labels)),
        np.array(bits, np.uint64)[:, matches.described_actors],
        needed,
        first,
        other,
        np.array([code != NO_ACTOR for code in key], np.bool_),
        matches.apart is not None,
        matches.instances,
        np.empty(len(hits), np.uint64),
        np.empty((4, len(hits)), np.int32),
        counts,
        others,
    )
    by_mention: dict[int, int] = {}
    for mention, n in zip(matches.described_mentions.tolist(), others.tolist(), strict=True):
        if n:
            by_mention[mention] = max(n, by_mention.get(mention, 0))
    return counts, by_mention


def _bits(matches: MentionMatches, own: str, codes: tuple[str, ...]) -> tuple[list[int], int, int, int]:
    """For each actor the bit that stands for it in a role, and what `closeness` in the kernels needs of the role.

    The first bits are those of the actors that the event needs. A role cannot have an actor without a bit. From 63
    actors on some share a bit.
    """
    actors, counts_as = matches.actors, matches.inner_counts_as
    made_of = (part for code in codes if own != NO_ACTOR and code not in actors for part in code.split(OF))
    possible = {*codes, *made_of}
    needed = (own,) if own in actors else own.split(OF)
    n, bits = len(needed), dict.fromkeys(actors, 0)
    for c, code in enumerate(actors):
        if code in possible:
            bits[code] = 1 << needed.index(code) if code in needed else 1 << n + c % (_OTHERS + 1 - n)
    inner = reduce(or_, (bits[code] for code in matches.inner & bits.keys()), 0)
    outer = reduce(or_, (bits[code] for code in bits.keys() - matches.inner), 0)
    first, other = inner, 0
    if n > 1:
        first = inner | outer
    elif own == NO_ACTOR:
        other = outer if OUTER in counts_as else 0
    elif own in matches.inner:
        other = 0 if INNER in counts_as else outer
    elif OUTER in counts_as:
        first = outer
    elif counts_as != {INNER}:
        other = inner
    return list(bits.values()), (1 << n) - 1, first, other
