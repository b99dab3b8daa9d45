"""Calibration error of tagsets too sparse to measure each tag separately: of all tags, of frequency groups, of tags.

SMCE pools the scores of all tags (eq. 2 of the paper), GMCE those of one group of similar frequency (eq. 3). Both take
`convention`: "default" bins like the rest of this package; "kranzlein2021" bins like the code published with the paper,
for comparison with its figures. The differences:

- Ties and odd sizes: equal scores share a bin under both. By default a bin ends with the score at or below which its
  share of the scores lies, together with all equal scores. There, a bin is [lo, hi) by value and begins with the score
  at position int(i n / B) of the sorted scores, together with all equal scores: a tie at an edge goes to the upper bin
  instead of the lower one, and with odd numbers the lower bin is the smaller one instead of the larger.
- A score of 1: by default it belongs to the last bin. There, the last bin ends below 1, so such a score is counted in n
  but belongs to no bin: a certain and wrong tag costs nothing, and the error of the rest is diluted.
- The last bin: by default bins may also be requested by size, and a short last bin joins the one before it. There, only
  their number can be requested, and no bins are joined.
- Groups: see `tag_frequency_groups`.
- Intervals: by default yes; there, none.

The threshold is the same: scores at or above it are used, and it is applied once, before any recalibration.

References
----------
Kranzlein, Liu & Schneider (2021), "Making heads and tails of models with marginal calibration for sparse tagsets".
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, get_args

import numpy as np

from corefsample import _checks
from corefsample._arrays import Floats, Ints, Ints32
from corefsample._lazy import pd
from corefsample.calibration.binning._bins import ReliabilityBins
from corefsample.calibration.binning._results import Result
from corefsample.calibration.measures._error import IntervalKind, calibration_error, resolved_interval
from corefsample.calibration.tags._groups import Convention, TagGroups, bins_by_value, require_group, root_mean_square
from corefsample.calibration.tags._scores import TagScores
from corefsample.errors import ParameterError


def shared_calibration_error(
    tag_scores: TagScores,
    *,
    n_bins: int | None = None,
    bin_size: int | None = None,
    convention: Convention = "default",
    debiased: bool = False,
    interval: IntervalKind | None = "auto",
    level: float = 0.95,
    n_resamples: int = 10_000,
    seed: int = 0,
) -> SharedError:
    """Shared marginal calibration error (SMCE): the scores of all tags pooled, RMS over adaptive bins.

    Parameters
    ----------
    tag_scores
        Scores at or above the threshold, with or without documents.
    n_bins, bin_size
        Adaptive bins, as of `bin_pairs`, at most one of the two; by default 10 bins.
    convention
        "default" or "kranzlein2021" (see above), which allows `n_bins` only and no interval.
    debiased
        Subtract the sampling variance of the bins.
    interval, level, n_resamples, seed
        As of `calibration_error`: bootstrap by document if there are documents, otherwise simulated.

    Raises
    ------
    ParameterError
        If an option breaks its rule, there are fewer scores than requested bins, or ("kranzlein2021") no score is
        below 1.

    References
    ----------
    Kranzlein, Liu & Schneider (2021), eq. 2.

    Examples
    --------
    >>> scores = TagScores.from_matrix([[0.8, 0.2], [0.8, 0.2], [0.2, 0.8]], [0, 1, 0])
    >>> error = shared_calibration_error(scores, n_bins=2, interval=None)
    >>> error.bins.mean_q.round(3), error.bins.mean_y.round(3), round(error.estimate, 3)
    (array([0.2, 0.8]), array([0.667, 0.333]), 0.467)
    """
    measure = TagMeasure(bin_size, n_bins, convention, debiased, interval, level, n_resamples, seed)
    found = measure.error(tag_scores.scores, tag_scores.labels, tag_scores.documents)
    if found is None:
        rule = "must contain a score below 1 with convention='kranzlein2021'"
        raise ParameterError(f"{rule}, got {tag_scores.n} of 1", parameter="tag_scores")
    return found


def grouped_calibration_errors(
    tag_scores: TagScores,
    groups: TagGroups,
    *,
    n_bins: int | None = None,
    bin_size: int | None = None,
    convention: Convention = "default",
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
    n_bins, bin_size, convention, debiased, interval, level, n_resamples, seed
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
    >>> scores = TagScores.from_matrix([[0.8, 0.2], [0.8, 0.2], [0.2, 0.8]], [0, 1, 0], tags=["N", "V"])
    >>> from corefsample.calibration import tag_frequency_groups
    >>> groups = tag_frequency_groups({"N": 20, "V": 10}, n_groups=2)
    >>> grouped_calibration_errors(scores, groups, n_bins=1, interval=None).error.round(3)  # |0.6 - 2/3|, |0.4 - 1/3|
    array([0.067, 0.067])
    """
    measure = TagMeasure(bin_size, n_bins, convention, debiased, interval, level, n_resamples, seed)
    group_of_tag = groups.of(tag_scores.tag_names) - 1
    place = group_of_tag[tag_scores.codes]
    shares = groups.shares
    number = np.arange(1, groups.n_groups + 1)
    firsts, ends = (np.searchsorted(groups.group, number, side=side) for side in ("left", "right"))
    scored = np.unique(tag_scores.codes)
    unseen = ~groups.in_training(tag_scores.tag_names)
    rows = measure.rows(tag_scores, place, groups.n_groups, lambda code: f"group {code + 1}")
    return GroupErrors(
        group=number,
        n_tags=ends - firsts,
        n_tags_scored=np.bincount(group_of_tag[scored], minlength=groups.n_groups),
        share_min=shares[ends - 1],
        share_max=shares[firsts],
        n=np.bincount(place, minlength=groups.n_groups),
        **rows._asdict(),
        level=level,
        interval=measure.kind(tag_scores.documents),
        convention=convention,
        n_unseen_tags=int(unseen[scored].sum()),
        n_unseen_scores=int(unseen[tag_scores.codes].sum()),
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
    >>> scores = TagScores.from_matrix([[0.8, 0.2], [0.8, 0.2], [0.2, 0.8]], [0, 1, 0], tags=["N", "V"])
    >>> tag_calibration_errors(scores, interval=None).to_frame()[["tag", "n", "n_gold", "error"]].round(3)
      tag  n  n_gold  error
    0   N  3       2  0.067
    1   V  3       1  0.067
    """
    measure = TagMeasure(bin_size, None, "default", debiased, interval, level, n_resamples, seed)
    scored, place = np.unique(tag_scores.codes, return_inverse=True)
    names = tuple(tag_scores.tag_names[code] for code in scored.tolist())
    rows = measure.rows(tag_scores, place, len(names), lambda code: f"tag {names[code]!r}")
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
        interval=measure.kind(tag_scores.documents),
    )


N_BINS = 10


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SharedError(Result):
    """Shared marginal calibration error (SMCE), with its interval and its bins.

    Attributes
    ----------
    estimate
        In [0, 1].
    lower, upper
        Ends of its confidence interval in [0, 1], or None.
    level
        Of the interval, in (0, 1).
    interval
        How the interval was computed, "simulated normal" for example, or None.
    convention
        "default" or "kranzlein2021".
    n, n_in_no_bin
        Number of scores; number of scores of 1, which "kranzlein2021" counts in n but leaves out of all bins.
    bins
        The scores summed by bin.
    """

    estimate: float
    lower: float | None
    upper: float | None
    level: float
    interval: str | None
    convention: Convention
    n: int
    n_in_no_bin: int
    bins: ReliabilityBins


class Rows(NamedTuple):
    """Errors by group or tag and ends of their intervals, float64 (n_rows,), NaN if unknown; and the bins."""

    error: Floats
    lower: Floats
    upper: Floats
    bins: tuple[ReliabilityBins | None, ...]


@dataclass(frozen=True, slots=True)
class TagMeasure:
    """The measure with its options, which it checks."""

    bin_size: int | None
    n_bins: int | None
    convention: Convention
    debiased: bool
    interval: IntervalKind | None
    level: float
    n_resamples: int
    seed: int

    def __post_init__(self) -> None:
        _checks.choice("convention", self.convention, get_args(Convention))
        resolved_interval(self.interval, has_documents=False)
        if self.convention == "default":
            return
        for name, value, allowed in (
            ("bin_size", self.bin_size, (None,)),
            ("interval", self.interval, (None, "auto")),
            ("debiased", self.debiased, (False,)),
        ):
            if value not in allowed:
                rule = f"must be {allowed[0]} with convention='kranzlein2021'"
                raise ParameterError(f"{rule}, got {value!r}", parameter=name)
        if self.n_bins is not None:
            _checks.whole("n_bins", self.n_bins, 1)

    def kind(self, documents: Ints32 | None) -> IntervalKind | None:
        """Return the kind of interval, with "auto" resolved."""
        return resolved_interval(self.interval, documents is not None) if self.convention == "default" else None

    def error(self, scores: Floats, labels: Floats, documents: Ints32 | None) -> SharedError | None:
        """Error of at least one score; None if the convention leaves all of them out of its bins."""
        n = scores.shape[0]
        n_bins = N_BINS if self.n_bins is None and self.bin_size is None else self.n_bins
        if self.convention == "kranzlein2021":
            bins = bins_by_value(scores, labels, n_bins or N_BINS)
            if bins is None:
                return None
            estimate = root_mean_square(bins, n)
            return SharedError(estimate, None, None, self.level, None, self.convention, n, n - bins.n_pairs, bins)
        names = ("bin_size", "debiased", "interval", "level", "n_resamples", "seed")
        options: dict[str, Any] = {name: getattr(self, name) for name in names}
        found = calibration_error(scores, labels, n_bins=n_bins, documents=documents, **options)
        ends = found.lower, found.upper, self.level, found.interval
        return SharedError(found.estimate, *ends, self.convention, n, 0, found.bins)

    def rows(self, tag_scores: TagScores, place: Ints, n_rows: int, name: Callable[[int], str]) -> Rows:
        """Error of the scores of each place in 0..n_rows - 1; `name` gives the name of a place for errors."""
        order = np.argsort(place, kind="stable")
        ends = np.cumsum(np.bincount(place, minlength=n_rows))
        errors = np.full((3, n_rows), math.nan)
        bins: list[ReliabilityBins | None] = [None] * n_rows
        for row, (start, end) in enumerate(zip(np.append(0, ends[:-1]), ends, strict=True)):
            if start == end:
                continue
            try:
                found = self._error_of_rows(tag_scores, order[start:end])
            except ParameterError as error:
                raise error.at(name(row)) from error
            if found is not None:
                bins[row] = found.bins
                errors[:, row] = found.estimate, found.lower, found.upper  # None becomes NaN
        return Rows(errors[0], errors[1], errors[2], tuple(bins))

    def _error_of_rows(self, tag_scores: TagScores, chosen: Ints) -> SharedError | None:
        documents = None if tag_scores.documents is None else tag_scores.documents[chosen]
        measure = self
        if self.kind(documents) == "bootstrap" and documents is not None and (documents == documents[0]).all():
            measure = replace(self, interval=None)
        return measure.error(tag_scores.scores[chosen], tag_scores.labels[chosen], documents)


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
        float64 (n_groups,) in [0, 1]: RMS calibration error; NaN for a group without a score (with "kranzlein2021":
        without one below 1).
    lower, upper
        float64 (n_groups,) in [0, 1]: ends of its confidence interval; NaN without an interval, and for a bootstrap
        of scores from a single document.
    bins
        The group's bins, or None.
    level, interval, convention
        The options.
    n_unseen_tags, n_unseen_scores
        Number of tags that did not occur in training, which belong to the last group, and of their scores.
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
    convention: Convention
    n_unseen_tags: int
    n_unseen_scores: int

    def of(self, group: int) -> float:
        """Error of one group; raise if there is no such group."""
        return float(self.error[require_group(group, self.group.shape[0]) - 1])

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
