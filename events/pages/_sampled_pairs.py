"""P(a > b) of two actors in each period, for runs whose documents share the uncertainty of a recalibration.

Their counts are compared sample by sample; the page itself compares counts of independent documents.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

_MOST_PAIRS = 40_000  # about a megabyte of the page


def sampled_pairs(samples: pd.DataFrame, actors: Mapping[str, int], periods: Mapping[str, int]) -> dict[str, Any]:
    """Compare the sampled counts of actors, the first ones as far as the page has room for their pairs.

    Parameters
    ----------
    samples
        Columns name, period, and counts: lists of the same length, joint over all rows.
    actors, periods
        Their numbers in the page.

    Returns
    -------
    dict
        ``compared``: only actors below this number are compared. As columns, for pairs with any samples above 0:
        ``period``, ``first``, ``second`` (its number is greater than that of the first; -1 stands for a count of 0),
        and the share of samples in which the first is ``more`` or ``less`` than the second.

    Raises
    ------
    LookupError
        If an actor or period has no number.
    ValueError
        If the lists have different lengths.
    """
    counts = [np.asarray(drawn, np.int32) for drawn in samples["counts"]]
    lengths = sorted({len(drawn) for drawn in counts})
    if len(lengths) > 1:
        raise ValueError(f"sampled counts must be equally many, got {lengths[0]} and {lengths[-1]}")
    by_period: dict[int, dict[int, int]] = {number: {} for number in periods.values()}  # rows by actor
    for row, (actor, period) in enumerate(zip(samples["name"], samples["period"], strict=True)):
        by_period[periods[period]][actors[actor]] = row
    compared = _compared(by_period, len(actors))
    columns: dict[str, list[Any]] = {name: [] for name in ("period", "first", "second", "more", "less")}
    for period, rows in sorted(by_period.items()):
        present = sorted(actor for actor in rows if actor < compared)
        for first, second in [*((actor, -1) for actor in present), *combinations(present, 2)]:
            one, other = counts[rows[first]], 0 if second < 0 else counts[rows[second]]
            shares = np.count_nonzero(one > other) / len(one), np.count_nonzero(one < other) / len(one)
            for column, value in zip(columns.values(), (period, first, second, *shares), strict=True):
                column.append(value)
    return {"compared": compared, **columns}


def _compared(by_period: Mapping[int, Mapping[int, int]], n_actors: int) -> int:
    """The number of actors, from the first, whose pairs are not too many."""
    n_pairs = np.zeros(n_actors + 1, np.int64)  # that each actor adds, with those before it
    for rows in by_period.values():
        for before, actor in enumerate(sorted(rows)):
            n_pairs[actor] += before
    return int(np.searchsorted(np.cumsum(n_pairs[:n_actors]), _MOST_PAIRS, side="right"))
