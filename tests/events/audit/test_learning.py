"""What labels teach: fits, draws, counts, totals, and which labels may teach."""

import itertools
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from events_audit_made import actor_frame, edit, frame, true_labels, write_sheet
from expected_errors import error
from hypothesis import given, settings, strategies as st
from references import learning as references

from corefsample import InputError
from corefsample._arrays import Floats
from events.audit import AuditFrame, estimate_counts, plan_audit, read_sheets
from events.audit._learning import (
    LEAST_LABELS,
    PROBABILITY,
    LearnResult,
    coefficient_draws,
    drawn_counts,
    fitted,
    learn,
    target_features,
    total_draws,
)
from events.audit._model_totals import difference_total
from events.audit._plan_files import numeric_columns
from events.audit._sheets import MISSING, SheetLabels
from events.rule_error._model import RuleErrorModel

FRAME = frame(400, seed=2)
PLAN = plan_audit(FRAME, 120)
# Whether a reader says yes: P too high, and a feature that P does not know.
_RNG = np.random.default_rng(5)
SEEN = _RNG.random(400) < 0.3
TRUTH = _RNG.random(400) < np.clip(0.6 * FRAME.probability(0) + 0.3 * SEEN, 0.0, 1.0)
COLUMNS = {"seen": SEEN.astype(np.float64), "noise": _RNG.normal(size=400)}


@cache
def learned_of_plan(*, has_columns: bool = False) -> LearnResult:
    """What the labels of PLAN teach."""
    return learn(PLAN, true_labels(PLAN, TRUTH), columns=COLUMNS if has_columns else None, n_draws=100)


def cases(seed: int, n: int = 30) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3))
    return x, (rng.random(n) < 1 / (1 + np.exp(-x[:, 0] + x[:, 1]))).astype(np.float64), rng.uniform(0.2, 2.0, n)


def with_ones(x: Floats) -> Floats:
    return np.column_stack([np.ones(len(x)), x])


def penalties(penalty: float) -> Floats:
    """Of the intercept and three features."""
    return np.array([1e-4, penalty, penalty, penalty])


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 1000), st.sampled_from([0.3, 3.0, 30.0]), st.tuples(st.booleans(), st.booleans(), st.booleans()))
def test_the_fit_has_the_least_loss_within_its_bounds(seed: int, penalty: float, rises: tuple[bool, ...]) -> None:
    x, y, weights = cases(seed)
    centre = np.array([1.0, 1.0, 0.0])  # the second coefficient begins above its bound, and would end below 0
    lowest = np.where([False, *rises], 0.0, -np.inf)
    found = fitted(with_ones(x), y, weights, penalties(penalty), lowest, np.append(0.0, centre))
    expected = references.fitted(x, y, weights, penalty, rises, centre)
    assert (found[1:][list(rises)] >= 0.0).all()
    np.testing.assert_allclose(found, expected, atol=5e-3)
    least = references.penalised_loss(found, x, y, weights, penalty, centre)
    assert least <= references.penalised_loss(expected, x, y, weights, penalty, centre) + 1e-5


def test_draws_have_the_mode_and_the_curvature_of_the_posterior() -> None:
    """Expected: the inverse of second differences of the loss around the mode of the reference."""
    x, y, weights = cases(3, 200)
    centre, steps = np.zeros(3), 1e-3 * np.eye(4)

    def loss(beta: np.ndarray) -> float:
        return references.penalised_loss(beta, x, y, weights, 1.0, centre)

    mode = references.fitted(x, y, weights, 1.0, (False,) * 3, centre)
    curvature = [
        [(loss(mode + a + b) - loss(mode + a - b) - loss(mode - a + b) + loss(mode - a - b)) / 4e-6 for a in steps]
        for b in steps
    ]
    free = np.full(4, -np.inf)
    draws = coefficient_draws(with_ones(x), weights, penalties(1.0), free, mode, 20_000, np.random.default_rng(0))
    spread = np.sqrt(np.diag(np.linalg.inv(curvature)))
    np.testing.assert_allclose(draws.mean(axis=0), mode, atol=5e-3 + 5 * spread.max() / np.sqrt(20_000))
    np.testing.assert_allclose(draws.std(axis=0), spread, rtol=0.05)
    bound = np.array([-np.inf, 0.0, 0.0, 0.0])
    draws = coefficient_draws(with_ones(x), weights, penalties(1.0), bound, mode, 100, np.random.default_rng(0))
    assert (draws[:, 1:] >= 0.0).all()


