"""Documents are evaluated in threads, of which the caller's is one."""

from __future__ import annotations

import threading
from functools import partial

import pytest

from events.counts._counter import ThreadPool, ThreadTask


class Recorded:
    """Work that says which thread did it; number 0 waits for permission."""

    def __init__(self) -> None:
        self.threads: dict[int, threading.Thread] = {}
        self.begun, self.permitted = threading.Event(), threading.Event()

    def work(self, number: int) -> str:
        self.threads[number] = threading.current_thread()
        if number == 0 and self.threads[number] is not threading.main_thread():
            self.begun.set()
            assert self.permitted.wait(60)
        return f"row {number}"

    def tasks(self, threads: ThreadPool, n: int) -> list[ThreadTask[str]]:
        return [threads.begin(partial(self.work, number)) for number in range(n)]


def test_the_caller_does_what_no_thread_has_begun() -> None:
    recorded = Recorded()
    with ThreadPool(2) as threads:
        tasks = recorded.tasks(threads, 3)
        assert recorded.begun.wait(60)
        assert [task.result() for task in tasks[1:]] == ["row 1", "row 2"]
        recorded.permitted.set()
        assert tasks[0].result() == "row 0"
    assert recorded.threads[1] is recorded.threads[2] is threading.main_thread()
    assert recorded.threads[0] is not threading.main_thread()


def test_after_an_error_what_is_not_begun_is_left_out() -> None:
    recorded = Recorded()

    def fail() -> None:
        with ThreadPool(2) as threads:
            recorded.tasks(threads, 20)
            assert recorded.begun.wait(60)
            threading.Timer(0.2, recorded.permitted.set).start()  # when the others have been cancelled
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert [*recorded.threads] == [0]
