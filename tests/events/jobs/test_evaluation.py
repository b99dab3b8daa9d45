"""Documents are evaluated in threads, of which the caller's is one."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from events.jobs.partitions._evaluation import Evaluation


class Recorded:
    """Stands in for a sampler: says which thread had which row; row 0 waits for permission."""

    def __init__(self) -> None:
        self.threads: dict[int, threading.Thread] = {}
        self.begun, self.permitted = threading.Event(), threading.Event()

    def evaluated(self, _: Any, row: int, matches: Any) -> Any:
        self.threads[row] = threading.current_thread()
        if row == 0 and self.threads[row] is not threading.main_thread():
            self.begun.set()
            assert self.permitted.wait(60)
        return [matches]


def begun(evaluation: Evaluation, rows: int) -> Any:
    batch: Any = None
    return [evaluation.begun(batch, row, f"row {row}") for row in range(rows)]  # type: ignore[arg-type]


def test_the_caller_evaluates_what_no_thread_has_begun() -> None:
    recorded: Any = Recorded()
    with Evaluation(recorded, threads=2) as evaluation:
        results = begun(evaluation, 3)
        assert recorded.begun.wait(60)
        assert [result() for result in results[1:]] == [["row 1"], ["row 2"]]
        recorded.permitted.set()
        assert results[0]() == ["row 0"]
    assert recorded.threads[1] is recorded.threads[2] is threading.main_thread()
    assert recorded.threads[0] is not threading.main_thread()


def test_one_thread_is_that_of_the_caller() -> None:
    recorded: Any = Recorded()
    with Evaluation(recorded, threads=1) as evaluation:
        results = begun(evaluation, 3)
        assert recorded.threads == {}
        assert [result() for result in results] == [["row 0"], ["row 1"], ["row 2"]]
    assert {*recorded.threads.values()} == {threading.main_thread()}


def test_after_an_error_what_is_not_begun_is_left_out() -> None:
    recorded: Any = Recorded()

    def fail() -> None:
        with Evaluation(recorded, threads=2) as evaluation:
            begun(evaluation, 20)
            assert recorded.begun.wait(60)
            threading.Timer(0.2, recorded.permitted.set).start()  # when the others have been cancelled
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert [*recorded.threads] == [0]
