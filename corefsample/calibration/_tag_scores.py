"""Scores of many tags as prediction-label pairs, one per token and tag; and tags in groups of similar frequency.

Groups follow our rule or that of the code of Kranzlein, Liu & Schneider (2021).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample._arrays import Bools, Floats, Ints, Ints32
from corefsample._lazy import pd
from corefsample._results import Result
from corefsample.calibration._validation import coded, in_order, labelled, predictions, require_length
from corefsample.errors import ParameterError

Convention = Literal["default", "kranzlein2021"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TagGroups(Result):
    """Tags grouped by their frequency in training; group 1 has the most frequent ones. Arrays read-only.

    Attributes
    ----------
    tags
        The tags, by descending frequency.
    frequencies
        float64 (n_tags,): count of each in training, non-increasing.
    group
        int64 (n_tags,): group of each, from 1 to n_groups, non-decreasing.
    """

    tags: tuple[Any, ...]
    frequencies: Floats
    group: Ints

    @property
    def n_groups(self) -> int:
        """Number of groups, none of them empty."""
        return int(self.group[-1])

    @property
    def shares(self) -> Floats:
        """Share of each tag in training: float64 (n_tags,) in [0, 1]."""
        return np.asarray(self.frequencies / self.frequencies.sum())

    def of(self, tags: npt.ArrayLike) -> Ints:
        """Group of each tag: int64 (n,) for (n,) names.

        A tag that did not occur in training belongs to the last group, that of the rarest. Raises if no name is known,
        which means that the names belong to another tagset.
        """
        codes, names = coded("tags", tags, np.size(tags))
        known = dict(zip(self.tags, self.group.tolist(), strict=True))
        if names and not any(name in known for name in names):
            ours, theirs = _checks.shown(self.tags[0]), _checks.shown(names[0])
            raise ParameterError(
                f"must share one with those of training ({ours}, ...), got {theirs}, ...", parameter="tags"
            )
        return np.array([known.get(name, self.n_groups) for name in names], np.int64)[codes]

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row per tag: tag, group, frequency, share."""
        columns = {"group": self.group, "frequency": self.frequencies, "share": self.shares}
        return pd.DataFrame({"tag": list(self.tags), **columns})


def tag_frequency_groups(
    frequencies: Mapping[Any, float], *, n_groups: int = 5, convention: Convention = "default"
) -> TagGroups:
    """Group tags of similar frequency, so that rare ones have enough scores together to be measured and recalibrated.

    Tags are ordered by descending frequency, and a group closes with the tag that fills it.

    - "default": a group is full when it has at least its equal share of the remaining mass: the mass outside closed
      groups, divided by the number of groups left. Tags of equal frequency are ordered by name. There are always
      exactly `n_groups` groups, none empty, however frequent the first tags are, and the order of the mapping cannot
      change them.
    - "kranzlein2021": as in the code of that paper. A group is full when its share of the total mass is above
      1 / n_groups (the paper says "at least"), and the next one starts again from 0, so the excess of a frequent tag
      is missing from the later groups: the last ones may be small, or empty and left out. Tags of equal frequency keep
      the order of the mapping.

    Parameters
    ----------
    frequencies
        Gold counts of the tags in training, such as a `collections.Counter` of them; 0 for a possible tag
        that never occurred, which goes to the last group.
    n_groups
        Number of groups; with the default convention at most the number of tags of positive frequency.
    convention
        "default" or "kranzlein2021".

    Returns
    -------
    TagGroups

    Raises
    ------
    ParameterError
        If frequencies are not numbers of at least 0, or are all 0, tags are of several kinds, or there are too few
        tags for the groups.

    References
    ----------
    Kranzlein, Liu & Schneider (2021), section 3.3.

    Examples
    --------
    >>> counts = {"N": 12, "V": 2, "A": 2, "R": 2, "X": 2}
    >>> groups = tag_frequency_groups(counts, n_groups=4)
    >>> groups.tags, groups.group.tolist()
    (('N', 'A', 'R', 'V', 'X'), [1, 2, 2, 3, 4])
    >>> tag_frequency_groups(counts, n_groups=4, convention="kranzlein2021").group.tolist()  # the fourth would be empty
    [1, 2, 2, 2, 3]
    """
    _checks.choice("convention", convention, get_args(Convention))
    n_wanted = _checks.whole("n_groups", n_groups, 1)
    counts = _checked_frequencies(frequencies)
    names: Iterable[Any] = counts if convention == "kranzlein2021" else in_order("frequencies", counts)
    items = sorted(((tag, counts[tag]) for tag in names), key=lambda item: -item[1])  # stable
    make_groups = frequency_groups if convention == "kranzlein2021" else _groups_of_remaining_mass
    values = [count for _, count in items]
    return TagGroups(tuple(tag for tag, _ in items), np.array(values), make_groups(values, n_wanted))


def _checked_frequencies(frequencies: Mapping[Any, float]) -> dict[Any, float]:
    if not isinstance(frequencies, Mapping):
        found = _checks.shown(frequencies)
        raise ParameterError(f"must be a mapping of tags to counts, got {found}", parameter="frequencies")
    counts = {tag: _checks.at_least_zero(f"frequencies[{tag!r}]", count) for tag, count in frequencies.items()}
    if not any(counts.values()):
        raise ParameterError(f"must have one above 0, got {len(counts)} without", parameter="frequencies")
    return counts


