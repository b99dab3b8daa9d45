"""Random words of a counter-based generator: SplitMix64, for use in other kernels."""

import numpy as np

from corefsample._arrays import Words
from corefsample._jit import inlined, kernel

# Constants of SplitMix64 (Steele, Lea & Flood 2014, "Fast splittable pseudorandom number generators").
GAMMA = np.uint64(0x9E3779B97F4A7C15)
MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
MIX_2 = np.uint64(0x94D049BB133111EB)
U11 = np.uint64(11)
U27 = np.uint64(27)
U30 = np.uint64(30)
U31 = np.uint64(31)


@inlined
def mix(z):  # type: ignore[no-untyped-def]
    z = (z ^ (z >> U30)) * MIX_1
    z = (z ^ (z >> U27)) * MIX_2
    return z ^ (z >> U31)


@inlined
def uniform(word):  # type: ignore[no-untyped-def]
    """Double above 0 and below 1 by the 53 high bits of a mixed word."""
    return (np.float64(mix(word) >> U11) + 0.5) * 2.0**-53


@kernel
def splitmix64(key: np.uint64, start: int, words: Words) -> None:
    """Fill `words` with outputs start, start+1, ... of SplitMix64 seeded with `key`."""
    first = np.uint64(key) + np.uint64(start + 1) * GAMMA
    for s in range(words.shape[0]):
        words[s] = mix(first + np.uint64(s) * GAMMA)
