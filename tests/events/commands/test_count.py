"""Counting a finished run again: as the run counted, by groups, and with outcomes that the run did not have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from command_line import Calls
from expected_errors import error
from references import events as er
from run_cases import CountOptions, count_events

from corefsample import InputError, ParameterError
from events.commands.count import run_count
from events.runs._run_options import CountAgainOptions

OUTCOMES = ("either=attack|arrest:USA|POLICE", "noone=arrest:-", "any=attack|arrest")
TABLES = ("counts.csv", "totals.csv", "counts.parquet", "count_samples.parquet")


def corpus(tmp_path: Path) -> Path:
    """The news with the outlets A, B and none; in every fifth document somebody is arrested too."""
    arrest = "men/NOUN>3:nsubj:pass were=be/AUX>3:aux:pass arrested=arrest/VERB>0:root"
    lines = []
    for number, row in enumerate(row for copy in range(3) for row in er.corpus()):
        document = {**row, "doc_id": f"d{number:02}"}
        if number % 5 == 0:
            document = er.json_document(document["doc_id"], document["date"], [arrest], {})
        lines.append(document | ({"outlet": "AB"[number % 2], "page": number % 4} if number % 3 else {}))
    return er.write_lines(tmp_path / "news.jsonl", lines)


@pytest.fixture(scope="module")
def news(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return corpus(tmp_path_factory.mktemp("news"))


def counted(news: Path, out: Path, **options: Any) -> Path:
    rules = {"rule": ("attack", "arrest"), "preset": "extended", "n_samples": 100, **options}
    count_events(news, out, CountOptions(**rules))
    return out


@pytest.fixture(scope="module")
def run(news: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return counted(news, tmp_path_factory.mktemp("run") / "run", compare=("USA", "IRQ"), lexicon="police")


def again(run: Path, out: Path, **options: Any) -> pd.DataFrame:
    result = run_count(run, CountAgainOptions(out=str(out), **options)).result
    pd.testing.assert_frame_equal(result["counts"], pd.read_parquet(out / "counts.parquet"))
    return result["counts"]  # type: ignore[no-any-return]


def test_the_tables_of_the_same_options_are_those_of_the_run(run: Path, tmp_path: Path) -> None:
    again(run, tmp_path / "again", compare=("USA", "IRQ"))
    for name in (*TABLES, "comparisons.csv"):
        assert (tmp_path / "again" / name).read_bytes() == (run / name).read_bytes()


@pytest.mark.parametrize("options", [{"period": "year"}, {"level": 0.5}, {"interval": "hdi"}, {"interval": "normal"}])
def test_other_options_give_the_tables_of_a_run_with_them(
    news: Path, run: Path, tmp_path: Path, options: dict[str, Any]
) -> None:
    counted(news, tmp_path / "run", compare=("USA", "IRQ"), lexicon="police", **options)
    again(run, tmp_path / "again", compare=("USA", "IRQ"), **options)
    for name in (*TABLES, "comparisons.csv"):
        assert (tmp_path / "again" / name).read_bytes() == (tmp_path / "run" / name).read_bytes()


def test_an_outcome_of_the_evidence_is_that_of_a_run_with_it(news: Path, run: Path, tmp_path: Path) -> None:
    """The police, who arrest by default, are in no text."""
    counted(news, tmp_path / "run", lexicon="police", outcome=OUTCOMES)
    table = again(run, tmp_path / "again", outcome=OUTCOMES)
    expected = pd.read_parquet(tmp_path / "run" / "counts.parquet")
    assert table["mean_named"].sum() < table["mean"].sum()
    ends = ["mean_rule", "lower_rule", "upper_rule"]
    for event in ("either", "noone", "any", "attack"):
        rows, expected_rows = (each[each["event"] == event].reset_index(drop=True) for each in (table, expected))
        pd.testing.assert_frame_equal(rows.drop(columns=ends), expected_rows.drop(columns=ends))
    assert (table["mean"] > 0).groupby(table["event"]).any().all()


def test_groups_add_up_to_the_run(run: Path, tmp_path: Path) -> None:
    whole = pd.read_parquet(run / "counts.parquet")
    cells = ["event", "actor", "period"]
    sums = whole.set_index(cells)[["n_docs", "mean", "one_best"]]
    for by in (("outlet",), ("outlet", "page")):
        table = again(run, tmp_path / "-".join(by), by=by)
        assert set(table["outlet"]) == {"", "A", "B"}
        found = table.groupby(cells)[["n_docs", "mean", "one_best"]].sum()
        pd.testing.assert_frame_equal(found.loc[sums.index], sums, check_dtype=False, atol=1e-12)
        assert (table["lower_rule"] <= table["upper_rule"]).all()
        assert (table["upper_rule"] <= table["n_docs"]).all()


def test_a_date_far_from_all_others_is_in_totals_alone_unless_all_periods_are_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("events.rule_error._counts.true_counts", lambda counts, *_: counts)  # a rule without errors
    far = er.corpus()[2] | {"doc_id": "far", "date": "1911-03-01"}
    news = er.write_lines(tmp_path / "news.jsonl", [*er.corpus(), far])
    result = count_events(news, tmp_path / "run", CountOptions(preset="extended", n_samples=100))
    assert "1 in 1911Q1" in result.outside
    listed, every = result.counts, again(tmp_path / "run", tmp_path / "all", all_periods=True)
    assert listed["period"].unique().tolist() == [str(each) for each in pd.period_range("1999Q1", "2000Q2", freq="Q")]
    assert every["period"].nunique() == len(pd.period_range("1911Q1", "2000Q2", freq="Q"))
    counted(news, tmp_path / "every", all_periods=True)
    assert again(tmp_path / "every", tmp_path / "again")["period"].nunique() == every["period"].nunique()
    within = every[every["period"].isin(listed["period"])].reset_index(drop=True)
    ends = ["mean_rule", "lower_rule", "upper_rule"]  # the number of draws depends on that of the periods
    pd.testing.assert_frame_equal(within.drop(columns=ends), listed.drop(columns=ends))
    sums = every.groupby("actor")["mean"].sum()
    assert sums["USA"] > listed.loc[listed["actor"] == "USA", "mean"].sum()
    for folder in ("run", "all"):
        totals = pd.read_csv(tmp_path / folder / "totals.csv").set_index("actor")
        assert totals["mean"].to_dict() == pytest.approx(sums.to_dict())
        assert totals["mean_rule"].to_dict() == pytest.approx(sums.to_dict(), abs=0.05)


def test_only_the_events_that_are_named_are_counted(run: Path, tmp_path: Path, call: Calls) -> None:
    assert set(again(run, tmp_path / "one", event=("arrest",))["event"]) == {"arrest"}
    shown = call.good("count", run, "--event", "arrest", "--by", "outlet", "--out", tmp_path / "shown")
    assert "Groups by outlet: (none), A, B." in shown
    assert "counts.csv" in shown
    shown = call.good("count", run, "--compare-periods", "1999Q1", "2000Q2", "--out", tmp_path / "periods")
    assert "P(1999Q1 > 2000Q2)" in shown
    table = pd.read_csv(tmp_path / "periods" / "period_comparisons.csv")
    assert table.filter(regex="^p_.*_rule$").sum(axis=1).to_numpy() == pytest.approx(1.0)
    assert table["mean_rule"].between(table["lower_rule"], table["upper_rule"]).all()


def test_options_that_do_not_fit_the_run_are_rejected(run: Path, tmp_path: Path) -> None:
    cases: list[tuple[str, dict[str, Any]]] = [
        ("by", {"by": ("section",)}),
        ("by", {"by": ("doc_id",)}),
        ("event", {"event": ("kill",)}),
        ("period", {"period": "2Q"}),
        ("outcome", {"outcome": ("attack=arrest:USA",)}),
        ("outcome", {"outcome": ("new=kill:USA",)}),
        ("outcome", {"outcome": ("new=arrest.verb:USA",)}),
        ("outcome", {"outcome": ("new=arrest:NOBODY",)}),
        ("compare", {"compare": ("USA", "XXX")}),
    ]
    for parameter, options in cases:
        with error(ParameterError, parameter):
            again(run, tmp_path / "new", **options)
        assert not (tmp_path / "new").exists()
    with error(ParameterError, "out"):
        run_count(run, CountAgainOptions(out=str(run), overwrite=True))
    assert (run / "evidence.parquet").is_file()
    with error(InputError, place=tmp_path.name):
        run_count(tmp_path, CountAgainOptions(out=str(tmp_path / "new")))


def test_outcomes_need_the_rules_of_the_run(news: Path, tmp_path: Path) -> None:
    rule = tmp_path / "own.yaml"
    rule.write_text(OWN)
    counted(news, tmp_path / "run", rule=str(rule), preset=None)
    again(tmp_path / "run", tmp_path / "first", outcome=("all=own:*",))
    rule.write_text(OWN.replace("[attack]", "[strike]"))
    with error(InputError, place="own.yaml"):
        again(tmp_path / "run", tmp_path / "second", outcome=("all=own:*",))


OWN = """
version: 1
language: en
name: own
trigger: {lemma: [attack], upos: [VERB]}
event: [agent]
presets:
  own: {described: [head], roles: {agent: [subject]}}
"""
