"""Calibration error of tagsets too sparse to measure each tag separately: of all tags, of frequency groups, of tags.

SMCE pools the scores of all tags (eq. 2 of the paper), GMCE those of one group of similar frequency (eq. 3). The
threshold is applied once, before any recalibration.

Bins and groups are those of this package. The code published with the paper differs: a tie at an edge goes to its upper
bin, a score of 1 belongs to no bin, and a group that a frequent tag overfills leaves less for the later ones.

References
----------
Kranzlein, Liu & Schneider (2021), "Making heads and tails of models with marginal calibration for sparse tagsets".
"""

from __future__ import annotations

from typing import Any

import numpy as np

from corefsample.calibration.measures import CalibrationError, IntervalKind, calibration_error
from corefsample.calibration.tags._errors import GroupErrors, TagErrors
from corefsample.calibration.tags._groups import TagGroups
from corefsample.calibration.tags._measure import N_BINS, error_rows
from corefsample.calibration.tags._scores import TagScores


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
    >>> scores = TagScores.from_matrix([[0.8, 0.2], [0.8, 0.2], [0.2, 0.8]], [0, 1, 0])
    >>> error = shared_calibration_error(scores, n_bins=2, interval=None)
    >>> error.bins.mean_q.round(3), error.bins.mean_y.round(3), round(error.estimate, 3)
    (array([0.2, 0.8]), array([0.667, 0.333]), 0.467)
    """
    options = _options(
        bin_size, n_bins, debiased=debiased, interval=interval, level=level, n_resamples=n_resamples, seed=seed
    )
    return calibration_error(tag_scores.scores, tag_scores.labels, documents=tag_scores.documents, **options)


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
    >>> scores = TagScores.from_matrix([[0.8, 0.2], [0.8, 0.2], [0.2, 0.8]], [0, 1, 0], tags=["N", "V"])
    >>> from corefsample.calibration import tag_frequency_groups
    >>> groups = tag_frequency_groups({"N": 20, "V": 10}, n_groups=2)
    >>> grouped_calibration_errors(scores, groups, n_bins=1, interval=None).error.round(3)  # |0.6 - 2/3|, |0.4 - 1/3|
    array([0.067, 0.067])
    """
    options = _options(
        bin_size, n_bins, debiased=debiased, interval=interval, level=level, n_resamples=n_resamples, seed=seed
    )
    group_of_tag = groups.of(tag_scores.tag_names) - 1
    place = group_of_tag[tag_scores.codes]
    shares = groups.shares
    number = np.arange(1, groups.n_groups + 1)
    firsts, ends = (np.searchsorted(groups.group, number, side=side) for side in ("left", "right"))
    scored = np.unique(tag_scores.codes)
    unseen = ~groups.in_training(tag_scores.tag_names)
    rows = error_rows(tag_scores, place, groups.n_groups, lambda code: f"group {code + 1}", options)
    return GroupErrors(
        group=number,
        n_tags=ends - firsts,
        n_tags_scored=np.bincount(group_of_tag[scored], minlength=groups.n_groups),
        share_min=shares[ends - 1],
        share_max=shares[firsts],
        n=np.bincount(place, minlength=groups.n_groups),
        **rows._asdict(),
        level=level,
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
    options = _options(
        bin_size, None, debiased=debiased, interval=interval, level=level, n_resamples=n_resamples, seed=seed
    )
    scored, place = np.unique(tag_scores.codes, return_inverse=True)
    names = tuple(tag_scores.tag_names[code] for code in scored.tolist())
    rows = error_rows(tag_scores, place, len(names), lambda code: f"tag {names[code]!r}", options)
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
        interval=rows.interval,
    )


def _options(bin_size: int | None, n_bins: int | None, **others: Any) -> dict[str, Any]:
    """Options of `calibration_error`: by default 10 bins."""
    return {"bin_size": bin_size, "n_bins": N_BINS if bin_size is None and n_bins is None else n_bins, **others}
