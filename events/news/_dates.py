"""Dates far from all others, which are more often errors than news."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from corefsample._arrays import Bools

_FEWEST = 10  # documents, of which one may be far from the others
_MOST_SHARE = 0.01  # of the documents are far from the others
_YEAR = 365  # days: gaps below are no sign of an error


def outlying(days: npt.NDArray[np.datetime64], n_documents: npt.NDArray[np.integer]) -> Bools:
    """Whether each of some dates is far from all others.

    It is if few documents lie beyond a gap that is longer than the time of all documents on its other side, and than a
    year: at most one, or one in a hundred.

    Parameters
    ----------
    days
        datetime64[D] (n_dates,), ascending.
    n_documents
        Documents of each date.

    Examples
    --------
    >>> days = np.array(["1911-03-01", "1988-01-01", "1991-06-30"], "datetime64[D]")
    >>> outlying(days, np.array([1, 600, 300]))
    array([ True, False, False])
    """
    numbers, total = days.astype("datetime64[D]").astype(np.int64), int(n_documents.sum())
    present = np.flatnonzero(n_documents)
    first, last = (int(present[0]), int(present[-1])) if len(present) else (0, len(days) - 1)
    left = max(1, int(_MOST_SHARE * total)) if total >= _FEWEST else 0
    while first < last:
        inner = present[(present >= first) & (present <= last)]
        if len(inner) < 3:
            break
        span = numbers[last] - numbers[first]
        gaps = {0: numbers[inner[1]] - numbers[first], -1: numbers[last] - numbers[inner[-2]]}
        end = max(gaps, key=lambda side: gaps[side])
        if n_documents[inner[end]] > left or gaps[end] <= max(_YEAR, span - gaps[end]):
            break
        left -= int(n_documents[inner[end]])
        first, last = (int(inner[1]), last) if end == 0 else (first, int(inner[-2]))
    places = np.arange(len(days))
    return (places < first) | (places > last)
