"""Documents evaluated in threads while the next ones are read and matched."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, Self, TypeVar

T = TypeVar("T")


class Task(Generic[T]):
    """Work that a thread may do; who needs the result does it unless another has begun it."""

    def __init__(self, work: Callable[[], T], future: Future[T] | None) -> None:
        self._work, self._future = work, future

    def result(self) -> T:
        """The result, computed by this thread if no other has begun."""
        if self._future is None or self._future.cancel():
            return self._work()
        return self._future.result()


class Threads:
    """A number of threads, of which the caller's is one: more than processors would only take Python's lock from it.

    Use as a context manager: after an error what is not begun is left out.
    """

    def __init__(self, n_threads: int) -> None:
        self._pool = ThreadPoolExecutor(n_threads - 1) if n_threads > 1 else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error: object, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=error is not None)

    def begin(self, work: Callable[[], T]) -> Task[T]:
        """Give work to the threads."""
        return Task(work, None if self._pool is None else self._pool.submit(work))
