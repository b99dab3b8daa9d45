"""Periods as pandas counts them."""

import datetime

import pandas as pd
import pytest
from hypothesis import given, strategies as st
from places import data_lines

from corefsample import ParameterError
from events.evidence._columns import Calendar

PANDAS = tuple(int(part) for part in pd.__version__.split(".")[:2])


@pytest.mark.parametrize("case", data_lines("periods.txt"))
def test_a_period_of_any_age_has_its_label_and_its_first_day(case: str) -> None:
    period, date, label, start = case.split()
    if date < "0002" and PANDAS < (3, 1):
        pytest.skip("pandas before 3.1 writes the year 1 without zeros")
    calendar = Calendar(period)
    numbers = calendar.numbers([datetime.date.fromisoformat(date)])
    assert list(calendar.index(numbers).astype(str)) == [label]
    assert [str(found.start) for found in calendar.periods(numbers)] == [start]


@pytest.mark.parametrize(
    "period", ["2Q", "3M", "12M", "h", "H", "min", "s", "B", "", "fortnight", "Q-XXX", "quarterly", "w"]
)
def test_anything_but_a_period_is_rejected(period: str) -> None:
    with pytest.raises(ParameterError, match="period must be one of year, quarter, month, week, day or a pandas alias"):
        Calendar(period)


@given(st.lists(st.dates(), max_size=5), st.sampled_from(["year", "quarter", "month"]))
def test_numbers_count_periods_without_gaps(dates: list[datetime.date], period: str) -> None:
    per_year = {"year": 1, "quarter": 4, "month": 12}[period]
    expected = [((d.year - 1970) * 12 + d.month - 1) // (12 // per_year) for d in dates]
    assert Calendar(period).numbers(dates).tolist() == expected


def test_a_period_that_starts_before_year_1_is_rejected() -> None:
    calendar = Calendar("W-SAT")
    numbers = calendar.numbers([datetime.date(1999, 1, 1), datetime.date.min])
    rule = "period must be one whose periods start in year 1 or later, got 'W-SAT', with documents in the period from "
    with pytest.raises(ParameterError, match=f"^{rule}0000-12-31$"):
        calendar.periods(numbers)
