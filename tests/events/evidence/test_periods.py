"""Periods as pandas counts them."""

import datetime

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corefsample import ParameterError
from events.evidence._columns import Calendar

PANDAS = tuple(int(part) for part in pd.__version__.split(".")[:2])
YEARS_WITH_ZEROS = pytest.mark.skipif(PANDAS < (3, 1), reason="pandas before 3.1 writes the year 1 without zeros")


@pytest.mark.parametrize(
    ("period", "date", "label", "start"),
    [
        ("year", "1999-05-17", "1999", "1999-01-01"),
        ("quarter", "1999-05-17", "1999Q2", "1999-04-01"),
        ("month", "1999-05-17", "1999-05", "1999-05-01"),
        ("week", "1999-05-17", "1999-05-17/1999-05-23", "1999-05-17"),  # a Monday
        ("day", "1999-05-17", "1999-05-17", "1999-05-17"),
        ("W-WED", "1999-05-17", "1999-05-13/1999-05-19", "1999-05-13"),
        ("Q-NOV", "1999-05-17", "1999Q2", "1999-03-01"),  # the second quarter of a year that ends in November
        ("Y-JUN", "1999-05-17", "1999", "1998-07-01"),
        ("quarter", "1600-05-01", "1600Q2", "1600-04-01"),  # before pandas' nanoseconds begin, in 1677
        pytest.param("quarter", "0001-01-01", "0001Q1", "0001-01-01", marks=YEARS_WITH_ZEROS),
        ("quarter", "2262-05-01", "2262Q2", "2262-04-01"),  # after they end
        ("month", "9999-12-31", "9999-12", "9999-12-01"),
        ("Q-NOV", "2300-01-01", "2300Q1", "2299-12-01"),
        pytest.param("W-SUN", "0001-01-07", "0001-01-01/0001-01-07", "0001-01-01", marks=YEARS_WITH_ZEROS),
        pytest.param("W-SUN", "0001-01-08", "0001-01-08/0001-01-14", "0001-01-08", marks=YEARS_WITH_ZEROS),
    ],
)
def test_a_period_of_any_age_has_its_label_and_its_first_day(period: str, date: str, label: str, start: str) -> None:
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
