"""Compiled evaluation of events in sampled clusterings, and a convolution of counts.

Legend of dimensions and names
    s : sample              d : description (a mention described as an actor)
    t : instance (mentions that fill the roles at one trigger; m: one of them, -1 where a role is absent)
    r : label (first mention of an entity)
    g : group of roles that can have the same codes                 c : code, as a number within its group
    e : event of a rule, c for one role, c * n + c' for two, 0 for none; n is the number of codes of the second role
    q : rule; those that are evaluated together have the same descriptions
    described_codes : (g, d)  code of the description, -1 if the group cannot have it
    is_inner        : (d,)    whether that is an actor that is part of others, which then do not count
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from corefsample._arrays import Bools, Bytes, Floats, Ints, Ints32
from corefsample._jit import kernel, kernel_in_place

NONE = -1

# Samples of a block: its codes (labels * 64 * 4 bytes for each group) stay in the processor's cache.
BLOCK = 64
# What a label is described as: 0 at first, RANK + 1 + c for one code, RANK + SEVERAL for more. For codes of inner
# actors RANK is doubled: they replace the others.
RANK = 1 << 28
SEVERAL = RANK - 1


class Rules(NamedTuple):
    """The rules that `evaluate` evaluates."""

    first_instances: Ints32  # (q + 1,): bounds of the instances of each rule
    first_events: Ints32  # (q + 1,): bounds of its events among the rows of hits
    n_roles: Ints32  # (q,)
    groups: Ints32  # (q, roles): group of each role
    sizes: Ints32  # (q, roles): number of its codes, absence included
    absent: Ints32  # (q, roles): the code that stands for no actor, -1 if the role requires one


class Scratch(NamedTuple):
    """What `evaluate` works with, and leaves as it was: all 0."""

    described: Ints32  # (g, labels, block): what a label is described as in each sample
    makes_event: Bytes  # (labels, block): whether its entity is one of an event


@kernel_in_place
def evaluate(
    labels: Ints32,
    described_mentions: Ints32,
    described_codes: Ints32,
    is_inner: Bools,
    instances: Ints32,
    rules: Rules,
    scratch: Scratch,
    hits: Bytes,
    instance_hits: Ints,
    description_hits: Ints,
) -> None:
    """Set the row of hits of an event if it is true in sample s; labels is (mentions, samples), all hits 0 at first.

    instance_hits[t, e] counts the samples in which instance t makes event e of its rule true; description_hits[q, d]
    those in which description d belongs to an entity of an event of rule q.

    Samples are the inner loops, in blocks, because which labels meet in a sample is unpredictable: there the
    descriptions change codes without a branch.
    """
    n_samples = labels.shape[1]
    n_groups, n_described = described_codes.shape
    first_instances, first_events, roles_of, groups, sizes, absent = rules
    described, makes_event = scratch
    for start in range(0, n_samples, BLOCK):
        size = min(BLOCK, n_samples - start)
        for d in range(n_described):
            row = labels[described_mentions[d], start : start + size]
            rank = RANK + RANK * is_inner[d]
            for g in range(n_groups):
                if described_codes[g, d] != NONE:
                    own = rank + 1 + described_codes[g, d]
                    several = rank + SEVERAL
                    for s in range(size):
                        before = described[g, np.uint32(row[s]), s]
                        after = own if before == own or before < rank else several
                        described[g, np.uint32(row[s]), s] = before if before > several else after
        for q in range(roles_of.shape[0]):
            is_any = False
            for t in range(first_instances[q], first_instances[q + 1]):
                for s in range(size):
                    e = 0
                    for role in range(roles_of[q]):
                        m = instances[t, role]
                        code = 0
                        if m != NONE:
                            code = described[groups[q, role], labels[m, start + s], s] & SEVERAL
                        if code == 0 or code == SEVERAL:
                            code = absent[q, role] + 1
                        if code == 0:
                            e = NONE
                            break
                        e = e * sizes[q, role] + code - 1
                    if e != NONE:
                        hits[first_events[q] + e, start + s] = 1
                        instance_hits[t, e] += 1
                        for role in range(roles_of[q]):
                            m = instances[t, role]
                            if m != NONE:
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
                        if m != NONE:
                            for s in range(size):
                                makes_event[labels[m, start + s], s] = 0
        for d in range(n_described):
            row = labels[described_mentions[d], start : start + size]
            for g in range(n_groups):
                for s in range(size):
                    described[g, np.uint32(row[s]), s] = 0


@kernel
def difference_pmf(first_only: Floats, second_only: Floats, pmf: Floats) -> None:
    """pmf[n + k] = P(n_a - n_b = k), by convolving the documents' distributions on {-1, 0, 1} one by one."""
    n = first_only.shape[0]
    pmf[:] = 0.0
    pmf[n] = 1.0
    for t in range(n):
        up, down = first_only[t], second_only[t]
        stay = 1.0 - up - down
        if stay < 0.0:  # only by rounding: up + down is a probability
            stay = 0.0
        before = 0.0  # the probability of k - 1 without this document
        for k in range(n - t - 1, n + t + 2):
            here = pmf[k]
            after = pmf[k + 1] if k < 2 * n else 0.0
            pmf[k] = before * up + here * stay + after * down
            before = here
