"""The public names of `events`, and how its objects represent themselves."""

import re

import numpy as np
import pytest

from corefsample.calibration import calibration_error
from events.evidence._columns import EventKey


@pytest.mark.parametrize("name", ["IRQ", "IRQ>KWT", "X-NATO>YUG"])
def test_the_key_and_the_name_of_an_event_convert_into_each_other(name: str) -> None:
    assert EventKey.of(name).name == name
    assert EventKey.of(EventKey.of(name)) == EventKey.of(name)


def test_results_show_four_digits() -> None:
    q = np.linspace(0.01, 0.99, 60)
    shown = repr(calibration_error(q, q > 0.456789, bin_size=10))
    assert "estimate=0." in shown
    assert max(len(digits) for digits in re.findall(r"0\.0*([1-9]\d*)", shown)) <= 4
