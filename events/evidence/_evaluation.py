"""Events of one document: their probabilities, with Monte Carlo errors, from matches and sampled clusterings."""

import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from corefsample import ParameterError, ScoredDocument
from corefsample._arrays import Bools, Bytes, Floats, Ints, Ints32
from corefsample._random import document_draws
from corefsample.coreference._clusterings import canonical_labels
from corefsample.documents._batch import DocumentBatch
from corefsample.documents._faults import Fault
from corefsample.posterior._posterior import CorpusRecalibration, DocumentPosterior, PosteriorSamples
from events.evidence._actor_sets import Hits, KernelInputs
from events.evidence._columns import EventKey
from events.evidence._document_events import DocumentEvents, Reasons, UnionMember
from events.evidence._event_kernels import NAMED, STANDS_FOR
from events.matching._matches import MentionMatches
from events.matching._screening import DocumentMatches, RuleMatcher
from events.rules._format import Outcome


def evaluate_document(
    posterior: DocumentPosterior,
    matches: Sequence[MentionMatches],
    date: datetime.date | None,
    *,
    n_samples: int = 1000,
    seed: int = 0,
    parse: int = 0,
) -> list[DocumentEvents]:
    """Sample a document's posterior, and evaluate the events of several rules in the same samples.

    Parameters
    ----------
    posterior
        Posterior of the document, or of one of its parses.
    matches
        Matches of the rules whose event is possible.
    date
        Date of the document; None if it has none.
    n_samples, seed
        Number of samples of the document, and seed of the random draws, in [0, 2**64). In samples that do not have the
        parse of the posterior no event is true.
    parse
        Number of the parse among those of the document.

    Returns
    -------
    list of DocumentEvents
        Events of each rule.

    Notes
    -----
    An entity counts for an actor if all its described mentions are described as this actor (Nguyen & O'Connor 2015,
    section 6.1, the function f). If it is described as an inner actor and as others (the police of a country), it
    counts for the inner actor. For a role with classes only descriptions as actors of these classes are considered.
    """
    # Rules with the same pairs are sampled together. Certain events have no error, whatever the pairs of other rules.
    by_pairs: dict[bytes | None, list[MentionMatches]] = {}
    for rule in matches:
        pairs = None if rule.apart is None or _is_certain(rule) else rule.apart.tobytes()
        by_pairs.setdefault(pairs, []).append(rule)
    events: list[DocumentEvents] = []
    for pairs, rules in by_pairs.items():
        drawn = posterior.sample(
            n_samples=n_samples,
            seed=seed,
            n_mentions=_n_relevant(rules),
            cannot_link=None if pairs is None else rules[0].apart,
            n_counted=rules[0].n_distinct,
        )
        if parse and not drawn.samples.size:  # the one best is that of the first parse, which needs no sample
            continue
        uniform = document_draws(seed, posterior.doc_id, n_samples)
        events += _events(posterior.doc_id, date, parse, rules, drawn, uniform, seed)
    names = [rule.event for rule in matches]
    return sorted(events, key=lambda of_rule: names.index(of_rule.event))


def _n_relevant(matches: Sequence[MentionMatches]) -> int:
    """Number of mentions up to the last one that can change an event; later mentions need not be sampled."""
    uncertain = [rule for rule in matches if not _is_certain(rule)]
    mention_arrays = [array for rule in uncertain for array in (rule.described_mentions, rule.instances)]
    mention_arrays += [rule.apart for rule in uncertain if rule.apart is not None]
    possessors = [i.possessor for rule in uncertain for i in rule.inferred if i.possessor is not None]
    mention_arrays.append(np.array(possessors, np.int32))
    return max((int(array.max(initial=-1)) for array in mention_arrays), default=-1) + 1


