"""Documents of different partitions with the same doc_id."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from corefsample._arrays import Bytes, Ints
from corefsample.errors import InputError
from corefsample.formats import DocumentStream
from events.jobs.partitions._plan import Partition, RunPlan
from events.jobs.partitions._run import DUPLICATE
from events.runs import Store

__all__ = ["repeated"]


def repeated(store: Store, plan: RunPlan, records: Mapping[int, dict[str, Any]]) -> dict[int, list[int]]:
    """Numbers of the lines or rows of each partition whose doc_id an earlier partition has.

    Raises
    ------
    InputError
        At the first, unless bad documents are set aside.
    """
    partitions = plan.in_order()
    parts = [_ids(store.result(records[each.number]) / "ids.npz") for each in partitions]
    digests = np.concatenate([digests for digests, _ in parts]).view([("high", "<u8"), ("low", "<u8")]).ravel()
    numbers = np.concatenate([numbers for _, numbers in parts])
    owners = np.repeat(np.arange(len(parts)), [len(numbers) for _, numbers in parts])
    order = np.lexsort((np.arange(len(digests)), digests["low"], digests["high"]))  # of the same, the earlier first
    same = np.flatnonzero(digests[order[1:]] == digests[order[:-1]]) + 1
    later = np.sort(order[same])
    if later.size and plan.options.on_error == "stop":
        second = int(later[0])
        first = int(order[np.flatnonzero(digests[order] == digests[second])[0]])
        one, other = ((partitions[owners[i]], int(numbers[i])) for i in (first, second))
        raise _repeated_error(plan, one, other)
    found: dict[int, list[int]] = {}
    for i in later.tolist():
        found.setdefault(partitions[owners[i]].number, []).append(int(numbers[i]))
    return found


def _ids(path: Path) -> tuple[Bytes, Ints]:
    """Digests of the doc_ids of a partition, (n, 16), and the numbers of their lines or rows."""
    with np.load(path) as content:
        return content["digests"], content["numbers"]


def _repeated_error(plan: RunPlan, first: tuple[Partition, int], second: tuple[Partition, int]) -> InputError:
    place, doc_id = _place(plan, *second)
    earlier, _ = _place(plan, *first)
    return InputError(f"{DUPLICATE}, first at {earlier}", place=f"{place}: doc_id {doc_id!r}")


def _place(plan: RunPlan, partition: Partition, number: int) -> tuple[str, str]:
    """Place and doc_id of a document by its partition and number."""
    file = plan.input_of(partition)
    stream = DocumentStream(file.place, row_groups=partition.groups, mixtures=True, on_rejected=lambda rejected: None)
    for batch in stream:
        if number in batch.places:
            return f"{batch.source}: {batch.unit} {number}", batch.doc_ids[list(batch.places).index(number)]
    return file.path, ""
