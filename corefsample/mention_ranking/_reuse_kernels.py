"""Compiled loops that score the antecedents in several parses of one document, most of whose features are the same.

A mention of a parse is compared with the mention of the first parse that has the same head. Where a template has the
same atoms, its weight is taken from there; a pair's score is then the sum of the same weights in the same order.

Legend
    i, k : mention, candidate antecedent of a parse      a, b : the mentions of the first parse with the same heads
    t, w : template, word of 64 templates                g : 0 for templates of pronouns, 1 for those of phrases
    rows : mentions a of the first parse whose weights are known, first_row <= a
"""

from __future__ import annotations

from typing import NamedTuple

from corefsample._arrays import Floats, Floats32, Ints, Ints32, Words, Words32
from corefsample._jit import inner_kernel, kernel_in_place
from corefsample.mention_ranking._kernels import RowScratch, keep_row, new_score, summed
from corefsample.mention_ranking.features import _codes as codes
from corefsample.mention_ranking.features._codes import Fact, PairAtom
from corefsample.mention_ranking.features._hash_kernels import U32, U64, Hashed, fill_buckets, pair_bucket
from corefsample.mention_ranking.features._pair_kernels import Encoded, compare

N_PAIR_ATOMS = len(PairAtom)
WORD = 64
ONE = U64(1)


class Known(NamedTuple):
    """Weights of the pairs of some mentions of the first parse."""

    scores: Floats  # (rows, n of the first parse), without the penalty of clashes
    weights: Floats32  # (rows, n of the first parse, t)
    atoms: Words32  # (rows, n of the first parse, N_PAIR_ATOMS)


class Changed(NamedTuple):
    """Templates that differ from the first parse, as bits; and what `score_again` works with."""

    by_mention: Words  # (w,)
    by_candidate: Words  # (2, n, w)
    by_atom: Words  # (2, N_PAIR_ATOMS, w)
    of_pair: Words  # (w,)
    weights: Floats32  # (t,)
    places: Words32  # (t,): 0, 1, 2 ...


@inner_kernel
def _is_pronoun(doc: Encoded, i: int) -> bool:
    pronoun: bool = doc.facts[i, Fact.CLASS] <= codes.CLASS_OTHER_PRONOUN
    return pronoun


@kernel_in_place
def fill_known(
    doc: Encoded, hashed: Hashed, weights: Floats32, first_row: int, last_row: int, scratch: RowScratch, known: Known
) -> None:
    """Fill the weights of the pairs of mentions first_row to last_row of the first parse, and their pair atoms."""
    _, buckets, pair, between, _ = scratch
    mask = U32(weights.shape[0] - 1)
    for a in range(first_row, last_row):
        between[0], between[1], between[2] = 0, 0, 0
        pronoun = _is_pronoun(doc, a)
        templates = hashed.pair_0 if pronoun else hashed.pair_1
        for b in range(a - 1, -1, -1):
            compare(doc, a, b, between, pair)
            if pronoun:
                fill_buckets(hashed.mention_0[a], hashed.candidate_0[b], hashed.pair_0, pair, mask, buckets)
            else:
                fill_buckets(hashed.mention_1[a], hashed.candidate_1[b], hashed.pair_1, pair, mask, buckets)
            known.scores[a - first_row, b] = summed(weights, buckets, templates)
            for t in range(templates.shape[0]):
                known.weights[a - first_row, b, t] = weights[buckets[t]]
            for x in range(pair.shape[0]):
                known.atoms[a - first_row, b, x] = pair[x]


