"""Recalibrators against plain loops, by hand, by their properties, and against scikit-learn where it is installed."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from expected_errors import error
from hypothesis import given, settings
from hypothesis import strategies as st
from references.calibration_recalibrators_and_tags import (
    Pair,
    bins_by_number,
    bins_of_equal_width,
    interpolated,
    isotonic,
    share_positive,
    softmax_loss,
    weighted_mean,
)
from scipy.optimize import minimize
from tolerance import plausible_means

from corefsample import ParameterError
from corefsample.calibration._binners import (
    HistogramBinning,
    IsotonicRecalibration,
    ScalingBinning,
)
from corefsample.calibration._grouped import GroupedRecalibrator
from corefsample.calibration._logistic import (
    BetaCalibration,
    BinaryTemperatureScaling,
    PlattScaling,
    TemperatureScaling,
)
from corefsample.calibration._recalibrator import FittedModel, Recalibrator

values = st.one_of(st.integers(0, 8).map(lambda k: k / 8), st.floats(0.0, 1.0, allow_subnormal=False))
labels = st.integers(0, 1)
whole_weights = st.integers(1, 4).map(float)
triples = st.lists(st.tuples(values, labels.map(float), whole_weights), min_size=1, max_size=14)

WITHOUT_SPLIT: list[Callable[[], Recalibrator]] = [
    lambda: HistogramBinning(n_bins=1),
    lambda: HistogramBinning(n_bins=1, strategy="uniform"),
    IsotonicRecalibration,
    PlattScaling,
    BetaCalibration,
    BinaryTemperatureScaling,
]
EVERY: list[Callable[[], Recalibrator]] = [
    *WITHOUT_SPLIT,
    lambda: ScalingBinning(n_bins=1),
    lambda: ScalingBinning(n_bins=1, scaler="platt", share=0.3, seed=5),
]
few = settings(max_examples=25)
grid = np.linspace(0.0, 1.0, 41)


def columns(rows: list[Pair]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    q, y, w = (np.array(column) for column in zip(*rows, strict=True))
    return q, y, w


def some_pairs(n: int = 400, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Overconfident predictions of pairs in 20 documents."""
    rng = np.random.default_rng(seed)
    p = rng.beta(0.5, 0.8, n)
    return p**2 / (p**2 + (1 - p) ** 2), (rng.random(n) < p).astype(int), rng.integers(0, 20, n)


# --- isotonic regression -----------------------------------------------------------------------------------


@few
@given(triples)
def test_isotonic_values_are_those_of_the_max_min_formula(rows: list[Pair]) -> None:
    q, y, w = columns(rows)
    expected = isotonic(rows)
    model = IsotonicRecalibration().fit(q, y, w)
    assert model.predict(q) == pytest.approx([expected[v] for v in q], abs=1e-12)
    assert model.predict(grid) == pytest.approx([interpolated(expected, v) for v in grid], abs=1e-9)


# --- histogram binning -------------------------------------------------------------------------------------


@given(triples, st.integers(1, 6))
def test_adaptive_bins_give_the_share_of_positive_labels(rows: list[Pair], n_bins: int) -> None:
    n_bins = min(n_bins, len(rows))
    q, y, w = columns(rows)
    found = HistogramBinning(n_bins=n_bins).fit(q, y, w)
    bins = bins_by_number(rows, n_bins)
    expected = {pair[0]: share_positive(content) for content in bins for pair in content}
    assert found.predict(q) == pytest.approx([expected[v] for v in q], abs=1e-12)
    assert found.edges_.tolist() == [0.0, *[min(content)[0] for content in bins[1:]], 1.0]


@few
@given(triples, st.integers(1, 6))
def test_uniform_bins_give_the_share_of_positive_labels(rows: list[Pair], n_bins: int) -> None:
    n_bins = min(n_bins, len(rows))
    q, y, w = columns(rows)
    found = HistogramBinning(n_bins=n_bins, strategy="uniform").fit(q, y, w)
    expected = {pair[0]: share_positive(content) for content in bins_of_equal_width(rows, n_bins) for pair in content}
    assert found.predict(q) == pytest.approx([expected[v] for v in q], abs=1e-12)