def _events(
    doc_id: str,
    date: datetime.date | None,
    parse: int,
    matches: Sequence[MentionMatches],
    drawn: PosteriorSamples,
    uniform: Floats,
    seed: int,
) -> list[DocumentEvents]:
    """Events of the rules in samples of one parse, given a uniform random number for each sample of the document."""
    draws, n_samples = uniform[drawn.samples], len(uniform)
    labels = dict.fromkeys(range(len(matches)), drawn.labels)  # with virtual mentions
    named_instance_hits: dict[int, Ints] = {}  # hits of the instances where no class noun stands for an actor
    # By index of the rule: its hits in the samples, and in the likeliest clustering.
    hits_by_rule: dict[int, tuple[Hits, Bytes]] = {}
    reported, likely = _reported(matches, seed, doc_id, n_samples, drawn.samples)
    for rule, rule_matches in enumerate(matches):
        if _is_certain(rule_matches):
            sampled, best = (Hits.certain(rule_matches, of_rules[rule]) for of_rules in (reported, likely))
            hits_by_rule[rule] = sampled, best.events
    likeliest = np.ascontiguousarray(drawn.likeliest[:, None])
    for group in KernelInputs.groups(matches, [rule for rule in range(len(matches)) if rule not in hits_by_rule]):
        inputs, described = KernelInputs.of([matches[rule] for rule in group]), matches[group[0]]
        of_group, likely_of_group = ([of_rules[rule] for rule in group] for of_rules in (reported, likely))
        clusterings = described.with_virtual_mentions(drawn.labels, draws)
        sampled_hits = inputs.evaluated(clusterings, of_group)
        if any(each.possessor is None for each in described.inferred):
            without = described.with_virtual_mentions(drawn.labels, draws, stand_ins=False)
            of_named = inputs.evaluated(without, of_group)
            for hits, named in zip(sampled_hits, of_named, strict=True):
                hits.events[:] = named.events | (STANDS_FOR * ((hits.events != 0) & (named.events == 0)))
            named_instance_hits |= {rule: named.instances for rule, named in zip(group, of_named, strict=True)}
        best_hits = inputs.evaluated(described.with_virtual_mentions(likeliest, None), likely_of_group)
        for rule, hits, best in zip(group, sampled_hits, best_hits, strict=True):
            hits_by_rule[rule] = hits, best.events
        labels |= dict.fromkeys(group, clusterings)
    events = []
    for rule, (hits, one_best) in sorted(hits_by_rule.items()):
        keys = tuple(map(EventKey, matches[rule].keys))
        n_hits = np.count_nonzero(hits.events, axis=1).tolist()
        ways_in_samples = hits.events
        if len(draws) < n_samples:
            ways_in_samples = np.zeros((len(keys), n_samples), np.uint8)
            ways_in_samples[:, drawn.samples] = hits.events
        is_true, ways = hits_and_ways(ways_in_samples)
        events.append(
            DocumentEvents(
                *(doc_id, date, keys, is_true, one_best[:, 0].astype(np.bool_), matches[rule].event),
                matches=matches[rule],
                instance_hits=hits.instances,
                description_hits=hits.descriptions,
                conditioned=drawn.conditioned,
                named_hits=named_instance_hits.get(rule),
                parse=parse,
                n_drawn=len(draws),
                reasons={
                    row: Reasons.of(keys[row], parse, matches[rule], hits.events[row], labels[rule])
                    for row, n in enumerate(n_hits)
                    if len(draws) and n < len(draws) and (n or len(draws) < n_samples)
                },
                ways=ways,
            )
        )
    return events


def _reported(
    matches: Sequence[MentionMatches], seed: int, doc_id: str, n_samples: int, samples: Ints
) -> tuple[list[Bytes], list[Bytes]]:
    """Whether each instance's trigger reports an event, by rule: in the samples, and likely so: uint8 (n, 1)."""
    sampled, likely = [], []
    for rule in matches:
        of_rule = rule.reported(seed, doc_id, n_samples)
        n_instances = len(rule.instances)
        all_report = np.ones((n_instances, len(samples)), np.uint8)
        sampled.append(all_report if of_rule is None else np.ascontiguousarray(of_rule[:, samples]))
        chances = np.ones(n_instances) if rule.chances is None else rule.chances
        likely.append((chances >= 0.5).astype(np.uint8)[:, None])
    return sampled, likely


