"""Counts from labels: totals, periods, both ways of counting open labels, and what labels say about the model."""

import itertools
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from events_audit_made import edit, frame, write_sheet
from expected_errors import error
from references import audit as references

from corefsample import InputError, ParameterError
from events.audit import AuditFrame, estimate_counts, estimate_total, plan_audit, read_sheets
from events.audit._estimates import TOTAL, cohen_kappa
from events.audit._plan import AuditPlan
from events.audit._sheets import NO, YES, SheetLabels
from events.audit._totals import METHODS

PLAN = plan_audit(frame(), 60)
TRUTH = {
    doc_id: "yes" if p > 0.6 or i % 17 == 0 else "no"
    for i, (doc_id, p) in enumerate(zip(PLAN.frame.doc_ids, PLAN.frame.probability(0), strict=True))
}


def labels_of(plan: AuditPlan, values: list[int]) -> SheetLabels:
    own = np.array(values, np.int8)[:, None]
    return SheetLabels(own, {"ann": own}, len(plan.rounds), {})


@pytest.fixture
def labels(tmp_path: Path) -> SheetLabels:
    return read_sheets(PLAN, [write_sheet(tmp_path / "s.csv", PLAN, TRUTH.__getitem__)])


@pytest.mark.parametrize("method", METHODS)
def test_the_total_is_that_of_the_strata(labels: SheetLabels, method: str) -> None:
    (total,) = estimate_counts(PLAN, labels, method=method).totals.itertuples()  # type: ignore[arg-type]
    strata = PLAN.stratum_of[PLAN.sample]
    k = [int((labels.labels[strata == h] == YES).sum()) for h in range(len(PLAN.strata))]
    n, sizes = zip(*((each.n_sampled, each.n_documents) for each in PLAN.strata), strict=True)
    expected = estimate_total(k, n, sizes, method=method)  # type: ignore[arg-type]
    assert (total.estimate, total.lower, total.upper) == (expected.estimate, expected.lower, expected.upper)
    assert (total.n_docs, total.n_labelled, total.n_positive) == (300, 60, sum(k))
    assert total.model_mean == pytest.approx(PLAN.frame.probability(0).sum())


def test_one_far_date_adds_no_empty_periods(tmp_path: Path) -> None:
    dates = ["1911-03-01", *["1999-01-01"] * 10, *["2001-01-01"] * 10]
    of_dates = plan_audit(AuditFrame.from_arrays([f"d{i}" for i in range(21)], dates, [0.5] * 21, period="year"), 21)
    labels = read_sheets(of_dates, [write_sheet(tmp_path / "s.csv", of_dates, lambda _: "yes")])
    table = estimate_counts(of_dates, labels).to_frame().set_index("period")
    assert table["estimate"].to_dict() == {"total": 21, "1911": 1, "1999": 10, "2000": 0, "2001": 10}


def test_every_period_uses_its_own_labels(labels: SheetLabels) -> None:
    table = estimate_counts(PLAN, labels, method="exact").to_frame().set_index("period")
    years = PLAN.frame.dates.astype("datetime64[Y]").astype(str)
    for year in ("1999", "2000", "2001"):
        cells = []
        for h in range(len(PLAN.strata)):
            inside = (PLAN.stratum_of == h) & (years == year)
            sampled = inside[PLAN.sample]
            cells.append(((labels.labels[sampled, 0] == YES).sum(), sampled.sum(), inside.sum()))
        assert all(n for _, n, _ in cells)
        k, n, sizes = np.array(cells).T
        expected = estimate_total(k, n, sizes, method="exact")
        row = table.loc[year]
        assert (row["lower"], row["upper"], row["n_docs"]) == (expected.lower, expected.upper, sizes.sum())


