"""Recalibrators in scikit-learn: its own checks, cross-validation, grid search and pipelines."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from expected_errors import error

from corefsample import ParameterError
from corefsample.calibration._binners import (
    HistogramBinning,
    IsotonicRecalibration,
    ScalingBinning,
)
from corefsample.calibration._logistic import BetaCalibration, BinaryTemperatureScaling, PlattScaling
from corefsample.calibration._recalibrator import Recalibrator

pytest.importorskip("sklearn", minversion="1.6")

RECALIBRATORS = [
    HistogramBinning(n_bins=1),
    IsotonicRecalibration(),
    PlattScaling(),
    BetaCalibration(),
    BinaryTemperatureScaling(),
    ScalingBinning(n_bins=1),
]
each_recalibrator = pytest.mark.parametrize("model", RECALIBRATORS, ids=lambda model: type(model).__name__)


def pairs(n: int = 400, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Overconfident predictions with labels."""
    rng = np.random.default_rng(seed)
    q = rng.random(n)
    return q, (rng.random(n) < 0.25 + 0.5 * q).astype(int)


@each_recalibrator
@pytest.mark.filterwarnings("ignore")  # most checks are for two dimensions, and are left out with a warning
def test_the_checks_of_scikit_learn_for_estimators_of_one_dimension_pass(model: Recalibrator) -> None:
    from sklearn.utils.estimator_checks import check_estimator

    check_estimator(model, on_skip=None)


@each_recalibrator
def test_a_table_of_one_column_is_the_same_as_a_list_of_predictions(model: Recalibrator) -> None:
    from sklearn.base import clone

    q, y = pairs()
    fitted = clone(model).fit(q, y)
    for table in (q[:, None], pd.DataFrame({"q": q})):
        again = clone(model).fit(table, y)
        np.testing.assert_array_equal(again.predict(table), fitted.predict(q))
        np.testing.assert_array_equal(again.transform(table), fitted.transform(q)[:, None])
    assert fitted.n_features_in_ == 1
    assert not hasattr(clone(model), "n_features_in_")
    with error(ParameterError, "q"):
        fitted.predict(np.column_stack([q, q]))


def test_the_score_is_minus_the_brier_score() -> None:
    model = HistogramBinning(n_bins=1).fit([0.2, 0.4], [0, 1])  # predicts 1/2
    assert model.score([0.1, 0.9], [1, 0]) == -0.25
    assert model.score([0.1, 0.9], [1, 0], [3.0, 1.0]) == -0.25
    other = IsotonicRecalibration().fit([0.2, 0.4], [0, 1])  # predicts 0 and 1
    assert other.score([0.2, 0.4], [1, 1], [3.0, 1.0]) == -0.75


def test_a_grid_search_chooses_the_number_of_bins() -> None:
    from sklearn.model_selection import GridSearchCV, KFold

    q, y = pairs()
    folds = KFold(4)
    search = GridSearchCV(HistogramBinning(), {"n_bins": [1, 4, 40]}, cv=folds).fit(q[:, None], y)
    scores = {
        n: np.mean([HistogramBinning(n_bins=n).fit(q[a], y[a]).score(q[b], y[b]) for a, b in folds.split(q)])
        for n in (1, 4, 40)
    }
    assert search.best_params_ == {"n_bins": max(scores, key=scores.__getitem__)}
    assert search.best_score_ == pytest.approx(max(scores.values()))
