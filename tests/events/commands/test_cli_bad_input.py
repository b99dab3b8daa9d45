"""Bad input on the command line: one line, the status of its kind, nothing written, and the next step."""

import gzip
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import click
import pytest
from command_line import LEAVES, Calls
from places import PROJECT, TEST_DATA
from references import events as er, recalibration as rr, scoring as sr

from corefsample import CorefsampleError, InputError, ParameterError, Recalibration
from corefsample.errors import ParameterHint
from corefsample.recalibration._uncertain import UncertainRecalibration
from events.commands._parser import Failure

RICH = {**er.corpus()[4], "doc_id": "rich", "version": 1, "gold": ["e1", None, 7], "genre": "news"}
RICH["tokens"] = RICH["tokens"] | {"xpos": ["X"] * len(RICH["tokens"]["text"])}
RULE = """
name: strike
trigger: {lemma: [strike]}
presets:
  paper: {described: [head], roles: {agent: [subject]}}
examples:
  - parse: |
      1 Iraq Iraq PROPN 2 nsubj
      2 struck strike VERB 0 root
    expect: {paper: [%s]}
"""
LEXICON = "version: 1\nentries:\n  - {code: AAA, name: Aland, aliases: [Aland]}\n"


TAKEN = (
    *("taken.jsonl", "taken.conllu", "a.jsonl.scoring.json", "b.jsonl.quarantine.jsonl", "c.jsonl.recalibration.json"),
    *("d.npz", "e.npz.training.json", "f.npz.quarantine.jsonl", "file"),
)


def with_gold(entity: Any) -> list[dict[str, Any]]:
    """The corpus, whose mentions have entities by their number."""
    return [{**line, "gold": [entity(n) for n in range(len(line["mentions"]))]} for line in er.corpus()]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with good files of every kind, bad ones, and outputs that exist."""
    folder = tmp_path_factory.mktemp("files")
    stories = rr.story_corpus(20, 12, seed=6)
    lines: dict[str, list[Any]] = {
        "good": [*er.corpus(), RICH],
        "gold": stories,
        "less": stories[:19],
        "mixed": [*er.corpus(), "[]"],
        "few": with_gold(lambda n: n % 2),
        "unknown": with_gold(lambda n: None),
        "single": with_gold(lambda n: n),
        "unparsed": [{name: value for name, value in line.items() if name != "tokens"} for line in er.corpus()],
        "news": [{"doc_id": "a", "date": "1999-05-01", "text": "Iraqi forces attacked."}],
        "empty": [],
        "blank": ["", ""],
    }
    for name, given_lines in lines.items():
        er.write_lines(folder / f"{name}.jsonl", given_lines)
    sr.corpus_file(folder / "corpus.conllu", sr.short_documents(4))
    sr.corpus_file(folder / "es_news-train.conllu", sr.short_documents(1))
    (folder / "news.csv").write_text("doc_id,date,text\na,1999-05-01,Hello.\n")
    (folder / "days.csv").write_text("doc_id,day,text\na,1999-05-01,Hello.\n")
    (folder / "rule.yaml").write_text(RULE % "IRQ")
    (folder / "lexicon.yaml").write_text(LEXICON)
    (folder / "cut.jsonl.gz").write_bytes(gzip.compress((folder / "good.jsonl").read_bytes())[:-20])
    (folder / "no.parquet").write_text("{}")
    (folder / "bare.json").write_text(json.dumps(UncertainRecalibration(Recalibration(1.5, 0.1)).to_json()))
    (folder / "folder.jsonl").mkdir()
    (folder / "mine").mkdir()
    for name in ("news.docx", "mine/thesis.txt", *TAKEN):
        (folder / name).write_text("mine")
    return folder


@pytest.fixture
def folder(files: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder, which is the current one."""
    monkeypatch.chdir(files)
    yield files
    for left in files.glob("*.partial"):
        shutil.rmtree(left)


def written(folder: Path) -> dict[Path, int]:
    """Files with their times; but not the complete partitions of files before a bad one, which can be resumed."""
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*") if ".partial" not in str(path)}


def refused_line(call: Calls, folder: Path, *arguments: Any, status: int) -> str:
    """The one line of a command that fails and writes nothing."""
    before = written(folder)
    found, out, err = call(*arguments)
    assert found == status, err
    # A report of what is good goes to standard output.
    assert out == "" or arguments[0] == "doctor" or "--json" in arguments
    assert err.startswith("corefsample: ")
    assert err[-1] == "\n"
    assert err[:-1].isprintable(), "one line"
    assert written(folder) == before, "nothing may be written"
    return err.removeprefix("corefsample: ")


