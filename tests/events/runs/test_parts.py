"""Runs in parts: whatever a folder holds, a run has the bytes of a fresh one and computes what is missing, no more."""

import dataclasses
import json
import multiprocessing
import os
import shutil
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from expected_errors import error
from places import PROJECT
from references import events as er, scoring as sr
from run_cases import PART, Case, complete, computed_by_two, documents, engine_options, in_groups, left, stop_after

from corefsample import InputError, OutputError, ParameterError
from events.evidence import _sorted_rows
from events.runs import _count_parts, _store
from events.runs._store import PartStore, Source

pytestmark = pytest.mark.filterwarnings("ignore")  # the cluster's


def stopped(case: Case, out: Path, n_parts: int = 2, **keywords: Any) -> Path:
    """An output of which some parts are complete."""
    with pytest.raises(KeyboardInterrupt, match=r"complete parts are in .*parts, and the same command continues"):
        case.run(out, on_progress=stop_after(n_parts, out), **keywords)
    return out


def tables(case: Case, out: Path) -> dict[str, Any]:
    """Bytes of what a run writes, with the documents set aside."""
    aside = [*out.glob("quarantine.jsonl"), *out.parent.glob(f"{out.name}.quarantine.jsonl")]
    return {**case.content(out), **{path.name: path.read_bytes() for path in aside}}


# --- any engine, interrupted or not ---------------------------------------------------------------------------

# Any two of command, engine and interruption meet once, as each takes seconds.
ENGINES = [
    *(("events", "here", False), ("score", "here", True), ("events", "workers", True), ("score", "workers", False)),
    *(("events", "scheduler", False), ("score", "scheduler", True)),
]


@pytest.mark.parametrize(("case", "engine", "is_stopped"), ENGINES, indirect=["case"])
def test_the_bytes_do_not_depend_on_the_engine(
    case: Case,
    reference: dict[str, bytes],
    tmp_path: Path,
    request: pytest.FixtureRequest,
    engine: str,
    is_stopped: bool,
) -> None:
    out = case.out(tmp_path)
    keywords = engine_options(engine, request)
    if is_stopped:
        stopped(case, out, **keywords)
    seen: list[tuple[int, int, int]] = []
    summary = case.run(out, on_progress=lambda *numbers: seen.append(numbers), **keywords)
    assert (case.n_left(summary) > 0) is is_stopped
    assert case.content(out) == reference
    assert seen == sorted(seen)
    if not is_stopped:  # workers may have completed all parts before they were stopped
        assert (seen[-1][0], seen[-1][2]) == (pytest.approx(seen[-1][1], abs=1), 60)


@pytest.mark.parametrize("kind", [ZeroDivisionError, SystemExit])
def test_any_error_leaves_nothing_but_complete_parts(case: Case, tmp_path: Path, kind: type[BaseException]) -> None:
    out = case.out(tmp_path / "new")
    with pytest.raises(kind):
        case.run(out, on_progress=stop_after(2, out, kind))
    assert {path.relative_to(tmp_path / "new").parts[0] for path in complete(out)} == {*os.listdir(tmp_path / "new")}
    assert {path.parent for path in complete(out)} == {path for path in left(out).iterdir() if path.is_dir()}


# --- content keys ---------------------------------------------------------------------------------------------

CHANGED: list[tuple[str, dict[str, Any]]] = [
    *(("events", changed) for changed in ({"seed": 3}, {"n_samples": 61}, {"compare": None}, {"period": "year"})),
    *(("events", changed) for changed in ({"recalibration": "none"}, {"filled": "named"}, {"preset": "paper"})),
    *(("events", changed) for changed in ({"rule": "arrest", "compare": None}, {"where": ("doc_id=*round 1",)})),
    *(("score", changed) for changed in ({"min_prob": 0.5}, {"mentions": "parse"}, {"recalibration": "english"})),
]


