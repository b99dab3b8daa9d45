"""Compiled loops that draw clusterings in which some pairs of mentions are of different entities.

Legend of dimensions and names
    i, j, v : mention, in text order        n : number of mentions
    s    : sample                           e : candidate; those of mention i are at indptr[i]:indptr[i + 1]
    p    : set of probabilities (a draw of a recalibration)
    earlier[starts[i]:starts[i + 1]] : mentions before i that must not be of its entity
    w    : word of 64 classes of conflict   st : state of a draw that looks ahead

A draw of antecedents is consistent if no two mentions of a pair have one label. Try t of sample s has random words of
its own, those of SplitMix64 seeded with output t of SplitMix64 seeded with output s of SplitMix64 seeded with `key`. So
a sample depends on nothing but the key and its number, and not on mentions after the last one of a pair. The chains
have one such stream per chain and block of samples.
"""

from typing import NamedTuple

import numpy as np

from corefsample._arrays import Bools, Bytes, Floats, Ints, Ints32, Words
from corefsample._jit import inner_kernel, kernel, kernel_in_place
from corefsample._random_kernels import GAMMA, mix

TO_UNIT = 2.0**-53
U11 = np.uint64(11)
U0 = np.uint64(0)
BLOCKED, END = -1, -2  # next states: a draw that cannot be consistent; the last mention of a component


class Rows(NamedTuple):
    """Candidates of the mentions, and which mentions are of different entities."""

    indptr: Ints
    antecedents: Ints32
    starts: Ints
    earlier: Ints32


class Steps(NamedTuple):
    """Probabilities of draws that look ahead, in several sets.

    first : first state of each component     mentions : mention of each state
    rows  : where the candidates of each state begin, NEW after them
    following, transitions[p] : next state, and its probability, of each candidate of each state
    is_tracked : mention is in a component    allowed : mention can link to the candidate
    links[p], new[p], mass[p] : of other mentions; mass is the sum of NEW and the allowed candidates
    """

    first: Ints
    mentions: Ints
    rows: Ints
    following: Ints
    transitions: Floats
    is_tracked: Bools
    allowed: Bools
    links: Floats
    new: Floats
    mass: Floats


class Conflicts(NamedTuple):
    """Mentions by class of conflict: mentions of one class have the same cannot-link mentions.

    has_class : mention is in a cannot-link pair     mentions : those that are, ascending
    bits, barred : words of the class's bit, and of the classes that it cannot link to, by mention with a class
    """

    has_class: Bools
    mentions: Ints
    bits: Words
    barred: Words


@kernel_in_place
def clashes(starts: Ints, earlier: Ints32, labels: Ints32, clash: Bools) -> None:
    """Mark in clash (n, n_samples) the mentions of each pair that has one label."""
    for i in range(labels.shape[0]):
        for c in range(starts[i], starts[i + 1]):
            labels_i, labels_j = labels[i], labels[earlier[c]]
            clash_i, clash_j = clash[i], clash[earlier[c]]
            for s in range(labels_i.shape[0]):
                same = labels_i[s] == labels_j[s]
                clash_i[s] |= same
                clash_j[s] |= same


@kernel_in_place
def mark_relevant(indptr: Ints, antecedents: Ints32, is_possible: Bools, is_relevant: Bools) -> None:
    """Mark the mentions that matter, given some of them: possible antecedents of a mention that matters do."""
    for i in range(is_relevant.shape[0] - 1, -1, -1):
        for e in range(indptr[i], indptr[i + 1] if is_relevant[i] else indptr[i]):
            if is_possible[e]:
                is_relevant[antecedents[e]] = True


