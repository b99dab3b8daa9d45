"""Files that users name: a small one that decompresses to much is one error, and is not read whole."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from expected_errors import error

from corefsample import InputError
from corefsample.recalibration import read_recalibration
from events.lexicon._lexicon import load_lexicon
from events.rules._rules import load_rules


@pytest.mark.parametrize("read", [read_recalibration, load_rules, load_lexicon])
def test_a_small_file_that_decompresses_to_much_is_rejected(tmp_path: Path, read: Callable[[str], Any]) -> None:
    path = tmp_path / "bomb.yaml"
    path.write_bytes(gzip.compress(b" " * (17 * 2**20)))
    with error(InputError, place="bomb.yaml") as found:
        read(str(path))
    assert "decompressed, got more" in str(found.value)