@pytest.mark.parametrize(("case", "changed"), CHANGED, indirect=["case"])
def test_no_part_of_other_options_is_used(case: Case, tmp_path: Path, changed: dict[str, Any]) -> None:
    out = stopped(case, case.out(tmp_path))
    assert case.n_left(case.run(out, options=case.options(**changed))) == 0
    case.run(case.out(tmp_path / "fresh"), options=case.options(**changed))
    assert case.content(out) == case.content(case.out(tmp_path / "fresh"))


def test_a_part_has_as_many_files_as_its_rows_fill(
    counting: Case, counted: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_sorted_rows, "_FILE_BYTES", 1)
    monkeypatch.setattr(_count_parts, "_BATCH", 2)
    counting.run(tmp_path / "run")
    assert counting.content(tmp_path / "run") == counted
    assert [*left(tmp_path / "run").glob("*/evidence-1.arrow")]


def test_parts_do_not_depend_on_what_changes_no_result(case: Case, reference: dict[str, bytes], tmp_path: Path) -> None:
    corpus = Path(shutil.copy(case.corpus, tmp_path / case.corpus.name))
    out = stopped(case, case.out(tmp_path), inputs=corpus)
    os.utime(corpus, (1, 1))
    free = {"threads": 3} if case.name == "events" else {"max_quarantined": 3.0}
    options = case.options(on_error="quarantine", **free)
    assert case.n_left(case.run(out, inputs=corpus, options=options, workers=1)) > 0
    assert case.content(out) == reference


def test_no_part_of_another_version_or_rule_or_model_is_used(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / ("own.yaml" if case.name == "events" else "own.npz")
    shipped = PROJECT / "events" / "data" / "rules" / "attack.yaml"
    shutil.copy(shipped if case.name == "events" else case.model, own)
    options = case.options(**{"rule" if case.name == "events" else "model": str(own)})
    out = stopped(case, case.out(tmp_path), options=options)
    if case.name == "events":
        own.write_text(own.read_text() + "\n# another comment\n")
    else:
        shutil.copy(sr.small_model(tmp_path, epochs=2), own)
    stopped(case, out, len(complete(out)) + 1, options=options)
    monkeypatch.setattr("events.runs._store.package_checksum", lambda: "other code")
    assert case.n_left(case.run(out, options=options)) == 0


@pytest.mark.parametrize("n_bytes", [0, -1])
def test_no_part_of_a_file_with_other_content_is_used(
    case: Case, reference: dict[str, bytes], tmp_path: Path, n_bytes: int
) -> None:
    other = with_bad_documents(case, tmp_path) if n_bytes else Path(shutil.copy(case.corpus, tmp_path))
    content = other.read_bytes()
    stopped(case, case.out(tmp_path), inputs=other)
    assert other.read_bytes() == content
    shutil.copy(case.corpus, other)
    case.run(case.out(tmp_path), inputs=other)
    assert case.content(case.out(tmp_path)) == reference


def test_a_file_that_changes_while_it_is_counted_is_an_error(counting: Case, tmp_path: Path) -> None:
    corpus = Path(shutil.copy(counting.corpus, tmp_path / "news.parquet"))
    with error(InputError, place=str(corpus)):
        counting.run(tmp_path / "run", inputs=corpus, on_progress=lambda *_: os.utime(corpus, (1, 1)))


def test_a_checksum_is_remembered_until_the_file_changes_even_if_its_time_is_set_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, n_read = tmp_path / "a.txt", []
    monkeypatch.setattr(_store, "sha256", lambda path: n_read.append(path) or Path(path).read_text())
    path.write_text("one")
    about = path.stat()
    assert Source.of(str(path)) == Source.of(str(path))
    assert len(n_read) == 2  # the file is so new that its next change could have the same time
    monkeypatch.setattr(_store, "_TICK", 0)
    time.sleep(0.05)  # file systems have times of a few milliseconds
    before = Source.of(str(path))
    assert Source.of(str(path)) == before
    assert len(n_read) == 3
    path.write_text("two")
    os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns))
    assert (before.fingerprint, Source.of(str(path)).fingerprint) == ("one", "two")


