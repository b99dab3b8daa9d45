"""Events of one document: their probabilities, with Monte Carlo errors, from matches and sampled clusterings."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Generic, Self, TypeVar

import numpy as np
import numpy.typing as npt

from corefsample._arrays import Bools, Bytes, Floats, Ints, Ints32
from corefsample._monte_carlo import monte_carlo_errors
from corefsample._random import document_draws
from corefsample.coreference._antecedents import AntecedentDistribution
from corefsample.coreference._clusterings import canonical_labels
from corefsample.coreference._conditioning import WAYS, Conditioned
from corefsample.posterior._posterior import DocumentPosterior, ParseSamples, WeightedParse
from events.counting._kernel_inputs import (
    REASONS,
    Hits,
    KernelInputs,
    Reasons,
    certain_hits,
    reasons_in_parse,
    with_common_descriptions,
)
from events.counting._kernels import BY_DEFAULT, NAMED, STANDS_FOR
from events.counting._tables import EventKey
from events.matching._matches import MentionMatches, with_virtual_mentions
from events.rules._outcomes import Outcome

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
        uint8 (n_keys, n): whether the event is true in the sample, for the keys of the matches: bits, as of
        `DocumentEvents.ways`.
    one_best
        bool (n_keys,): whether it is true in the likeliest-antecedent clustering.
    instance_hits
        int64 (n_instances, n_keys): samples in which an instance makes the event true.
    description_hits
        int64 (n_descriptions,): samples in which a description belongs to an entity of an event.
    conditioned
        What it took to keep distinct actors apart in these samples; None if they are not, or there is no sample.
    named_hits
        `instance_hits` of the samples in which no class noun stands for an actor; None: the same.
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
        The document.
    keys
        The possible events: codes of actors, one for each role ("" for no actor), or the names of a predicate.
    hits
        uint8 (n_keys, n_samples): whether the event is true in the sample.
    one_best
        bool (n_keys,): whether it is true in the likeliest-antecedent clustering of the first parse; of a predicate
        that returns numbers int64, the numbers.
    event
        Name of the rule.
    parses
        The events given each parse in which one is possible and that some sample has; none for a predicate.
    parse_counts
        int64 (n_parses,): samples with each parse of the document; None stands for one parse.
    reasons
        By number of the event what happens in the samples without it; of the events that some samples have.
    ways
        uint8 (n_keys, n_samples): 1 where the event is true by actors that are named, or by nobody, 2 where it is by a
        default actor, 3 where it is in both ways; 4 where it is only because a class noun stands for an actor; None if
        every event is by named actors or nobody.
    parts
        Of an outcome, for each of its events those that make it true: events of rules, and their numbers there. Its
        parses are then those of any of them.
    numbers
        int64 (n_keys, n_samples): what a predicate that returns numbers returned; `hits` says where it is above 0.
    """

    doc_id: str
    date: datetime.date
    keys: tuple[EventKey, ...]
    hits: Bytes
    one_best: Bools | Ints
    event: str = "event"
    parses: tuple[ParseEvents, ...] = ()
    parse_counts: Ints | None = None
    reasons: Mapping[int, Reasons] = field(default_factory=dict)
    ways: Bytes | None = None
    parts: tuple[tuple[Part, ...], ...] = ()
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
        """int64 (n_keys,): samples in which each event is true."""
        counts = self._n_hits
        if counts is None:
            counts = np.count_nonzero(self.hits, axis=1).astype(np.int64, copy=False)
            counts.flags.writeable = False
            object.__setattr__(self, "_n_hits", counts)
        return counts

    @property
    def n_named(self) -> Ints:
        """int64 (n_keys,): samples in which each event is true by actors that are named, or by nobody."""
        if self.ways is None:
            return self.n_hits
        return np.asarray(np.count_nonzero(self.ways & NAMED, axis=1), np.int64)

    def filled(self, event: int) -> str:
        """How roles are filled: "named", "default", "stands for" or "both"; "" if it is not true or has no actor."""
        if not any(self.keys[event]) or not self.n_hits[event]:
            return ""
        if self.ways is None:
            return _FILLED[NAMED]
        return _FILLED.get(int(np.bitwise_or.reduce(self.ways[event])), "both")

    @property
    def probabilities(self) -> Floats:
        """float64 (n_keys,): share of samples in which each event is true."""
        return self.n_hits / self.n_samples

    @property
    def mc_errors(self) -> Floats:
        """float64 (n_keys,): see `monte_carlo_errors`; slightly too large for a document with several parses."""
        return monte_carlo_errors(self.n_hits, self.n_samples, self.inefficiency)

    @property
    def conditioned(self) -> tuple[Conditioned, ...]:
        """How the samples of each parse were made consistent, where actors are kept apart."""
        return tuple(parse.conditioned for parse in self.parses if parse.conditioned is not None)

    @property
    def inefficiency(self) -> float:
        """Number of samples that are worth one independent sample; above 1 where Markov chains drew them."""
        return max((conditioned.inefficiency for conditioned in self.conditioned), default=1.0)

    @property
    def is_settled(self) -> bool:
        """False if the Markov chains that drew some of the samples do not agree."""
        return all(conditioned.way != WAYS[-1] for conditioned in self.conditioned)


