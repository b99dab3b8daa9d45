"""Dates that are far from all other dates of a corpus, which are mostly errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from corefsample._arrays import Bools
from corefsample._lazy import pd

_FEWEST = 10  # with fewer documents, no date is outlying
_MOST_SHARE = 0.01  # largest share of documents with outlying dates
_YEAR = 365  # shortest gap between outlying dates and the others, in days


@dataclass(frozen=True, slots=True, eq=False)
class Timeline:
    """Dates with their numbers of documents.

    Attributes
    ----------
    days
        datetime64[D] (n_dates,): dates in ascending order.
    n_documents
        int (n_dates,): number of documents of each date.
    """

    days: npt.NDArray[np.datetime64]
    n_documents: npt.NDArray[np.integer]

    @classmethod
    def of_counts(cls, periods: pd.DataFrame) -> Self:
        """Make the timeline of a table with one row for each period, in order, from its period_start and n_docs."""
        days = periods["period_start"].to_numpy().astype("datetime64[D]")
        return cls(days, periods["n_docs"].to_numpy(np.int64))

    def outlying(self) -> Bools:
        """Whether each date is far from all others: bool (n_dates,).

        Dates are outlying if at most one document, or one in a hundred, lies on their side of a gap that is longer than
        a year and longer than the time between the first and the last document on the other side.

        Examples
        --------
        >>> days = np.array(["1911-03-01", "1988-01-01", "1991-06-30"], "datetime64[D]")
        >>> Timeline(days, np.array([1, 600, 300])).outlying()
        array([ True, False, False])
        """
        numbers, total = self.days.astype("datetime64[D]").astype(np.int64), int(self.n_documents.sum())
        present = np.flatnonzero(self.n_documents)
        first, last = (int(present[0]), int(present[-1])) if len(present) else (0, len(self.days) - 1)
        n_allowed = max(1, int(_MOST_SHARE * total)) if total >= _FEWEST else 0
        while first < last:
            inner = present[(present >= first) & (present <= last)]
            if len(inner) < 3:
                break
            span = numbers[last] - numbers[first]
            gaps = {0: numbers[inner[1]] - numbers[first], -1: numbers[last] - numbers[inner[-2]]}
            end = max(gaps, key=lambda side: gaps[side])
            if self.n_documents[inner[end]] > n_allowed or gaps[end] <= max(_YEAR, span - gaps[end]):
                break
            n_allowed -= int(self.n_documents[inner[end]])
            first, last = (int(inner[1]), last) if end == 0 else (first, int(inner[-2]))
        indices = np.arange(len(self.days))
        return (indices < first) | (indices > last)

    def notice(self, names: Sequence[str]) -> str:
        """Sentence that lists outlying dates by their names; "" if no date is outlying."""
        is_outlying = self.outlying()
        indices = np.flatnonzero(is_outlying & (self.n_documents > 0)).tolist()
        if not indices:
            return ""
        shown = np.flatnonzero(~is_outlying)
        listed = ", ".join(f"{int(self.n_documents[index]):,} in {names[index]}" for index in indices)
        span = f"{names[int(shown[0])]} to {names[int(shown[-1])]}"
        return f"Documents with dates far from all others: {listed}. Pictures show {span}; check these dates."
