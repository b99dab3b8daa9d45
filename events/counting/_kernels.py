"""Compiled evaluation of events in sampled clusterings, and a convolution of counts.

Legend of dimensions and names
    s : sample              d : description (a mention described as a country)
    t : instance (mentions that fill the roles at one trigger)      r : label (first mention of an entity)
    c : country described in the document                           e : event, c for one role, c * n + c' for two
"""

from __future__ import annotations

import numpy as np

from corefsample._arrays import Bytes, Floats, Ints, Ints32
from corefsample._jit import kernel

NONE = -1
SEVERAL = -2


@kernel
def evaluate(
    labels: Ints32,
    described_mentions: Ints32,
    described_countries: Ints32,
    instances: Ints32,
    n_countries: int,
    hits: Bytes,
    instance_hits: Ints,
    description_hits: Ints,
) -> None:
    """Set hits[e, s] if event e is true in sample s; labels is (mentions, samples), all hits are zero at first.

    instance_hits[t, e] counts the samples in which instance t makes event e true; description_hits[d] those in which
    description d belongs to an entity of an event.
    """
    n_samples = labels.shape[1]
    n_described = described_mentions.shape[0]
    n_instances, n_roles = instances.shape
    country_of = np.full(labels.shape[0], NONE, np.int32)  # by label: its only country, NONE or SEVERAL
    makes_event = np.zeros(labels.shape[0], np.bool_)
    for s in range(n_samples):
        for d in range(n_described):
            r = labels[described_mentions[d], s]
            if country_of[r] == NONE:
                country_of[r] = described_countries[d]
            elif country_of[r] != described_countries[d]:
                country_of[r] = SEVERAL
        for t in range(n_instances):
            e = 0
            for role in range(n_roles):
                c = country_of[labels[instances[t, role], s]]
                if c < 0:
                    e = -1
                    break
                e = e * n_countries + c
            if e >= 0:
                hits[e, s] = 1
                instance_hits[t, e] += 1
                for role in range(n_roles):
                    makes_event[labels[instances[t, role], s]] = True
        for d in range(n_described):
            r = labels[described_mentions[d], s]
            if makes_event[r]:
                description_hits[d] += 1
        for d in range(n_described):
            r = labels[described_mentions[d], s]
            country_of[r] = NONE
            makes_event[r] = False


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
