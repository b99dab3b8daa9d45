"""Whole files: how much is read, and what of their libraries' errors is left."""

from __future__ import annotations

import gzip
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from expected_errors import error

from corefsample import InputError
from corefsample.files._contents import MIB, parsed_json, read_json, read_parquet, read_whole
from corefsample.recalibration import read_recalibration


def test_a_file_is_read_up_to_its_limit(tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    for size in (0, 1, MIB):
        path.write_bytes(gzip.compress(b" " * size))
        assert read_whole(path, 1) == b" " * size
    path.write_bytes(gzip.compress(b" " * (MIB + 1)))
    with error(InputError, place="a.gz"):
        read_whole(path, 1)


@pytest.mark.parametrize("content", [b"[" * 100_000, b'{"a":' * 100_000, b"", b"\xff", b"{", b"1" * 5000])
def test_what_is_no_json_is_one_error(tmp_path: Path, content: bytes) -> None:
    with error(InputError):
        parsed_json(content)
    (tmp_path / "a.json").write_bytes(content)
    for read in (read_json, read_recalibration):
        with error(InputError, place="a.json"):
            read(tmp_path / "a.json")


def test_a_damaged_parquet_file_is_read_or_one_error(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": ["a", "b"], "date": pa.array([1, 2], pa.date32()), "p": [0.5, 1.0]}), path)
    content = path.read_bytes()
    outcomes = set()
    for place in range(len(content)):
        path.write_bytes(content[:place] + bytes([content[place] ^ 0x41]) + content[place + 1 :])
        try:
            outcomes.add(type(read_parquet(path, ["text", "p"], {"text": "a"})))
        except InputError:
            outcomes.add(InputError)
    assert outcomes == {pa.Table, InputError}