# --- the table ---------------------------------------------------------------------------------------------

TRANSCRIPT = (TEST_DATA / "refused_commands.txt").read_text(encoding="utf-8")
REFUSED = re.findall(r"^\$ (.*)\n(\d) (.*)$", TRANSCRIPT, flags=re.M)


@pytest.mark.parametrize(("command", "status", "expected"), REFUSED, ids=[command for command, *_ in REFUSED])
def test_bad_input_is_one_line_that_names_the_option_or_the_place(
    call: Calls, folder: Path, command: str, status: str, expected: str
) -> None:
    line = refused_line(call, folder, *shlex.split(command), status=int(status))
    start, _, hint = expected.partition(" ... ")
    assert line.startswith(start), line
    assert hint in line


# --- errors ------------------------------------------------------------------------------------------------

HINT = ParameterHint("overwrite", "replaces it")


@pytest.mark.parametrize(
    ("command", "error", "line"),
    [
        ("events", ParameterError("must be 1", parameter="n_samples"), "--samples must be 1"),
        ("events", ParameterError("must exist", place="x.parquet", hint=HINT), "x.parquet: must exist (--overwrite"),
        ("doctor", ParameterError("must exist", place="x.parquet", hint=HINT), "x.parquet: must exist (overwrite"),
        ("events", InputError("must exist", parameter="inputs"), "INPUTS must exist"),
        ("events", ParameterError("must be 1", parameter="mass"), "mass must be 1"),
    ],
)
def test_an_error_names_the_option_of_its_command(command: str, error: CorefsampleError, line: str) -> None:
    failure = Failure(error, click.Context(LEAVES[command]))
    assert failure.message.startswith(line)
    assert failure.status == (3 if isinstance(error, InputError) else 2)


# --- anything ----------------------------------------------------------------------------------------------


# --- next steps --------------------------------------------------------------------------------------------


# --- runs and outputs ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        (PermissionError(13, "No", "runs/closed"), 1, "runs/closed: file or folder must be accessible, got: No"),
        (OSError(28, "Full"), 75, "a file, or standard output, must be accessible, got: Full"),
        (OSError("no number"), 1, "OSError: no number (COREFSAMPLE_TRACEBACK=1 shows where)"),
        (KeyError("x"), 1, "KeyError: 'x' (COREFSAMPLE_TRACEBACK=1 shows where)"),
        (KeyboardInterrupt(), 130, "interrupted"),
    ],
)
def test_errors_of_the_system_name_the_file(
    call: Calls, monkeypatch: pytest.MonkeyPatch, corpus: Path, error: BaseException, status: int, message: str
) -> None:
    monkeypatch.setattr("events.inspection._corpora.check_corpus", Mock(side_effect=error))
    found, out, err = call("doctor", corpus)
    assert (found, out, err.strip()) == (status, "", f"corefsample: {message}")


# --- pipes --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    ["--help", "train --help", "--version", "events CORPUS --no-pictures --json --out OUT", "doctor CORPUS --json"],
)
def test_no_command_reports_a_closed_pipe(corpus: Path, tmp_path: Path, arguments: str) -> None:
    files = {"CORPUS": str(corpus), "OUT": str(tmp_path / "run")}
    reading, writing = os.pipe()
    os.close(reading)  # the reader is gone before the command begins
    command = [sys.executable, "-m", "events.commands", *(files.get(word, word) for word in arguments.split())]
    try:
        done = subprocess.run(
            command, cwd=PROJECT, stdout=writing, stderr=subprocess.PIPE, text=True, timeout=120, check=False
        )
    finally:
        os.close(writing)
    assert done.stderr == ""
    assert done.returncode in (0, 1, 141)


def test_doctor_names_every_table_that_lacks_a_column_and_reads_the_others(call: Calls, tmp_path: Path) -> None:
    headers = {"a.csv": "doc_id,date,text", "b.csv": "doc_id,when,text", "c.csv": "doc_id,date,body"}
    for name, header in headers.items():
        (tmp_path / name).write_text(f"{header}\nx,2000-01-01,Hello there.\n")
    status, out, err = call("doctor", *(tmp_path / name for name in headers))
    assert (status, "problems  2\n  articles  1\n" in out) == (3, True)
    assert [Path(line.split(": ")[1]).name for line in err.splitlines()] == ["b.csv", "c.csv"]
