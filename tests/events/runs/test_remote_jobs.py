"""Jobs by URL: the bytes of local ones, and one line where a service fails."""

import dataclasses
import json
import os
import tempfile
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from command_line import Calls
from expected_errors import error
from references import events as er
from remote_files import memory, s3_server, stored_in
from run_cases import CountOptions, count_events

from corefsample import InputError, write_documents
from corefsample.documents._batch import DocumentBatch
from corefsample.formats.scored._parquet import ParquetWriter
from events.counts import read_count_posterior
from events.pages._report import write_report

s3fs = pytest.importorskip("s3fs", reason="extra `remote`")

OPTIONS = CountOptions(n_samples=40, compare=("USA", "IRQ"), part_size=9, threads=1)
RUN = "memory://b/run"
INPUTS = "memory://b/in/news-*"


def round_of(number: int) -> list[Any]:
    made = []
    for each in er.corpus():
        date = f"{1999 + 7 * number % 5}{each['date'][4:]}"
        made.append(er.scored({**each, "doc_id": f"{each['doc_id']} of round {number}", "date": date}))
    return made


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four files: Parquet of which two are partitions, and JSON Lines."""
    folder = tmp_path_factory.mktemp("corpus")
    with ParquetWriter(str(folder / "news-0.parquet")) as writer:
        for number in (0, 1):
            writer.write(DocumentBatch.of(round_of(number)))
            writer.end_group()
    write_documents(round_of(2), folder / "news-1.jsonl")
    write_documents(round_of(3), folder / "news-2.jsonl.gz")
    return folder


@pytest.fixture
def system(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Memory with the files, and an own folder for temporary files, which has to be empty at the end."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    found = memory()
    for path in corpus.iterdir():
        found.put_file(path, f"/b/in/{path.name}")
    yield found
    assert not [*folder.iterdir()]
    memory()


def test_rules_are_read_by_url_and_a_demo_is_local(system: Any, tmp_path: Path, call: Calls) -> None:
    system.pipe_file("/b/rule.yaml", (resources.files("events") / "data" / "rules" / "attack.yaml").read_bytes())
    options = dataclasses.replace(OPTIONS, rule="memory://b/rule.yaml")
    assert count_events(INPUTS, tmp_path / "run", options).n_documents == 40
    line = call.refused("demo", "--out", "memory://b/demo", status=2)
    assert line == "corefsample: --out must be a local folder, got 'memory://b/demo'"


# --- other jobs --------------------------------------------------------------------------------------------


def test_a_run_is_read_for_posteriors_and_a_page_is_written(system: Any, tmp_path: Path) -> None:
    count_events(INPUTS, RUN, OPTIONS)
    local = tmp_path / "run"
    system.get("/b/run", str(local), recursive=True)
    summary = write_report(local, out=f"{RUN}/report.html")
    assert len(system.cat_file("/b/run/report.html")) == summary["n_bytes"]
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
