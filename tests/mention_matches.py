"""Matches of a rule as sets: made from what mentions are described as, and turned back into that."""

import datetime
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from corefsample import AntecedentDistribution
from corefsample.posterior._posterior import DocumentPosterior
from events.evidence._document_events import DocumentEvents
from events.evidence._evaluation import evaluate_document, united
from events.matching._matches import MentionMatches


def matches_of(
    described: Sequence[Collection[str]], instances: Sequence[tuple[int, ...]], **others: Any
) -> MentionMatches:
    """Matches of mentions that are described as some actors, with these instances; `others` are fields as they are."""
    actors = others.pop("actors", tuple(sorted({code for codes in described for code in codes})))
    pairs = [(m, actors.index(code)) for m, codes in enumerate(described) for code in sorted(codes)]
    return MentionMatches(
        actors=actors,
        described_mentions=np.array([m for m, _ in pairs], np.int32),
        described_actors=np.array([c for _, c in pairs], np.int32),
        instances=np.array(instances, np.int32).reshape(len(instances), -1),
        triggers=np.zeros(len(instances), np.int32),
        **others,
    )


def described_as(matches: MentionMatches, n_mentions: int) -> list[set[str]]:
    """The actors that each mention is described as."""
    sets: list[set[str]] = [set() for _ in range(n_mentions)]
    for mention, actor in zip(matches.described_mentions, matches.described_actors, strict=True):
        sets[mention].add(matches.actors[actor])
    return sets


def instances_of(matches: MentionMatches) -> list[tuple[int, ...]]:
    """The mentions that fill the roles at each trigger."""
    return [tuple(row) for row in matches.instances.tolist()]


def evaluate_matches(
    antecedents: AntecedentDistribution, matches: MentionMatches, doc_id: str, date: datetime.date, **sampling: int
) -> DocumentEvents:
    """Events of a document with one parse."""
    return evaluate_document(DocumentPosterior(doc_id, antecedents), [matches], date, **sampling)[0]


def evaluate_parses(
    antecedents: AntecedentDistribution,
    matches: Sequence[MentionMatches | None],
    counts: Sequence[int],
    date: datetime.date,
    **sampling: int,
) -> DocumentEvents:
    """Events of one rule in document d, which has the same mentions in several parses; None where none is possible."""
    ends = np.cumsum(counts) / sum(counts)
    of_parses = []
    for parse, each in enumerate(matches):
        if each is not None:
            share = float(ends[parse - 1]) if parse else 0.0, float(ends[parse])
            posterior = DocumentPosterior("d", antecedents, parse=parse, share=share)
            of_parses.append(evaluate_document(posterior, [each], date, parse=parse, **sampling))
    (events,) = united(of_parses)
    return events
