"""Results for one document: its events in each sample, and the reasons why they are not true in other samples."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from corefsample._arrays import Bools, Bytes, Floats, Ints
from corefsample._monte_carlo import monte_carlo_errors
from corefsample.coreference._conditioning import WAYS, Conditioned
from events.counting._kernels import BY_DEFAULT, NAMED, STANDS_FOR
from events.counting._reasons import Reasons
from events.counting._tables import EventKey
from events.matching._matches import MentionMatches

_FILLED = {0: "", NAMED: "named", BY_DEFAULT: "default", STANDS_FOR: "stands for"}  # "both" in other cases


@dataclass(frozen=True, slots=True, eq=False)
class ParseEvents:
    """Events of a rule in the samples of a document that have one of its parses.

    Attributes
    ----------
    parse
        Number of the parse.
    samples
        int64 (n,), increasing: the samples with this parse. Empty for a first parse of weight 0.
    matches
        Matches of the rule in this parse.
    hits
        uint8 (n_keys, n): 0 if the event of a key is not true in the sample; otherwise the bits by which it is true,
        see `DocumentEvents.ways`.
    one_best
        bool (n_keys,): whether each event is true in the likeliest-antecedent clustering.
    instance_hits
        int64 (n_instances, n_keys): samples in which an instance makes the event true.
    description_hits
        int64 (n_descriptions,): samples in which a description belongs to an entity of an event.
    conditioned
        How distinct actors were kept apart in these samples; None if they were not kept apart, or there is no sample.
    named_hits
        int64 (n_instances, n_keys): `instance_hits` if class nouns are not allowed to stand for actors; None if no
        class noun can, so that the numbers are the same.
    """

    parse: int
    samples: Ints
    matches: MentionMatches
    hits: Bytes
    one_best: Bools
    instance_hits: Ints
    description_hits: Ints
    conditioned: Conditioned | None = None
    named_hits: Ints | None = None

    @property
    def keys(self) -> tuple[tuple[str, ...], ...]:
        """The possible events."""
        return self.matches.keys


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
    parses
        Events in the samples of each parse in which an event is possible and that some sample has; empty for a
        predicate.
    parse_counts
        int64 (n_parses,): number of samples with each parse of the document; None if the document has one parse.
    reasons
        Reasons why an event is not true, by the row of its key, for events that are true in some samples but not all.
    ways
        uint8 (n_keys, n_samples): 1 if the event is true with named actors or without an actor, 2 if it is true with a
        default actor, 3 if both; 4 if it is true only because a class noun stands for an actor. None if every event is
        true with named actors or without an actor only.
    members
        For an outcome, the events of rules that each of its events unites, with the indices of these events; `parses`
        are then the parses of all these events. Empty for a rule and a predicate.
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
    parses: tuple[ParseEvents, ...] = ()
    parse_counts: Ints | None = None
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
    def n_parses(self) -> int:
        """Number of parses of the document."""
        return 1 if self.parse_counts is None else len(self.parse_counts)

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
        return np.asarray(np.count_nonzero(self.ways & NAMED, axis=1), np.int64)

    def filled(self, index: int) -> str:
        """How the roles of the event with this index are filled: "named", "default", "stands for" or "both".

        The result is "" if the event is true in no sample or has no actor.
        """
        if not any(self.keys[index]) or not self.n_hits[index]:
            return ""
        if self.ways is None:
            return _FILLED[NAMED]
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
    def conditioned(self) -> tuple[Conditioned, ...]:
        """How the samples of each parse were conditioned, for parses in which distinct actors are kept apart."""
        return tuple(parse.conditioned for parse in self.parses if parse.conditioned is not None)

    @property
    def inefficiency(self) -> float:
        """Number of samples that are worth one independent sample; above 1 where Markov chains drew them."""
        return max((conditioned.inefficiency for conditioned in self.conditioned), default=1.0)

    @property
    def is_settled(self) -> bool:
        """False if the Markov chains that drew some of the samples do not agree."""
        return all(conditioned.way != WAYS[-1] for conditioned in self.conditioned)


UnionMember = tuple[DocumentEvents, list[int]]  # events of one rule, and the indices of some of them


@dataclass(frozen=True, slots=True, eq=False)
class VarianceComponents:
    """The variance of an event's indicator over the samples, by the law of total variance.

    Attributes
    ----------
    parse
        float64 (n_events,): variance over parses of P(event | parse).
    coreference
        float64 (n_events,): mean over parses of the variance given the parse. `parse` + `coreference` is P (1 - P).
    """

    parse: Floats
    coreference: Floats


def variance_components(events: DocumentEvents) -> VarianceComponents:
    """Split the variance of each event into the component of parses and the component of coreference.

    P(event | parse) is estimated by a share of samples, so chance adds to the component of parses: with K parses and n
    samples, about (K - 1) / n of the component of coreference. With one parse, the component of parses is 0.
    """
    p = events.probabilities
    total = p * (1.0 - p)
    if events.n_parses < 2:
        return VarianceComponents(np.zeros_like(total), total)
    within = np.zeros_like(total)
    for parse_events in events.parses:
        if parse_events.samples.size:
            n_hits = np.count_nonzero(events.hits[:, parse_events.samples], axis=1)
            within += n_hits * (1.0 - n_hits / parse_events.samples.size)
    within /= events.n_samples
    return VarianceComponents(np.maximum(total - within, 0.0), within)
