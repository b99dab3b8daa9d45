"""Periods of time as whole numbers, as in the ordinals of pandas."""

from __future__ import annotations

import datetime
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from corefsample._arrays import Ints, pd
from corefsample.errors import ParameterError

NO_PERIOD = int(np.iinfo(np.int64).min)  # number of the period of a document without a date
UNDATED = "undated"  # its label
_FIRST_DAY = np.datetime64(datetime.date.min, "D")
_NAMES = {"year": "Y", "quarter": "Q", "month": "M", "week": "W", "day": "D"}


class Period(NamedTuple):
    """One period: its number, its label ("1999Q2") and its first day, None for documents without a date."""

    number: int
    label: str
    start: datetime.date | None


@dataclass(frozen=True, slots=True, repr=False)
class Calendar:
    """The periods of one length.

    Parameters
    ----------
    period
        Length of a period: year, quarter, month, week, day, or a period alias of pandas such as "W-SUN" or "Q-NOV".
        Multiples such as "2Q" are not allowed. By default "quarter".

    Raises
    ------
    ParameterError
        If `period` is neither one of these names nor a pandas alias of a single year, quarter, month, week or day.
    """

    period: str = "quarter"
    freq: str = field(init=False)
    _known: dict[int, Period] = field(init=False, default_factory=dict, compare=False)  # at most those of a table

    def __post_init__(self) -> None:
        alias = _NAMES.get(self.period, self.period)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # pandas warns of deprecated aliases: w, B
                example = pd.Period("2000-01-01", freq=alias)
        except (ValueError, TypeError, AttributeError, Warning):
            example = None
        if example is None or example.freq.n != 1 or example.freqstr[0] not in "YAQMWD":
            rule = f"must be one of {', '.join(_NAMES)} or a pandas alias like W-SUN or Q-NOV"
            raise ParameterError(f"{rule}, got {self.period!r}", parameter="period")
        object.__setattr__(self, "freq", example.freqstr)

    def __repr__(self) -> str:
        return f"Calendar({self.period!r})"

    def numbers(self, dates: npt.NDArray[np.datetime64] | Sequence[datetime.date]) -> Ints:
        """Number of the period of each date: int64 (n,); `NO_PERIOD` if the date is missing."""
        days = np.asarray(dates, dtype="datetime64[D]").astype(np.int64)
        periods = _from_ordinals(days, "D").asfreq(self.freq)
        return np.asarray(periods.astype("int64"))

    def index(self, numbers: npt.ArrayLike) -> pd.PeriodIndex:
        """Index of the periods with these numbers."""
        return _from_ordinals(np.asarray(numbers, dtype=np.int64), self.freq)

    def periods(self, numbers: npt.ArrayLike) -> list[Period]:
        """Return the periods with these numbers.

        Raises
        ------
        ParameterError
            If a period starts before year 1.
        """
        requested = np.asarray(numbers).tolist()
        self._known.setdefault(NO_PERIOD, Period(NO_PERIOD, UNDATED, None))
        unknown = sorted({*requested}.difference(self._known))
        if unknown:
            index = self.index(unknown)
            # As days and not as timestamps, which end in 1677 in pandas 2.
            starts = index.asfreq("D", "START").astype("int64").to_numpy().astype("datetime64[D]")
            if starts[0] < _FIRST_DAY:
                rule = f"must be one whose periods start in year 1 or later, got {self.period!r}"
                raise ParameterError(f"{rule}, with documents in the period from {starts[0]}", parameter="period")
            self._known.update(zip(unknown, map(Period, unknown, index.astype(str), starts.tolist()), strict=True))
        return [self._known[number] for number in requested]


def _from_ordinals(numbers: Ints, freq: str) -> pd.PeriodIndex:
    index: pd.PeriodIndex = pd.PeriodIndex.from_ordinals(numbers, freq=freq)  # type: ignore[attr-defined]
    return index
