"""Compiled evaluation of events in sampled clusterings.

Legend of dimensions and names
    s : sample              d : description (a mention described as an actor)
    t : instance (mentions that fill the roles at one trigger; m: one of them, -1 where a role is absent, -2 where its
        default actor has the event too)
    r : label (first mention of an entity)
    g : group of roles that can have the same codes                 c : code, as a number within its group
    a : what an entity is described as, so far: 0 for nothing, a number for each set of codes that it can be, and the
        some without members for several of which none counts
    e : event of a rule, c for one role, c * n + c' for two, 0 for none; n is the number of codes of the second role
    q : rule; those that are evaluated together have the same descriptions
    described_as : (g, d)     what description d says alone, 0 if the group cannot have its code
    joined       : (g, a, a)  what an entity is described as by both
    members      : (g, a, c)  codes of a, -1 after the last
"""

from typing import NamedTuple

import numpy as np

from corefsample._arrays import Bools, Bytes, Ints, Ints32, Words
from corefsample._jit import inner_kernel, kernel_in_place

NONE, DEFAULT = -1, -2
# Bits of a hit: by actors that are named or absent; by some default actor; by a class noun that stands for an actor.
NAMED, BY_DEFAULT, STANDS_FOR = 1, 2, 4
ZERO, ONE = np.uint64(0), np.uint64(1)

# Samples of a block: its codes (labels * 64 * 4 bytes for each group) stay in the processor's cache.
BLOCK = 64


class Rules(NamedTuple):
    """The rules that `evaluate` evaluates."""

    first_instances: Ints32  # (q + 1,): bounds of the instances of each rule
    first_events: Ints32  # (q + 1,): bounds of its events among the rows of hits
    n_roles: Ints32  # (q,)
    groups: Ints32  # (q, roles): group of each role
    sizes: Ints32  # (q, roles): number of its codes, absence included
    absent: Ints32  # (q, roles): the code that stands for no actor, -1 if the role requires one
    defaults: Ints32  # (q, roles): the code of its default actor, -1 for none


class Scratch(NamedTuple):
    """Arrays of zeros that `evaluate` uses as scratch space and resets to zeros."""

    described: Ints32  # (g, labels, block): what a label is described as in each sample
    makes_event: Bytes  # (labels, block): whether its entity is one of an event


@inner_kernel
def described_as_in(m: int, group: int, described: Ints32, labels: Ints32, sample: int, s: int) -> int:
    """What the entity of a mention that fills a role is described as; 0 if none fills it."""
    return int(0 if m < 0 else described[group, labels[m, sample], s])


@inner_kernel
def code_of(members: Ints32, group: int, absent: int, default: int, m: int, a: int, i: int) -> int:
    """The i-th code that a role has, or -1: those of its entity, or the code of no actor if it has none.

    Where the default actor has the event too, its code is the last.
    """
    if members[group, a, 0] == NONE:
        if i == 0 and absent != NONE:
            return int(absent)
        return int(default if m == DEFAULT and i == (absent != NONE) else NONE)
    return int(members[group, a, i])


@inner_kernel
def add_events(
    instance: Ints32,
    rules: Rules,
    q: int,
    described: Ints32,
    members: Ints32,
    labels: Ints32,
    sample: int,
    s: int,
    hits: Bytes,
    instance_hits: Ints,
) -> bool:
    """Add the events of one instance in one sample, one for each choice of a code for each role."""
    first_events, n_roles, groups, sizes = rules[1], rules.n_roles[q], rules[3], rules[4]
    if n_roles == 0:
        hits[first_events[q], sample] = 1
        instance_hits[0] += 1
        return True
    is_event = False
    # Values and not the literals 0 and 1, for each of which a function would be compiled.
    first = described_as_in(instance[0], groups[q, 0], described, labels, sample, s)
    second = described_as_in(instance[1], groups[q, 1], described, labels, sample, s) if n_roles > 1 else 0
    for i in range(members.shape[2]):
        e = code_of(members, groups[q, 0], rules.absent[q, 0], rules.defaults[q, 0], instance[0], first, i)
        if e == NONE:
            break
        how = BY_DEFAULT if instance[0] == DEFAULT and e == rules.defaults[q, 0] else NAMED
        if n_roles == 1:
            hits[first_events[q] + e, sample] |= how
            instance_hits[e] += 1
            is_event = True
            continue
        for j in range(members.shape[2]):
            c = code_of(members, groups[q, 1], rules.absent[q, 1], rules.defaults[q, 1], instance[1], second, j)
            if c == NONE:
                break
            if instance[1] == DEFAULT and c == rules.defaults[q, 1]:
                hits[first_events[q] + e * sizes[q, 1] + c, sample] |= BY_DEFAULT
            else:
                hits[first_events[q] + e * sizes[q, 1] + c, sample] |= how
            instance_hits[e * sizes[q, 1] + c] += 1
            is_event = True
    return is_event