def test_periods_without_documents_have_rows_of_zeros() -> None:
    gap = AuditFrame.from_arrays(
        list("abcd"), ["1999-01-01", "1999-01-02", "2001-01-01", "2001-02-01"], [0, 0, 1, 1], period="year"
    )
    plan = plan_audit(gap, 4)
    found = estimate_counts(plan, labels_of(plan, [YES] * 4)).to_frame()
    assert found["period"].tolist() == [TOTAL, "1999", "2000", "2001"]
    assert found[["estimate", "lower", "upper"]].to_numpy().tolist() == [[4, 4, 4], [2, 2, 2], [0, 0, 0], [2, 2, 2]]


def test_a_cell_without_a_label_is_left_open() -> None:
    """Of ten documents of 1999 none is in the sample: 0 to 10 are possible, and P says 2."""
    dates = ["1999-06-01"] * 10 + ["2000-06-01"] * 40
    few = AuditFrame.from_arrays([f"d{i}" for i in range(50)], dates, [0.2] * 50, period="year")
    for seed in range(200):
        plan = plan_audit(few, 6, seed=seed)
        if (plan.sample >= 10).all():
            break
    rows = estimate_counts(plan, labels_of(plan, [NO] * 6)).to_frame().set_index("period")
    assert rows.loc["1999", ["estimate", "lower", "upper"]].tolist() == [pytest.approx(2.0), 0, 10]


def test_open_labels_are_counted_both_ways(tmp_path: Path) -> None:
    path = write_sheet(tmp_path / "s.csv", PLAN, TRUTH.__getitem__)
    edit(path, 0, label="unsure")
    edit(path, 1, label="")
    open_rows = estimate_counts(PLAN, read_sheets(PLAN, [path])).totals.iloc[0]
    ends = []
    for word in ("no", "yes"):
        edit(edit(path, 0, label=word), 1, label=word)
        ends.append(estimate_counts(PLAN, read_sheets(PLAN, [path])).totals.iloc[0])
    assert (open_rows.n_unsure, open_rows.n_missing) == (1, 1)
    assert (open_rows.lower, open_rows.upper) == (ends[0].lower, ends[1].upper)
    assert (open_rows.if_no, open_rows.if_yes) == (ends[0].estimate, ends[1].estimate)
    assert open_rows.estimate == pytest.approx(0.5 * (ends[0].estimate + ends[1].estimate))


def test_a_stratum_without_a_label_gives_no_estimate(tmp_path: Path) -> None:
    stratum = dict(zip(PLAN.frame.doc_ids.tolist(), PLAN.stratum_of.tolist(), strict=True))
    path = write_sheet(tmp_path / "s.csv", PLAN, lambda doc_id: "" if stratum[doc_id] == 1 else "yes")
    with pytest.raises(InputError, match="every stratum must have a label, got none in stratum 2"):
        estimate_counts(PLAN, read_sheets(PLAN, [path]))


def test_intervals_of_periods_hold_over_all_samples() -> None:
    """Enumerate all samples of 4 of 9 documents in one stratum: each period's exact interval holds at its level."""
    nine = AuditFrame.from_arrays(list("abcdefghi"), ["1999-01-01"] * 5 + ["2000-01-01"] * 4, [0.0] * 9, period="year")
    plan = plan_audit(nine, 4, floor=1)
    truth = np.array([1, 0, 1, 0, 0, 1, 0, 0, 1], bool)
    covered: dict[str, list[bool]] = {"1999": [], "2000": []}
    for rows in itertools.combinations(range(9), 4):
        sample = np.array(rows)
        drawn = replace(plan, sample=sample, round_of=np.ones(4, np.int64))
        found = estimate_counts(drawn, labels_of(drawn, truth[sample].astype(int).tolist()), method="exact", level=0.8)
        for each in found.counts[1:].itertuples():
            covered[each.period].append(
                each.lower <= truth[nine.dates.astype("datetime64[Y]").astype(str) == each.period].sum() <= each.upper
            )
    assert all(np.mean(each) >= 0.8 for each in covered.values())


# --- the model ---------------------------------------------------------------------------------------------


