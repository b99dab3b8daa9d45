"""What tests of commands share."""

from __future__ import annotations

import pytest
from command_line import Calls


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Calls:
    return Calls(capsys)
