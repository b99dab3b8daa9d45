"""Partitions on a Dask cluster: a local one, or that of an existing scheduler."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from corefsample.files import PathLike

__all__ = ["require_dask", "run_on_cluster"]


def require_dask(inputs: Any, workers: int | None, scheduler: str | None) -> None:
    """x."""
    raise NotImplementedError


def run_on_cluster(
    folder: PathLike,
    numbers: Sequence[int],
    *,
    workers: int | None,
    scheduler: str | None,
    on_complete: Callable[..., None],
) -> None:
    """x."""
    raise NotImplementedError
