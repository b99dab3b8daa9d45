"""The job behind `corefsample recalibrate`: the fit, the outputs, and errors."""

import errno
import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from expected_errors import error
from references import events as er, recalibration as rr

from corefsample import InputError, OutputError, read_documents
from corefsample.recalibration import RecalibrationFitter
from events._summary import Summary
from events.commands.recalibrate import RECORD_SUFFIX, RecalibrateOptions, run_recalibrate

Run = Callable[..., Summary]
LINES = rr.story_corpus(20, 12, seed=6, temperature=2.0)


@pytest.fixture
def gold(tmp_path: Path) -> Path:
    return er.write_lines(tmp_path / "gold.jsonl", LINES)


@pytest.fixture
def target(tmp_path: Path) -> Path:
    """Other documents, without gold, and two that the fit sees."""
    lines = rr.story_corpus(7, 12, seed=9, temperature=2.0)
    bare = [{name: value for name, value in line.items() if name != "gold"} for line in lines]
    renamed = [line | {"doc_id": f"new {n}", "source": {"page": n}} for n, line in enumerate(bare)]
    return er.write_lines(tmp_path / "target.jsonl", [*renamed, *LINES[:2]])


@pytest.fixture
def run(gold: Path, target: Path, tmp_path: Path) -> Run:
    def started(**changes: Any) -> Summary:
        defaults = {"gold": gold, "target": target, "out": tmp_path / "out.jsonl"}
        inputs = [changes.pop(name, path) for name, path in defaults.items()]
        on_progress = changes.pop("on_progress", None)
        options = {"objective": "likelihood", "form": "global", "n_folds": 3, "n_resamples": 4}
        chosen = RecalibrateOptions(**{**options, **changes, "out": inputs.pop()})
        return run_recalibrate(*inputs, chosen, on_progress=on_progress)

    return started


# --- what is written ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", [".jsonl", ".jsonl.gz", ".parquet"])
def test_only_the_scores_of_the_documents_change(run: Run, target: Path, tmp_path: Path, ending: str) -> None:
    done = run(out=tmp_path / f"out{ending}")
    before, after = list(read_documents(target)), list(read_documents(tmp_path / f"out{ending}"))
    assert [document.doc_id for document in after] == [document.doc_id for document in before]
    for old, new in zip(before, after, strict=True):
        changed = done.result.fit.recalibration.apply(old.antecedents)
        np.testing.assert_array_equal(new.antecedents.scores, changed.scores)
        np.testing.assert_array_equal(new.antecedents.antecedents, old.antecedents.antecedents)
        marked = {**old.metadata, "recalibration": done.result.uncertain.recalibration.fingerprint()}
        assert (new.gold, new.date, new.metadata) == (old.gold, old.date, marked)
        assert (list(new.tokens.text), list(new.tokens.dep)) == (list(old.tokens.text), list(old.tokens.dep))


def test_by_default_links_are_fitted_by_kind(run: Run, gold: Path, target: Path, tmp_path: Path) -> None:
    options = RecalibrateOptions(out=str(tmp_path / "out.jsonl"), n_folds=2, n_resamples=2)
    done = run_recalibrate(gold, target, options)
    assert (done.result.fit.objective, done.result.fit.form) == ("links-log", "kinds")


def test_reported_scores_are_held_out(run: Run) -> None:
    done = run(seed=8)
    expected = RecalibrationFitter([*map(er.scored, LINES)]).cross_fit(3, seed=8)
    assert done["score_before"] == pytest.approx(expected.score_before)
    assert done["score_after"] == pytest.approx(expected.score_after)
    assert done["score_after"] < done["score_before"]  # scores were doubled
    assert done["temperature"] == pytest.approx(2.0, rel=0.3)


def test_a_file_can_be_recalibrated_in_place(run: Run, target: Path) -> None:
    before = [document.antecedents for document in read_documents(target)]
    digest = hashlib.sha256(target.read_bytes()).hexdigest()
    done = run(out=target, overwrite=True)
    for old, document in zip(before, read_documents(target), strict=True):
        np.testing.assert_array_equal(document.antecedents.scores, done.result.fit.recalibration.apply(old).scores)
    record = json.loads(Path(f"{target}{RECORD_SUFFIX}").read_text())
    assert record["inputs"][1]["sha256"] == digest  # of what it was


# --- bad documents ------------------------------------------------------------------------------------------


def test_bad_documents_of_both_inputs_are_set_aside(run: Run, gold: Path, target: Path, tmp_path: Path) -> None:
    for path in (gold, target):
        with path.open("a") as stream:
            stream.write("{}\n")
    done = run(on_error="quarantine")
    assert (done["n_quarantined"], done["n_documents"], done.result.fit.gold.n_documents) == (2, 9, 20)
    aside = [json.loads(line) for line in (tmp_path / "out.jsonl.quarantine.jsonl").read_text().splitlines()]
    assert [each["source"] for each in aside] == [str(gold), str(target)]


def test_the_error_of_an_overflowing_score_names_its_document(run: Run, target: Path, tmp_path: Path) -> None:
    gold = er.write_lines(tmp_path / "sharp.jsonl", rr.story_corpus(20, 12, seed=6, temperature=0.01))
    large = rr.story_corpus(1, 12, seed=1)[0] | {"doc_id": "large"}
    large["scores"][3][1] = -1e308
    source = er.write_lines(tmp_path / "large.jsonl", [*target.read_text().splitlines(), large])
    with pytest.raises(InputError, match=r"line 10: doc_id 'large': .*finite"):
        run(gold=gold, target=source)
    assert run(gold=gold, target=source, on_error="quarantine")["n_quarantined"] == 1


# --- failures -----------------------------------------------------------------------------------------------


def test_an_earlier_run_stays_complete_if_a_later_one_fails(run: Run, target: Path, tmp_path: Path) -> None:
    run()
    before = {path: path.read_bytes() for path in tmp_path.iterdir() if path.name.startswith("out")}
    with target.open("a") as stream:
        stream.write("{}\n")
    with error(InputError, place=f"{target}: line 10"):
        run(overwrite=True)
    assert {path: path.read_bytes() for path in tmp_path.iterdir() if path.name.startswith("out")} == before


def test_a_record_that_cannot_be_written_leaves_none(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run()
    replace = os.replace

    def full(source: Any, place: Any) -> None:
        if str(place).endswith(RECORD_SUFFIX):
            raise OSError(errno.ENOSPC, "No space left on device")
        replace(source, place)

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OutputError, match=r"recalibration.json: output must be writable, got: No space left on device"):
        run(overwrite=True)
    assert not [path for path in tmp_path.iterdir() if "recalibration" in path.name or "partial" in path.name]
