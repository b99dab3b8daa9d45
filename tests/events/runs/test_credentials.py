"""Passwords and signatures in URLs: they open files, and stand in nothing that is written."""

import base64
import shutil
from importlib import resources
from pathlib import Path

import pytest
from command_line import Calls
from expected_errors import error
from references import events as er
from remote_files import memory, web_server
from run_cases import Case, documents, stop_after

from corefsample import InputError
from corefsample.files._remote import without_credentials
from events.runs._store import Source

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
        assert caught.value.message == "file must still exist, but it was removed after the run began"
    memory()
