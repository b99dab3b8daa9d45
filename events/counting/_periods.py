"""Periods of time as whole numbers, counted as pandas counts them."""

from __future__ import annotations

import datetime
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from corefsample.errors import ParameterError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Calendar"]

_NAMES = {"year": "Y", "quarter": "Q", "month": "M", "week": "W", "day": "D"}


class Calendar:
    """The periods of one length.

    Parameters
    ----------
    period
        year, quarter, month, week, day, or a period alias of pandas ("W-SUN", "Q-NOV"). No multiples.

    Raises
    ------
    ParameterError
        If pandas knows no such period.
    """

    def __init__(self, period: str = "quarter") -> None:
        import pandas as pd

        self.period = period
        alias = _NAMES.get(period, period)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # aliases that pandas is about to forget: w, B
                example = pd.Period("2000-01-01", freq=alias)
        except (ValueError, TypeError, AttributeError, Warning):
            example = None
        if example is None or example.freq.n != 1 or example.freqstr[0] not in "YAQMWD":
            raise ParameterError(
                f"period must be one of {', '.join(_NAMES)} or a pandas alias like W-SUN or Q-NOV, got {period!r}"
            )
        self.freq: str = example.freqstr

    def numbers(self, dates: npt.NDArray[np.datetime64] | Sequence[datetime.date]) -> npt.NDArray[np.int64]:
        """Number of the period of each date: int64 (n,)."""
        days = np.asarray(dates, dtype="datetime64[D]").astype(np.int64)
        periods = _from_ordinals(days, "D").asfreq(self.freq)
        return np.asarray(periods.astype("int64"))

    def stray(self, date: datetime.date, limit: int) -> str:
        """Say that a document's date makes the periods too many."""
        return f"date must leave at most {limit:,} periods ({self.period}) from first to last document, got {date}"

    def index(self, numbers: npt.ArrayLike) -> pd.PeriodIndex:
        """Periods of these numbers."""
        return _from_ordinals(np.asarray(numbers, dtype=np.int64), self.freq)


def _from_ordinals(numbers: npt.NDArray[np.int64], freq: str) -> pd.PeriodIndex:
    import pandas as pd

    index: pd.PeriodIndex = pd.PeriodIndex.from_ordinals(numbers, freq=freq)  # type: ignore[attr-defined]
    return index