def test_a_document_has_no_part_in_its_own_cross_fitted_p(monkeypatch: pytest.MonkeyPatch) -> None:
    folds = np.arange(400) % 10  # whatever the labels are
    monkeypatch.setattr("events.audit._learning.made_folds", lambda *_: folds)
    other = TRUTH.copy()
    other[PLAN.sample[0]] ^= True
    before, after = (learn(PLAN, true_labels(PLAN, truth), n_draws=100).targets[0] for truth in (TRUTH, other))
    assert (before.model, before.penalty) == (after.model, after.penalty)
    is_same = before.documents["cross_fitted"] == after.documents["cross_fitted"]
    assert (is_same == (folds == folds[PLAN.sample[0]])).all()


def test_learned_p_never_falls_with_p() -> None:
    (target,) = learned_of_plan().targets
    by_p = target.documents.sort_values("probability", kind="stable")
    assert (np.diff(by_p["learned"]) >= -1e-6).all()


def test_what_p_does_not_know_is_learned() -> None:
    """The share of yes is .6 P, and .3 more for documents that have the feature."""
    plan = plan_audit(FRAME, 300)
    (target,) = learn(plan, true_labels(plan, TRUTH), columns=COLUMNS, n_draws=200).targets
    assert target.model == "regression"
    assert target.features["seen"] > 3 * abs(target.features["noise"])
    expected = np.clip(0.6 * FRAME.probability(0) + 0.3 * SEEN, 0.0, 1.0)
    learned = target.documents["learned"]
    assert np.abs(learned - expected).mean() < 0.5 * np.abs(FRAME.probability(0) - expected).mean()
    candidates = target.candidates.set_index(["model", "penalty"])["log_score"]
    assert candidates.idxmin() == (target.model, target.penalty)
    before, after = target.scores["log_score"]
    assert after == pytest.approx(candidates.min())
    assert after < candidates["recalibrated", 3.0] < before


def test_counts_are_of_independent_documents_given_the_number_in_each_stratum() -> None:
    """Expected: for each draw of the coefficients and each stratum, convolutions over the documents.

    The number of one stratum is unknown, as where none of its documents has a label.
    """
    rng = np.random.default_rng(1)
    z, strata, group = with_ones(rng.normal(size=(120, 1))), np.arange(120) % 3, np.arange(120) // 3 % 2
    betas, numbers = rng.normal([-0.5, 1.0], 0.2, (10, 2)), np.array([3, 12, -1])
    draws = drawn_counts(z, strata, group, np.tile(betas, (200, 1)), np.tile(numbers, (2000, 1)), rng)
    for g in range(2):
        pmf = np.zeros(121)
        for beta in betas:
            p_all = 1.0 / (1.0 + np.exp(-z @ beta))
            own = np.array([1.0])
            for h, total in enumerate(numbers.tolist()):
                p, other = (p_all[(strata == h) & (group == side)] for side in (g, 1 - g))
                part = references.sum_pmf(p) if total < 0 else references.conditional_pmf(p, other, total)
                own = np.convolve(own, part)
            pmf[: len(own)] += own / len(betas)
        mean = float(pmf @ np.arange(121))
        spread = float(np.sqrt(pmf @ (np.arange(121) - mean) ** 2))
        # The sample of documents is nearly, not exactly, that of independent labels given their number.
        assert draws[:, g].mean() == pytest.approx(mean, abs=5 * spread / np.sqrt(2000) + 0.1)
        assert draws[:, g].std() == pytest.approx(spread, rel=0.08)


