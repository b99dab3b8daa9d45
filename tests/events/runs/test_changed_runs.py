"""Runs whose inputs are given in another order, grow, or are corrected: what a fresh run finds, or an error."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from expected_errors import error
from references import events as er
from run_cases import Case, documents, in_groups, stop_after

from corefsample import InputError, ParameterError
from corefsample.formats.scored._writing import convert
from events.runs import finalise_run, initialise_run, run_partition
from events.runs._store import Places, sealed
from events.runs.scoring import _run


@pytest.fixture
def given(tmp_path: Path) -> dict[str, Path]:
    """Files of which "b" and "c" repeat doc_ids of "a" with other dates; one of "b" has a third of "c"."""
    made = documents()
    again = [{**each, "date": f"2010{each['date'][4:]}"} for each in made]
    return {
        "a": in_groups(tmp_path / "a.parquet", made[:20]),
        "b": in_groups(tmp_path / "b.parquet", [*again[10:20], *made[20:30]]),
        "c": in_groups(tmp_path / "c.parquet", [*again[5:12], *made[40:45], *again[25:28]]),
        "d": er.write_lines(tmp_path / "d.jsonl", made[45:50]),
        "repeated": er.write_lines(tmp_path / "repeated.jsonl", [*made[50:54], again[0]]),
        "wrong": er.write_lines(tmp_path / "wrong.jsonl", [*made[55:58], "[]"]),
    }


@pytest.fixture
def run(counting: Case, given: dict[str, Path], tmp_path: Path) -> Callable[..., Any]:
    """Run files by their names into a folder."""

    def called(names: str, out: Path, **keywords: Any) -> Any:
        options = counting.options(on_error=keywords.pop("on_error", "quarantine"))
        return counting.run(out, inputs=[given[name] for name in names.split()], options=options, **keywords)

    return called


def tables(case: Case, out: Path) -> dict[str, Any]:
    aside = [*out.glob("quarantine.jsonl")]
    return {**case.content(out), "aside": [sorted(path.read_text().splitlines()) for path in aside]}


# --- the order of the inputs ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "calls",
    ["a b|b a", "a b|b a|b a c", "b c a|a c b", "a|a a", "a a|a", "a b|a b a", "a b a", "b|c a b", "a b c|c b a|a b c"],
)
def test_a_run_with_its_inputs_in_another_order_is_that_of_a_fresh_one(
    counting: Case, run: Callable[..., Any], tmp_path: Path, calls: str
) -> None:
    *earlier, last = calls.split("|")
    for names in earlier:
        run(names, tmp_path / "run", overwrite=len(names.split()) == 1)
    found = run(last, tmp_path / "run", overwrite=len(last.split()) == 1)
    fresh = run(last, tmp_path / "fresh")
    assert tables(counting, tmp_path / "run") == tables(counting, tmp_path / "fresh")
    assert (found.n_documents, found.n_quarantined) == (fresh.n_documents, fresh.n_quarantined)
    assert run(last, tmp_path / "run").n_computed == 0


def test_an_input_that_is_given_twice_is_set_aside_once(run: Callable[..., Any], tmp_path: Path) -> None:
    assert run("a", tmp_path / "run").n_quarantined == 0
    found = run("a a", tmp_path / "run")
    assert (found.n_documents, found.n_quarantined) == (20, 20)


def test_of_an_input_given_twice_the_first_counts(counting: Case, run: Callable[..., Any], tmp_path: Path) -> None:
    run("a b", tmp_path / "run")
    run("a b a", tmp_path / "again")
    assert counting.content(tmp_path / "run") == counting.content(tmp_path / "again")


def test_only_what_an_exclusion_touched_is_computed_again(run: Callable[..., Any], tmp_path: Path) -> None:
    assert run("a d b", tmp_path / "run").n_computed == 5
    assert run("b d a", tmp_path / "run").n_computed == 1  # the first half of "b" had doc_ids of "a"
    assert run("d b a", tmp_path / "run").n_computed == 2


def test_a_doc_id_that_a_partition_has_twice_is_excluded_at_once(counting: Case, tmp_path: Path) -> None:
    made = documents()
    first = er.write_lines(tmp_path / "1.jsonl", made[:5])
    second = er.write_lines(tmp_path / "2.jsonl", [made[7], made[2], made[8], made[2]])
    found = counting.run(tmp_path / "run", inputs=[first, second], options=counting.options(on_error="quarantine"))
    assert (found.n_documents, found.n_quarantined) == (7, 2)


# --- growth that fails ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["wrong", "repeated"])
def test_a_failed_growth_leaves_the_run_alone(
    counting: Case, run: Callable[..., Any], tmp_path: Path, kind: str
) -> None:
    out, stop = tmp_path / "run", {"on_error": "stop"}
    run("a", out, **stop)
    before = {path: path.read_bytes() for path in out.glob("*.*")}
    with pytest.raises(InputError):
        run(f"a {kind}", out, **stop)
    assert run("a", out, **stop).n_computed == 0
    assert {path: path.read_bytes() for path in out.glob("*.*")} == before
    with pytest.raises(InputError):
        run(f"a d {kind}", out, **stop)
    assert run("a d", out, **stop).n_computed == 1
    run("a d", tmp_path / "fresh", **stop)
    assert counting.content(out) == counting.content(tmp_path / "fresh")
    assert not [*(out / "partitions").glob("growing.json")]
    with error(ParameterError, "out", hint="overwrite"):
        run("a", out, **stop)


def test_parts_of_another_growth_are_not_used(
    counting: Case, given: dict[str, Path], run: Callable[..., Any], tmp_path: Path
) -> None:
    """The growth is stopped, its input changes, and the numbers of its partitions must not be given again."""
    out = tmp_path / "run"
    run("a", out)
    n_complete = len([*(out / "partitions").glob("part-*.json")])

    def stop(*_: int) -> None:
        if len([*(out / "partitions").glob("part-*.json")]) > n_complete:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt, match=r"which are in .*partitions; the same command resumes"):
        run("a b", out, on_progress=stop)
    in_groups(given["b"], documents()[30:50])
    run("a b", out)
    run("a b", tmp_path / "fresh")
    assert tables(counting, out) == tables(counting, tmp_path / "fresh")


def test_a_growth_that_was_stopped_continues(counting: Case, run: Callable[..., Any], tmp_path: Path) -> None:
    out = tmp_path / "run"
    run("a", out)
    assert initialise_run([tmp_path / f"{name}.parquet" for name in "ab"], out, counting.options(on_error="quarantine"))
    run_partition(out, 4)
    assert run("a", out).n_computed == 0
    assert run("a b", out).n_computed == 1
    finalise_run(out, pictures=False)
    run("a b", tmp_path / "fresh")
    assert tables(counting, out) == tables(counting, tmp_path / "fresh")


# --- inputs that are corrected ----------------------------------------------------------------------------


@pytest.mark.parametrize("corrected", ["a", "repeated"])
@pytest.mark.parametrize("grows", [False, True])
def test_a_file_with_a_doc_id_of_another_may_be_corrected(
    counting: Case, given: dict[str, Path], run: Callable[..., Any], tmp_path: Path, corrected: str, grows: bool
) -> None:
    out, stop = tmp_path / "run", {"on_error": "stop"}
    if grows:
        run("d a", out, **stop)
    for _ in range(2):
        with error(InputError, place="repeated.jsonl: line 5"):
            run("d a repeated", out, **stop)
    if corrected == "a":
        in_groups(given["a"], documents()[1:20])
    else:
        er.write_lines(given["repeated"], documents()[50:54])
    assert run("d a repeated", out, **stop).n_computed == (2 if corrected == "a" else 1)
    run("d a repeated", tmp_path / "fresh", **stop)
    assert counting.content(out) == counting.content(tmp_path / "fresh")
    in_groups(given["a"], documents()[2:20])  # of a finished run, no input may change
    with error(ParameterError, "out", hint="overwrite"):
        run("d a repeated", out, **stop)


def test_a_file_of_which_some_partitions_are_complete_may_be_corrected(counting: Case, tmp_path: Path) -> None:
    made = documents()
    made[30]["tokens"]["dep"] = ["SBJ"] * len(made[30]["tokens"]["dep"])
    path = in_groups(tmp_path / "news.parquet", made)
    with error(InputError, place="news.parquet: row 31"):
        counting.run(tmp_path / "run", inputs=path)
    in_groups(path, documents())
    counting.run(tmp_path / "run", inputs=path)
    counting.run(tmp_path / "fresh", inputs=path)
    assert counting.content(tmp_path / "run") == counting.content(tmp_path / "fresh")


# --- what plans and records may say -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new"), [("a.parquet", "d.parquet"), ('"excluded": {"', '"excluded": {"1'), ("0", "1")]
)
def test_plans_have_a_checksum(counting: Case, run: Callable[..., Any], tmp_path: Path, old: str, new: str) -> None:
    out = tmp_path / "run"
    options = counting.options(on_error="quarantine")
    for number in initialise_run([tmp_path / "a.parquet", tmp_path / "b.parquet"], out, options):
        run_partition(out, number)
    with pytest.raises(InputError, match="got 1 missing"):  # which now has excluded documents
        finalise_run(out)
    plan = tmp_path / "run.partial" / "plan.json"
    text = plan.read_text()
    assert old in text
    plan.write_text(text.replace(old, new, 1))
    with error(InputError, place=str(plan), hint="restart"):
        run("a b", out)


@pytest.mark.parametrize("name", ["../outside", "/etc", "..", "."])
def test_a_record_names_nothing_outside(counting: Case, counted: dict[str, bytes], tmp_path: Path, name: str) -> None:
    out = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        counting.run(out, on_progress=stop_after(2, out))
    path = tmp_path / "run.partial" / "part-00002.json"
    record = json.loads(path.read_text())
    del record["sha256"]
    os.rename(path.parent / record["result"], tmp_path / "outside")
    path.write_text(json.dumps(sealed({**record, "result": name})))
    assert counting.run(out).n_computed == 6
    assert counting.content(out) == counted


def test_a_result_of_the_same_size_is_made_again(counting: Case, counted: dict[str, bytes], tmp_path: Path) -> None:
    out = tmp_path / "run"
    summary = counting.run(out)
    for name in ("counts.csv", "evidence.parquet", "run.json"):
        content = (out / name).read_bytes()
        place = content.rindex(b"60" if name == "run.json" else content[-30:-29])
        (out / name).write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        again = counting.run(out)
        assert (again.n_documents, again.n_computed) == (summary.n_documents, 0), name
        assert counting.content(out) == counted, name
        assert json.loads((out / "run.json").read_text())["summary"]["n_documents"] == 60


@pytest.mark.parametrize(
    ("name", "n_computed"), [("run.json", 0), ("partitions/plan.json", 7), ("partitions/part-00001.json", 1)]
)
def test_a_file_of_a_run_that_is_no_record_is_made_again(
    counting: Case, counted: dict[str, bytes], tmp_path: Path, name: str, n_computed: int
) -> None:
    out = tmp_path / "run"
    counting.run(out)
    for content in ("[" * 100_000, "[]", "{}"):
        (out / name).write_text(content)
        (out / "counts.csv").unlink()
        assert counting.run(out).n_computed == n_computed, content[:9]
        assert counting.content(out) == counted, content[:9]


def test_an_empty_folder_that_a_killed_run_left_is_removed(counting: Case, tmp_path: Path) -> None:
    counting.run(tmp_path / "run")
    (tmp_path / "run" / ".partial-0123456789abcdef").mkdir()
    assert counting.run(tmp_path / "run").n_computed == 0
    assert not [*(tmp_path / "run").glob(".partial-*")]


# --- scores whose run was killed at its end ---------------------------------------------------------------


@pytest.mark.parametrize("place", ["convert", "write_json", "Places.discard"])
def test_a_score_that_was_killed_after_its_last_rename_is_completed(
    scoring: Case, references: dict[str, dict[str, bytes]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    out = scoring.out(tmp_path)

    def killed(*arguments: Any, **keywords: Any) -> None:
        if place == "convert":
            convert(*arguments, **keywords)
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr(Places if "." in place else _run, place.split(".")[-1], killed)
        with pytest.raises(SystemExit):
            scoring.run(out)
    assert scoring.n_left(scoring.run(out)) == 60
    assert scoring.content(out) == references["score"]
    assert sorted(os.listdir(tmp_path)) == [out.name, f"{out.name}.scoring.json"]


def test_a_score_killed_while_parts_are_removed(scoring: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", lambda *_, **__: None)
        scoring.run(scoring.out(tmp_path))
    with error(ParameterError, place=str(scoring.out(tmp_path)), hint="overwrite"):
        scoring.run(scoring.out(tmp_path))
    assert scoring.n_left(scoring.run(scoring.out(tmp_path), overwrite=True)) == 0


def test_a_file_of_another_than_that_run_stays(scoring: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = scoring.out(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(_run, "remove_file", sys.exit)
        with pytest.raises(SystemExit):
            scoring.run(out)
    out.write_text("mine")
    with error(ParameterError, place=str(out), hint="overwrite"):
        scoring.run(out)
    assert out.read_text() == "mine"
