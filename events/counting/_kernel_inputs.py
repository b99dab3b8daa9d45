"""The arrays by which the kernel evaluates the events of several rules in one document."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from corefsample._arrays import Bools, Bytes, Ints, Ints32
from events.counting import _kernels
from events.matching._matching import ABSENT, DEFAULT, NO_ACTOR, MentionMatches

_MOST_SETS = 256  # of actors that an entity can be described as; more are as several of which none counts
_SEVERAL, _INNER = frozenset({-1}), frozenset({-2})  # several actors, or several inner ones, of which none counts


class Hits(NamedTuple):
    """Samples with what one rule looks for, as in `events.counting.DocumentEvents`.

    An event in a sample is 0 if it is not true, 1 if it is by actors that are named or absent, 2 if it is by some
    default actor, and 3 if it is in both ways.
    """

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
    joint = (one.apart is None) == (other.apart is None)
    return same_arrays and joint and one.actors == other.actors and one.inner == other.inner


def certain_hits(matches: MentionMatches, n_samples: int) -> Hits:
    """Hits of an event that is true without named actors in every clustering."""
    keys = matches.keys
    made: Bools = np.ones((len(matches.instances), len(keys)), np.bool_)
    for role in range(matches.instances.shape[1]):
        codes = np.array([key[role] for key in keys])
        default = matches.defaults[role] if matches.defaults else NO_ACTOR
        is_default = matches.instances[:, role] == DEFAULT
        made &= (codes == NO_ACTOR) | np.outer(is_default, codes == default)
    by_default = matches.by_default
    events: Bytes = np.zeros((len(keys), n_samples), np.uint8)
    events[(made & ~by_default).any(axis=0)] |= _kernels.NAMED
    events[(made & by_default).any(axis=0)] |= _kernels.BY_DEFAULT
    descriptions = np.zeros(len(matches.described_mentions), np.int64)
    return _chosen(matches, Hits(events, made * np.int64(n_samples), descriptions))


class KernelInputs:
    """The arrays of the rules of one document whose matches have the same descriptions."""

    def __init__(self, several: Sequence[MentionMatches]) -> None:
        self._several = several
        first = several[0]
        self._codes: dict[tuple[str, ...], int] = {}  # codes that roles can have, with the number of their group
        self._n_events = [math.prod(map(len, each.codes_of_roles)) for each in several]
        width = max(each.instances.shape[1] for each in several)
        rules = self._rules(width)
        sets = [_Sets(codes, first) for codes in self._codes or [()]]
        instances = np.full((int(rules.first_instances[-1]), width), ABSENT, np.int32)
        for q, each in enumerate(several):
            rows = slice(rules.first_instances[q], rules.first_instances[q + 1])
            instances[rows, : each.instances.shape[1]] = each.instances
        self._arrays = (
            first.described_mentions,
            np.stack([each.described_as for each in sets]),
            _stacked([each.joined() for each in sets]),
            _stacked([each.members() for each in sets]),
            instances,
            rules,
        )

    def _rules(self, width: int) -> _kernels.Rules:
        several = self._several
        groups, sizes, absent, defaults = (np.full((len(several), width), -1, np.int32) for _ in range(4))
        for q, matches in enumerate(several):
            for role, every in enumerate(matches.codes_of_roles):
                own = every[: every.index(NO_ACTOR)] if NO_ACTOR in every else every
                groups[q, role] = self._codes.setdefault(own, len(self._codes))
                sizes[q, role] = len(every)
                if NO_ACTOR in every:
                    absent[q, role] = len(own)
                if any(matches.defaults) and matches.defaults[role]:
                    defaults[q, role] = every.index(matches.defaults[role])
        return _kernels.Rules(
            np.cumsum([0, *(len(each.instances) for each in several)], dtype=np.int32),
            np.cumsum([0, *self._n_events], dtype=np.int32),
            np.array([each.instances.shape[1] for each in several], np.int32),
            groups,
            sizes,
            absent,
            defaults,
        )

    def evaluated(self, labels: Ints32) -> list[Hits]:
        """Hits of each rule; labels int32 (n_mentions, n_samples)."""
        labels = labels.view()
        labels.flags.writeable = False  # as those of samples are: the kernel is compiled once
        described, codes, *_, instances, rules = self._arrays
        hits = np.zeros((sum(self._n_events), labels.shape[1]), np.uint8)
        instance_hits = np.zeros((len(instances), max(self._n_events)), np.int64)
        description_hits = np.zeros((len(self._several), len(described)), np.int64)
        block = len(labels), min(labels.shape[1], _kernels.BLOCK)
        scratch = _kernels.Scratch(np.zeros((len(codes), *block), np.int32), np.zeros(block, np.uint8))
        _kernels.evaluate(labels, *self._arrays, scratch, hits, instance_hits, description_hits)
        bounds, events = rules.first_instances.tolist(), rules.first_events.tolist()
        return [
            _chosen(
                matches,
                Hits(
                    hits[events[q] : events[q + 1]],
                    instance_hits[bounds[q] : bounds[q + 1], : self._n_events[q]],
                    description_hits[q],
                ),
            )
            for q, matches in enumerate(self._several)
        ]


def _chosen(matches: MentionMatches, hits: Hits) -> Hits:
    """Hits as the rule wants them: of actors by default alone, and of nobody, if it leaves out those that are named."""
    if matches.only_default:
        has_actor = np.array([any(key) for key in matches.keys], np.bool_)
        hits.events[has_actor] &= _kernels.BY_DEFAULT
        hits.instances[:, has_actor] *= matches.by_default[:, has_actor]
    return hits


class _Sets:
    """What an entity can be described as, for roles that can have some codes: sets of codes, by number.

    An entity has the codes of all its descriptions if its mentions are kept apart where these are distinct; else only
    one code, and with several none. Inner actors replace the others.
    """

    def __init__(self, codes: tuple[str, ...], matches: MentionMatches) -> None:
        number = {code: c for c, code in enumerate(codes)}
        self._inner = {number[code] for code in matches.inner if code in number}
        self._joint = matches.apart is not None
        self._sets: dict[frozenset[int], int] = {each: a for a, each in enumerate((frozenset(), _SEVERAL, _INNER))}
        numbers = [number.get(code) for code in matches.actors]
        alone = [0 if c is None else self._sets.setdefault(frozenset({c}), len(self._sets)) for c in numbers]
        self.described_as = np.array(alone, np.int32)[matches.described_actors]
        self._close([frozenset({c}) for c in numbers if c is not None])

    def _close(self, single: list[frozenset[int]]) -> None:
        """Add the sets that descriptions can make."""
        waiting = list(single) if self._joint else []
        while waiting and len(self._sets) < _MOST_SETS:
            one = waiting.pop()
            for other in single:
                both = self._union(one, other)
                if both not in self._sets:
                    self._sets[both] = len(self._sets)
                    waiting.append(both)

    def _union(self, one: frozenset[int], other: frozenset[int]) -> frozenset[int]:
        inner = frozenset((one | other) & {*self._inner, *_INNER})
        both = inner or one | other
        return both if self._joint or len(both) < 2 else _INNER if inner else _SEVERAL

    def joined(self) -> Ints32:
        """int32 (a, a): the number of what both make."""
        unions = [[self._union(one, other) for other in self._sets] for one in self._sets]
        several = self._sets[_SEVERAL]
        return np.array([[self._sets.get(union, several) for union in row] for row in unions], np.int32)

    def members(self) -> Ints32:
        """int32 (a, c): the codes of each, -1 after the last."""
        widest = max(map(len, self._sets))
        table = np.full((len(self._sets), widest + 1), _kernels.NONE, np.int32)
        for codes, a in self._sets.items():
            if not codes & (_SEVERAL | _INNER):
                table[a, : len(codes)] = sorted(codes)
        return table


def _stacked(tables: Sequence[Ints32]) -> Ints32:
    """Tables of several sizes as one array, filled up with -1."""
    shape = np.max([table.shape for table in tables], axis=0)
    return np.stack([np.pad(table, [(0, n) for n in shape - table.shape], constant_values=-1) for table in tables])
