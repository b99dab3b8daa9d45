"""Compiled evaluation of entity queries in sampled clusterings.

Legend of dimensions and names
    s : sample        d : a typed mention, with the number of its type      r : label (first mention of an entity)
    t : instance (a pronoun in its role at a verb)      v : verb      m : type of mention
    i, k : mention and candidate antecedent      c : place of a candidate in the flat arrays      h : kind of antecedent
"""

from __future__ import annotations

import numpy as np

from corefsample._arrays import Bytes, Floats, Ints, Ints32
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


@kernel
def query_samples(
    labels: Ints32, typed_mentions: Ints32, types: Ints32, pronouns: Ints32, verbs: Ints32, holds: Bytes
) -> None:
    """Fill holds[v, m, s], zeros before: the same as `query_hits` for each sample."""
    n_types = holds.shape[1]
    has_type = np.zeros((labels.shape[0], n_types), np.bool_)
    for s in range(labels.shape[1]):
        for d in range(typed_mentions.shape[0]):
            has_type[labels[typed_mentions[d], s], types[d]] = True
        for t in range(pronouns.shape[0]):
            r = labels[pronouns[t], s]
            for m in range(n_types):
                if has_type[r, m]:
                    holds[verbs[t], m, s] = 1
        for d in range(typed_mentions.shape[0]):
            has_type[labels[typed_mentions[d], s], types[d]] = False


@kernel
def sample_slopes(
    labels: Ints32, indptr: Ints, antecedents: Ints32, probs: Floats, scaled: Floats, kinds: Bytes, slopes: Floats
) -> None:
    """Fill slopes (parameters, samples), zeros before: slopes of log P(sampled clustering), but for a constant.

    scaled : scores over the temperature; parameters are in the order of `Recalibration.vector`. Given a clustering,
    a mention that is not the first of its entity has one of the earlier ones as its antecedent, with probabilities
    proportional to `probs`; the slope is the mean of its features, which are those of `add_moments`. The mean over all
    antecedents is the same in every sample, so it is left out.
    """
    n, n_samples = labels.shape
    n_kinds = 0
    while 2 + n_kinds + n_kinds * n_kinds < slopes.shape[0]:
        n_kinds += 1
    inside, weighted, by_kind = np.zeros(n_samples), np.zeros(n_samples), np.zeros((n_kinds, n_samples))
    for i in range(n):
        own = labels[i]
        for c in range(indptr[i], indptr[i + 1]):
            p, other, row = probs[c], labels[antecedents[c]], by_kind[kinds[antecedents[c]]]
            score = p * scaled[c]
            for s in range(n_samples):
                same = 1.0 if other[s] == own[s] else 0.0
                inside[s] += same * p
                weighted[s] += same * score
                row[s] += same * p
        first = 2 + n_kinds + kinds[i] * n_kinds
        for s in range(n_samples):
            if inside[s] > 0.0:
                slopes[0, s] -= weighted[s] / inside[s]
                slopes[1, s] -= 1.0
                slopes[2 + kinds[i], s] -= 1.0
                for h in range(n_kinds):
                    slopes[first + h, s] += by_kind[h, s] / inside[s]
            inside[s], weighted[s] = 0.0, 0.0
        for h in range(n_kinds):
            for s in range(n_samples):
                by_kind[h, s] = 0.0
