"""Tables of calibration errors by group of tags, and by tag."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from corefsample._arrays import Floats, Ints
from corefsample.calibration.binning._bins import ReliabilityBins
from corefsample.calibration.binning._results import Result
from corefsample.calibration.measures._error import IntervalKind
from corefsample.calibration.tags._groups import Convention, require_group

if TYPE_CHECKING:
    import pandas as pd


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
