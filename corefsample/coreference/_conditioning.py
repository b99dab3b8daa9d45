"""Clusterings conditioned on pairs of mentions that are of different entities.

Rejection sampling draws antecedents, where it is quick independently. Otherwise draws look ahead to the conflicts which
the links of later mentions cause.

Antecedents are drawn from the last mention to the first, so that the later mentions of an entity are known when the
antecedent of an earlier one is drawn. Only the classes of these mentions matter: two mentions are of one class if they
cannot link to the same mentions. A state has the classes of each mention whose antecedent is not drawn yet. The
probability that no conflict follows is computed exactly from state to state, last states first, and antecedents are
drawn in proportion to it.

All states of a document are too many, so only some links are tracked: a link that is not tracked does not add the
classes of the later mention to the earlier one. Then some draws are inconsistent, and are rejected. Accepted draws have
exactly the conditioned distribution, whichever links are tracked; a good choice of links makes rejections rare.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Literal

import numpy as np

from corefsample import _checks
from corefsample._arrays import Bools, ByValue, Floats, Ints, Ints32, Words
from corefsample._random import document_key
from corefsample.coreference import _conditioning_kernels as kernels
from corefsample.coreference._antecedents import AntecedentDistribution
from corefsample.coreference._conditioning_kernels import BLOCKED, END, Conflicts, Rows, Steps

Method = Literal["as drawn", "drawn again", "chain", "unsettled chain"]
METHODS: tuple[Method, ...] = ("as drawn", "drawn again", "chain", "unsettled chain")

_PILOT, _ENOUGH = 2000, 20  # number of independent draws; consistent draws among them with which rejection is quick
_MOST_TRIES = 1 << 14  # largest number of draws for one sample
_ROUNDS, _TRIES, _N_MORE = 10, 100, 8  # rounds in which tracked links are chosen, draws of a round, first new links
_GOOD, _LEAST = 0.3, 0.002  # consistent shares of draws from which no more links are tracked; below which chains start
_MOST_TRANSITIONS = 5_000  # between the states of draws that look ahead
_SMALLEST = 5e-324  # replaces a probability of 0 of NEW, because NEW is always consistent
_STEPS = 32  # samples of one chain
_TOPS, _PAIRS = 4, 48  # number of candidates and of pairs of mentions that a chain draws together


# Probabilities of a document's candidates, float64 (n_sets, n_candidates), and of NEW, (n_sets, n_mentions), in several
# sets, and the bounds of their samples, int64 (n_sets + 1,): samples bounds[p]:bounds[p + 1] have set p.
ProbabilitySets = tuple[Floats, Floats, Ints]


@dataclass(frozen=True, slots=True, eq=False)
class CannotLinks:
    """Pairs of mentions that are of different entities.

    Attributes
    ----------
    starts
        int64 (n_mentions + 1,): bounds of each mention's pairs in `earlier`.
    earlier
        int32 (n_pairs,): at starts[i]:starts[i + 1] the mentions before i that cannot be of its entity, ascending.
    counted
        Pairs whose clashes are counted. By default the clashes of all pairs are counted.
    """

    starts: Ints
    earlier: Ints32
    counted: CannotLinks | None = None

    @classmethod
    def of_pairs(cls, pairs: np.typing.ArrayLike, n_mentions: int, n_counted: int | None = None) -> CannotLinks:
        """Make the pairs from int (n_pairs, 2); clashes of the first n_counted pairs are counted, by default of all.

        Raises ParameterError if a pair does not consist of two different mentions of the document.
        """
        checked = _checks.pairs("cannot_link", pairs, n_mentions)
        starts = np.searchsorted(checked[:, 0], np.arange(n_mentions + 1))
        counted = None if n_counted is None else cls.of_pairs(np.asarray(pairs)[:n_counted], n_mentions)
        return cls(starts.astype(np.int64), checked[:, 1].astype(np.int32), counted)

    def clashes(self, labels: Ints32) -> Bools:
        """Whether a mention has the label of a mention that it cannot link to: bool, in the shape of labels."""
        clash = np.zeros(labels.shape, np.bool_)
        kernels.clashes(self.starts, self.earlier, labels, clash)
        return clash

    def condition(
        self,
        labels: Ints32,
        antecedents: AntecedentDistribution,
        sets: ProbabilitySets,
        *,
        seed: int,
        doc_id: str,
        first_sample: int,
    ) -> Conditioned:
        """Replace the independent samples in which the two mentions of a pair belong to one entity.

        Mentions that no chain of candidates connects are independent, so each connected part of the document is
        conditioned by itself. A sample of a part is the first consistent draw of its own stream (rejection sampling).
        Where 2,000 independent draws have fewer than 20 consistent ones, the proposals look ahead: see `Lookahead`.
        Where fewer than 0.2% of these are consistent, too, Markov chains that start from consistent draws give the
        samples. The samples of one chain count as one independent sample, because a chain may never leave the mode in
        which it starts, and what it does not show cannot be estimated from it.

        Parameters
        ----------
        labels
            int32 (n_mentions, n_samples): independent samples, of which the inconsistent ones are replaced.
        antecedents
            Distribution with the candidates.
        sets
            Sets of probabilities from which the samples were drawn; proposals are chosen by the first.
        seed, doc_id, first_sample
            Seed, document and first sample of the random stream: see `corefsample.sample_clusterings`.
        """
        clash = self.clashes(labels)
        has_clash: Bools = np.asarray(clash.any(axis=0))
        counted = clash if self.counted is None else self.counted.clashes(labels)
        conditioned = Conditioned(np.count_nonzero(counted, axis=1), "as drawn")
        if not has_clash.any():
            return conditioned
        parts, is_relevant = self._parts(antecedents)
        for part in parts:
            numbers = np.flatnonzero(clash[part].any(axis=0))
            if numbers.size:
                rows, of_part = self._within(part, antecedents, sets)
                part_labels, method = _conditioned_part(
                    rows, of_part, seed, f"{doc_id}\0{part[0]}", first_sample, numbers
                )
                labels[np.ix_(part, numbers)] = part[part_labels]
                inefficiency = 1.0 if method == "drawn again" else float(min(_STEPS, labels.shape[1]))
                conditioned += Conditioned(np.zeros_like(conditioned.n_clashes), method, inefficiency)
        key, numbers = np.uint64(document_key(seed, f"{doc_id}\0others")), np.flatnonzero(has_clash)
        candidates = antecedents.indptr, antecedents.antecedents, *sets[:2]
        set_of = np.searchsorted(sets[2], numbers, "right") - 1
        kernels.draw_others(*candidates, set_of, is_relevant, key, numbers, first_sample, labels)
        return conditioned

    def _parts(self, antecedents: AntecedentDistribution) -> tuple[list[Ints], Bools]:
        """Mentions of each connected part with a pair, ascending; and which mentions are in some part.

        A mention matters if it is in a pair, or can be an antecedent of a mention that matters. Parts are the connected
        components of these mentions; two mentions of different parts are never of one entity.
        """
        n_mentions, is_possible = antecedents.n_mentions, antecedents.probs > 0.0
        is_relevant, pair_later = np.diff(self.starts) > 0, np.repeat(np.arange(n_mentions), np.diff(self.starts))
        is_relevant[self.earlier] = True
        kernels.mark_relevant(antecedents.indptr, antecedents.antecedents, is_possible, is_relevant)
        later = np.repeat(np.arange(n_mentions), np.diff(antecedents.indptr))
        links = is_relevant[later] & is_possible
        number = _component_numbers(later[links], antecedents.antecedents[links], n_mentions)
        with_pair = np.unique(number[pair_later][number[pair_later] == number[self.earlier]])
        return [np.flatnonzero(is_relevant & (number == each)) for each in with_pair], is_relevant

    def _within(
        self, part: Ints, antecedents: AntecedentDistribution, sets: ProbabilitySets
    ) -> tuple[Rows, ProbabilitySets]:
        """Candidates and pairs of the mentions of a part, with their numbers in the part, and the probabilities."""
        n_mentions = antecedents.n_mentions
        position = np.full(n_mentions, -1)
        position[part] = np.arange(len(part))
        later = np.repeat(position, np.diff(antecedents.indptr))
        links = np.flatnonzero((later >= 0) & (antecedents.probs > 0.0))
        pair_later = np.repeat(position, np.diff(self.starts))
        pairs = (pair_later >= 0) & (position[self.earlier] >= 0)
        bounds = np.arange(len(part) + 1)
        rows = Rows(
            np.searchsorted(later[links], bounds).astype(np.int64),
            position[antecedents.antecedents[links]].astype(np.int32),
            np.searchsorted(pair_later[pairs], bounds).astype(np.int64),
            position[self.earlier[pairs]].astype(np.int32),
        )
        probs, new_probs, bounds_of_sets = sets
        of_links = probs if len(links) == probs.shape[1] else probs.take(links, axis=1)  # most parts have all links
        of_links.flags.writeable = False  # as those of a distribution: kernels are compiled once
        of_part = of_links, new_probs.take(part, axis=1), bounds_of_sets
        return rows, of_part


def _conditioned_part(
    rows: Rows, sets: ProbabilitySets, seed: int, stream: str, first_sample: int, numbers: Ints
) -> tuple[Ints32, Method]:
    """Consistent labels of one part in some samples, int32 (n_mentions, n), with the method."""
    probs, new_probs, bounds = sets
    # Proposals are chosen by the first set.
    proposals, share, n_conflicts = _proposals(rows, probs[:1], new_probs[:1], seed, stream)
    labels = np.empty((len(rows.starts) - 1, int(bounds[-1])), np.int32)
    failed: Bools = np.zeros(labels.shape[1], np.bool_)
    failed[numbers] = True
    if share >= _LEAST:
        key = np.uint64(document_key(seed, f"{stream}\0again"))
        steps, set_of = proposals.steps(probs, new_probs), np.searchsorted(bounds, numbers, "right") - 1
        kernels.redraw(rows, steps, set_of, key, numbers, first_sample, _MOST_TRIES, labels, failed)
    if not failed.any():
        return labels[:, numbers], "drawn again"
    key = np.uint64(document_key(seed, f"{stream}\0chain"))
    n_tries = _MOST_TRIES if share > 0.0 else 0  # of the start of a chain
    chained, is_exact = _chained(rows, sets, proposals, n_tries, n_conflicts, key, first_sample)
    labels[:, failed] = chained[:, failed]
    return labels[:, numbers], "chain" if is_exact else "unsettled chain"


@dataclass(frozen=True, slots=True, eq=False)
class Conditioned(ByValue):
    """Method and cost of making samples consistent with cannot-link pairs of mentions.

    Attributes
    ----------
    n_clashes
        int64 (n_mentions,): number of independent draws in which the mention shares its entity with a mention that it
        cannot link to, by the pairs that are counted. Its share estimates the probability before conditioning.
    method
        "as drawn" if no draw was inconsistent; "drawn again" if each inconsistent draw was repeated until it was
        consistent, which is exact; "chain" if some samples are states of Markov chains that start from such draws, so
        that each sample has the conditioned distribution; "unsettled chain" if no such start was obtained for some
        chain, so that the distribution can be another.
    inefficiency
        Number of samples that are worth one independent sample, at least 1: for chains, the number of
        samples of one chain, 32, which is an upper bound.
    """

    n_clashes: Ints
    method: Method
    inefficiency: float = 1.0

    def __add__(self, addend: Conditioned) -> Conditioned:
        """Method and cost for the samples of both operands together."""
        method = max(self.method, addend.method, key=METHODS.index)
        return Conditioned(self.n_clashes + addend.n_clashes, method, max(self.inefficiency, addend.inefficiency))


class ConflictClasses:
    """Classes of mentions that cannot link to the same mentions, as bits of whole numbers.

    Parameters
    ----------
    rows
        Candidates of the mentions, and the cannot-link pairs.

    Attributes
    ----------
    masks
        Classes of each mention as bits: its class, and each class whose cannot-link mentions are all such mentions
        of this one; 0 if the mention is in no pair.
    """

    def __init__(self, rows: Rows) -> None:
        self._rows, n_mentions = rows, len(rows.starts) - 1
        rivals_of: list[set[int]] = [set() for _ in range(n_mentions)]
        for later, earlier in zip(
            np.repeat(np.arange(n_mentions), np.diff(rows.starts)).tolist(), rows.earlier.tolist(), strict=True
        ):
            rivals_of[later].add(earlier)
            rivals_of[earlier].add(later)
        numbers: dict[frozenset[int], int] = {}
        self._classes = [numbers.setdefault(frozenset(rivals), len(numbers)) if rivals else -1 for rivals in rivals_of]
        self._barred = [0] * len(numbers)  # by class, the classes that it cannot link to
        for rivals, number in numbers.items():
            for mention in rivals:
                self._barred[number] |= 1 << self._classes[mention]
        self.barred_by, self.closure = cache(self._barred_by), cache(self._closure)
        self.masks = [0 if number < 0 else self.closure(1 << number) for number in self._classes]

    def _barred_by(self, mask: int) -> int:
        """Classes, as bits, that some class of a mask cannot link to."""
        barred = 0
        for number, barred_mask in enumerate(self._barred):
            if mask >> number & 1:
                barred |= barred_mask
        return barred

    def _closure(self, mask: int) -> int:
        """The mask plus every class that bars only classes which the mask bars: equivalent entities become equal."""
        barred = self.barred_by(mask)
        return sum(1 << number for number, barred_mask in enumerate(self._barred) if not barred_mask & ~barred)

    @cached_property
    def allowed(self) -> Bools:
        """True for each candidate that its mention can link to: bool (n_candidates,)."""
        later = np.repeat(np.arange(len(self.masks)), np.diff(self._rows.indptr)).tolist()
        pairs = zip(later, self._rows.antecedents.tolist(), strict=True)
        return np.array([not self.barred_by(self.masks[i]) & self.masks[k] for i, k in pairs], np.bool_)

    def arrays(self) -> Conflicts:
        """Classes of the mentions, and the classes that each class bars, as arrays for kernels."""
        has_class = np.array(self._classes) >= 0
        classes, n_words = [number for number in self._classes if number >= 0], (len(self._barred) + 63) // 64

        def words(masks: list[int]) -> Words:
            text = b"".join(mask.to_bytes(8 * n_words, "little") for mask in masks)
            return np.frombuffer(text, np.dtype("<u8")).astype(np.uint64).reshape(len(masks), n_words)

        bits, barred = [1 << number for number in classes], [self._barred[number] for number in classes]
        return Conflicts(has_class, np.flatnonzero(has_class), words(bits), words(barred))


@dataclass(frozen=True, slots=True, eq=False)
class Lookahead:
    """States of the tracked mentions of a document, and which state follows which candidate.

    Attributes
    ----------
    rows
        Candidates of the mentions, and the cannot-link pairs.
    tracked
        bool (n_candidates,): whether the link to the candidate is tracked.
    allowed
        bool (n_candidates,): False if the mention has no state and cannot link to the candidate.
    first, mentions, offsets, following
        int64: states of the tracked mentions and their successors; see `Steps`.
    """

    rows: Rows
    tracked: Bools
    allowed: Bools
    first: Ints
    mentions: Ints
    offsets: Ints
    following: Ints

    def steps(self, probs: Floats, new_probs: Floats) -> Steps:
        """Probabilities of the draws, of sets of probabilities (n_sets, n_candidates) and (n_sets, n_mentions)."""
        values, transitions = np.empty(len(self.mentions)), np.empty((len(probs), len(self.following)))
        states = self.mentions, self.offsets, self.following
        if len(self.mentions):
            with np.errstate(divide="ignore"):
                log_probs, log_new = np.log(probs), np.log(np.maximum(new_probs, _SMALLEST))
            kernels.look_ahead(self.rows.indptr, log_probs, log_new, *states, values, transitions)
        mass, is_tracked = np.ones(new_probs.shape), np.zeros(new_probs.shape[1], np.bool_)
        for mention in np.unique(np.repeat(np.arange(len(is_tracked)), np.diff(self.rows.indptr))[~self.allowed]):
            links = slice(*self.rows.indptr[mention : mention + 2])
            # Added one by one, in the order in which a draw subtracts them.
            sums = np.where(self.allowed[links], probs[:, links], 0.0).cumsum(axis=1)
            mass[:, mention] = sums[:, -1] + new_probs[:, mention]
        is_tracked[self.mentions] = True
        return Steps(self.first, *states, transitions, is_tracked, self.allowed, probs, new_probs, mass)


def _lookahead(rows: Rows, classes: ConflictClasses, tracked: Bools) -> Lookahead | None:
    """States for some tracked links, bool (n_candidates,); None if they have too many transitions between them."""
    masks, indptr = classes.masks, rows.indptr.tolist()
    first: list[int] = []
    mentions: list[int] = []
    lengths: list[int] = []
    following: list[Ints] = []
    for members in _components(rows, tracked):
        position = {mention: p for p, mention in enumerate(members)}
        first.append(len(mentions))
        states = {tuple(masks[mention] for mention in members): len(mentions)}
        for p, mention in enumerate(members):
            candidates = range(indptr[mention], indptr[mention + 1])
            antecedents = rows.antecedents[candidates.start : candidates.stop].tolist()
            links_inside = [
                (c, e, position[k] - p)
                for c, (e, k) in enumerate(zip(candidates, antecedents, strict=True))
                if k in position
            ]
            is_apart: dict[int, Bools] = {}  # of the candidates, by the classes of the mention's entity
            begin = len(mentions) + len(states)
            after: dict[tuple[int, ...], int] = {(): END} if p == len(members) - 1 else {}
            for mask, *other_masks in states:
                barred, remainder = classes.barred_by(mask), tuple(other_masks)
                if mask not in is_apart:
                    is_apart[mask] = np.array([barred & masks[k] != 0 for k in antecedents] + [False], np.bool_)
                row = np.where(is_apart[mask], BLOCKED, after.setdefault(remainder, begin + len(after)))
                for c, e, q in links_inside if mask else ():
                    if barred & other_masks[q - 1]:
                        row[c] = BLOCKED
                    elif tracked[e]:
                        closure = classes.closure(mask | other_masks[q - 1])
                        joined_masks = (*other_masks[: q - 1], closure, *other_masks[q:])
                        row[c] = after.setdefault(joined_masks, begin + len(after))
                following.append(row)
            mentions += [mention] * len(states)
            lengths += [len(antecedents) + 1] * len(states)
            if sum(lengths) > _MOST_TRANSITIONS:
                return None
            states = after
    arrays = np.array(first, np.int64), np.array(mentions, np.int64), np.cumsum([0, *lengths])[:-1]
    return Lookahead(rows, tracked, classes.allowed, *arrays, np.concatenate([np.zeros(0, np.int64), *following]))


def _components(rows: Rows, tracked: Bools) -> Iterator[list[int]]:
    """Yield the mentions that tracked links connect, the last one first."""
    n_mentions = len(rows.starts) - 1
    later = np.repeat(np.arange(n_mentions), np.diff(rows.indptr))[tracked]
    numbers = _component_numbers(later, rows.antecedents[tracked], n_mentions)
    for number in np.flatnonzero(np.bincount(numbers) > 1):
        yield np.flatnonzero(numbers == number)[::-1].tolist()


def _component_numbers(later: Ints, earlier: Ints32, n_mentions: int) -> Ints:
    """Number of the connected component of each mention, given the mentions of each link."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    graph = coo_array((np.ones(len(later)), (later, earlier)), shape=(n_mentions, n_mentions))
    return np.asarray(connected_components(graph, directed=False)[1], np.int64)


