"""Runs with inputs and outputs at URLs: they work in a local folder, and upload what is complete."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from expected_errors import error
from remote_files import stored_in
from run_cases import Case, stop_after

from corefsample import OutputError

pytest.importorskip("fsspec", reason="extra `remote`")


@pytest.fixture
def url(case: Case, system: Any) -> str:
    """The output; the input is there, too."""
    system.put_file(case.corpus, f"/b/in/{case.corpus.name}")
    return f"memory://b/out/{case.out(Path()).name}"


def at_url(case: Case) -> str:
    return f"memory://b/in/{case.corpus.name}"


def uploaded(case: Case, system: Any) -> dict[str, bytes]:
    name = case.out(Path()).name
    found = stored_in(system, f"/b/out/{name}" if case.name == "events" else "/b/out")
    return {name: content for name, content in found.items() if not name.endswith(("run.json", ".scoring.json"))}


def test_a_run_has_the_bytes_of_a_local_one(case: Case, reference: dict[str, bytes], system: Any, url: str) -> None:
    summary = case.run(url, inputs=at_url(case))
    assert summary.out == url
    assert uploaded(case, system) == reference
    assert not os.listdir()
    name = "/b/out/run/run.json" if case.name == "events" else f"/b/out/{Path(url).name}.scoring.json"
    record = json.loads(system.cat_file(name))
    assert record["arguments"]["out"] == record["summary"]["out"] == url
    (row,) = record["inputs"]
    assert (row["path"], row["sha256"], bool(row["etag"])) == (at_url(case), None, True)
    assert "temporary" not in json.dumps(record)


def test_an_interrupted_run_continues_from_here(case: Case, reference: dict[str, bytes], system: Any, url: str) -> None:
    local = Path(url).name
    with pytest.raises(KeyboardInterrupt, match=rf"are in {local}\.parts, and the same command continues"):
        case.run(url, inputs=at_url(case), on_progress=stop_after(2, Path(local)))
    assert not uploaded(case, system)
    assert os.listdir() == [f"{local}.parts"]
    assert case.n_left(case.run(url, inputs=at_url(case))) > 0
    assert uploaded(case, system) == reference
    assert not os.listdir()


def test_a_failed_upload_is_repeated(
    case: Case, reference: dict[str, bytes], system: Any, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    put, n_uploads = type(system).put_file, 0

    def fail(self: Any, file: str, *arguments: Any, **keywords: Any) -> None:
        nonlocal n_uploads
        n_uploads += 1
        if n_uploads == (2 if case.name == "events" else 1):  # of a run, before its record
            raise PermissionError(13, "expired token")
        put(self, file, *arguments, **keywords)

    with monkeypatch.context() as patch:
        patch.setattr(type(system), "put_file", fail)
        with error(OutputError, place="memory://b/out/") as caught:
            case.run(url, inputs=at_url(case))
    assert "the same command continues" in str(caught.value.hint)
    assert case.n_left(case.run(url, inputs=at_url(case))) > 0
    assert uploaded(case, system) == reference
    assert not os.listdir()


def test_a_changed_input_is_noticed(case: Case, system: Any, url: str) -> None:
    with pytest.raises(KeyboardInterrupt):
        case.run(url, inputs=at_url(case), on_progress=stop_after(2, Path(Path(url).name)))
    system.pipe_file(f"/b/in/{case.corpus.name}", case.corpus.read_bytes())  # the same content: no tag says so
    n_left = case.n_left(case.run(url, inputs=at_url(case)))
    assert n_left == 0 if case.name == "events" else n_left > 0  # parts of `score` depend on the documents alone