@kernel_in_place
def evaluate(
    labels: Ints32,
    described_mentions: Ints32,
    described_as: Ints32,
    joined: Ints32,
    members: Ints32,
    instances: Ints32,
    reported: Bytes,
    rules: Rules,
    scratch: Scratch,
    hits: Bytes,
    instance_hits: Ints,
    description_hits: Ints,
) -> None:
    """Set bits in the row of hits of an event if it is true in sample s; labels is (mentions, samples), all hits 0.

    reported[t, s] is 0 where the trigger of instance t reports no event in sample s.
    instance_hits[t, e] counts the samples in which instance t makes event e of its rule true; description_hits[q, d]
    those in which description d belongs to an entity of an event of rule q.

    Samples are the inner loops, in blocks, because which labels meet in a sample is unpredictable: there the
    descriptions change codes without a branch.
    """
    n_samples = labels.shape[1]
    n_groups, n_described = described_as.shape
    first_instances, roles_of = rules.first_instances, rules.n_roles
    described, makes_event = scratch
    for start in range(0, n_samples, BLOCK):
        size = min(BLOCK, n_samples - start)
        for d in range(n_described):
            row = labels[described_mentions[d], start : start + size]
            for g in range(n_groups):
                if described_as[g, d] != 0:
                    after = joined[g, described_as[g, d]]
                    for s in range(size):
                        label = np.uint32(row[s])
                        described[g, label, s] = after[described[g, label, s]]
        for q in range(roles_of.shape[0]):
            is_any = False
            for t in range(first_instances[q], first_instances[q + 1]):
                for s in range(size):
                    if reported[t, start + s] == 0 or not add_events(
                        instances[t], rules, q, described, members, labels, start + s, s, hits, instance_hits[t]
                    ):
                        continue
                    for role in range(roles_of[q]):
                        m = instances[t, role]
                        if m >= 0:
                            makes_event[labels[m, start + s], s] = 1
                            is_any = True
            if is_any:
                for d in range(n_described):
                    row = labels[described_mentions[d], start : start + size]
                    for s in range(size):
                        description_hits[q, d] += makes_event[np.uint32(row[s]), s]
                for t in range(first_instances[q], first_instances[q + 1]):
                    for role in range(roles_of[q]):
                        m = instances[t, role]
                        if m >= 0:
                            for s in range(size):
                                makes_event[labels[m, start + s], s] = 0
        for d in range(n_described):
            row = labels[described_mentions[d], start : start + size]
            for g in range(n_groups):
                for s in range(size):
                    described[g, np.uint32(row[s]), s] = 0


@inner_kernel
def closeness(
    codes: np.uint64, needed: np.uint64, preferred: np.uint64, opposing: np.uint64, needs_actor: bool, joint: bool
) -> int:
    """How close an entity is to what a role needs: 3 has it, 2 with other codes too, 1 no code, 0 other codes.

    The role needs all codes in `needed`. If the entity has codes in `preferred`, only these count; one of several
    counts only if `joint`. With a code in `opposing` (of several codes only if `joint`) it is another actor.
    """
    counted = codes & preferred
    if counted == ZERO:
        counted = codes
    counts = counted != ZERO and (joint or counted == needed or counted & (counted - ONE) == ZERO)
    opposing_codes = codes & opposing
    is_opposed = opposing_codes != ZERO and (joint or opposing_codes & (opposing_codes - ONE) == ZERO)
    if not needs_actor:
        return 0 if counts or is_opposed else 3
    if codes & needed != needed:
        return 1 if codes == ZERO else 0
    if is_opposed:
        return 0
    return 3 if counts and counted & needed == needed else 2


@kernel_in_place
def reasons(
    labels: Ints32,
    hits: Bytes,
    described_mentions: Ints32,
    bits: Words,
    needed: Words,
    preferred: Words,
    opposing: Words,
    needs_actor: Bools,
    joint: bool,
    instances: Ints32,
    codes: Words,
    state: Ints32,
    counts: Ints,
    other_hits: Ints,
) -> None:
    """Count in counts (4,) the samples without an event by `closeness`; in other_hits (d,) those with another code.

    bits (roles, d) has the code of a description as one bit, none if the role cannot have it; needed, preferred
    and opposing (roles,) are as in `closeness`. The role that is farthest from the event decides about an instance,
    and the instance that is closest about a sample. codes (n_samples,) and state (4, n_samples) are space to work in.
    """
    n_samples, n_roles = hits.shape[0], bits.shape[0]
    worst, worst_place, best, best_place = state[0], state[1], state[2], state[3]
    for s in range(n_samples):
        best[s] = -1
    for t in range(instances.shape[0]):
        for s in range(n_samples):
            worst[s] = 3
        for role in range(n_roles):
            m = instances[t, role]
            for s in range(n_samples):
                codes[s] = ZERO
            for d in range(described_mentions.shape[0]):
                bit = bits[role, d]
                if m >= 0 and bit != ZERO:
                    filler, row = labels[m], labels[described_mentions[d]]
                    for s in range(n_samples):
                        codes[s] |= bit if filler[s] == row[s] else ZERO
            for s in range(n_samples):
                nearness = closeness(codes[s], needed[role], preferred[role], opposing[role], needs_actor[role], joint)
                if nearness < worst[s]:
                    worst[s], worst_place[s] = nearness, t * n_roles + role
        for s in range(n_samples):
            if worst[s] > best[s]:
                best[s], best_place[s] = worst[s], worst_place[s]
    for s in range(n_samples):
        if hits[s] == 0:
            # 3: no trigger reports the event, or an entity has more sets of codes than are kept.
            counts[best[s]] += 1
            if best[s] == 2:
                t, role = best_place[s] // n_roles, best_place[s] % n_roles
                for d in range(described_mentions.shape[0]):
                    is_other = bits[role, d] & ~needed[role] != ZERO
                    if is_other and labels[described_mentions[d], s] == labels[instances[t, role], s]:
                        other_hits[d] += 1
