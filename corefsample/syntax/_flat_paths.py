"""Where paths can lead in many parses at once: a fast upper bound of `follow`, by which documents are passed over."""

from __future__ import annotations

import re

import numpy as np

from corefsample._arrays import Bools, Ints, Ints32
from corefsample.syntax._paths import Step, compiled_path, step_by
from corefsample.syntax._schemes import Scheme

_WORDS = re.compile(r"([A-Za-z:]+)=([^\s,=]+)")

Column = tuple[list[str], Ints]


class FlatParses:
    """The parses of many documents in one scheme, as flat columns.

    Parameters
    ----------
    heads
        int32 (n_tokens,): position of each token's head in these columns, -1 for a root.
    dep, lemma, upos
        Columns of n_tokens strings: a list of strings, and int64 (n_tokens,), the index of each token's string.
    scheme
        By which labels are read.
    """

    def __init__(self, heads: Ints32, dep: Column, lemma: Column, upos: Column, scheme: Scheme) -> None:
        self._heads = heads
        self._columns = {"lemma": lemma, "upos": upos}
        self._labels = [scheme.reads(label) or label for label in dep[0]], dep[1]
        self._labelled: dict[Step, Ints] = {}
        self._is_among = np.zeros(len(heads) + 1, np.bool_)  # false but within `_below`; the last is that of -1

    def reachable(self, path: str, starts: Ints) -> Ints:
        """Positions of the tokens to which a path may lead from any of `starts`: all of them, and perhaps others.

        Steps and their labels are followed; of the conditions only those on words, such as ``[lemma=by]`` and
        ``[case=by]``.
        """
        compiled = compiled_path(path)
        here = self._meeting(compiled.opening, starts)
        for step in compiled.steps:
            if not here.size:
                break
            frontier, reached = here, np.zeros(0, np.int64)
            while frontier.size:
                arrived = self._meeting(step.conditions, self._next(step, frontier))
                frontier = np.setdiff1d(arrived, reached) if step.repeats else arrived[:0]
                reached = np.union1d(reached, arrived)
            here = reached
        return here

    def _next(self, step: Step, here: Ints) -> Ints:
        """Tokens one step away."""
        if step.up:
            heads = self._heads[np.intersect1d(here, self._with_label(step))]
            return np.unique(heads[heads >= 0])
        return self._below(step, here)

    def _below(self, step: Step, here: Ints) -> Ints:
        """Tokens whose label fits a step and whose head is one of `here`."""
        labelled = self._with_label(step)
        self._is_among[here] = True
        below: Ints = labelled[self._is_among[self._heads[labelled]]]
        self._is_among[here] = False
        return below

    def _with_label(self, step: Step) -> Ints:
        """Tokens whose label fits a step."""
        if step not in self._labelled:
            labels, indices = self._labels
            fits = np.fromiter(map(step.fits, labels), np.bool_, len(labels))
            self._labelled[step] = np.flatnonzero(fits[indices])
        return self._labelled[step]

    def _meeting(self, conditions: str, here: Ints) -> Ints:
        """The tokens that meet the conditions on words."""
        for condition in conditions[1:-1].split(","):
            match = _WORDS.fullmatch(condition.strip())
            if match is None or not here.size:
                continue
            field, words = match.groups()
            if field in self._columns:
                here = here[self._has_word(field, words, here)]
            else:  # a dependent with this label and lemma
                below = self._below(step_by(field), here)
                here = np.intersect1d(here, self._heads[below[self._has_word("lemma", words, below)]])
        return here

    def _has_word(self, field: str, words: str, here: Ints) -> Bools:
        allowed = words.lower().split("|")
        strings, indices = self._columns[field]
        found: Bools = np.fromiter((strings[i].lower() in allowed for i in indices[here].tolist()), np.bool_, len(here))
        return found