@kernel_in_place
def look_ahead(
    indptr: Ints, log_probs: Floats, log_new: Floats, mentions: Ints, rows: Ints, following: Ints, values: Floats,
    transitions: Floats,
) -> None:  # fmt: skip
    """Fill the probabilities of the transitions; values[st] is the log-probability of reaching END from st.

    A state is followed by states with higher numbers only.
    """
    for p in range(log_probs.shape[0]):
        for st in range(mentions.shape[0] - 1, -1, -1):
            i, begin = mentions[st], rows[st]
            n_links = indptr[i + 1] - indptr[i]
            top = -np.inf
            for c in range(n_links + 1):
                after = following[begin + c]
                if after != BLOCKED:
                    log_weight = log_new[p, i] if c == n_links else log_probs[p, indptr[i] + c]
                    if after != END:
                        log_weight += values[after]
                    transitions[p, begin + c] = log_weight
                    top = max(top, log_weight)
                else:
                    transitions[p, begin + c] = -np.inf
            total = 0.0
            for c in range(n_links + 1):
                transitions[p, begin + c] = np.exp(transitions[p, begin + c] - top)
                total += transitions[p, begin + c]
            for c in range(n_links + 1):
                transitions[p, begin + c] /= total
            values[st] = top + np.log(total)


@inner_kernel
def draw(rows: Rows, steps: Steps, p: int, state: np.uint64, choices: Ints, labels: Ints32, stops: bool) -> bool:
    """Draw the candidate of each mention (-1 for NEW) and the labels of one clustering; return if it is consistent.

    If `stops` is True, drawing ends at the first pair of mentions with one label.
    """
    indptr, antecedents, starts, earlier = rows
    for first in steps.first:
        st = first
        while st != END:
            i, begin = steps.mentions[st], steps.rows[st]
            n_links = indptr[i + 1] - indptr[i]
            remaining = np.float64(mix(state + np.uint64(i + 1) * GAMMA) >> U11) * TO_UNIT
            c = 0
            while c < n_links:
                remaining -= steps.transitions[p, begin + c]
                if remaining < 0.0:
                    break
                c += 1
            choices[i] = indptr[i] + c if c < n_links else -1
            st = steps.following[begin + c]
    consistent = True
    for i in range(labels.shape[0]):
        if not steps.is_tracked[i]:
            uniform = np.float64(mix(state + np.uint64(i + 1) * GAMMA) >> U11) * TO_UNIT
            remaining = uniform * steps.mass[p, i] - steps.new[p, i]
            e = indptr[i]
            while remaining >= 0.0 and e < indptr[i + 1]:
                remaining -= steps.links[p, e] if steps.allowed[e] else 0.0
                e += 1
            choices[i] = e - 1 if e > indptr[i] else -1
        labels[i] = i if choices[i] < 0 else labels[antecedents[choices[i]]]
        for c in range(starts[i], starts[i + 1]):
            if labels[earlier[c]] == labels[i]:
                consistent = False
                if stops:
                    return False
    return consistent


@kernel
def redraw(
    rows: Rows, steps: Steps, sets: Ints, key: np.uint64, numbers: Ints, first: int, most_tries: int, labels: Ints32,
    failed: Bools,
) -> None:  # fmt: skip
    """Draw labels[:, s] for each sample s in `numbers` until it is consistent; failed[s] if none of most_tries is.

    Sample s has the number first + s in the random stream; numbers[c] has the probabilities of set sets[c].
    """
    n = labels.shape[0]
    draw_labels, choices = np.empty(n, np.int32), np.empty(n, np.int64)
    stops = most_tries > 0  # no literal, for which `draw` would be compiled again
    for c in range(numbers.shape[0]):
        s = numbers[c]
        stream = mix(key + np.uint64(first + s + 1) * GAMMA)
        failed[s] = True
        for t in range(most_tries):
            if draw(rows, steps, sets[c], mix(stream + np.uint64(t + 1) * GAMMA), choices, draw_labels, stops):
                failed[s] = False
                for i in range(n):
                    labels[i, s] = draw_labels[i]
                break


@kernel
def first_choices(rows: Rows, steps: Steps, p: int, key: np.uint64, chain: int, most_tries: int, choices: Ints) -> bool:
    """Fill choices (n,) with the first consistent draw of a chain's stream; False if none of most_tries is."""
    n = choices.shape[0]
    labels, drawn, stops = np.empty(n, np.int32), np.empty(n, np.int64), most_tries > 0
    stream = mix(mix(key) + np.uint64(chain + 1) * GAMMA)
    for t in range(most_tries):
        if draw(rows, steps, p, mix(stream + np.uint64(t + 1) * GAMMA), drawn, labels, stops):
            for i in range(n):
                choices[i] = drawn[i]
            return True
    return False


