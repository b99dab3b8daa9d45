"""Tables of calibration errors by group of tags, and by tag."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from corefsample.calibration.binning import FloatArray, ReliabilityBins
from corefsample.calibration.tags._groups import Convention, require_group
from corefsample.calibration.tags._measure import IntervalKind

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["GroupErrors", "TagErrors"]

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class GroupErrors:
    """Grouped marginal calibration errors (GMCE), one row a frequency group; arrays read-only.

    Attributes
    ----------
    group
        int64 (n_groups,): 1 (the most frequent tags), 2, ...
    n_tags, n_tags_scored
        int64 (n_groups,): tags of the group in training; tags, seen in training or not, of which a score is there.
    share_min, share_max
        float64 (n_groups,) in [0, 1]: shares in training of its rarest and of its most frequent tag.
    n
        int64 (n_groups,): scores.
    error
        float64 (n_groups,) in [0, 1]: RMS calibration error; NaN of a group without a score (with "kranzlein2021":
        without one below 1).
    lower, upper
        float64 (n_groups,) in [0, 1]: ends of its confidence interval; NaN where there is none, and where a bootstrap
        found the scores of the group in one document.
    bins
        The group's bins, or None.
    level, interval, convention
        As asked for.
    n_unseen_tags, n_unseen_scores
        Tags that training did not have, which are in the last group, and their scores.
    """

    group: Ints
    n_tags: Ints
    n_tags_scored: Ints
    share_min: FloatArray
    share_max: FloatArray
    n: Ints
    error: FloatArray
    lower: FloatArray
    upper: FloatArray
    bins: tuple[ReliabilityBins | None, ...]
    level: float
    interval: IntervalKind | None
    convention: Convention
    n_unseen_tags: int
    n_unseen_scores: int

    def __post_init__(self) -> None:
        _freeze(self.group, self.n_tags, self.n_tags_scored, self.share_min, self.share_max)
        _freeze(self.n, self.error, self.lower, self.upper)

    def of(self, group: int) -> float:
        """Error of one group; a group that is not there is refused."""
        return float(self.error[require_group(group, self.group.shape[0]) - 1])

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row a group.

        Columns: group, n_tags, n_tags_scored, share_min, share_max, n, error, lower, upper.
        """
        return _frame(
            self, "group", "n_tags", "n_tags_scored", "share_min", "share_max", "n", "error", "lower", "upper"
        )


@dataclass(frozen=True, slots=True, eq=False)
class TagErrors:
    """Calibration errors of single tags, one row a tag of which there is a score; arrays read-only.

    Attributes
    ----------
    tags
        The tags, in the order of `TagScores.tag_names`.
    n, n_gold
        int64 (n_tags,): scores, and how many of them are of a gold tag.
    mean_score, mean_label
        float64 (n_tags,) in [0, 1]: a tag of greater mean score than mean label is predicted with too much confidence.
    error
        float64 (n_tags,) in [0, 1]: RMS calibration error.
    lower, upper
        float64 (n_tags,): ends of its interval, NaN where there is none (see `GroupErrors`).
    n_bins
        int64 (n_tags,): bins there are.
    level, interval
        As asked for.
    """

    tags: tuple[Any, ...]
    n: Ints
    n_gold: Ints
    mean_score: FloatArray
    mean_label: FloatArray
    error: FloatArray
    lower: FloatArray
    upper: FloatArray
    n_bins: Ints
    level: float
    interval: IntervalKind | None

    def __post_init__(self) -> None:
        _freeze(self.n, self.n_gold, self.mean_score, self.mean_label, self.error, self.lower, self.upper, self.n_bins)

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row a tag: tag, n, n_gold, mean_score, mean_label, error, lower, upper, n_bins."""
        table = _frame(self, "n", "n_gold", "mean_score", "mean_label", "error", "lower", "upper", "n_bins")
        table.insert(0, "tag", list(self.tags))
        return table


def _freeze(*arrays: npt.NDArray[Any]) -> None:
    for array in arrays:
        array.flags.writeable = False


def _frame(result: object, *names: str) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame({name: getattr(result, name) for name in names})