def test_the_total_of_learned_counts_is_that_of_the_difference_estimator() -> None:
    p_above_0 = np.maximum(FRAME.probability(0), 0.01)
    plan = plan_audit(AuditFrame.from_arrays(FRAME.doc_ids.tolist(), FRAME.dates, p_above_0), 120)
    (target,) = learn(plan, true_labels(plan, TRUTH), columns=COLUMNS, n_draws=4000).targets
    y = TRUTH[plan.sample].astype(np.float64)
    cross_fitted = target.documents["cross_fitted"].to_numpy()
    estimate, lower, upper = difference_total(plan.stratum_of, plan.sample, y, cross_fitted, 0.95)
    total, periods = target.counts.iloc[0], target.counts.iloc[1:]
    assert total["mean"] == pytest.approx(estimate, abs=0.05 * (upper - lower))
    assert total["lower"] == pytest.approx(lower, abs=2)
    assert total["upper"] == pytest.approx(upper, abs=2)
    assert periods["mean"].sum() == pytest.approx(total["mean"])


def test_where_the_rule_counts_nothing_misses_of_other_rules_are_the_prior() -> None:
    """Of 1,000 documents 50 have P = 1 and half of them are true; the labels of the others say no."""
    p, classes = np.repeat([1.0, 0.0], [50, 950]), ["sentence"] * 500 + [""] * 500
    dates = np.full(1000, "2000-01-01")
    frame = AuditFrame.from_arrays([f"{i:04d}" for i in range(1000)], dates, p, cooccurrence=classes)
    plan, truth = plan_audit(frame, 60), (np.arange(1000) % 2 == 0) & (p > 0.0)
    columns = ["corpus", "event", "actor", "n_documents", "sum_p", "n_yes", "n_above", "yes_above", "yes_below"]
    means = []
    for yes_below in (0, 100):  # of rules that counted 100 documents
        rows = [(f"corpus {i}", "e", "*", 1000, 100, 50 + yes_below, 100, 50, yes_below) for i in range(4)]
        table = pd.DataFrame(rows, columns=columns).assign(kind="any", preset="", pipeline="", period="")
        table = table.assign(n_sentence=400, n_document=0, yes_sentence=yes_below, yes_document=0, yes_neither=0)
        (target,) = learn(plan, true_labels(plan, truth), reference=RuleErrorModel(table)).targets
        means.append(target.counts["mean"][0])
    assert means[1] > means[0] + 1.5


def test_draws_of_strata_have_the_mean_and_variance_of_their_labels() -> None:
    """P is too low by a tenth, so that every stratum has many documents beyond its labels."""
    rng = np.random.default_rng(8)
    strata = np.arange(900) % 3
    p = rng.uniform(0.2, 0.6, 900)
    truth = (rng.random(900) < p + 0.1).astype(np.float64)
    rows = rng.permutation(900)[:150]
    draws = total_draws(strata, rows, truth[rows], p, 20_000, rng, {})
    for h in range(3):
        own, sampled = strata == h, rows[strata[rows] == h]
        place = np.cumsum(own) - 1
        estimate, variance = references.difference_estimate(
            [0] * 300, place[sampled].tolist(), truth[sampled].tolist(), p[own].tolist()
        )
        assert draws[:, h].mean() == pytest.approx(estimate, abs=0.1 * np.sqrt(variance))
        assert draws[:, h].std() == pytest.approx(np.sqrt(variance), rel=0.05)
    lower, upper = difference_total(strata, rows, truth[rows], p, 0.9)[1:]
    np.testing.assert_allclose(np.quantile(draws.sum(axis=1), [0.05, 0.95]), [lower, upper], atol=1.5)
    without = rows[strata[rows] != 1]
    assert (total_draws(strata, without, truth[without], p, 100, rng, {})[:, 1] == -1).all()


def test_a_sample_that_may_have_every_positive_document_says_so() -> None:
    """90 of 100 documents are labelled, one is positive: with P = 0 the lower limits of all draws are that one."""
    strata, rows = np.zeros(100, np.int64), np.arange(90)
    y = (rows == 0).astype(np.float64)
    draws = total_draws(strata, rows, y, np.full(100, 0.001), 1000, np.random.default_rng(0), {}).sum(axis=1)
    assert np.quantile(draws, 0.025) == 1 == difference_total(strata, rows, y, np.full(100, 0.001), 0.95)[1]
    assert draws.max() <= 11


def test_labelled_documents_count_as_what_they_are() -> None:
    plan = plan_audit(FRAME, 400)
    (target,) = learn(plan, true_labels(plan, TRUTH), n_draws=100).targets
    assert target.counts.loc[0, ["lower", "mean", "upper"]].tolist() == [TRUTH.sum()] * 3
    years = FRAME.dates.astype("datetime64[Y]").astype(str)
    expected = [TRUTH[years == year].sum() for year in ("1999", "2000", "2001")]
    assert target.counts["mean"].tolist()[1:] == expected


