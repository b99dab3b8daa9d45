"""Rules in the sampled clusterings of one parse: whether each event is true, and why it is not."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from corefsample._arrays import Bools, Bytes, Ints, Ints32
from events.evidence import _event_kernels
from events.lexicon._file import COMPOSITE, INNER, OF, OUTER
from events.matching._matches import ABSENT, DEFAULT, NO_ACTOR, MentionMatches

_MOST_SETS = 256  # largest number of sets of actors; other sets are treated as several actors of which none counts
_COMMON = ("actors", "inner", "inner_counts_as")  # must be equal in rules that are evaluated together
_FEW = 6  # for at most so many actors, all sets are enumerated


class Hits(NamedTuple):
    """Samples in which the events of one rule are true, as in `DocumentEvents`.

    An entry of `events` is 0 if the event is not true in the sample, 1 if it is true with named actors or without an
    actor, 2 if it is true with a default actor, and 3 if it is true in both ways.
    """

    events: Bytes  # (n_keys, n_samples)
    instances: Ints  # (n_instances, n_keys)
    descriptions: Ints  # (n_descriptions,)

    @classmethod
    def certain(cls, matches: MentionMatches, reported: Bytes) -> Hits:
        """Hits of an event that is true without named actors in every clustering in which its trigger reports it."""
        keys = matches.keys
        fills_roles: Bools = np.ones((len(matches.instances), len(keys)), np.bool_)
        for role in range(matches.instances.shape[1]):
            codes = np.array([key[role] for key in keys])
            default = matches.defaults[role] if matches.defaults else NO_ACTOR
            is_default = matches.instances[:, role] == DEFAULT
            fills_roles &= (codes == NO_ACTOR) | np.outer(is_default, codes == default)
        by_default, is_reported = matches.by_default, reported != 0
        named, default = ((filled.T @ is_reported) for filled in (fills_roles & ~by_default, fills_roles & by_default))
        events = (_event_kernels.NAMED * named | _event_kernels.BY_DEFAULT * default).astype(np.uint8)
        descriptions = np.zeros(len(matches.described_mentions), np.int64)
        return cls(
            events, fills_roles * reported.sum(axis=1, keepdims=True, dtype=np.int64), descriptions
        ).only_counted(matches)

    def only_counted(self, matches: MentionMatches) -> Hits:
        """These hits; if the rule counts only default actors, hits of named actors are removed from the arrays."""
        if matches.only_default:
            has_actor = np.array([any(key) for key in matches.keys], np.bool_)
            self.events[has_actor] &= _event_kernels.BY_DEFAULT
            self.instances[:, has_actor] *= matches.by_default[:, has_actor]
        return self


@dataclass(frozen=True, slots=True, eq=False)
class KernelInputs:
    """The arrays of the rules of one document whose matches have the same descriptions.

    Attributes
    ----------
    matches
        Matches of each rule.
    n_events
        Number of possible events of each rule.
    described_as, joined, members, rules
        Arrays that the kernel `evaluate` takes: see the legend of `events.evidence._event_kernels`.
    instances
        int32 (n_instances of all rules, largest number of roles): mentions that fill the roles, -1 for none.
    """

    matches: tuple[MentionMatches, ...]
    n_events: tuple[int, ...]
    described_as: Ints32
    joined: Ints32
    members: Ints32
    instances: Ints32
    rules: _event_kernels.Rules

    @classmethod
    def of(cls, matches: Sequence[MentionMatches]) -> Self:
        """The arrays of the rules of a group that `groups` returned."""
        first, width = matches[0], max(each.instances.shape[1] for each in matches)
        n_events = tuple(math.prod(map(len, each.codes_of_roles)) for each in matches)
        numbers: dict[tuple[str, ...], int] = {}  # codes that roles can have, with the number of their group
        groups, sizes, absent, defaults = (np.full((len(matches), width), -1, np.int32) for _ in range(4))
        for q, rule in enumerate(matches):
            for role, codes in enumerate(rule.codes_of_roles):
                actor_codes = codes[: codes.index(NO_ACTOR)] if NO_ACTOR in codes else codes
                groups[q, role] = numbers.setdefault(actor_codes, len(numbers))
                sizes[q, role] = len(codes)
                if NO_ACTOR in codes:
                    absent[q, role] = len(actor_codes)
                if any(rule.defaults) and rule.defaults[role]:
                    defaults[q, role] = codes.index(rule.defaults[role])
        bounds = np.cumsum([0, *(len(each.instances) for each in matches)], dtype=np.int32)
        n_roles = np.array([each.instances.shape[1] for each in matches], np.int32)
        events = np.cumsum([0, *n_events], dtype=np.int32)
        instances = np.full((int(bounds[-1]), width), ABSENT, np.int32)
        for rule, start, end in zip(matches, bounds[:-1], bounds[1:], strict=True):
            instances[start:end, : rule.instances.shape[1]] = rule.instances
        sets = [_Sets(codes, first) for codes in numbers or [()]]
        return cls(
            tuple(matches),
            n_events,
            np.stack([each.described_as for each in sets]),
            _stacked([each.joined() for each in sets]),
            _stacked([each.members() for each in sets]),
            instances,
            _event_kernels.Rules(bounds, events, n_roles, groups, sizes, absent, defaults),
        )

    @staticmethod
    def groups(matches: Sequence[MentionMatches], rules: Iterable[int]) -> list[list[int]]:
        """Indices of `rules` in `matches`, in groups of rules with the same descriptions."""
        groups: list[list[int]] = []
        for rule in rules:
            group = next((each for each in groups if _shares_descriptions(matches[each[0]], matches[rule])), None)
            if group is None:
                groups.append([rule])
            else:
                group.append(rule)
        return groups

    def evaluated(self, labels: Ints32, reported: Sequence[Bytes] | None = None) -> list[Hits]:
        """Hits of each rule in clusterings.

        Parameters
        ----------
        labels
            The result of `MentionMatches.with_virtual_mentions`.
        reported
            For each rule, whether the triggers of its instances report an event: uint8 (n_instances, n_samples). By
            default all do.
        """
        if reported is None:
            reported = [np.ones((len(each.instances), labels.shape[1]), np.uint8) for each in self.matches]
        labels = labels.view()
        labels.flags.writeable = False  # as those of samples are: the kernel is compiled once
        described = self.matches[0].rows_of_descriptions(len(labels))
        hits = np.zeros((sum(self.n_events), labels.shape[1]), np.uint8)
        instance_hits = np.zeros((len(self.instances), max(self.n_events)), np.int64)
        description_hits = np.zeros((len(self.matches), len(described)), np.int64)
        block = len(labels), min(labels.shape[1], _event_kernels.BLOCK)
        scratch = _event_kernels.Scratch(
            np.zeros((len(self.described_as), *block), np.int32), np.zeros(block, np.uint8)
        )
        arrays = self.described_as, self.joined, self.members, self.instances, np.concatenate(reported), self.rules
        _event_kernels.evaluate(labels, described, *arrays, scratch, hits, instance_hits, description_hits)
        event_hits = np.split(hits, self.rules.first_events[1:-1])
        instance_hits_by_rule = np.split(instance_hits, self.rules.first_instances[1:-1])
        each_rule = zip(self.matches, event_hits, instance_hits_by_rule, self.n_events, description_hits, strict=True)
        return [
            Hits(events, instances[:, :n_events], descriptions).only_counted(matches)
            for matches, events, instances, n_events, descriptions in each_rule
        ]


def _shares_descriptions(first: MentionMatches, second: MentionMatches) -> bool:
    # Rules that describe mentions by the same paths have the same arrays, so their contents are not compared.
    if any(getattr(first, name) is not getattr(second, name) for name in ("described_mentions", "described_actors")):
        return False
    joint = (first.apart is None) == (second.apart is None)
    return joint and all(getattr(first, name) == getattr(second, name) for name in _COMMON)


class _Sets:
    """Numbered sets of codes as which an entity can be described, for roles that can have certain codes.

    If mentions of distinct actors are kept apart, an entity has the codes of all its descriptions. Otherwise it has at
    most one code that is not inner and one that is inner; several codes of either kind count as no code. If inner
    actors count only as inner, they replace the other codes. A set is an integer with a bit for each of `actors`, one
    bit for several actors that are not inner and one for several inner actors.
    """

    def __init__(self, codes: tuple[str, ...], matches: MentionMatches) -> None:
        self._number = {code: c for c, code in enumerate(codes)}
        self._actors, self._counts_as = matches.actors, matches.inner_counts_as
        self._several, self._several_inner = 1 << len(self._actors), 2 << len(self._actors)
        bits = {code: 1 << a for a, code in enumerate(self._actors)}
        self._inner = self._several_inner + sum(bits[code] for code in bits.keys() & matches.inner)
        self._joint = matches.apart is not None
        self._sets = {each: a for a, each in enumerate((0, self._several, self._several_inner))}
        singles = {*codes, *(single for code in codes if code not in bits for single in code.split(OF))}
        alone = [self._sets.setdefault(bit, len(self._sets)) if code in singles else 0 for code, bit in bits.items()]
        self.described_as = np.array(alone, np.int32)[matches.described_actors]
        single = [bit for code, bit in bits.items() if code in singles]
        is_simple = self._counts_as == {INNER} or not self._joint or len(single) <= _FEW
        self._close(single, None if is_simple else dict(zip(bits.values(), _meeting(matches), strict=True)))

    def _close(self, single: list[int], meeting: Mapping[int, int] | None) -> None:
        """Add the sets that descriptions can form; if actors can be composite, sets of few actors are added first."""
        waiting, next_index = list(single), -1 if self._counts_as == {INNER} else 0
        while waiting and len(self._sets) < _MOST_SETS:
            base_set = waiting.pop(next_index)
            for single_bit in single:
                union = self._union(base_set, single_bit)
                if union not in self._sets and (meeting is None or base_set & ~meeting[single_bit] == 0):
                    self._sets[union] = len(self._sets)
                    waiting.append(union)

    def _union(self, first: int, second: int) -> int:
        union = first | second
        inner = union & self._inner
        outer = union ^ inner
        if not self._joint:
            inner = self._several_inner if inner & (inner - 1) else inner
            outer = self._several if outer & (outer - 1) else outer
        return inner or outer if self._counts_as == {INNER} else inner | outer

    def joined(self) -> Ints32:
        """int32 (a, a): number of the set that two sets form together."""
        uncounted = self._sets[self._several]
        unions = [[self._sets.get(self._union(s, t), uncounted) for t in self._sets] for s in self._sets]
        return np.array(unions, np.int32)

    def members(self) -> Ints32:
        """int32 (a, c): codes as which an entity with each set counts, -1 after the last."""
        number = self._number
        counted = [sorted(number[code] for code in self._counted(each) if code in number) for each in self._sets]
        # At least two columns: a role that nobody fills has two codes if a default actor has the event too.
        table = np.full((len(counted), max(1, *map(len, counted)) + 1), _event_kernels.NONE, np.int32)
        for a, numbers in enumerate(counted):
            table[a, : len(numbers)] = numbers
        return table

    def _counted(self, members: int) -> list[str]:
        """Codes as which an entity counts if it is described as this set of actors."""
        outer, inner = (
            [code for a, code in enumerate(self._actors) if of_kind >> a & 1]
            for of_kind in (members & ~self._inner, members & self._inner)
        )
        counted = []
        if COMPOSITE in self._counts_as:
            counted += [f"{outer_code}{OF}{inner_code}" for outer_code in outer for inner_code in inner]
        if INNER in self._counts_as or not outer:
            counted += inner
        if OUTER in self._counts_as or not members & self._inner:
            counted += outer
        return counted


def _meeting(matches: MentionMatches) -> list[int]:
    """Bits of the actors as which an entity may be described in addition to each actor: a necessary condition."""
    mentions, mention_rows = np.unique(matches.described_mentions, return_inverse=True)
    described = np.zeros((len(mentions), len(matches.actors)), np.int64)
    described[mention_rows, matches.described_actors] = 1
    together = np.ones((len(mentions), len(mentions)), np.int64)
    assert matches.apart is not None  # the sets of others are few
    apart_pairs = np.searchsorted(mentions, matches.apart[np.isin(matches.apart, mentions).all(1)])
    together[apart_pairs[:, 0], apart_pairs[:, 1]] = together[apart_pairs[:, 1], apart_pairs[:, 0]] = 0
    meeting = (described.T @ together @ described).tolist()
    return [sum(1 << other for other, n in enumerate(row) if n) for row in meeting]


def _stacked(tables: Sequence[Ints32]) -> Ints32:
    """Tables of several sizes as one array, filled up with -1."""
    stacked = np.full((len(tables), *np.max([table.shape for table in tables], axis=0)), -1, np.int32)
    for number, table in enumerate(tables):
        stacked[number, : table.shape[0], : table.shape[1]] = table
    return stacked