@pytest.mark.parametrize("name", ["counts/_counter.py", "data/rules/attack.yaml"])
def test_a_part_that_other_code_or_data_computed_has_another_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    before = PartStore(tmp_path).key("a")
    copy = tmp_path / "code"
    shutil.copytree(PROJECT / "events", copy)
    (copy / name).write_text("other content")
    monkeypatch.setattr("events.runs._store._PACKAGES", (_store._PACKAGES[0], copy))
    _store.package_checksum.cache_clear()
    after = PartStore(tmp_path).key("a")
    _store.package_checksum.cache_clear()
    assert before != after


# --- finished runs --------------------------------------------------------------------------------------------


def test_a_finished_run_with_other_settings_needs_overwrite(
    counting: Case, counted: dict[str, bytes], tmp_path: Path
) -> None:
    out, corpus = tmp_path / "run", Path(shutil.copy(counting.corpus, tmp_path / "news.parquet"))
    more = er.write_lines(tmp_path / "more.jsonl", [{**documents()[0], "doc_id": "more"}])
    counting.run(out, inputs=[corpus, more])
    before = counting.content(out)
    for keywords in ({"options": counting.options(seed=3)}, {"inputs": corpus}, {"inputs": more}):
        with error(ParameterError, "out", hint="overwrite"):
            counting.run(out, **{"inputs": [corpus, more], **keywords})
    assert counting.content(out) == before
    in_groups(corpus, documents()[:59])
    assert counting.run(out, inputs=[corpus, more]).n_computed == 4
    assert counting.run(out, overwrite=True).n_computed == 4
    assert counting.content(out) == counted
    assert len([*(out / "parts").glob("*-*")]) == 4  # and none of the run before


@pytest.mark.parametrize("name", ["counts.csv", "evidence.parquet"])
def test_a_finished_run_computes_nothing_again_and_repairs_its_tables(
    counting: Case, counted: dict[str, bytes], tmp_path: Path, name: str
) -> None:
    out = tmp_path / "run"
    first = counting.run(out)
    (out / name).write_text("damaged")
    (out / ".partial-0123456789abcdef").mkdir()  # a killed run left it
    again = counting.run(out)
    assert again.n_computed == 0
    differing = ("n_computed", "seconds", "counts", "totals")
    same = {name: value for name, value in vars(first).items() if name not in differing}
    assert same.items() <= vars(again).items()
    assert counting.content(out) == counted
    assert not [*out.glob(".partial-*")]


@pytest.mark.parametrize("exists", [False, True])
def test_a_run_killed_while_its_files_are_moved_is_completed(
    counting: Case, counted: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exists: bool
) -> None:
    out, move = tmp_path / "run", os.replace
    if exists:
        counting.run(out, options=counting.options(seed=4))

    def killed(source: Any, target: Any) -> Any:
        if Path(source).name == "evidence.csv":
            raise SystemExit
        return move(source, target)

    with monkeypatch.context() as patch:
        patch.setattr("os.replace", killed)
        with pytest.raises(SystemExit):
            counting.run(out, overwrite=exists)
    assert counting.run(out).n_computed == 0
    assert counting.content(out) == counted
    assert os.listdir(tmp_path) == ["run"]


