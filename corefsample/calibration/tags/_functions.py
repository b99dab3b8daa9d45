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

import numpy as np

from corefsample.calibration.measures._error import IntervalKind
from corefsample.calibration.tags._errors import GroupErrors, TagErrors
from corefsample.calibration.tags._groups import Convention, TagGroups
from corefsample.calibration.tags._measure import SharedError, TagMeasure
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
