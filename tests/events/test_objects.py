"""The public names of `events`, and how its objects represent themselves."""

from __future__ import annotations

import pytest

from events.counting._tables import EventKey


@pytest.mark.parametrize("name", ["IRQ", "IRQ>KWT", "X-NATO>YUG"])
def test_the_key_and_the_name_of_an_event_convert_into_each_other(name: str) -> None:
    assert EventKey.of(name).name == name
    assert EventKey.of(EventKey.of(name)) == EventKey.of(name)
