"""Compiled hash functions of features; `corefsample.scorers.log_linear.features._codes` names their sources.

Legend
    i, k : mention, candidate antecedent
    t    : template; those of candidates differ between pronouns and other mentions (group 0 and 1)
    b    : bucket of a weight, a hash of a template's atoms cut to the size of the table
A template's atoms of i and of k are hashed once a mention (`hash_mentions`), so a pair only adds two hashes and at
most two atoms of its own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from corefsample._arrays import Ints32, Words32
from corefsample._jit import inner_kernel, kernel_in_place
from corefsample.scorers.log_linear.features import _codes as codes

U32, U64 = np.uint32, np.uint64
LOW = U64(0xFFFFFFFF)
FACTOR = 2  # column of a template's factor


class Hashed(NamedTuple):
    """A document's mentions hashed by the templates of both groups, (n, templates of the group), and those of NEW."""

    mention_0: Words32
    candidate_0: Words32
    pair_0: Ints32  # (templates, 3): pair atoms, factor (those above 1 come first)
    mention_1: Words32
    candidate_1: Words32
    pair_1: Ints32
    new: Words32
    new_best: Ints32  # (templates,): 0 nothing, 1 the best match, 2 the best match and how far it is


@inner_kernel
def mix(code: np.uint32, value: np.uint32) -> np.uint32:
    """Hash of a code extended by a value: a product, a sum, and the avalanche of XXH32 on 64 bits."""
    z = U64(code) * U64(codes.XXH32_PRIMES[0]) + U64(value)
    z ^= z >> U64(codes.XXH32_SHIFTS[0])
    z *= U64(codes.XXH32_PRIMES[1])
    z ^= z >> U64(codes.XXH32_SHIFTS[1])
    z *= U64(codes.XXH32_PRIMES[2])
    return U32((z ^ (z >> U64(codes.XXH32_SHIFTS[2]))) & LOW)


@kernel_in_place
def hash_mentions(atoms: Words32, template_atoms: Ints32, seeds: Words32, hashes: Words32) -> None:
    """Hash the atoms of each template by mention; template_atoms (templates, most), -1 for none."""
    for i in range(atoms.shape[0]):
        for t in range(template_atoms.shape[0]):
            code = seeds[t]
            for a in template_atoms[t]:
                if a >= 0:
                    code = mix(code, atoms[i, a])
            hashes[i, t] = code


@inner_kernel
def fill_buckets(
    hashed: Hashed, pronoun: bool, i: int, k: int, pair: Words32, mask: np.uint32, buckets: Words32
) -> None:
    """Fill the bucket of each template for one pair."""
    mention = hashed.mention_0[i] if pronoun else hashed.mention_1[i]
    candidate = hashed.candidate_0[k] if pronoun else hashed.candidate_1[k]
    atoms = hashed.pair_0 if pronoun else hashed.pair_1
    for t in range(mention.shape[0]):
        z = U64(mention[t]) + U64(candidate[t]) * U64(codes.XXH32_PRIMES[0])
        z += U64(pair[atoms[t, 0]]) * U64(codes.MURMUR3_FACTORS[0])
        z += U64(pair[atoms[t, 1]]) * U64(codes.MURMUR3_FACTORS[1])
        z ^= z >> U64(codes.LOWBIAS32_SHIFTS[0])
        z *= U64(codes.LOWBIAS32_FACTORS[0])
        z ^= z >> U64(codes.LOWBIAS32_SHIFTS[1])
        z *= U64(codes.LOWBIAS32_FACTORS[1])
        buckets[t] = U32((z ^ (z >> U64(codes.LOWBIAS32_SHIFTS[2]))) & U64(mask))


@inner_kernel
def new_bucket(code: np.uint32, kind: int, best: int, near: int, mask: np.uint32) -> np.uint32:
    """Bucket of a template of NEW, extended by the best match before the mention if the template has it."""
    if kind == codes.BEST_MATCH:
        code = mix(code, U32(best))
    elif kind == codes.BEST_NEAR:
        code = mix(code, U32(codes.BEST_FACTOR * best + near))
    return code & mask
