"""Results show four digits of their numbers."""

import pytest

from corefsample.metrics._scores import Score
from events.audit import estimate_total


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (Score(1 / 3, 2 / 3, 4 / 9), "Score(recall=0.3333, precision=0.6667, f1=0.4444)"),
        (
            estimate_total([1, 40], [100, 45], [1000, 50]),
            "TotalEstimate(estimate=54.44, lower=41, upper=90, level=0.95, method='mid-p', ",
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_numbers_have_four_digits(result: object, expected: str) -> None:
    assert repr(result).startswith(expected)
