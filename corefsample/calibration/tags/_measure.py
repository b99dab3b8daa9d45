"""How the scores of some tags are measured: the options of SMCE, GMCE and the table by tag, in one place."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample.calibration.binning import FloatArray, ReliabilityBins
from corefsample.calibration.measures import INTERVALS, IntervalKind, calibration_error
from corefsample.calibration.tags import _kranzlein
from corefsample.calibration.tags._groups import CONVENTIONS, Convention
from corefsample.calibration.tags._scores import Codes, TagScores
from corefsample.errors import ParameterError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["IntervalKind", "SharedError", "TagMeasure"]

N_BINS = 10


@dataclass(frozen=True, slots=True, eq=False)
class SharedError:
    """Shared marginal calibration error (SMCE), with its interval and its bins.

    Attributes
    ----------
    estimate
        In [0, 1].
    lower, upper
        Ends of its confidence interval in [0, 1]; None where there is none.
    level
        Of the interval, in (0, 1).
    interval
        How the interval was made, "simulated normal" for example, or None.
    convention
        "default" or "kranzlein2021".
    n, n_in_no_bin
        Scores; scores of 1 that "kranzlein2021" leaves out of all bins and yet counts in n.
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

    def to_frame(self) -> pd.DataFrame:
        """Table of one row: estimate, lower, upper, level, interval, convention, n, n_in_no_bin, n_bins."""
        import pandas as pd

        names = ("estimate", "lower", "upper", "level", "interval", "convention", "n", "n_in_no_bin")
        return pd.DataFrame({name: [getattr(self, name)] for name in names} | {"n_bins": [self.bins.n_bins]})


@dataclass(frozen=True, slots=True)
class Rows:
    """Errors by group or tag: float64 (n_rows,), NaN where there is none, and the bins."""

    error: FloatArray
    lower: FloatArray
    upper: FloatArray
    bins: tuple[ReliabilityBins | None, ...]


@dataclass(frozen=True, slots=True)
class TagMeasure:
    """The options, checked."""

    bin_size: int | None
    n_bins: int | None
    convention: Convention
    debiased: bool
    interval: IntervalKind | None
    level: float
    n_resamples: int
    seed: int

    def __post_init__(self) -> None:
        _checks.choice("convention", self.convention, CONVENTIONS)
        if self.interval is not None:
            _checks.choice("interval", self.interval, INTERVALS)
        if self.convention == "default":
            return
        why = "under convention 'kranzlein2021'"
        if self.bin_size is not None:
            raise ParameterError(f"bin_size must be left out {why}, got {self.bin_size!r}")
        if self.n_bins is not None:
            _checks.whole("n_bins", self.n_bins, 1)
        if self.interval not in (None, "auto"):
            raise ParameterError(f"interval must be None {why}, got {self.interval!r}")
        if self.debiased:
            raise ParameterError(f"debiased must be False {why}, got {self.debiased!r}")

    def kind(self, documents: Codes | None) -> IntervalKind | None:
        """Which interval is made, "auto" having been decided."""
        if self.convention != "default":
            return None
        if self.interval == "auto":
            return "simulated" if documents is None else "bootstrap"
        return self.interval

    def required(self, scores: FloatArray, labels: FloatArray, documents: Codes | None) -> SharedError:
        """Error of at least one score, or a refusal."""
        found = self.measured(scores, labels, documents)
        if found is None:
            raise ParameterError(
                f"scores must hold one below 1 under convention 'kranzlein2021', got {len(scores)} of 1"
            )
        return found

    def measured(self, scores: FloatArray, labels: FloatArray, documents: Codes | None) -> SharedError | None:
        """Error of at least one score; None where the convention bins none of them."""
        n = scores.shape[0]
        if self.convention == "kranzlein2021":
            bins = _kranzlein.bins_by_value(scores, labels, N_BINS if self.n_bins is None else self.n_bins)
            if bins is None:
                return None
            estimate = _kranzlein.root_mean_square(bins, n)
            return SharedError(estimate, None, None, self.level, None, self.convention, n, n - bins.n_pairs, bins)
        found = calibration_error(
            scores,
            labels,
            bin_size=self.bin_size,
            n_bins=N_BINS if self.n_bins is None and self.bin_size is None else self.n_bins,
            debiased=self.debiased,
            documents=documents,
            interval=self.kind(documents),
            level=self.level,
            n_resamples=self.n_resamples,
            seed=self.seed,
        )
        return SharedError(
            found.estimate, found.lower, found.upper, self.level, found.interval, self.convention, n, 0, found.bins
        )

    def rows(
        self, tag_scores: TagScores, place: npt.NDArray[np.int64], n_rows: int, name: Callable[[int], str]
    ) -> Rows:
        """Error of the scores of each place in 0..n_rows - 1; `name` says what a place is called in a refusal."""
        order = np.argsort(place, kind="stable")
        ends = np.cumsum(np.bincount(place, minlength=n_rows))
        errors = np.full((3, n_rows), math.nan)
        bins: list[ReliabilityBins | None] = [None] * n_rows
        for row, (start, end) in enumerate(zip(np.append(0, ends[:-1]), ends, strict=True)):
            if start == end:
                continue
            try:
                found = self._of_rows(tag_scores, order[start:end])
            except ParameterError as error:
                raise ParameterError(f"{name(row)}: {error}") from error
            if found is not None:
                bins[row] = found.bins
                ends_found = [math.nan if end is None else end for end in (found.lower, found.upper)]
                errors[:, row] = found.estimate, *ends_found
        return Rows(errors[0], errors[1], errors[2], tuple(bins))

    def _of_rows(self, tag_scores: TagScores, chosen: npt.NDArray[np.int64]) -> SharedError | None:
        documents = None if tag_scores.documents is None else tag_scores.documents[chosen]
        measure = self
        if self.kind(documents) == "bootstrap" and documents is not None and (documents == documents[0]).all():
            measure = replace(self, interval=None)
        return measure.measured(tag_scores.scores[chosen], tag_scores.labels[chosen], documents)