def united(of_parses: Sequence[Sequence[DocumentEvents]]) -> list[DocumentEvents]:
    """Events of a document by rule, united from those of its parses, which are true in different samples."""
    if len(of_parses) == 1 and all(not events.parse and events.n_drawn == events.n_samples for events in of_parses[0]):
        return [*of_parses[0]]
    by_rule: dict[str, list[DocumentEvents]] = {}
    for events in (events for of_parse in of_parses for events in of_parse):
        by_rule.setdefault(events.event, []).append(events)
    return [_united(parts) for parts in by_rule.values()]


def _united(parts: Sequence[DocumentEvents]) -> DocumentEvents:
    """Events of one rule; the one best is that of the first parse."""
    first = parts[0]
    keys = tuple(dict.fromkeys(key for part in parts for key in part.keys))
    ways: Bytes = np.zeros((len(keys), first.n_samples), np.uint8)
    one_best: Bools = np.zeros(len(keys), np.bool_)
    for part in parts:
        rows = [keys.index(key) for key in part.keys]
        ways[rows] |= part.hits if part.ways is None else part.ways
        if part.parse == 0:
            one_best[rows] = part.one_best
    hits, ways_or_none = hits_and_ways(ways)
    reasons = {}
    for row, (key, n) in enumerate(zip(keys, np.count_nonzero(hits, axis=1).tolist(), strict=True)):
        if 0 < n < first.n_samples:
            of_parts = [part.reasons.get(part.keys.index(key)) for part in parts if key in part.keys]
            reasons[row] = Reasons.united([each for each in of_parts if each is not None], first.n_samples - n)
    document = first.doc_id, first.date, keys, hits, one_best, first.event
    return DocumentEvents(*document, parts=tuple(parts), reasons=reasons, ways=ways_or_none)


def hits_and_ways(ways: Bytes) -> tuple[Bytes, Bytes | None]:
    """Events as 0 or 1, and the ways in which they are true; None if all are by named actors or without an actor."""
    if ways.max(initial=0) <= NAMED:
        return ways, None
    return (ways != 0).astype(np.uint8), ways


def evaluate_clustering(matches: MentionMatches, labels: npt.ArrayLike) -> tuple[EventKey, ...]:
    """Events that are true in one clustering, such as the annotated one.

    Parameters
    ----------
    matches
        Matches of one rule in the document, as `match_document` returns them.
    labels
        int (n_mentions,): mentions with the same label form an entity.

    Returns
    -------
    tuple of EventKey
        Codes of the actors of each event, one for each role, in the order of the keys of `matches`.
    """
    clustering = matches.with_virtual_mentions(canonical_labels(labels)[:, None], None)
    (hits,) = KernelInputs.of([matches]).evaluated(clustering)
    return tuple(EventKey(key) for key, hit in zip(matches.keys, hits.events[:, 0], strict=True) if hit)


def _is_certain(matches: MentionMatches) -> bool:
    """Whether the event is the same in every clustering: it is possible, and no actor can fill a role."""
    return matches.possible and (not len(matches.described_mentions) or int(matches.instances.max(initial=-1)) < 0)


def outcome_events(
    rule_events: Sequence[DocumentEvents], outcomes: Sequence[Outcome], kinds: Mapping[str, str]
) -> list[DocumentEvents]:
    """Events of the outcomes in one document: one result per name, with a row for each possible pattern of actors.

    Parameters
    ----------
    rule_events
        Events of each rule in the same samples of the document; a rule without any event is left out.
    outcomes
        Unions of events of the rules.
    kinds
        Class of each actor of the lexicon, by the code of the actor.
    """
    by_rule = {events.event: events for events in rule_events}
    united = []
    for name in dict.fromkeys(outcome.name for outcome in outcomes):
        rows: list[tuple[str, list[UnionMember]]] = []
        for outcome in outcomes:
            if outcome.name == name:
                member_events = [by_rule[event] for event in dict.fromkeys(outcome.events) if event in by_rule]
                members = [(events, outcome.matching_keys(events.keys, kinds)) for events in member_events]
                if any(member_rows for _, member_rows in members):
                    rows.append((outcome.actors, [member for member in members if member[1]]))
        if rows:
            united.append(_union(name, rows, rule_events[0]))
    return united


