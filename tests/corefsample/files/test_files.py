"""Paths, lines and outputs: what every reader and writer of files shares."""

from __future__ import annotations

import gzip
import os
from pathlib import Path
from typing import Any

import pytest

from corefsample import InputError, OutputError, ParameterError
from corefsample.files import (
    FileSeries,
    LineReader,
    SeenIds,
    input_paths,
    new_file,
    new_text_file,
    require_writable,
    suffix_hint,
    suffix_of,
    write_json,
)

# --- paths -------------------------------------------------------------------------------------------------


def test_a_glob_is_expanded_in_the_order_of_names(tmp_path: Path) -> None:
    for name in ("b.txt", "a.txt", "c.csv"):
        (tmp_path / name).touch()
    assert input_paths([tmp_path / "c.csv", f"{tmp_path}/*.txt"]) == [
        str(tmp_path / f) for f in ("c.csv", "a.txt", "b.txt")
    ]


@pytest.mark.parametrize(
    ("inputs", "error", "message"),
    [
        (5, ParameterError, "inputs must be names of files, got 5"),
        ([], InputError, "inputs must name at least one file, got none"),
        (["-", "-"], InputError, "-: standard input can be read once, got it 2 times"),
        ("nowhere.txt", InputError, "nowhere.txt: file must exist, got none"),
        ("nowhere*", InputError, "nowhere*: glob must match a file, got none"),
    ],
)
def test_inputs_that_name_no_file_are_an_error(inputs: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as raised:
        input_paths(inputs)
    assert str(raised.value) == message


def test_a_folder_is_allowed_only_on_request(tmp_path: Path) -> None:
    assert input_paths(tmp_path, folders=True) == [str(tmp_path)]
    with pytest.raises(InputError, match="input must be a regular file, got a folder") as error:
        input_paths(tmp_path, suffixes=(".jsonl", ".parquet"))
    assert error.value.hint == f"name its files, such as {str(tmp_path / '*.parquet')!r}"
    (tmp_path / "documents.parquet").touch()
    with pytest.raises(InputError) as error:
        input_paths(tmp_path, suffixes=(".jsonl", ".parquet"))
    assert error.value.hint == f"name its files, such as {str(tmp_path / 'documents.parquet')!r}"


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("a.docx", "put the texts into a CSV file with the columns doc_id, date, title and text"),
        ("A.TXT", "put the texts into a CSV file with the columns doc_id, date, title and text"),
        ("a.tsv.gz", "save it as CSV, with commas"),
        ("a.csv", "`corefsample score` makes scored mentions of it"),
        ("a.v4_gold_conll", "`corefsample score` makes scored mentions of it"),
        ("a.json", "JSON Lines has one object per line and no list around them, and ends in .jsonl"),
        ("a.dta", None),
        ("a", None),
    ],
)
def test_the_ending_of_a_file_gives_the_next_step(tmp_path: Path, name: str, hint: str | None) -> None:
    assert suffix_hint(name) == hint
    (tmp_path / name).touch()
    with pytest.raises(InputError, match=r"file name must end in one of \.jsonl, got") as error:
        input_paths(tmp_path / name, suffixes=(".jsonl",))
    assert error.value.hint == hint


def test_the_longest_ending_counts() -> None:
    assert suffix_of("a.jsonl.gz", (".gz", ".jsonl.gz")) == ".jsonl.gz"


# --- reading -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("packed", [False, True])
def test_lines_are_numbered_without_their_ends_and_without_a_byte_order_mark(tmp_path: Path, packed: bool) -> None:
    raw = b"\xef\xbb\xbfone\r\n\ntwo"
    (tmp_path / "a").write_bytes(gzip.compress(raw) if packed else raw)
    assert list(LineReader(str(tmp_path / "a"))) == [(1, "one"), (2, ""), (3, "two")]


def test_a_line_that_is_not_utf8_is_named(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"good\nbad \xff\n")
    with pytest.raises(InputError) as error:
        list(LineReader(str(tmp_path / "a")))
    assert (error.value.place, error.value.hint) == (f"{tmp_path / 'a'}: line 2", "save the file as UTF-8")


