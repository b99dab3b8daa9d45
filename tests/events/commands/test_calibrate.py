"""The calibration job: its folder, its figures, and its errors."""

import dataclasses
import json
from pathlib import Path

import pandas as pd
import pytest
from places import GUM_SCORED
from references import events as er, recalibration as rr

from corefsample import InputError, ScoredDocument, link_tables, write_documents
from corefsample.links import calibrate_links
from events.commands.calibrate import CalibrateOptions, run_calibrate
from events.runs._outputs import CalibrationFolder

OPTIONS = CalibrateOptions(bin_size=50, n_resamples=100)


def documents() -> list[ScoredDocument]:
    return [*map(er.scored, rr.story_corpus(12, 8, seed=2))]


@pytest.fixture
def scored(tmp_path: Path) -> Path:
    path = tmp_path / "scored.jsonl"
    write_documents(documents(), path)
    return path


def test_the_folder_has_the_values_of_the_result(scored: Path, tmp_path: Path) -> None:
    run = run_calibrate(scored, dataclasses.replace(OPTIONS, out=tmp_path / "out"))
    expected = calibrate_links(link_tables(documents()), bin_size=50, n_resamples=100)
    pd.testing.assert_frame_equal(run.result.to_frame(), expected.to_frame())
    table = pd.read_csv(tmp_path / "out" / "calibration.csv")
    assert table["error"].tolist() == pytest.approx(expected.to_frame()["error"].tolist())
    assert len(pd.read_parquet(tmp_path / "out" / "calibration.parquet")) == len(table)
    assert len(pd.read_csv(tmp_path / "out" / "reliability.csv")) == table["n_bins"].sum()
    record = json.loads((tmp_path / "out" / "calibration.json").read_text(encoding="utf-8"))
    assert record["summary"]["n_documents"] == 12
    assert record["arguments"]["bin_size"] == 50
    names = {entry.name for entry in (tmp_path / "out").iterdir()}
    assert names < CalibrationFolder.FILES
    assert {"reliability.png", "reliability.svg"} < names


def test_nothing_is_written_without_a_folder(scored: Path, tmp_path: Path) -> None:
    assert run_calibrate(scored, OPTIONS)["out"] is None
    assert [entry.name for entry in tmp_path.iterdir()] == ["scored.jsonl"]


def test_bad_documents_are_set_aside_and_change_nothing(scored: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.jsonl"
    lines = scored.read_text(encoding="utf-8").splitlines()
    bad.write_text("\n".join(["{", *lines]) + "\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"bad\.jsonl: line 1"):
        run_calibrate(bad, dataclasses.replace(OPTIONS, out=tmp_path / "out"))
    assert not (tmp_path / "out").exists()
    aside = run_calibrate(
        bad, CalibrateOptions(out=tmp_path / "out", bin_size=50, n_resamples=100, on_error="quarantine")
    )
    good = run_calibrate(scored, OPTIONS)
    assert aside["n_quarantined"] == 1
    assert (tmp_path / "out" / "quarantine.jsonl").exists()
    pd.testing.assert_frame_equal(aside.result.to_frame(), good.result.to_frame())


def test_documents_without_gold_are_counted_and_none_with_it_is_bad_input(scored: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.jsonl"
    write_documents((dataclasses.replace(each, doc_id=f"x {each.doc_id}", gold=None) for each in documents()), other)
    assert run_calibrate([scored, other], OPTIONS)["n_without_gold"] == 12
    with pytest.raises(InputError, match="gold is required to calibrate, got none in 12 documents"):
        run_calibrate(other, OPTIONS)


@pytest.mark.skipif(not GUM_SCORED.exists(), reason="the GUM file is not there")
def test_the_real_file_has_about_the_known_error() -> None:
    # 9,635,560 pairs, 3.15% coreferent; sorting all of them by plain NumPy gave a CalibErr of 0.0126.
    overall = run_calibrate(GUM_SCORED, CalibrateOptions(n_resamples=20)).result.overall
    assert overall.curve.bins.n_pairs == 9_635_560
    assert overall.share_true == pytest.approx(0.0315, abs=5e-5)
    assert overall.error == pytest.approx(0.0126, abs=2e-4)
