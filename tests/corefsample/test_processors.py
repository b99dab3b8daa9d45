"""How many processors Arrow uses."""

import pyarrow as pa
import pytest

from corefsample import _machine
from corefsample._machine import one_processor_left


@pytest.mark.parametrize(("n_machine", "before", "expected"), [(1, 1, 1), (2, 2, 1), (8, 8, 7), (8, 3, 3), (4, 9, 3)])
def test_arrow_leaves_a_processor(monkeypatch: pytest.MonkeyPatch, n_machine: int, before: int, expected: int) -> None:
    monkeypatch.setattr(_machine, "processors", lambda: n_machine)
    own = pa.cpu_count()
    try:
        pa.set_cpu_count(before)
        with one_processor_left():
            assert pa.cpu_count() == expected
        assert pa.cpu_count() == before
    finally:
        pa.set_cpu_count(own)
