"""Samples of tag sequences by forward filtering and backward sampling; names are those of _chain_kernels.py."""

from __future__ import annotations

import numpy as np

from corefsample._arrays import Floats, Ints32
from corefsample._jit import inner_kernel, kernel
from corefsample._random_kernels import GAMMA, mix

U1 = np.uint64(1)
U11 = np.uint64(11)
STEP = 2.0**-53  # between the uniform numbers that are drawn
SAFE = 1.0 + 1e-12  # above rounding errors: a guide may point to an earlier tag, never to a later one
BLOCK = 256  # samples that are drawn together: their arrays stay in the first-level cache


@inner_kernel
def cumulative_weights(forward, matrix, sums):  # type: ignore[no-untyped-def]
    """sums[s, t] = sum over tags up to s of forward[s] * matrix[s, t], for all next tags at once."""
    n_tags, w = sums.shape
    for t in range(w):
        sums[0, t] = forward[0] * matrix[0, t]
    for s in range(1, n_tags):
        x = forward[s]
        row, before, target = matrix[s], sums[s - 1], sums[s]
        for t in range(w):
            target[t] = before[t] + x * row[t]


@inner_kernel
def fill_guide(sums, column, guide):  # type: ignore[no-untyped-def]
    """guide[g] = a tag up to which every cumulative weight is at most g / len(guide) of the last one, g rounded down.

    The last sum is above every level that is drawn, so a search that begins there ends.
    """
    n_tags, size = sums.shape[0], guide.shape[0]
    scale = SAFE * size / sums[n_tags - 1, column]
    for g in range(size):
        guide[g] = 0
    for s in range(n_tags):
        g = int(sums[s, column] * scale) + 1
        if g < size:
            guide[g] += 1
    for g in range(1, size):
        guide[g] += guide[g - 1]


@kernel
def sample_tags(
    n_tags: int,
    lower: Floats,
    place: int,
    stop: int,
    forward: Floats,
    key: np.uint64,
    first: int,
    tags: Ints32,
) -> None:
    """Draw the tags before the places from `place` to `stop` - 1, from the last backwards, given the tags behind them.

    `lower` (m, at least n_tags, w) has a matrix of weights of transitions for each of these places or one for all. If
    stop is n - 1, the tag of the last token is drawn too.

    Word s of token i is output `first + s` of SplitMix64 seeded with output i of SplitMix64 seeded with `key`. Its high
    53 bits are a uniform number; the tag is the first whose cumulative weight, given the next tag, exceeds it. The
    search begins at a guide that the first bits of the number point to (Chen & Asau 1974), so it takes about one step.
    """
    n, n_samples = tags.shape
    m, _, w = lower.shape
    n_bits = 0
    while 1 << n_bits < w:
        n_bits += 1
    sums = np.empty((n_tags, w))
    guides = np.empty((n_tags, 1 << n_bits), np.int32)
    guided_token = np.full(n_tags, -1, np.int64)  # token for which the guide of a next tag was filled
    picked = np.empty(BLOCK, np.uint64)
    for i in range(stop - 1 + int(stop == n - 1), place - 1, -1):
        if i == n - 1:
            sums[:, 0] = np.cumsum(forward[i, :n_tags])
        else:
            cumulative_weights(forward[i], lower[0 if m == 1 else i - place], sums)
        key_of_token = mix(np.uint64(key) + np.uint64(i + 1) * GAMMA)
        for start in range(0, n_samples, BLOCK):
            size = min(BLOCK, n_samples - start)
            state = key_of_token + np.uint64(first + start + 1) * GAMMA
            for s in range(size):
                picked[s] = mix(state + np.uint64(s) * GAMMA) >> U11
            target = tags[i, start : start + size]
            following = target if i == n - 1 else tags[i + 1, start : start + size]
            for s in range(size):
                column = np.uint64(0 if i == n - 1 else following[s])
                if guided_token[column] != i:
                    guided_token[column] = i
                    fill_guide(sums, column, guides[column])
                level = np.float64(np.int64(picked[s])) * STEP * sums[n_tags - 1, column]
                tag = np.uint64(guides[column, picked[s] >> np.uint64(53 - n_bits)])
                while sums[tag, column] <= level:
                    tag += U1
                target[s] = tag
