"""Dates that are far from all other dates of a corpus, which are mostly errors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from corefsample._arrays import Bools

_FEWEST = 10  # with fewer documents, no date is outlying
_MOST_SHARE = 0.01  # largest share of documents with outlying dates
_YEAR = 365  # shortest gap between outlying dates and the others, in days


def outlying_dates(days: npt.NDArray[np.datetime64], n_documents: npt.NDArray[np.integer]) -> Bools:
    """Whether each date is far from all others.

    Dates are outlying if at most one document, or one in a hundred, lies on their side of a gap that is longer than
    a year and longer than the time between the first and the last document on the other side.

    Parameters
    ----------
    days
        datetime64 (n_dates,): dates in ascending order.
    n_documents
        int (n_dates,): number of documents of each date.

    Returns
    -------
    bool (n_dates,)

    Examples
    --------
    >>> days = np.array(["1911-03-01", "1988-01-01", "1991-06-30"], "datetime64[D]")
    >>> outlying_dates(days, np.array([1, 600, 300]))
    array([ True, False, False])
    """
    numbers, total = days.astype("datetime64[D]").astype(np.int64), int(n_documents.sum())
    present = np.flatnonzero(n_documents)
    first, last = (int(present[0]), int(present[-1])) if len(present) else (0, len(days) - 1)
    n_allowed = max(1, int(_MOST_SHARE * total)) if total >= _FEWEST else 0
    while first < last:
        inner = present[(present >= first) & (present <= last)]
        if len(inner) < 3:
            break
        span = numbers[last] - numbers[first]
        gaps = {0: numbers[inner[1]] - numbers[first], -1: numbers[last] - numbers[inner[-2]]}
        end = max(gaps, key=lambda side: gaps[side])
        if n_documents[inner[end]] > n_allowed or gaps[end] <= max(_YEAR, span - gaps[end]):
            break
        n_allowed -= int(n_documents[inner[end]])
        first, last = (int(inner[1]), last) if end == 0 else (first, int(inner[-2]))
    indices = np.arange(len(days))
    return (indices < first) | (indices > last)


def outlying_notice(
    days: npt.NDArray[np.datetime64], n_documents: npt.NDArray[np.integer], names: Sequence[str]
) -> str:
    """Sentence that lists outlying dates by their names; "" if no date is outlying: see `outlying_dates`."""
    is_outlying = outlying_dates(days, n_documents)
    indices = np.flatnonzero(is_outlying & (n_documents > 0)).tolist()
    if not indices:
        return ""
    shown = np.flatnonzero(~is_outlying)
    listed = ", ".join(f"{int(n_documents[index]):,} in {names[index]}" for index in indices)
    span = f"{names[int(shown[0])]} to {names[int(shown[-1])]}"
    return f"Documents with dates far from all others: {listed}. Pictures show {span}; check these dates."
