"""Files at URLs: read, written, listed, and what is said where that fails."""

import gzip
import hashlib
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from expected_errors import error
from references import events as er
from remote_files import stored_in, web_server

from corefsample import CorefsampleError, InputError, ParameterError, read_documents, write_documents
from corefsample._lazy import install_hint
from corefsample.files._atomic import OutputFolder, new_file, remove_file
from corefsample.files._paths import input_paths, is_file, total_size
from corefsample.files._reading import ReadProgress, open_bytes, sha256
from corefsample.files._remote import _BLOCKS, is_url

pytest.importorskip("fsspec", reason="extra `remote`")


def message(error: CorefsampleError) -> str:
    text = str(error)
    assert "\n" not in text
    return text


# --- names -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["-", "a.jsonl", "/a/b", "C://a", "a:b", "./s3://bucket", Path("s3://bucket/a")])
def test_a_scheme_of_several_letters_makes_a_url(name: str) -> None:
    assert all(map(is_url, ["s3://bucket/a.jsonl", "HTTPS://host/a", "memory://a"]))
    assert not is_url(name)


def test_globs_expand_in_order_and_folders_are_refused(system: Any) -> None:
    for name in ("b/2.jsonl", "b/1.jsonl", "b/deep/3.jsonl", "b/4.txt"):
        system.pipe_file(f"/{name}", b"{}\n")
    assert [path.split("b/")[1] for path in input_paths("memory://b/*.jsonl")] == ["1.jsonl", "2.jsonl"]
    assert len(input_paths("memory://b/**/*.jsonl")) == 3
    with pytest.raises(InputError, match=r"glob must match a file, got none") as caught:
        input_paths("memory://b/*.parquet")
    assert caught.value.place == "memory://b/*.parquet"
    with pytest.raises(InputError, match="must be a regular file, got a folder"):
        input_paths("memory://b")
    with error(InputError, place="9.jsonl"):
        input_paths("memory://b/9.jsonl")
    with pytest.raises(InputError, match=r"must end in one of \.jsonl"):
        input_paths("memory://b/4.txt", suffixes=(".jsonl",))