@kernel_in_place
def draw_others(
    indptr: Ints, antecedents: Ints32, probs: Floats, new_probs: Floats, sets: Ints, is_relevant: Bools,
    key: np.uint64, numbers: Ints, first: int, labels: Ints32,
) -> None:  # fmt: skip
    """Draw the labels of the mentions that are in no part, in the samples `numbers`; sets, first: see `redraw`."""
    for c in range(numbers.shape[0]):
        s, links, new = numbers[c], probs[sets[c]], new_probs[sets[c]]
        stream = mix(key + np.uint64(first + s + 1) * GAMMA)
        for i in range(labels.shape[0]):
            if not is_relevant[i]:
                remaining = np.float64(mix(stream + np.uint64(i + 1) * GAMMA) >> U11) * TO_UNIT - new[i]
                e = indptr[i]
                while remaining >= 0.0 and e < indptr[i + 1]:
                    remaining -= links[e]
                    e += 1
                labels[i, s] = labels[antecedents[e - 1], s] if e > indptr[i] else i


@kernel
def try_draws(
    rows: Rows, steps: Steps, key: np.uint64, n_tries: int, enough: int, counts_links: bool, n_conflicts: Ints
) -> tuple[int, int]:
    """Draw until `enough` draws are consistent; return the number of draws and the number of consistent draws.

    If `counts_links`, n_conflicts[e] becomes the number of inconsistent draws in which candidate e is on the path
    between the two mentions of a pair.
    """
    antecedents, starts, earlier = rows.antecedents, rows.starts, rows.earlier
    n = starts.shape[0] - 1
    labels, choices, last = np.empty(n, np.int32), np.empty(n, np.int64), np.full(n_conflicts.shape[0], -1)
    n_consistent, p = 0, steps.links.shape[0] - 1  # of one set; no literal: see `redraw`
    for t in range(n_tries):
        stream = mix(key + np.uint64(t + 1) * GAMMA)
        if draw(rows, steps, p, mix(stream + GAMMA), choices, labels, not counts_links):
            n_consistent += 1
            if n_consistent == enough:
                return t + 1, n_consistent
            continue
        for i in range(n if counts_links else 0):
            for c in range(starts[i], starts[i + 1]):
                j = int(earlier[c])
                if labels[j] == labels[i]:
                    v = i
                    while v != j:  # links point backwards, so the later of the two is not above the other
                        if v < j:
                            v, j = j, v
                        e = choices[v]
                        if last[e] != t:
                            last[e] = t
                            n_conflicts[e] += 1
                        v = int(antecedents[e])
    return n_tries, n_consistent


@inner_kernel
def next_uniform(stream: np.uint64, counter: Ints) -> float:
    """Return the next double in [0, 1) of a chain's stream."""
    counter[0] += 1
    return np.float64(mix(stream + np.uint64(counter[0]) * GAMMA) >> U11) * TO_UNIT


@inner_kernel
def bar_roots(conflicts: Conflicts, labels: Ints32, side: Bytes, subtree: int, barred: Bools, words: Words) -> bool:
    """Mark the labels that a subtree cannot get, and collect the words of its classes; False if it has no class.

    Mentions v with side[v] == subtree are in the subtree; mentions with 0 are in no subtree that moves.
    """
    n_words = words.shape[0]
    empty = True
    for w in range(n_words):
        words[w] = U0
    for v in range(barred.shape[0]):
        barred[v] = False
    for c in range(conflicts.mentions.shape[0]):
        v = conflicts.mentions[c]
        if side[v] == subtree:
            empty = False
            for w in range(n_words):
                words[w] |= conflicts.bits[c, w]
    if empty:
        return False
    for c in range(conflicts.mentions.shape[0]):
        v = conflicts.mentions[c]
        if side[v] == 0:
            for w in range(n_words):
                if conflicts.barred[c, w] & words[w]:
                    barred[labels[v]] = True
    return True


@inner_kernel
def relink(antecedents: Ints32, choices: Ints, n_links: Ints, i: int, e: int) -> None:
    """Change the antecedent of mention i to the candidate e, or to NEW if e is -1."""
    if choices[i] >= 0:
        n_links[antecedents[choices[i]]] -= 1
    if e >= 0:
        n_links[antecedents[e]] += 1
    choices[i] = e


