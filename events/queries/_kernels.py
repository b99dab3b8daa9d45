"""Compiled evaluation of entity queries in sampled clusterings.

Legend of dimensions and names
    s : sample        d : a typed mention, with the number of its type      r : label (first mention of an entity)
    t : instance (a pronoun in its role at a verb)      v : verb      m : type of mention
"""

from __future__ import annotations

import numpy as np

from corefsample._arrays import Ints, Ints32
from corefsample._jit import kernel


@kernel
def query_hits(
    labels: Ints32, typed_mentions: Ints32, types: Ints32, pronouns: Ints32, verbs: Ints32, hits: Ints
) -> None:
    """Count in hits[v, m] the samples in which an entity has a mention of type m and a pronoun in its role at verb v.

    labels is (mentions, samples); hits is zero at first. An entity may have mentions of several types.
    """
    n_verbs, n_types = hits.shape
    has_type = np.zeros((labels.shape[0], n_types), np.bool_)
    holds = np.zeros((n_verbs, n_types), np.bool_)
    for s in range(labels.shape[1]):
        for d in range(typed_mentions.shape[0]):
            has_type[labels[typed_mentions[d], s], types[d]] = True
        for t in range(pronouns.shape[0]):
            r = labels[pronouns[t], s]
            for m in range(n_types):
                if has_type[r, m]:
                    holds[verbs[t], m] = True
        for v in range(n_verbs):
            for m in range(n_types):
                if holds[v, m]:
                    hits[v, m] += 1
                    holds[v, m] = False
        for d in range(typed_mentions.shape[0]):
            has_type[labels[typed_mentions[d], s], types[d]] = False