def _union(name: str, rows: Sequence[tuple[str, list[UnionMember]]], document: DocumentEvents) -> DocumentEvents:
    """Events of the outcomes with one name, whose keys are the patterns of actors."""
    ways: Bytes = np.zeros((len(rows), document.n_samples), np.uint8)
    one_best: Bools = np.zeros(len(rows), np.bool_)
    parses: dict[int, DocumentEvents] = {}
    for e, (_, members) in enumerate(rows):
        for events, member_rows in members:
            in_ways = events.hits if events.ways is None else events.ways
            ways[e] |= np.bitwise_or.reduce(in_ways[member_rows], axis=0)
            one_best[e] |= events.one_best[member_rows].any()
            parses |= {each.parse: each for each in events.parses if each.parse not in parses}
    hits, ways_or_none = hits_and_ways(ways)
    return DocumentEvents(
        *(document.doc_id, document.date, tuple(EventKey.of(actors) for actors, _ in rows), hits, one_best, name),
        parts=tuple(each for _, each in sorted(parses.items())),
        ways=ways_or_none,
        members=tuple(tuple(members) for _, members in rows),
    )


MOST = 10_000  # largest number of one document: the distribution of a sum has an entry for each value up to the largest
Predicate = Callable[[ScoredDocument, Ints32], Mapping[str, npt.ArrayLike]]
Matches = dict[int, DocumentMatches]


@dataclass(frozen=True, slots=True)
class RuleFinder:
    """Finds the events of rules in valid documents.

    Attributes
    ----------
    matcher
        Matcher that selects the documents in which an event is possible, and matches the rules with their parses.
    outcomes
        Unions of events of the rules.
    n_samples, seed
        Number of samples per document, and seed of the random draws, in [0, 2**64).
    has_coreference
        False if every mention is a separate entity; by default entities are sampled.
    """

    matcher: RuleMatcher
    outcomes: Sequence[Outcome]
    n_samples: int
    seed: int
    has_coreference: bool = True

    def match(self, batch: DocumentBatch) -> tuple[Matches, dict[int, Fault]]:
        """Matches of the rules in the documents of a batch, and the faults of rejected documents, by row."""
        matches, faults = self.matcher.match(batch)
        for document in matches.values() if self.outcomes else ():
            for outcome in self.outcomes:
                for event in outcome.events:
                    members = document.cooccurrences.get(event, {})
                    keys = [*members]
                    for row in outcome.matching_keys(keys, self.matcher.lexicon.kinds):
                        document.add_cooccurrence(outcome.name, EventKey.of(outcome.actors), members[keys[row]])
        return matches, faults

    def is_possible(self, matches: DocumentMatches) -> bool:
        """Whether some clustering can have an event."""
        return bool(matches.parses)

    def events(
        self, batch: DocumentBatch, row: int, matches: DocumentMatches, recalibration: CorpusRecalibration
    ) -> list[DocumentEvents]:
        """Events of the rules in one document, followed by its outcomes."""
        try:
            recalibrated = recalibration.for_scores(batch.metadata(row))
            of_parses: list[list[DocumentEvents]] = []
            for parse, of_parse in sorted(matches.parses.items()):
                posterior = DocumentPosterior.of_row(batch, row + parse, recalibrated)
                if not self.has_coreference:
                    posterior = posterior.without_coreference()
                sampling = {"n_samples": self.n_samples, "seed": self.seed}
                date = batch.dates[row].item()
                of_parses.append(evaluate_document(posterior, of_parse, date, parse=parse, **sampling))
            of_rules = united(of_parses)
            return of_rules + outcome_events(of_rules, self.outcomes, self.matcher.lexicon.kinds)
        except Exception as error:
            error.add_note(f"while counting {batch.place(row)}")
            raise


