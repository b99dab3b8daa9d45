"""Audits and the reference class: totals that begin from it, and rows for it."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from events_audit_made import write_sheet
from expected_errors import error
from scipy.special import expit
from scipy.stats import betabinom

from corefsample.errors import InputError
from events.audit import AuditFrame, estimate_counts, plan_audit, read_sheets
from events.audit._estimates import more_labels
from events.audit._model_totals import expected_width_of, plan_for_width, reference_rows, reference_totals
from events.audit._plan import AuditPlan
from events.audit._sheets import SheetLabels
from events.audit._strata import target_error
from events.rule_error._counts import STRATUM_SD
from events.rule_error._model import RuleErrorModel, checked_reference, read_reference, reference_model

# 100 documents with P = 1, of which 60 are true; and 900 with P = 0, of which 9 are, all with word and name.
P, CLASSES = np.repeat([1.0, 0.0], [100, 900]), np.repeat(["sentence", "document", ""], [150, 150, 700])
TRUE = {f"d{i:03d}" for i in [*range(60), *range(100, 145, 5)]}


def plan_of(n_labels: int) -> AuditPlan:
    doc_ids = [f"d{i:03d}" for i in range(1000)]
    dates = np.full(1000, "2000-01-01", "datetime64[D]")
    frame = AuditFrame.from_arrays(doc_ids, dates, P, event="attack", cooccurrence=CLASSES.tolist())
    return plan_audit(frame, n_labels)


@pytest.fixture
def plan() -> AuditPlan:
    return plan_of(60)


@pytest.fixture
def labels(plan: AuditPlan, tmp_path: Path) -> SheetLabels:
    sheet = write_sheet(tmp_path / "sheet.csv", plan, lambda doc_id: "yes" if doc_id in TRUE else "no")
    return read_sheets(plan, [sheet])


def test_rows_compare_misses_with_counted_documents(plan: AuditPlan, labels: SheetLabels) -> None:
    row = reference_rows(plan, labels).iloc[0]
    n = {each.name.split(", ")[-1]: each.n_sampled for each in plan.strata}
    assert (row["corpus"], row["kind"], row["n_above"]) == ("audit", "any", n["P > 0.5"])
    assert (row["n_sentence"], row["n_document"]) == (n["sentence"], n["document"])
    yes = [plan.frame.doc_ids[i] in TRUE for i in plan.sample]
    assert row["yes_above"] + row["yes_sentence"] == row["n_yes"] == sum(yes)
    # Of 50 documents of the class "sentence", n are labelled: 100 counted documents for n / 50 of them. Of the class
    # "neither" n labels are as many relative to all documents that are not counted as n_above to the 100 counted ones.
    assert row["sum_p"] == pytest.approx(min(100 * n["sentence"] / 50, row["n_documents"]), abs=0.001)
    n_others = row["n_documents"] - row["n_above"]
    n_neither = n_others - row["n_sentence"] - row["n_document"]
    assert n_neither * row["n_above"] / n_others == pytest.approx(n["neither"] * 100 / 900, rel=0.1)


def test_rows_make_a_table_for_the_reference_class(plan: AuditPlan, labels: SheetLabels, tmp_path: Path) -> None:
    path = tmp_path / "audited-reference.csv"
    reference_rows(plan, labels).to_csv(path, index=False)
    table = read_reference(audits=[tmp_path])
    assert set(table["corpus"]) == {"muc", "police", "satp", "audit"}
    assert RuleErrorModel(table).corpus_of(["USA"]) == "audit"


def test_totals_begin_from_the_reference_class(plan: AuditPlan, labels: SheetLabels, tmp_path: Path) -> None:
    (total,) = reference_totals(plan, labels, reference_model()).itertuples()
    assert total.assumption == "reference class"
    assert total.lower <= 69 <= total.upper
    assert total.n_labelled == 60
    estimate = estimate_counts(plan, labels, reference=reference_model())
    before = total.upper - total.lower
    after = more_labels(plan, labels, estimate, reference_model())
    assert after["n_more"] == 100
    later = plan_of(160)
    sheet = write_sheet(tmp_path / "later.csv", later, lambda doc_id: "yes" if doc_id in TRUE else "no")
    (total,) = reference_totals(later, read_sheets(later, [sheet]), reference_model()).itertuples()
    assert after["width_after"] == pytest.approx(total.upper - total.lower, rel=0.25)
    assert after["width_after"] < 0.75 * before  # sqrt(60 / 160) = .61 of it without a prior


def width_after_labels(plan: AuditPlan, n_corpora: int) -> float:
    """Mean width of the interval of a total in corpora drawn from the reference class, with labels of a plan."""
    rng = np.random.default_rng(0)
    error, _ = target_error(plan.frame, 0, reference_model(), 4000, 1)
    share = expit(np.column_stack([error.misses, error.precision]))
    beta = np.maximum(1.0 / (share * (1.0 - share) * STRATUM_SD**2) - 1.0, 1.0)
    a, b, widths = share * beta, (1.0 - share) * beta, []
    size, n = np.transpose([(each.n_documents, each.n_sampled) for each in plan.strata])  # P > .5 is the last
    for drawn in range(n_corpora):
        yes = rng.binomial(n, rng.beta(a[drawn], b[drawn]))
        likelihood = betabinom.pmf(yes, n, a, b).prod(axis=1)
        rows = rng.choice(4000, 4000, p=likelihood / likelihood.sum())
        others = rng.binomial(size - n, rng.beta(a[rows] + yes, b[rows] + n - yes))
        widths.append(np.ptp(np.quantile(others.sum(axis=1), [0.025, 0.975])))
    return float(np.mean(widths))


def test_a_plan_for_a_width_has_the_fewest_labels_that_give_it_in_corpora_of_the_reference_class() -> None:
    plan = plan_for_width(plan_of, 1000, 50.0)
    assert expected_width_of(plan, reference_model()) <= 50.0
    assert expected_width_of(plan_of(len(plan.sample) - 1), reference_model()) > 50.0
    expected = np.mean([expected_width_of(plan, reference_model(), seed=seed) for seed in range(8)])
    # Standard errors: 1.5 of 200 corpora, and 3 of each expected width, 1.1 of 8. 4.9 times both together are 9.
    assert width_after_labels(plan, 200) == pytest.approx(expected, abs=9.0)
    assert len(plan_for_width(plan_of, 1000, 0.5).sample) > 900


@pytest.mark.parametrize(
    ("column", "value"),
    [
        *(("kind", "army"), ("n_yes", 1000), ("yes_above", -1), ("yes_below", 900), ("n_above", 0)),
        *(("sum_p", value) for value in (5000.0, -1.0, "inf", "1e300", "nan", "")),
        *(("n_documents", value) for value in ("1e300", "inf", 60.5)),
    ],
)
def test_numbers_that_contradict_each_other_are_errors(
    plan: AuditPlan, labels: SheetLabels, column: str, value: object
) -> None:
    table = reference_rows(plan, labels)
    with pytest.raises(InputError, match="row 1"):
        checked_reference(table.assign(**{column: value}), "here")
    with pytest.raises(InputError, match=column):
        checked_reference(table.drop(columns=column), "here")


def test_a_row_that_stands_twice_is_an_error(plan: AuditPlan, labels: SheetLabels, tmp_path: Path) -> None:
    row = reference_rows(plan, labels)
    pd.concat([row, row.assign(event="other"), row.assign(sum_p=0.0)]).to_csv(tmp_path / "rules.csv", index=False)
    with error(InputError, place="rules.csv: row 3"):
        read_reference(tmp_path / "rules.csv")