def _proposals(rows: Rows, probs: Floats, new_probs: Floats, seed: int, stream: str) -> tuple[Lookahead, float, Ints]:
    """Proposals for rejection sampling with one set of probabilities, their consistent share, and conflicts of links.

    A link is tracked if it was on the path between two mentions of a pair in rejected draws, frequent links first.
    """
    key = np.uint64(document_key(seed, f"{stream}\0pilot"))
    scored, n_candidates = (probs, new_probs), probs.shape[1]
    n_conflicts: Ints = np.zeros(n_candidates, np.int64)
    none, every = np.zeros(0, np.int64), np.ones(n_candidates, np.bool_)
    best = Lookahead(rows, ~every, every, none, none, none, none)  # independent draws
    _, n_consistent = kernels.try_draws(rows, best.steps(*scored), key, _PILOT, _ENOUGH, False, n_conflicts)
    if n_consistent == _ENOUGH:
        return best, 1.0, n_conflicts
    classes = ConflictClasses(rows)
    best_share, n_more, tracked = 0.0, _N_MORE, np.zeros(n_candidates, np.bool_)
    candidate = _lookahead(rows, classes, tracked)
    for _ in range(_ROUNDS):
        if candidate is not None:
            candidate_proposals, n_more = candidate, 2 * n_more
            tracked = candidate_proposals.tracked
            n_conflicts = np.zeros(n_candidates, np.int64)
            steps = candidate_proposals.steps(*scored)
            n_tries, n_good = kernels.try_draws(rows, steps, key, _TRIES, _TRIES, True, n_conflicts)
            if n_good >= best_share * n_tries:
                best, best_share = candidate_proposals, n_good / n_tries
        else:
            n_more //= 4
        untracked = np.where(tracked, 0, n_conflicts)
        if best_share >= _GOOD or n_more == 0 or not untracked.any():
            break
        frequent = np.argsort(-untracked, kind="stable")[:n_more]
        more_links = tracked.copy()
        more_links[frequent[untracked[frequent] > 0]] = True
        candidate = _lookahead(rows, classes, more_links)
    if best_share < 10 * _LEAST:  # 100 draws do not tell
        most = int(_ENOUGH / _LEAST)
        n_tries, n_good = kernels.try_draws(rows, best.steps(*scored), key, most, _ENOUGH, False, n_conflicts)
        best_share = n_good / n_tries
    return best, best_share, n_conflicts


