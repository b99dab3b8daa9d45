"""Recalibrators in scikit-learn: its own checks, cross-validation, grid search and pipelines."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from expected_errors import error
from scipy.special import expit

from corefsample import ParameterError
from corefsample.calibration.recalibrators._base import Recalibrator
from corefsample.calibration.recalibrators._binners import (
    HistogramBinning,
    IsotonicRecalibration,
    ScalingBinning,
)
from corefsample.calibration.recalibrators._logistic import BetaCalibration, BinaryTemperatureScaling, PlattScaling

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

# Checks of scikit-learn that do not hold, and why.
OURS = "raises ParameterError, a ValueError; NotFittedError would need scikit-learn at run time"
EXCEPTIONS = {"check_estimators_unfitted": OURS}
OF_SPLITS = {
    "check_sample_weight_equivalence_on_dense_data": "a pair of weight 2 is in one part; two pairs can be in both",
    "check_fit2d_1sample": "one pair cannot be split; the message says so in other words",
}


def pairs(n: int = 400, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Overconfident predictions with labels."""
    rng = np.random.default_rng(seed)
    q = rng.random(n)
    return q, (rng.random(n) < 0.25 + 0.5 * q).astype(int)


class _Adapted(Recalibrator):
    """A recalibrator for data of scikit-learn's checks, which are no probabilities and have many features.

    The logistic function makes the first feature a prediction; a label is whether the target is above 0.
    """

    _options: ClassVar[dict[str, Any]]

    def __init__(self) -> None:
        super().__init__(**self._options)

    @classmethod
    def _parameter_names(cls) -> list[str]:
        return []

    @property
    def n_features_in_(self) -> int:
        return self.__dict__["_n_features"]  # type: ignore[no-any-return]

    @n_features_in_.setter
    def n_features_in_(self, number: int) -> None:
        self.__dict__["_n_features"] = number

    def __getattribute__(self, name: str) -> Any:
        if name == "n_features_in_" and "_n_features" not in self.__dict__:
            raise AttributeError(name)
        return super().__getattribute__(name)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array, tags.input_tags.one_d_array = True, False
        return tags

    def _column(self, x: Any) -> Any:
        from sklearn.utils.validation import validate_data

        self._require_fit()
        return expit(validate_data(self, x, reset=False)[:, :1])

    def fit(self, x: Any, y: Any, sample_weight: Any = None) -> Any:  # type: ignore[override]
        from sklearn.utils.validation import validate_data

        x, y = validate_data(self, x, y, y_numeric=True)
        return super().fit(expit(x[:, :1]), y > 0, sample_weight)

    def predict(self, x: Any) -> Any:
        return super().predict(self._column(x))

    def transform(self, x: Any) -> Any:
        return self.predict(x)[:, None]

    def fit_transform(self, x: Any, y: Any, sample_weight: Any = None) -> Any:  # type: ignore[override]
        return self.fit(x, y, sample_weight).transform(x)

    def score(self, x: Any, y: Any, sample_weight: Any = None) -> float:
        return super().score(self._column(x), np.asarray(y) > 0, sample_weight)


ADAPTED = [
    type(f"Adapted{kind.__name__}", (_Adapted, kind), {"_options": options, "__module__": __name__})
    for kind, options in (
        (HistogramBinning, {"n_bins": 1}),
        (IsotonicRecalibration, {}),
        (PlattScaling, {}),
        (ScalingBinning, {"n_bins": 1}),
    )
]
globals().update({kind.__name__: kind for kind in ADAPTED})  # so that they can be pickled


@each_recalibrator
@pytest.mark.filterwarnings("ignore")  # most checks are for two dimensions, and are left out with a warning
def test_the_checks_of_scikit_learn_for_estimators_of_one_dimension_pass(model: Recalibrator) -> None:
    from sklearn.utils.estimator_checks import check_estimator

    check_estimator(model, on_skip=None)


@pytest.mark.parametrize("kind", ADAPTED)
@pytest.mark.filterwarnings("ignore")
def test_the_other_checks_of_scikit_learn_pass_on_data_made_probabilities(kind: type[_Adapted]) -> None:
    from sklearn.utils.estimator_checks import check_estimator

    expected = EXCEPTIONS | (OF_SPLITS if issubclass(kind, ScalingBinning) else {})
    results = check_estimator(kind(), on_fail=None, on_skip=None, expected_failed_checks=expected)
    failed = {each["check_name"]: str(each["exception"]) for each in results if each["status"] == "failed"}
    assert failed == {}
    assert sum(each["status"] == "passed" for each in results) >= 55
    assert {each["check_name"] for each in results if each["status"] == "xfail"} == set(expected)


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
