"""The calibration job: its folder, its figures, and its errors."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from expected_errors import error
from places import EN_CORE_WEB_SM, EN_GUM_UD, GUM_SCORED

from corefsample import (
    AntecedentDistribution,
    InputError,
    ParameterError,
    ScoredDocument,
    link_tables,
    write_documents,
)
from corefsample.links import calibrate_links
from events.commands._results import CalibrationFolder
from events.commands.calibrate import CalibrateOptions, run_calibrate
from events.commands.calibrate_parses import CalibrateParsesOptions, run_calibrate_parses

OPTIONS = CalibrateOptions(bin_size=50, n_resamples=100)


def documents(*, gold: bool = True, scale: float = 1.0) -> Iterator[ScoredDocument]:
    rng = np.random.default_rng(2)
    mentions = np.array([[i, i + 1, i] for i in range(8)])
    rows = [list(range(i)) for i in range(8)]
    for d in range(12):
        distribution = AntecedentDistribution.from_lists(
            rows, [(scale * rng.normal(0, 1, i)).tolist() for i in range(8)]
        )
        entities = rng.integers(0, 3, 8).tolist()
        yield ScoredDocument(f"d{d}", mentions, distribution, gold=entities if gold else None)


@pytest.fixture
def scored(tmp_path: Path) -> Path:
    path = tmp_path / "scored.jsonl"
    write_documents(documents(), path)
    return path


def test_the_folder_has_the_values_of_the_result(scored: Path, tmp_path: Path) -> None:
    run = run_calibrate(scored, dataclasses.replace(OPTIONS, out=tmp_path / "out"))
    expected = calibrate_links(link_tables(documents()), bin_size=50, n_resamples=100)
    pd.testing.assert_frame_equal(run.calibration.to_frame(), expected.to_frame())
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
    assert run_calibrate(scored, OPTIONS).out is None
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
    assert aside.n_quarantined == 1
    assert (tmp_path / "out" / "quarantine.jsonl").exists()
    pd.testing.assert_frame_equal(aside.calibration.to_frame(), good.calibration.to_frame())


def test_documents_without_gold_are_counted_and_none_with_it_is_bad_input(scored: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.jsonl"
    rest = (
        ScoredDocument(f"x{i}", document.mentions, document.antecedents)
        for i, document in enumerate(documents(gold=False))
    )
    write_documents(rest, other)
    assert run_calibrate([scored, other], OPTIONS).calibration.tables.n_without_gold == 12
    with pytest.raises(InputError, match="gold is required to calibrate, got none in 12 documents"):
        run_calibrate(other, OPTIONS)


@pytest.mark.skipif(not GUM_SCORED.exists(), reason="the GUM file is not there")
def test_the_real_file_has_about_the_known_error() -> None:
    # 9,635,560 pairs, 3.15% coreferent; sorting all of them by plain NumPy gave a CalibErr of 0.0126.
    overall = run_calibrate(GUM_SCORED, CalibrateOptions(n_resamples=20)).calibration.overall
    assert overall.curve.bins.n_pairs == 9_635_560
    assert overall.share_true == pytest.approx(0.0315, abs=5e-5)
    assert overall.error == pytest.approx(0.0126, abs=2e-4)


# --- parses of a treebank ----------------------------------------------------------------------------------


DOCUMENT = """# newdoc id = {name}
# sent_id = {name}1
1	The	the	DET	DT	_	2	det	_	_
2	president	president	NOUN	NN	_	3	nsubj	_	_
3	met	meet	VERB	VBD	_	0	root	_	_
4	her	her	PRON	PRP$	_	5	nmod:poss	_	_
5	troops	troop	NOUN	NNS	_	3	obj	_	_
6	near	near	ADP	IN	_	9	case	_	_
7	the	the	DET	DT	_	9	det	_	_
8	old	old	ADJ	JJ	_	9	amod	_	_
9	{noun}	{noun}	NOUN	NN	_	3	obl	_	SpaceAfter=No
10	.	.	PUNCT	.	_	3	punct	_	_

"""


def pipeline_at(path: Path) -> str:
    if not path.exists():
        pytest.skip(f"{path.name} is not there")
    return str(path)


@pytest.fixture
def treebank(tmp_path: Path) -> Path:
    path = tmp_path / "treebank.conllu"
    nouns = {"a": "border", "b": "bridge", "c": "village"}
    path.write_text("".join(DOCUMENT.format(name=name, noun=noun) for name, noun in nouns.items()))
    return path


def parse_options(path: Path, **more: object) -> CalibrateParsesOptions:
    return CalibrateParsesOptions(pipeline=pipeline_at(path), n_samples=10, n_resamples=20, **more)  # type: ignore[arg-type]


def test_a_temperature_is_fitted_to_the_other_half(treebank: Path, tmp_path: Path) -> None:
    steps: list[tuple[int, int, int]] = []
    out = tmp_path / "out"
    chosen = parse_options(EN_GUM_UD, temperatures=(0.8, 1.5, 3.0), out=out)
    run = run_calibrate_parses(treebank, chosen, on_progress=lambda *step: steps.append(step))
    assert len(run.temperatures) == 2  # one for each half
    assert run.schemes == ("ud2", "ud2")
    assert (run.n_documents, run.n_words) == (3, 30)
    assert steps[-1] == (12, 12, 12)  # three documents at three temperatures, and once more
    table = pd.read_csv(out / "parse_calibration.csv")
    assert {"arcs", "labelled arcs", "paths of 1 arc", "paths of 2 arcs", "roles"} <= set(table["property"])
    record = json.loads((out / "parse_calibration.json").read_text())
    assert record["summary"]["n_words"] == 30
    with pytest.raises(ParameterError, match="out must be a new or empty folder"):
        run_calibrate_parses(treebank, chosen)


def test_other_documents_can_fit_the_temperature(treebank: Path) -> None:
    run = run_calibrate_parses(treebank, parse_options(EN_GUM_UD, temperatures=(0.8, 1.5, 3.0), fit=(str(treebank),)))
    assert run.temperatures == (run.fit.temperature,)


def test_a_pipeline_of_another_scheme_is_measured_by_roles(treebank: Path) -> None:
    run = run_calibrate_parses(treebank, parse_options(EN_CORE_WEB_SM, temperature=1.0, sentences="gold"))
    assert run.schemes == ("ud2", "clearnlp")
    assert run.fit is None
    assert {each.name for each in run.calibration.properties} <= {"roles", "role paths"}
    # Plain sentences, so that nearly all roles of the usual parse are right in both notations.
    assert run.calibration["roles"].share_found > 0.9


def test_bad_input_is_one_line(treebank: Path, tmp_path: Path) -> None:
    with error(ParameterError, "fit"):
        parse_options(EN_GUM_UD, temperature=1.0, fit=(str(treebank),))
    single = tmp_path / "single.conllu"
    single.write_text(DOCUMENT.format(name="a", noun="border"))
    with pytest.raises(InputError, match="must have at least 2 documents, got 1"):
        run_calibrate_parses(single, parse_options(EN_GUM_UD))
