"""Documents of different partitions with the same doc_id."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from corefsample.errors import InputError
from corefsample.formats import DocumentStream
from events.counting import DUPLICATE, CountedIds, repeated_ids
from events.runs._store import Store
from events.runs.counting._plan import Partition, RunPlan

__all__ = ["repeated"]


def repeated(store: Store, plan: RunPlan, records: Mapping[int, dict[str, Any]]) -> dict[int, list[int]]:
    """Numbers of the lines or rows of each partition whose doc_id an earlier partition has.

    Raises
    ------
    InputError
        At the first, unless bad documents are set aside.
    """
    partitions = plan.in_order()
    pairs = repeated_ids([CountedIds.load(store.result(records[each.number])) for each in partitions])
    found: dict[int, list[int]] = {}
    for (earlier, first), (later, number) in pairs:
        if plan.options.on_error == "stop":
            raise _repeated_error(plan, (partitions[earlier], first), (partitions[later], number))
        found.setdefault(partitions[later].number, []).append(number)
    return found


def _repeated_error(plan: RunPlan, first: tuple[Partition, int], second: tuple[Partition, int]) -> InputError:
    place, doc_id = _place(plan, *second)
    earlier, _ = _place(plan, *first)
    return InputError(f"{DUPLICATE}, first at {earlier}", place=f"{place}: doc_id {doc_id!r}")


def _place(plan: RunPlan, partition: Partition, number: int) -> tuple[str, str]:
    """Place and doc_id of a document by its partition and number."""
    file = plan.input_of(partition)
    stream = DocumentStream(file.place, row_groups=partition.groups, parses=True, on_rejected=lambda rejected: None)
    for batch in stream:
        if number in batch.places:
            return f"{batch.source}: {batch.unit} {number}", batch.doc_ids[list(batch.places).index(number)]
    return file.path, ""
