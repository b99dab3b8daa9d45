"""Bad input on the command line: one line, the status of its kind, nothing written; and a good file beside each."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import click
import pytest
from command_line import LEAVES, called
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from places import PROJECT
from references import events as er
from strategies import documents as strategies
from strategies.documents import BREAKAGES, Breakage

import events.runs._pictures
import events.runs.counting._finalise
import events.runs.counting._job
from corefsample import CorefsampleError, InputError, ParameterError
from corefsample.errors import ParameterHint
from events.commands import EventsOptions, run_events
from events.commands._failures import Failure
from events.commands._program import _status

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


@pytest.fixture(autouse=True)
def _without_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events.runs.counting._finalise, "event_bands", lambda *args, **keywords: None)
    monkeypatch.setattr(events.runs._pictures, "save_figure", lambda figure, path: Path(path).touch())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with good files: a corpus, a rule and a lexicon."""
    er.write_lines(tmp_path / "good.jsonl", [*er.corpus(), RICH])
    (tmp_path / "rule.yaml").write_text(RULE % "IRQ")
    (tmp_path / "lexicon.yaml").write_text(LEXICON)
    return tmp_path


def written(folder: Path) -> dict[Path, int]:
    """Files with their times; but not the complete partitions of files before a bad one, which can be resumed."""
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*") if ".partial" not in str(path)}


def assert_refused(
    capsys: pytest.CaptureFixture[str], folder: Path, *arguments: Any, status: int, fragments: tuple[str, ...]
) -> None:
    before = written(folder)
    found, out, err = called(capsys, *arguments)
    assert found == status, err
    assert out == "" or arguments[0] == "doctor"  # whose report of what is good goes to standard output
    assert err.startswith("corefsample: ")
    assert err.endswith("\n")
    assert err[:-1].isprintable(), "one line"
    for fragment in fragments:
        assert fragment in err
    assert written(folder) == before, "nothing may be written"


