"""Draws of antecedents that look ahead to the conflicts which the links of later mentions cause.

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
from typing import Self

import numpy as np

from corefsample._arrays import Bools, Floats, Ints, Words
from corefsample.coreference import _conditioning_kernels as kernels
from corefsample.coreference._conditioning_kernels import BLOCKED, END, Conflicts, Rows, Steps

_SMALLEST = 5e-324  # replaces a probability of 0 of NEW, because NEW is always consistent


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

    @cached_property
    def arrays(self) -> Conflicts:
        """Classes of the mentions, and the classes that each class bars, as arrays for kernels."""
        has_class = np.array(self._classes) >= 0
        classes, n_words = [number for number in self._classes if number >= 0], (len(self._barred) + 63) // 64
        bits, barred = [1 << number for number in classes], [self._barred[number] for number in classes]
        return Conflicts(has_class, np.flatnonzero(has_class), _words(bits, n_words), _words(barred, n_words))


def _words(masks: list[int], n_words: int) -> Words:
    """The bits of whole numbers: uint64 (n_masks, n_words)."""
    text = b"".join(mask.to_bytes(8 * n_words, "little") for mask in masks)
    return np.frombuffer(text, np.dtype("<u8")).astype(np.uint64).reshape(len(masks), n_words)


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
    is_tracked
        bool (n_mentions,): whether the mention has states.
    first, mentions, offsets, following
        int64: states of the tracked mentions and their successors; see `Steps`.
    """

    rows: Rows
    tracked: Bools
    allowed: Bools
    is_tracked: Bools
    first: Ints
    mentions: Ints
    offsets: Ints
    following: Ints

    def steps(self, probs: Floats, new_probs: Floats) -> Steps:
        """Probabilities of the draws, of one set of probabilities (n_candidates,) and (n_mentions,)."""
        values, transitions = np.empty(len(self.mentions)), np.empty(len(self.following))
        if len(self.mentions):
            with np.errstate(divide="ignore"):
                log_probs, log_new = np.log(probs), np.log(np.maximum(new_probs, _SMALLEST))
            states = self.mentions, self.offsets, self.following
            kernels.look_ahead(self.rows.indptr, log_probs, log_new, *states, values, transitions)
        links = np.where(self.allowed, probs, 0.0)
        later = np.repeat(np.arange(len(new_probs)), np.diff(self.rows.indptr))
        allowed = np.bincount(later, links, len(new_probs)) + new_probs
        mass = np.where(np.bincount(later[~self.allowed], minlength=len(new_probs)) > 0, allowed, 1.0)
        first, mentions, offsets, following = self.first, self.mentions, self.offsets, self.following
        return Steps(first, mentions, offsets, following, transitions, self.is_tracked, links, new_probs, mass)

    @classmethod
    def of_independent_draws(cls, rows: Rows, n_candidates: int) -> Self:
        """Independent draws, which do not look ahead."""
        none, every = np.zeros(0, np.int64), np.ones(n_candidates, np.bool_)
        return cls(rows, ~every, every, np.zeros(len(rows.starts) - 1, np.bool_), none, none, none, none)

    @classmethod
    def of_links(cls, rows: Rows, classes: ConflictClasses, tracked: Bools, most_transitions: int) -> Self | None:
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
                if sum(lengths) > most_transitions:
                    return None
                states = after
        is_tracked = np.zeros(len(masks), np.bool_)
        is_tracked[mentions] = True
        offsets = np.cumsum([0, *lengths])[:-1]
        arrays = np.array(first, np.int64), np.array(mentions, np.int64), offsets
        return cls(
            rows, tracked, classes.allowed, is_tracked, *arrays, np.concatenate([np.zeros(0, np.int64), *following])
        )


def _components(rows: Rows, tracked: Bools) -> Iterator[list[int]]:
    """Yield the mentions that tracked links connect, the last one first."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n_mentions = len(rows.starts) - 1
    later = np.repeat(np.arange(n_mentions), np.diff(rows.indptr))[tracked]
    graph = coo_array((np.ones(len(later)), (later, rows.antecedents[tracked])), shape=(n_mentions, n_mentions))
    _, numbers = connected_components(graph, directed=False)
    for number in np.flatnonzero(np.bincount(numbers) > 1):
        yield np.flatnonzero(numbers == number)[::-1].tolist()
