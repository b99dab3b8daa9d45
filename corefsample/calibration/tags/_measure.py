"""The measure that SMCE, GMCE and the errors by tag share, with its options."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, get_args

import numpy as np

from corefsample import _checks
from corefsample._arrays import Floats, Ints, Ints32
from corefsample.calibration.binning._bins import ReliabilityBins
from corefsample.calibration.binning._results import Result
from corefsample.calibration.measures._error import IntervalKind, calibration_error, resolved_interval
from corefsample.calibration.tags import _kranzlein
from corefsample.calibration.tags._groups import Convention
from corefsample.calibration.tags._scores import TagScores
from corefsample.errors import ParameterError

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
            bins = _kranzlein.bins_by_value(scores, labels, n_bins or N_BINS)
            if bins is None:
                return None
            estimate = _kranzlein.root_mean_square(bins, n)
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
