"""Reading ahead: the next item of an iterator is made in a thread while the one before it is used."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar, cast

T = TypeVar("T")

_END = object()


def read_ahead(items: Iterator[T]) -> Iterator[T]:
    """Yield the items of an iterator in order, one of them in advance.

    It pays where an item is made without Python's global lock, as Arrow decodes Parquet. An exception of the iterator
    is raised in its place. A consumer that stops early waits for the item in the making.
    """
    with ThreadPoolExecutor(1, thread_name_prefix="corefsample-read") as pool:
        following = pool.submit(next, items, _END)
        while (item := following.result()) is not _END:
            following = pool.submit(next, items, _END)
            yield cast("T", item)