@pytest.mark.parametrize(("n_yes", "model"), [(LEAST_LABELS - 1, None), (LEAST_LABELS, "few"), (20, "any")])
def test_few_labels_of_a_kind_are_refused_or_only_recalibrate(n_yes: int, model: str | None) -> None:
    truth = np.zeros(400, np.bool_)
    truth[PLAN.sample[:n_yes]] = True
    labels = true_labels(PLAN, truth)
    if model is None:
        with pytest.raises(InputError, match="must have 2 of yes and of no"):
            learn(PLAN, labels, columns=COLUMNS, n_draws=100)
        return
    result = learn(PLAN, labels, columns=COLUMNS, n_draws=100)
    assert ("regression" in set(result.targets[0].candidates["model"])) == (model == "any")
    assert ("only recalibrated" in "".join(result.warnings)) == (model == "few")


def test_an_actor_with_few_labels_is_left_out() -> None:
    plan = plan_audit(actor_frame(), 40)
    own = np.stack([np.arange(40) % 3 == 0, np.arange(40) == 0], axis=1).astype(np.int8)
    result = learn(plan, SheetLabels(own, {"ann": own}, 1, {}), n_draws=100)
    assert [each.actor for each in result.targets] == ["USA"]
    assert set(result.cross_fitted) == {"USA"}
    assert result.warnings[:1] == ("labels of IRQ must have 2 of yes and of no, got 1 and 39",)


# --- documents that a person chose -------------------------------------------------------------------------


def chosen_sheet(path: Path, doc_ids: list[str], label: str = "yes") -> Path:
    columns = {"plan": PLAN.identity, "round": "chosen", "doc_id": doc_ids, "stratum": "", "inclusion_probability": ""}
    pd.DataFrame({**columns, "label": label}).to_csv(path, index=False)
    return path


def test_chosen_documents_teach_but_estimate_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    words = dict(zip(FRAME.doc_ids.tolist(), np.where(TRUTH, "yes", "no").tolist(), strict=True))
    sheet = write_sheet(tmp_path / "s.csv", PLAN, words.__getitem__)
    others = np.setdiff1d(np.arange(400), PLAN.sample)[:30]
    extra = chosen_sheet(tmp_path / "c.csv", FRAME.doc_ids[others].tolist())
    alone, both = read_sheets(PLAN, [sheet]), read_sheets(PLAN, [sheet, extra])
    assert sorted(both.hand_picked) == others.tolist()
    assert (both.labels == alone.labels).all()
    assert estimate_counts(PLAN, both).to_frame().equals(estimate_counts(PLAN, alone).to_frame())
    assert caplog.messages == ["labels of 30 documents that a person chose are not used"]
    result = learn(PLAN, both, n_draws=100)
    (target,), (without,) = result.targets, learned_of_plan().targets
    assert (alone.labels == true_labels(PLAN, TRUTH).labels).all()
    assert (target.n_labels, without.n_labels) == (150, 120)
    assert target.counts["lower"][0] >= 30 + TRUTH[PLAN.sample].sum()
    table = result.documents_frame().set_index("doc_id")
    assert set(table.loc[FRAME.doc_ids[others], "sampled"]) == {"chosen"}
    assert set(table.loc[FRAME.doc_ids[PLAN.sample], "sampled"]) == {each.name for each in PLAN.strata}


def test_a_chosen_document_must_be_one_of_the_plan_without_a_probability(tmp_path: Path) -> None:
    changes = (
        ({"doc_id": "none such"}, "doc_id must"),
        ({"inclusion_probability": 0.5}, "must be empty"),
        ({"plan": "0"}, "another plan"),
    )
    for cells, message in changes:
        path = edit(chosen_sheet(tmp_path / "c.csv", [str(FRAME.doc_ids[0])]), 0, **cells)
        with pytest.raises(InputError, match=message):
            read_sheets(PLAN, [path])


