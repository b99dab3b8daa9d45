"""The job and command calibrate-parses, on a treebank of three short documents written for it."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from expected_errors import error
from places import EN_CORE_WEB_SM, EN_GUM_UD

from corefsample.errors import InputError, ParameterError
from corefsample.formats.annotated._corefud import read_corefud
from events.commands import CalibrateParsesOptions, run_calibrate_parses
from events.commands._parse_sampling import TreebankDocument

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


def pipeline(path: Path) -> str:
    if not path.exists():
        pytest.skip(f"{path.name} is not there")
    return str(path)


@pytest.fixture
def treebank(tmp_path: Path) -> Path:
    path = tmp_path / "treebank.conllu"
    nouns = {"a": "border", "b": "bridge", "c": "village"}
    path.write_text("".join(DOCUMENT.format(name=name, noun=noun) for name, noun in nouns.items()))
    return path


def options(path: Path, **more: object) -> CalibrateParsesOptions:
    return CalibrateParsesOptions(pipeline=pipeline(path), n_samples=10, n_resamples=20, **more)  # type: ignore[arg-type]


def test_a_temperature_is_fitted_to_the_other_half(treebank: Path, tmp_path: Path) -> None:
    steps: list[tuple[int, int, int]] = []
    out = tmp_path / "out"
    chosen = options(EN_GUM_UD, temperatures=(0.8, 1.5, 3.0), out=out)
    run = run_calibrate_parses(treebank, chosen, on_progress=lambda *step: steps.append(step))
    assert run.fit is not None
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
    run = run_calibrate_parses(treebank, options(EN_GUM_UD, temperatures=(0.8, 1.5, 3.0), fit=(str(treebank),)))
    assert run.fit is not None
    assert run.temperatures == (run.fit.temperature,)


def test_a_pipeline_of_another_scheme_is_measured_by_roles(treebank: Path) -> None:
    run = run_calibrate_parses(treebank, options(EN_CORE_WEB_SM, temperature=1.0, sentences="gold"))
    assert run.schemes == ("ud2", "clearnlp")
    assert run.fit is None
    assert {each.name for each in run.calibration.properties} <= {"roles", "role paths"}
    # Plain sentences, so that nearly all roles of the usual parse are right in both notations.
    assert run.calibration["roles"].share_found > 0.9


def test_the_beginning_of_a_document_has_whole_sentences(tmp_path: Path) -> None:
    path = tmp_path / "treebank.conllu"
    second = DOCUMENT.format(name="a", noun="border").partition("\n")[2].replace("a1", "a2")
    path.write_text(DOCUMENT.format(name="a", noun="border") + second)
    (document,) = read_corefud(path)
    lengths = [len(TreebankDocument.of(document, n_words).tokens) for n_words in (1, 10, 19, 20, None)]
    assert lengths == [10, 10, 10, 20, 20]


def test_bad_input_is_one_line(treebank: Path, tmp_path: Path) -> None:
    with error(ParameterError, "fit"):
        options(EN_GUM_UD, temperature=1.0, fit=(str(treebank),))
    single = tmp_path / "single.conllu"
    single.write_text(DOCUMENT.format(name="a", noun="border"))
    with pytest.raises(InputError, match="must have at least 2 documents, got 1"):
        run_calibrate_parses(single, options(EN_GUM_UD))
