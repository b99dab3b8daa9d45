"""Paths, lines and outputs: what every reader and writer of files shares."""

import gzip
import os
import re
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from expected_errors import error

from corefsample import InputError, OutputError, ParameterError
from corefsample.files._atomic import new_file, new_text_file, write_bytes, write_json
from corefsample.files._paths import input_paths, partition_values, suffix_hint
from corefsample.files._reading import LineReader, SeenIds, parsed_json, read_ahead, read_json
from corefsample.recalibration import read_recalibration

# --- paths -------------------------------------------------------------------------------------------------


def test_a_glob_is_expanded_in_the_order_of_names(tmp_path: Path) -> None:
    for name in ("b.txt", "a.txt", "c.csv"):
        (tmp_path / name).touch()
    assert input_paths([tmp_path / "c.csv", f"{tmp_path}/*.txt"]) == [
        str(tmp_path / f) for f in ("c.csv", "a.txt", "b.txt")
    ]


@pytest.mark.parametrize(
    ("inputs", "kind", "start"),
    [
        *((5, ParameterError, "inputs"), ([], InputError, "inputs"), (["-", "-"], InputError, "-:")),
        *((name, InputError, f"{name}:") for name in ("nowhere.txt", "nowhere*")),
    ],
)
def test_inputs_that_name_no_file_are_an_error(inputs: Any, kind: type[Exception], start: str) -> None:
    with pytest.raises(kind, match=f"^{re.escape(start)}"):
        input_paths(inputs)


def test_a_folder_stands_for_its_files_of_a_known_kind(tmp_path: Path) -> None:
    suffixes = (".jsonl", ".parquet")
    assert input_paths(tmp_path, folders=True) == [str(tmp_path)]
    with pytest.raises(InputError, match=r"folder must have a file that ends in .jsonl, .parquet, got none"):
        input_paths(tmp_path, suffixes=suffixes)
    kept = ["b.jsonl", "year=2001/month=1/part-0.parquet", "year=2002/part-0.parquet"]
    left = ["_SUCCESS", ".b.jsonl.crc", "year=2002/.hidden.parquet", "notes.txt", "scored.parquet.partial/1/a.parquet"]
    for name in [*kept, *left, "run/run.json", "run/counts.parquet"]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert input_paths(tmp_path, suffixes=suffixes) == [str(tmp_path / name) for name in kept]
    with pytest.raises(InputError, match="folder"):
        input_paths(tmp_path / "run", suffixes=suffixes)
    with pytest.raises(InputError, match="folder"):
        input_paths(tmp_path)
    assert partition_values("in/year=2001/section=Home%20news/a=b.parquet") == {"year": "2001", "section": "Home news"}


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("a.docx", "put the texts into a CSV file with the columns doc_id, date, title and text"),
        ("a.tab.gz", "save it as CSV"),
        ("a.csv", "`corefsample score` makes scored mentions of it"),
        ("a.json", "JSON Lines has one object per line and no list around them, and ends in .jsonl"),
        ("a.dta", None),
    ],
)
def test_the_ending_of_a_file_gives_the_next_step(tmp_path: Path, name: str, hint: str | None) -> None:
    assert suffix_hint(name) == hint
    (tmp_path / name).touch()
    with pytest.raises(InputError, match=r"file name must end in one of \.jsonl, got") as caught:
        input_paths(tmp_path / name, suffixes=(".jsonl",))
    assert caught.value.hint == hint


# --- reading -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("packed", [False, True])
def test_lines_are_numbered_without_their_ends_and_without_a_byte_order_mark(tmp_path: Path, packed: bool) -> None:
    raw = b"\xef\xbb\xbfone\r\n\ntwo"
    (tmp_path / "a").write_bytes(gzip.compress(raw) if packed else raw)
    assert list(LineReader(str(tmp_path / "a"))) == [(1, "one"), (2, ""), (3, "two")]


def test_a_line_that_is_not_utf8_is_named(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"good\nbad \xff\n")
    with pytest.raises(InputError) as caught:
        list(LineReader(str(tmp_path / "a")))
    assert (caught.value.place, caught.value.hint) == (f"{tmp_path / 'a'}: line 2", "save the file as UTF-8")


# --- writing -----------------------------------------------------------------------------------------------