def test_an_empty_bin_of_equal_width_joins_the_one_below() -> None:
    # Five bins; pairs in [.2, .4) and [.8, 1]: the first joins the bin above it, the others the bin below.
    found = HistogramBinning(n_bins=5, strategy="uniform").fit([0.3, 0.3, 0.3, 0.9, 1.0], [0, 0, 1, 1, 1])
    assert found.edges_.tolist() == [0.0, 0.8, 1.0]
    assert found.predict([0.0, 0.5, 0.79, 0.8]) == pytest.approx([1 / 3, 1 / 3, 1 / 3, 1.0])


# --- scaling-binning ---------------------------------------------------------------------------------------


def scaling_binning_reference(first: list[Pair], second: list[Pair], n_bins: int, q: np.ndarray) -> list[float]:
    """Isotonic fit of the first part; bins and their means from the second; labels of the second unused."""
    fitted = isotonic(first)
    scaled = [(interpolated(fitted, value), 0.0, weight) for value, _, weight in second]
    bins = bins_by_number(scaled, n_bins)
    lower = [0.0] + [min(content)[0] for content in bins[1:]]
    means = [weighted_mean([s for s, _, _ in content], [w for _, _, w in content]) for content in bins]
    return [means[max(b for b in range(len(bins)) if lower[b] <= interpolated(fitted, value))] for value in q]


def eighths(rows: list[Pair]) -> list[Pair]:
    """Predictions k/8: interpolated values then do not come so close to edges that rounding decides."""
    return [(round(q * 8) / 8, y, w) for q, y, w in rows]


@few
@given(triples, triples, st.integers(0, 20), st.integers(1, 3))
def test_one_document_scales_and_the_other_is_binned(
    one: list[Pair], other: list[Pair], seed: int, n_bins: int
) -> None:
    one, other = eighths(one), eighths(other)
    n_bins = min(n_bins, len(one), len(other))
    q, y, w = columns(one + other)
    documents = ["a"] * len(one) + ["b"] * len(other)
    found = ScalingBinning(n_bins=n_bins, seed=seed).fit(q, y, w, documents=documents)
    a_first = scaling_binning_reference(one, other, n_bins, q)
    b_first = scaling_binning_reference(other, one, n_bins, q)
    predicted = found.predict(q)
    agrees = [predicted == pytest.approx(expected, abs=1e-9) for expected in (a_first, b_first)]
    assert any(agrees)
    assert (found.n_scaled_, found.n_binned_) in {(len(one), len(other)), (len(other), len(one))}


def test_either_document_may_scale() -> None:
    q, y = [0.2, 0.8, 0.2, 0.8], [0, 1, 1, 1]
    found = {
        float(ScalingBinning(n_bins=1, seed=seed).fit(q, y, documents=list("aabb")).scaler_.predict([0.2])[0])
        for seed in range(20)
    }
    assert found == {0.0, 1.0}  # the first document's label at .2, or the second's


def test_the_split_is_at_random_and_not_by_position() -> None:
    # Labels 0 in the first half of the rows and 1 in the second: a split by position would scale all to 0.
    n = 1000
    q, y = np.full(n, 0.5), np.repeat([0, 1], n // 2)
    shares = [ScalingBinning(n_bins=1, seed=seed).fit(q, y).values_[0] for seed in range(20)]
    # Share of 500 drawn from 1000 without replacement: variance .25 / 500 * 500 / 999; the mean of 20 of them.
    assert plausible_means(np.mean(shares), 0.5, math.sqrt(0.25 / 999 / 20)).all()
    assert len(set(shares)) > 1


def test_a_split_needs_two_of_what_is_split() -> None:
    with pytest.raises(ParameterError, match="documents must contain at least two to be split, got 1"):
        ScalingBinning(n_bins=1).fit([0.1, 0.2], [0, 1], documents=["a", "a"])
    with error(ParameterError, "q"):
        ScalingBinning(n_bins=1).fit([0.1], [0])
    with error(ParameterError, "documents"):  # a weighs nothing
        ScalingBinning(n_bins=1).fit([0.1, 0.2, 0.3], [0, 1, 1], [0, 1, 1], documents=["a", "b", "b"])


# --- Platt scaling -----------------------------------------------------------------------------------------


@few
@given(triples.filter(lambda rows: len({q for q, _, _ in rows}) > 1))
def test_the_logistic_fit_meets_its_own_conditions(rows: list[Pair]) -> None:
    rows = [(min(max(q, 0.001), 0.999), y, w) for q, y, w in rows]
    q, y, w = columns(rows)
    n_positive, n_negative = (w * y).sum(), (w * (1 - y)).sum()
    target = np.where(y == 1, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))
    residual = w * (PlattScaling().fit(q, y, w).predict(q) - target)
    assert residual.sum() == pytest.approx(0.0, abs=1e-6)
    assert (residual * np.log(q / (1 - q))).sum() == pytest.approx(0.0, abs=1e-6)