@pytest.mark.parametrize(
    ("scheme", "library", "extra"),
    [("s3", "fsspec", "s3"), ("s3", "s3fs", "s3"), ("gs", "gcsfs", "gcs"), ("https", "aiohttp", "http")],
)
def test_without_the_libraries_the_error_names_the_extra(
    scheme: str, library: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fsspec.registry import _registry

    monkeypatch.delitem(_registry, scheme, raising=False)
    monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.delitem(sys.modules, "fsspec.implementations.http", raising=False)
    with pytest.raises(ParameterError) as caught:
        input_paths(f"{scheme}://bucket/1.jsonl")
    assert caught.value.hint == install_hint(extra)
    assert library in caught.value.message


# --- reading and writing -----------------------------------------------------------------------------------


def test_bytes_are_read_plain_and_unpacked_and_counted(system: Any) -> None:
    content = b"one\ntwo\n" * 1000
    system.pipe_file("/b/a.jsonl", content)
    system.pipe_file("/b/a.jsonl.gz", gzip.compress(content))
    for name, size in (("a.jsonl", len(content)), ("a.jsonl.gz", len(gzip.compress(content)))):
        progress = ReadProgress()
        with open_bytes(f"memory://b/{name}", progress) as stream:
            assert stream.readline() == b"one\n"
            assert stream.read() == content[4:]
        assert progress.bytes_read == total_size([f"memory://b/{name}"]) == size
    assert sha256("memory://b/a.jsonl") == hashlib.sha256(content).hexdigest()


def test_an_output_appears_when_it_is_complete_and_not_after_an_error(system: Any) -> None:
    with new_file("memory://b/a", overwrite=False) as partial:
        Path(partial).write_bytes(b"whole")
        assert not is_file("memory://b/a")
    assert system.cat_file("/b/a") == b"whole"
    with (
        pytest.raises(ParameterError, match="output must not exist, got a file"),
        new_file("memory://b/a", overwrite=False),
    ):
        pass
    with suppress(RuntimeError), new_file("memory://b/a", overwrite=True) as partial:
        Path(partial).write_bytes(b"half")
        raise RuntimeError
    assert system.cat_file("/b/a") == b"whole"
    remove_file("memory://b/a")
    remove_file("memory://b/a")
    assert not is_file("memory://b/a")


def test_documents_are_the_same_by_url(system: Any, tmp_path: Path) -> None:
    documents = [er.scored(each) for each in er.corpus()]
    for name in ("a.jsonl", "a.jsonl.gz", "a.parquet"):
        write_documents(documents, tmp_path / name)
        write_documents(documents, f"memory://b/{name}")
        assert system.cat_file(f"/b/{name}") == (tmp_path / name).read_bytes()
        assert [each.doc_id for each in read_documents(f"memory://b/{name}")] == [each.doc_id for each in documents]


# --- web servers -------------------------------------------------------------------------------------------


def test_a_server_that_sends_no_parts_can_be_read_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(_BLOCKS, "block_size", 256)  # smaller than the files
    documents = [er.scored(each) for each in er.corpus()]
    for name in ("a.parquet", "a.jsonl", "a.jsonl.gz"):
        write_documents(documents, tmp_path / name)
    with web_server(tmp_path) as address:
        for name in ("a.jsonl", "a.jsonl.gz", "a.jsonl?signature=x#a.jsonl"):
            found = [each.doc_id for each in read_documents(f"{address}/{name}")]
            assert found == [each.doc_id for each in documents]
        with pytest.raises(InputError, match="file must be readable") as caught:
            [*read_documents(f"{address}/a.parquet")]
    assert "download the file first" in message(caught.value)


def test_errors_of_web_servers_are_one_line(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b"x" * 100)
    with web_server(tmp_path) as address:
        with pytest.raises(InputError, match="file must exist, got none") as missing:
            input_paths(f"{address}/none.jsonl")
        message(missing.value)
        with pytest.raises(InputError, match="HTTP status 403 Forbidden") as forbidden:
            input_paths(f"{address}/forbidden.jsonl")
        assert "docs/remote.md" in message(forbidden.value)
        with pytest.raises(InputError, match="file must exist"):  # a server does not list its files
            input_paths(f"{address}/*.jsonl")
    with pytest.raises(InputError, match="file must be readable, got: Connect") as unreachable:
        input_paths(f"{address}/a.jsonl")
    assert "check the address and the network" in message(unreachable.value)


def test_a_connection_that_ends_too_early_is_an_error_not_a_short_file(tmp_path: Path) -> None:
    write_documents([er.scored(each) for each in er.corpus()], tmp_path / "a.jsonl")
    with web_server(tmp_path, is_short=True) as address, pytest.raises(InputError, match="must be readable") as caught:
        [*read_documents(f"{address}/a.jsonl")]
    assert f"{address}/a.jsonl" in message(caught.value)


# --- folders -----------------------------------------------------------------------------------------------


class Tables(OutputFolder):
    RECORD, FILES = "run.json", frozenset(["a.csv", "b.csv", "old.csv", "run.json"])


def test_a_folder_is_replaced_record_last(system: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    system.pipe({"/b/run/a.csv": b"one", "/b/run/old.csv": b"three", "/b/run/run.json": b"{}", "/b/run/mine": b""})
    with error(ParameterError, "out", hint="overwrite"):
        Tables("memory://b/run")
    before, seen = {"a.csv": b"one", "old.csv": b"three", "mine": b""}, []
    put = type(system).put_file

    def spied(*arguments: Any, **options: Any) -> None:
        put(*arguments, **options)
        seen.append(stored_in(system, "/b/run"))

    monkeypatch.setattr(type(system), "put_file", spied)
    with Tables("memory://b/run", overwrite=True) as folder:
        for name, content in (("run.json", b"[]"), ("a.csv", b"other"), ("b.csv", b"new")):
            folder.file(name).write_bytes(content)
        assert "run.json" in stored_in(system, "/b/run")
    del before["old.csv"]
    assert seen[0] == {**before, "a.csv": b"other"}
    assert seen[-1] == {"a.csv": b"other", "b.csv": b"new", "run.json": b"[]", "mine": b""}
    assert "run.json" not in seen[-2]
