"""What tests of commands share."""

from pathlib import Path

import pytest
from command_line import Calls
from references import events as er


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Calls:
    return Calls(capsys)


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """A file of ten hand-made documents."""
    return er.write_lines(tmp_path / "corpus.jsonl", er.corpus())
