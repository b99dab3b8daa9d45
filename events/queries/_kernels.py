"""Compiled evaluation of entity queries in sampled clusterings.

Legend of dimensions and names
    s : sample        d : a typed mention, with the number of its type      r : label (first mention of an entity)
    t : instance (a pronoun in its role at a verb)      v : verb      m : type of mention
    i, k : mention and candidate antecedent      c : place of a candidate in the flat arrays      h : kind of antecedent
"""

from __future__ import annotations

import numpy as np

from corefsample._arrays import Bytes, Floats, Floats32, Ints, Ints32
from corefsample._jit import kernel


@kernel
def query_samples(
    labels: Ints32, typed_mentions: Ints32, types: Ints32, pronouns: Ints32, verbs: Ints32, holds: Bytes
) -> None:
    """Set holds[v, m, s] to 1 if an entity has a mention of type m and a pronoun in its role at verb v.

    labels is (mentions, samples), and all holds are 0 at the start. An entity may have mentions of several types.
    """
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
    labels: Ints32, indptr: Ints, antecedents: Ints32, probs: Floats, scaled: Floats, kinds: Bytes, slopes: Floats32
) -> None:
    """Add to slopes (parameters, samples) the slopes of log P(sampled clustering), except for a constant.

    scaled : scores over the temperature; parameters are in the order of `Recalibration.vector`. Given a clustering,
    a mention that is not the first of its entity has one of the earlier ones as its antecedent, with probabilities
    proportional to `probs`; the slope is the mean of its features, which are those of `add_moments`. The mean over all
    antecedents is the same in every sample, so it is left out. 32 bits are as wide as the labels, which makes the loops
    over samples twice as fast; their rounding is far below the noise of samples.
    """
    n, n_samples = labels.shape
    n_kinds = 0
    while 2 + n_kinds + n_kinds * n_kinds < slopes.shape[0]:
        n_kinds += 1
    zero, unit = np.float32(0.0), np.float32(1.0)
    linked_mass, weighted = np.zeros(n_samples, np.float32), np.zeros(n_samples, np.float32)
    by_kind, has_kind = np.zeros((n_kinds, n_samples), np.float32), np.zeros(n_kinds, np.bool_)
    for i in range(n):
        mention_labels = labels[i]
        for c in range(indptr[i], indptr[i + 1]):
            h = kinds[antecedents[c]]
            p, score = np.float32(probs[c]), np.float32(probs[c] * scaled[c])
            candidate_labels, row = labels[antecedents[c]], by_kind[h]
            has_kind[h] = True
            for s in range(n_samples):
                corefers = candidate_labels[s] == mention_labels[s]
                weighted[s] += score if corefers else zero
                row[s] += p if corefers else zero
        for h in range(n_kinds):
            if has_kind[h]:
                row = by_kind[h]
                for s in range(n_samples):
                    linked_mass[s] += row[s]
        bias_slopes, new_slopes, first_link = slopes[1], slopes[2 + kinds[i]], 2 + n_kinds + kinds[i] * n_kinds
        temperature_slopes = slopes[0]
        for s in range(n_samples):
            linked = unit if linked_mass[s] > zero else zero
            linked_mass[s] = linked / (linked_mass[s] if linked_mass[s] > zero else unit)  # from here on its inverse
            temperature_slopes[s] -= weighted[s] * linked_mass[s]
            bias_slopes[s] -= linked
            new_slopes[s] -= linked
            weighted[s] = zero
        for h in range(n_kinds):
            if has_kind[h]:
                has_kind[h] = False
                row, link_slopes = by_kind[h], slopes[first_link + h]
                for s in range(n_samples):
                    link_slopes[s] += row[s] * linked_mass[s]
                    row[s] = zero
        for s in range(n_samples):
            linked_mass[s] = zero
