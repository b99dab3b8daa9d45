"""Compiled loop that lists the pairs of one document's mentions.

Legend of dimensions and names
    i < j  : two mentions, in text order       n : number of mentions
    p      : pair; those of mention j follow those of the mentions before it, ascending in i
    kind   : what a mention is (name, noun, pronoun), a small whole number
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from corefsample._jit import kernel

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]
Labels = npt.NDArray[np.uint8]


@kernel
def list_pairs(
    marginals: Floats,
    entities: Ints,
    kinds: Codes,
    kind_codes: Codes,
    n_kinds: int,
    q: Floats,
    y: Labels,
    distances: Codes,
    pair_kinds: Codes,
) -> int:
    """Fill one entry a pair of annotated mentions (entity >= 0); return how many there are.

    pair_kinds: the entry of `kind_codes` for kind of the earlier mention * n_kinds + kind of the later one.
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
