"""Events of a document with alternative parses: a sample is a parse and a clustering given it."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from corefsample._arrays import Bools, Bytes, Floats, Ints
from corefsample.coreference import AntecedentDistribution
from corefsample.documents import sample_parses
from corefsample.recalibration import SampleShare
from events.counting._evaluation import DocumentEvents, ParseEvents, evaluate_rules
from events.counting._keys import EventKey
from events.counting._recalibrated import CountedRecalibration
from events.matching import MentionMatches

_CLUSTERINGS = 2**40  # clusterings that each parse of a document has for itself in the document's random stream


@dataclass(frozen=True, slots=True, eq=False)
class MatchedParse:
    """One parse of a document: its weight, the distribution of its mentions, and its possible events.

    Attributes
    ----------
    weight
        As of `corefsample.documents.Parse`.
    antecedents
        Distribution over the antecedents of its mentions.
    matches
        Matches of the rules whose event is possible in it; empty if no event is.
    kinds
        Kinds of its mentions, if a recalibration needs them.
    """

    weight: float
    antecedents: AntecedentDistribution
    matches: tuple[MentionMatches, ...]
    kinds: Bytes | None = None


def evaluate_mixture(
    parses: Sequence[MatchedParse],
    doc_id: str,
    date: datetime.date,
    *,
    n_samples: int = 1000,
    seed: int = 0,
    recalibrated: CountedRecalibration | None = None,
) -> list[DocumentEvents]:
    """Sample parses of a document and clusterings given them, and evaluate the events of rules in each sample.

    `corefsample.documents.sample_parses` gives the parse of each sample. The j-th sample with parse k has clustering
    k 2**40 + j of the document's random stream, so that a sample depends on (seed, doc_id, its index) alone, and one
    parse gives the samples of `evaluate_rules`. The parses are drawn more evenly than independent draws would be, so
    that the Monte Carlo standard errors, which are those of independent samples, are slightly too large.

    Parameters
    ----------
    parses
        At least one; the first is the usual parse, of which `DocumentEvents.one_best` is taken.
    doc_id, date, n_samples, seed, recalibrated
        As of `evaluate_matches`.

    Returns
    -------
    list of DocumentEvents
        Of each rule whose event is possible in some parse, with `DocumentEvents.alternatives`.
    """
    weights = [parse.weight for parse in parses]
    drawn = sample_parses(weights, n_samples=n_samples, seed=seed, doc_id=doc_id)
    found: dict[str, list[ParseEvents]] = {}
    for k, parse in enumerate(parses):
        samples = np.flatnonzero(drawn == k)
        if not parse.matches or (k and not samples.size):
            continue
        several = evaluate_rules(
            parse.antecedents,
            parse.matches,
            doc_id,
            date,
            n_samples=max(1, samples.size),  # of the first parse, the one best clustering is needed
            seed=seed,
            first_sample=k * _CLUSTERINGS,
            recalibrated=recalibrated,
            kinds=parse.kinds,
            share=SampleShare(samples if samples.size else np.zeros(1, np.int64), n_samples),
        )
        for events in several:
            assert events.matches is not None
            found.setdefault(events.matches.event, []).append(ParseEvents(k, samples, events))
    counts = np.bincount(drawn, minlength=len(parses)).astype(np.int64)
    return [_combined(alternatives, counts, n_samples) for alternatives in found.values()]


def _combined(alternatives: Sequence[ParseEvents], counts: Ints, n_samples: int) -> DocumentEvents:
    """Events of one rule in all samples; where a parse cannot have the event, its samples have not."""
    keys: dict[EventKey, int] = {}
    for each in alternatives:
        for key in each.events.keys:
            keys.setdefault(key, len(keys))
    hits: Bytes = np.zeros((len(keys), n_samples), np.uint8)
    one_best: Bools = np.zeros(len(keys), np.bool_)
    for each in alternatives:
        rows = np.array([keys[key] for key in each.events.keys], np.int64)
        if each.samples.size:
            hits[np.ix_(rows, each.samples)] = each.events.hits
        if each.parse == 0:
            one_best[rows] = each.events.one_best
    first = alternatives[0].events
    return DocumentEvents(
        first.doc_id,
        first.date,
        tuple(keys),
        hits,
        one_best,
        matches=first.matches,
        alternatives=tuple(alternatives),
        parse_counts=counts,
    )


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
    samples about (K - 1) / n of coreference's part. Without alternative parses all variance is coreference's.
    """
    p = events.probabilities
    total = p * (1.0 - p)
    if not events.alternatives:
        return VarianceParts(np.zeros_like(total), total)
    within = np.zeros_like(total)
    for each in events.alternatives:
        if each.samples.size:
            n_hits = hits_in(events, each)
            within += n_hits * (1.0 - n_hits / each.samples.size)
    within /= events.n_samples
    return VarianceParts(np.maximum(total - within, 0.0), within)


def hits_in(events: DocumentEvents, alternative: ParseEvents) -> Ints:
    """int64 (n_events,): samples with one of the alternative parses in which each event of the document is true."""
    hits: Ints = np.count_nonzero(events.hits[:, alternative.samples], axis=1)
    return hits
