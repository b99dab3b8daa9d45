"""Dates far from all others, which are more often errors than news."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from corefsample._arrays import Bools
from corefsample._lazy import pd

_FEWEST = 10  # documents, of which one may be far from the others
_MOST_SHARE = 0.01  # of the documents are far from the others
_YEAR = 365  # days: gaps below are no sign of an error


@dataclass(frozen=True, slots=True, eq=False)
class Timeline:
    """Dates with their numbers of documents.

    Attributes
    ----------
    days
        datetime64[D] (n_dates,), ascending.
    n_documents
        Documents of each date.
    """

    days: npt.NDArray[np.datetime64]
    n_documents: npt.NDArray[np.integer]

    @classmethod
    def of_counts(cls, periods: pd.DataFrame) -> Self:
        """The periods of a table of counts, one row each, in their order."""
        days = periods["period_start"].to_numpy().astype("datetime64[D]")
        return cls(days, periods["n_docs"].to_numpy(np.int64))

    def outlying(self) -> Bools:
        """Whether each date is far from all others.

        It is if few documents lie beyond a gap that is longer than the time of all documents on its other side, and
        than a year: at most one, or one in a hundred.

        Examples
        --------
        >>> days = np.array(["1911-03-01", "1988-01-01", "1991-06-30"], "datetime64[D]")
        >>> Timeline(days, np.array([1, 600, 300])).outlying()
        array([ True, False, False])
        """
        numbers, total = self.days.astype("datetime64[D]").astype(np.int64), int(self.n_documents.sum())
        present = np.flatnonzero(self.n_documents)
        first, last = (int(present[0]), int(present[-1])) if len(present) else (0, len(self.days) - 1)
        left = max(1, int(_MOST_SHARE * total)) if total >= _FEWEST else 0
        while first < last:
            inner = present[(present >= first) & (present <= last)]
            if len(inner) < 3:
                break
            span = numbers[last] - numbers[first]
            gaps = {0: numbers[inner[1]] - numbers[first], -1: numbers[last] - numbers[inner[-2]]}
            end = max(gaps, key=lambda side: gaps[side])
            if self.n_documents[inner[end]] > left or gaps[end] <= max(_YEAR, span - gaps[end]):
                break
            left -= int(self.n_documents[inner[end]])
            first, last = (int(inner[1]), last) if end == 0 else (first, int(inner[-2]))
        places = np.arange(len(self.days))
        return (places < first) | (places > last)

    def notice(self, names: Sequence[str]) -> str:
        """A sentence on dates far from all others, by their names; empty if there are none."""
        is_outlying = self.outlying()
        places = np.flatnonzero(is_outlying & (self.n_documents > 0)).tolist()
        if not places:
            return ""
        shown = np.flatnonzero(~is_outlying)
        listed = ", ".join(f"{int(self.n_documents[place]):,} in {names[place]}" for place in places)
        span = f"{names[int(shown[0])]} to {names[int(shown[-1])]}"
        return f"Documents with dates far from all others: {listed}. Pictures show {span}; check these dates."
