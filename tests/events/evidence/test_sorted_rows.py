"""Rows come out in the order of their keys, from memory and from any number of sorted files."""

import datetime
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from events.evidence._sorted_rows import SortedRows

SCHEMA = pa.schema([("doc_id", pa.string()), ("date", pa.date32()), ("values", pa.list_(pa.list_(pa.int64())))])
WIDE = 1000  # numbers of a row that is copied as a slice


def rows(n: int, width: int) -> list[dict[str, Any]]:
    random.seed(1)
    days = (datetime.date(2000, 1, 1) + datetime.timedelta(random.randrange(30)) for _ in range(n))
    made = [
        {"doc_id": f"d{k}é" if k % 7 else f"d{k}\U0001f600", "date": day, "values": [[k] * width, []]}
        for k, day in enumerate(days)
    ]
    return [row | ({"date": None} if k % 11 == 10 else {}) for k, row in enumerate(made)]


def in_order(every: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(every, key=lambda each: (each["date"] is None, each["date"] or 0, each["doc_id"]))


def collected(parts: list[list[dict[str, Any]]], folder: Path | None) -> SortedRows:
    collection = SortedRows("rows", SCHEMA, ("date", "doc_id"), 7, folder)
    for part in parts:
        collection.add(pa.RecordBatch.from_pylist(part, SCHEMA))
        collection.flush()
    return collection


def found(collection: SortedRows, size: int = 50) -> list[dict[str, Any]]:
    groups = list(collection.groups(size))
    assert [len(group) for group in groups[:-1]] == [size] * (len(groups) - 1)
    return pa.concat_tables([SCHEMA.empty_table(), *groups]).to_pylist()


@pytest.mark.parametrize("width", [1, WIDE])
@pytest.mark.parametrize("n_files", [0, 1, 5, 150])
def test_groups_of_all_files_are_the_sorted_rows(tmp_path: Path, n_files: int, width: int) -> None:
    every = rows(300, width) if n_files else []
    stored = collected([every[k::n_files] for k in range(n_files)], tmp_path)
    assert found(stored) == found(stored, 7) == in_order(every)
    assert found(collected([every], None)) == in_order(every)
    assert len(stored) == len(every)
    assert sorted(stored.read("doc_id")["doc_id"].to_pylist()) == sorted(row["doc_id"] for row in every)


def test_collections_are_united_written_and_read_again(tmp_path: Path) -> None:
    every = rows(100, 2)
    stored, in_memory = collected([every[:20], every[20:50]], tmp_path), collected([every[50:]], None)
    stored.extend(in_memory)
    stored.write(tmp_path / "rows.parquet", 30, lambda schema: schema)
    read = collected([], None)
    read.add_files([tmp_path / "rows.parquet"])
    assert found(stored) == found(read) == in_order(every)
    read.write(tmp_path / "rows.parquet", 9, lambda schema: schema)  # the file that is read
    assert found(read) == in_order(every)


def test_columns_that_only_some_rows_have_are_null_in_the_others(tmp_path: Path) -> None:
    first, second, third = (
        collected([rows(1, 1)], tmp_path / name) for name in ("a", "b", "c") if not (tmp_path / name).mkdir()
    )
    second.add(pa.RecordBatch.from_pylist([{"doc_id": "e", "outlet": "BBC"}]))
    second.flush()
    second.add(pa.RecordBatch.from_pylist([{"doc_id": "f", "section": "World"}]))
    first.extend(second)
    first.extend(third)
    table = first.read("doc_id", "outlet", "section")
    assert {(row["outlet"], row["section"]) for row in table.to_pylist()} == {
        (None, None),
        ("BBC", None),
        (None, "World"),
    }
    (group,) = first.groups(10)
    assert group.schema.names == ["doc_id", "date", "values", "outlet", "section"]