@inner_kernel
def move_one(
    rows: Rows, conflicts: Conflicts, probs: Floats, new: float, i: int, uniform: float, choices: Ints, n_links: Ints,
    labels: Ints32, side: Bytes, barred: Bools, words: Words,
) -> None:  # fmt: skip
    """Draw the antecedent of mention i given all other antecedents; if uniform < 0, take the likeliest instead.

    n_links[i] mentions have the antecedent i.
    """
    indptr, antecedents = rows.indptr, rows.antecedents
    end = labels.shape[0] if n_links[i] > 0 else i + 1
    side[i] = 1
    for v in range(i + 1, end):
        side[v] = 0 if choices[v] < 0 else side[antecedents[choices[v]]]
    is_free = end == i + 1 and not conflicts.has_class[i]
    checks = not is_free and bar_roots(conflicts, labels, side, 1, barred, words)
    is_drawn = is_free and uniform >= 0.0  # from all candidates, whose mass is 1
    mass, choice, best = (1.0 if is_drawn else new), -1, new
    for e in range(indptr[i], indptr[i] if is_drawn else indptr[i + 1]):
        if not (checks and barred[labels[antecedents[e]]]):
            mass += probs[e]
            if probs[e] > best:
                best, choice = probs[e], e
    if uniform >= 0.0:
        remaining, choice = uniform * mass - new, -1
        for e in range(indptr[i], indptr[i + 1]):
            if remaining < 0.0:
                break
            if probs[e] > 0.0 and not (checks and barred[labels[antecedents[e]]]):
                choice = e
                remaining -= probs[e]
    relink(antecedents, choices, n_links, i, choice)
    label = i if choice < 0 else labels[antecedents[choice]]
    for v in range(i, end):
        if side[v] == 1:
            labels[v] = label
            side[v] = 0


@inner_kernel
def move_two(
    rows: Rows, conflicts: Conflicts, probs: Floats, new: Floats, tops: Ints, i: int, j: int, uniform: float,
    choices: Ints, n_links: Ints, labels: Ints32, side: Bytes, barred: Bools, words: Words, barred_j: Bools,
    words_j: Words, weights: Floats,
) -> None:  # fmt: skip
    """Draw the antecedents of mentions i < j together, given all others, among NEW, tops[i] and tops[j].

    If a present antecedent is not among these, nothing changes, so the conditioned distribution is stationary.
    """
    antecedents, n, n_tops = rows.antecedents, labels.shape[0], tops.shape[1]
    present_i, present_j = choices[i] < 0, choices[j] < 0
    for a in range(n_tops):
        present_i |= choices[i] == tops[i, a]
        present_j |= choices[j] == tops[j, a]
    if not (present_i and present_j):
        return
    side[i] = 1
    for v in range(i + 1, n):
        side[v] = 2 if v == j else (0 if choices[v] < 0 else side[antecedents[choices[v]]])
    checks_i = bar_roots(conflicts, labels, side, 1, barred, words)
    checks_j = bar_roots(conflicts, labels, side, 2, barred_j, words_j)
    conflict = False  # the subtrees of i and j
    if checks_i and checks_j:
        for c in range(conflicts.mentions.shape[0]):
            if side[conflicts.mentions[c]] == 1:
                for w in range(words_j.shape[0]):
                    if conflicts.barred[c, w] & words_j[w]:
                        conflict = True
    total = 0.0
    for a in range(n_tops + 1):
        e_i = -1 if a == n_tops else tops[i, a]
        label_i = i if e_i < 0 else labels[antecedents[e_i]]
        allowed_i = (a == n_tops) or (e_i >= 0 and not (checks_i and barred[label_i]))
        weight_i = new[i] if e_i < 0 else probs[e_i]
        for b in range(n_tops + 1):
            weight = 0.0
            e_j = -1 if b == n_tops else tops[j, b]
            if allowed_i and b == n_tops:
                weight = weight_i * new[j]
            elif allowed_i and e_j >= 0:
                k = antecedents[e_j]
                inside = side[k] == 1
                label_j = label_i if inside else labels[k]
                new_entity = inside and e_i < 0  # that begins with i
                if not (conflict and label_j == label_i) and not (checks_j and not new_entity and barred_j[label_j]):
                    weight = weight_i * probs[e_j]
            weights[a, b] = weight
            total += weight
    remaining = uniform * total
    if total > 0.0:
        choice_i, choice_j, is_decided = -1, -1, False
        for a in range(n_tops + 1):
            for b in range(n_tops + 1):
                if not is_decided and weights[a, b] > 0.0:
                    choice_i = -1 if a == n_tops else tops[i, a]
                    choice_j = -1 if b == n_tops else tops[j, b]
                    remaining -= weights[a, b]
                    is_decided = remaining < 0.0
        relink(antecedents, choices, n_links, i, choice_i)
        relink(antecedents, choices, n_links, j, choice_j)
    for v in range(i, n):
        if side[v] != 0:
            labels[v] = v if choices[v] < 0 else labels[antecedents[choices[v]]]
            side[v] = 0


