"""The arrays by which the kernel evaluates the events of several rules in one document."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from corefsample._arrays import Bytes, Ints, Ints32
from events.counting import _kernels
from events.matching._matching import ABSENT, NO_ACTOR, MentionMatches


class Hits(NamedTuple):
    """Samples with what one rule looks for, as in `events.counting.DocumentEvents`."""

    events: Bytes  # (n_keys, n_samples)
    instances: Ints  # (n_instances, n_keys)
    descriptions: Ints  # (n_descriptions,)


def with_common_descriptions(several: Sequence[MentionMatches], chosen: Iterable[int]) -> list[list[int]]:
    """Numbers of the chosen matches of several rules, those together that `KernelInputs` can take together."""
    groups: list[list[int]] = []
    for rule in chosen:
        group = next((each for each in groups if _shares_descriptions(several[each[0]], several[rule])), None)
        if group is None:
            groups.append([rule])
        else:
            group.append(rule)
    return groups


def _shares_descriptions(one: MentionMatches, other: MentionMatches) -> bool:
    # Rules that describe mentions by the same paths have the same arrays, so their contents are not compared.
    same_arrays = one.described_mentions is other.described_mentions and one.described_actors is other.described_actors
    return same_arrays and one.actors == other.actors and one.inner == other.inner


class KernelInputs:
    """The arrays of the rules of one document whose matches have the same descriptions."""

    def __init__(self, several: Sequence[MentionMatches]) -> None:
        self._several = several
        first = several[0]
        self._codes: dict[tuple[str, ...], int] = {}  # codes that roles can have, with the number of their group
        self._n_events = [math.prod(map(len, each.codes_of_roles)) for each in several]
        width = max(each.instances.shape[1] for each in several)
        rules = self._rules(width)
        described_codes = np.full((len(self._codes), len(first.described_mentions)), _kernels.NONE, np.int32)
        for codes, g in self._codes.items():
            number = {code: c for c, code in enumerate(codes)}
            numbers = np.array([number.get(code, _kernels.NONE) for code in first.actors], np.int32)
            described_codes[g] = numbers[first.described_actors]
        inner = np.array([code in first.inner for code in first.actors], np.bool_)
        instances = np.full((int(rules.first_instances[-1]), width), ABSENT, np.int32)
        for q, each in enumerate(several):
            rows = slice(rules.first_instances[q], rules.first_instances[q + 1])
            instances[rows, : each.instances.shape[1]] = each.instances
        self._arrays = (
            first.described_mentions,
            described_codes,
            inner[first.described_actors],
            instances,
            rules,
        )

    def _rules(self, width: int) -> _kernels.Rules:
        several = self._several
        groups, sizes, absent = (np.full((len(several), width), -1, np.int32) for _ in range(3))
        for q, matches in enumerate(several):
            for role, every in enumerate(matches.codes_of_roles):
                own = tuple(code for code in every if code != NO_ACTOR)
                groups[q, role] = self._codes.setdefault(own, len(self._codes))
                sizes[q, role] = len(every)
                if NO_ACTOR in every:
                    absent[q, role] = len(own)
        return _kernels.Rules(
            np.cumsum([0, *(len(each.instances) for each in several)], dtype=np.int32),
            np.cumsum([0, *self._n_events], dtype=np.int32),
            np.array([each.instances.shape[1] for each in several], np.int32),
            groups,
            sizes,
            absent,
        )

    def evaluated(self, labels: Ints32) -> list[Hits]:
        """Hits of each rule; labels int32 (n_mentions, n_samples)."""
        labels = labels.view()
        labels.flags.writeable = False  # as those of samples are: the kernel is compiled once
        described, codes, _, instances, rules = self._arrays
        hits = np.zeros((sum(self._n_events), labels.shape[1]), np.uint8)
        instance_hits = np.zeros((len(instances), max(self._n_events)), np.int64)
        description_hits = np.zeros((len(self._several), len(described)), np.int64)
        block = len(labels), min(labels.shape[1], _kernels.BLOCK)
        scratch = _kernels.Scratch(np.zeros((len(codes), *block), np.int32), np.zeros(block, np.uint8))
        _kernels.evaluate(labels, *self._arrays, scratch, hits, instance_hits, description_hits)
        bounds, events = rules.first_instances.tolist(), rules.first_events.tolist()
        return [
            Hits(
                hits[events[q] : events[q + 1]],
                instance_hits[bounds[q] : bounds[q + 1], : self._n_events[q]],
                description_hits[q],
            )
            for q in range(len(self._several))
        ]