@pytest.mark.parametrize("place", ["outputs.run_record", "atomic.write_json"])
def test_scores_killed_after_their_last_part_are_completed(
    scoring: Case, references: dict[str, dict[str, bytes]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    out = scoring.out(tmp_path)

    def killed(*_: Any, **__: Any) -> None:
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr(f"events.runs._score_run.{place}", killed)
        with pytest.raises(SystemExit):
            scoring.run(out)
    assert scoring.n_left(scoring.run(out)) == 60
    assert scoring.content(out) == references["score"]
    assert sorted(os.listdir(tmp_path)) == [out.name, f"{out.name}.parts", f"{out.name}.scoring.json"]


# --- the order of inputs, growth, corrections -----------------------------------------------------------------


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
        "twice": er.write_lines(tmp_path / "twice.jsonl", [made[47], made[12], made[48], made[12]]),
    }


@pytest.fixture
def run(counting: Case, given: dict[str, Path], tmp_path: Path) -> Callable[..., Any]:
    """Run files by their names into a folder."""

    def called(names: str, out: Path, **keywords: Any) -> Any:
        options = counting.options(part_size=9, on_error=keywords.pop("on_error", "quarantine"))
        return counting.run(out, inputs=[given[name] for name in names.split()], options=options, **keywords)

    return called


CALLS = "a b|b a,a b|b a|b a c,b c a|a c b,a|a a,a a|a,a b|a b a,a b a,b|c a b,a b c|c b a|a b c,a|a d|a d b c,a twice"


@pytest.mark.parametrize("calls", CALLS.split(","))
def test_a_run_that_grew_or_has_another_order_is_a_fresh_one(
    counting: Case, run: Callable[..., Any], tmp_path: Path, calls: str
) -> None:
    *earlier, last = calls.split("|")
    for names in earlier:
        run(names, tmp_path / "run")
    result = run(last, tmp_path / "run")
    fresh = run(last, tmp_path / "fresh")
    assert tables(counting, tmp_path / "run") == tables(counting, tmp_path / "fresh")
    assert (result.n_documents, result.n_quarantined) == (fresh.n_documents, fresh.n_quarantined)
    assert run(last, tmp_path / "run").n_computed == 0


def test_only_what_an_exclusion_touched_is_computed_again(run: Callable[..., Any], tmp_path: Path) -> None:
    assert run("a d b", tmp_path / "run").n_computed == 5
    assert run("b d a", tmp_path / "run").n_computed == 2  # both halves of "a" have doc_ids of "b"
    assert run("d b a", tmp_path / "run").n_computed == 0


@pytest.mark.parametrize("kind", ["wrong", "repeated"])
def test_a_failed_growth_leaves_the_run_alone(
    counting: Case, run: Callable[..., Any], tmp_path: Path, kind: str
) -> None:
    out, stop = tmp_path / "run", {"on_error": "stop"}
    run("a", out, **stop)
    before = {path: path.read_bytes() for path in out.glob("*.*")}
    with pytest.raises(InputError):
        run(f"a d {kind}", out, **stop)
    assert {path: path.read_bytes() for path in out.glob("*.*")} == before
    assert run("a d", out, **stop).n_computed == 0
    run("a d", tmp_path / "fresh", **stop)
    assert counting.content(out) == counting.content(tmp_path / "fresh")


@pytest.mark.parametrize("corrected", ["a", "repeated"])
def test_only_a_corrected_file_is_computed_again(
    counting: Case, given: dict[str, Path], run: Callable[..., Any], tmp_path: Path, corrected: str
) -> None:
    out, stop = tmp_path / "run", {"on_error": "stop"}
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


def test_scores_of_a_corrected_or_longer_corpus_use_the_parts_of_its_documents(scoring: Case, tmp_path: Path) -> None:
    corpus, out = sr.corpus_file(tmp_path / "corpus.conllu", sr.short_documents(60)), scoring.out(tmp_path)
    stopped(scoring, out, 3, inputs=corpus)
    changed = sr.short_documents(70)
    changed[20] = dataclasses.replace(changed[20], metadata={"genre": "another"})
    corpus.unlink()
    sr.corpus_file(corpus, changed)
    assert scoring.n_left(scoring.run(out, inputs=corpus)) == 2 * PART  # of the first and the third
    more = sr.corpus_file(tmp_path / "more.conllu", sr.short_documents(80)[70:])
    assert scoring.n_left(scoring.run(out, inputs=[more, corpus])) == 70  # wherever documents are added
    with error(ParameterError, "out", hint="overwrite"):
        scoring.run(out, inputs=corpus)
    fresh = scoring.out(tmp_path / "fresh")
    scoring.run(fresh, inputs=[more, corpus])
    assert scoring.content(out) == scoring.content(fresh)


# --- bad documents --------------------------------------------------------------------------------------------


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


@pytest.mark.parametrize(
    ("case", "engine"),
    [("score", "here"), ("events", "here"), ("score", "workers"), ("events", "scheduler")],
    indirect=["case"],
)
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
    options = case.options(on_error="quarantine")
    stopped(case, out, len(complete(out)) + 1, inputs=path, options=options)
    with pytest.raises(InputError):  # the part with a document set aside is examined again
        case.run(out, inputs=path)
    summary = case.run(out, inputs=path, options=options)
    assert summary.n_quarantined == 1
    assert case.n_left(summary) > 0
    case.run(case.out(tmp_path / "whole"), inputs=path, options=options)
    assert tables(case, out) == tables(case, case.out(tmp_path / "whole"))


def test_a_doc_id_in_two_parts_is_told_with_both_places(counting: Case, tmp_path: Path) -> None:
    made = documents()
    made[41]["doc_id"] = made[5]["doc_id"]
    path = in_groups(tmp_path / "news.parquet", made)
    with pytest.raises(InputError) as caught:
        counting.run(tmp_path / "run", inputs=path)
    rule = f"doc_id must be unique in the corpus, got it again, first at {path}: row 6"
    assert str(caught.value) == f"{path}: row 42: doc_id {made[5]['doc_id']!r}: {rule}"


def test_quarantine_does_not_depend_on_the_parts(counting: Case, tmp_path: Path) -> None:
    made: list[Any] = documents()
    for row, earlier in ((41, 5), (42, 5), (20, 19), (59, 0)):
        made[row]["doc_id"] = made[earlier]["doc_id"]
    made[30]["tokens"]["dep"] = ["SBJ"] * len(made[30]["tokens"]["dep"])
    path = in_groups(tmp_path / "news.parquet", made)
    results = []
    for name, size in (("one", 1000), ("many", 3)):
        summary = counting.run(
            tmp_path / name, inputs=path, options=counting.options(part_size=size, on_error="quarantine")
        )
        assert (summary.n_documents, summary.n_quarantined) == (55, 5)
        results.append(tables(counting, tmp_path / name))
    assert results[0] == results[1]
    aside = map(json.loads, results[0]["quarantine.jsonl"].splitlines())
    assert [line["place"] for line in aside] == [f"row {n}" for n in (21, 31, 42, 43, 60)]


# --- selected documents ---------------------------------------------------------------------------------------


def test_selected_documents_give_what_a_file_of_them_alone_gives(counting: Case, tmp_path: Path) -> None:
    def corpus(name: str, *sections: str) -> list[Path]:
        """Two files, of which each has documents of every section."""
        paths = [tmp_path / f"{name}{part}.jsonl" for part in range(2)]
        for part, path in enumerate(paths):
            lines = [
                {**each, "section": section, "desk": ["Foreign", "Metro"]}
                for k, each in enumerate(documents()[part::2])
                if (section := ["Sports", "Foreign Desk"][k % 2]) in sections
            ]
            er.write_lines(path, lines)
        return paths

    alone = counting.run(tmp_path / "alone", inputs=corpus("alone", "Foreign Desk"))
    every = corpus("every", "Sports", "Foreign Desk")
    options = counting.options(where=("section=Foreign*", "desk=Met*"))
    stopped(counting, tmp_path / "some", 1, inputs=every, options=options)
    summary = counting.run(tmp_path / "some", inputs=every, options=options)
    assert counting.content(tmp_path / "some") == counting.content(tmp_path / "alone")
    assert (summary.n_documents, summary.n_not_selected, alone.n_not_selected) == (30, 30, 0)


def test_a_condition_that_holds_of_no_document_is_named(case: Case, tmp_path: Path) -> None:
    with error(InputError, "where") as caught:
        case.run(case.out(tmp_path), options=case.options(where=("doc_id=nothing*", "doc_id=*1")))
    assert "'doc_id=nothing* and doc_id=*1'" in str(caught.value)
    assert not os.listdir(tmp_path)


def test_a_corpus_without_documents_is_a_result_alone_and_beside_others(case: Case, tmp_path: Path) -> None:
    empty = er.write_lines(tmp_path / "empty.jsonl", [])
    assert case.run(case.out(tmp_path / "alone"), inputs=empty).n_documents == 0
    both = case.run(case.out(tmp_path / "both"), inputs=[empty, case.corpus])
    case.run(case.out(tmp_path / "one"))
    assert both.n_documents == 60
    assert case.content(case.out(tmp_path / "both")) == case.content(case.out(tmp_path / "one"))


# --- engines --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("engine", "parameter"),
    [({"scheduler": "localhost"}, "scheduler"), ({"workers": 0}, "workers"), ({"workers": 2, "scheduler": "t://"}, "")],
)
def test_engines_options_are_checked_first(case: Case, tmp_path: Path, engine: dict[str, Any], parameter: str) -> None:
    with error(ParameterError, parameter or "workers"):
        case.run(case.out(tmp_path), **engine)
    assert not list(tmp_path.iterdir())