Part = tuple[DocumentEvents, list[int]]  # events of one rule, and the numbers of some of them


@dataclass(frozen=True, slots=True, eq=False)
class VarianceParts:
    """The variance of an event's indicator over the samples, by the law of total variance.

    Attributes
    ----------
    parse
        float64 (n_events,): variance over parses of P(event | parse).
    coreference
        float64 (n_events,): mean over parses of the variance given the parse. Their sum is P (1 - P).
    """

    parse: Floats
    coreference: Floats


def variance_parts(events: DocumentEvents) -> VarianceParts:
    """Split the variance of each event into what the parse and what coreference contributes.

    P(event | parse) is the share of the samples with this parse, so chance adds to the parse's part: of K parses and n
    samples about (K - 1) / n of coreference's part. With one parse all variance is coreference's.
    """
    p = events.probabilities
    total = p * (1.0 - p)
    if events.n_parses < 2:
        return VarianceParts(np.zeros_like(total), total)
    within = np.zeros_like(total)
    for each in events.parses:
        if each.samples.size:
            n_hits = np.count_nonzero(events.hits[:, each.samples], axis=1)
            within += n_hits * (1.0 - n_hits / each.samples.size)
    within /= events.n_samples
    return VarianceParts(np.maximum(total - within, 0.0), within)


def evaluate_matches(
    antecedents: AntecedentDistribution,
    matches: MentionMatches,
    doc_id: str,
    date: datetime.date,
    *,
    n_samples: int = 1000,
    seed: int = 0,
) -> DocumentEvents:
    """Sample clusterings of a document with one parse and evaluate the event of a rule in each.

    An entity counts for an actor if all its described mentions are described as this actor (Nguyen & O'Connor 2015,
    section 6.1, the function f). If it is described as an inner actor and as others (the police of a country), it
    counts for the inner actor. For a role with classes only descriptions as actors of these classes are considered.

    Parameters
    ----------
    antecedents
        Distribution over antecedents of the document.
    matches
        From `match_document`.
    doc_id, date
        The document; doc_id and seed fix the samples.
    n_samples
        At least 1.
    seed
        In [0, 2**64).
    """
    posterior = DocumentPosterior(doc_id, (WeightedParse(antecedents),))
    return evaluate_document(posterior, {0: [matches]}, date, n_samples=n_samples, seed=seed)[0]


def evaluate_document(
    posterior: DocumentPosterior,
    matches: Mapping[int, Sequence[MentionMatches]],
    date: datetime.date,
    *,
    n_samples: int = 1000,
    seed: int = 0,
) -> list[DocumentEvents]:
    """Sample a document's posterior, and evaluate the events of several rules in the same samples.

    Parameters
    ----------
    posterior
        Of the document.
    matches
        By number of the parse, the matches of the rules whose event is possible in it. Where a parse cannot have an
        event, its samples have not.
    date
        Of the document.
    n_samples, seed
        As of `DocumentPosterior.sample`.

    Returns
    -------
    list of DocumentEvents
        Of each rule whose event is possible in some parse, as `evaluate_matches` describes them.
    """
    samples = posterior.sample(n_samples=n_samples, seed=seed)
    counts = samples.parse_counts
    found: dict[str, list[tuple[ParseEvents, Ints32]]] = {}  # with the clusterings
    for parse, several in sorted(matches.items()):
        # The one best is that of the first parse, which needs no sample.
        if parse == 0 or counts[parse]:
            free = [each for each in several if each.apart is None]
            for own in (free, [each for each in several if each.apart is not None]):
                if own:
                    n_mentions = _n_relevant(own)
                    apart = own[0].apart if n_mentions else None  # no mention matters where all events are certain
                    given = samples.of_parse(parse, n_mentions, apart, own[0].n_distinct)
                    draws = document_draws(seed, posterior.doc_id, n_samples)[given.samples]
                    for events, labels in _given_parse(parse, own, given, draws):
                        found.setdefault(events.matches.event, []).append((events, labels))
    return [_of_all_parses(posterior.doc_id, date, parses, counts) for parses in found.values()]


