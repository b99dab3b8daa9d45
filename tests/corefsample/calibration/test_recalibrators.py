"""Recalibrators against slow references and scipy's optimiser; scikit-learn's conventions."""

import functools
import math
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from expected_errors import error
from hypothesis import given, settings, strategies as st
from references.calibration_recalibrators import Pair, interpolated, isotonic
from tolerance import plausible_means

from corefsample import ParameterError
from corefsample.calibration import IsotonicRecalibration, PlattScaling
from corefsample.calibration._recalibrators import Recalibrator

values = st.one_of(st.integers(0, 8).map(lambda k: k / 8), st.floats(0.0, 1.0, allow_subnormal=False))
labels = st.integers(0, 1)
pair_lists = st.lists(st.tuples(values, labels.map(float)), min_size=1, max_size=14).flatmap(
    lambda pairs: st.lists(st.sampled_from(pairs), max_size=20).map(lambda again: pairs + again)
)
few = settings(max_examples=25)
grid = np.linspace(0.0, 1.0, 41)
quadratic = functools.partial(PlattScaling, degree=2)
each_kind = pytest.mark.parametrize("kind", [IsotonicRecalibration, PlattScaling, quadratic])


def columns(rows: list[Pair]) -> tuple[np.ndarray, np.ndarray]:
    q, y = (np.array(column) for column in zip(*rows, strict=True))
    return q, y


def some_pairs(n: int = 400, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Overconfident predictions."""
    rng = np.random.default_rng(seed)
    p = rng.beta(0.5, 0.8, n)
    return p**2 / (p**2 + (1 - p) ** 2), (rng.random(n) < p).astype(int)


@few
@given(pair_lists)
def test_isotonic_values_are_those_of_the_max_min_formula(rows: list[Pair]) -> None:
    q, y = columns(rows)
    expected = isotonic(rows)
    model = IsotonicRecalibration().fit(q, y)
    assert model.predict(q) == pytest.approx([expected[v] for v in q], abs=1e-12)
    assert model.predict(grid) == pytest.approx([interpolated(expected, v) for v in grid], abs=1e-9)


# --- Platt scaling -----------------------------------------------------------------------------------------


@few
@given(pair_lists.filter(lambda rows: len({q for q, _ in rows}) > 1))
def test_the_logistic_fits_meet_their_own_conditions(rows: list[Pair]) -> None:
    rows = [(min(max(q, 0.001), 0.999), y) for q, y in rows]
    q, y = columns(rows)
    n_positive, n_negative = y.sum(), (1 - y).sum()
    target = np.where(y == 1, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))
    for degree in (1, 2):
        residual = PlattScaling(degree=degree).fit(q, y).predict(q) - target
        for power in range(degree + 1):
            assert (residual * np.log(q / (1 - q)) ** power).sum() == pytest.approx(0.0, abs=1e-5)


def test_a_quadratic_distortion_is_undone() -> None:
    # True log odds: 0.7 x + 0.2 + 0.15 x^2.
    rng = np.random.default_rng(7)
    x = rng.normal(0.0, 1.5, 100_000)
    features = np.stack([x, np.ones_like(x), x**2])
    truth = [0.7, 0.2, 0.15]
    p = 1 / (1 + np.exp(-(truth @ features)))
    model = quadratic().fit(1 / (1 + np.exp(-x)), rng.random(x.size) < p)
    errors = np.sqrt(np.diag(np.linalg.inv((features * (p * (1 - p))) @ features.T)))  # inverse Fisher information
    assert plausible_means([model.slope_, model.intercept_, model.curvature_], truth, errors).all()


def test_one_label_has_a_finite_fit_of_degree_one_or_two() -> None:
    # Two positive pairs: smoothed label (2 + 1) / (2 + 2).
    assert PlattScaling().fit([0.5, 0.5], [1, 1]).predict([0.5]) == pytest.approx([0.75], abs=1e-6)
    assert np.isfinite(PlattScaling().fit([0.0, 1.0], [0, 1]).predict(grid)).all()
    with error(ParameterError, "degree"):
        PlattScaling(degree=3).fit([0.2, 0.4], [0, 1])  # type: ignore[arg-type]


# --- what all have in common -------------------------------------------------------------------------------


@each_kind
def test_fit_returns_the_recalibrator_and_predictions_are_probabilities(kind: Callable[[], Recalibrator]) -> None:
    model = kind()
    assert model.fit(*some_pairs()) is model
    found = model.predict(grid)
    assert found.shape == grid.shape
    assert ((found >= 0.0) & (found <= 1.0)).all()
    assert model.predict([]).shape == (0,)


@each_kind
def test_the_order_of_rows_changes_no_bit(kind: Callable[[], Recalibrator]) -> None:
    q, y = some_pairs()
    q = q.round(2)  # so that sums over ties are long
    order = np.random.default_rng(3).permutation(q.size)
    one, other = kind().fit(q, y), kind().fit(q[order], y[order])
    assert one.predict(grid).tolist() == other.predict(grid).tolist()


@each_kind
def test_predicting_before_the_fit_raises(kind: Callable[[], Recalibrator]) -> None:
    model = kind()
    with pytest.raises(ParameterError, match=f"{type(model).__name__} must be fitted before it predicts"):
        model.predict([0.5])


@each_kind
def test_bad_pairs_raise(kind: Callable[[], Recalibrator]) -> None:
    with error(ParameterError, "q"):
        kind().fit([math.nan], [1])
    with error(ParameterError, "q"):
        kind().fit(*some_pairs(20)).predict([0.5, -0.5])


# --- the conventions of scikit-learn -----------------------------------------------------------------------


def test_only_parameters_can_be_set() -> None:
    assert IsotonicRecalibration().set_params().get_params() == {}
    assert PlattScaling().set_params(degree=2).get_params() == {"degree": 2}
    with error(ParameterError, "slope"):
        PlattScaling().set_params(slope=3)


@each_kind
@pytest.mark.filterwarnings("ignore")  # most checks are for two dimensions, and are left out with a warning
def test_the_checks_of_scikit_learn_for_estimators_of_one_dimension_pass(kind: Callable[[], Recalibrator]) -> None:
    pytest.importorskip("sklearn", minversion="1.6")
    from sklearn.utils.estimator_checks import check_estimator

    check_estimator(kind(), on_skip=None)


@each_kind
def test_a_table_of_one_column_is_the_same_as_a_list_of_predictions(kind: Callable[[], Recalibrator]) -> None:
    q, y = some_pairs()
    fitted = kind().fit(q, y)
    for table in (q[:, None], pd.DataFrame({"q": q})):
        again = kind().fit(table, y)
        np.testing.assert_array_equal(again.predict(table), fitted.predict(q))
        np.testing.assert_array_equal(again.transform(table), fitted.transform(q)[:, None])
    assert fitted.n_features_in_ == 1
    assert not hasattr(kind(), "n_features_in_")
    with error(ParameterError, "q"):
        fitted.predict(np.column_stack([q, q]))


def test_the_score_is_minus_the_brier_score() -> None:
    model = IsotonicRecalibration().fit([0.2, 0.4], [0, 1])  # predicts 0 and 1
    assert model.score([0.2, 0.2, 0.2, 0.4], [1, 1, 1, 1]) == -0.75
