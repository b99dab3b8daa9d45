"""Tables of the results of single documents and comparisons."""

from __future__ import annotations

import datetime

import numpy as np

from events.counting import DocumentEvents, compare_counts


def test_a_documents_events_have_a_row_each() -> None:
    hits = np.array([[1, 1, 0, 1], [0, 0, 0, 0]], np.uint8)
    date = datetime.date(1999, 4, 1)
    table = DocumentEvents("d", date, ("AAA", "BBB"), hits, np.array([True, False])).to_frame()
    assert table["country"].tolist() == ["AAA", "BBB"]
    assert table["probability"].tolist() == [0.75, 0.0]
    assert table["n_samples"].tolist() == [4, 4]
    assert table["one_best"].tolist() == [True, False]
    assert table["date"].tolist() == [date, date]
    assert table["mc_se"].iloc[1] > 0.5  # a bound, where all samples agree


def test_a_comparison_is_one_row() -> None:
    result = compare_counts([0.5], [0.25])
    (row,) = result.to_frame().itertuples(index=False)
    assert (row.greater, row.equal, row.less, row.mean_difference) == (0.5, 0.25, 0.25, 0.25)
    assert (row.lower, row.upper) == (result.lower, result.upper)