@inner_kernel
def _fill_differences(ours: Words32, theirs: Words32, bits: Words) -> None:
    """Set the bits of the templates whose hashes differ, and clear the others."""
    for w in range(bits.shape[0]):
        bits[w] = U64(0)
    for t in range(ours.shape[0]):
        if ours[t] != theirs[t]:
            bits[t // WORD] |= ONE << U64(t % WORD)


@kernel_in_place
def fill_changed(hashed: Hashed, first: Hashed, aligned: Ints, changed: Changed) -> None:
    """Fill what a parse has differently from the first one: by candidate, and by atom of the pair.

    aligned (n,) : the mention of the first parse with the same head, -1 for none.
    """
    for k in range(aligned.shape[0]):
        b = aligned[k]
        if b >= 0:
            _fill_differences(hashed.candidate_0[k], first.candidate_0[b], changed.by_candidate[0, k])
            _fill_differences(hashed.candidate_1[k], first.candidate_1[b], changed.by_candidate[1, k])
    for g in range(2):
        atoms = hashed.pair_0 if g == 0 else hashed.pair_1
        for t in range(atoms.shape[0]):
            for column in range(2):
                changed.by_atom[g, atoms[t, column], t // WORD] |= ONE << U64(t % WORD)


@inner_kernel
def _changed_score(
    weights: Floats32,
    mention: Words32,
    candidate: Words32,
    atoms: Ints32,
    pair: Words32,
    known: Floats32,
    changed: Changed,
) -> float:
    """Score of a pair: the known weights, and new ones of the templates that have changed."""
    n_templates = atoms.shape[0]
    mask = U32(weights.shape[0] - 1)
    found = changed.weights
    for t in range(n_templates):
        if changed.of_pair[t // WORD] >> U64(t % WORD) & ONE:
            found[t] = weights[pair_bucket(mention, candidate, atoms, pair, mask, t)]
        else:
            found[t] = known[t]
    return summed(found, changed.places, atoms)


@inner_kernel
def _score_row(
    doc: Encoded,
    hashed: Hashed,
    i: int,
    weights: Floats32,
    scratch: RowScratch,
    aligned: Ints,
    row_of_first: int,
    known: Known,
    changed: Changed,
) -> None:
    """Fill the scores of i's candidates, where row_of_first is the row of the known weights of its counterpart."""
    row, buckets, pair, between, best = scratch
    mask = U32(weights.shape[0] - 1)
    between[0], between[1], between[2] = 0, 0, 0
    best[0], best[1] = 0, 0
    g = 0 if _is_pronoun(doc, i) else 1
    of_pair = changed.of_pair
    for k in range(i - 1, -1, -1):
        level = compare(doc, i, k, between, pair)
        if level > best[0]:
            best[0], best[1] = level, pair[PairAtom.SENTENCES]
        b = aligned[k]
        if 0 <= b < aligned[i]:
            for w in range(of_pair.shape[0]):
                of_pair[w] = changed.by_mention[w] | changed.by_candidate[g, k, w]
            differs = U32(0)
            for x in range(pair.shape[0]):
                differs |= pair[x] ^ known.atoms[row_of_first, b, x]
            if differs:
                for x in range(pair.shape[0]):
                    if pair[x] != known.atoms[row_of_first, b, x]:
                        for w in range(of_pair.shape[0]):
                            of_pair[w] |= changed.by_atom[g, x, w]
            any_changed = U64(0)
            for w in range(of_pair.shape[0]):
                any_changed |= of_pair[w]
            if not any_changed:
                row[k] = known.scores[row_of_first, b]
            elif g == 0:
                row[k] = _changed_score(
                    weights, hashed.mention_0[i], hashed.candidate_0[k], hashed.pair_0, pair,
                    known.weights[row_of_first, b], changed,
                )  # fmt: skip
            else:
                row[k] = _changed_score(
                    weights, hashed.mention_1[i], hashed.candidate_1[k], hashed.pair_1, pair,
                    known.weights[row_of_first, b], changed,
                )  # fmt: skip
        elif g == 0:
            fill_buckets(hashed.mention_0[i], hashed.candidate_0[k], hashed.pair_0, pair, mask, buckets)
            row[k] = summed(weights, buckets, hashed.pair_0)
        else:
            fill_buckets(hashed.mention_1[i], hashed.candidate_1[k], hashed.pair_1, pair, mask, buckets)
            row[k] = summed(weights, buckets, hashed.pair_1)
        row[k] -= codes.CLASH_PENALTY * pair[PairAtom.CLASH]


@kernel_in_place
def score_again(
    doc: Encoded,
    hashed: Hashed,
    weights: Floats32,
    min_prob: float,
    first: int,
    scratch: RowScratch,
    indptr: Ints,
    dropped: Floats,
    candidates: Ints32,
    scores: Floats,
    doc_of_first: Encoded,
    hashed_of_first: Hashed,
    aligned: Ints,
    first_row: int,
    last_row: int,
    known: Known,
    changed: Changed,
) -> int:
    """Do what `score_kept` does, with known weights of the mentions first_row to last_row of the first parse.

    It ends before the first mention whose counterpart is a later one, too, if the first parse has any.
    """
    n: int = doc.mentions.shape[0]
    more = last_row < doc_of_first.mentions.shape[0]
    n_kept = indptr[first]
    for i in range(first, n):
        a = aligned[i]
        if n_kept + i > candidates.shape[0] or (more and a >= last_row):
            return i
        pronoun = _is_pronoun(doc, i)
        if a < first_row or pronoun != _is_pronoun(doc_of_first, a):
            aligned[i] = -1
            row_of_first = 0
        else:
            row_of_first = a - first_row
            if pronoun:
                _fill_differences(hashed.mention_0[i], hashed_of_first.mention_0[a], changed.by_mention)
            else:
                _fill_differences(hashed.mention_1[i], hashed_of_first.mention_1[a], changed.by_mention)
        _score_row(doc, hashed, i, weights, scratch, aligned, row_of_first, known, changed)
        aligned[i] = a
        new = new_score(hashed, i, weights, scratch.best)
        n_kept = keep_row(i, new, min_prob, scratch.row, n_kept, dropped, candidates, scores)
        indptr[i + 1] = n_kept
    return n
