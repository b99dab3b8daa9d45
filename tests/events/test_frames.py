"""Tables of the events of single documents."""

from __future__ import annotations

import datetime

import numpy as np

from events.counting import DocumentEvents


def test_a_documents_events_have_a_row_each() -> None:
    hits = np.array([[1, 1, 0, 1], [0, 0, 0, 0]], np.uint8)
    date = datetime.date(1999, 4, 1)
    table = DocumentEvents("d", date, (("AAA",), ("BBB",)), hits, np.array([True, False])).to_frame()
    assert table["country"].tolist() == ["AAA", "BBB"]
    assert table["probability"].tolist() == [0.75, 0.0]
    assert table["n_samples"].tolist() == [4, 4]
    assert table["one_best"].tolist() == [True, False]
    assert table["date"].tolist() == [date, date]
    assert table["mc_se"].iloc[1] > 0.5  # a bound, where all samples agree