def test_a_logistic_distortion_is_undone() -> None:
    # Odds were raised to the power 2 and doubled: log odds = 2 x + log 2, so slope 1/2 and intercept -log(2) / 2.
    rng = np.random.default_rng(5)
    x = rng.normal(0.0, 1.5, 100_000)
    y = rng.random(x.size) < 1 / (1 + np.exp(-x))
    shifted = 2 * x + math.log(2)
    model = PlattScaling().fit(1 / (1 + np.exp(-shifted)), y)
    p = 1 / (1 + np.exp(-x))
    design = np.stack([shifted, np.ones_like(x)])
    errors = np.sqrt(np.diag(np.linalg.inv((design * (p * (1 - p))) @ design.T)))  # inverse Fisher information
    assert plausible_means([model.slope_, model.intercept_], [0.5, -math.log(2) / 2], errors).all()


def test_one_label_has_a_finite_fit() -> None:
    # Two positive pairs: smoothed label (2 + 1) / (2 + 2).
    assert PlattScaling().fit([0.5, 0.5], [1, 1]).predict([0.5]) == pytest.approx([0.75], abs=1e-6)
    assert np.isfinite(PlattScaling().fit([0.0, 1.0], [0, 1]).predict(grid)).all()


# --- beta calibration --------------------------------------------------------------------------------------


def beta_loss(theta: np.ndarray, rows: list[Pair]) -> float:
    """Minus the log likelihood of a, b, c with smoothed labels, pair by pair."""
    q, y, w = columns(rows)
    n_positive, n_negative = float((w * y).sum()), float((w * (1 - y)).sum())
    total = 0.0
    for qi, yi, wi in zip(q.tolist(), y.tolist(), w.tolist(), strict=True):
        score = theta[0] * math.log(qi) - theta[1] * math.log(1 - qi) + theta[2]
        target = (n_positive + 1) / (n_positive + 2) if yi else 1 / (n_negative + 2)
        total += wi * (np.logaddexp(0.0, score) - target * score)
    return total


@settings(max_examples=12)
@given(triples.filter(lambda rows: len({q for q, _, _ in rows}) > 1))
def test_beta_calibration_is_the_likeliest_curve_that_never_falls(rows: list[Pair]) -> None:
    rows = [(min(max(q, 0.01), 0.99), y, w) for q, y, w in rows]
    model = BetaCalibration().fit(*columns(rows))
    found = np.array([model.a_, model.b_, model.c_])
    assert found[:2].min() >= 0.0
    least = beta_loss(found, rows)
    bounds = [(0.0, None), (0.0, None), (None, None)]
    for start in ([1.0, 1.0, 0.0], [0.0, 0.0, 0.0], [3.0, 0.1, 1.0]):
        other = minimize(beta_loss, start, args=(rows,), bounds=bounds, method="L-BFGS-B")
        assert least <= other.fun + 1e-7
    assert (np.diff(model.predict(grid)) >= 0.0).all()


def test_a_beta_distortion_is_undone() -> None:
    # True log odds: 0.5 log q - 2 log(1 - q) + 0.3.
    rng = np.random.default_rng(6)
    q = rng.beta(0.8, 0.8, 100_000)
    features = np.stack([np.log(q), -np.log1p(-q), np.ones_like(q)])
    p = 1 / (1 + np.exp(-(np.array([0.5, 2.0, 0.3]) @ features)))
    model = BetaCalibration().fit(q, rng.random(q.size) < p)
    errors = np.sqrt(np.diag(np.linalg.inv((features * (p * (1 - p))) @ features.T)))  # inverse Fisher information
    assert plausible_means([model.a_, model.b_, model.c_], [0.5, 2.0, 0.3], errors).all()