def test_a_scheduler_needs_dask_and_an_answer(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed", reason="dask[distributed] is not installed")
    monkeypatch.setattr("events.runs._engines._CONNECTING", "0.5s")
    with error(OutputError, place="tcp://127.0.0.1:9"):
        case.run(case.out(tmp_path), scheduler="tcp://127.0.0.1:9")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ParameterError, match=r"needs dask\[distributed\], .*pip install 'dask\[distributed\]"):
        case.run(case.out(tmp_path), scheduler="tcp://127.0.0.1:9")


def test_a_scheduler_without_workers_or_with_another_version_is_an_error(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    distributed: Any = pytest.importorskip("distributed", reason="dask[distributed] is not installed")
    monkeypatch.setattr("events.runs._engines._PATIENCE", 0.2)
    with distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=None) as cluster:
        scheduler = {"scheduler": cluster.scheduler_address, "worker_timeout": 1.0}
        with error(OutputError, place=cluster.scheduler_address, hint="worker_timeout") as caught:
            case.run(case.out(tmp_path), **scheduler)
        assert caught.value.obstacle == "NoScheduler"
        assert sum("has no workers" in record.getMessage() for record in caplog.records) == 1
        monkeypatch.setattr("events.runs._engines.package_checksum", lambda: "another")
        with error(OutputError, place=cluster.scheduler_address) as caught:
            case.run(case.out(tmp_path), **scheduler)
        assert caught.value.obstacle is None