@dataclass(frozen=True, slots=True)
class PredicateFinder:
    """Finds the events of a user's own predicate.

    Attributes
    ----------
    predicate
        Function of a document with one parse and of labels, int32 (n_samples, n_mentions). It returns for each event
        name a bool array (n_samples,), or integers from 0 to 10,000, whose sums over documents are then counted. It is
        called once more with the likeliest-antecedent clustering, labels (1, n_mentions).
    n_samples, seed
        Number of samples per document, and seed of the random draws, in [0, 2**64).
    """

    predicate: Predicate
    n_samples: int
    seed: int

    def match(self, batch: DocumentBatch) -> tuple[Matches, dict[int, Fault]]:
        """Empty matches of all documents, because a predicate sees each; and faults of those with several parses."""
        counts = {row: len(batch.parses(row)) for row in batch.firsts.tolist()}
        rule = "parses must be one for a predicate, which is called with one clustering of the mentions"
        faults = {row: Fault(f"{rule}, got {n}") for row, n in counts.items() if n > 1}
        return {row: DocumentMatches() for row in counts}, faults

    def is_possible(self, matches: DocumentMatches) -> bool:
        """True for every document, because only the predicate can tell whether an event is possible."""
        return True

    def events(
        self, batch: DocumentBatch, row: int, matches: DocumentMatches, recalibration: CorpusRecalibration
    ) -> list[DocumentEvents]:
        """Events of one document; ParameterError if the predicate returns anything but booleans or numbers."""
        document, recalibrated = batch.document(row), recalibration.for_scores(batch.metadata(row))
        posterior = DocumentPosterior.of(document, recalibrated)
        samples = posterior.sample(n_samples=self.n_samples, seed=self.seed)
        sampled = self._predicate_values(document, samples.labels.T)
        best = self._predicate_values(document, samples.likeliest[None, :])
        names = sorted({*sampled, *best})
        are_numbers = any(values.dtype != np.bool_ for each in (sampled, best) for values in each.values())
        numbers = np.zeros((len(names), self.n_samples), np.int64)
        one_best: Bools | Ints = np.zeros(len(names), np.int64 if are_numbers else np.bool_)
        for e, name in enumerate(names):
            numbers[e] = sampled.get(name, 0)
            one_best[e] = best.get(name, [0])[0]
        events = document.doc_id, document.date, tuple(map(EventKey.of, names)), (numbers > 0).astype(np.uint8)
        return [DocumentEvents(*events, one_best, numbers=numbers if are_numbers else None)]

    def _predicate_values(self, document: ScoredDocument, labels: Ints32) -> dict[str, Bools | Ints]:
        returned = self.predicate(document, labels)
        if not isinstance(returned, Mapping):
            rule = "must return a mapping of names to booleans or whole numbers"
            raise ParameterError(f"{rule}, got {type(returned).__name__}", parameter="predicate")
        arrays: dict[str, Bools | Ints] = {}
        for name, values in returned.items():
            array = np.asarray(values)
            if array.shape != (len(labels),) or array.dtype.kind not in "biu":
                rule = f"must return bool or int ({len(labels)},) for {name!r}"
                raise ParameterError(f"{rule}, got {array.dtype} {array.shape}", parameter="predicate")
            if array.dtype != np.bool_ and ((array < 0) | (array > MOST)).any():
                rule = f"must return numbers from 0 to {MOST:,} for {name!r}"
                raise ParameterError(f"{rule}, got {array.min()} to {array.max()}", parameter="predicate")
            arrays[str(name)] = array
        return arrays