# --- temperature of a probability --------------------------------------------------------------------------


@few
@given(triples)
def test_a_binary_temperature_is_that_of_two_classes(rows: list[Pair]) -> None:
    q, y, w = columns([(min(max(q, 0.001), 0.999), y, w) for q, y, w in rows])
    model = BinaryTemperatureScaling(lowest=0.1, highest=10.0).fit(q, y, w)
    classes = TemperatureScaling(lowest=0.1, highest=10.0).fit(np.log(np.stack([1 - q, q], axis=1)), y.astype(int), w)
    assert model.temperature_ == pytest.approx(classes.temperature_, rel=1e-6)
    assert model.at_bound_ == classes.at_bound_

    # No temperature of a grid is likelier.
    def loss(temperature: float) -> float:
        odds = np.log(q / (1 - q)) / temperature
        return float((w * (np.logaddexp(0.0, odds) - y * odds)).sum())

    assert loss(model.temperature_) <= min(map(loss, np.geomspace(0.1, 10.0, 60))) + 1e-9


def test_a_temperature_leaves_one_half_where_it_is() -> None:
    q, y, _ = some_pairs()
    model = BinaryTemperatureScaling().fit(q, y)
    assert model.temperature_ > 1.2  # overconfident
    assert model.predict([0.5]).tolist() == [0.5]
    np.testing.assert_allclose(model.predict(grid) + model.predict(grid[::-1]), 1.0, atol=1e-12)
    with error(ParameterError, "highest"):
        BinaryTemperatureScaling(lowest=2.0, highest=1.0).fit(q, y)


# --- temperature -------------------------------------------------------------------------------------------

rows_of_scores = st.lists(st.lists(st.floats(-4, 4), min_size=3, max_size=3), min_size=1, max_size=8)


@few
@given(rows_of_scores, st.data())
def test_no_other_temperature_has_a_better_likelihood(rows: list[list[float]], data: st.DataObject) -> None:
    gold = [data.draw(st.integers(0, 2)) for _ in rows]
    model = TemperatureScaling(lowest=0.1, highest=10.0).fit(rows, gold)
    found = softmax_loss(rows, gold, model.temperature_)
    for other in (*np.geomspace(0.1, 10.0, 41), model.temperature_ * 1.001, model.temperature_ / 1.001):
        if 0.1 <= other <= 10.0:
            assert found <= softmax_loss(rows, gold, float(other)) + 1e-12


@pytest.mark.parametrize("factor", [0.5, 1.0, 2.0])
def test_a_temperature_is_recovered(factor: float) -> None:
    rng = np.random.default_rng(8)
    scores = rng.normal(0.0, 2.0, (20_000, 4))
    probs = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    gold = (rng.random((20_000, 1)) > probs.cumsum(axis=1)).sum(axis=1)
    variance = (probs * scores**2).sum(axis=1) - (probs * scores).sum(axis=1) ** 2  # information about 1/T at T = 1
    model = TemperatureScaling().fit(scores * factor, gold)
    assert plausible_means(factor / model.temperature_, 1.0, 1 / math.sqrt(variance.sum())).all()
    assert not model.at_bound_


def test_scores_that_are_always_right_or_useless_end_at_a_bound() -> None:
    always = TemperatureScaling(lowest=0.5, highest=2.0).fit([[1.0, 0.0], [0.0, 1.0]], [0, 1])
    never = TemperatureScaling(lowest=0.5, highest=2.0).fit([[1.0, 0.0], [0.0, 1.0]], [1, 0])
    assert (always.temperature_, always.at_bound_) == (0.5, True)
    assert (never.temperature_, never.at_bound_) == (2.0, True)


def test_scores_that_do_not_differ_leave_the_temperature_at_1() -> None:
    model = TemperatureScaling().fit([[3.0, 3.0], [0.0, -math.inf]], [1, 0])
    assert (model.temperature_, model.at_bound_) == (1.0, False)


