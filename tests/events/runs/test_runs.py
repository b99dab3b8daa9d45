"""Runs in parts: what may change between two calls, what grows, what is shared, and the three steps."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from expected_errors import error
from places import PROJECT
from references import events as er
from references import scoring as sr
from run_cases import Case, complete, documents, engine_options, failing, half_sent, in_groups, left, stop_after

from corefsample import InputError, OutputError, ParameterError
from events.runs import finalise_run, initialise_run, run_partition
from events.runs._engines import Engine


def stopped(case: Case, out: Path, n_parts: int = 2, **keywords: Any) -> Path:
    """An output of which some parts are complete."""
    with pytest.raises(KeyboardInterrupt):
        case.run(out, on_progress=stop_after(n_parts, out), **keywords)
    return out


# --- what may change, and what may not ---------------------------------------------------------------------

CHANGED: list[tuple[str, dict[str, Any]]] = [
    ("events", {"seed": 3}),
    ("events", {"n_samples": 61}),
    ("events", {"compare": None}),
    ("events", {"period": "year"}),
    ("events", {"rule": "arrest", "compare": None}),
    ("events", {"recalibration": "none"}),
    ("events", {"uncertainty": "none"}),
    ("events", {"where": ("doc_id=*round 1",)}),
    ("score", {"min_prob": 0.5}),
    ("score", {"where": ("doc_id=*1",)}),
    ("score", {"mentions": "parse"}),
    ("score", {"scheme": "ud2"}),
    ("score", {"recalibration": "english"}),
]


@pytest.fixture(scope="session")
def unfinished(counting: Case, scoring: Case, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """An output of each command of which some parts are complete, for tests that leave it so."""
    folder = tmp_path_factory.mktemp("unfinished")
    return {case.name: stopped(case, case.out(folder)) for case in (counting, scoring)}


@pytest.mark.parametrize(("name", "changed"), CHANGED)
def test_a_changed_option_is_named(
    counting: Case, scoring: Case, unfinished: dict[str, Path], name: str, changed: dict[str, Any]
) -> None:
    case, out = counting if name == "events" else scoring, unfinished[name]
    with error(ParameterError, next(iter(changed)), str(left(out)), hint="restart") as caught:
        case.run(out, options=case.options(**changed))
    assert " as in the unfinished run, got " in caught.value.message
    assert complete(out)


def test_what_does_not_change_results_may_change(case: Case, reference: dict[str, bytes], tmp_path: Path) -> None:
    out = stopped(case, case.out(tmp_path))
    free = {"threads": 3, "partition_size": 1000} if case.name == "events" else {"clusters": "map"}
    summary = case.run(out, options=case.options(on_error="quarantine", **free), workers=1, overwrite=True)
    assert case.n_left(summary) > 0
    assert case.content(out) == reference


def test_another_version_is_named(case: Case, unfinished: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    out = unfinished[case.name]
    monkeypatch.setattr("corefsample.__version__", "9.9")
    with error(InputError, place=str(left(out)), hint="restart") as caught:
        case.run(out)
    assert caught.value.message.endswith("which began it, got 9.9")


def test_another_content_of_a_rule_or_a_model_is_named(case: Case, tmp_path: Path) -> None:
    own = tmp_path / ("own.yaml" if case.name == "events" else "own.npz")
    shipped = PROJECT / "events" / "data" / "rules" / "attack.yaml"
    shutil.copy(shipped if case.name == "events" else case.model, own)
    options = case.options(**{"rule" if case.name == "events" else "model": str(own)})
    out = stopped(case, case.out(tmp_path), options=options)
    if case.name == "events":
        own.write_text(own.read_text() + "\n# another comment\n")
    else:
        shutil.copy(sr.small_model(tmp_path, epochs=2), own)
    with error(InputError, place=str(own), hint="restart"):
        case.run(out, options=options)


def test_changed_content_is_named_and_not_a_new_time(case: Case, reference: dict[str, bytes], tmp_path: Path) -> None:
    corpus = Path(shutil.copy(case.corpus, tmp_path / case.corpus.name))
    out = stopped(case, case.out(tmp_path), inputs=corpus)
    os.utime(corpus, (1, 1))
    assert case.n_left(case.run(out, inputs=corpus)) > 0
    assert case.content(out) == reference
    again = stopped(case, tmp_path / f"again-{out.name}", inputs=corpus)
    content = bytearray(corpus.read_bytes())
    content[100] ^= 1
    for other in (bytes(content[:-1]), bytes(content)):
        corpus.write_bytes(other)
        with error(InputError, place=str(corpus)):
            case.run(again, inputs=corpus)
    if case.name == "events":
        with error(ParameterError, "out", hint="overwrite"):
            case.run(out, inputs=corpus)


def test_other_inputs_are_named(case: Case, unfinished: dict[str, Path], tmp_path: Path) -> None:
    out = unfinished[case.name]
    other = Path(shutil.copy(case.corpus, tmp_path / case.corpus.name))
    with error(InputError, place=str(case.corpus), hint="restart"):
        case.run(out, inputs=other)
    if case.name == "score":
        with error(ParameterError, "inputs", hint="restart"):
            case.run(out, inputs=[case.corpus, sr.corpus_file(tmp_path / "more.conllu", sr.short_documents(2))])


def test_restart_and_overwrite(case: Case, reference: dict[str, bytes], tmp_path: Path) -> None:
    out = stopped(case, case.out(tmp_path))
    other = case.options(**({"seed": 3} if case.name == "events" else {"min_prob": 0.5}))
    assert case.n_left(case.run(out, options=other, restart=True)) == 0
    begun_anew = case.content(out)
    assert begun_anew != reference
    with error(ParameterError, None if case.name == "score" else "out", hint="overwrite"):
        case.run(out)
    assert case.content(out) == begun_anew  # until the new one is complete
    case.run(out, overwrite=True)
    assert case.content(out) == reference


@pytest.mark.parametrize("content", ["{", '{"sha256": "", "content": {}}'])
def test_a_plan_that_cannot_be_read_needs_a_restart(case: Case, tmp_path: Path, content: str) -> None:
    out = stopped(case, case.out(tmp_path))
    (left(out) / "plan.json").write_text(content)
    with error(InputError, place=str(left(out) / "plan.json"), hint="restart"):
        case.run(out)
    assert complete(out)
    case.run(out, restart=True)


# --- bad documents -----------------------------------------------------------------------------------------


def with_bad_documents(case: Case, folder: Path, *numbers: int) -> Path:
    """The corpus, some of whose documents have labels of no scheme."""
    if case.name == "score":
        given = sr.short_documents(60)
        for number in numbers:
            tokens = dataclasses.replace(given[number].tokens, dep=["head"] * len(given[number].tokens))
            given[number] = dataclasses.replace(given[number], tokens=tokens)
        return sr.corpus_file(folder / "bad.conllu", given)
    made = documents()
    for number in numbers:
        made[number]["tokens"]["dep"] = ["SBJ"] * len(made[number]["tokens"]["dep"])
    return in_groups(folder / "bad.parquet", made)


@pytest.mark.filterwarnings("ignore")  # the cluster's
@pytest.mark.parametrize("engine", ["here", "workers", "scheduler"])
def test_the_first_bad_document_is_told(
    case: Case, tmp_path: Path, request: pytest.FixtureRequest, engine: str
) -> None:
    path = with_bad_documents(case, tmp_path, 25, 58)
    place = f"{path}: row 26: doc_id" if case.name == "events" else f"{path}: document 26: doc_id"
    with error(InputError, place=place):
        case.run(case.out(tmp_path), inputs=path, **engine_options(engine, request))
    assert complete(case.out(tmp_path))


def test_a_run_stopped_by_a_bad_document_continues_with_a_quarantine_and_back(case: Case, tmp_path: Path) -> None:
    path, out = with_bad_documents(case, tmp_path, 20), case.out(tmp_path)
    for _ in range(2):
        with pytest.raises(InputError):
            case.run(out, inputs=path)
    n_complete = len(complete(out))
    options = case.options(on_error="quarantine")
    with pytest.raises(KeyboardInterrupt):
        case.run(out, inputs=path, options=options, on_progress=stop_after(n_complete + 1, out))
    with pytest.raises(InputError):  # the part with a document set aside is examined again
        case.run(out, inputs=path)
    summary = case.run(out, inputs=path, options=options)
    assert summary.n_quarantined == 1
    assert case.n_left(summary) > 0
    whole = case.run(tmp_path / f"whole-{out.name}", inputs=path, options=options)
    assert case.content(out).popitem()[1] == case.content(Path(whole.out)).popitem()[1]


# --- a part of the corpus ----------------------------------------------------------------------------------


def test_selected_documents_give_what_a_file_of_them_alone_gives(counting: Case, tmp_path: Path) -> None:
    def corpus(name: str, *sections: str) -> list[Path]:
        """Two files, of which each has documents of every section."""
        paths = [tmp_path / f"{name}{part}.jsonl" for part in range(2)]
        for part, path in enumerate(paths):
            given = [
                {**each, "section": section, "desk": ["Foreign", "Metro"]}
                for k, each in enumerate(documents()[part::2])
                if (section := ["Sports", "Foreign Desk"][k % 2]) in sections
            ]
            er.write_lines(path, given)
        return paths

    alone = counting.run(tmp_path / "alone", inputs=corpus("alone", "Foreign Desk"))
    every = corpus("every", "Sports", "Foreign Desk")
    options = counting.options(where=("section=Foreign*", "desk=Met*"))
    with pytest.raises(KeyboardInterrupt):
        counting.run(tmp_path / "some", inputs=every, options=options, on_progress=stop_after(1, tmp_path / "some"))
    summary = counting.run(tmp_path / "some", inputs=every, options=options)
    assert counting.content(tmp_path / "some") == counting.content(tmp_path / "alone")
    assert (summary.n_documents, summary.n_not_selected, alone.n_not_selected) == (30, 30, 0)
    record = json.loads((tmp_path / "some" / "run.json").read_text())
    assert record["arguments"]["where"] == ["section=Foreign*", "desk=Met*"]
    assert record["summary"]["n_not_selected"] == 30


def test_scores_are_those_of_selected_documents(scoring: Case, tmp_path: Path) -> None:
    out = scoring.out(tmp_path)
    scoring.run(out)
    lines = {json.loads(line)["doc_id"]: line for line in out.read_text().splitlines()}
    wanted = sorted(lines)[::4]
    summary = scoring.run(out, options=scoring.options(where=(f"doc_id={','.join(wanted)}",)), overwrite=True)
    assert out.read_text().splitlines() == [line for doc_id, line in lines.items() if doc_id in wanted]
    assert summary.n_not_selected == 60 - len(wanted)
    assert json.loads(Path(summary.record).read_text())["arguments"]["where"] == [f"doc_id={','.join(wanted)}"]


# --- partitions of events ----------------------------------------------------------------------------------


def test_the_three_steps_by_hand_in_any_order(counting: Case, counted: dict[str, bytes], tmp_path: Path) -> None:
    out, options = tmp_path / "run", counting.options()
    for step in (lambda: run_partition(out, 1), lambda: finalise_run(out)):
        with error(InputError, place=str(out)):
            step()
    assert initialise_run(counting.corpus, out, options) == (1, 2, 3, 4, 5, 6, 7)
    for number in (5, 2, 7, 1, 6):
        run_partition(out, number)
    with pytest.raises(InputError, match=r"got 2 missing: part 3 .news.parquet, row groups 6 to 8.*, part 4"):
        finalise_run(out, pictures=False)
    with error(ParameterError, "number", str(out)):
        run_partition(out, 8)
    assert not out.exists()
    assert initialise_run(counting.corpus, out, options) == (3, 4)
    for number in (4, 3, 3):  # again: nothing is counted twice
        run_partition(out, number)
    finalise_run(out, pictures=False)
    assert counting.content(out) == counted
    assert os.listdir(tmp_path) == ["run"]


def test_a_finished_run_is_not_computed_again(counting: Case, counted: dict[str, bytes], tmp_path: Path) -> None:
    first = counting.run(tmp_path / "run")
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    again = counting.run(tmp_path / "run")
    assert (first.n_computed, again.n_computed) == (7, 0)
    assert dataclasses.replace(again, n_computed=7) == first
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before
    (tmp_path / "run" / "counts.csv").unlink()  # a table that is lost is made again from the partitions
    assert counting.run(tmp_path / "run").n_computed == 0
    assert counting.content(tmp_path / "run") == counted


def test_only_a_corrected_file_is_computed_again(counting: Case, counted: dict[str, bytes], tmp_path: Path) -> None:
    first = er.write_lines(tmp_path / "1.jsonl", documents()[:30])
    second = er.write_lines(tmp_path / "2.jsonl", [*documents()[30:], "[]"])
    with error(InputError, place="2.jsonl: line 31"):
        counting.run(tmp_path / "run", inputs=[first, second])
    er.write_lines(second, documents()[30:])
    assert counting.run(tmp_path / "run", inputs=[first, second]).n_computed == 1
    assert counting.content(tmp_path / "run") == counted


def test_a_corpus_may_grow_at_any_time(counting: Case, counted: dict[str, bytes], tmp_path: Path) -> None:
    files = [in_groups(tmp_path / f"{n}.parquet", documents()[20 * n : 20 * n + 20]) for n in range(3)]
    out = stopped(counting, tmp_path / "run", 1, inputs=files[1:2])
    assert counting.run(out, inputs=files[1:]).n_computed == 3
    assert counting.content(out) != counted
    summary = counting.run(out, inputs=[f"{tmp_path}/?.parquet"])
    assert (summary.n_computed, summary.n_partitions, summary.n_documents) == (2, 6, 60)
    assert counting.content(out) == counted
    with error(ParameterError, "out", hint="overwrite") as caught:
        counting.run(out, inputs=files[:2])
    assert "of a run with the input" in caught.value.message


def test_overwrite_begins_beside_the_finished_run(counting: Case, counted: dict[str, bytes], tmp_path: Path) -> None:
    out = tmp_path / "run"
    counting.run(out, options=counting.options(seed=4))
    numbers = initialise_run(counting.corpus, out, counting.options(), overwrite=True)
    run_partition(out, numbers[0])
    assert {"counts.csv", "partitions", "unfinished"} <= {*os.listdir(out)}
    assert counting.run(out, overwrite=True).n_computed == 6
    assert counting.content(out) == counted
    assert "unfinished" not in os.listdir(out)


@pytest.mark.parametrize("place", ["replace", "move"])
@pytest.mark.parametrize("exists", [False, True])
def test_a_run_killed_while_its_files_are_moved_is_completed(
    counting: Case,
    counted: dict[str, bytes],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    place: str,
    exists: bool,
) -> None:
    """Whether the folder is new or replaced, and before its files are in their place or after."""
    out = tmp_path / "run"
    if exists:
        counting.run(out, options=counting.options(seed=4))
    move = {"replace": os.replace, "move": shutil.move}[place]

    def killed(source: Any, target: Any) -> Any:
        if place == "move" or Path(source).is_dir() or Path(source).name == "evidence.csv":
            raise SystemExit
        return move(source, target)

    with monkeypatch.context() as patch:
        patch.setattr({"replace": "os.replace", "move": "shutil.move"}[place], killed)
        with pytest.raises(SystemExit):
            counting.run(out, overwrite=exists)
    assert counting.run(out).n_computed == 0
    assert counting.content(out) == counted
    assert os.listdir(tmp_path) == ["run"]
    assert "unfinished" not in os.listdir(out)


def test_a_doc_id_in_two_partitions_is_told_with_both_places(counting: Case, tmp_path: Path) -> None:
    given = documents()
    given[41]["doc_id"] = given[5]["doc_id"]
    path = in_groups(tmp_path / "news.parquet", given)
    with pytest.raises(InputError) as caught:
        counting.run(tmp_path / "run", inputs=path)
    rule = f"doc_id must be unique in the corpus, got it again, first at {path}: row 6"
    assert str(caught.value) == f"{path}: row 42: doc_id {given[5]['doc_id']!r}: {rule}"


def test_quarantine_does_not_depend_on_the_partitions(counting: Case, tmp_path: Path) -> None:
    given: list[Any] = documents()
    for row, earlier in ((41, 5), (42, 5), (20, 19), (59, 0)):
        given[row]["doc_id"] = given[earlier]["doc_id"]
    given[30]["tokens"]["dep"] = ["SBJ"] * len(given[30]["tokens"]["dep"])
    path = in_groups(tmp_path / "news.parquet", given)
    found = []
    for name, size in (("one", 1000), ("many", 3)):
        options = counting.options(partition_size=size, on_error="quarantine")
        summary = counting.run(tmp_path / name, inputs=path, options=options)
        assert (summary.n_documents, summary.n_quarantined) == (55, 5)
        found.append({**counting.content(tmp_path / name), "": (tmp_path / name / "quarantine.jsonl").read_bytes()})
    assert found[0] == found[1]
    aside = map(json.loads, found[0][""].splitlines())
    assert [line["place"] for line in aside] == [f"row {n}" for n in (21, 31, 42, 43, 60)]


def test_finishing_by_hand_names_the_partition_to_run_again(counting: Case, tmp_path: Path) -> None:
    given: list[Any] = documents()
    given[41]["doc_id"] = given[5]["doc_id"]
    path, options = in_groups(tmp_path / "news.parquet", given), counting.options(on_error="quarantine")
    for number in initialise_run(path, tmp_path / "steps", options):
        run_partition(tmp_path / "steps", number)
    with pytest.raises(InputError, match=r"got 1 missing: part 5 .news.parquet, row groups 12 to 14"):
        finalise_run(tmp_path / "steps", pictures=False)
    run_partition(tmp_path / "steps", 5)
    assert finalise_run(tmp_path / "steps", pictures=False).n_quarantined == 1
    counting.run(tmp_path / "run", inputs=path, options=options)
    assert counting.content(tmp_path / "steps") == counting.content(tmp_path / "run")


def test_a_stray_date_in_another_partition_is_found(counting: Case, tmp_path: Path) -> None:
    given = documents()
    given[50]["date"] = "0999-01-01"
    path = in_groups(tmp_path / "news.parquet", given)
    with error(InputError, place="row 51: doc_id") as caught:
        counting.run(tmp_path / "run", inputs=path, options=counting.options(period="day"))
    assert "date must leave at most 100,000 periods" in caught.value.message


# --- engines -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("engine", "parameter"),
    [({"scheduler": "localhost"}, "scheduler"), ({"workers": 0}, "workers"), ({"workers": 2, "scheduler": "t://"}, "")],
)
def test_engines_options_are_checked_first(case: Case, tmp_path: Path, engine: dict[str, Any], parameter: str) -> None:
    with error(ParameterError, parameter or "workers"):
        case.run(case.out(tmp_path), **engine)
    assert not list(tmp_path.iterdir())


def test_a_condition_that_holds_of_no_document_is_named(case: Case, tmp_path: Path) -> None:
    with error(InputError, "where") as caught:
        case.run(case.out(tmp_path), options=case.options(where=("doc_id=nothing*", "doc_id=*1")))
    assert "'doc_id=nothing* and doc_id=*1'" in str(caught.value)


def test_a_scheduler_needs_dask_and_an_answer(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed", reason="dask[distributed] is not installed")
    monkeypatch.setattr("events.runs._engines._CONNECTING", "0.5s")
    with error(OutputError, place="tcp://127.0.0.1:9"):
        case.run(case.out(tmp_path), scheduler="tcp://127.0.0.1:9")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ParameterError, match=r"needs dask\[distributed\], .*pip install 'dask\[distributed\]"):
        case.run(case.out(tmp_path), scheduler="tcp://127.0.0.1:9")


def test_workers_give_results_in_order_and_the_first_error() -> None:
    results = Engine(2).results(failing, [8, 9, 7, 13])
    assert [next(results), next(results)] == [(8, 1), (9, 0)]
    with pytest.raises(ZeroDivisionError):
        next(results)


def test_a_task_whose_workers_keep_dying_is_named() -> None:
    with pytest.raises(OutputError, match="workers must live until 13 is complete, got 3 that died"):
        [*Engine(2).results(failing, [13, 8])]


def test_workers_are_stopped_while_one_sends_a_result(tmp_path: Path) -> None:
    results = Engine(2).results(half_sent, [tmp_path / "other", tmp_path])
    next(results)
    (tmp_path / "begin").touch()
    while not (tmp_path / "sent").exists():
        time.sleep(0.01)
    end = threading.Thread(target=results.close, daemon=True)
    end.start()
    end.join(30)
    assert not end.is_alive()


def test_a_single_task_is_computed_here() -> None:
    assert [*Engine(2).results(failing, [3], here=str)] == [(3, "3")]
