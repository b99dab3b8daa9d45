"""Compiled loops of the sampler and the exact recursions: plain arrays in, plain arrays filled.

Legend of dimensions and names
    i, j : mention, in text order           n : number of mentions
    k    : candidate antecedent (a mention) m : number of candidates of one mention
    s    : sample                           r : first mention of an entity (its label)
    indptr[i]:indptr[i+1] : the candidates of mention i in the flat arrays `antecedents` and `probs`,
                            ascending in k. NEW is stored beside them, in `new_probs[i]`.
Alias tables append NEW to the candidates, so the table of mention i begins at indptr[i] + i.
"""

import math

import numpy as np

from corefsample._arrays import Floats, Ints, Ints32, Words, Words32
from corefsample._jit import kernel, kernel_in_place
from corefsample._random_kernels import GAMMA, mix

U0 = np.uint64(0)
U1 = np.uint64(1)
U4 = np.uint64(4)
U16 = np.uint64(16)
U32 = np.uint64(32)
LOW_16 = np.uint64(0xFFFF)
LOW_32 = np.uint64(0xFFFFFFFF)
HIGH_32 = np.uint64(0xFFFFFFFF00000000)
TWO_32 = 4294967296.0

# Samples of a block: its labels (n * 128 * 4 bytes) stay in the second-level cache.
BLOCK = 128
# Columns of link marginals that are computed together: 1,000 rows of them take 1 MiB.
COLUMNS = 128

# The most mentions of a document whose numbers fit into 16 bits.
NARROW = 65536


# --- checks of candidates ----------------------------------------------------------------------------------


@kernel_in_place
def in_order(indptr: Ints, antecedents: Ints32, scores: Floats) -> bool:
    """True if the candidates of one document are valid and ascend; branchless, because most documents are valid."""
    faults = 0
    for i in range(indptr.shape[0] - 1):
        row = antecedents[indptr[i] : indptr[i + 1]]
        m = row.shape[0]
        if m > 0:
            faults += row[0] < 0
            faults += row[m - 1] >= i
            left, right = row[: m - 1], row[1:]
            for c in range(left.shape[0]):
                faults += left[c] >= right[c]
    for c in range(scores.shape[0]):
        faults += scores[c] - scores[c] != 0.0  # infinity minus itself is NaN, which differs from 0
    return faults == 0


@kernel_in_place
def check_antecedents(
    mention_bounds: Ints, indptr: Ints, antecedents: Ints32, scores: Floats, last_named_by: Ints, positions: Ints
) -> None:
    """Check that candidates are distinct mentions before their own, and that scores are finite, in many documents.

    mention_bounds[d]:mention_bounds[d+1] : the mentions of document d
    positions[d] : the flat index of the first candidate of document d that breaks a rule; -1 before
    last_named_by : the last flat mention that has each mention of the document as a candidate, -1 at first; as long as
    the longest document. It needs no clearing between mentions.
    """
    for d in range(mention_bounds.shape[0] - 1):
        first = mention_bounds[d]
        for i in range(first, mention_bounds[d + 1]):
            for c in range(indptr[i], indptr[i + 1]):
                k = antecedents[c]
                if k < 0 or k >= i - first or last_named_by[k] == i or not math.isfinite(scores[c]):
                    positions[d] = c
                    break
                last_named_by[k] = i
            if positions[d] >= 0:
                break


# --- probabilities -----------------------------------------------------------------------------------------


@kernel_in_place
def normalise(indptr: Ints, weights: Floats, new_weights: Floats) -> None:
    """Divide the weights of each mention, NEW's among them, by their sum, in place."""
    for i in range(indptr.shape[0] - 1):
        row = weights[indptr[i] : indptr[i + 1]]
        # Four sums at a time, since each addition waits for the one before it.
        fourth = row.shape[0] // 4
        part_0, part_1, part_2, part_3 = row[:fourth], row[fourth:], row[2 * fourth :], row[3 * fourth :]
        s0, s1, s2, s3 = new_weights[i], 0.0, 0.0, 0.0
        for c in range(fourth):
            s0 += part_0[c]
            s1 += part_1[c]
            s2 += part_2[c]
            s3 += part_3[c]
        for c in range(fourth, part_3.shape[0]):
            s0 += part_3[c]
        scale = 1.0 / ((s0 + s1) + (s2 + s3))
        new_weights[i] *= scale
        for c in range(row.shape[0]):
            row[c] *= scale


