"""Runs and other jobs by URL: the bytes of local ones, whatever stopped them in between."""

from __future__ import annotations

import dataclasses
import json
import re
import tempfile
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from command_line import called, refused
from references import events as er
from remote_files import memory, s3_server, stored_in

from corefsample import InputError, OutputError, ParameterError, write_documents
from corefsample.documents import from_documents
from corefsample.files import _remote
from corefsample.formats.scored import ParquetWriter
from events.commands import CalibrateOptions, run_calibrate
from events.counting import read_count_posterior
from events.jobs import calibrate_links
from events.jobs.count_events import (
    EventsOptions,
    RunSummary,
    finalise_run,
    initialise_run,
    run_events,
    run_partition,
)
from events.pages import write_report
from events.pages._report_content import read_report

s3fs = pytest.importorskip("s3fs", reason="extra `remote`")

OPTIONS = EventsOptions(n_samples=40, compare=("USA", "IRQ"), partition_size=9, threads=1)
TABLES = {
    "counts.csv",
    "counts.parquet",
    "evidence.csv",
    "evidence.parquet",
    "near_half.csv",
    "comparisons.csv",
    "documents.parquet",
}
RUN = "memory://b/run"
INPUTS = "memory://b/in/news-*"


def round_of(number: int) -> list[Any]:
    made = []
    for each in er.corpus():
        date = f"{1999 + 7 * number % 5}{each['date'][4:]}"
        document = er.scored({**each, "doc_id": f"{each['doc_id']} of round {number}", "date": date})
        gold = tuple(str(i // 2) for i in range(len(each["mentions"])))
        made.append(dataclasses.replace(document, gold=gold))
    return made


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four files: Parquet of which two are partitions, and JSON Lines."""
    folder = tmp_path_factory.mktemp("corpus")
    with ParquetWriter(str(folder / "news-0.parquet")) as writer:
        for number in (0, 1):
            writer.write(from_documents(round_of(number)))
            writer.end_group()
    write_documents(round_of(2), folder / "news-1.jsonl")
    write_documents(round_of(3), folder / "news-2.jsonl.gz")
    return folder


@pytest.fixture(scope="module")
def reference(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Tables of a local run."""
    out = tmp_path_factory.mktemp("reference") / "run"
    assert run(str(corpus / "news-*"), out).n_partitions == 4
    return {name: (out / name).read_bytes() for name in TABLES}


@pytest.fixture
def system(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Memory with the files, and an own folder for temporary files, which has to be empty at the end."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    found = memory()
    for path in corpus.iterdir():
        found.put_file(path, f"/b/in/{path.name}")
    yield found
    assert not [*folder.iterdir()]
    memory()


def run(inputs: Any, out: Any, **changed: Any) -> RunSummary:
    keywords = {name: changed.pop(name) for name in ("overwrite", "restart", "workers") if name in changed}
    return run_events(inputs, out, dataclasses.replace(OPTIONS, **changed), pictures=False, **keywords)


def tables(system: Any, folder: str = "/b/run") -> dict[str, bytes]:
    return {name: content for name, content in stored_in(system, folder).items() if name in TABLES}


# --- runs --------------------------------------------------------------------------------------------------


def test_a_run_has_the_bytes_of_a_local_one(system: Any, reference: dict[str, bytes]) -> None:
    summary = run(INPUTS, RUN)
    assert (summary.out, summary.n_partitions, summary.n_computed) == (RUN, 4, 4)
    assert tables(system) == reference
    found = stored_in(system, "/b/run")
    record = json.loads(found["run.json"])
    assert record["arguments"]["out"] == record["summary"]["out"] == RUN
    assert [row["path"] for row in record["inputs"]] == [
        f"memory://b/in/news-{n}" for n in ("0.parquet", "1.jsonl", "2.jsonl.gz")
    ]
    assert all(row["sha256"] is None and row["etag"] for row in record["inputs"])
    folders = {name.split("/")[0] for name in found if "/" in name}
    assert folders == {"partitions"}
    assert "temporary" not in json.dumps(record)


def test_a_local_run_of_urls_and_a_remote_run_of_files_agree(
    system: Any, corpus: Path, tmp_path: Path, reference: dict[str, bytes]
) -> None:
    run(INPUTS, tmp_path / "run")
    assert {name: (tmp_path / "run" / name).read_bytes() for name in TABLES} == reference
    run(str(corpus / "news-*"), RUN)
    assert tables(system) == reference


def test_each_step_can_be_a_process_of_its_own(system: Any, reference: dict[str, bytes]) -> None:
    numbers = initialise_run(INPUTS, RUN, OPTIONS)
    assert numbers == (1, 2, 3, 4)
    with pytest.raises(InputError, match="all 4 partitions must be complete, got 4 missing") as caught:
        finalise_run(RUN)
    assert caught.value.place == RUN
    for number in reversed(numbers):
        run_partition(RUN, number)
    with pytest.raises(ParameterError, match="must be one of 4, got 5"):
        run_partition(RUN, 5)
    assert finalise_run(RUN, pictures=False).n_computed == 4
    assert tables(system) == reference


def test_a_run_that_another_machine_left_is_resumed(system: Any, reference: dict[str, bytes]) -> None:
    initialise_run(INPUTS, RUN, OPTIONS)
    run_partition(RUN, 2)
    run_partition(RUN, 4)
    with pytest.raises(ParameterError, match="seed must be 0 as in the unfinished run, got 1"):
        run(INPUTS, RUN, seed=1)
    assert run(INPUTS, RUN).n_computed == 2
    assert tables(system) == reference
    before = stored_in(system, "/b/run")
    assert run(INPUTS, RUN).n_computed == 0
    assert stored_in(system, "/b/run") == before


def test_a_damaged_result_is_computed_again(system: Any, reference: dict[str, bytes]) -> None:
    initialise_run(INPUTS, RUN, OPTIONS)
    for number in (1, 2, 3):
        run_partition(RUN, number)
    names = [name for name in system.find("/b/run") if name.endswith("counter.json")]
    content = system.cat_file(names[0])
    system.pipe_file(names[0], content[:-2] + b" }")
    system.rm_file(names[1])
    assert run(INPUTS, RUN).n_computed == 3
    assert tables(system) == reference
    assert len([name for name in system.find("/b/run") if name.endswith("counter.json")]) == 4


def test_a_run_that_stops_at_any_step_is_resumed(
    system: Any, reference: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The service fails after every number of steps; a step is an upload, a copy or a removal of several files."""
    left: list[int] = []

    def limited(name: str) -> None:
        original = getattr(_remote, name)

        def step(files: Any) -> None:
            if files and left:
                left[0] -= 1
                if left[0] < 0:
                    raise OutputError("output must be writable, got no network", place=RUN)
            original(files)

        monkeypatch.setattr(_remote, name, step)

    for name in ("upload", "copy_files", "remove"):
        limited(name)
    n_stopped = 0
    for n_steps in range(1, 100):
        system.rm("/b/run", recursive=True) if system.exists("/b/run") else None
        left[:] = [n_steps]
        try:
            run(INPUTS, RUN)
            break
        except OutputError:
            n_stopped += 1
        left.clear()
        run(INPUTS, RUN)
        assert tables(system) == reference
        assert not [name for name in stored_in(system, "/b/run") if name.startswith("unfinished")]
    assert n_stopped > 10


def test_the_corpus_of_a_run_can_grow(system: Any, reference: dict[str, bytes]) -> None:
    run(["memory://b/in/news-0.parquet", "memory://b/in/news-1.jsonl"], RUN)
    assert tables(system) != reference
    assert run(INPUTS, RUN).n_computed == 1
    assert tables(system) == reference


def test_another_run_replaces_one_only_when_told(system: Any, reference: dict[str, bytes]) -> None:
    run(INPUTS, RUN, seed=5)
    with pytest.raises(ParameterError, match=re.escape(f"got {RUN} of a run with seed 5, not 0")):
        run(INPUTS, RUN)
    run(INPUTS, RUN, overwrite=True)
    assert tables(system) == reference


def test_a_changed_input_is_noticed(system: Any) -> None:
    initialise_run(INPUTS, RUN, OPTIONS)
    run_partition(RUN, 3)
    system.pipe_file("/b/in/news-1.jsonl", system.cat_file("/b/in/news-1.jsonl").replace(b"attack", b"defend"))
    with pytest.raises(InputError, match="got another size or time of change") as caught:
        run_partition(RUN, 3)
    assert caught.value.place == "memory://b/in/news-1.jsonl"
    system.pipe_file("/b/run/unfinished/again", b"")
    initialise_run(INPUTS, RUN, OPTIONS, restart=True)
    run_partition(RUN, 3)
    system.pipe_file("/b/in/news-1.jsonl", b"")
    with pytest.raises(InputError, match="file must be as it was when the unfinished run began") as caught:
        run(INPUTS, RUN)
    assert caught.value.place == "memory://b/in/news-1.jsonl"


def test_a_folder_with_other_files_is_never_replaced(system: Any) -> None:
    system.pipe_file("/b/run/thesis.txt", b"years of work")
    with pytest.raises(ParameterError, match=re.escape(f"got {RUN} with other files")):
        run(INPUTS, RUN, overwrite=True)
    assert stored_in(system, "/b/run") == {"thesis.txt": b"years of work"}


def test_a_run_without_a_complete_partition_leaves_nothing(system: Any) -> None:
    system.pipe_file("/b/in/news-0.parquet", b"no Parquet")
    with pytest.raises(InputError, match="file must be Parquet") as caught:
        run(INPUTS, RUN)
    assert caught.value.place == "memory://b/in/news-0.parquet"
    system.pipe_file("/b/in/news-3.jsonl", b"no JSON\n")
    with pytest.raises(InputError, match="a line must be JSON"):
        run("memory://b/in/news-3.jsonl", RUN)
    assert not stored_in(system, "/b/run")


def test_rules_are_read_by_url_and_a_demo_is_local(system: Any, capsys: pytest.CaptureFixture[str]) -> None:
    system.pipe_file("/b/rule.yaml", (resources.files("events") / "data" / "rules" / "attack.yaml").read_bytes())
    initialise_run(INPUTS, RUN, dataclasses.replace(OPTIONS, rule="memory://b/rule.yaml"))
    run_partition(RUN, 3)
    assert system.exists("/b/run/unfinished/partition-00003.json")
    status, line = refused(capsys, "demo", "--out", "memory://b/demo")
    assert (status, line) == (2, "corefsample: --out must be a local folder, got memory://b/demo")


# --- other jobs --------------------------------------------------------------------------------------------


def test_a_run_is_read_for_reports_and_posteriors(system: Any, tmp_path: Path) -> None:
    run(INPUTS, RUN)
    system.get("/b/run", str(tmp_path / "run"), recursive=True)
    summary = write_report(RUN)
    assert summary.out == f"{RUN}/report.html"
    assert len(system.cat_file("/b/run/report.html")) == summary.n_bytes
    remote, local = read_report(RUN), read_report(tmp_path / "run")
    assert (remote.counts, remote.texts) == (local.counts, local.texts)
    ours, theirs = (read_count_posterior(place, "USA", "1999Q1") for place in (RUN, tmp_path / "run"))
    assert ours.pmf.tolist() == theirs.pmf.tolist()
    with pytest.raises(InputError, match=r"must have run\.json") as caught:
        write_report("memory://b/in")
    assert caught.value.place == "memory://b/in"


def test_a_calibration_is_written_to_a_folder_and_replaced(
    system: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calibrate_links, "save_pictures", lambda *_: None)
    options = CalibrateOptions(bin_size=20, n_resamples=50)
    out = "memory://b/calibration"
    run_calibrate("memory://b/in/news-1.jsonl", dataclasses.replace(options, out=out))
    run_calibrate("memory://b/in/news-1.jsonl", dataclasses.replace(options, out=tmp_path / "calibration"))
    found = stored_in(system, "/b/calibration")
    assert found.keys() == {entry.name for entry in (tmp_path / "calibration").iterdir()}
    assert found["calibration.csv"] == (tmp_path / "calibration" / "calibration.csv").read_bytes()
    assert json.loads(found["calibration.json"])["arguments"]["out"] == out
    with pytest.raises(ParameterError, match=f"must be a new or empty folder, got {out}"):
        run_calibrate("memory://b/in/news-1.jsonl", dataclasses.replace(options, out=out))
    run_calibrate("memory://b/in/news-2.jsonl.gz", dataclasses.replace(options, out=out, overwrite=True))
    assert stored_in(system, "/b/calibration").keys() == found.keys()


def test_files_are_converted_recalibrated_and_set_aside(
    system: Any, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    status, _, _ = called(capsys, "convert", INPUTS, "memory://b/all.parquet")
    assert status == 0
    local = tmp_path / "all.parquet"
    system.get_file("/b/all.parquet", str(local))
    status, line = refused(capsys, "convert", INPUTS, "memory://b/all.parquet")
    assert (status, line) == (
        2,
        "corefsample: memory://b/all.parquet: output must not exist, got a file (--overwrite replaces it)",
    )
    options = ("--form", "global", "--objective", "likelihood", "--folds", "2", "--resamples", "2")
    for place in ("memory://b/all.parquet", local):
        out = f"{place}.recalibrated.jsonl"
        status, _, err = called(capsys, "recalibrate", place, place, "--out", out, *options)
        assert status == 0, err
    ours = system.cat_file("/b/all.parquet.recalibrated.jsonl")
    assert ours == Path(f"{local}.recalibrated.jsonl").read_bytes()
    assert system.exists("/b/all.parquet.recalibrated.jsonl.recalibration.json")
    system.pipe_file("/b/bad.jsonl", system.cat_file("/b/in/news-1.jsonl") + b"no JSON\n")
    status, _, _ = called(
        capsys, "convert", "memory://b/bad.jsonl", "memory://b/good.jsonl", "--on-error", "quarantine"
    )
    assert status == 0
    assert b"no JSON" in system.cat_file("/b/good.jsonl.quarantine.jsonl")
    status, line = refused(capsys, "convert", INPUTS, "https://host/all.parquet")
    assert (status, line.split(": ")[1]) == (2, "https://host/all.parquet")


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


@pytest.mark.filterwarnings("ignore")  # the cluster's, of a port in use
def test_a_run_at_s3_has_the_bytes_of_a_local_one(bucket: Any, reference: dict[str, bytes]) -> None:
    run("s3://news/in/news-[01]*", "s3://news/run")
    summary = run("s3://news/in/news-*", "s3://news/run", workers=1)  # a process of its own reads and writes
    assert (summary.n_partitions, summary.n_computed) == (4, 1)
    assert tables(bucket, "news/run") == reference
    record = json.loads(bucket.cat_file("news/run/run.json"))
    assert [row["etag"] for row in record["inputs"]] == [
        bucket.info(row["path"])["ETag"].strip('"') for row in record["inputs"]
    ]
    assert run("s3://news/in/news-*", "s3://news/run").n_computed == 0
    assert {name.split("/")[0] for name in stored_in(bucket, "news/run") if "/" in name} == {"partitions"}


@pytest.mark.parametrize(
    ("arguments", "environment", "status", "words"),
    [
        (("doctor", "s3://news/none.jsonl"), {}, 3, "s3://news/none.jsonl: file must exist, got none"),
        (
            ("doctor", "s3://news/in/news-1.jsonl"),
            {"AWS_ENDPOINT_URL": "http://127.0.0.1:9", "AWS_MAX_ATTEMPTS": "1"},
            3,
            "check the address and the network",
        ),
        (
            ("doctor", "s3://news/in/news-1.jsonl"),
            {
                "AWS_ACCESS_KEY_ID": "",
                "AWS_SECRET_ACCESS_KEY": "",
                "AWS_EC2_METADATA_DISABLED": "true",
                "HOME": "/none",
            },
            3,
            "docs/remote.md says how credentials",
        ),
        (
            ("convert", "s3://news/in/news-1.jsonl", "s3://nobucket/a.jsonl"),
            {},
            1,
            "s3://nobucket/a.jsonl: output must be writable, got: The specified bucket does not exist",
        ),
    ],
)
def test_errors_of_s3_are_one_line(
    bucket: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    environment: dict[str, str],
    status: int,
    words: str,
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    s3fs.S3FileSystem.clear_instance_cache()
    found, line = refused(capsys, *arguments)
    s3fs.S3FileSystem.clear_instance_cache()
    assert line.startswith("corefsample: s3://")
    assert words in line
    assert found == status