def _groups_of_remaining_mass(counts: list[float], n_groups: int) -> Ints:
    n_positive = sum(count > 0.0 for count in counts)
    if n_groups > n_positive:
        rule = f"must be at most the number of tags of positive frequency ({n_positive})"
        raise ParameterError(f"{rule}, got {n_groups}", parameter="n_groups")
    group = np.empty(len(counts), np.int64)
    number, mass, remaining = 1, 0.0, math.fsum(counts)
    for place, count in enumerate(counts):
        group[place] = number
        mass += count
        if number < n_groups and mass * (n_groups - number + 1) >= remaining:
            remaining -= mass
            mass = 0.0
            number += 1
    return group


def frequency_groups(counts: Sequence[float], n_groups: int) -> Ints:
    """Group, from 1, of each tag, given counts by descending frequency, as in the code of the paper.

    A group closes when its share of the mass is above 1 / n_groups, in floating point as shares are added one by one,
    and the sum starts again at 0.
    """
    total = sum(counts)
    group = np.empty(len(counts), np.int64)
    number, share = 1, 0.0
    for place, count in enumerate(counts):
        group[place] = number
        share += count / total
        if share > 1.0 / n_groups and number < n_groups:
            number += 1
            share = 0.0
    return group


THRESHOLD = 0.01


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TagScores(Result):
    """Scores at or above a threshold, with their labels and tags, of all tokens and tags; arrays read-only.

    With hundreds of tags nearly all scores are close to 0 and nearly correct; they would hide the error of the
    plausible tags. The threshold is applied once, to the scores of the model: `recalibrated` replaces scores and drops
    none. Scores of one token need not sum to 1.

    A recalibrator fitted to `scores` and `labels` of all tags together is shared class-wise binning (SCW).

    Attributes
    ----------
    scores
        float64 (n,) in [0, 1].
    labels
        float64 (n,): 1 where the tag is the gold one of the token, else 0.
    codes
        int32 (n,): tag of each, an index into `tag_names`.
    tag_names
        The tags, in the order of the tagger's or ascending.
    documents
        int32 (n,): document of each score, numbered; None without documents.
    threshold
        Scores below it were dropped.
    n_gold_outside
        Number of tokens whose gold tag is not one of the tags, if that is known.

    References
    ----------
    Kranzlein, Liu & Schneider (2021), sections 3.1 and 3.2; Patel et al. (2021) for SCW.
    """

    scores: Floats
    labels: Floats
    codes: Ints32
    tag_names: tuple[Any, ...]
    documents: Ints32 | None
    threshold: float
    n_gold_outside: int = 0

    @classmethod
    def from_arrays(
        cls,
        scores: npt.ArrayLike,
        labels: npt.ArrayLike,
        tags: npt.ArrayLike,
        *,
        threshold: float = THRESHOLD,
        documents: npt.ArrayLike | None = None,
    ) -> TagScores:
        """Tag scores from scores in [0, 1], labels 0 or 1, tags and documents (names), each (n,).

        Raises
        ------
        ParameterError
            If a value breaks its rule, lengths differ, or no score reaches the threshold.
        """
        limit = _checks.probability("threshold", threshold)
        values, answers = labelled(scores, labels, names=("scores", "labels"))
        n = values.shape[0]
        codes, names = coded("tags", tags, n, "scores")
        chosen = _reaching(np.asarray(scores), limit)
        blocks = None if documents is None else coded("documents", documents, n, "scores")[0][chosen]
        return cls(
            scores=values[chosen],
            labels=answers[chosen],
            codes=codes[chosen],
            tag_names=names,
            documents=blocks,
            threshold=limit,
        )

    @property
    def n(self) -> int:
        """Number of scores."""
        return int(self.scores.shape[0])

    def subset(self, rows: Ints) -> TagScores:
        """The scores in some rows."""
        documents = None if self.documents is None else self.documents[rows]
        return replace(
            self, scores=self.scores[rows], labels=self.labels[rows], codes=self.codes[rows], documents=documents
        )

    def recalibrated(self, scores: npt.ArrayLike) -> TagScores:
        """The same labels and tags with new scores (n,) in [0, 1]; none is dropped, however low."""
        values = predictions("scores", scores) + 0.0
        require_length("scores", values, self.n, "those they replace")
        return replace(self, scores=values)

    def groups(self, tag_groups: TagGroups) -> Ints:
        """Frequency group of each score's tag: int64 (n,), from 1; tags unseen in training are in the last group."""
        return tag_groups.of(self.tag_names)[self.codes]

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row per score: tag, score, label."""
        tag = pd.Series(list(self.tag_names)).take(self.codes).reset_index(drop=True)
        return pd.DataFrame({"tag": tag, "score": self.scores, "label": self.labels.astype(np.int64)})


def _reaching(values: npt.NDArray[Any], threshold: float) -> Bools:
    """Mask of values that reach the threshold, in their own precision: 0.01 as float32 is below 0.01 as float64."""
    limit = np.asarray(threshold, values.dtype) if values.dtype.kind == "f" else threshold
    chosen = np.asarray(values >= limit)
    if not chosen.any():
        found = f"{threshold!r} and {values.size} scores below"
        raise ParameterError(f"must be reached by a score, got {found}", parameter="threshold")
    return chosen