def test_precision_and_recall_by_hand() -> None:
    """All twelve documents are labelled: 4 with P >= .5, of which 3 are positive, and 1 of the 8 others."""
    p = [0.9] * 4 + [0.2] * 4 + [0.0] * 4
    all_labelled = plan_audit(AuditFrame.from_arrays(list("abcdefghijkl"), ["2000-01-01"] * 12, p), 12)
    truth = dict(zip("abcdefghijkl", [YES, YES, YES, NO, YES] + [NO] * 7, strict=True))
    ids = all_labelled.frame.doc_ids[all_labelled.sample]
    found = estimate_counts(all_labelled, labels_of(all_labelled, [truth[each] for each in ids]))
    for figure in found.quality.itertuples():
        assert (figure.estimate, figure.lower, figure.upper) == pytest.approx((0.75, 0.75, 0.75), abs=1e-3)
    shown = found.disagreements[["doc_id", "label", "probability"]]
    assert shown.to_numpy().tolist() == [["d", "no", 0.9], ["e", "yes", 0.2]]


def test_recall_holds_the_truth_over_all_samples() -> None:
    """Two strata, all outcomes with their probabilities: recall 3/5 is in its 80% interval at least so often."""
    p = [0.9] * 6 + [0.0] * 10
    both = AuditFrame.from_arrays([f"d{i:02d}" for i in range(16)], ["2000-01-01"] * 16, p)
    plan = plan_audit(both, 10, floor=4)
    n = [each.n_sampled for each in plan.strata]
    laws = [references.hypergeometric(10, 2, n[0]), references.hypergeometric(6, 3, n[1])]
    covered = Fraction(0)
    for missed, hit in itertools.product(*laws):
        strata = plan.stratum_of[plan.sample]
        values = np.zeros(10, int)
        values[np.flatnonzero(strata == 0)[:missed]] = YES
        values[np.flatnonzero(strata == 1)[:hit]] = YES
        recall = estimate_counts(plan, labels_of(plan, values.tolist()), level=0.8, method="exact").quality.iloc[1]
        if recall.lower <= 0.6 <= recall.upper:
            covered += laws[0][missed] * laws[1][hit]
    assert covered >= 0.8


def test_kappa_by_hand() -> None:
    """Cohen's example: agreement .7, by chance .5 * .6 + .5 * .4 = .5, so (.7 - .5) / .5 = .4."""
    kappa, lower, upper = cohen_kappa([[20, 5], [10, 15]])
    assert kappa == pytest.approx(0.4)
    # The large-sample standard error is sqrt(.7 * .3 / (50 * .25)) = .130, to about a tenth.
    assert lower == pytest.approx(0.4 - 1.96 * 0.13, abs=0.05)
    assert upper == pytest.approx(0.4 + 1.96 * 0.13, abs=0.05)
    kappa, lower, upper = cohen_kappa([[10, 0], [0, 10]])  # full agreement has an interval too
    assert kappa == upper == 1.0
    assert 0.5 < lower < 0.95
    assert all(np.isnan(cohen_kappa([[0, 0], [0, 0]])))


def test_agreement_of_two_labellers_is_reported(tmp_path: Path) -> None:
    one = write_sheet(tmp_path / "one.csv", PLAN, TRUTH.__getitem__, labeller="ann")
    other = write_sheet(tmp_path / "two.csv", PLAN, TRUTH.__getitem__, labeller="ben")
    edit(other, 0, label="unsure")
    (agreement,) = estimate_counts(PLAN, read_sheets(PLAN, [one, other])).agreement.itertuples()
    assert (agreement.first, agreement.second, agreement.n_documents, agreement.n_agreed) == ("ann", "ben", 60, 59)
    assert agreement.lower < agreement.kappa < 1.0


@pytest.mark.parametrize("options", [{"level": 0.0}, {"level": 0.9}, {"method": "x"}])
def test_bad_options_are_named(labels: SheetLabels, options: dict[str, object]) -> None:
    with error(ParameterError, *options):
        estimate_counts(PLAN, labels, **options)  # type: ignore[arg-type]