# --- sampling ----------------------------------------------------------------------------------------------


@kernel
def alias_tables(
    indptr: Ints, antecedents: Ints32, probs: Floats, new_probs: Floats, cells: Words, values: Words32
) -> None:
    """Build one alias table per mention (Walker 1977; Vose 1991).

    values[t] is the mention that cell t stands for, i itself for NEW; cells[t] contains the cell's threshold in its
    high 32 bits. Its low 32 contain the mention of its alias; in a document of at most NARROW mentions, the alias in
    16 bits and values[t] in the last 16, so that a draw reads one word.
    """
    n = indptr.shape[0] - 1
    widest = 0
    for i in range(n):
        widest = max(widest, indptr[i + 1] - indptr[i] + 1)
    # Indices are unsigned: no check for an index from the end.
    mass, needy, donors = np.empty(widest), np.empty(widest, np.uint32), np.empty(widest, np.uint32)
    for i in range(n):
        first = indptr[i]
        m = indptr[i + 1] - first + 1
        mentions = values[first + i : first + i + m]
        table = cells[first + i : first + i + m]
        p = probs[first : first + m - 1]
        k = antecedents[first : first + m - 1]
        for c in range(m - 1):
            mass[c] = p[c] * m
        for c in range(m - 1):
            mentions[c] = k[c]
        mass[m - 1] = new_probs[i] * m
        mentions[m - 1] = i
        n_needy, n_donors = U0, U0
        for c in range(m):  # branchless, because the branch is unpredictable
            needy[n_needy] = c
            donors[n_donors] = c
            full = np.uint64(mass[c] >= 1.0)
            n_donors += full
            n_needy += U1 - full
        # Each needy cell has a donor as its alias. A donor with too little mass left becomes needy itself, and the
        # next donor is its alias.
        t, d = U0, U0
        if n_donors > U0:
            donor = np.uint64(donors[0])
            left = mass[donor]  # mass that the donor has left
            while t < n_needy and d < n_donors:
                cell = np.uint64(needy[t])
                t += U1
                table[cell] = (np.uint64(np.int64(mass[cell] * TWO_32)) << U32) | np.uint64(mentions[donor])
                left -= 1.0 - mass[cell]
                while left < 1.0:
                    d += U1
                    if d == n_donors:
                        break
                    following = np.uint64(donors[d])
                    table[donor] = (np.uint64(np.int64(left * TWO_32)) << U32) | np.uint64(mentions[following])
                    left = mass[following] - (1.0 - left)
                    donor = following
            # Donors with mass left keep it.
            for r in range(np.int64(d if d < n_donors else n_donors - U1), np.int64(n_donors)):
                table[donors[r]] = (LOW_32 << U32) | np.uint64(mentions[donors[r]])
        # Where no donor is left, rounding errors leave needy cells over; each keeps its mention for its whole mass,
        # which is wrong by about 1e-13.
        for r in range(np.int64(t), np.int64(n_needy)):
            table[needy[r]] = (LOW_32 << U32) | np.uint64(mentions[needy[r]])
        if n <= NARROW:
            for c in range(m):
                table[c] = (table[c] & HIGH_32) | ((table[c] & LOW_16) << U16) | np.uint64(mentions[c])


