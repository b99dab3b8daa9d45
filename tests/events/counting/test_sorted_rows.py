"""Rows come out in the order of their keys, from memory and from any number of sorted runs."""

from __future__ import annotations

import datetime
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from events.counting._rows import SortedRows, in_groups

SCHEMA = pa.schema([("doc_id", pa.string()), ("date", pa.date32()), ("values", pa.list_(pa.list_(pa.int64())))])
WIDE = 1000  # numbers of a row that is copied as a slice


def rows(n: int, width: int) -> list[dict[str, Any]]:
    random.seed(1)
    days = (datetime.date(2000, 1, 1) + datetime.timedelta(random.randrange(30)) for _ in range(n))
    return [
        {"doc_id": f"d{k}é" if k % 7 else f"d{k}\U0001f600", "date": day, "values": [[k] * width, []]}
        for k, day in enumerate(days)
    ]


def collected(parts: list[list[dict[str, Any]]], folder: Path | None) -> SortedRows:
    collection = SortedRows("rows", SCHEMA, ("date", "doc_id"), 7, folder)
    for part in parts:
        collection.add(pa.RecordBatch.from_pylist(part, SCHEMA))
        if folder is not None:
            collection.save(folder)
    return collection


def found(collection: SortedRows, temporary: Path | None = None) -> list[dict[str, Any]]:
    return pa.concat_tables(list(collection.tables(temporary))).to_pylist()


@pytest.mark.parametrize("width", [1, WIDE])
@pytest.mark.parametrize("n_runs", [1, 5, 64, 150])
def test_merged_runs_are_the_sorted_rows(tmp_path: Path, n_runs: int, width: int) -> None:
    every = rows(300, width)
    expected = sorted(every, key=lambda each: (each["date"], each["doc_id"]))
    parts = [every[k::n_runs] for k in range(n_runs)]
    assert found(collected(parts, None)) == expected
    stored, temporary = collected(parts, tmp_path), tmp_path / "merged"
    temporary.mkdir()
    assert found(stored, temporary) == found(stored, temporary) == expected
    assert not list(temporary.iterdir())


def test_collections_are_merged_saved_and_loaded(tmp_path: Path) -> None:
    every = rows(100, 2)
    expected = sorted(every, key=lambda each: (each["date"], each["doc_id"]))
    folders = [tmp_path / name for name in ("first", "all")]
    for folder in folders:
        folder.mkdir()
    stored, in_memory = collected([every[:20], every[20:50]], folders[0]), collected([every[50:]], None)
    stored.extend(in_memory)
    assert found(stored) == expected
    stored.save(folders[1])
    assert found(stored) == expected
    loaded = collected([], None)
    loaded.load(folders[1])
    assert found(loaded) == expected


@pytest.mark.parametrize("sizes", [[], [0], [3, 3, 3], [10], [1] * 10, [4, 0, 6], [9]])
def test_groups_do_not_depend_on_the_tables(sizes: list[int]) -> None:
    every = pa.table({"n": range(sum(sizes))})
    starts = [sum(sizes[:k]) for k in range(len(sizes))]
    tables = [every.slice(start, size) for start, size in zip(starts, sizes, strict=True)]
    groups = [group["n"].to_pylist() for group in in_groups(tables, 4)]
    assert groups == [list(range(start, min(start + 4, sum(sizes)))) for start in range(0, sum(sizes), 4)]