def test_an_excluded_class_has_no_effect() -> None:
    rng = np.random.default_rng(10)
    scores, gold = rng.normal(size=(50, 3)), rng.integers(0, 3, 50)
    with_mask = np.column_stack([scores, np.full(50, -math.inf)])
    one, other = TemperatureScaling().fit(scores, gold), TemperatureScaling().fit(with_mask, gold)
    assert other.temperature_ == pytest.approx(one.temperature_, rel=1e-12)
    assert (other.predict(with_mask)[:, 3] == 0.0).all()


def test_a_row_weighs_as_often_as_it_is_given() -> None:
    rng = np.random.default_rng(11)
    scores, gold, weights = rng.normal(size=(30, 3)), rng.integers(0, 3, 30), rng.integers(0, 3, 30)
    weighted = TemperatureScaling().fit(scores, gold, weights)
    repeated = TemperatureScaling().fit(scores.repeat(weights, axis=0), gold.repeat(weights))
    assert weighted.temperature_ == pytest.approx(repeated.temperature_, rel=1e-9)


def test_a_row_of_no_weight_does_not_count_as_one_that_differs() -> None:
    assert TemperatureScaling().fit([[3.0, 3.0], [5.0, 0.0]], [1, 0], [1, 0]).temperature_ == 1.0


def test_rows_of_probabilities_sum_to_1_even_for_huge_scores() -> None:
    model = TemperatureScaling().fit([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]], [0, 1, 1])
    assert model.predict([[1e6, -1e6], [700.0, 700.0]]).tolist() == [[1.0, 0.0], [0.5, 0.5]]


@pytest.mark.parametrize(
    ("logits", "gold", "parameter"),
    [
        *[([row], [0], "logits") for row in ([0.0, math.nan], [0.0, math.inf], [-math.inf, -math.inf])],
        *[([[0.0, 1.0]], gold, "gold") for gold in ([2], [-1], [0, 1], [0.5])],
        ([[0.0, -math.inf]], [1], "gold"),
        *[([0.0, 1.0], [0], "logits"), (np.zeros((0, 2)), [], "logits")],
    ],
)
def test_bad_scores_raise(logits: Any, gold: Any, parameter: str) -> None:
    with error(ParameterError, parameter):
        TemperatureScaling().fit(logits, gold)


@pytest.mark.parametrize("bounds", [(0.0, 1.0), (1.0, 1.0), (2.0, 1.0), (0.1, math.inf), (math.nan, 1.0), (True, 2.0)])
def test_bad_bounds_raise(bounds: tuple[float, float]) -> None:
    wrong_lowest = bounds[0] is True or not bounds[0] > 0.0
    with error(ParameterError, "lowest" if wrong_lowest else "highest"):
        TemperatureScaling(lowest=bounds[0], highest=bounds[1]).fit([[0.0, 1.0]], [0])


# --- what all have in common -------------------------------------------------------------------------------


@pytest.mark.parametrize("make", EVERY)
def test_fit_returns_the_recalibrator_and_predictions_are_probabilities(make: Callable[[], Recalibrator]) -> None:
    q, y, documents = some_pairs()
    model = make()
    assert model.fit(q, y, documents=documents) is model
    found = model.predict(grid)
    assert found.shape == grid.shape
    assert ((found >= 0.0) & (found <= 1.0)).all()
    assert model.predict([]).shape == (0,)


@pytest.mark.parametrize("make", WITHOUT_SPLIT)
@few
@given(rows=triples)
def test_a_weight_is_the_pair_given_so_often(make: Callable[[], Recalibrator], rows: list[Pair]) -> None:
    q, y, w = columns(rows)
    often = w.astype(int)
    weighted, repeated = make().fit(q, y, w), make().fit(q.repeat(often), y.repeat(often))
    assert weighted.predict(grid) == pytest.approx(repeated.predict(grid), abs=1e-6)


@pytest.mark.parametrize("make", EVERY)
def test_weights_are_as_good_as_repeating_where_documents_are_split(make: Callable[[], Recalibrator]) -> None:
    q, y, documents = some_pairs()
    often = np.random.default_rng(1).integers(0, 3, q.size)
    weighted = make().fit(q, y, often, documents=documents)
    repeated = make().fit(q.repeat(often), y.repeat(often), documents=documents.repeat(often))
    assert weighted.predict(grid) == pytest.approx(repeated.predict(grid), abs=1e-6)


