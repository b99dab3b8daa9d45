"""Results show four digits of their numbers."""

from __future__ import annotations

import pytest

from corefsample.metrics._scores import Score
from events.audit import estimate_total
from events.counts._event_counts import compare_counts


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (Score(1 / 3, 2 / 3, 4 / 9), "Score(recall=0.3333, precision=0.6667, f1=0.4444)"),
        (
            compare_counts([1 / 3], [0.0]),
            "Comparison(greater=0.3333, equal=0.6667, less=0, mean_difference=0.3333, lower=0, upper=1)",
        ),
        (
            estimate_total([1, 40], [100, 45], [1000, 50]),
            "TotalEstimate(estimate=54.44, lower=41, upper=90, level=0.95, method='mid-p', ",
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_numbers_have_four_digits(result: object, expected: str) -> None:
    assert repr(result).startswith(expected)
