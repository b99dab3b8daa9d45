"""Evidence of documents with alternative parses: what makes their events in any parse, and what each parse contributes.

A mention is identified by its span here: mentions of several parses with the same words are one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from corefsample._arrays import Ints32
from corefsample.documents import Tokens
from events.counting._evaluation import DocumentEvents, ParseEvents
from events.counting._evidence import (
    MOST_MENTIONS,
    SEPARATOR,
    EvidenceRow,
    EvidenceTexts,
    ParseEvidence,
    excluded_triggers,
)
from events.counting._keys import EventKey
from events.counting._mixtures import hits_in, variance_parts

K = TypeVar("K")
_LEAVES = frozenset(["punct", "case", "det", "cc", "mark"])  # labels of little interest beside a trigger

Span = tuple[int, int, int]  # start, end, head
_Instance = tuple[int, list[int], float]
_Description = tuple[int, str, list[int], float]


class ParsedMentions(NamedTuple):
    """One parse of a document: its tokens, and the spans int32 (n_mentions, 3) of its mentions."""

    tokens: Tokens
    spans: Ints32


def mixture_evidence_rows(events: DocumentEvents, period: str, parses: Sequence[ParsedMentions]) -> list[EvidenceRow]:
    """Rows of one document with alternative parses, one for each event with P > 0.

    Parameters
    ----------
    events
        From `evaluate_mixture`.
    period
        Label of the document's period.
    parses
        All parses of the document, in order.
    """
    sources = _Sources(events, parses)
    tokens = parses[0].tokens
    excluded = _excluded(events, parses)
    parts, errors = variance_parts(events), events.mc_errors
    name = "event" if events.matches is None else events.matches.event
    rows = []
    for e in np.flatnonzero(events.n_hits).tolist():
        instances, descriptions = sources.of(e)
        by_trigger = sources.alternatives(e, sorted({trigger for trigger, _, _ in instances}))
        texts = EvidenceTexts(tokens, sources.spans).of(instances, descriptions)
        about_parse = ParseEvidence(
            n_parses=len(parses),
            parse_variance=float(parts.parse[e]),
            coreference_variance=float(parts.coreference[e]),
            parses=sources.parses(e),
            alternatives=SEPARATOR.join(
                f"{tokens.text[trigger]} [{trigger}] {words or 'alone'}: {share:.3f}, P {probability:.3f}"
                for trigger, words, share, probability in by_trigger
            ),
        )
        places = {
            "instances": [[t, [sources.in_first(m) for m in several], p] for t, several, p in instances],
            "descriptions": [
                [place, code, words, p]
                for mention, code, words, p in descriptions
                if (place := sources.in_first(mention)) >= 0
            ],
            "alternatives": by_trigger,
        }
        rows.append(
            EvidenceRow(
                *(events.doc_id, events.date, period, name, events.keys[e]),
                *(float(events.probabilities[e]), float(errors[e]), bool(events.one_best[e])),
                *texts,
                json.dumps(places),
                excluded,
                about_parse,
            )
        )
    return rows


def _excluded(events: DocumentEvents, parses: Sequence[ParsedMentions]) -> str:
    """Triggers that a condition excluded in any parse."""
    texts = [excluded_triggers(each.events, parses[each.parse].tokens) for each in events.alternatives]
    return SEPARATOR.join(dict.fromkeys(part for text in texts if text for part in text.split(SEPARATOR)))


class _Sources:
    """What makes the events of a document true, over all parses."""

    def __init__(self, events: DocumentEvents, parses: Sequence[ParsedMentions]) -> None:
        self._events, self._parses = events, parses
        self._number: dict[tuple[int, int], int] = {}  # of the mentions listed, by start and end
        self._found: list[Span] = []
        self._first = {(start, end): m for m, (start, end, _) in reversed([*enumerate(parses[0].spans.tolist())])}
        self._descriptions = self._described()

    @property
    def spans(self) -> Ints32:
        """int32 (n, 3): spans of the mentions that instances and descriptions name."""
        return np.array(self._found, np.int32).reshape(-1, 3)

    def in_first(self, mention: int) -> int:
        """Mention of the first parse with the span of a mention, -1 if there is none."""
        return self._first.get(self._found[mention][:2], -1) if mention >= 0 else -1

    def _mention(self, parse: int, mention: int) -> int:
        if mention < 0:
            return -1
        start, end, head = self._parses[parse].spans[mention].tolist()
        number = self._number.setdefault((start, end), len(self._number))
        if number == len(self._found):
            self._found.append((start, end, head))
        return number

    def _drawn(self) -> list[ParseEvents]:
        return [each for each in self._events.alternatives if each.samples.size]

    def _described(self) -> dict[tuple[int, str, int, int], int]:
        """Samples in which each description (mention, code, first token of its name, end) belongs to an event."""
        hits: dict[tuple[int, str, int, int], int] = {}
        for each in self._drawn():
            matches, counts = each.events.matches, each.events.description_hits
            if matches is None or counts is None:
                continue
            for d in np.flatnonzero(counts).tolist():
                words = (-1, -1) if matches.described_words is None else matches.described_words[d].tolist()
                mention = self._mention(each.parse, int(matches.described_mentions[d]))
                code = matches.countries[int(matches.described_countries[d])]
                key = (mention, code, int(words[0]), int(words[1]))
                hits[key] = hits.get(key, 0) + int(counts[d])
        return hits

    def of(self, event: int) -> tuple[list[_Instance], list[_Description]]:
        """Instances and descriptions that make an event true, the likeliest first."""
        key, n_samples = self._events.keys[event], self._events.n_samples
        made: dict[tuple[int, tuple[int, ...]], int] = {}
        for each in self._drawn():
            place = _place(each, key)
            matches, counts = each.events.matches, each.events.instance_hits
            if place is None or matches is None or counts is None:
                continue
            for t in np.flatnonzero(counts[:, place]).tolist():
                mentions = tuple(self._mention(each.parse, m) for m in matches.instances[t].tolist())
                source = int(matches.triggers[t]), mentions
                made[source] = made.get(source, 0) + int(counts[t, place])
        instances = [(trigger, [*mentions], n / n_samples) for (trigger, mentions), n in _likeliest(made)]
        of_event = {source: n for source, n in self._descriptions.items() if source[1] in key}
        descriptions = [
            (mention, code, [] if start < 0 else [start, end], n / n_samples)
            for (mention, code, start, end), n in _likeliest(of_event)
        ]
        return instances, descriptions

    def parses(self, event: int) -> str:
        """The likeliest parses that make an event: their share of it first."""
        made = []
        for each in self._drawn():
            n_hits = int(hits_in(self._events, each)[event])
            if n_hits:
                share = each.samples.size / self._events.n_samples
                made.append((-n_hits, each.parse, f"{each.parse}: {n_hits / each.samples.size:.3f} of {share:.3f}"))
        return SEPARATOR.join(text for _, _, text in sorted(made)[:MOST_MENTIONS])

    def alternatives(self, event: int, triggers: Sequence[int]) -> list[tuple[int, str, float, float]]:
        """What the parses have at triggers: token, words, share of the samples, and P(event) given these words."""
        counts, n_samples = self._events.parse_counts, self._events.n_samples
        assert counts is not None  # of a document with alternative parses
        n_hits = {each.parse: int(hits_in(self._events, each)[event]) for each in self._drawn()}
        listed = []
        for trigger in triggers:
            groups: dict[str, list[int]] = {}
            for k in np.flatnonzero(counts).tolist():
                groups.setdefault(_arcs(self._parses[k].tokens, trigger), []).append(k)
            sizes = {words: sum(int(counts[k]) for k in members) for words, members in groups.items()}
            for words, size in _likeliest(sizes):
                hits = sum(n_hits.get(k, 0) for k in groups[words])
                listed.append((trigger, words, size / n_samples, hits / size))
        return listed


def _place(alternative: ParseEvents, key: EventKey) -> int | None:
    """Number of an event among those of one parse."""
    keys = alternative.events.keys
    return keys.index(key) if key in keys else None


def _likeliest(counts: Mapping[K, int]) -> list[tuple[K, int]]:
    """The largest counts (at most eight), the first of equal ones first."""
    return sorted(counts.items(), key=lambda item: -item[1])[:MOST_MENTIONS]


def _arcs(tokens: Tokens, trigger: int) -> str:
    """The words that depend on a trigger with their labels, in the order of the text."""
    below = np.flatnonzero(tokens.head == trigger).tolist()
    return ", ".join(f"{tokens.dep[t]} {tokens.text[t]}" for t in below if tokens.dep[t] not in _LEAVES)
