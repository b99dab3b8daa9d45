"""Files whose scores were recalibrated: no command recalibrates them twice, and errors are one line."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command_line import Calls
from run_cases import CountOptions, count_events

from corefsample import Recalibration, read_documents, write_documents
from corefsample.mention_ranking._model import MENTION_SOURCES, MentionSource
from corefsample.recalibration import RecalibrationDraws, english_recalibration, score_english
from corefsample.recalibration._uncertain import UncertainRecalibration
from events import simulate_documents
from events.commands import RecalibrateOptions, run_recalibrate

FAST = {"n_samples": 200, "period": "year"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """gold.jsonl; the same after a fit (fitted.jsonl, with its record); and records that are incomplete."""
    folder = tmp_path_factory.mktemp("files")
    documents = [each.document for each in simulate_documents(16, seed=1, event_share=1.0, temperature=2.0)]
    write_documents(documents, folder / "gold.jsonl")
    options = partial(RecalibrateOptions, objective="likelihood", form="global", n_folds=2, n_resamples=5)
    run_recalibrate(folder / "gold.jsonl", folder / "gold.jsonl", options(out=folder / "fitted.jsonl"))
    bare = UncertainRecalibration(Recalibration(1.5, 0.1)).to_json()
    (folder / "bare.json").write_text(json.dumps(bare), encoding="utf-8")
    return folder


def counts(source: Path, out: Path, **options: Any) -> pd.DataFrame:
    count_events(source, out, CountOptions(**FAST, **options), pictures=False)
    return pd.read_parquet(out / "counts.parquet")


@pytest.mark.parametrize("uncertainty", ["none", "fit"])
def test_a_run_does_not_recalibrate_twice(folder: Path, tmp_path: Path, uncertainty: Any) -> None:
    record = str(folder / "fitted.jsonl.recalibration.json")
    options = {"recalibration": record, "uncertainty": uncertainty}
    expected = counts(folder / "gold.jsonl", tmp_path / "once", **options)
    found = counts(folder / "fitted.jsonl", tmp_path / "twice", **options)
    assert found[["actor", "period", "uncertainty"]].equals(expected[["actor", "period", "uncertainty"]])
    # Scores differ by rounding: a sample near a threshold may differ, one of 200.
    np.testing.assert_allclose(found["mean"], expected["mean"], atol=0.005)
    plain = counts(folder / "gold.jsonl", tmp_path / "plain")
    assert np.abs(plain["mean"] - expected["mean"]).max() > 0.05


def test_uncertainty_alone_widens_the_counts_of_recalibrated_scores(tmp_path: Path) -> None:
    documents = [each.document for each in simulate_documents(40, seed=2, event_share=1.0)]
    change = Recalibration(1.2, 0.2)
    draws = RecalibrationDraws(np.full(4, 1.2), np.array([-1.8, 2.2, -1.8, 2.2]))
    (tmp_path / "r.json").write_text(json.dumps(UncertainRecalibration(change, draws).to_json()), encoding="utf-8")
    write_documents((change.apply_document(each) for each in documents), tmp_path / "d.jsonl")
    record = str(tmp_path / "r.json")
    wide = counts(tmp_path / "d.jsonl", tmp_path / "wide", recalibration=record)
    narrow = counts(tmp_path / "d.jsonl", tmp_path / "narrow", recalibration=record, uncertainty="none")
    assert wide["sd"].sum() > narrow["sd"].sum()


def test_scores_with_another_recalibration_are_refused(folder: Path, tmp_path: Path, call: Calls) -> None:
    arguments = ("--recalibration", "english", "--no-pictures", "--out", tmp_path / "run")
    status, line = call.refused("events", folder / "fitted.jsonl", *arguments)
    mark = next(read_documents(folder / "fitted.jsonl")).metadata["recalibration"]
    assert status == 3
    assert "line 1: doc_id 'sim-000000': scores must be like those to which the recalibration was fitted" in line
    assert f"got scores with the recalibration {mark}" in line


def test_a_fit_to_recalibrated_scores_is_for_such_scores(folder: Path, tmp_path: Path) -> None:
    options = partial(RecalibrateOptions, objective="likelihood", form="global", n_folds=2, n_resamples=2)
    source = folder / "fitted.jsonl"
    documents = [each.document for each in simulate_documents(16, seed=1, event_share=1.0)]
    change = Recalibration(1.3, 0.2)
    write_documents((change.apply_document(each) for each in documents), tmp_path / "gold.jsonl")
    run = run_recalibrate(tmp_path / "gold.jsonl", tmp_path / "gold.jsonl", options(out=tmp_path / "again.jsonl"))
    record = json.loads(Path(run.record).read_text(encoding="utf-8"))
    assert record["base"] == change.fingerprint()
    marks = {document.metadata["recalibration"] for document in read_documents(run.out)}
    assert marks == {f"{change.fingerprint()} {run.applied.fingerprint()}"}
    with pytest.raises(ValueError, match="scores must be like those to which the recalibration was fitted"):
        run_recalibrate(tmp_path / "gold.jsonl", source, options(out=tmp_path / "other.jsonl"))


@pytest.mark.parametrize("mentions", MENTION_SOURCES)
def test_the_english_model_scores_as_the_command_does(mentions: MentionSource, tmp_path: Path, call: Calls) -> None:
    documents = [each.document for each in simulate_documents(3, seed=4)]
    plain = list(score_english(documents, recalibrated=False, mentions=mentions))
    change = english_recalibration(mentions).recalibration
    write_documents(documents, tmp_path / "d.jsonl")
    call("score", tmp_path / "d.jsonl", "--mentions", mentions, "--out", tmp_path / "s.jsonl")
    by_command = read_documents(tmp_path / "s.jsonl")
    for scored, other, document in zip(score_english(documents, mentions=mentions), by_command, plain, strict=True):
        expected = change.apply_document(document)
        assert scored.antecedents.scores.tolist() == expected.antecedents.scores.tolist()
        np.testing.assert_allclose(other.antecedents.scores, expected.antecedents.scores, atol=1e-5)
        assert scored.metadata["recalibration"] == other.metadata["recalibration"] == change.fingerprint()
    record = json.loads((tmp_path / "s.jsonl.scoring.json").read_text(encoding="utf-8"))
    assert record["recalibration"]["fingerprint"] == change.fingerprint()
