"""Samples of tag sequences by forward filtering and backward sampling; names are those of _chain_kernels.py."""

from __future__ import annotations

import math

import numpy as np

from corefsample._arrays import Floats, Ints32
from corefsample._jit import inner_kernel, kernel
from corefsample._random_kernels import GAMMA, mix
from corefsample.tagging._chain_kernels import ABOVE_FLOOR

U0 = np.uint64(0)
U32 = np.uint64(32)
LOW_32 = np.uint64(0xFFFFFFFF)
TWO_32 = 4294967296.0
BLOCK = 256  # samples whose random words are computed together


@inner_kernel
def alias_table(mass, needy, donors, cells):  # type: ignore[no-untyped-def]
    """Build an alias table (Walker 1977; Vose 1991) of weights with a sum above 0; `mass` is overwritten.

    cells[c] has in its high 32 bits the share of cell c that stands for c itself, in its low 32 bits its alias.
    """
    m = mass.shape[0]
    total = 0.0
    for c in range(m):
        total += mass[c]
    scale = m / total
    n_needy, n_donors = 0, 0
    for c in range(m):
        mass[c] *= scale
        needy[n_needy] = c
        donors[n_donors] = c
        full = int(mass[c] >= 1.0)
        n_donors += full
        n_needy += 1 - full
    # Each needy cell has a donor as its alias. A donor with too little mass left becomes needy itself, and the next
    # donor is its alias.
    t, d = 0, 0
    while t < n_needy and d < n_donors:
        cell, donor = needy[t], donors[d]
        t += 1
        cells[cell] = (np.uint64(mass[cell] * TWO_32) << U32) | np.uint64(donor)
        mass[donor] -= 1.0 - mass[cell]
        while mass[donor] < 1.0 and d + 1 < n_donors:
            d += 1
            following = donors[d]
            cells[donor] = (np.uint64(max(mass[donor], 0.0) * TWO_32) << U32) | np.uint64(following)
            mass[following] -= 1.0 - mass[donor]
            donor = following
        if mass[donor] < 1.0:
            break
    # What is left has a mass of 1 but for rounding.
    for r in range(d, n_donors):
        cells[donors[r]] = (LOW_32 << U32) | np.uint64(donors[r])
    for r in range(t, n_needy):
        cells[needy[r]] = (LOW_32 << U32) | np.uint64(needy[r])


@kernel
def sample_tags(
    transitions: Floats,
    place: int,
    stop: int,
    forward: Floats,
    logs: bool,
    key: np.uint64,
    first: int,
    tags: Ints32,
) -> None:
    """Draw the tags before the places from `place` to `stop` - 1, from the last backwards, given the tags behind them.

    `transitions` has a matrix for each of these places or one for all, of weights or, with `logs`, of their logarithms,
    as has `forward`. If stop is n - 1, the tag of the last token is drawn too.

    Word s of token i is output `first + s` of SplitMix64 seeded with output i of SplitMix64 seeded with `key`. Its high
    half picks the cell of an alias table, its low half cell or alias. A table is built when its next tag occurs first.
    """
    n, n_samples = tags.shape
    shared = transitions.shape[0] == 1
    n_tags = transitions.shape[1]
    cells = np.empty((n_tags, n_tags), np.uint64)
    table_of = np.full(n_tags, -1, np.int64)  # position for which the table of a next tag was built
    mass = np.empty(n_tags)
    needy, donors = np.empty(n_tags, np.int64), np.empty(n_tags, np.int64)
    width = np.uint64(n_tags)
    picked = np.empty(BLOCK, np.uint64)
    low = np.empty(BLOCK, np.uint64)
    for i in range(stop - 1 + int(stop == n - 1), place - 1, -1):
        at_end = i == n - 1
        for s in range(n_samples):
            following = 0 if at_end else tags[i + 1, s]
            if table_of[following] != i:
                table_of[following] = i
                matrix = transitions[0 if shared or at_end else i - place]
                if logs:
                    largest = -np.inf
                    for c in range(n_tags):
                        mass[c] = forward[i, c] + (0.0 if at_end else matrix[c, following])
                        largest = max(largest, mass[c])
                    for c in range(n_tags):
                        mass[c] = math.exp(mass[c] - largest)
                else:
                    for c in range(n_tags):
                        x = 1.0 if at_end else matrix[c, following]
                        mass[c] = forward[i, c] * (x if x > ABOVE_FLOOR else 0.0)
                alias_table(mass, needy, donors, cells[following])
        key_of_token = mix(np.uint64(key) + np.uint64(i + 1) * GAMMA)
        for start in range(0, n_samples, BLOCK):
            size = min(BLOCK, n_samples - start)
            state = key_of_token + np.uint64(first + start + 1) * GAMMA
            for s in range(size):
                word = mix(state + np.uint64(s) * GAMMA)
                low[s] = word & LOW_32
                picked[s] = ((word >> U32) * width) >> U32
            target = tags[i, start : start + size]
            for s in range(size):
                following = 0 if at_end else tags[i + 1, start + s]
                cell = cells[following, picked[s]]
                target[s] = np.int32(picked[s]) if low[s] < (cell >> U32) else np.int32(cell & LOW_32)
