"""Comparisons of actors by sample, against a loop over samples."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import events.pages._report_content
from events.pages._report_content import sampled_pairs

ACTORS, PERIODS = {"A": 0, "B": 1, "C": 2}, {"1999": 0, "2000": 1}
CELLS = [(actor, period) for actor in ACTORS for period in PERIODS]


def table(cells: dict[tuple[str, str], list[int]]) -> pd.DataFrame:
    rows = [{"name": actor, "period": period, "counts": counts} for (actor, period), counts in cells.items()]
    return pd.DataFrame(rows, columns=["name", "period", "counts"])


@given(st.dictionaries(st.sampled_from(CELLS), st.lists(st.integers(0, 3), min_size=5, max_size=5)))
def test_pairs_are_those_of_a_loop_over_samples(cells: dict[tuple[str, str], list[int]]) -> None:
    found = sampled_pairs(table(cells), ACTORS, PERIODS)
    assert found["compared"] == 3
    names = ("period", "first", "second", "more", "less")
    shares = {row[:3]: row[3:] for row in zip(*(found[name] for name in names), strict=True)}
    expected = {}
    for period, p in PERIODS.items():
        drawn = {a: cells[actor, period] for actor, a in ACTORS.items() if (actor, period) in cells}
        for a, counts in drawn.items():
            for b, others in {**drawn, -1: [0] * 5}.items():
                if b < 0 or a < b:
                    pairs = list(zip(counts, others, strict=True))
                    expected[p, a, b] = (sum(x > y for x, y in pairs) / 5, sum(x < y for x, y in pairs) / 5)
    assert shares == expected


def test_the_first_actors_are_compared_as_far_as_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    # A and B are a pair in both periods, C makes two more pairs in 1999.
    cells = {(actor, "1999"): [1, 0] for actor in ACTORS} | {(actor, "2000"): [2, 1] for actor in "AB"}
    for room, compared in ((1, 1), (2, 2), (3, 2), (4, 3)):
        monkeypatch.setattr(events.pages._report_content, "_MOST_PAIRS", room)
        found = sampled_pairs(table(cells), ACTORS, PERIODS)
        assert found["compared"] == compared
        assert max([*found["first"], *found["second"]]) == compared - 1


def test_lists_of_different_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="got 1 and 2"):
        sampled_pairs(table({("A", "1999"): [1, 2], ("B", "1999"): [1]}), ACTORS, PERIODS)


def test_a_run_without_samples_has_no_pairs() -> None:
    found = sampled_pairs(table({}), ACTORS, PERIODS)
    assert found == {"compared": 3, "period": [], "first": [], "second": [], "more": [], "less": []}
    assert np.array(found["more"]).size == 0