@kernel
def sample_labels(indptr: Ints, cells: Words, values: Words32, key: np.uint64, first: int, labels: Ints32) -> None:
    """Draw antecedents and copy labels: labels[i, s] = labels[a_i, s], or i for NEW, whose cell says i.

    Mentions outside, samples inside, in blocks; word s of mention i is output `first + s` of SplitMix64 seeded
    with output i of SplitMix64 seeded with `key`. Its high half picks the cell, its low half cell or alias.

    Each step has a loop of its own, because the compiler vectorises arithmetic only in loops without table lookups.
    Loops run through slices from 0, because an index that could be negative is checked in each iteration.
    """
    n = labels.shape[0]
    n_samples = labels.shape[1]
    block = np.empty(n * BLOCK, np.int32)  # of labels
    low, drawn, steps = np.empty(BLOCK, np.uint64), np.empty(BLOCK, np.uint64), np.empty(BLOCK, np.uint64)
    indices = np.empty(BLOCK, np.uint64)  # first the index of the cell, then the index of its label in the block
    for s in range(BLOCK):
        steps[s] = np.uint64(s) * GAMMA
    for start in range(0, n_samples, BLOCK):
        size = min(BLOCK, n_samples - start)
        for i in range(n):
            begin = indptr[i] + i
            m = indptr[i + 1] - indptr[i] + 1
            width = np.uint64(m)
            mention_cells = cells[begin : begin + m]
            state = mix(np.uint64(key) + np.uint64(i + 1) * GAMMA) + np.uint64(first + start + 1) * GAMMA
            for s in range(size):
                word = mix(state + steps[s])
                low[s] = word & LOW_32
                indices[s] = ((word >> U32) * width) >> U32
            row = block[i * BLOCK : (i + 1) * BLOCK]
            for s in range(size):
                row[s] = i
            for s in range(size):
                drawn[s] = mention_cells[indices[s]]
            if n <= NARROW:
                for s in range(size):
                    alias = np.uint64(low[s] >= (drawn[s] >> U32))
                    mention = (drawn[s] >> (alias << U4)) & LOW_16
                    indices[s] = mention * np.uint64(BLOCK) + np.uint64(s)
            else:
                mention_values = values[begin : begin + m]
                for s in range(size):
                    cell_mention = np.uint64(mention_values[indices[s]])
                    take_alias = U0 - np.uint64(low[s] >= (drawn[s] >> U32))  # all ones, or none
                    mention = cell_mention ^ ((cell_mention ^ (drawn[s] & LOW_32)) & take_alias)
                    indices[s] = mention * np.uint64(BLOCK) + np.uint64(s)
            for s in range(size):
                row[s] = block[indices[s]]
            target = labels[i, start : start + size]
            for s in range(size):
                target[s] = row[s]


@kernel
def sample_sets(
    indptr: Ints,
    antecedents: Ints32,
    probs: Floats,
    new_probs: Floats,
    bounds: Ints,
    key: np.uint64,
    first: int,
    labels: Ints32,
) -> None:
    """Draw labels[:, bounds[p]:bounds[p + 1]] from the probabilities probs[p] and new_probs[p]."""
    n = labels.shape[0]
    cells, values = np.empty(probs.shape[1] + n, np.uint64), np.empty(probs.shape[1] + n, np.uint32)
    for p in range(probs.shape[0]):
        size = bounds[p + 1] - bounds[p]
        alias_tables(indptr, antecedents, probs[p], new_probs[p], cells, values)
        set_labels = labels if probs.shape[0] == 1 else np.empty((n, size), np.int32)
        sample_labels(indptr, cells, values, key, first + bounds[p], set_labels)
        for i in range(n if probs.shape[0] > 1 else 0):
            for s in range(size):
                labels[i, bounds[p] + s] = set_labels[i, s]


# --- exact inference ---------------------------------------------------------------------------------------


@kernel_in_place
def map_labels(indptr: Ints, antecedents: Ints32, probs: Floats, new_probs: Floats, labels: Ints32) -> None:
    """Label by each mention's likeliest antecedent; ties go to NEW, then to the nearest."""
    for i in range(labels.shape[0]):
        best = new_probs[i]
        labels[i] = i
        for c in range(indptr[i + 1] - 1, indptr[i] - 1, -1):
            if probs[c] > best:
                best = probs[c]
                labels[i] = labels[antecedents[c]]