def test_the_files_that_are_broken_below_are_good(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    for number, options in enumerate(
        [(), ("--rule", folder / "rule.yaml"), ("--lexicon", folder / "lexicon.yaml"), ("--compare", "USA", "IRQ")]
    ):
        arguments = ("events", folder / "good.jsonl", "--samples", 20, "--out", folder / f"run{number}", *options)
        status, _, err = called(capsys, *arguments)
        assert status == 0, err
        # The rule of the user has a trigger that no document has, which is a result.
        assert err == "" or (number and err.startswith("corefsample: no actor of the lexicon")), err
    assert called(capsys, "convert", folder / "good.jsonl", folder / "copy.parquet")[0] == 0
    for name in ("good.jsonl", "copy.parquet", "rule.yaml", "lexicon.yaml"):
        assert called(capsys, "doctor", folder / name)[0::2] == (0, "")


# --- documents ---------------------------------------------------------------------------------------------


def refused_line(capsys: pytest.CaptureFixture[str], folder: Path, line: Any, *fragments: str) -> None:
    """`line` stands on line 2 of a second file; events and convert stop at it, doctor reports it."""
    path = er.write_lines(folder / "bad.jsonl", [{**RICH, "doc_id": "first"}, line])
    fragments = (f"{path}: line 2: ", *fragments)
    good = folder / "good.jsonl"
    assert_refused(capsys, folder, "events", good, path, "--out", folder / "run", status=3, fragments=fragments)


@pytest.mark.parametrize("breakage", BREAKAGES, ids=repr)
def test_a_document_that_breaks_a_rule_stops_the_run(
    capsys: pytest.CaptureFixture[str], folder: Path, breakage: Breakage
) -> None:
    document = json.loads(json.dumps(RICH | {"doc_id": "broken"}))
    refused_line(capsys, folder, document, *breakage.edit(document, lambda options: options[-1]))


def without(*names: str) -> dict[str, Any]:
    return {name: value for name, value in RICH.items() if name not in names} | {"doc_id": "broken"}


def with_tokens(**columns: list[Any]) -> dict[str, Any]:
    return {**RICH, "doc_id": "broken", "tokens": RICH["tokens"] | columns}


N = len(RICH["tokens"]["text"])
LINES: dict[str, tuple[Any, tuple[str, ...]]] = {
    "malformed JSON": ('{"doc_id": ', ("must be JSON",)),
    "no object": ("[1, 2]", ("must be a JSON object, got '[1, 2]'",)),
    "a number": ("7", ("must be a JSON object",)),
    "doc_id twice in one file": ({**RICH, "doc_id": "first"}, ("'first'", "doc_id must be unique in the corpus")),
    "doc_id twice in two files": (RICH, ("'rich'", "doc_id must be unique in the corpus")),
    "no date": (without("date"), ("doc_id 'broken': date is missing",)),
    "a date of null": ({**RICH, "doc_id": "broken", "date": None}, ("date is missing",)),
    "no tokens": (without("tokens"), ("doc_id 'broken': tokens is missing",)),
    "tokens of null": ({**RICH, "doc_id": "broken", "tokens": None}, ("tokens is missing",)),
    "labels of no scheme": (
        with_tokens(dep=["SBJ", "ROOT", "OBJ", "SBJ", "ROOT"]),
        ("doc_id 'broken': tokens.dep must fit a dependency scheme (ud2, ud1, clearnlp), got 'OBJ', 'SBJ'",),
    ),
    "labels of two schemes": (
        with_tokens(dep=["nsubj:pass", "root", "dobj", "nsubj", "root"]),
        ("tokens.dep must fit",),
    ),
    "a cycle of heads": (with_tokens(head=[1, 2, 0, 4, -1]), ("tokens.head must form trees, got a cycle",)),
    "two trees with a cycle in one": (with_tokens(head=[1, -1, 1, 4, 3]), ("tokens.head must form trees",)),
}
assert N == 5, "the columns above are of five tokens"


@pytest.mark.parametrize(("line", "fragments"), LINES.values(), ids=LINES.keys())
def test_a_line_that_is_no_document_for_events_stops_the_run(
    capsys: pytest.CaptureFixture[str], folder: Path, line: Any, fragments: tuple[str, ...]
) -> None:
    refused_line(capsys, folder, line, *fragments)


def test_a_document_that_schemes_read_differently_stops_the_run(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    text = "U.S./PROPN>2:nmod troops/NOUN>3:nsubj attacked=attack/VERB>0:root"
    path = er.write_lines(folder / "bad.jsonl", [er.json_document("either", "2000-01-01", [text])])
    arguments = ("events", path, "--preset", "extended", "--out", folder / "run")
    fragments = ("bad.jsonl: line 1: doc_id 'either': tokens.dep", "give different events", "--scheme")
    assert_refused(capsys, folder, *arguments, status=3, fragments=fragments)
    assert called(capsys, *arguments, "--scheme", "clearnlp")[0] == 0


def test_a_scheme_that_does_not_fit_stops_the_run(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    arguments = ("events", folder / "good.jsonl", "--scheme", "clearnlp", "--out", folder / "run")
    fragments = ("good.jsonl: line 1: doc_id 'doc 1': tokens.dep must fit the scheme clearnlp, got 'obj'",)
    assert_refused(capsys, folder, *arguments, status=3, fragments=fragments)


@pytest.mark.parametrize("command", ["convert", "doctor"])
def test_the_other_commands_reject_invalid_documents(
    capsys: pytest.CaptureFixture[str], folder: Path, command: str
) -> None:
    path = er.write_lines(folder / "bad.jsonl", [without("scores")])
    fragments = (f"{path}: line 1: doc_id 'broken': scores is missing",)
    if command == "convert":
        assert_refused(capsys, folder, "convert", path, folder / "out.parquet", status=3, fragments=fragments)
        return
    status, _, err = called(capsys, "doctor", path)
    assert (status, err) == (3, f"corefsample: {fragments[0]}\n")


# --- files -------------------------------------------------------------------------------------------------


class File(NamedTuple):
    """A file that cannot be read: its name, what is in it, and the message."""

    name: str
    make: Callable[[Path, Path], object]
    fragments: tuple[str, ...]


def _cut_gzip(good: Path, path: Path) -> None:
    path.write_bytes(gzip.compress(good.read_bytes())[:-20])


def _cut_parquet(good: Path, path: Path) -> None:
    _status(["convert", str(good), str(path)])
    path.write_bytes(path.read_bytes()[:-20])


FILES = {
    "missing": File("bad.jsonl", lambda good, path: None, ("bad.jsonl: file must exist, got none",)),
    "a glob of nothing": File("bad*.jsonl", lambda good, path: None, ("glob must match a file, got none",)),
    "empty": File("bad.jsonl", lambda good, path: path.touch(), ("at least one document, got none",)),
    "blank lines": File("bad.jsonl", lambda good, path: path.write_text("\n\n"), ("at least one document",)),
    "a folder": File("bad.jsonl", lambda good, path: path.mkdir(), ("input must be a regular file",)),
    "another ending": File("bad.txt", lambda good, path: path.touch(), ("file name must end in one of .jsonl",)),
    "cut gzip": File("bad.jsonl.gz", _cut_gzip, ("bad.jsonl.gz: line ", "gzip data must be complete")),
    "cut Parquet": File("bad.parquet", _cut_parquet, ("bad.parquet: ",)),
    "no Parquet": File("bad.parquet", lambda good, path: path.write_text("{}"), ("bad.parquet: ",)),
}


@pytest.mark.parametrize("command", ["events", "convert", "doctor"])
@pytest.mark.parametrize("file", FILES.values(), ids=FILES.keys())
def test_a_file_that_cannot_be_read_is_named(
    capsys: pytest.CaptureFixture[str], folder: Path, file: File, command: str
) -> None:
    path = folder / file.name
    file.make(folder / "good.jsonl", path)
    capsys.readouterr()
    rest = {"events": ("--out", folder / "run"), "convert": (folder / "out.parquet",), "doctor": ()}[command]
    assert_refused(capsys, folder, command, path, *rest, status=3, fragments=file.fragments)


def test_a_good_file_does_not_make_up_for_a_missing_one(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    arguments = ("events", folder / "good.jsonl", folder / "nowhere.jsonl", "--out", folder / "run")
    assert_refused(capsys, folder, *arguments, status=3, fragments=("nowhere.jsonl: file must exist, got none",))


# --- rules and lexicons --------------------------------------------------------------------------------------

RULES = {
    "a failing example": (RULE % "USA", ("examples[0]: preset paper must find USA, got IRQ",)),
    "an unknown field": (RULE % "IRQ" + "verbs: [hit]\n", ("fields must be among", "got 'verbs'")),
    "an unknown path": ((RULE % "IRQ").replace("[head]", "[tail]"), ("path must be one of", "got 'tail'")),
    "no YAML": ("name: [", ("must be YAML",)),
}
LEXICONS = {
    "an alias of two countries": (
        LEXICON + "  - {code: BBB, name: Beland, aliases: [Aland]}\n",
        ("AAA", "BBB", "Aland"),
    ),
    "an unknown code in a declaration": (
        LEXICON + "ambiguous:\n  - {alias: isle, codes: [AAA, ZZZ]}\n",
        ("ambiguous[0]", "must be the code of an entry, got 'ZZZ'"),
    ),
    "an unknown code to remove": (
        "version: 1\nextends: countries\nremove: [ZZZ]\n",
        ("remove[0]", "must be a code of the shipped lexicon, got 'ZZZ'"),
    ),
    "another version": (LEXICON.replace("1", "2", 1), ("version must be 1, got 2",)),
    "no YAML": ("version: [", ("must be YAML",)),
}
YAML = [
    pytest.param(option, text, fragments, id=f"{option} | {name}")
    for option, cases in (("--rule", RULES), ("--lexicon", LEXICONS))
    for name, (text, fragments) in cases.items()
]


@pytest.mark.parametrize(("option", "text", "fragments"), YAML)
def test_a_rule_or_lexicon_that_breaks_its_format_is_rejected(
    capsys: pytest.CaptureFixture[str], folder: Path, option: str, text: str, fragments: tuple[str, ...]
) -> None:
    path = folder / "bad.yaml"
    path.write_text(text)
    arguments = ("events", folder / "good.jsonl", option, path, "--out", folder / "run")
    assert_refused(capsys, folder, *arguments, status=3, fragments=(f"{path}", *fragments))
    status, _, err = called(capsys, "doctor", path)
    assert status == 3
    assert len(err.splitlines()) == 1
    assert all(fragment in err for fragment in (f"{path}", *fragments))


@pytest.mark.parametrize("option", ["--rule", "--lexicon"])
def test_a_missing_rule_or_lexicon_is_named(capsys: pytest.CaptureFixture[str], folder: Path, option: str) -> None:
    arguments = ("events", folder / "good.jsonl", option, folder / "nowhere.yaml", "--out", folder / "run")
    assert_refused(capsys, folder, *arguments, status=3, fragments=("nowhere.yaml: ", "No such file"))
    assert_refused(capsys, folder, "doctor", folder / "nowhere.yaml", status=3, fragments=("nowhere.yaml: ",))


# --- parameters --------------------------------------------------------------------------------------------

PARAMETERS = {
    "level nan": (("--level", "nan"), ("--level must lie in (0, 1), got nan",)),
    "a seed of 65 bits": (("--seed", 2**64), ("--seed must be at most 18446744073709551615, got 1844",)),
    "an unknown period": (("--period", "2Q"), ("--period must be one of", "got '2Q'")),
    "a period pandas gives up": (("--period", "B"), ("--period must be one of", "got 'B'")),
    "an unknown rule": (("--rule", "war"), ("--rule must be one of", "got 'war'")),
    "an unknown preset": (("--preset", "strict"), ("--preset must be one of paper, extended", "got 'strict'")),
    "an unknown country": (("--compare", "USA", "XYZ"), ("--compare must name countries of the lexicon", "got 'XYZ'")),
    "an unknown first country": (
        ("--compare", "Iraq", "USA"),
        ("--compare must name countries of the lexicon", "got 'Iraq'", "IRQ (Iraq)"),
    ),
    "one country twice": (("--compare", "USA", "USA"), ("--compare must name two different actors, got 'USA' twice",)),
    "an event of two roles": (("--compare", "USA>IRQ", "USA"), ("--compare must name events of the rule attack",)),
}


@pytest.mark.parametrize(("options", "fragments"), PARAMETERS.values(), ids=PARAMETERS.keys())
def test_a_parameter_that_breaks_its_rule_is_rejected(
    capsys: pytest.CaptureFixture[str], folder: Path, options: tuple[Any, ...], fragments: tuple[str, ...]
) -> None:
    arguments = ("events", folder / "good.jsonl", *options, "--out", folder / "run")
    assert_refused(capsys, folder, *arguments, status=2, fragments=fragments)


VALUES = {
    "no samples": (("--samples", 0), "0 is not in the range x>=1."),
    "level in percent": (("--level", 95), "95.0 is not in the range 0.0<x<1.0."),
    "an unknown interval": (("--interval", "hpd"), "'hpd' is not one of 'quantile', 'hdi', 'normal'."),
}


@pytest.mark.parametrize(("options", "rule"), VALUES.values(), ids=VALUES.keys())
def test_a_value_outside_its_choices_or_range_is_bad_usage(
    capsys: pytest.CaptureFixture[str], folder: Path, options: tuple[Any, ...], rule: str
) -> None:
    status, out, err = called(capsys, "events", folder / "good.jsonl", *options, "--out", folder / "run")
    assert (status, out) == (2, "")
    step = "('corefsample events --help' lists the options)"
    assert err == f"corefsample: Invalid value for '{options[0]}': {rule} {step}\n"
    assert not (folder / "run").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("events", "good.jsonl", "--out", ""), "--out must name a folder, got ''"),
        (("demo", "--out", ""), "--out must name a folder, got ''"),
        (("convert", "good.jsonl", ""), "'': file name must end in one of .jsonl, .jsonl.gz, .parquet, .conllu"),
    ],
)
def test_an_output_without_a_name_is_rejected(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    folder: Path,
    arguments: tuple[str, ...],
    message: str,
) -> None:
    monkeypatch.chdir(folder)
    assert_refused(capsys, folder, *arguments, status=2, fragments=(message,))


HINT = ParameterHint("overwrite", "replaces it")


@pytest.mark.parametrize(
    ("command", "error", "line"),
    [
        ("events", ParameterError("must be 1", parameter="n_samples"), "--samples must be 1"),
        ("events", ParameterError("must exist", place="x.parquet", hint=HINT), "x.parquet: must exist (--overwrite"),
        ("doctor", ParameterError("must exist", place="x.parquet", hint=HINT), "x.parquet: must exist (overwrite"),
        ("events", InputError("must exist", parameter="inputs"), "INPUTS must exist"),
        ("convert", ParameterError("must exist", parameter="output"), "OUTPUT must exist"),
        ("events", ParameterError("must be 1", parameter="mass"), "mass must be 1"),
        ("events", ParameterError("n_samples must be 1"), "n_samples must be 1"),
    ],
)
def test_an_error_names_the_option_of_its_command(command: str, error: CorefsampleError, line: str) -> None:
    failure = Failure(error, click.Context(LEAVES[command]))
    assert failure.message.startswith(line)
    assert failure.status == (3 if isinstance(error, InputError) else 2)


def test_a_folder_in_use_is_rejected(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    (folder / "mine").mkdir()
    (folder / "mine" / "thesis.txt").touch()
    arguments = ("events", folder / "good.jsonl", "--out", folder / "mine")
    for more in ((), ("--overwrite",)):
        assert_refused(capsys, folder, *arguments, *more, status=2, fragments=("--out must be", "with other files"))


def test_an_output_file_that_exists_is_rejected(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    (folder / "there.parquet").touch()
    arguments = ("convert", folder / "good.jsonl", folder / "there.parquet")
    fragments = ("there.parquet: output must not exist, got a file (--overwrite replaces it)",)
    assert_refused(capsys, folder, *arguments, status=2, fragments=fragments)
    (folder / "new.parquet.quarantine.jsonl").touch()
    arguments = ("convert", folder / "good.jsonl", folder / "new.parquet")
    for more in ((), ("--on-error", "quarantine")):
        fragments = ("new.parquet.quarantine.jsonl: output must not exist, got a file (--overwrite replaces it)",)
        assert_refused(capsys, folder, *arguments, *more, status=2, fragments=fragments)
    arguments = ("convert", folder / "good.jsonl", folder / "there.txt")
    assert_refused(capsys, folder, *arguments, status=2, fragments=("file name must end in one of",))


def test_an_output_that_cannot_be_written_is_rejected(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    (folder / "file").touch()
    arguments = ("events", folder / "good.jsonl", "--out", folder / "file" / "run")
    assert_refused(capsys, folder, *arguments, status=1, fragments=("run: output must be writable",))


# --- a full disk -------------------------------------------------------------------------------------------

LIMITED = """
import resource, sys
from events.commands import _program as cli
arguments = sys.argv[2:]
import events.runs.counting._job, matplotlib, corefsample.coreference._sampling  # noqa: loaded before the limit
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)
cli.main(arguments)
"""


@pytest.mark.skipif(os.name != "posix", reason="limits are of POSIX")
@pytest.mark.parametrize(
    "limit",
    [
        0,
        1000,
        6000,
    ],
)
def test_a_full_disk_is_reported_in_one_line_and_leaves_nothing(folder: Path, limit: int) -> None:
    before = sorted(folder.rglob("*"))
    arguments = ["events", str(folder / "good.jsonl"), "--samples", "50", "--out", str(folder / "run")]
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(limit), *arguments],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert done.stdout == ""
    assert [path for path in sorted(folder.rglob("*")) if ".partial" not in str(path)] == before
    line, *more = done.stderr.splitlines()
    assert line.startswith(f"corefsample: {folder / 'run'}: output must be writable, got: ")
    assert "too large" in line
    assert more == []


# --- anything ----------------------------------------------------------------------------------------------


@settings(max_examples=40)
@given(st.one_of(strategies.edited_lines(), strategies.arbitrary_lines), st.booleans())
def test_an_arbitrary_line_is_rejected_or_counted_and_never_changes_the_others(line: bytes, first: bool) -> None:
    assume(not (first and line.startswith(b"\x1f\x8b")))  # a file that begins so is gzip, and an error as a whole
    good = [json.dumps(document).encode() for document in er.corpus()[1:3]]
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.setattr(events.runs.counting._finalise, "event_bands", lambda *args, **keywords: None)
        patch.setattr(events.runs._pictures, "save_figure", lambda figure, path: Path(path).touch())
        folder = Path(name)
        (folder / "corpus.jsonl").write_bytes(b"\n".join([line, *good] if first else [*good, line]))
        options = EventsOptions(out=str(folder / "run"), n_samples=20, on_error="quarantine")
        summary = run_events(folder / "corpus.jsonl", options)
        lines = (folder / "run" / "evidence.csv").read_text().splitlines()
        remaining = [row.split(",")[0] for row in lines if row.startswith(('"doc 2"', '"doc 3"'))]
        assert remaining == ['"doc 2"', '"doc 3"']
        pieces = [piece for piece in line.split(b"\n") if piece.strip()]
        assert summary.n_documents + summary.n_quarantined == 2 + len(pieces)
        if summary.n_quarantined:
            aside = (folder / "run" / "quarantine.jsonl").read_text().splitlines()
            assert len(aside) == summary.n_quarantined
            assert all(json.loads(row)["reason"].isprintable() for row in aside)