# --- totals ------------------------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000))
def test_the_difference_estimator_is_that_of_its_definition(seed: int) -> None:
    rng = np.random.default_rng(seed)
    strata = np.sort(rng.integers(0, 3, 30))
    rows = np.concatenate([rng.permutation(np.flatnonzero(strata == h))[:4] for h in set(strata.tolist())])
    p = rng.random(30)
    y = (rng.random(len(rows)) < p[rows]).astype(np.float64)
    estimate, lower, upper = difference_total(strata, rows, y, p, 0.95)
    expected, variance = references.difference_estimate(strata.tolist(), rows.tolist(), y.tolist(), p.tolist())
    most = 30 - (len(rows) - y.sum())
    assert estimate == pytest.approx(np.clip(expected, y.sum(), most))
    assert y.sum() <= lower <= estimate <= upper <= most
    # With as many documents beyond the labels the gamma distribution is about normal.
    if estimate - y.sum() > 8 and upper < most and lower > y.sum():
        assert upper - lower == pytest.approx(2 * 1.96 * np.sqrt(variance), rel=0.25, abs=2.0)


def test_the_difference_estimator_is_unbiased() -> None:
    """Over all samples of two strata; P is one half, so that no estimate is cut off."""
    strata, truth = np.array([0] * 5 + [1] * 6), np.array([1, 0, 0, 1, 0, 1, 1, 1, 0, 1, 0], np.float64)
    samples = [
        np.array(a + b) for a in itertools.combinations(range(5), 2) for b in itertools.combinations(range(5, 11), 3)
    ]
    found = [difference_total(strata, rows, truth[rows], np.full(11, 0.5), 0.95)[0] for rows in samples]
    assert np.mean(found) == pytest.approx(truth.sum())


def test_learned_totals_stand_beside_the_valid_ones() -> None:
    labels, result = true_labels(PLAN, TRUTH), learned_of_plan(has_columns=True)
    estimate = estimate_counts(PLAN, labels, learned=result.cross_fitted)
    assert estimate.to_frame().equals(estimate_counts(PLAN, labels).to_frame())
    (learned,) = estimate.learned.itertuples()
    assert learned.assumption == "learned P"
    assert learned.upper - learned.lower < (estimate.totals["upper"] - estimate.totals["lower"]).item()
    assert learned.lower <= TRUTH.sum() <= learned.upper
    open_labels = true_labels(PLAN, TRUTH)
    open_labels.labels[:10] = MISSING
    (wider,) = estimate_counts(PLAN, open_labels, learned=result.cross_fitted).learned.itertuples()
    assert wider.upper - wider.lower > learned.upper - learned.lower


# --- scores and features -----------------------------------------------------------------------------------


def test_log_scores_are_weighted_by_inclusion() -> None:
    (target,) = learned_of_plan(has_columns=True).targets
    documents = target.documents.loc[PLAN.sample]
    weights = [1.0 / PLAN.strata[h].inclusion_probability for h in PLAN.stratum_of[PLAN.sample]]
    for score, name in zip(target.scores.itertuples(), ("probability", "cross_fitted"), strict=True):
        p = documents[name].clip(0.005, 0.995) if score.p == "run" else documents[name]
        losses = [-np.log(q if label else 1.0 - q) for q, label in zip(p, TRUTH[PLAN.sample], strict=True)]
        assert score.log_score == pytest.approx(np.average(losses, weights=weights))


def test_columns_of_a_table_are_numbers_of_every_document(tmp_path: Path) -> None:
    table = pd.DataFrame({"doc_id": FRAME.doc_ids[::-1], "score": np.arange(400.0)})
    table.to_csv(tmp_path / "t.csv", index=False)
    assert numeric_columns(tmp_path / "t.csv", FRAME)["column score"].tolist() == np.arange(400.0)[::-1].tolist()
    for bad, place in ((table.assign(score="high"), "doc_id"), (table.iloc[1:], "t.csv")):
        bad.to_csv(tmp_path / "t.csv", index=False)
        with error(InputError, place=place):
            numeric_columns(tmp_path / "t.csv", FRAME)


def test_features_that_hardly_vary_are_left_out() -> None:
    rare = np.zeros(400)
    rare[:2] = 1.0
    same = FRAME.probability(0)
    columns = {"rare": rare, "same": same, "seen": SEEN.astype(np.float64)}
    assert list(target_features(FRAME, 0, columns=columns)) == [*PROBABILITY, "P", "seen"]
