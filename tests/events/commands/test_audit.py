"""The commands of the audit, on a run of hand-made documents and on a CSV file of scores."""

import json
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from events_audit_made import fill
from expected_errors import error
from references import events as er
from run_cases import CountOptions, count_events

from corefsample import InputError, ParameterError
from corefsample.files._reading import sealed, sha256
from events.audit import read_sheets, regress_counts
from events.audit._audit_frame import read_run_documents, read_scores
from events.audit._plan_files import read_plan
from events.commands import AuditEstimateOptions, AuditPlanOptions, run_audit_estimate, run_audit_plan
from events.commands.audit_learn import AuditLearnOptions, run_audit_learn
from events.pages._labels import read_audit, read_learned
from events.pages._report_content import read_report
from events.rule_error._model import read_reference


def counted(folder: Path, **options: Any) -> Path:
    rounds = [{**each, "doc_id": f"{each['doc_id']} of {n}"} for n in range(3) for each in er.corpus()]
    corpus = er.write_lines(folder / "corpus.jsonl", rounds)
    count_events(corpus, folder / "run", CountOptions(**options))
    return folder / "run"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return counted(tmp_path_factory.mktemp("audit"), n_samples=100)


@pytest.fixture
def scores(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    dates = np.datetime64("2000-01-01") + rng.integers(0, 700, 200)
    p = np.where(rng.random(200) < 0.7, 0, rng.random(200)).round(2)
    columns = {"doc_id": [f"s{i}" for i in range(200)], "date": dates, "probability": p}
    table = pd.DataFrame({**columns, "topic": np.where(p > 0.3, "war", "other"), "text": "some text"})
    table.to_csv(tmp_path / "scores.csv", index=False)
    return tmp_path / "scores.csv"


def test_a_plan_of_a_run_has_the_texts_of_its_documents(run: Path, tmp_path: Path) -> None:
    summary = run_audit_plan(run, AuditPlanOptions(out=tmp_path / "audit", n_labels=20))
    assert (summary["n_documents"], summary["n_drawn"], summary["n_without_text"]) == (30, 20, 0)
    sheet = pd.read_csv(summary["sheet"])
    # The spaces between words and punctuation are those of print, not of the tokens.
    words = {f"{each['doc_id']} of {n}": "".join(each["tokens"]["text"]) for n in range(3) for each in er.corpus()}
    assert ["".join(text.split()) for text in sheet["text"]] == [words[doc_id] for doc_id in sheet["doc_id"]]
    plan = read_plan(tmp_path / "audit", run)
    assert plan.identity == summary["plan"]
    assert plan.frame.doc_ids[plan.sample].tolist() == sheet["doc_id"].tolist()


def test_a_run_gives_the_event_of_any_actor_or_its_actors(run: Path) -> None:
    some, actors = read_run_documents(run), read_run_documents(run, ["all"])
    assert (some.targets, actors.targets) == (("attack",), ("IRQ", "KWT", "USA"))
    highest, total = actors.highest(), sum(actors.probability(t) for t in range(3))
    assert ((highest <= some.probability(0) + 1e-12) & (some.probability(0) <= total + 1e-12)).all()
    with pytest.raises(ParameterError, match=r"did you mean IRQ \(Iraq\)\?") as caught:
        read_run_documents(run, ["Iraqi"])
    assert caught.value.parameter == "actors"


def test_an_audit_from_plan_to_tables(run: Path, tmp_path: Path) -> None:
    folder = tmp_path / "audit"
    first = run_audit_plan(run, AuditPlanOptions(out=folder, n_labels=20))
    second = run_audit_plan(run, AuditPlanOptions(out=folder, more=4))
    assert (first["plan"], second["n_drawn"], second["n_new"]) == (second["plan"], 24, 4)
    summary = run_audit_estimate(run, [fill(each["sheet"], "yes") for each in (first, second)])
    assert {"audited.csv", "audited-model.csv", "disagreements.csv", "audited.png"} <= set(summary["files"])
    table = pd.read_csv(folder / "audited.csv", keep_default_na=False)
    assert table["period"].tolist()[0] == "total"
    assert table.loc[0, ["n_docs", "n_labelled", "n_positive", "upper"]].tolist() == [30, 24, 24, 30]
    assert table["period"].tolist()[1:] == [
        f"{y}Q{q}" for y, q in ((1999, 1), (1999, 2), (1999, 3), (1999, 4), (2000, 1), (2000, 2))
    ]
    record = json.loads((folder / "audited.json").read_text())
    assert record["summary"]["plan"] == first["plan"]
    assert "6 documents left to label." in list(summary.shown)
    table.to_csv(own := tmp_path / "own.csv", index=False)
    with error(InputError, place=str(own)):
        run_audit_estimate(run, [first["sheet"]], AuditEstimateOptions(rounds=1, prior=str(own)))
    of_audit = folder / "audited-reference.csv"
    with error(ParameterError, parameter="prior"):  # the labels would count twice
        run_audit_estimate(run, [first["sheet"]], AuditEstimateOptions(rounds=1, prior=str(of_audit)))
    other = run_audit_plan(run, AuditPlanOptions(out=tmp_path / "other", n_labels=20, seed=1))
    run_audit_estimate(run, [fill(other["sheet"], "yes")], AuditEstimateOptions(pictures=False, prior=str(of_audit)))
    inputs = json.loads((tmp_path / "other" / "audited.json").read_text())["inputs"]
    assert [(each["path"], each["sha256"]) for each in inputs[1:]] == [(str(of_audit), sha256(of_audit))]
    assert "95% model band (coreference and triggers)" in (folder / "audited.svg").read_text(encoding="utf-8")
    wrong = pd.read_csv(folder / "disagreements.csv")
    assert (wrong["label"] == "yes").all()
    assert wrong["probability"].is_monotonic_increasing
    assert wrong["text"].str.len().gt(0).all()


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two rules."""
    return counted(tmp_path_factory.mktemp("several"), n_samples=50, rule=("attack", "conflict"))


def test_several_rules_are_audited_from_plan_to_report(several: Path, tmp_path: Path) -> None:
    plan = run_audit_plan(several, AuditPlanOptions(out=tmp_path, n_labels=25))
    assert read_plan(tmp_path, several).frame.label_kind == "events"
    fill(plan["sheet"], ["attack", "none", "attack;conflict", "conflict?", *["none"] * 21])
    summary = run_audit_estimate(several, [plan["sheet"]])
    assert [(row["event"], row["actor"], row["n_positive"]) for row in summary["totals"]] == [
        ("attack", "", 2),
        ("conflict", "", 1),
    ]
    assert [row["n_unsure"] for row in summary["totals"]] == [0, 1]
    report = read_report(several, audit=tmp_path)
    assert [target["name"] for target in report.audit.targets] == ["attack, any actor", "conflict, any actor"]
    both, unsure = pd.read_csv(plan["sheet"])["doc_id"][2:4]
    rows = ("attack", "USA"), ("conflict", "IRQ"), ("arrest", "USA")
    assert [report.audit.target_of(*row) for row in rows] == ["attack", "conflict", ""]
    assert report.audit.answers[both] == {"attack": "yes", "conflict": "yes"}
    assert report.audit.answers[unsure] == {"attack": "no", "conflict": "unsure"}


def test_actors_of_several_rules_are_named_with_their_rule(several: Path, tmp_path: Path) -> None:
    names = read_run_documents(several, ("all",)).targets
    assert all(name.startswith(("attack: ", "conflict: ")) for name in names)
    plan = run_audit_plan(several, AuditPlanOptions(out=tmp_path, n_labels=25, actors=names[:2]))
    fill(plan["sheet"], [names[1], *["none"] * 24])
    summary = run_audit_estimate(several, [plan["sheet"]], AuditEstimateOptions(pictures=False))
    found = [(f"{row['event']}: {row['actor']}", row["n_positive"]) for row in summary["totals"]]
    assert found == [(names[0], 0), (names[1], 1)]
    with pytest.raises(ParameterError) as caught:
        read_run_documents(several, (names[0].removeprefix("attack: "),))
    assert f"name the rule too: {names[0]!r}" in str(caught.value.hint)


def test_columns_of_the_articles_divide_strata_and_name_units(tmp_path: Path) -> None:
    rows = [{**each, "doc_id": f"{each['doc_id']} {k}", "outlet": k} for k in "AB" for each in er.corpus()]
    count_events(er.write_lines(tmp_path / "corpus.jsonl", rows), tmp_path / "run", CountOptions(n_samples=20))
    frame = read_run_documents(tmp_path / "run")
    assert frame.properties["outlet"].tolist() == [doc_id[-1] for doc_id in frame.doc_ids]
    plan = run_audit_plan(tmp_path / "run", AuditPlanOptions(out=tmp_path / "audit", n_labels=20, column="outlet"))
    assert {name["name"].rpartition(", ")[2] for name in plan["strata"]} == {"A", "B"}
    labels = read_sheets(plan.result, [fill(plan["sheet"], ["yes", "no"] * 10)])
    units = pd.DataFrame({"outlet": ["A", "B"] * 3, "period": np.repeat(["1999Q1", "1999Q2", "1999Q3"], 2)})
    result = regress_counts(plan.result, labels, units.assign(x=[0.0, 1.0, 3.0, 2.0, 5.0, 1.0]))
    in_units = [frame.dates.astype("datetime64[M]") < np.datetime64("1999-10"), frame.properties["outlet"] == "A"]
    assert result.units["n_docs"][::2].sum() == np.logical_and(*in_units).sum()


def test_question_and_codebook_can_be_changed_and_stay_in_later_rounds(run: Path, tmp_path: Path) -> None:
    own = partial(AuditPlanOptions, question="Who did it?", codebook="Raids count.")
    first = run_audit_plan(run, own(out=tmp_path, n_labels=20))
    later = run_audit_plan(run, AuditPlanOptions(out=tmp_path, more=2))
    for plan in (first, later):
        assert (plan["question"], *plan["codebook"]) == ("Who did it?", "Raids count.")
    emptied = run_audit_plan(run, AuditPlanOptions(out=tmp_path, n_labels=20, codebook="", overwrite=True))
    assert not emptied["codebook"]
    assert emptied["question"].startswith("Does the article say that an actor of the lexicon countries attacked")


def test_a_table_of_actors_has_a_row_for_each(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    path.write_text("doc_id,date,actor,probability\na,2000-01-01,USA,0.5\na,2000-01-01,NA,0.25\nb,2000-01-02,,0\n")
    frame = read_scores(path)
    assert frame.targets == ("NA", "USA")
    assert [frame.probability(t).tolist() for t in (0, 1)] == [[0.25, 0.0], [0.5, 0.0]]
    assert frame.label_kind == "actors"


def test_scores_are_read_as_news_tables_are(tmp_path: Path) -> None:
    """Semicolons, decimal commas, times with a zone, whose day is as written, and an empty row."""
    path = tmp_path / "scores.csv"
    path.write_text("doc_id;date;probability\na;2001-01-10T23:30:00Z;0,4\n;;\nb;2001-01-11 00:00:00+02:00;0,25\n")
    frame = read_scores(path)
    assert frame.probability(0).tolist() == [0.4, 0.25]
    assert frame.dates.astype(str).tolist() == ["2001-01-10", "2001-01-11"]
    path.write_text(path.read_text() + "c;2001-01-11;1,250\n")  # we cannot tell whether it is .00125 or 1.25
    with error(InputError, place="row 5"):
        read_scores(path)


@pytest.mark.parametrize(
    ("row", "field"),
    [
        ("a,2000-01-01,0.5", "doc_id"),
        (",2000-01-01,0.5", "doc_id"),
        ("b,2000-13-01,0.5", "date"),
        ("b,2000-01-01,1.5", "probability"),
        ("b,2000-01-01,", "probability"),
        ("b,2000-01-01,nan", "probability"),
    ],
)
def test_bad_scores_are_named(tmp_path: Path, row: str, field: str) -> None:
    path = tmp_path / "scores.csv"
    path.write_text(f"doc_id,date,probability\na,2000-01-01,0.5\n{row}\n")
    with error(InputError, place="row 3") as caught:
        read_scores(path)
    assert caught.value.message.startswith(field)


def test_a_plan_of_other_documents_is_refused(scores: Path, run: Path, tmp_path: Path) -> None:
    plan = run_audit_plan(scores, AuditPlanOptions(out=tmp_path / "audit", n_labels=40))
    sheet = fill(plan["sheet"])
    scores.write_text(scores.read_text().replace("some text", "other text"))
    for other in (run, scores):
        with pytest.raises(InputError, match="plan must be of these documents"):
            run_audit_estimate(other, [sheet])
    assert not (tmp_path / "audit" / "audited.csv").exists()


def test_edited_plans_are_refused(scores: Path, tmp_path: Path) -> None:
    folder = tmp_path / "audit"
    run_audit_plan(scores, AuditPlanOptions(out=folder, n_labels=40))
    content = json.loads((folder / "plan.json").read_text())
    for change in (
        {"seed": 5},
        {"rounds": [[1, 2, 3]]},
        {"strata": content["strata"][:1]},
        {"cuts": None},
        {"format": 1},
    ):
        (folder / "plan.json").write_text(json.dumps({**content, **change}))
        with error(InputError, place="plan.json"):
            read_plan(folder, scores)
        (folder / "plan.json").write_text(json.dumps(sealed({**content, **change})))
        if change != {"cuts": None}:  # of a plan that was written so, by another version
            with error(InputError, place="plan.json"):
                read_plan(folder, scores)
    with pytest.raises(InputError, match=r"folder must have a plan, plan.json, got none"):
        read_plan(tmp_path, scores)


def assert_flips_are_errors(path: Path, numbers: Callable[[], Any], n: int = 24) -> None:
    """Flip random bits of a file one by one: what reads it gives an error of one line, or the same numbers."""
    content, expected = path.read_bytes(), numbers()
    messages: list[str] = []
    for bit in np.random.default_rng(len(content)).integers(0, 8 * len(content), n).tolist():
        changed = bytearray(content)
        changed[bit // 8] ^= 1 << bit % 8
        path.write_bytes(changed)
        try:
            assert numbers() == expected
        except InputError as caught:
            messages.append(str(caught))
    path.write_bytes(content)
    assert len(messages) > n // 2
    assert not any("\n" in message for message in messages)


@pytest.fixture(scope="module")
def audited(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with its plan, learned probabilities and estimates."""
    folder = tmp_path_factory.mktemp("audited")
    shutil.copytree(run, folder / "run")
    plan = run_audit_plan(folder / "run", AuditPlanOptions(out=folder / "audit", n_labels=24, cuts=(0.5,)))
    sheets = [fill(plan["sheet"], ["yes", "no", "no"] * 8)]
    run_audit_learn(folder / "run", sheets, AuditLearnOptions(out=folder / "learned", pictures=False))
    options = AuditEstimateOptions(pictures=False, learned=str(folder / "learned"))
    run_audit_estimate(folder / "run", sheets, options)
    return folder


@pytest.mark.parametrize(
    "name",
    [
        *("audit/plan.json", "audit/strata.parquet"),
        *("learned/learned.csv", "learned/learned_counts.csv", "learned/learned.json"),
        *("audit/audited.csv", "audit/labels.csv", "audit/audited.json", "audit/audited-reference.csv"),
    ],
)
def test_a_flipped_bit_of_a_file_is_an_error_or_changes_no_number(
    run: Path, audited: Path, tmp_path: Path, name: str
) -> None:
    shutil.copytree(audited, tmp_path, dirs_exist_ok=True)
    sheets = [tmp_path / "audit" / "sheet.csv"]
    options = AuditEstimateOptions(pictures=False, learned=str(tmp_path / "learned"), out=str(tmp_path / "out"))
    doc_ids, record = read_run_documents(run).doc_ids.tolist(), json.loads((run / "run.json").read_text())

    def estimates() -> Any:
        if name.endswith("reference.csv"):
            return read_reference(tmp_path / name).to_csv()
        return [run_audit_estimate(tmp_path / "run", sheets, options)[each] for each in ("totals", "learned")]

    def of_report() -> Any:
        labels = [read_audit(tmp_path / "audit", doc_ids, record), read_learned(tmp_path / "learned", doc_ids, record)]
        return [(each.plan, each.targets, each.answers, each.learned) for each in labels]

    if name not in ("audit/audited.csv", "audit/labels.csv", "audit/audited.json"):
        assert_flips_are_errors(tmp_path / name, estimates)
    if name.endswith("reference.csv"):
        (tmp_path / name).write_text((tmp_path / name).read_text() + "\n")  # of no consequence to what reads it
        with error(InputError, place=str(tmp_path / name)):
            estimates()
    if not any(part in name for part in ("plan", "strata", "reference")):
        assert_flips_are_errors(tmp_path / name, of_report)


def test_strata_of_documents_outside_the_sample_are_those_of_the_plan(scores: Path, tmp_path: Path) -> None:
    """Two of them change their strata: the sizes of strata and the sample, and so the plan's identity, stay."""
    plan = run_audit_plan(scores, AuditPlanOptions(out=tmp_path / "audit", n_labels=40)).result
    path = tmp_path / "audit" / "strata.parquet"
    table = pd.read_parquet(path)
    outside = np.setdiff1d(np.arange(200), plan.sample)
    rows = [next(row for row in outside if plan.stratum_of[row] == h) for h in (0, 1)]
    table.loc[rows, "stratum"] = table["stratum"].to_numpy()[rows[::-1]]
    table.to_parquet(path, index=False)
    with error(InputError, place="strata.parquet"):
        read_plan(tmp_path / "audit", scores)


def test_the_next_command_names_the_sheets_of_all_rounds(scores: Path, tmp_path: Path) -> None:
    folder = tmp_path / "audit"
    first = run_audit_plan(scores, AuditPlanOptions(out=folder, n_labels=40))
    second = run_audit_plan(scores, AuditPlanOptions(out=folder, more=20))
    paths = [str(folder / name) for name in ("sheet.csv", "sheet-2.csv")]
    assert (first["sheets"], second["sheets"]) == (paths[:1], paths)
    assert second.files["Then"].split()[-2:] == paths
    for path in paths:
        fill(path, "yes")
    options = AuditEstimateOptions(pictures=False)
    for some in (paths[:1], paths[1:]):
        with error(InputError, place=some[0], hint="rounds"):
            run_audit_estimate(scores, some, options)
    one_round = AuditEstimateOptions(pictures=False, rounds=1)
    assert run_audit_estimate(scores, paths[:1], one_round)["n_labels"] == 40
    assert run_audit_estimate(scores, paths, options)["n_labels"] == 60
    with error(InputError, place="sheet-2.csv", hint="rounds"):
        run_audit_estimate(scores, paths, one_round)


def test_a_sheet_without_labels_is_an_error_that_names_the_page(scores: Path, tmp_path: Path) -> None:
    plan = run_audit_plan(scores, AuditPlanOptions(out=tmp_path / "audit", n_labels=40))
    with error(InputError, place="sheet.csv") as caught:
        run_audit_estimate(scores, [plan["sheet"]], AuditEstimateOptions(pictures=False))
    assert "sheet.html" in str(caught.value.hint)


def test_labels_where_p_is_zero_that_carry_most_of_a_total_are_named(scores: Path, tmp_path: Path) -> None:
    """One yes of the 100 documents with P = 0 and 10 labels stands for 10; it and the yes of P > 0 are the total."""
    plan = run_audit_plan(scores, AuditPlanOptions(out=tmp_path / "audit", n_labels=60, cuts=(0.5,)))
    zero = plan["strata"][0]
    of_zero = pd.read_csv(plan["sheet"]).query("stratum == 1")["doc_id"].tolist()
    carried = zero["n_documents"] / zero["n_sampled"]
    for n_yes, expected in ((1, [1]), (0, [])):
        fill(plan["sheet"], lambda doc_id, n=n_yes: "yes" if doc_id in of_zero[:n] else "no")
        summary = run_audit_estimate(scores, [plan["sheet"]], AuditEstimateOptions(pictures=False))
        assert [row["n_labels"] for row in summary["carrying"]] == expected
        assert any("second person" in str(line) for line in summary.shown) == bool(expected)
        for row in summary["carrying"]:
            assert row["n_documents"] == pytest.approx(carried)
            assert row["total"] == pytest.approx(summary["totals"][0]["estimate"])


def test_a_far_date_and_undated_articles_leave_a_picture(scores: Path, tmp_path: Path) -> None:
    """As a run with undated articles has them: their rows of learned_counts.csv have no first day."""
    rows = [{**each, "doc_id": f"{each['doc_id']} {n}"} for n in range(6) for each in er.corpus()]
    rows[0]["date"] = "1911-05-01"
    for each in rows[1:4]:
        del each["date"]
    count_events(
        er.write_lines(tmp_path / "c.jsonl", rows), tmp_path / "run", CountOptions(n_samples=20, undated="keep")
    )
    plan = run_audit_plan(tmp_path / "run", AuditPlanOptions(out=tmp_path / "audit", n_labels=30))
    sheets = [fill(plan["sheet"], ["yes", "no", "no"] * 10)]
    run_audit_learn(tmp_path / "run", sheets, AuditLearnOptions(out=tmp_path / "learned"))
    assert (tmp_path / "learned" / "learned.png").is_file()
    summary = run_audit_estimate(tmp_path / "run", sheets, AuditEstimateOptions(learned=str(tmp_path / "learned")))
    assert {"audited.png", "audited.svg"} <= set(summary["files"])
    text = (tmp_path / "audit" / "audited.svg").read_text(encoding="utf-8")
    assert "95% learned" in text
    assert "1911" not in text


def test_an_earlier_plan_is_replaced_only_if_asked(scores: Path, tmp_path: Path) -> None:
    options = partial(AuditPlanOptions, n_labels=40)
    run_audit_plan(scores, options(out=tmp_path / "audit"))
    with error(ParameterError, "out", hint="overwrite"):
        run_audit_plan(scores, options(out=tmp_path / "audit"))
    run_audit_plan(scores, options(out=tmp_path / "audit", overwrite=True))
    with error(ParameterError, "out"):
        run_audit_plan(scores, options(out=tmp_path, overwrite=True))


# --- learning from labels ---------------------------------------------------------------------------------


@pytest.fixture
def labelled(run: Path, tmp_path: Path) -> Path:
    """A plan of 24 documents of the run, of which every third has the event, whatever P says."""
    plan = run_audit_plan(run, AuditPlanOptions(out=tmp_path / "audit", n_labels=24))
    fill(plan["sheet"], ["yes", "no", "no"] * 8)
    return tmp_path / "audit"


def learned(run: Path, audit: Path, **options: Any) -> Path:
    folder = audit.parent / "learned"
    run_audit_learn(run, [audit / "sheet.csv"], AuditLearnOptions(out=folder, **options))
    return folder


def test_what_was_learned_is_a_row_for_each_document_and_period(run: Path, labelled: Path) -> None:
    folder = learned(run, labelled, pictures=True)
    table = pd.read_csv(folder / "learned.csv", keep_default_na=False)
    frame = read_run_documents(run)
    assert table["doc_id"].tolist() == frame.doc_ids.tolist()
    np.testing.assert_allclose(table["probability"], frame.probability(0))
    sheet = pd.read_csv(labelled / "sheet.csv").set_index("doc_id")["label"]
    assert table.set_index("doc_id")["label"].replace("", np.nan).dropna().to_dict() == sheet.to_dict()
    counts = pd.read_csv(folder / "learned_counts.csv", keep_default_na=False)
    assert counts["period"].tolist() == ["total", *sorted(set(counts["period"]) - {"total"})]
    assert counts.loc[0, ["n_docs", "n_labels"]].tolist() == [30, 24]
    assert (counts["n_docs"][1:].sum(), counts["n_labels"][1:].sum()) == (30, 24)
    assert counts["mean"][1:].sum() == pytest.approx(counts["mean"][0])
    record = json.loads((folder / "learned.json").read_text())
    (target,) = record["targets"]
    assert (target["n_labels"], target["n_positive"]) == (24, 8)
    assert target["model"] in {each["model"] for each in target["candidates"]}
    assert (folder / "learned.png").is_file()


def test_other_totals_stand_beside_the_valid_estimate(run: Path, labelled: Path) -> None:
    sheets, learned_folder = [labelled / "sheet.csv"], str(learned(run, labelled, pictures=False))
    valid = run_audit_estimate(run, sheets, AuditEstimateOptions(pictures=False, prior="none"))
    assert not valid["learned"]
    for assumption, options in (
        ("learned P", AuditEstimateOptions(learned=learned_folder, prior="none")),
        ("reference class", AuditEstimateOptions(pictures=False)),
    ):
        both = run_audit_estimate(run, sheets, options)
        assert both["totals"] == valid["totals"]
        (row,) = both["learned"]
        assert (row["assumption"], row["n_labelled"], row["n_positive"]) == (assumption, 24, 8)
        assert 8 <= row["lower"] <= row["estimate"] <= row["upper"] <= 14
        assert pd.read_csv(labelled / "audited-learned.csv")["upper"].tolist() == [row["upper"]]
    legend = (labelled / "audited.svg").read_text(encoding="utf-8")
    assert all(band in legend for band in ("95% audited", "95% learned"))  # both bands in one picture
    run_audit_estimate(run, sheets, AuditEstimateOptions(pictures=False, prior="none"))
    assert not (labelled / "audited-learned.csv").exists()
    assert set(read_reference(audits=[labelled])["corpus"]) >= {"audit", "muc"}


def test_learned_p_must_be_of_the_plan(run: Path, labelled: Path, tmp_path: Path) -> None:
    folder = learned(run, labelled, pictures=False)
    with error(ParameterError, "out"):
        learned(run, labelled)
    other = run_audit_plan(run, AuditPlanOptions(out=tmp_path / "other", n_labels=20))
    options = AuditEstimateOptions(learned=str(folder), pictures=False)
    with error(InputError, place="learned.json"):
        run_audit_estimate(run, [fill(other["sheet"])], options)
    with error(InputError, place="none.csv"):
        run_audit_estimate(run, [tmp_path / "none.csv"], AuditEstimateOptions(pictures=False))
    with error(InputError):
        run_audit_estimate(run, [labelled / "sheet.csv"], AuditEstimateOptions(learned=str(tmp_path / "none")))


def test_columns_of_a_table_are_features_of_scores(scores: Path, tmp_path: Path) -> None:
    truth = np.arange(200) % 4 == 0
    doc_ids = [f"s{i}" for i in range(200)]
    pd.DataFrame({"doc_id": doc_ids, "other": truth * 1.0}).to_csv(tmp_path / "t.csv", index=False)
    plan = run_audit_plan(scores, AuditPlanOptions(out=tmp_path / "audit", n_labels=60))
    fill(plan["sheet"], dict(zip(doc_ids, np.where(truth, "yes", "no"), strict=True)).__getitem__)
    options = AuditLearnOptions(out=str(tmp_path / "learned"), pictures=False, table=str(tmp_path / "t.csv"))
    assert run_audit_learn(scores, [plan["sheet"]], options)["targets"][0]["model"] == "regression"
    rows = pd.read_csv(tmp_path / "learned" / "learned.csv")
    assert rows["learned"][truth].min() > rows["learned"][~truth].max()


def test_other_models_of_a_table_stay_with_the_plan(scores: Path, tmp_path: Path) -> None:
    """The column of the coder says yes and no, and is always right."""
    is_positive = {f"s{i}": i % 5 == 0 for i in range(200)}
    answers = ["Yes" if yes else "no" for yes in is_positive.values()]
    pd.DataFrame({"doc_id": list(is_positive), "coder": answers}).to_csv(tmp_path / "t.csv", index=False)
    options = partial(AuditPlanOptions, n_labels=100)
    proxies: dict[str, Any] = {"proxies": ("coder",), "table": str(tmp_path / "t.csv")}
    for name, of_plan, later in (("with", proxies, {}), ("without", {}, proxies)):
        plan = run_audit_plan(scores, options(out=tmp_path / name, **of_plan))
        fill(plan["sheet"], lambda doc_id: "yes" if is_positive[doc_id] else "no")
        summary = run_audit_estimate(scores, [plan["sheet"]], AuditEstimateOptions(pictures=False, **later))
        (total,) = summary["learned"]
        assert (total["assumption"], total["n_labelled"], round(total["estimate"], 9)) == ("proxies", 100, 40)
    with error(ParameterError, "column"):
        run_audit_plan(scores, options(out=tmp_path / "bad", column="outlet"))


# --- pages -------------------------------------------------------------------------------------------------


def test_disagreements_have_a_page_until_they_are_resolved(run: Path, tmp_path: Path) -> None:
    audit = tmp_path / "audit"
    run_audit_plan(run, AuditPlanOptions(out=audit, n_labels=15, floor=2))
    sheet = pd.read_csv(audit / "sheet.csv", keep_default_na=False)
    sheet.assign(label="yes", labeller="anna").to_csv(audit / "anna.csv", index=False)
    sheet.assign(label=["no", *["yes"] * 14], labeller="ben").to_csv(audit / "ben.csv", index=False)
    sheets = [audit / "anna.csv", audit / "ben.csv"]
    summary = run_audit_estimate(run, sheets, AuditEstimateOptions(pictures=False))
    assert {"sheet-resolve.csv", "sheet-resolve.html"} <= set(summary["files"])
    resolve = pd.read_csv(audit / "sheet-resolve.csv", keep_default_na=False)
    assert resolve["note"].tolist() == ["anna: yes; ben: no"]
    assert "anna: yes; ben: no" in (audit / "sheet-resolve.html").read_text(encoding="utf-8")
    resolve.assign(label="no").to_csv(audit / "sheet-resolve.csv", index=False)
    run_audit_estimate(run, [*sheets, audit / "sheet-resolve.csv"], AuditEstimateOptions(pictures=False))
    assert pd.read_csv(audit / "sheet-resolve.csv")["label"].tolist() == ["no"]
    labels = pd.read_csv(audit / "labels.csv", keep_default_na=False)
    assert labels["label"].tolist() == ["no", *["yes"] * 14]
    assert labels["doc_id"].tolist() == sheet["doc_id"].tolist()
