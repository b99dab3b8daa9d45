"""Calibration error of tagsets too sparse to measure each tag by itself: of all tags, of frequency groups, of tags.

SMCE pools the scores of all tags (eq. 2 of the paper), GMCE those of one group of similar frequency (eq. 3). Both take
`convention`: "default" bins as the rest of this package does; "kranzlein2021" does as the code published with the
paper, to compare with its figures. Where they differ, and why:

- ties and odd sizes: equal scores share a bin under both. By default a bin ends with the score at or below which its
  share of the scores lies, with all that equal it. There, a bin is [lo, hi) by value and begins with the score at place
  int(i n / B) of the sorted ones, with all that equal it: a tie at an edge goes up where ours goes down, and of odd
  numbers the lower bin is the smaller one where ours is the larger;
- a score of 1: by default it belongs to the last bin. There, the last bin ends below 1, so that such a score is in no
  bin and yet counted in n: a sure tag that is wrong costs nothing, and the error of the rest is diluted;
- the last bin: by default bins may also be asked for by size, and a last one that is short joins the one before it.
  There, they are asked for by number alone, and nothing is joined;
- groups: see `tag_frequency_groups`;
- the threshold is the same: scores at or above it are kept, once, before any recalibration;
- intervals: by default; there, none.

References
----------
Kranzlein, Liu & Schneider (2021), "Making heads and tails of models with marginal calibration for sparse tagsets".
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from corefsample.calibration.tags._errors import GroupErrors, TagErrors
from corefsample.calibration.tags._groups import Convention, TagGroups, tag_frequency_groups
from corefsample.calibration.tags._measure import IntervalKind, SharedError, TagMeasure
from corefsample.calibration.tags._scores import TagScores

__all__ = [
    "Convention",
    "GroupErrors",
    "SharedError",
    "TagErrors",
    "TagGroups",
    "TagScores",
    "grouped_calibration_errors",
    "shared_calibration_error",
    "tag_calibration_errors",
    "tag_frequency_groups",
]

Ints = npt.NDArray[np.int64]


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
        Scores above the threshold, with documents where there are some.
    n_bins, bin_size
        Adaptive bins, as of `bin_pairs`, at most one of the two; 10 bins where nothing is said.
    convention
        "default" or "kranzlein2021" (see above), which knows `n_bins` alone and no interval.
    debiased
        Take the sampling variance of the bins off.
    interval, level, n_resamples, seed
        As of `calibration_error`: bootstrap by document where documents are given, else simulated.

    Raises
    ------
    ParameterError
        If an option breaks its rule, there are fewer scores than bins asked for, or ("kranzlein2021") no score is
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
    return measure.required(tag_scores.scores, tag_scores.labels, tag_scores.documents)


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
        Scores above the threshold, with documents where there are some.
    groups
        Of `tag_frequency_groups`. Tags that training did not have belong to the last group.
    n_bins, bin_size, convention, debiased, interval, level, n_resamples, seed
        As of `shared_calibration_error`, for each group.

    Raises
    ------
    ParameterError
        If an option breaks its rule, a group has fewer scores than bins asked for, or no tag is known to the groups.

    References
    ----------
    Kranzlein, Liu & Schneider (2021), eq. 3 and table 1.

    Examples
    --------
    >>> scores = TagScores.from_matrix([[0.8, 0.2], [0.8, 0.2], [0.2, 0.8]], [0, 1, 0], tags=["N", "V"])
    >>> groups = tag_frequency_groups({"N": 20, "V": 10}, n_groups=2)
    >>> grouped_calibration_errors(scores, groups, n_bins=1, interval=None).error.round(3)  # |0.6 - 2/3|, |0.4 - 1/3|
    array([0.067, 0.067])
    """
    measure = TagMeasure(bin_size, n_bins, convention, debiased, interval, level, n_resamples, seed)
    place = tag_scores.groups(groups) - 1
    shares = groups.shares
    number = np.arange(1, groups.n_groups + 1)
    firsts = np.searchsorted(groups.group, number)
    lasts = np.searchsorted(groups.group, number, side="right") - 1
    scored = np.unique(tag_scores.codes)
    unseen = ~np.isin(np.arange(len(tag_scores.tag_names)), _known(tag_scores, groups))
    rows = measure.rows(tag_scores, place, groups.n_groups, lambda code: f"group {code + 1}")
    return GroupErrors(
        group=number,
        n_tags=lasts - firsts + 1,
        n_tags_scored=np.bincount(groups._groups_of_names(tag_scores.tag_names)[scored] - 1, minlength=groups.n_groups),
        share_min=shares[lasts],
        share_max=shares[firsts],
        n=np.bincount(place, minlength=groups.n_groups),
        error=rows.error,
        lower=rows.lower,
        upper=rows.upper,
        bins=rows.bins,
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
    """Calibration error of each tag by itself, for the tags that have the scores for it.

    Bins are adaptive and of `bin_size` scores, so that a tag of fewer has one bin: its error is then the distance of
    the mean score from the mean label. The root of the mean squared error over tags is the paper's MCE, in which a tag
    of three scores weighs as much as one of thousands.

    Parameters
    ----------
    tag_scores
        Scores above the threshold, with documents where there are some.
    bin_size
        Target size of bins; 200 is what Nguyen & O'Connor take for the least.
    debiased, interval, level, n_resamples, seed
        As of `shared_calibration_error`, for each tag; with fewer resamples, for there are many tags.

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


def _known(tag_scores: TagScores, groups: TagGroups) -> Ints:
    training = set(groups.tags)
    return np.array([code for code, name in enumerate(tag_scores.tag_names) if name in training], np.int64)
