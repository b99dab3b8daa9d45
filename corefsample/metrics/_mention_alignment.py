"""Alignment of a system's mentions with gold mentions, as the reference scorer reads them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from corefsample._arrays import Ints


def reading_order(spans: Any, entities: Sequence[Any]) -> Ints:
    """Mentions entity by entity, in the order in which the reference scorer reads them: int64 (n_mentions,).

    Entities are sorted by their first bracket; among brackets at one word, mentions of one word come first. The order
    determines which of two mentions with the same span is removed.
    """
    starts, ends = spans[:, 0], spans[:, 1]
    reading = np.lexsort((np.arange(len(spans)), ends - starts > 1, starts))
    ranks: dict[Any, int] = {}
    for i in reading.tolist():
        ranks.setdefault(entities[i], len(ranks))
    by_entity = np.array([ranks[entity] for entity in entities], np.int64)
    return np.lexsort((np.argsort(reading), by_entity)).astype(np.int64)


def n_repeated_spans(gold_spans: Any, response_spans: Any) -> int:
    """Number of a system's mentions that repeat a span, beyond the gold mentions with this span."""
    allowed = Counter(map(tuple, gold_spans.tolist()))
    counts = Counter(map(tuple, response_spans.tolist()))
    return sum(max(number - max(allowed[span], 1), 0) for span, number in counts.items())


def spans_paired_by_head(gold: Any, response: Any) -> tuple[Ints, Ints]:
    """Make spans of gold mentions and of a system's mentions that are equal if the mentions match by their heads.

    Equal spans match first. Other mentions match one to one if they have the same head; of several candidates, those
    with the most words in common match.

    Parameters
    ----------
    gold, response
        Start, end and head of each gold mention, and of each mention of the system: int (n, 3).
    """
    free = dict(enumerate(map(tuple, gold.tolist())))
    response_mentions = response.tolist()
    same_span: dict[tuple[int, int], list[int]] = {}
    for g, (start, end, _) in free.items():
        same_span.setdefault((start, end), []).append(g)
    partner: dict[int, int] = {}
    first_with_span: dict[tuple[int, int], int] = {}
    repeated: dict[int, int] = {}  # first mention with the span of a repeated mention
    for r, (start, end, _) in enumerate(response_mentions):
        if same_span.get((start, end)):
            partner[r] = same_span[start, end].pop(0)
            del free[partner[r]]
        elif first_with_span.setdefault((start, end), r) != r:
            repeated[r] = first_with_span[start, end]
        first_with_span.setdefault((start, end), r)
    by_head: dict[int, list[int]] = {}
    for g, (_, _, head) in free.items():
        by_head.setdefault(head, []).append(g)
    candidates = [
        (max(start, free[g][0]) - min(end, free[g][1]), g, r)  # minus the number of words in common
        for r, (start, end, head) in enumerate(response_mentions)
        if r not in partner and r not in repeated
        for g in by_head.get(head, [])
    ]
    for _, g, r in sorted(candidates):
        if g in free and r not in partner:
            partner[r] = g
            del free[g]
    first_mentions = [repeated.get(r, r) for r in range(len(response_mentions))]
    numbers = np.array([partner.get(mention, len(gold) + mention) for mention in first_mentions], np.int64)
    gold_numbers = np.arange(len(gold))
    return np.stack([gold_numbers, gold_numbers + 1], axis=1), np.stack([numbers, numbers + 1], axis=1)