@pytest.mark.parametrize("make", EVERY)
def test_the_order_of_rows_changes_no_bit(make: Callable[[], Recalibrator]) -> None:
    q, y, documents = some_pairs()
    q, weights = q.round(2), np.random.default_rng(2).random(q.size)  # rounded, so that sums over ties are long
    order = np.random.default_rng(3).permutation(q.size)
    one = make().fit(q, y, weights, documents=documents)
    other = make().fit(q[order], y[order], weights[order], documents=documents[order])
    assert one.to_json() == other.to_json()


@pytest.mark.parametrize("make", EVERY)
def test_predicting_before_the_fit_raises(make: Callable[[], Recalibrator]) -> None:
    model = make()
    with pytest.raises(ParameterError, match=f"{type(model).__name__} must be fitted before it predicts"):
        model.predict([0.5])


@pytest.mark.parametrize("make", EVERY)
def test_bad_pairs_raise(make: Callable[[], Recalibrator]) -> None:
    with error(ParameterError, "q"):
        make().fit([math.nan], [1])
    for weights in ([1.0], [1.0, -1.0], [math.inf, 1.0], [0.0, 0.0]):
        with error(ParameterError, "sample_weight"):
            make().fit([0.5, 0.5], [0, 1], weights)
    with error(ParameterError, "q"):
        make().fit(*some_pairs(20)[:2]).predict([0.5, -0.5])


@pytest.mark.parametrize(
    ("kind", "option"),
    [
        *[(HistogramBinning, {"n_bins": 0}), (HistogramBinning, {"n_bins": 5}), (ScalingBinning, {"n_bins": 3})],
        *[(HistogramBinning, {"strategy": "even", "n_bins": 1}), (ScalingBinning, {"scaler": "beta"})],
        *[(ScalingBinning, {"share": 1.0}), (ScalingBinning, {"seed": -1})],
    ],
)
def test_fit_raises_for_bad_parameters(kind: Any, option: dict[str, Any]) -> None:
    with error(ParameterError, next(iter(option))):
        kind(**option).fit([0.1, 0.2, 0.3, 0.4], [0, 1, 0, 1])


# --- groups ------------------------------------------------------------------------------------------------


@few
@given(st.lists(st.tuples(values, labels, st.sampled_from("abc")), min_size=1, max_size=20))
def test_each_group_has_the_fit_of_its_own_pairs(rows: list[tuple[float, int, str]]) -> None:
    q, y, g = (np.array(column) for column in zip(*rows, strict=True))
    model = GroupedRecalibrator(IsotonicRecalibration()).fit(q, y, g)
    for name in "abc":
        mine = g == name
        own = (q[mine], y[mine]) if mine.any() else (q, y)  # a new group uses the fit to all pairs
        expected = IsotonicRecalibration().fit(*own).predict(grid)
        assert model.predict(grid, [name] * grid.size).tolist() == expected.tolist()


def test_groups_may_be_mixed_in_any_order() -> None:
    model = GroupedRecalibrator(HistogramBinning(n_bins=1)).fit([0.5] * 4, [0, 1, 1, 1], [7, 7, 3, 3])
    assert model.groups_ == [3, 7]
    assert model.predict([0.1, 0.2, 0.3, 0.4], [7, 3, 9, 7]).tolist() == [0.5, 1.0, 0.75, 0.5]


def test_an_unknown_group_raises_if_requested() -> None:
    model = GroupedRecalibrator(IsotonicRecalibration(), unknown="raise").fit([0.2, 0.8], [0, 1], ["a", "b"])
    with pytest.raises(ParameterError, match=r"groups must be among those of the fit \['a', 'b'\], got 'c'"):
        model.predict([0.5, 0.5], ["a", "c"])


def test_a_group_of_few_pairs_shares_the_fit_to_all_and_is_not_unknown() -> None:
    model = GroupedRecalibrator(HistogramBinning(n_bins=1), unknown="raise", min_pairs=2)
    model.fit([0.5] * 3, [0, 0, 1], ["a", "a", "b"])
    assert model.recalibrators_[1] is None
    assert model.predict([0.5, 0.5], ["a", "b"]) == pytest.approx([0.0, 1 / 3])


