"""Jobs by URL: the bytes of local ones, and one line where a service fails."""

import base64
import dataclasses
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from command_line import Calls
from expected_errors import error
from references import events as er
from remote_files import memory, s3_server, stored_in, web_server
from run_cases import Case, CountOptions, count_events, documents, in_groups, stop_after

from corefsample import InputError, write_documents
from corefsample.files._remote import without_credentials
from events.counts import read_count_posterior
from events.pages._report import write_report
from events.runs._store import Source

s3fs = pytest.importorskip("s3fs", reason="extra `remote`")

OPTIONS = CountOptions(n_samples=40, compare=("USA", "IRQ"), part_size=9, threads=1)
RUN = "memory://b/run"
INPUTS = "memory://b/in/news-*"


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four files: Parquet of which two are partitions, and JSON Lines."""
    folder = tmp_path_factory.mktemp("corpus")
    in_groups(folder / "news-0.parquet", documents()[:20], 10)
    write_documents(map(er.scored, documents()[20:30]), folder / "news-1.jsonl")
    write_documents(map(er.scored, documents()[30:40]), folder / "news-2.jsonl.gz")
    return folder


@pytest.fixture
def stored(corpus: Path, system: Any) -> Any:
    """Memory with the files."""
    for path in corpus.iterdir():
        system.put_file(path, f"/b/in/{path.name}")
    return system


def test_rules_are_read_by_url_and_a_demo_is_local(stored: Any, tmp_path: Path, call: Calls) -> None:
    stored.pipe_file("/b/rule.yaml", (resources.files("events") / "data" / "rules" / "attack.yaml").read_bytes())
    options = dataclasses.replace(OPTIONS, rule="memory://b/rule.yaml")
    assert count_events(INPUTS, tmp_path / "run", options).n_documents == 40
    line = call.refused("demo", "--out", "memory://b/demo", status=2)
    assert line == "corefsample: --out must be a local folder, got 'memory://b/demo'"


# --- other jobs --------------------------------------------------------------------------------------------


def test_a_run_is_read_for_posteriors_and_a_page_is_written(stored: Any, tmp_path: Path) -> None:
    count_events(INPUTS, RUN, OPTIONS)
    local = tmp_path / "run"
    stored.get("/b/run", str(local), recursive=True)
    summary = write_report(local, out=f"{RUN}/report.html")
    assert len(stored.cat_file("/b/run/report.html")) == summary["n_bytes"]
    ours, theirs = (read_count_posterior(place, "USA", "1999Q1") for place in (RUN, local))
    assert ours.pmf.tolist() == theirs.pmf.tolist()
    with error(InputError, place=RUN):  # copy it first
        write_report(RUN, overwrite=True)


# --- S3 ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def bucket(corpus: Path) -> Iterator[Any]:
    """A service with the bucket "news", which has the corpus."""
    with s3_server() as environment, pytest.MonkeyPatch.context() as patch:
        s3fs.S3FileSystem.clear_instance_cache()
        for name, value in environment.items():
            patch.setenv(name, value)
        system = s3fs.S3FileSystem()
        system.mkdir("news")
        system.put([str(path) for path in corpus.iterdir()], [f"news/in/{path.name}" for path in corpus.iterdir()])
        yield system
        s3fs.S3FileSystem.clear_instance_cache()


def test_a_run_at_s3_is_a_local_one(bucket: Any, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    count_events(str(corpus / "news-*"), tmp_path / "local", OPTIONS)
    count_events("s3://news/in/news-[01]*", "s3://news/run", OPTIONS)
    count_events("s3://news/in/news-*", "s3://news/run", OPTIONS, workers=2, overwrite=True)
    found = stored_in(bucket, "news/run")
    record = json.loads(found.pop("run.json"))
    assert found == {name: (tmp_path / "local" / name).read_bytes() for name in found}
    assert [row["etag"] for row in record["inputs"]] == [
        bucket.info(row["path"])["ETag"].strip('"') for row in record["inputs"]
    ]
    assert os.listdir(tmp_path) == ["local"]


NO_ANSWER = {"AWS_ENDPOINT_URL": "http://127.0.0.1:9", "AWS_MAX_ATTEMPTS": "1"}
NO_KEY = {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_EC2_METADATA_DISABLED": "true", "HOME": "/none"}


@pytest.mark.parametrize(
    ("arguments", "environment", "status", "words"),
    [
        ("doctor s3://news/none.jsonl", {}, 3, "s3://news/none.jsonl: file must exist, got none"),
        ("doctor s3://news/in/news-1.jsonl", NO_ANSWER, 75, "check the address and the network"),
        ("doctor s3://news/in/news-1.jsonl", NO_KEY, 3, "docs/remote.md says how credentials"),
        ("convert s3://news/in/news-1.jsonl s3://nobucket/a.jsonl", {}, 1, "got: The specified bucket does not exist"),
    ],
)
def test_errors_of_s3_are_one_line(
    bucket: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    call: Calls,
    arguments: str,
    environment: dict[str, str],
    status: int,
    words: str,
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    s3fs.S3FileSystem.clear_instance_cache()
    line = call.refused(*arguments.split(), status=status)
    s3fs.S3FileSystem.clear_instance_cache()
    assert line.startswith("corefsample: s3://")
    assert words in line


# --- passwords and signatures in urls ---------------------------------------------------------------------


pytest.importorskip("aiohttp", reason="extra `remote`")
BASIC = base64.b64encode(b"reader:hunter2").decode()


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://reader:hunter2@host/a.jsonl", "https://host/a.jsonl"),
        ("https://ghp_abc@host/a@b.jsonl", "https://host/a@b.jsonl"),
        (
            "https://host/download?id=5&X-Amz-Signature=ab%2F#.csv",
            "https://host/download?id=5&X-Amz-Signature=...#.csv",
        ),
        ("https://host/a?sv=1&sig=abc&x=2", "https://host/a?sv=1&sig=...&x=2"),
        ("https://host/a?accessToken=abc", "https://host/a?accessToken=..."),
        ("https://host/a?Expires=1&Signature=abc", "https://host/a?Expires=...&Signature=..."),
        ("ftp://me:pw@host/a", "ftp://host/a"),
        ("abfs://container@account/a", "abfs://container@account/a"),
        ("s3://bucket/a?versionId=5", "s3://bucket/a?versionId=5"),
        ("folder/a?sig=abc", "folder/a?sig=abc"),
    ],
)
def test_what_is_shown_of_a_url(url: str, shown: str) -> None:
    assert without_credentials(url) == shown
    assert without_credentials(shown) == shown


def written(folder: Path) -> bytes:
    """Names and bytes of everything in a folder."""
    paths = [path for path in folder.rglob("*") if path.is_file()]
    return b"".join(str(path).encode() + path.read_bytes() for path in paths)


@pytest.mark.parametrize("workers", [1, 2])
def test_no_file_of_a_run_has_credentials(
    counting: Case, counted: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    (tmp_path / "web").mkdir()
    bad = {**documents()[0], "doc_id": "bad", "date": "then"}
    er.write_lines(tmp_path / "web" / "1.jsonl", [*documents()[:30], bad])
    er.write_lines(tmp_path / "web" / "2.jsonl", documents()[30:])
    shutil.copy(str(resources.files("events") / "data" / "rules" / "attack.yaml"), tmp_path / "web" / "rule.yaml")
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    with web_server(tmp_path / "web", secrets=(BASIC, "a1b2c3", "d4e5f6")) as address:
        host = address.partition("://")[2]
        rule = f"http://reader:hunter2@{host}/rule.yaml"
        options = counting.options(rule=rule, on_error="quarantine", part_size=1000)
        inputs = [f"http://reader:hunter2@{host}/1.jsonl", f"{address}/2.jsonl?sig=a1b2c3#.jsonl"]
        with pytest.raises(KeyboardInterrupt):
            counting.run("run", inputs=inputs, options=options, on_progress=stop_after(1, Path("run")), workers=workers)
        unfinished = written(tmp_path / "work")
        inputs[1] = inputs[1].replace("a1b2c3", "d4e5f6")  # a new signature of the same file
        assert counting.n_left(counting.run("run", inputs=inputs, options=options, workers=workers)) > 0
    assert counting.content(Path("run")).keys() == counted.keys()
    for content in (unfinished, written(tmp_path / "work")):
        assert host.encode() in content
        assert not [secret for secret in (b"hunter2", b"a1b2c3", b"d4e5f6", BASIC.encode()) if secret in content]


def test_a_message_shows_no_credentials(tmp_path: Path, call: Calls) -> None:
    with web_server(tmp_path, secrets=("right",)) as address:
        for name in ("1.jsonl?sig=right", "1.jsonl?sig=false"):
            status, _, printed = call("events", f"{address}/{name}#.jsonl", "--out", tmp_path / "run")
            assert status == 3
            assert "sig=..." in printed
            assert name[-5:] not in printed


def test_a_missing_input_is_not_called_changed(counting: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bucket is removed while its parts are computed; so is a local file."""
    monkeypatch.chdir(tmp_path)
    system = memory()
    system.put_file(counting.corpus, "/b/in/news.parquet")
    local = Path(shutil.copy(counting.corpus, tmp_path / "news.parquet"))
    inputs = ("memory://b/in/news.parquet", str(local))
    sources = [Source.of(path) for path in inputs]
    system.store.clear()
    local.unlink()
    for source in sources:
        with error(InputError, place=source.path) as caught:
            source.require_unchanged()
        assert caught.value.message == "file must still be readable, got: No such file or directory"
    memory()
