"""The hints of errors that beginners meet: one line that ends with the next step."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import called
from places import PROJECT
from references import events as er

from corefsample import InputError, ParameterError
from corefsample.errors import ParameterHint
from corefsample.formats.scored._writing import write_documents
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


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
def test_another_encoding_has_a_hint(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "news.csv"
    path.write_text(CSV.replace("Raid", "Überfall"), encoding=encoding)
    assert hint_of_reading(path) == "save the file as UTF-8"


@pytest.mark.parametrize("text", [json.dumps([ROW]), json.dumps([ROW], indent=1), json.dumps(ROW, indent=1)])
def test_json_that_is_not_json_lines_has_a_hint(tmp_path: Path, text: str) -> None:
    path = tmp_path / "news.jsonl"
    path.write_text(text)
    assert hint_of_reading(path) == "one object per line, no list around them"


def test_a_later_line_that_is_not_json_has_no_hint(tmp_path: Path) -> None:
    path = er.write_lines(tmp_path / "news.jsonl", [ROW, "{"])
    assert hint_of_reading(path) is None


def test_dates_of_nitf_have_no_format_to_choose(tmp_path: Path) -> None:
    path = tmp_path / "news.xml"
    path.write_text(
        '<nitf><head><docdata><doc-id id-string="1"/></docdata><pubdata date.publication="5/1/1999"/></head>'
        "<body><body.content/></body></nitf>"
    )
    assert hint_of_reading(path) is None


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


def test_the_ending_of_an_output_is_left_to_its_rule(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="file name must end in one of") as failure:
        write_documents([], tmp_path / "out.csv")
    assert failure.value.hint is None


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


@pytest.mark.parametrize("command", ["events", "calibrate", "doctor"])
@pytest.mark.parametrize("name", ["news.csv", "corpus.conllu", "corpus.v4_gold_conll", "news.xml.gz"])
def test_files_without_scores_have_a_hint_at_score(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, command: str, name: str
) -> None:
    (tmp_path / name).touch()
    more = ("--out", tmp_path / "run") if command == "events" else ()
    status, out, err = called(capsys, command, tmp_path / name, *more)
    assert (status, out) == (3, "")
    (line,) = err.splitlines()
    assert line.startswith(f"corefsample: {tmp_path / name}: file name must end in one of .jsonl, .jsonl.gz, .parquet,")
    assert line.endswith(f"got {name!r} (`corefsample score` makes scored mentions of it)")


def test_unscored_news_has_a_hint_at_score(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    news = er.write_lines(tmp_path / "news.jsonl", [ROW])
    message = (
        f"corefsample: {news}: line 1: doc_id 'a': mentions is missing "
        "(`corefsample score` finds and scores the mentions of news)\n"
    )
    assert called(capsys, "events", news, "--out", tmp_path / "run") == (3, "", message)
    status, out, err = called(capsys, "doctor", news)
    assert (status, err) == (3, message)
    assert "  P(NEW)      none\n" in out


def test_the_error_of_a_document_without_a_parse_names_what_is_missing(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    lines = [{name: value for name, value in line.items() if name != "tokens"} for line in er.corpus()]
    path = er.write_lines(tmp_path / "scored.jsonl", lines)
    status, _, err = called(capsys, "events", path, "--out", tmp_path / "run")
    step = "the file must contain the parse, as `corefsample score` writes it"
    assert (status, err) == (
        3,
        f"corefsample: {path}: line 1: doc_id 'doc 1': tokens is missing ({step})\n",
    )


def test_doctor_prints_a_next_step_once(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = er.write_lines(tmp_path / "news.jsonl", [ROW, {**ROW, "doc_id": "b"}])
    _, _, err = called(capsys, "doctor", path)
    assert [
        line.endswith("(`corefsample score` finds and scores the mentions of news)") for line in err.splitlines()
    ] == [
        True,
        False,
    ]


def test_a_folder_has_a_hint_at_its_files(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    status, _, err = called(capsys, "events", tmp_path, "--out", tmp_path / "run")
    assert status == 3
    assert err.endswith(f" (name its files, such as {str(tmp_path / '*.parquet')!r})\n")
    (tmp_path / "documents.parquet").touch()
    _, _, err = called(capsys, "doctor", tmp_path)
    assert err.endswith(f" (name its files, such as {str(tmp_path / 'documents.parquet')!r})\n")


@pytest.mark.parametrize("command", ["calibrate", "calibrate-queries"])
def test_files_without_gold_are_named(capsys: pytest.CaptureFixture[str], scored: Path, command: str) -> None:
    status, out, err = called(capsys, command, scored)
    assert (status, out) == (3, "")
    assert err.startswith(f"corefsample: {scored}: gold is required ")
    assert err.endswith(", got none in 10 documents\n")


@pytest.mark.parametrize("entity", [None, 0], ids=["no entity", "one entity"])
@pytest.mark.parametrize("arguments", [("calibrate", "--resamples", 10), ("calibrate-queries",)], ids=lambda a: a[0])
def test_gold_without_information_is_rejected_with_its_file(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, arguments: tuple[Any, ...], entity: int | None
) -> None:
    lines = [{**line, "gold": [entity] * len(line["mentions"])} for line in er.corpus()]
    path = er.write_lines(tmp_path / "gold.jsonl", lines)
    status, out, err = called(capsys, *arguments, path)
    if entity == 0 and arguments[0] == "calibrate":  # pairs that are all right can be measured
        assert (status, err) == (0, "")
        return
    assert (status, out) == (3, "")
    assert err.startswith(f"corefsample: {path}: ")
    assert " must " in err
    assert ", got " in err
    assert len(err.splitlines()) == 1


def test_too_few_queries_are_rejected_before_anything_is_printed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    # Few pronouns are subjects here: no more pairs of query and document than there are documents.
    lines = [{**line, "gold": [n % 2 for n in range(len(line["mentions"]))]} for line in er.corpus()]
    path = er.write_lines(tmp_path / "gold.jsonl", lines)
    before = os.listdir(tmp_path)
    for more in ((), ("--out", tmp_path / "queries")):
        status, out, err = called(capsys, "calibrate-queries", path, *more)
        assert (status, out) == (3, "")
        assert err.startswith(f"corefsample: {path}: gold must make at least 20 pairs of query and document, got ")
        assert len(err.splitlines()) == 1
    assert os.listdir(tmp_path) == before


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("Iraq", "USA"), "got 'Iraq' (did you mean IRQ (Iraq)"),
        (("irq", "USA"), "got 'irq' (did you mean IRQ (Iraq)"),
        (("USA", "NATO"), "got 'NATO' (did you mean X-NATO (NATO)?)"),
    ],
)
def test_an_unknown_country_has_a_hint_at_its_code(
    capsys: pytest.CaptureFixture[str], scored: Path, given: tuple[str, str], message: str
) -> None:
    status, _, err = called(capsys, "events", scored, "--compare", *given, "--out", scored.with_name("run"))
    assert status == 2
    assert err.startswith(f"corefsample: --compare must name countries of the lexicon, {message}")
    assert "unknown" not in err


# --- runs and outputs ---------------------------------------------------------------------------------------


def test_a_folder_without_a_run_has_a_hint_at_the_run(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    run = tmp_path / "demo" / "run"
    run.mkdir(parents=True)
    status, _, err = called(capsys, "report", tmp_path / "demo")
    assert status == 3
    assert err.endswith(", got no run.json (`corefsample events` makes one)\n")
    (run / "run.json").touch()
    status, _, err = called(capsys, "report", tmp_path / "demo")
    assert status == 3
    assert err.endswith(f", got no run.json (did you mean {run}?)\n")


def test_a_file_in_place_of_a_run_is_rejected(capsys: pytest.CaptureFixture[str], scored: Path) -> None:
    status, _, err = called(capsys, "report", scored)
    rule = "input must be the folder of a finished events run, got a file"
    assert (status, err) == (3, f"corefsample: {scored}: {rule} (`corefsample events` makes one)\n")


def test_a_run_without_its_counts_is_not_finished(capsys: pytest.CaptureFixture[str], scored: Path) -> None:
    run = scored.with_name("run")
    assert called(capsys, "events", scored, "--samples", 20, "--no-pictures", "--out", run)[0] == 0
    (run / "counts.parquet").unlink()
    status, _, err = called(capsys, "report", run)
    assert status == 3
    assert ", got no counts.parquet (" in err
    assert len(err.splitlines()) == 1


def missing(folder: Path) -> list[tuple[str, ...]]:
    """Commands whose output is to go into a folder that is not there; each with good input."""
    scored, gold, out = folder / "scored.jsonl", folder / "gold.jsonl", folder / "nowhere"
    lines = [{**line, "gold": list(range(len(line["mentions"])))} for line in er.corpus()]
    er.write_lines(gold, lines)
    commands: list[tuple[Any, ...]] = [
        ("convert", scored, out / "x.parquet"),
        ("convert", scored, out / "x.conllu", "--clustering", "map"),
        ("recalibrate", gold, scored, "--out", out / "x.jsonl"),
        ("train", gold, "--out", out / "x.npz"),
    ]
    return [tuple(map(str, command)) for command in commands]


@pytest.mark.parametrize("number", range(4), ids=["convert", "to CoNLL-U", "recalibrate", "train"])
def test_an_output_in_a_missing_folder_is_rejected_before_the_work(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, scored: Path, number: int
) -> None:
    def work(*args: Any, **keywords: Any) -> None:
        raise AssertionError("must not begin")

    monkeypatch.setattr("events.commands._training.fit_model", work)
    monkeypatch.setattr("events.commands._reading.gold_documents", work)
    command = missing(scored.parent)[number]
    before = sorted(scored.parent.rglob("*"))
    status, out, err = called(capsys, *command)
    assert (status, out) == (1, "")
    (line,) = err.splitlines()
    nowhere = scored.parent / "nowhere"
    assert line.startswith(f"corefsample: {nowhere / 'x'}.")
    assert line.endswith(f"output must be writable, got: No such file or directory (make the folder {nowhere} first)")
    assert sorted(scored.parent.rglob("*")) == before


def test_a_closed_folder_is_rejected_before_the_work(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, scored: Path
) -> None:
    closed = scored.parent / "closed"
    closed.mkdir()
    monkeypatch.setattr("os.access", lambda path, mode: Path(path) != closed)
    status, out, err = called(capsys, "convert", scored, closed / "x.parquet")
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
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, scored: Path, error: Exception, message: str
) -> None:
    def fail(*args: Any, **keywords: Any) -> None:
        raise error

    monkeypatch.setattr("events.commands._corpus_check.check_corpus", fail)
    assert called(capsys, "doctor", scored) == (1, "", f"corefsample: {message}\n")


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
        lambda folder: ("demo", "--documents", "5", "--json", "--out", folder / "demo"),
        lambda folder: ("doctor", folder / "scored.jsonl", "--json"),
    ],
    ids=["help", "long help", "version", "demo", "doctor"],
)
def test_no_command_reports_a_closed_pipe(scored: Path, arguments: Callable[[Path], tuple[Any, ...]]) -> None:
    done = closed_pipe(*arguments(scored.parent))
    assert done.stderr == ""
    assert done.returncode in (1, 141)
    shutil.rmtree(scored.parent / "demo", ignore_errors=True)


def test_a_command_in_a_pipe_has_no_colours_and_no_long_lines(scored: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "80", "FORCE_COLOR": ""}
    command = [sys.executable, "-m", "events.commands", "events", str(scored), "--out", "run", "--no-pictures"]
    options = ["--rule", "attack_target", "--preset", "extended", "--period", "week", "--samples", "20"]
    done = subprocess.run(
        [*command, *options],
        cwd=tmp_path,
        env={**environment, "PYTHONPATH": str(PROJECT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert "\x1b" not in done.stdout + done.stderr
    assert done.stderr == ""
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "Highest posterior means, with 95% quantile intervals:\n" in done.stdout