def test_workers_give_results_in_order_and_the_first_error(tmp_path: Path) -> None:
    seen: list[tuple[int, int, int]] = []
    with pytest.raises(ZeroDivisionError):
        computed_by_two(tmp_path, 8, 9, 7, on_progress=lambda *numbers: seen.append(numbers))
    assert seen == [(1, 3, 8), (2, 3, 17)]


@pytest.mark.parametrize("is_killed", [False, True])
def test_a_worker_that_has_sent_half_of_a_result_does_not_hang_the_job(tmp_path: Path, is_killed: bool) -> None:
    others = {*multiprocessing.active_children()}
    errors: list[BaseException] = []

    def on_progress(*_: int) -> None:
        (tmp_path / "begin").touch()
        while not (tmp_path / "sent").exists() or not (tmp_path / "sent").read_text():
            time.sleep(0.01)
        if not is_killed:
            raise KeyboardInterrupt
        os.kill(int((tmp_path / "sent").read_text()), signal.SIGKILL)

    def run() -> None:
        try:
            computed_by_two(tmp_path, 1, 14, on_progress=on_progress)
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(60)
    assert not thread.is_alive()
    assert [type(error) for error in errors] == [OutputError if is_killed else KeyboardInterrupt]
    assert not is_killed or "one of them died" in str(errors[0])
    assert {*multiprocessing.active_children()} <= others
