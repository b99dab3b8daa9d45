"""Clusterings given that some pairs of mentions are of different entities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from corefsample._arrays import Bools, Floats, Ints, Ints32
from corefsample._equality import ByValue
from corefsample._random import document_key
from corefsample.coreference import _distinct_kernels
from corefsample.coreference._antecedents import AntecedentDistribution, later_and_earlier

Way = Literal["as drawn", "drawn again", "chain"]
WAYS: tuple[Way, ...] = ("as drawn", "drawn again", "chain")

_PILOT, _PILOT_CONSISTENT = 2000, 20  # draws that decide whether drawing again is quick enough
_MOST_TRIES = 1 << 14  # of one sample
_STEPS = 200  # of a chain


@dataclass(frozen=True, slots=True, eq=False)
class Apart:
    """Pairs of mentions that are of different entities.

    Attributes
    ----------
    starts
        int64 (n_mentions + 1,).
    earlier
        int32 (n_pairs,): at starts[i]:starts[i + 1] the mentions before i that are apart from it, ascending.
    counted
        Those of the pairs whose clashes are counted; None: all.
    """

    starts: Ints
    earlier: Ints32
    counted: Apart | None = None

    @classmethod
    def of_pairs(cls, pairs: npt.ArrayLike, n_mentions: int, n_counted: int | None = None) -> Apart:
        """From int (n_pairs, 2), of which the first n_counted are counted, or all.

        Raises ParameterError if a pair is not of two different mentions.
        """
        given = later_and_earlier("apart", pairs, n_mentions)
        starts = np.searchsorted(given[:, 0], np.arange(n_mentions + 1))
        counted = None if n_counted is None else cls.of_pairs(np.asarray(pairs)[:n_counted], n_mentions)
        return cls(starts.astype(np.int64), given[:, 1].astype(np.int32), counted)

    def clashes(self, labels: Ints32) -> Bools:
        """Whether each mention has the label of one that is apart from it: bool, in the shape of labels."""
        clash = np.zeros(labels.shape, np.bool_)
        _distinct_kernels.clashes(self.starts, self.earlier, labels, clash)
        return clash


@dataclass(frozen=True, slots=True, eq=False)
class Conditioned(ByValue):
    """What it took to make samples consistent with pairs that are apart.

    Attributes
    ----------
    n_clashes
        int64 (n_mentions,): independent draws in which the mention is of one entity with one that is apart from it, by
        the pairs that are counted. Its share estimates the probability before conditioning.
    way
        "as drawn" if no draw was inconsistent; "drawn again" if each inconsistent one was, until it was consistent, as
        from the conditioned distribution; "chain" if some are the ends of Markov chains of 200 steps, which come close
        to it.
    """

    n_clashes: Ints
    way: Way

    def __add__(self, other: Conditioned) -> Conditioned:
        """What it took for the samples of both."""
        return Conditioned(self.n_clashes + other.n_clashes, max(self.way, other.way, key=WAYS.index))


def condition(
    antecedents: AntecedentDistribution,
    apart: Apart,
    labels: Ints32,
    *,
    probs: Floats,
    new_probs: Floats,
    bounds: Ints,
    seed: int,
    doc_id: str,
    first_sample: int,
) -> Conditioned:
    """Replace the inconsistent ones of independent draws, in place, by draws of the conditioned distribution.

    Parameters
    ----------
    antecedents
        Of the document.
    apart
        The pairs.
    labels
        int32 (n_mentions, n_samples).
    probs, new_probs
        float64 (n_sets, n_candidates) and (n_sets, n_mentions): those of labels[:, bounds[p]:bounds[p + 1]].
    bounds
        int64 (n_sets + 1,).
    seed, doc_id, first_sample
        Of the draws.

    Notes
    -----
    A sample is the first consistent draw of its own stream (rejection sampling). Where 2,000 draws of another stream
    have fewer than 20 consistent ones, that would take long; then a Markov chain of its own gives each such sample.
    """
    clash = apart.clashes(labels)
    wrong = np.flatnonzero(clash.any(axis=0))
    n_clashes = np.count_nonzero(clash if apart.counted is None else apart.counted.clashes(labels), axis=1)
    if not wrong.size:
        return Conditioned(n_clashes, "as drawn")
    pairs = apart.starts, apart.earlier
    pilot = np.empty((labels.shape[0], _PILOT), np.int32)
    own = antecedents.indptr, antecedents.antecedents, antecedents.probs, antecedents.new_probs
    key = np.uint64(document_key(seed, f"{doc_id}\0pilot"))
    _, n_found = _distinct_kernels.redraw(*own, *pairs, key, np.arange(_PILOT), 0, 1, _PILOT_CONSISTENT, pilot)
    key = np.uint64(document_key(seed, f"{doc_id}\0again"))
    way: Way = "drawn again"
    for p, (begin, end) in enumerate(zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)):
        chosen = wrong[(wrong >= begin) & (wrong < end)]
        given = antecedents.indptr, antecedents.antecedents, probs[p], new_probs[p]
        if n_found == _PILOT_CONSISTENT:
            _, n_good = _distinct_kernels.redraw(
                *given, *pairs, key, chosen, first_sample, _MOST_TRIES, chosen.size + 1, labels
            )
            if n_good == chosen.size:
                continue
            chosen = np.flatnonzero(apart.clashes(labels).any(axis=0))
            chosen = chosen[(chosen >= begin) & (chosen < end)]
        if chosen.size:
            way = "chain"
            _distinct_kernels.run_chains(*given, *pairs, key, chosen, first_sample, _STEPS, labels)
    return Conditioned(n_clashes, way)
