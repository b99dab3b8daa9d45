"""Compiled loop that lists the pairs of one document's mentions.

Legend of dimensions and names
    i < j  : two mentions, in text order       n : number of mentions
    p      : pair; those of mention j follow those of the mentions before it, ascending in i
    kind   : what a mention is (name, noun, pronoun), a small whole number
"""

from __future__ import annotations

import numpy as np

from corefsample._arrays import Bytes, Floats, Ints, Ints32
from corefsample._jit import kernel


@kernel
def list_pairs(
    marginals: Floats,
    entities: Ints,
    kinds: Ints32,
    kind_codes: Ints32,
    n_kinds: int,
    q: Floats,
    y: Bytes,
    distances: Ints32,
    pair_kinds: Ints32,
) -> int:
    """Fill one entry for each pair of annotated mentions (entity >= 0); return the number of pairs.

    pair_kinds[p] = kind_codes[kind of the earlier mention * n_kinds + kind of the later one]
    """
    p = 0
    for j in range(marginals.shape[0]):
        if entities[j] < 0:
            continue
        row = marginals[j]
        for i in range(j):
            if entities[i] >= 0:
                q[p] = row[i]
                y[p] = np.uint8(entities[i] == entities[j])
                distances[p] = j - i
                pair_kinds[p] = kind_codes[kinds[i] * n_kinds + kinds[j]]
                p += 1
    return p
