"""Calibration error of tagsets too sparse to measure each tag separately: of all tags, of frequency groups, of tags.

SMCE pools the scores of all tags (eq. 2 of the paper), GMCE those of one group of similar frequency (eq. 3). Bins are
adaptive, as in the rest of this package: equal scores share a bin, and a score of 1 belongs to the last one. The code
published with the paper leaves scores of 1 out of all bins, though it counts them.

References
----------
Kranzlein, Liu & Schneider (2021), "Making heads and tails of models with marginal calibration for sparse tagsets".
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from corefsample._arrays import Floats, Ints
from corefsample._lazy import pd
from corefsample._results import Result
from corefsample.calibration._bins import ReliabilityBins
from corefsample.calibration._error import (
    CalibrationError,
    IntervalKind,
    calibration_error,
    resolved_interval,
)
from corefsample.calibration._tag_scores import TagGroups, TagScores
from corefsample.errors import ParameterError


def shared_calibration_error(
    tag_scores: TagScores,
    *,
    n_bins: int | None = None,
    bin_size: int | None = None,
    debiased: bool = False,
    interval: IntervalKind | None = "auto",
    level: float = 0.95,
    n_resamples: int = 10_000,
    seed: int = 0,
) -> CalibrationError:
    """Shared marginal calibration error (SMCE): the scores of all tags pooled, RMS over adaptive bins.

    Parameters
    ----------
    tag_scores
        Scores at or above the threshold, with or without documents.
    n_bins, bin_size
        Adaptive bins, as of `bin_pairs`, at most one of the two; by default 10 bins.
    debiased
        Subtract the sampling variance of the bins.
    interval, level, n_resamples, seed
        As of `calibration_error`: bootstrap by document if there are documents, otherwise simulated.

    Raises
    ------
    ParameterError
        If an option breaks its rule, or there are fewer scores than requested bins.

    References
    ----------
    Kranzlein, Liu & Schneider (2021), eq. 2.

    Examples
    --------
    >>> scores = TagScores.from_arrays([0.8, 0.2, 0.8, 0.2, 0.2, 0.8], [1, 0, 0, 1, 1, 0], ["N", "V"] * 3)
    >>> error = shared_calibration_error(scores, n_bins=2, interval=None)
    >>> error.bins.mean_q.round(3), error.bins.mean_y.round(3), round(error.estimate, 3)
    (array([0.2, 0.8]), array([0.667, 0.333]), 0.467)
    """
    return calibration_error(
        tag_scores.scores,
        tag_scores.labels,
        bin_size=bin_size,
        n_bins=N_BINS if n_bins is None and bin_size is None else n_bins,
        debiased=debiased,
        documents=tag_scores.documents,
        interval=interval,
        level=level,
        n_resamples=n_resamples,
        seed=seed,
    )


def grouped_calibration_errors(
    tag_scores: TagScores,
    groups: TagGroups,
    *,
    n_bins: int | None = None,
    bin_size: int | None = None,
    debiased: bool = False,
    interval: IntervalKind | None = "auto",
    level: float = 0.95,
    n_resamples: int = 10_000,
    seed: int = 0,
) -> GroupErrors:
    """Grouped marginal calibration error (GMCE) of each tag frequency group: SMCE of the scores of its tags.

    Parameters
    ----------
    tag_scores
        Scores at or above the threshold, with or without documents.
    groups
        From `tag_frequency_groups`. Tags that did not occur in training belong to the last group.
    n_bins, bin_size, debiased, interval, level, n_resamples, seed
        As of `shared_calibration_error`, for each group.

    Raises
    ------
    ParameterError
        If an option breaks its rule, a group has fewer scores than requested bins, or no tag belongs to the groups.

    References
    ----------
    Kranzlein, Liu & Schneider (2021), eq. 3 and table 1.

    Examples
    --------
    >>> scores = TagScores.from_arrays([0.8, 0.2, 0.8, 0.2, 0.2, 0.8], [1, 0, 0, 1, 1, 0], ["N", "V"] * 3)
    >>> from corefsample.calibration._tag_scores import tag_frequency_groups
    >>> groups = tag_frequency_groups({"N": 20, "V": 10}, n_groups=2)
    >>> grouped_calibration_errors(scores, groups, n_bins=1, interval=None).error.round(3)  # |0.6 - 2/3|, |0.4 - 1/3|
    array([0.067, 0.067])
    """
    kind = resolved_interval(interval, tag_scores.documents is not None)
    options: dict[str, Any] = {"n_bins": n_bins, "bin_size": bin_size, "debiased": debiased}
    options |= {"level": level, "n_resamples": n_resamples, "seed": seed}
    group_of_tag = groups.of(tag_scores.tag_names) - 1
    place = group_of_tag[tag_scores.codes]
    shares = groups.shares
    number = np.arange(1, groups.n_groups + 1)
    firsts, ends = (np.searchsorted(groups.group, number, side=side) for side in ("left", "right"))
    scored = np.unique(tag_scores.codes)
    rows = _errors_by_place(tag_scores, place, groups.n_groups, lambda code: f"group {code + 1}", kind, **options)
    return GroupErrors(
        group=number,
        n_tags=ends - firsts,
        n_tags_scored=np.bincount(group_of_tag[scored], minlength=groups.n_groups),
        share_min=shares[ends - 1],
        share_max=shares[firsts],
        n=np.bincount(place, minlength=groups.n_groups),
        **rows._asdict(),
        level=level,
        interval=kind,
    )


def tag_calibration_errors(
    tag_scores: TagScores,
    *,
    bin_size: int = 200,
    debiased: bool = False,
    interval: IntervalKind | None = "auto",
    level: float = 0.95,
    n_resamples: int = 1_000,
    seed: int = 0,
) -> TagErrors:
    """Calibration error of each tag separately.

    Bins are adaptive and of `bin_size` scores, so a tag with fewer has one bin: its error is then the distance of the
    mean score from the mean label. The root of the mean squared error over tags is the paper's MCE, in which a tag with
    three scores has the same weight as one with thousands.

    Parameters
    ----------
    tag_scores
        Scores at or above the threshold, with or without documents.
    bin_size
        Target size of bins; 200 is the least that Nguyen & O'Connor recommend.
    debiased, interval, level, n_resamples, seed
        As of `shared_calibration_error`, for each tag; with fewer resamples, as there are many tags.

    Raises
    ------
    ParameterError
        If an option breaks its rule.

    References
    ----------
    Kranzlein, Liu & Schneider (2021), section 3.2.

    Examples
    --------
    >>> scores = TagScores.from_arrays([0.8, 0.2, 0.8, 0.2, 0.2, 0.8], [1, 0, 0, 1, 1, 0], ["N", "V"] * 3)
    >>> tag_calibration_errors(scores, interval=None).to_frame()[["tag", "n", "n_gold", "error"]].round(3)
      tag  n  n_gold  error
    0   N  3       2  0.067
    1   V  3       1  0.067
    """
    kind = resolved_interval(interval, tag_scores.documents is not None)
    options: dict[str, Any] = {"bin_size": bin_size, "debiased": debiased}
    options |= {"level": level, "n_resamples": n_resamples, "seed": seed}
    scored, place = np.unique(tag_scores.codes, return_inverse=True)
    names = tuple(tag_scores.tag_names[code] for code in scored.tolist())
    rows = _errors_by_place(tag_scores, place, len(names), lambda code: f"tag {names[code]!r}", kind, **options)
    n = np.bincount(place)
    n_gold = np.bincount(place, tag_scores.labels)
    return TagErrors(
        tags=names,
        n=n,
        n_gold=n_gold.astype(np.int64),
        mean_score=np.bincount(place, tag_scores.scores) / n,
        mean_label=n_gold / n,
        error=rows.error,
        lower=rows.lower,
        upper=rows.upper,
        n_bins=np.array([0 if bins is None else bins.n_bins for bins in rows.bins]),
        level=level,
        interval=kind,
    )


N_BINS = 10


class Rows(NamedTuple):
    """Errors by group or tag and ends of their intervals, float64 (n_rows,), NaN if unknown; and the bins."""

    error: Floats
    lower: Floats
    upper: Floats
    bins: tuple[ReliabilityBins | None, ...]


def _errors_by_place(
    tag_scores: TagScores,
    place: Ints,
    n_rows: int,
    name: Callable[[int], str],
    interval: IntervalKind | None,
    **options: Any,
) -> Rows:
    """Error of the scores of each place in 0..n_rows - 1; `name` gives the name of a place for errors."""
    order = np.argsort(place, kind="stable")
    ends = np.cumsum(np.bincount(place, minlength=n_rows))
    errors = np.full((3, n_rows), math.nan)
    bins: list[ReliabilityBins | None] = [None] * n_rows
    for row, (start, end) in enumerate(zip(np.append(0, ends[:-1]), ends, strict=True)):
        if start == end:
            continue
        part = tag_scores.subset(order[start:end])
        documents = part.documents
        is_alone = interval == "bootstrap" and documents is not None and (documents == documents[0]).all()
        try:
            found = shared_calibration_error(part, interval=None if is_alone else interval, **options)
        except ParameterError as error:
            raise error.at(name(row)) from error
        bins[row] = found.bins
        errors[:, row] = found.estimate, found.lower, found.upper  # None becomes NaN
    return Rows(errors[0], errors[1], errors[2], tuple(bins))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class GroupErrors(Result):
    """Grouped marginal calibration errors (GMCE), one row per frequency group; arrays read-only.

    Attributes
    ----------
    group
        int64 (n_groups,): 1 (the most frequent tags), 2, ...
    n_tags, n_tags_scored
        int64 (n_groups,): tags of the group in training; tags with a score, in training or not.
    share_min, share_max
        float64 (n_groups,) in [0, 1]: shares in training of its rarest and of its most frequent tag.
    n
        int64 (n_groups,): number of scores.
    error
        float64 (n_groups,) in [0, 1]: RMS calibration error; NaN for a group without a score.
    lower, upper
        float64 (n_groups,) in [0, 1]: ends of its confidence interval; NaN without an interval, and for a bootstrap
        of scores from a single document.
    bins
        The group's bins, or None.
    level, interval
        The options.
    """

    group: Ints
    n_tags: Ints
    n_tags_scored: Ints
    share_min: Floats
    share_max: Floats
    n: Ints
    error: Floats
    lower: Floats
    upper: Floats
    bins: tuple[ReliabilityBins | None, ...]
    level: float
    interval: IntervalKind | None

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row per group.

        Columns: group, n_tags, n_tags_scored, share_min, share_max, n, error, lower, upper.
        """
        return self._columns(
            "group", "n_tags", "n_tags_scored", "share_min", "share_max", "n", "error", "lower", "upper"
        )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TagErrors(Result):
    """Calibration errors of single tags, one row per tag with a score; arrays read-only.

    Attributes
    ----------
    tags
        The tags, in the order of `TagScores.tag_names`.
    n, n_gold
        int64 (n_tags,): number of scores, and of those for the gold tag.
    mean_score, mean_label
        float64 (n_tags,) in [0, 1]: a tag whose mean score exceeds its mean label is overconfident.
    error
        float64 (n_tags,) in [0, 1]: RMS calibration error.
    lower, upper
        float64 (n_tags,): ends of its interval, or NaN (see `GroupErrors`).
    n_bins
        int64 (n_tags,): number of bins.
    level, interval
        The options.
    """

    tags: tuple[Any, ...]
    n: Ints
    n_gold: Ints
    mean_score: Floats
    mean_label: Floats
    error: Floats
    lower: Floats
    upper: Floats
    n_bins: Ints
    level: float
    interval: IntervalKind | None

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row per tag: tag, n, n_gold, mean_score, mean_label, error, lower, upper, n_bins."""
        table = self._columns("n", "n_gold", "mean_score", "mean_label", "error", "lower", "upper", "n_bins")
        table.insert(0, "tag", list(self.tags))
        return table