def _chained(
    rows: Rows,
    sets: ProbabilitySets,
    proposals: Lookahead,
    n_tries: int,
    n_conflicts: Ints,
    key: np.uint64,
    first_sample: int,
) -> tuple[Ints32, bool]:
    """Labels from Markov chains, int32 (n_mentions, n_samples), and whether all starts are exact."""
    probs, new_probs, bounds = sets
    scored_probs, n_mentions = probs[0], len(rows.starts) - 1
    set_of_sample = np.repeat(np.arange(len(probs)), np.diff(bounds))
    conflicts, tops = ConflictClasses(rows).arrays(), _likeliest(rows.indptr, scored_probs)
    pairs = _joint_moves(rows, scored_probs, n_conflicts)
    first_chain = first_sample // _STEPS
    before = first_sample - first_chain * _STEPS  # samples of the first chain that are not requested
    numbers = np.pad(set_of_sample, (before, 0), mode="edge")
    starts = np.full((-(-len(numbers) // _STEPS), n_mentions), -2)  # without a consistent draw
    is_exact, steps = True, proposals.steps(probs, new_probs)
    for chain, start in enumerate(starts):
        p, stream = numbers[chain * _STEPS], first_chain + chain
        is_exact &= bool(kernels.first_choices(rows, steps, p, key, stream, n_tries, start))
    labels = np.empty((n_mentions, len(numbers)), np.int32)
    # A copy can be written to, as the kernel is compiled for.
    kernels.run_chains(
        *(rows, conflicts, probs.copy(), new_probs, numbers, tops, pairs, key, first_chain, _STEPS, starts, labels)
    )
    return labels[:, before:], is_exact


def _likeliest(indptr: Ints, probs: Floats) -> Ints:
    """The likeliest candidates of each mention, int64 (n_mentions, 4); -1 if a mention has fewer candidates."""
    tops = np.full((len(indptr) - 1, _TOPS), -1, np.int64)
    for mention, (begin, end) in enumerate(zip(indptr[:-1].tolist(), indptr[1:].tolist(), strict=True)):
        order = np.argsort(-probs[begin:end], kind="stable")[:_TOPS]
        tops[mention, : len(order)] = begin + order
    return tops


def _joint_moves(rows: Rows, probs: Floats, n_conflicts: Ints) -> Ints:
    """Pairs of mentions whose antecedents compete, int64 (n_pairs, 2), the earlier mention first.

    Both mentions take part in conflicts, and they have a common antecedent, or one is an antecedent of the other: only
    a joint draw can exchange which of them has it.
    """
    from scipy.sparse import csr_array

    n_mentions = len(rows.starts) - 1
    later = np.repeat(np.arange(n_mentions), np.diff(rows.indptr))
    tension = np.bincount(later, n_conflicts, n_mentions)
    links = csr_array((probs, rows.antecedents, rows.indptr), shape=(n_mentions, n_mentions))
    common = (links @ links.T + links).tocoo()
    weights = common.data * np.minimum(tension[common.row], tension[common.col])
    weights[(common.row <= common.col)] = 0.0
    order = np.argsort(-weights, kind="stable")[:_PAIRS]
    order = order[weights[order] > 0.0]
    return np.stack((common.col[order], common.row[order]), axis=1).astype(np.int64)
