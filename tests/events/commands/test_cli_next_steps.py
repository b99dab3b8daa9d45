"""The hints of errors that beginners meet: one line that ends with the next step."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import Calls
from places import PROJECT
from references import events as er

from corefsample import InputError, ParameterError
from corefsample.errors import ParameterHint
from events.news._articles import ArticleStream
from events.runs._document_inputs import DocumentInputs
from events.runs.scoring._parsing import load_pipeline

PAGE = PROJECT / "docs" / "count-events.md"
ROW = {"doc_id": "a", "date": "1999-05-01", "text": "Iraqi forces attacked."}
CSV = "doc_id,date,title,text\na,1999-05-01,Raid,Iraqi forces attacked.\n"


def hint_of_reading(path: Path) -> str | ParameterHint | None:
    """Hint of the error of reading a file of news."""
    with pytest.raises(InputError) as raised:
        list(ArticleStream(path))
    return raised.value.hint


@pytest.fixture
def scored(tmp_path: Path) -> Path:
    return er.write_lines(tmp_path / "scored.jsonl", er.corpus())


# --- news ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "step"),
    [
        (CSV.replace("doc_id,", "id,").replace(",", ";"), ParameterHint("id_column", "names another")),
        (CSV.replace("doc_id,", "id,"), ParameterHint("id_column", "names another")),
        (CSV.replace("date,", "published,"), ParameterHint("date_column", "names another")),
        (CSV.replace(",text", ",body"), ParameterHint("text_column", "names another")),
        (
            CSV.replace("1999-05-01", "05/01/1999"),
            ParameterHint("date_format", "says how dates are written, such as %m/%d/%Y"),
        ),
        (CSV.replace("1999-05-01", ""), None),
        (CSV + "b,1999-05-02,x\n", None),
        ("", None),
    ],
)
def test_an_error_in_a_csv_file_has_a_hint(tmp_path: Path, text: str, step: str | ParameterHint | None) -> None:
    path = tmp_path / "news.csv"
    path.write_text(text)
    assert hint_of_reading(path) == step


@pytest.mark.skipif(not PAGE.exists(), reason="the pages are beside the sources alone")
def test_the_news_that_the_page_shows_are_read(tmp_path: Path) -> None:
    block, *_ = re.findall(r"```text\n(doc_id.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.S)
    path = tmp_path / "news.csv"
    path.write_text(block, encoding="utf-8")
    articles = list(ArticleStream(path))
    assert [article.doc_id for article in articles] == ["a1", "a2"]
    assert all(article.title and article.text.endswith(".") for article in articles)


@pytest.mark.parametrize("text", [json.dumps([ROW]), json.dumps([ROW], indent=1), json.dumps(ROW, indent=1)])
def test_json_that_is_not_json_lines_has_a_hint(tmp_path: Path, text: str) -> None:
    path = tmp_path / "news.jsonl"
    path.write_text(text)
    assert hint_of_reading(path) == "one object per line, no list around them"


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("a.docx", "put the texts into a CSV file with the columns doc_id, date, title and text"),
        ("a.pdf", "put the texts into a CSV file with the columns doc_id, date, title and text"),
        ("A.TXT", "put the texts into a CSV file with the columns doc_id, date, title and text"),
        ("a.xls", "save it as CSV"),
        ("a.tsv.gz", "save it as CSV"),
        ("a.json", "JSON Lines has one object per line and no list around them, and ends in .jsonl"),
        ("a.dta", None),
        ("a", None),
    ],
)
def test_a_file_of_another_kind_has_a_hint(tmp_path: Path, name: str, step: str | None) -> None:
    (tmp_path / name).touch()
    with pytest.raises(InputError, match="file name must end in one of") as failure:
        DocumentInputs([tmp_path / name])
    assert failure.value.hint == step


@pytest.mark.parametrize(
    ("name", "ends"),
    [
        ("en_core_web_sm", " (`python -m spacy download en_core_web_sm` installs it)"),
        ("de_core_news_md", " (`python -m spacy download de_core_news_md` installs it)"),
        ("en", " (`python -m spacy download en_core_web_sm` installs one)"),
        (f"models{os.sep}en", ": there is no such folder"),
        ("empty", ": [E053] Could not read meta.json from empty"),
    ],
)
def test_the_error_of_a_missing_pipeline_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, ends: str
) -> None:
    spacy = pytest.importorskip("spacy")
    if spacy.util.is_package(name):
        pytest.skip(f"{name} is installed")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(ParameterError) as raised:
        load_pipeline(name)
    rule = "pipeline must be an installed spaCy pipeline or the folder of one"
    assert str(raised.value) == f"{rule}, got {name!r}{ends}"


# --- scored mentions -------------------------------------------------------------------------------------------


def test_doctor_prints_a_next_step_once(call: Calls, tmp_path: Path) -> None:
    path = er.write_lines(tmp_path / "news.jsonl", [ROW, {**ROW, "doc_id": "b"}])
    _, _, err = call("doctor", path)
    assert [
        line.endswith("(`corefsample score` finds and scores the mentions of news)") for line in err.splitlines()
    ] == [
        True,
        False,
    ]


# --- runs and outputs ---------------------------------------------------------------------------------------


def test_a_closed_folder_is_rejected_before_the_work(
    call: Calls, monkeypatch: pytest.MonkeyPatch, scored: Path
) -> None:
    closed = scored.parent / "closed"
    closed.mkdir()
    monkeypatch.setattr("os.access", lambda path, mode: Path(path) != closed)
    status, out, err = call("convert", scored, closed / "x.parquet")
    assert (status, out) == (1, "")
    assert err == f"corefsample: {closed / 'x.parquet'}: output must be writable, got: Permission denied\n"


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (
            PermissionError(13, "Permission denied", "runs/closed"),
            "runs/closed: file or folder must be accessible, got: Permission denied",
        ),
        (
            OSError(28, "No space left on device"),
            "a file, or standard output, must be accessible, got: No space left on device",
        ),
        (OSError("no number"), "OSError: no number (COREFSAMPLE_TRACEBACK=1 shows where)"),
        (KeyError("x"), "KeyError: 'x' (COREFSAMPLE_TRACEBACK=1 shows where)"),
    ],
)
def test_errors_of_the_system_name_the_file(
    call: Calls, monkeypatch: pytest.MonkeyPatch, scored: Path, error: Exception, message: str
) -> None:
    def fail(*args: Any, **keywords: Any) -> None:
        raise error

    monkeypatch.setattr("events.commands._document_checks.check_corpus", fail)
    assert call("doctor", scored) == (1, "", f"corefsample: {message}\n")


# --- pipes --------------------------------------------------------------------------------------------------


def closed_pipe(*arguments: Any) -> subprocess.CompletedProcess[str]:
    """Run a command whose reader is gone before it begins."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        return subprocess.run(
            [sys.executable, "-m", "events.commands", *map(str, arguments)],
            cwd=PROJECT,
            stdout=writing,
            stderr=subprocess.PIPE,
            text=True,
            timeout=120,
            check=False,
        )
    finally:
        os.close(writing)


@pytest.mark.parametrize(
    "arguments",
    [
        lambda folder: ("--help",),
        lambda folder: ("train", "--help"),
        lambda folder: ("--version",),
        lambda folder: ("events", folder / "scored.jsonl", "--no-pictures", "--json", "--out", folder / "run"),
        lambda folder: ("doctor", folder / "scored.jsonl", "--json"),
    ],
    ids=["help", "long help", "version", "events", "doctor"],
)
def test_no_command_reports_a_closed_pipe(scored: Path, arguments: Callable[[Path], tuple[Any, ...]]) -> None:
    done = closed_pipe(*arguments(scored.parent))
    assert done.stderr == ""
    assert done.returncode in (0, 1, 141)