def test_a_failure_leaves_the_earlier_file(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("before")
    with pytest.raises(ZeroDivisionError), new_text_file(tmp_path / "a.txt", overwrite=True) as write:
        write(f"after {1 // 0}")
    assert (tmp_path / "a.txt").read_text() == "before"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_missing_folder_of_an_output_has_a_hint(tmp_path: Path) -> None:
    folder = tmp_path / "missing"
    with pytest.raises(OutputError, match="output must be writable, got: No such file") as caught:
        write_json(folder / "a.json", {})
    assert caught.value.hint == f"make the folder {folder} first"


def test_errors_of_another_file_and_of_a_pipe_stay_as_they_are(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), new_file(tmp_path / "a", overwrite=False):
        open(tmp_path / "other")  # noqa: SIM115
    with pytest.raises(BrokenPipeError), new_file(tmp_path / "a", overwrite=False):
        raise BrokenPipeError


# --- links, special files ----------------------------------------------------------------------------------


def write(path: Path, content: str, *, overwrite: bool = False) -> None:
    write_bytes(path, content.encode(), overwrite=overwrite)


def test_a_link_stays_and_its_file_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "real.txt").write_text("old")
    link = tmp_path / "link.txt"
    link.symlink_to("data/real.txt")
    with error(ParameterError, None, "link.txt", hint="overwrite"):
        write(link, "new")
    write(link, "new", overwrite=True)
    assert link.is_symlink()
    assert (tmp_path / "data" / "real.txt").read_text() == "new"
    assert os.listdir(tmp_path / "data") == ["real.txt"]


def test_the_file_of_a_dangling_link_is_made(tmp_path: Path) -> None:
    link = tmp_path / "link.txt"
    link.symlink_to(tmp_path / "missing.txt")
    write(link, "new")
    assert link.is_symlink()
    assert (tmp_path / "missing.txt").read_text() == "new"
    link = tmp_path / "other.txt"
    link.symlink_to(tmp_path / "folder" / "missing.txt")
    with error(OutputError, None, "other.txt"):
        write(link, "new")


def test_special_files_and_links_to_themselves_are_no_outputs(tmp_path: Path) -> None:
    pipe, loop, link = tmp_path / "pipe", tmp_path / "loop", tmp_path / "link"
    os.mkfifo(pipe)
    loop.symlink_to(loop)
    link.symlink_to(pipe)
    for path, found in ((pipe, "a special file"), (link, "a special file"), (loop, "a special file")):
        for overwrite in (False, True):
            with pytest.raises(ParameterError, match=f"output must be a regular file, got {found}"):
                write(path, "new", overwrite=overwrite)
    assert stat.S_ISFIFO(pipe.lstat().st_mode)


def test_identifiers_are_new_once_also_when_they_are_many() -> None:
    ids, seen = SeenIds(), set()
    for number in np.random.default_rng(0).integers(0, 2000, 5000).tolist():
        assert ids.add(str(number)) == (number not in seen)
        seen.add(number)


@pytest.mark.skipif(sys.platform != "linux", reason="the unit of ru_maxrss is that of Linux")
def test_an_identifier_needs_few_bytes_of_memory() -> None:
    program = """
import resource
from corefsample.files._reading import SeenIds
SeenIds().add("a")
before, ids = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, SeenIds()
assert all(ids.add(f"document {number}") for number in range(500_000))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert int(done.stdout) * 2**10 < 40 * 500_000  # a set of digests: 90 bytes each


def test_identifiers_may_have_lone_surrogates() -> None:
    ids = SeenIds()
    assert [ids.add("\ud800"), ids.add("\ud801"), ids.add("\ud800")] == [True, True, False]


# --- reading ahead -----------------------------------------------------------------------------------------


def test_items_come_in_order_one_made_in_advance() -> None:
    made: list[int] = []

    def items() -> Iterator[int]:
        for n in range(4):
            made.append(n)
            yield n

    found = []
    for n in read_ahead(items()):
        found.append(n)
        assert len(made) <= n + 2
    assert found == made == [0, 1, 2, 3]


def test_a_consumer_that_stops_early_leaves_no_thread() -> None:
    before = threading.active_count()
    ahead = read_ahead(iter(range(10)))
    assert next(ahead) == 0
    ahead.close()  # type: ignore[attr-defined]
    assert threading.active_count() == before


# --- whole files -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("content", [b"[" * 100_000, b'{"a":' * 100_000, b"", b"\xff", b"{", b"1" * 5000])
def test_what_is_no_json_is_one_error(tmp_path: Path, content: bytes) -> None:
    with error(InputError):
        parsed_json(content)
    (tmp_path / "a.json").write_bytes(content)
    for read in (read_json, read_recalibration):
        with error(InputError, place="a.json"):
            read(tmp_path / "a.json")
