"""A run with the error of its rules: columns of tables, evidence and comparisons."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from expected_errors import error
from run_cases import Case, count_events

from corefsample.errors import InputError
from events.audit._audit_frame import read_run_documents
from events.rule_error._counts import error_generator, reference_event, tables_with_error, true_counts
from events.rule_error._model import CLASSES, COLUMNS, Cell, RuleErrorModel, kind_of, read_reference
from events.runs._count_run import count_again
from events.runs._run_options import CountAgainOptions

READERS = ["mean_rule", "lower_rule", "upper_rule"]

pytestmark = pytest.mark.parametrize("case", ["events"], indirect=True)


@pytest.fixture
def reference_file(tmp_path: Path) -> Path:
    """A table of one rule that is right in 40 of 50 documents and misses 10."""
    path = tmp_path / "rules.csv"
    row = ["made", "attack", "X", "country", "asserted", "p", "", 1000, 50.0, 50, 50, 40, 10, 60, 50, 8, 1, 1]
    pd.DataFrame([row], columns=list(COLUMNS)).to_csv(path, index=False)
    return path


def test_intervals_are_quantiles_of_draws_of_what_readers_count(
    case: Case, tmp_path: Path, reference_file: Path
) -> None:
    out = tmp_path / "run"
    count_events(case.corpus, out, case.options(rule_error=str(reference_file)))
    counts, totals = pd.read_csv(out / "counts.csv"), pd.read_csv(out / "totals.csv")
    samples = pd.read_parquet(out / "count_samples.parquet")
    model = RuleErrorModel(read_reference(reference_file))
    evidence = pd.read_parquet(out / "evidence.parquet").query("probability <= 0.5")
    classes = evidence.groupby(["actor", "period", "cooccurrence"]).size()
    assert classes.sum() > 0
    for actor in counts["actor"].unique():
        rows = counts[counts["actor"] == actor]
        near = np.array([[classes.get((actor, period, k), 0) for k in CLASSES[:2]] for period in rows["period"]])
        sampled = np.zeros((60, len(rows)), np.int64)
        for t, period in enumerate(rows["period"]):
            for values in samples[(samples["actor"] == actor) & (samples["period"] == period)]["counts"]:
                sampled[:, t] = values
        rng = error_generator(0, "attack", actor)
        n_docs, mean = rows["n_docs"].to_numpy(), rows["mean"].sum()
        documents = [mean, *near.sum(axis=0), n_docs.sum() - near.sum() - mean]
        rule = model.draws(Cell(kind_of(actor, {actor: "country"}), "attack", actor), documents, 1000, rng)
        true = true_counts(sampled[np.arange(1000) % 60], n_docs, near, rule, rng)
        for t in range(len(rows)):
            ordered = np.sort(true[:, t])  # the 25th and the 975th of 1,000
            row = rows.iloc[t]  # whose outer interval has the inner one
            assert row[READERS].tolist() == [ordered.mean(), min(ordered[24], row.lower), max(ordered[974], row.upper)]
        ordered, total = np.sort(true.sum(axis=1)), totals[totals["actor"] == actor].iloc[0]
        ends = min(ordered[24], total["lower"]), max(ordered[974], total["upper"])
        assert total[READERS].tolist() == [ordered.mean(), *ends]
        assert total["mean"] == pytest.approx(rows["mean"].sum())


def test_an_audit_of_like_news_narrows_the_intervals(case: Case, tmp_path: Path, reference_file: Path) -> None:
    table = str(reference_file)
    count_events(case.corpus, tmp_path / "run", case.options(rule_error=table))
    actors = pd.read_csv(tmp_path / "run" / "totals.csv")
    numbers = 3000, 1000.0, 1000, 1000, 990, 10, 900, 500, 8, 1, 1
    row = ["audit", "attack", actors["actor"][0], "country", "", "", "", *numbers]
    (tmp_path / "audit").mkdir()
    pd.DataFrame([row], columns=list(COLUMNS)).to_csv(tmp_path / "audit" / "audited-reference.csv", index=False)
    count_events(case.corpus, tmp_path / "other", case.options(rule_error=table, reference=(str(tmp_path / "audit"),)))
    before, after = (pd.read_csv(tmp_path / run / "totals.csv").iloc[0] for run in ("run", "other"))
    assert after["upper_rule"] - after["lower_rule"] < before["upper_rule"] - before["lower_rule"]
    assert after["mean"] == before["mean"]


@pytest.mark.parametrize("n_near", [3, 12])
def test_the_evidence_has_the_probability_that_a_reader_says_yes(
    case: Case, tmp_path: Path, reference_file: Path, monkeypatch: pytest.MonkeyPatch, n_near: int
) -> None:
    monkeypatch.setattr("events.rule_error._counts._N_LABELS", 20)  # fewer than documents
    monkeypatch.setattr("events.runs._written_tables._NEAR_HALF", n_near)  # fewer than rows with P > 0
    out = tmp_path / "run"
    count_events(case.corpus, out, case.options(rule_error=str(reference_file)))
    evidence = pd.read_parquet(out / "evidence.parquet", filters=[("probability", ">", 0)])
    assert (evidence["reader_lower"] <= evidence["reader_probability"]).all()
    assert (evidence["reader_probability"] <= evidence["reader_upper"]).all()
    for _, rows in evidence.groupby(["actor", "cooccurrence"]):  # the rule is right more often than it misses
        assert rows.sort_values("probability")["reader_probability"].is_monotonic_increasing
    every = pd.read_parquet(out / "evidence.parquet").dropna(subset="reader_probability")
    misses = every[every["probability"] < 0.5].sort_values("reader_probability", ascending=False, kind="stable")
    near = pd.read_csv(out / "near_half.csv")
    columns = ["doc_id", "actor", "sentences"]
    listed = [tuple(row) for row in near[columns].to_numpy()]
    nearest, others = listed[:n_near], listed[n_near:]
    likeliest = [*map(tuple, misses[columns][:n_near].to_numpy())]
    assert others == [row for row in likeliest if row not in nearest]
    assert n_near == 3 or len(others) < n_near  # some are among the nearest
    assert others
    record = json.loads((out / "run.json").read_text())
    summary = record["summary"]["rule_error"]
    assert (summary["n_events"], summary["n_corpora"]) == (1, 1)
    assert summary["ratio_lower"] == summary["ratio_upper"] == 1.0
    assert summary["width_after"] >= 0.0
    totals = pd.read_csv(out / "totals.csv").set_index("actor").loc[summary["actor"]]
    assert [summary[name] for name in ("mean", "lower", "upper")] == totals[READERS].tolist()
    assert summary["counted"] == totals["mean"]


def test_labels_are_suggested_for_the_named_actor_with_the_largest_total(
    case: Case, tmp_path: Path, reference_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """IRQ has the largest total of the three actors, and USA the next; KWT has the smallest.

    IRQ as the noun of a class counts as an actor if nobody else is of its class.
    """
    monkeypatch.setattr("events.rule_error._counts._N_LABELS", 20)  # fewer than documents
    names = "events.runs._count_run.tables_with_error", "events.rule_error._counts.true_counts"
    cases = [({}, "IRQ"), ({"IRQ": ""}, "USA"), ({"IRQ": "irq"}, "IRQ"), ({"IRQ": "irq", "X-A": "irq"}, "USA")]
    for number, (kinds, expected) in enumerate([*cases, ({}, "KWT")]):
        monkeypatch.setattr(names[0], lambda a, b, c, *d, k=kinds, **e: tables_with_error(a, b, {**c, **k}, *d, **e))
        if number == len(cases):  # readers count most where the rule counts least
            monkeypatch.setattr(names[1], lambda counts, *rest: 99 - counts)
        count_events(case.corpus, tmp_path / str(number), case.options(rule_error=str(reference_file)))
        record = json.loads((tmp_path / str(number) / "run.json").read_text())
        totals = pd.read_csv(tmp_path / str(number) / "totals.csv").set_index("actor")["mean"]
        assert totals.nlargest(3).index.tolist() == ["IRQ", "USA", "KWT"]
        assert record["summary"]["rule_error"]["actor"] == expected


def test_a_difference_has_the_errors_of_both_actors(case: Case, tmp_path: Path, reference_file: Path) -> None:
    """Of draws of its own: a tail of .025 has a Monte Carlo error of .005, and may begin one document later."""
    out = tmp_path / "run"
    count_events(case.corpus, out, case.options(rule_error=str(reference_file)))
    counts, compared = pd.read_csv(out / "counts.csv"), pd.read_csv(out / "comparisons.csv")
    rows = {(row.actor, row.period): row for row in counts.itertuples(index=False)}
    for row in compared.itertuples(index=False):
        first, second = rows[row.first, row.period], rows[row.second, row.period]
        assert first.lower_rule - second.upper_rule - 1 <= row.lower_rule
        assert row.lower_rule <= row.upper_rule <= first.upper_rule - second.lower_rule + 1
        assert row.p_first_greater_rule + row.p_equal_rule + row.p_second_greater_rule == pytest.approx(1.0)
        spread = max(first.upper_rule + second.upper_rule, 1.0)  # at least the standard deviation of a difference
        assert abs(row.mean_rule - first.mean_rule + second.mean_rule) < 5.0 * spread / np.sqrt(1000 / 3)


def test_a_wrong_table_is_an_error_before_the_work(case: Case, tmp_path: Path) -> None:
    path = tmp_path / "rules.csv"
    path.write_text("corpus,event\na,b\n")
    with error(InputError, place=str(path)):
        count_events(case.corpus, tmp_path / "run", case.options(rule_error=str(path)))
    assert not (tmp_path / "run" / "run.json").exists()


def test_a_rule_that_extends_a_shipped_one_is_its_kin_unless_it_was_audited_itself(
    case: Case, tmp_path: Path, reference_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells, draws = set[str](), RuleErrorModel.draws

    def recorded(model: RuleErrorModel, cell: Cell, *rest: Any) -> Any:
        cells.add(cell.event)
        return draws(model, cell, *rest)

    monkeypatch.setattr(RuleErrorModel, "draws", recorded)
    rule, other, table = tmp_path / "mine.yaml", tmp_path / "other.yaml", pd.read_csv(reference_file)
    rule.write_text("version: 1\nname: mine\nextends: attack\n")
    other.write_text("version: 1\nname: other\nextends: mine.yaml\n")
    run, settings = tmp_path / "run", {"rule_error": str(reference_file), "compare": None}
    count_events(case.corpus, run, case.options(rule=(str(rule), str(other)), **settings))
    assert cells == {"attack"}
    assert read_run_documents(run).kin == {"mine": "attack", "other": "attack"}
    count_again(run, CountAgainOptions(out=str(tmp_path / "again"), period="year"))
    assert cells == {"attack"}
    model = RuleErrorModel(table.assign(event="mine"))
    assert [reference_event(model, "made", name, {"mine": "attack"}) for name in ("mine", "kill")] == ["mine", "kill"]