def test_weights_and_documents_reach_the_fit_of_a_group() -> None:
    q, y, documents = some_pairs()
    groups, weights = np.arange(q.size) % 2, np.arange(q.size) % 5
    model = GroupedRecalibrator(ScalingBinning(n_bins=3, seed=4)).fit(q, y, groups, weights, documents=documents)
    mine = groups == 1
    own = ScalingBinning(n_bins=3, seed=4).fit(q[mine], y[mine], weights[mine], documents=documents[mine])
    assert model.predict(grid, np.ones(grid.size, int)).tolist() == own.predict(grid).tolist()


def test_a_group_whose_pairs_have_no_weight_is_unknown() -> None:
    model = GroupedRecalibrator(HistogramBinning(n_bins=1)).fit([0.5] * 2, [0, 1], ["a", "b"], [1, 0])
    assert model.groups_ == ["a"]


class Reversed(Recalibrator):
    """A user-defined recalibrator, which contains another one."""

    done_: bool

    def __init__(self, inner: Recalibrator) -> None:
        self.inner = inner

    def _fit(self, pairs: Any) -> None:
        self.inner.fit(pairs.q, 1 - pairs.y, pairs.weights)
        self.done_ = True

    def _predict(self, q: np.ndarray) -> np.ndarray:
        return 1.0 - self.inner.predict(q)


def test_a_nested_recalibrator_is_copied_for_each_group() -> None:
    base = Reversed(HistogramBinning(n_bins=1))
    model = GroupedRecalibrator(base).fit([0.5] * 4, [0, 0, 1, 1], ["a", "a", "b", "b"])
    assert model.predict([0.5, 0.5, 0.5], ["a", "b", "c"]).tolist() == [0.0, 1.0, 0.5]
    again = FittedModel.from_json(model.to_json())
    assert isinstance(again, GroupedRecalibrator)
    assert again.predict([0.5, 0.5, 0.5], ["a", "b", "c"]).tolist() == [0.0, 1.0, 0.5]
    with pytest.raises(ParameterError, match="must be fitted"):
        base.inner.predict([0.5])


def test_an_error_in_the_fit_of_a_group_names_it() -> None:
    model = GroupedRecalibrator(HistogramBinning(n_bins=2))
    with error(ParameterError, "n_bins", place="group 'b'"):
        model.fit([0.1, 0.2, 0.3], [0, 1, 1], ["a", "a", "b"])


@pytest.mark.parametrize(
    ("base", "options", "groups", "parameter"),
    [
        (IsotonicRecalibration(), {}, ["a"], "groups"),
        (IsotonicRecalibration(), {}, ["a", None], "groups"),
        ("isotonic", {}, ["a", "b"], "base"),
        (IsotonicRecalibration(), {"unknown": "drop"}, ["a", "b"], "unknown"),
        (IsotonicRecalibration(), {"min_pairs": 0}, ["a", "b"], "min_pairs"),
    ],
)
def test_bad_groups_raise(base: Any, options: Any, groups: Any, parameter: str) -> None:
    with error(ParameterError, parameter):
        GroupedRecalibrator(base, **options).fit([0.2, 0.8], [0, 1], groups)
    with error(ParameterError):  # before the fit
        GroupedRecalibrator(base).predict([0.5], ["a"])


# --- saved fits --------------------------------------------------------------------------------------------


def fitted_groups(base: Recalibrator, **options: Any) -> GroupedRecalibrator:
    q, y, documents = some_pairs()
    return GroupedRecalibrator(base, **options).fit(q, y, np.where(documents > 3, "rare", "common"))


FITTED: list[Callable[[], FittedModel]] = [
    *[lambda make=make: make().fit(*some_pairs()[:2]) for make in EVERY],  # type: ignore[misc]
    lambda: fitted_groups(ScalingBinning(n_bins=2), min_pairs=150),
    lambda: fitted_groups(HistogramBinning(n_bins=2)),
    lambda: GroupedRecalibrator(IsotonicRecalibration()).fit(*some_pairs()),  # groups are whole numbers
    lambda: TemperatureScaling().fit(np.stack([some_pairs()[0], 1 - some_pairs()[0]], axis=1), some_pairs()[1]),
]