def _n_relevant(several: Sequence[MentionMatches]) -> int:
    """Number of mentions up to the last that is described or fills a role: the others do not change the events."""
    uncertain = [each for each in several if not _is_certain(each)]
    parts = [part for each in uncertain for part in (each.described_mentions, each.instances)]
    parts += [each.apart for each in uncertain if each.apart is not None]
    possessors = [i.possessor for each in uncertain for i in each.inferred if i.possessor is not None]
    parts.append(np.array(possessors, np.int32))
    return max((int(part.max(initial=-1)) for part in parts), default=-1) + 1


def _given_parse(
    parse: int, several: Sequence[MentionMatches], given: ParseSamples, draws: Floats
) -> list[tuple[ParseEvents, Ints32]]:
    """Events of the rules in the samples with one parse, and the clusterings, with virtual mentions."""
    labels = dict.fromkeys(range(len(several)), given.labels)
    without: dict[int, Ints] = {}  # hits of the instances where no class noun stands for an actor
    found: dict[int, tuple[Hits, Bytes]] = {}  # by number of the rule: in the samples, and in the likeliest clustering
    for rule, each in enumerate(several):
        if _is_certain(each):
            certain = certain_hits(each, len(given.samples))
            found[rule] = certain, certain_hits(each, 1).events
    likeliest = np.ascontiguousarray(given.likeliest[:, None])
    for group in with_common_descriptions(several, [rule for rule in range(len(several)) if rule not in found]):
        inputs = KernelInputs([several[rule] for rule in group])
        own = with_virtual_mentions(given.labels, inputs.inferred, draws) if inputs.inferred else given.labels
        likely = with_virtual_mentions(likeliest, inputs.inferred, None) if inputs.inferred else likeliest
        every = inputs.evaluated(own)
        if any(each.possessor is None for each in inputs.inferred):
            plain = inputs.evaluated(with_virtual_mentions(given.labels, inputs.inferred, draws, stand_ins=False))
            for hits, of_named in zip(every, plain, strict=True):
                hits.events[:] = of_named.events | (STANDS_FOR * ((hits.events != 0) & (of_named.events == 0)))
            without |= {rule: of_named.instances for rule, of_named in zip(group, plain, strict=True)}
        together = zip(group, every, inputs.evaluated(likely), strict=True)
        found |= {rule: (hits, one_best.events) for rule, hits, one_best in together}
        labels |= dict.fromkeys(group, own)
    return [
        (
            ParseEvents(
                parse=parse,
                samples=given.samples,
                matches=several[rule],
                hits=hits.events,
                one_best=one_best[:, 0].astype(np.bool_),
                instance_hits=hits.instances,
                description_hits=hits.descriptions,
                conditioned=given.conditioned,
                named_hits=without.get(rule),
            ),
            labels[rule],
        )
        for rule, (hits, one_best) in sorted(found.items())
    ]


def _of_all_parses(
    doc_id: str, date: datetime.date, given: Sequence[tuple[ParseEvents, Ints32]], counts: Ints
) -> DocumentEvents:
    """Events of one rule in all samples, from those of each parse with the clusterings."""
    parses = tuple(each for each, _ in given)
    rows: dict[EventKey, int] = {}
    for each in parses:
        for key in each.keys:
            rows.setdefault(EventKey(key), len(rows))
    every: Bytes = np.zeros((len(rows), int(counts.sum())), np.uint8)
    one_best: Bools = np.zeros(len(rows), np.bool_)
    for each in parses:
        own = np.array([rows[EventKey(key)] for key in each.keys], np.int64)
        every[np.ix_(own, each.samples)] = each.hits
        if each.parse == 0:
            one_best[own] = each.one_best
    hits, ways = hits_and_ways(every)
    event, reasons = parses[0].matches.event, _reasons(tuple(rows), hits, given)
    return DocumentEvents(doc_id, date, tuple(rows), hits, one_best, event, parses, counts, reasons, ways)


def hits_and_ways(ways: Bytes) -> tuple[Bytes, Bytes | None]:
    """Whether events are true, as 0 or 1, and in which ways if some are by default actors."""
    if ways.max(initial=0) <= NAMED:
        return ways, None
    return (ways != 0).astype(np.uint8), ways


