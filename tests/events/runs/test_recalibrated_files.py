"""Files whose scores were recalibrated: what a fit to them is for, and the English model as library and command."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from command_line import Calls
from expected_errors import error

from corefsample import InputError, Recalibration, read_documents, write_documents
from corefsample.mention_ranking._model import MENTION_SOURCES, MentionSource
from corefsample.recalibration import english_recalibration, score_english
from events import simulate_documents
from events.commands import RecalibrateOptions, run_recalibrate


def test_a_fit_to_recalibrated_scores_is_for_such_scores(tmp_path: Path) -> None:
    options = partial(RecalibrateOptions, objective="likelihood", form="global", n_folds=2, n_resamples=2)
    documents = [each.document for each in simulate_documents(16, seed=1, event_share=1.0)]
    change, other = Recalibration(1.3, 0.2), Recalibration(1.5, 0.1)
    write_documents(map(change.apply_document, documents), tmp_path / "gold.jsonl")
    write_documents(map(other.apply_document, documents), tmp_path / "other.jsonl")
    run = run_recalibrate(tmp_path / "gold.jsonl", tmp_path / "gold.jsonl", options(out=tmp_path / "again.jsonl"))
    record = json.loads(Path(run.record).read_text(encoding="utf-8"))
    assert record["base"] == change.fingerprint()
    marks = {document.metadata["recalibration"] for document in read_documents(run.out)}
    assert marks == {f"{change.fingerprint()} {run.applied.fingerprint()}"}
    with error(InputError, place="other.jsonl: line 1: doc_id 'sim-000000'"):
        run_recalibrate(tmp_path / "gold.jsonl", tmp_path / "other.jsonl", options(out=tmp_path / "out.jsonl"))


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
    assert record["model"]["path"] == "the English model of the package"
    assert record["summary"]["recalibration"] == ("english" if mentions == "parse" else "english-annotated")
