"""A damaged or edited folder of a run: one line and status 3, never an error of a library."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command_line import Calls
from run_cases import CountOptions, count_events

from corefsample import CorefsampleError, write_documents
from events import simulate_documents
from events.pages._report import write_report

NAMES = ("run.json", "counts.parquet", "evidence.parquet", "documents.parquet", "all_documents.parquet")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small run, as two hundred damaged ones are read."""
    folder = tmp_path_factory.mktemp("run")
    simulated = simulate_documents(20, seed=3, event_share=0.6, median_mentions=10)
    write_documents((each.document for each in simulated), folder / "news.parquet")
    count_events(folder / "news.parquet", folder / "run", CountOptions(n_samples=50, threads=1))
    return folder / "run"


@pytest.fixture
def copy(run: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "copy"
    folder.mkdir()
    for name in NAMES:
        shutil.copy(run / name, folder / name)
    return folder


@pytest.mark.parametrize(
    ("section", "key", "value", "message"),
    [
        ("arguments", "n_samples", None, "$.arguments.n_samples"),
        ("arguments", "level", "high", "$.arguments.level"),
        ("arguments", "level", 2.0, "$.arguments.level"),
        ("arguments", "period", "fortnight", "must be"),
        ("summary", "periods", ["1999Q1"], "$.summary.periods"),
        ("summary", "n_documents", -1, "$.summary.n_documents"),
        ("summary", "merged_actors", {"wrst": []}, "the files of a run must fit together"),
        ("summary", "triggers", {"a": 1}, "the files of a run must fit together"),
        ("rule", "name", {"a": 1}, "$.rule.name"),
        ("names", "XXX", "\ud800", "record must be readable JSON"),
    ],
)
def test_a_tampered_record(call: Calls, copy: Path, section: str, key: str, value: object, message: str) -> None:
    record = json.loads((copy / "run.json").read_text())
    record[section][key] = value
    (copy / "run.json").write_text(json.dumps(record))
    line = call.refused("report", copy)
    assert message in line


@pytest.mark.parametrize("about", [b"{", b'{"index_columns": 5}', b"\xff", b'{"index_columns": ["x"], "columns": []}'])
def test_damaged_metadata_for_pandas_changes_nothing(run: Path, copy: Path, tmp_path: Path, about: bytes) -> None:
    pytest.importorskip("altair", reason="extra `report`")
    for name in ("counts.parquet", "evidence.parquet"):
        table = pq.read_table(copy / name)
        pq.write_table(table.replace_schema_metadata(table.schema.metadata | {b"pandas": about}), copy / name)
    write_report(run, tmp_path / "a.html", title="Same")
    write_report(copy, tmp_path / "b.html", title="Same")
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


@pytest.mark.parametrize("name", NAMES)
def test_random_bytes_in_a_file_are_an_error_of_ours_or_make_a_page(copy: Path, tmp_path: Path, name: str) -> None:
    generator = random.Random(name)
    whole = (copy / name).read_bytes()
    for trial in range(40):
        content = bytearray(whole)
        for _ in range(generator.choice([1, 1, 3, 20])):
            # Half of the changes are in the footer, which describes the columns.
            start = 0 if trial % 2 else max(0, len(content) - 3000)
            content[generator.randrange(start, len(content))] = generator.randrange(256)
        (copy / name).write_bytes(content)
        try:
            write_report(copy, tmp_path / "page.html", overwrite=True)
        except CorefsampleError as error:
            n_lines = len(str(error).splitlines())
        else:
            n_lines = 1
        assert n_lines == 1


def test_a_column_whose_name_is_not_utf8_is_damaged_parquet(call: Calls, copy: Path) -> None:
    for name, command in (("counts.parquet", "report"), ("documents.parquet", "events")):
        path = copy / name
        table = pq.read_table(path)
        # A column more, whose name is then overwritten with bytes that are no UTF-8.
        pq.write_table(table.append_column("QQQQQQQQ", pa.array([1] * len(table))), path)
        path.write_bytes(path.read_bytes().replace(b"QQQQQQQQ", b"\xff" * 8))
        arguments = (copy,) if command == "report" else (path, "--out", copy / "out")
        line = call.refused(command, *arguments)
        assert f"{path}: file must be Parquet, got: " in line