def _reasons(keys: Sequence[EventKey], hits: Bytes, given: Sequence[tuple[ParseEvents, Ints32]]) -> dict[int, Reasons]:
    """Why the events that are true in some samples are not in others."""
    found: dict[int, Reasons] = {}
    n_samples = hits.shape[1]
    for e, n in enumerate(np.count_nonzero(hits, axis=1).tolist()):
        if not 0 < n < n_samples:
            continue
        counts, others = np.zeros(len(REASONS), np.int64), []
        for each, labels in given:
            if keys[e] in each.keys and each.samples.size:
                own = each.hits[each.keys.index(keys[e])]
                in_parse, mentions = reasons_in_parse(each.matches, keys[e], own, labels)
                counts[: len(in_parse)] += in_parse
                others += [(each.parse, *item) for item in mentions.items()]
        counts[-1] = n_samples - n - counts.sum()
        found[e] = Reasons(counts, tuple(others))
    return found


def evaluate_clustering(matches: MentionMatches, labels: npt.ArrayLike) -> tuple[EventKey, ...]:
    """Events that are true in one clustering, such as the annotated one.

    Parameters
    ----------
    matches
        From `match_document`.
    labels
        int (n_mentions,): mentions with the same label form an entity.

    Returns
    -------
    tuple of tuple of str
        For each event its codes of actors, one for each role; sorted.
    """
    inputs = KernelInputs([matches])
    (hits,) = inputs.evaluated(with_virtual_mentions(canonical_labels(labels)[:, None], inputs.inferred, None))
    return tuple(EventKey(key) for key, hit in zip(matches.keys, hits.events[:, 0], strict=True) if hit)


def _is_certain(matches: MentionMatches) -> bool:
    """Whether the event is the same in every clustering: it is possible, and no actor can fill a role."""
    return matches.possible and (not len(matches.described_mentions) or int(matches.instances.max(initial=-1)) < 0)


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Task(Generic[T]):
    """Work that a thread may do; who needs the result does it unless another has begun it."""

    _work: Callable[[], T]
    _future: Future[T] | None

    def result(self) -> T:
        """The result, computed by this thread if no other has begun."""
        if self._future is None or self._future.cancel():
            return self._work()
        return self._future.result()


class Threads:
    """A number of threads, of which the caller's is one: more than processors would only take Python's lock from it.

    Use as a context manager: after an error what is not begun is left out.
    """

    def __init__(self, n_threads: int) -> None:
        self._pool = ThreadPoolExecutor(n_threads - 1) if n_threads > 1 else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error: object, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=error is not None)

    def begin(self, work: Callable[[], T]) -> Task[T]:
        """Give work to the threads."""
        return Task(work, None if self._pool is None else self._pool.submit(work))


def outcome_events(
    several: Sequence[DocumentEvents], outcomes: Sequence[Outcome], kinds: Mapping[str, str]
) -> list[DocumentEvents]:
    """Outcomes of one document as events, by name; a row for each of the actors with which one can be true.

    Parameters
    ----------
    several
        Events of the document by rule, in the same samples. A rule that is not there has no event.
    outcomes
        What is counted.
    kinds
        Class of each actor of the lexicon.
    """
    by_rule = {events.event: events for events in several}
    found = []
    for name in dict.fromkeys(outcome.name for outcome in outcomes):
        rows: list[tuple[str, list[Part]]] = []
        for outcome in outcomes:
            if outcome.name == name:
                own = [by_rule[event] for event in dict.fromkeys(outcome.events) if event in by_rule]
                parts = [(events, outcome.chosen(events.keys, kinds)) for events in own]
                if any(chosen for _, chosen in parts):
                    rows.append((outcome.actors, [part for part in parts if part[1]]))
        if rows:
            found.append(_union(name, rows, several[0]))
    return found


def _union(name: str, rows: Sequence[tuple[str, list[Part]]], document: DocumentEvents) -> DocumentEvents:
    """Events of one name: the codes of their keys are the texts of the actors."""
    ways: Bytes = np.zeros((len(rows), document.n_samples), np.uint8)
    one_best: Bools = np.zeros(len(rows), np.bool_)
    parses: dict[int, ParseEvents] = {}
    for e, (_, parts) in enumerate(rows):
        for events, chosen in parts:
            in_ways = events.hits if events.ways is None else events.ways
            ways[e] |= np.bitwise_or.reduce(in_ways[chosen], axis=0)
            one_best[e] |= events.one_best[chosen].any()
            parses |= {each.parse: each for each in events.parses if each.parse not in parses}
    hits, several_ways = hits_and_ways(ways)
    return DocumentEvents(
        *(document.doc_id, document.date, tuple(EventKey.of(actors) for actors, _ in rows), hits, one_best, name),
        parses=tuple(each for _, each in sorted(parses.items())),
        parse_counts=document.parse_counts,
        ways=several_ways,
        parts=tuple(tuple(parts) for _, parts in rows),
    )