@kernel
def link_marginals(indptr: Ints, antecedents: Ints32, probs: Floats, marginals: Floats) -> None:
    """marginals[j, :j] = sum over k of P(a_j = k) marginals[k, :j]; symmetric, unit diagonal.

    Columns are computed in blocks: one block of all rows fits the processor's cache, where whole rows do not. The
    order of the sums is that of whole rows, four candidates at a time.
    """
    n = marginals.shape[0]
    for start in range(0, n, COLUMNS):
        stop = min(start + COLUMNS, n)
        for j in range(start, n):
            size = min(stop, j) - start
            row = marginals[j, start : start + size]
            for i in range(size):
                row[i] = 0.0
            begin, end = indptr[j], indptr[j + 1]
            fours = begin + (end - begin) // 4 * 4
            eights = begin + (end - begin) // 8 * 8
            for c in range(begin, eights, 8):  # two times four, to load and store the row less often
                p0, p1, p2, p3 = probs[c], probs[c + 1], probs[c + 2], probs[c + 3]
                p4, p5, p6, p7 = probs[c + 4], probs[c + 5], probs[c + 6], probs[c + 7]
                k0, k1 = marginals[antecedents[c], start:stop], marginals[antecedents[c + 1], start:stop]
                k2, k3 = marginals[antecedents[c + 2], start:stop], marginals[antecedents[c + 3], start:stop]
                k4, k5 = marginals[antecedents[c + 4], start:stop], marginals[antecedents[c + 5], start:stop]
                k6, k7 = marginals[antecedents[c + 6], start:stop], marginals[antecedents[c + 7], start:stop]
                for i in range(size):
                    four = row[i] + ((p0 * k0[i] + p1 * k1[i]) + (p2 * k2[i] + p3 * k3[i]))
                    row[i] = four + ((p4 * k4[i] + p5 * k5[i]) + (p6 * k6[i] + p7 * k7[i]))
            for c in range(eights, fours, 4):
                p0, p1, p2, p3 = probs[c], probs[c + 1], probs[c + 2], probs[c + 3]
                k0, k1 = marginals[antecedents[c], start:stop], marginals[antecedents[c + 1], start:stop]
                k2, k3 = marginals[antecedents[c + 2], start:stop], marginals[antecedents[c + 3], start:stop]
                for i in range(size):
                    row[i] += (p0 * k0[i] + p1 * k1[i]) + (p2 * k2[i] + p3 * k3[i])
            for c in range(fours, end):
                p = probs[c]
                source = marginals[antecedents[c], start:stop]
                for i in range(size):
                    row[i] += p * source[i]
            for i in range(size):
                # Rounding can make the sum exceed 1.
                row[i] = min(row[i], 1.0)
            if j < stop:  # later rows of the block read these
                marginals[j, j] = 1.0
                for i in range(size):
                    marginals[start + i, j] = row[i]
        for i in range(start, stop):  # later blocks read these
            target = marginals[i, stop:]
            for j in range(n - stop):
                target[j] = marginals[stop + j, i]


@kernel_in_place
def root_posterior(indptr: Ints, antecedents: Ints32, probs: Floats, new_probs: Floats, roots: Floats) -> None:
    """roots[i, r] = sum over k of P(a_i = k) roots[k, r], and P(a_i = NEW) for r = i."""
    n = roots.shape[0]
    for i in range(n):
        row = roots[i]
        for r in range(n):
            row[r] = 0.0
        for c in range(indptr[i], indptr[i + 1]):
            p = probs[c]
            k = antecedents[c]
            source = roots[k]
            for r in range(k + 1):
                row[r] += p * source[r]
        for r in range(i):
            row[r] = min(row[r], 1.0)
        row[i] = new_probs[i]


@kernel_in_place
def clustering_log_prob(indptr: Ints, antecedents: Ints32, probs: Floats, new_probs: Floats, labels: Ints32) -> float:
    """Sum over mentions of log P(NEW) for a first mention, else of log P(an antecedent of the same cluster)."""
    total = 0.0
    for i in range(labels.shape[0]):
        p = 0.0
        if labels[i] == i:
            p = new_probs[i]
        else:
            for c in range(indptr[i], indptr[i + 1]):
                if labels[antecedents[c]] == labels[i]:
                    p += probs[c]
        if p <= 0.0:
            return -np.inf
        total += math.log(min(p, 1.0))
    return total


@kernel_in_place
def poisson_binomial(probs: Floats, pmf: Floats) -> None:
    """pmf[c] = P(c successes) of independent trials, by convolving one trial after another."""
    pmf[0] = 1.0
    for t in range(probs.shape[0]):
        p = probs[t]
        pmf[t + 1] = pmf[t] * p
        for c in range(t, 0, -1):
            pmf[c] = pmf[c] * (1.0 - p) + pmf[c - 1] * p
        pmf[0] *= 1.0 - p
