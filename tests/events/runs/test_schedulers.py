"""What a scheduler needs: exit statuses, errors that it can tell apart, and limits on what is set aside."""

import errno
import gzip
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from command_line import Calls
from places import PACKAGES
from references import events as er
from run_cases import CountOptions, count_events

import events.runs._count_run as counting_run
from corefsample import InputError, read_documents
from events.runs._store import opened_store

DOCUMENTS = er.corpus()


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return er.write_lines(tmp_path / "corpus.jsonl", DOCUMENTS)


def failed(call: Calls, *arguments: Any) -> tuple[int, str]:
    """Status and kind of an error, as a program sees them."""
    status, out, err = call(*arguments, "--json")
    error = json.loads(out)["error"]
    assert error["status"] == status
    assert error["message"] in " ".join(err.split())
    return status, error["kind"]


def test_what_may_succeed_later_has_a_status_and_kinds_of_its_own(
    call: Calls, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ["events", corpus, "--out", tmp_path / "run", "--no-pictures", "--samples", 20]
    with opened_store(tmp_path / "run" / "parts", str(tmp_path / "run")):
        assert failed(call, *command) == (75, "Locked")

    def full(*arguments: Any, **options: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(counting_run, "write_counts", full)
        assert failed(call, *command) == (75, "DiskFull")
    assert call(*command)[0] == 0
    assert failed(call, "events", tmp_path / "none.jsonl", "--out", tmp_path / "other") == (3, "InputError")
    assert failed(call, "events", corpus, "--out", tmp_path / "run", "--period", "eon") == (2, "ParameterError")


def test_a_refused_connection_may_succeed_later(call: Calls, tmp_path: Path) -> None:
    pytest.importorskip("aiohttp", reason="extra `remote`")
    command = ["events", "http://127.0.0.1:9/scored.parquet", "--out", tmp_path / "run"]
    assert failed(call, *command) == (75, "NoConnection")


@pytest.mark.parametrize(("sent", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_terminated_command_ends_like_an_interrupted_one(sent: signal.Signals, status: int) -> None:
    command = [sys.executable, "-m", "events.commands", "doctor", "-", "--json", "--verbose"]
    environment = {**os.environ, "PYTHONPATH": str(PACKAGES)}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, text=True, env=environment, **pipes) as process:  # type: ignore[call-overload]
        assert process.stderr.readline() == "corefsample: reading -\n"
        time.sleep(1.0)  # it waits for standard input
        process.send_signal(sent)
        out, err = process.communicate(timeout=60)
    assert process.returncode == status
    assert json.loads(out)["error"]["status"] == status
    assert err.strip() == "corefsample: interrupted"


@pytest.mark.parametrize(("most", "is_error"), [(None, False), (2.0, False), (0.2, False), (1.0, True), (0.1, True)])
def test_more_bad_documents_than_allowed_are_an_error(tmp_path: Path, most: float | None, is_error: bool) -> None:
    rows = [row | ({"date": "yesterday"} if number in (3, 5) else {}) for number, row in enumerate(DOCUMENTS)]
    path = er.write_lines(tmp_path / "corpus.jsonl", rows)  # ten documents, two of them bad
    options = CountOptions(n_samples=20, on_error="quarantine", max_quarantined=most)
    if is_error:
        with pytest.raises(InputError, match=r"got 2 of 10, the first: .*line 4"):
            count_events(path, tmp_path / "run", options)
        assert not (tmp_path / "run" / "counts.csv").exists()
    result = count_events(path, tmp_path / "run", CountOptions(n_samples=20, on_error="quarantine"))
    assert (result.n_documents, result.n_quarantined, result.n_computed) == (8, 2, int(not is_error))


@pytest.mark.parametrize("name", ["cut.jsonl.gz", "cut.parquet"])
def test_a_truncated_file_is_set_aside_as_a_file(call: Calls, corpus: Path, tmp_path: Path, name: str) -> None:
    cut = tmp_path / name
    if name.endswith(".gz"):
        cut.write_bytes(gzip.compress(corpus.read_bytes().replace(b'"doc ', b'"cut ')))
    else:
        call.good("convert", corpus, cut)
    cut.write_bytes(cut.read_bytes()[:-20])
    stopped = ["events", corpus, cut, "--out", tmp_path / "run", "--no-pictures", "--samples", 20]
    assert failed(call, *stopped) == (3, "DamagedFileError")
    call.good(*stopped, "--on-error", "quarantine")
    (row,) = map(json.loads, (tmp_path / "run" / "quarantine.jsonl").read_text().splitlines())
    assert row["source"] == str(cut)
    assert row["place"] == "file" or row["place"].endswith(" and all after it")
    counted = json.loads((tmp_path / "run" / "run.json").read_text())["summary"]
    assert counted["n_documents"] >= len(list(read_documents(corpus)))
    assert counted["n_quarantined"] == 1