@kernel
def run_chains(
    rows: Rows, conflicts: Conflicts, probs: Floats, new_probs: Floats, sets: Ints, tops: Ints, pairs: Ints,
    key: np.uint64, first_chain: int, n_steps: int, starts: Ints, labels: Ints32,
) -> None:  # fmt: skip
    """Draw labels (n, n_samples) by Gibbs samplers: sample s is of chain s // n_steps.

    A step draws every second mention's antecedent given all others, and the antecedents of every second pair together;
    the next step draws the other mentions and pairs.

    Parameters
    ----------
    probs, new_probs
        (n_sets, n_candidates) and (n_sets, n): probabilities of candidates and of NEW in each set.
    sets
        (n_samples,): number of the set of each sample.
    tops
        (n, n_tops): likeliest candidates of each mention; -1 if a mention has fewer candidates.
    pairs
        (n_pairs, 2): mentions whose antecedents are drawn together, the earlier one first.
    first_chain
        Number of the first chain in the random stream `key`.
    starts
        (n_chains, n): candidates with which each chain starts, -1 for NEW; if the first is -2, the chain draws them one
        after another, in the order of the text or in the reverse order, each given those before.
    """
    n, n_samples = labels.shape
    n_chains = starts.shape[0]
    n_words = conflicts.bits.shape[1]
    choices, n_links, states = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int32)
    side, barred, barred_j = np.zeros(n, np.uint8), np.zeros(n, np.bool_), np.zeros(n, np.bool_)
    words, words_j = np.empty(n_words, np.uint64), np.empty(n_words, np.uint64)
    weights, counter = np.empty((tops.shape[1] + 1, tops.shape[1] + 1)), np.zeros(1, np.int64)
    for chain in range(n_chains):
        stream = mix(key + np.uint64(first_chain + chain + 1) * GAMMA)
        counter[0] = 0
        for i in range(n):
            n_links[i] = 0
        for i in range(n):
            choices[i] = max(starts[chain, i], -1)
            states[i] = i
            if choices[i] >= 0:
                states[i] = states[rows.antecedents[choices[i]]]
                n_links[rows.antecedents[choices[i]]] += 1
        for c in range(n if n > 0 and starts[chain, 0] < -1 else 0):
            i = n - 1 - c if (first_chain + chain) % 2 == 1 else c
            uniform, p = next_uniform(stream, counter), sets[chain * n_steps]
            move_one(
                rows, conflicts, probs[p], new_probs[p, i], i, uniform, choices, n_links, states, side, barred, words
            )
        for s in range(chain * n_steps, min((chain + 1) * n_steps, n_samples)):
            step = s - chain * n_steps
            links, new = probs[sets[s]], new_probs[sets[s]]
            for i in range(step & 1, n, 2):
                uniform = next_uniform(stream, counter)
                move_one(rows, conflicts, links, new[i], i, uniform, choices, n_links, states, side, barred, words)
            for c in range(step & 1, pairs.shape[0], 2):
                uniform = next_uniform(stream, counter)
                move_two(
                    rows, conflicts, links, new, tops, pairs[c, 0], pairs[c, 1], uniform, choices, n_links, states,
                    side, barred, words, barred_j, words_j, weights,
                )  # fmt: skip
            for i in range(n):
                labels[i, s] = states[i]
