"""Tallies: parts add up to the whole, and an outlying date is rejected at once."""

from __future__ import annotations

import datetime
import json

import numpy as np
import pandas as pd
import pytest
from expected_errors import error
from hypothesis import given, settings
from hypothesis import strategies as st
from tallies import corpora, counts_of, document, tally_of

from corefsample import ParameterError
from corefsample._monte_carlo import agreement_bound
from events.counting._document_events import DocumentEvents
from events.counting._tally import MOST_PERIODS, CountTally

DAY = datetime.date(2000, 1, 1)

# --- adding up ---------------------------------------------------------------------------------------------


def tables(tally: CountTally) -> list[pd.DataFrame]:
    counts = counts_of(tally, interval="normal")
    return [counts.to_frame(), counts.compare("AAA", "BBB"), counts.compare("CCC", "AAA")]


@settings(max_examples=50)
@given(corpora(), st.data())
def test_tallies_of_parts_add_up_to_the_total(documents: list[tuple[str, DocumentEvents]], data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(documents)))
    merged = tally_of(documents[:cut], 6)
    merged.merge(tally_of(documents[cut:], 6))
    for one, other in zip(tables(merged), tables(tally_of(documents, 6)), strict=True):
        pd.testing.assert_frame_equal(one, other, rtol=0, atol=1e-12)
    assert merged.n_documents == len(documents)


def test_numbers_of_documents_add_up_and_are_read_back() -> None:
    def numbered(*values: int) -> DocumentEvents:
        numbers = np.array([values])
        hits = (numbers > 0).astype(np.uint8)
        return DocumentEvents("d", DAY, (("AAA",),), hits, np.array([values[0]]), numbers=numbers)

    whole, one, other = CountTally(4), CountTally(4), CountTally(4)
    for k, events in enumerate([numbered(0, 2, 2, 5), numbered(3, 3, 3, 3), numbered(0, 0, 0, 0)]):
        whole.add_events(events, 0)
        (one if k else other).add_events(events, 0)
    one.merge(other)
    expected = np.zeros(9)
    expected[[3, 5, 8]] = 0.25, 0.5, 0.25
    for tally in (whole, one, CountTally.from_json(json.loads(json.dumps(one.to_json())))):
        cell = tally.cell(("AAA",), 0)
        assert cell.pmf == pytest.approx(expected, abs=1e-15)
        assert (cell.mean, cell.one_best, cell.n_without) == (5.25, 3, 1)
        assert cell.variance == pytest.approx(3.1875, abs=1e-12)  # (0 + 4 + 4 + 25) / 4 - 2.25**2
        # The variance of the first number over 4 samples; bounds for the two whose samples agree.
        assert cell.variance_of_mean == pytest.approx(3.1875 / 4 + 2 * agreement_bound(4) ** 2, abs=1e-12)
        assert cell.by_sample.tolist() == [3, 5, 5, 8]


def test_tallies_of_unlike_numbers_of_samples_do_not_add_up() -> None:
    with pytest.raises(ParameterError, match=r"n_samples must be the same in both tallies \(4\), got 5"):
        CountTally(4).merge(CountTally(5))
    with pytest.raises(ParameterError, match=r"n_samples must be the same for all documents \(5\), got 4"):
        CountTally(5).add_events(document({"AAA": [1, 0, 0, 0]}), 0)


# --- outlying dates -------------------------------------------------------------------------------------------

FAR = MOST_PERIODS
NUMBERS = st.lists(st.sampled_from([0, FAR - 1, FAR, 1 - FAR, -FAR]) | st.integers(-2 * FAR, 2 * FAR), max_size=5)


@given(NUMBERS, NUMBERS)
def test_an_outlying_date_is_found_as_by_checking_one_after_another(before: list[int], batch: list[int]) -> None:
    tally, remaining = CountTally(1), []
    for period in before:
        if tally.first_outlier(np.array([period])) is None:
            tally.add_documents(np.array([period]))
            remaining.append(period)
    expected = next(
        (i for i in range(len(batch)) if max(remaining + batch[: i + 1]) - min(remaining + batch[: i + 1]) >= FAR), None
    )
    assert tally.first_outlier(np.array(batch, np.int64)) == expected
    if expected is not None:
        with error(ParameterError, "period"):
            tally.add_documents(np.array(batch, np.int64))
        assert tally.n_documents == len(remaining)