def test_damaged_gzip_names_its_line_and_a_missing_file_none(tmp_path: Path) -> None:
    (tmp_path / "cut").write_bytes(gzip.compress(b"one\n")[:-4])
    with pytest.raises(InputError, match=r"cut: line [12]: gzip data must be complete"):
        list(LineReader(str(tmp_path / "cut")))
    with pytest.raises(InputError, match=r"none: file must be readable, got: No such file"):
        list(LineReader(str(tmp_path / "none")))


def test_progress_is_summed_over_files(tmp_path: Path) -> None:
    paths = [str(tmp_path / name) for name in "ab"]
    for path in paths:
        Path(path).write_text("one\ntwo\n")

    class Lines(FileSeries):
        def __iter__(self) -> Any:
            for _, reader in self._readers(LineReader):
                for _ in reader:
                    yield self.bytes_read

    lines = Lines(paths)
    assert [*lines, lines.bytes_read, lines.total_bytes] == [4, 8, 12, 16, 16, 16]
    assert repr(lines) == f"Lines({paths[0]!r}, {paths[1]!r}; 16 of 16 bytes read)"


def test_an_identifier_is_new_once() -> None:
    ids = SeenIds()
    assert [ids.add(name) for name in ("a", "b", "a", "\ud800")] == [True, True, False, True]


# --- writing -----------------------------------------------------------------------------------------------


def test_a_file_appears_when_it_is_complete(tmp_path: Path) -> None:
    with new_text_file(tmp_path / "a.txt", overwrite=False) as write:
        write("one\n")
        assert not (tmp_path / "a.txt").exists()
    assert (tmp_path / "a.txt").read_text() == "one\n"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_failure_leaves_the_earlier_file(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("before")
    with pytest.raises(ZeroDivisionError), new_text_file(tmp_path / "a.txt", overwrite=True) as write:
        write(f"after {1 // 0}")
    assert (tmp_path / "a.txt").read_text() == "before"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_temporary_file_that_is_removed_makes_no_file(tmp_path: Path) -> None:
    with new_file(tmp_path / "a.txt", overwrite=False) as partial:
        os.unlink(partial)
    assert os.listdir(tmp_path) == []


def test_the_bytes_of_gzip_depend_only_on_the_content(tmp_path: Path) -> None:
    for name in ("a.gz", "b.gz"):
        with new_text_file(tmp_path / name, overwrite=False) as write:
            write("text")
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()
    assert gzip.decompress((tmp_path / "a.gz").read_bytes()) == b"text"


def test_an_existing_output_is_bad_usage(tmp_path: Path) -> None:
    write_json(tmp_path / "a.json", {"a": 1})
    with pytest.raises(ParameterError, match=r"output must not exist, got a file \(overwrite replaces it\)$"):
        write_json(tmp_path / "a.json", {}, overwrite=False)
    with pytest.raises(ParameterError, match="output must be a file, got a folder"):
        write_json(tmp_path, {})


def test_a_missing_folder_of_an_output_has_a_hint(tmp_path: Path) -> None:
    folder = tmp_path / "missing"
    for check in (require_writable, lambda path: write_json(path, {})):
        with pytest.raises(OutputError, match="output must be writable, got: No such file") as error:
            check(folder / "a.json")
        assert error.value.hint == f"make the folder {folder} first"


def test_errors_of_another_file_and_of_a_pipe_stay_as_they_are(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), new_file(tmp_path / "a", overwrite=False):
        open(tmp_path / "other")  # noqa: SIM115
    with pytest.raises(BrokenPipeError), new_file(tmp_path / "a", overwrite=False):
        raise BrokenPipeError


def test_text_that_utf8_cannot_encode_is_an_error(tmp_path: Path) -> None:
    text = new_text_file(tmp_path / "a.txt", overwrite=False)
    with pytest.raises(OutputError, match="text must be valid UTF-8"), text as write:
        write("\ud800")
    assert os.listdir(tmp_path) == []
