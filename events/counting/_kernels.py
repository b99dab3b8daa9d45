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
SEVERAL = -2


class Rules(NamedTuple):
    """The rules that `evaluate` evaluates."""

    first_instances: Ints32  # (q + 1,): bounds of the instances of each rule
    first_events: Ints32  # (q + 1,): bounds of its events among the rows of hits
    n_roles: Ints32  # (q,)
    groups: Ints32  # (q, roles): group of each role
    sizes: Ints32  # (q, roles): number of its codes, absence included
    absent: Ints32  # (q, roles): the code that stands for no actor, -1 if the role requires one


class Scratch(NamedTuple):
    """What `evaluate` works with, and leaves as it was."""

    code_of: Ints32  # (g, labels): the only code of a label, NONE or SEVERAL; NONE at first
    of_inner: Bools  # (g, labels): whether that is the code of an inner actor; false at first
    fills_role: Bools  # (labels,): false at first; other labels change no event
    makes_event: Bools  # (labels,): false at first
    described_labels: Ints32  # (d,)

    @classmethod
    def of(cls, n_groups: int, n_mentions: int, n_described: int) -> Scratch:
        """Allocate it."""
        return cls(
            np.full((n_groups, n_mentions), NONE, np.int32),
            np.zeros((n_groups, n_mentions), np.bool_),
            np.zeros(n_mentions, np.bool_),
            np.zeros(n_mentions, np.bool_),
            np.zeros(n_described, np.int32),
        )


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
    """
    n_samples = labels.shape[1]
    n_groups, n_described = described_codes.shape
    n_instances, n_roles = instances.shape
    first_instances, first_events, roles_of, groups, sizes, absent = rules
    code_of, of_inner, fills_role, makes_event, described_labels = scratch
    for s in range(n_samples):
        for t in range(n_instances):
            for role in range(n_roles):
                m = instances[t, role]
                if m != NONE:
                    fills_role[labels[m, s]] = True
        for d in range(n_described):
            r = labels[described_mentions[d], s]
            described_labels[d] = r
            if not fills_role[r]:
                continue
            for g in range(n_groups):
                c = described_codes[g, d]
                if c == NONE:
                    continue
                if code_of[g, r] == NONE or (is_inner[d] and not of_inner[g, r]):
                    code_of[g, r] = c
                    of_inner[g, r] = is_inner[d]
                elif code_of[g, r] != c and is_inner[d] == of_inner[g, r]:
                    code_of[g, r] = SEVERAL
        for q in range(roles_of.shape[0]):
            is_any = False
            for t in range(first_instances[q], first_instances[q + 1]):
                e = 0
                for role in range(roles_of[q]):
                    m = instances[t, role]
                    c = NONE
                    if m != NONE:
                        c = code_of[groups[q, role], labels[m, s]]
                    if c < 0:
                        c = absent[q, role]
                    if c < 0:
                        e = -1
                        break
                    e = e * sizes[q, role] + c
                if e >= 0:
                    hits[first_events[q] + e, s] = 1
                    instance_hits[t, e] += 1
                    for role in range(roles_of[q]):
                        m = instances[t, role]
                        if m != NONE:
                            makes_event[labels[m, s]] = True
                            is_any = True
            if is_any:
                for d in range(n_described):
                    if makes_event[described_labels[d]]:
                        description_hits[q, d] += 1
                for t in range(first_instances[q], first_instances[q + 1]):
                    for role in range(roles_of[q]):
                        m = instances[t, role]
                        if m != NONE:
                            makes_event[labels[m, s]] = False
        for t in range(n_instances):
            for role in range(n_roles):
                m = instances[t, role]
                if m != NONE:
                    r = labels[m, s]
                    fills_role[r] = False
                    for g in range(n_groups):
                        code_of[g, r] = NONE
                        of_inner[g, r] = False


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