@pytest.mark.parametrize("make", FITTED)
def test_a_saved_fit_is_restored_exactly(make: Callable[[], FittedModel]) -> None:
    model = make()
    text = model.to_json()
    again = FittedModel.from_json(text)
    assert type(again) is type(model)
    assert again.to_json() == text
    assert repr(again) == repr(model)
    if isinstance(model, Recalibrator):
        assert isinstance(again, Recalibrator)
        assert again.predict(grid).tolist() == model.predict(grid).tolist()
    if isinstance(model, GroupedRecalibrator):
        assert isinstance(again, GroupedRecalibrator)
        assert again.groups_ == model.groups_
        for name in model.groups_:
            groups = [name] * grid.size
            assert again.predict(grid, groups).tolist() == model.predict(grid, groups).tolist()


def test_groups_are_restored_where_their_recalibrator_was_not_used_before() -> None:
    text = fitted_groups(HistogramBinning(n_bins=2)).to_json()
    program = (
        f"from corefsample.calibration._grouped import GroupedRecalibrator\nGroupedRecalibrator.from_json({text!r})"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def broken(path: list[Any], value: Any) -> str:
    """A saved fit, as written by hand, with one entry changed."""
    content: dict[str, Any] = {
        "model": "HistogramBinning",
        "format": 1,
        "parameters": {"n_bins": 2, "strategy": "adaptive"},
        "fitted": {
            "edges_": {"array": [0.0, 0.9, 1.0], "dtype": "<f8"},
            "values_": {"array": [0.0, 1.0], "dtype": "<f8"},
        },
    }
    inner = content
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return json.dumps(content)


@pytest.mark.parametrize(
    ("text", "parameter"),
    [
        *[(text, "text") for text in ("{", "[1]", "{}", broken(["format"], 2), broken(["fitted"], {}))],
        *[(broken(["model"], name), "text") for name in ("os.system", ["x"])],
        (broken(["parameters"], {"n": 2}), None),
        (broken(["fitted"], {"edges_": 1}), None),
        (broken(["fitted", "values_", "array"], ["a", "b"]), "text"),
    ],
)
def test_a_text_without_a_fit_raises(text: str, parameter: str | None) -> None:
    with error(ParameterError, parameter, None if parameter else "HistogramBinning"):
        FittedModel.from_json(text)


def test_a_fit_of_another_model_raises() -> None:
    text = IsotonicRecalibration().fit([0.1, 0.9], [0, 1]).to_json()
    with pytest.raises(ParameterError, match="must be JSON of a fitted HistogramBinning, got IsotonicRecalibration"):
        HistogramBinning.from_json(text)


def test_fitted_arrays_are_read_only() -> None:
    model = HistogramBinning(n_bins=1).fit([0.1], [1])
    for fitted in (model, HistogramBinning.from_json(model.to_json())):
        with pytest.raises(ValueError, match="read-only"):
            fitted.values_[0] = 0.5


# --- the manner of scikit-learn ----------------------------------------------------------------------------


def test_parameters_are_named_and_set() -> None:
    model = GroupedRecalibrator(HistogramBinning(n_bins=3), min_pairs=4)
    assert model.get_params()["base__n_bins"] == 3
    assert set(model.get_params(deep=False)) == {"base", "unknown", "min_pairs"}
    assert model.set_params(base__n_bins=5, unknown="raise") is model
    assert (model.get_params()["base__n_bins"], model.unknown) == (5, "raise")
    assert repr(model) == (
        "GroupedRecalibrator(base=HistogramBinning(n_bins=5, strategy='adaptive'), unknown='raise', min_pairs=4)"
    )


def test_unknown_parameters_raise() -> None:
    with pytest.raises(ParameterError, match="bin is no parameter of HistogramBinning, which has n_bins, strategy"):
        HistogramBinning().set_params(bin=3)
    with pytest.raises(ParameterError, match="n_bins must be a model to have a parameter 'x', got 10"):
        HistogramBinning().set_params(n_bins__x=3)


@pytest.mark.parametrize("make", FITTED)
def test_scikit_learn_clones_without_the_fit(make: Callable[[], FittedModel]) -> None:
    model = make()
    base = pytest.importorskip("sklearn.base")
    copy = base.clone(model)
    assert copy is not model
    assert repr(copy) == repr(model)
    with pytest.raises(ParameterError, match="must be fitted"):
        copy.to_json()
