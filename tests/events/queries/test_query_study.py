"""Queries before and after recalibration: every figure held out, tables as they say, the real file's coverage."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from expected_errors import error
from references import events as er
from references import recalibration as rr

from corefsample import InputError, ParameterError, ScoredDocument
from corefsample.recalibration import RecalibrationFitter
from corefsample.recalibration._model import NoMinimumError, Recalibration
from corefsample.recalibration._refits import RecalibrationDraws
from corefsample.recalibration._shipped import read_recalibration
from corefsample.recalibration._uncertain import UncertainRecalibration
from events.commands._results import QueriesFolder
from events.commands.calibrate_queries import CalibrateQueriesOptions, run_calibrate_queries
from events.queries._queries import QueryTable, match_queries
from events.queries._study import QueryStudy, study_queries

N_SAMPLES = 50


def lines(temperature: float = 1.0) -> list[dict[str, Any]]:
    return rr.story_corpus(24, 12, seed=4, temperature=temperature)


def documents(temperature: float = 1.0) -> list[ScoredDocument]:
    return [dataclasses.replace(er.scored(line), gold=line["gold"]) for line in lines(temperature)]


@pytest.fixture(scope="module")
def study() -> QueryStudy:
    return study_queries(
        documents(4.0), objectives=("likelihood", "queries"), n_folds=3, n_samples=N_SAMPLES, n_resamples=4, seed=5
    )


# --- the study ----------------------------------------------------------------------------------------------


def test_as_scored_comes_first_and_is_left_as_it_is(study: QueryStudy) -> None:
    assert [each.name for each in study.variants] == ["as scored", "likelihood", "queries"]
    table = QueryTable.of(match_queries(document) for document in documents(4.0))
    expected = table.probabilities(Recalibration(), n_samples=N_SAMPLES, seed=5)
    np.testing.assert_array_equal(study.variants[0].probabilities, expected)
    np.testing.assert_array_equal(study.table.truth, table.truth)


@pytest.mark.parametrize("name", ["likelihood", "queries"])
def test_every_document_has_the_probabilities_of_the_fit_without_it(study: QueryStudy, name: str) -> None:
    (variant,) = [each for each in study.variants if each.name == name]
    changes = [variant.fit.recalibration_of(doc_id) for doc_id in study.table.doc_ids]
    expected = study.table.probabilities(changes, n_samples=N_SAMPLES, seed=5)
    np.testing.assert_array_equal(variant.probabilities, expected)
    folds = [variant.fit.folds[variant.fit.doc_ids.index(doc_id)] for doc_id in study.table.doc_ids]
    for draw in range(4):
        changes = [variant.fit.draws[fold][draw] for fold in folds]
        first = N_SAMPLES + 200 * draw  # samples of their own
        expected = study.table.probabilities(changes, n_samples=200, seed=5, first_sample=first)
        np.testing.assert_array_equal(variant.draws[draw], expected)


def test_overconfident_scores_are_recalibrated_for_documents_outside_the_fit(study: QueryStudy) -> None:
    scores = study.scores().set_index("variant")
    assert scores.loc["likelihood", "brier"] < scores.loc["as scored", "brier"]
    temperatures = study.recalibrations().groupby("variant")["temperature"].mean()
    assert temperatures["likelihood"] == pytest.approx(4.0, rel=0.3)  # the scores were multiplied by 4


def test_an_objective_without_a_minimum_leaves_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_fit(self: Any, *args: Any, **options: Any) -> Any:
        if self._losses.name == "links":
            raise NoMinimumError("no minimum")
        return cross_fit(self, *args, **options)

    cross_fit = RecalibrationFitter.cross_fit
    monkeypatch.setattr(RecalibrationFitter, "cross_fit", no_fit)
    found = study_queries(documents(), objectives=("links", "likelihood"), n_folds=2, n_resamples=0, n_samples=20)
    assert [each.name for each in found.variants] == ["as scored", "likelihood"]
    assert found.failures == {"links": "no minimum"}


def test_a_recalibration_from_elsewhere_is_measured() -> None:
    draws = RecalibrationDraws(np.array([1.2, 1.4]), np.array([0.1, 0.3]))
    elsewhere = UncertainRecalibration(Recalibration(1.3, 0.2), draws)
    found = study_queries(documents(), recalibration=elsewhere, n_resamples=2, n_samples=50, by=("absent",))
    as_scored, recalibrated = found.variants
    assert (as_scored.name, recalibrated.name) == ("as scored", "recalibrated")
    expected = found.table.probabilities(Recalibration(1.3, 0.2), n_samples=50)
    assert np.array_equal(recalibrated.probabilities, expected)
    assert recalibrated.draws.shape == (2, found.table.n_pairs)
    groups = found.misfit()
    for variant in found.variants:
        rows = groups[(groups["variant"] == variant.name) & (groups["by"] == "mention_type")]
        assert rows["n_pairs"].sum() == found.table.n_pairs
        assert math.isclose((rows["n_pairs"] * rows["mean_p"]).sum(), variant.probabilities.sum())
        assert math.isclose((rows["n_pairs"] * rows["share_true"]).sum(), found.table.truth.sum())


def test_scores_that_had_the_english_recalibration_have_its_uncertainty() -> None:
    english = read_recalibration("english")
    genres = [{"genre": "news"}, {"genre": "speech"}, {}]
    plain = [dataclasses.replace(each, metadata=genres[d % 3]) for d, each in enumerate(documents())]
    given = [english.recalibration.apply_document(each) for each in plain]
    options: dict[str, Any] = {"n_resamples": 3, "n_samples": 50, "objectives": ()}
    (own,) = study_queries(given, **options).variants
    _, elsewhere = study_queries(plain, recalibration=english, **options).variants
    # Scores differ by rounding: of 200 samples one may differ.
    np.testing.assert_allclose(own.draws, elsewhere.draws, atol=0.01)
    table = QueryTable.of(match_queries(document) for document in plain)
    genre_of = {each.doc_id: str(each.metadata.get("genre", "")) for each in plain}
    for draw in range(3):
        each = [english.sampled("domain", 3, domain=genre_of[doc_id])[draw] for doc_id in table.doc_ids]
        expected = table.probabilities(each, n_samples=200, first_sample=50 + 200 * draw)
        np.testing.assert_array_equal(elsewhere.draws[draw], expected)
    for more in ({"uncertainty": "none"}, {"n_resamples": 0}):
        assert study_queries(given, **{**options, **more}).variants[0].draws is None
    for others in (plain, [*given[:9], *plain[9:]]):
        assert study_queries(others, **options).variants[0].draws is None
        with pytest.raises(ParameterError, match="uncertainty needs a recalibration, or scores that were"):
            study_queries(others, uncertainty="domain", **options)


def test_held_out_intervals_by_kind_have_the_domain_effect() -> None:
    given = documents(2.0)
    domains = {each.doc_id: f"domain {d % 4}" for d, each in enumerate(given)}
    options: dict[str, Any] = {
        "objectives": ("likelihood",),
        "form": "kinds",
        "n_folds": 2,
        "n_samples": 50,
        "n_resamples": 2,
    }
    study = study_queries(given, domains=domains, **options)
    (_, found) = study.variants
    fold_of = dict(zip(found.fit.doc_ids, found.fit.folds.tolist(), strict=True))
    uncertain = [*map(UncertainRecalibration, found.fit.recalibrations, found.fit.draws, found.fit.domain_effects)]
    for draw in range(2):
        each = [
            uncertain[fold_of[doc_id]].sampled("domain", 2, domain=domains[doc_id])[draw]
            for doc_id in study.table.doc_ids
        ]
        expected = study.table.probabilities(each, n_samples=200, first_sample=50 + 200 * draw)
        np.testing.assert_array_equal(found.draws[draw], expected)


def test_studies_that_cannot_be_are_rejected() -> None:
    for given, parameter, options in (
        ([], "documents", {}),
        (documents()[:3], "objective", {"objectives": ("guess",)}),
        (documents()[:3], "n_folds", {"n_folds": 4, "objectives": ("likelihood",)}),
        (documents()[:3], "n_samples", {"n_samples": 1}),
    ):
        with error(ParameterError, parameter):
            study_queries(given, **{"n_resamples": 0, **options})  # type: ignore[arg-type]


# --- the report ---------------------------------------------------------------------------------------------

QUICK = CalibrateQueriesOptions(objectives=("likelihood",), n_folds=2, n_samples=10, n_resamples=2)


def test_a_report_writes_a_folder_and_returns_its_result(tmp_path: Path) -> None:
    source = er.write_lines(tmp_path / "stories.jsonl", lines())
    report = run_calibrate_queries(source, dataclasses.replace(QUICK, out=tmp_path / "out"))
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {*(QueriesFolder.FILES - {QueriesFolder.RECORD, "quarantine.jsonl"}), "query_report.json"}
    record = json.loads((tmp_path / "out" / "query_report.json").read_text())
    assert record["summary"] == json.loads(json.dumps(report.to_json()))
    assert record["summary"]["n_documents"] == 24
    assert record["inputs"][0]["sha256"]
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "out" / "query_coverage.csv"), report.study.coverage())
    pairs = pd.read_parquet(tmp_path / "out" / "query_pairs.parquet")
    assert len(pairs) == report.study.table.n_pairs
    reliability = pd.read_csv(tmp_path / "out" / "query_reliability.csv")
    assert set(reliability.groupby("variant")["n"].sum()) == {len(pairs)}


def test_a_bad_document_stops_a_report_or_is_set_aside(tmp_path: Path) -> None:
    bad = lines()[0] | {"doc_id": "bad", "tokens": None}
    bare = {name: value for name, value in lines()[1].items() if name != "gold"} | {"doc_id": "bare", "tokens": None}
    source = er.write_lines(tmp_path / "stories.jsonl", [*lines(), bad, bare])
    with error(InputError, place=f"{source}: line 25: doc_id 'bad'"):
        run_calibrate_queries(source, dataclasses.replace(QUICK, out=tmp_path / "out"))
    assert not (tmp_path / "out").exists()
    report = run_calibrate_queries(
        source,
        dataclasses.replace(QUICK, on_error="quarantine", out=tmp_path / "out", pictures=False),
    )
    assert (report.n_documents, report.n_without_gold, report.n_quarantined) == (24, 1, 1)
    aside = [json.loads(line) for line in (tmp_path / "out" / "quarantine.jsonl").read_text().splitlines()]
    assert [each["doc_id"] for each in aside] == ["bad"]
