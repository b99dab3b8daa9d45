"""Recalibrators of predictions (isotonic regression, Platt scaling) and their base class."""

import logging
from abc import ABC, abstractmethod
from typing import Any, Literal, Self

import numpy as np

from corefsample import _checks
from corefsample._arrays import Floats
from corefsample.calibration._validation import labelled, predictions
from corefsample.errors import ParameterError

_log = logging.getLogger("corefsample.calibration")


class Recalibrator(ABC):
    """A function that recalibrates predictions, fitted to prediction-label pairs.

    For scikit-learn it is a regressor and a transformer of one feature: it works in pipelines, `GridSearchCV` and
    `cross_val_score`. scikit-learn itself is not needed. The fitted attributes are the annotated
    ones, whose names end in an underscore.
    """

    def fit(self, q: np.typing.ArrayLike, y: np.typing.ArrayLike) -> Self:
        """Fit to pairs.

        Parameters
        ----------
        q
            (n,) or (n, 1) in [0, 1]: predictions.
        y
            (n,): labels, 0 or 1.

        Returns
        -------
        Self
            The recalibrator itself, fitted.

        Raises
        ------
        ParameterError
            If there is no pair, if lengths differ, if a prediction is outside [0, 1], or if a label is neither 0 nor 1.
        """
        predicted, labels = labelled(_one_column(q), y)
        if labels.min() == labels.max():
            label = f"{labels[0]:g}"
            _log.warning("%s is fitted to labels that are all %s: it cannot know the other", type(self).__name__, label)
        distinct, counts = np.unique(predicted, return_counts=True)
        # Sorting values alone, and placing the positives in them, takes half the time of sorting indices.
        places = np.searchsorted(distinct, np.sort(predicted[labels == 1.0]))
        positives = np.bincount(places, minlength=distinct.shape[0])
        self._fit(distinct, counts.astype(np.float64), positives.astype(np.float64))
        return self

    def predict(self, q: np.typing.ArrayLike) -> Floats:
        """Recalibrate predictions (n,) or (n, 1) in [0, 1]: float64 (n,) in [0, 1], never NaN; raise before `fit`."""
        if not self.__sklearn_is_fitted__():
            raise ParameterError(f"{type(self).__name__} must be fitted before it predicts")
        return self._predict(predictions("q", _one_column(q)))

    def transform(self, q: np.typing.ArrayLike) -> Floats:
        """Recalibrate predictions as `predict` does, and keep their shape, (n,) or (n, 1)."""
        return self.predict(q).reshape(np.shape(q))

    def fit_transform(self, q: np.typing.ArrayLike, y: np.typing.ArrayLike) -> Floats:
        """Fit to pairs, and recalibrate their predictions."""
        return self.fit(q, y).transform(q)

    def score(self, q: np.typing.ArrayLike, y: np.typing.ArrayLike) -> float:
        """Minus the Brier score of the recalibrated predictions: in [-1, 0], larger is better."""
        predicted, labels = labelled(_one_column(q), y)
        return -float(np.mean((self.predict(predicted) - labels) ** 2))

    @abstractmethod
    def _fit(self, q: Floats, weights: Floats, positives: Floats) -> None:
        """Fit to distinct predictions, ascending, the number of their pairs, and that of the pairs of label 1."""

    @abstractmethod
    def _predict(self, q: Floats) -> Floats: ...

    # --- conventions of scikit-learn -----------------------------------------------------------------------

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value}' for name, value in self.get_params().items())})"

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name; only `PlattScaling` has one."""
        return {}

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters, and return the recalibrator itself; raise ParameterError for a name that it does not have."""
        for name, value in parameters.items():
            if name not in self.get_params():
                raise ParameterError(f"is no parameter of {type(self).__name__}", parameter=name)
            setattr(self, name, value)
        return self

    @property
    def n_features_in_(self) -> int:
        """Number of features of a fit, which is 1."""
        if not self.__sklearn_is_fitted__():
            raise AttributeError(f"{type(self).__name__} has no n_features_in_ before it is fitted")
        return 1

    def __sklearn_is_fitted__(self) -> bool:
        return all(hasattr(self, name) for name in type(self).__annotations__)

    def __sklearn_tags__(self) -> Any:
        """Properties of the model, in the form that scikit-learn requires."""
        from sklearn.utils import InputTags, RegressorTags, Tags, TargetTags, TransformerTags

        return Tags(
            estimator_type="regressor",
            target_tags=TargetTags(required=True),
            transformer_tags=TransformerTags(),
            regressor_tags=RegressorTags(poor_score=True),
            input_tags=InputTags(one_d_array=True, two_d_array=False),
        )


def _one_column(q: np.typing.ArrayLike) -> np.typing.ArrayLike:
    """Predictions (n,), also from a table (n, 1); other shapes stay unchanged, and a later check rejects them."""
    return np.ravel(q) if np.ndim(q) == 2 and np.shape(q)[1] == 1 else q


class IsotonicRecalibration(Recalibrator):
    """The non-decreasing function of the prediction with the least squared error, interpolated linearly.

    Pairs of equal prediction are pooled, so the order of rows cannot change the result. Between two fitted predictions
    the value is interpolated linearly (as by Kranzlein, Liu & Schneider). Outside the fitted predictions it is the
    value of the nearest one, never NaN.

    Attributes
    ----------
    q_
        float64 (n_knots,), ascending: the first and the last fitted prediction of each block of constant value.
    values_
        float64 (n_knots,) in [0, 1], non-decreasing: the recalibrated predictions at `q_`.

    References
    ----------
    Zadrozny & Elkan (2002); Kranzlein, Liu & Schneider (2021), section 2.2.

    Examples
    --------
    >>> IsotonicRecalibration().fit([0.2, 0.4, 0.6, 0.8], [0, 1, 0, 1]).predict([0.0, 0.3, 0.5, 1.0])
    array([0.  , 0.25, 0.5 , 1.  ])
    """

    q_: Floats
    values_: Floats

    def _fit(self, q: Floats, weights: Floats, positives: Floats) -> None:
        from scipy.optimize import isotonic_regression

        starts = np.asarray(isotonic_regression(positives / weights, weights=weights).blocks[:-1], np.int64)
        means = np.clip(np.add.reduceat(positives, starts) / np.add.reduceat(weights, starts), 0.0, 1.0)
        ends = np.append(starts[1:], q.shape[0]) - 1
        knots, first = np.unique(np.stack([starts, ends], axis=1).ravel(), return_index=True)
        self.q_, self.values_ = q[knots], np.repeat(means, 2)[first]
        self.q_.flags.writeable = self.values_.flags.writeable = False

    def _predict(self, q: Floats) -> Floats:
        return np.asarray(np.interp(q, self.q_, self.values_))


_LEAST = 1e-12  # predictions are clipped to [_LEAST, 1 - _LEAST], so that their logarithms are finite


class PlattScaling(Recalibrator):
    """A logistic curve: the log odds of the prediction, times a slope, plus an intercept; by maximum likelihood.

    Labels are smoothed as by Platt, (N1 + 1) / (N1 + 2) for a positive one and 1 / (N0 + 2) for a negative one with
    N1 and N0 the weight of each kind, so that pairs that a threshold separates, or of one label only, still have a
    finite fit. Predictions are clipped to [1e-12, 1 - 1e-12], so that log odds are finite.

    Parameters
    ----------
    degree
        1, the default: the new log odds are linear in the old ones. 2: they also have their square, which is quadratic
        scaling; it corrects an error that differs between small and large predictions, but the curve falls on one side
        of its extreme, so the order of predictions can change.

    Attributes
    ----------
    slope_, intercept_
        float: slope and intercept; 1 and 0 leave predictions unchanged, and a slope below 1 corrects overconfidence.
    curvature_
        float: coefficient of the squared log odds; 0 with degree 1.

    References
    ----------
    Platt (1999), "Probabilistic outputs for support vector machines"; Lin, Lin & Weng (2007). Quadratic scaling: Berta,
    Holzmüller, Jordan & Bach (2025), "Structured matrix scaling for multi-class calibration".

    Examples
    --------
    >>> q = np.repeat([0.1, 0.5, 0.9], 1000)
    >>> y = np.concatenate([np.arange(1000) < 1000 * p for p in (0.3, 0.5, 0.9)])  # only low ones are too low
    >>> PlattScaling(degree=2).fit(q, y).predict([0.1, 0.5, 0.9]).round(2)
    array([0.3, 0.5, 0.9])
    """

    slope_: float
    intercept_: float
    curvature_: float = 0.0

    def __init__(self, degree: Literal[1, 2] = 1) -> None:
        self.degree = degree

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name: `degree`, whatever `deep` is, which scikit-learn passes."""
        return {"degree": self.degree}

    def _fit(self, q: Floats, weights: Floats, positives: Floats) -> None:
        _checks.at_most("degree", _checks.whole("degree", self.degree, 1), 2)
        from scipy.optimize import minimize

        odds = _log_odds(q)
        features = np.stack([odds, np.ones_like(odds), odds**2][: self.degree + 1])
        total, n_positive = float(weights.sum()), float(positives.sum())
        high, low = (n_positive + 1.0) / (n_positive + 2.0), 1.0 / (total - n_positive + 2.0)
        share = (positives * high + (weights - positives) * low) / weights  # Platt's smoothed labels
        weights = weights / total

        def loss(theta: Floats) -> tuple[float, Floats]:
            scores = theta @ features
            gradient = features @ (weights * (_expit(scores) - share))
            return float(weights @ (np.logaddexp(0.0, scores) - share * scores)), gradient

        def curvature(theta: Floats) -> Floats:
            p = _expit(theta @ features)
            return np.asarray((features * (weights * p * (1.0 - p))) @ features.T)

        start = np.array([1.0, 0.0, 0.0][: len(features)])
        optimum: Any = minimize(loss, start, jac=True, hess=curvature, method="trust-ncg", tol=1e-10)
        self.slope_, self.intercept_, self.curvature_ = np.append(optimum.x, 0.0)[:3].tolist()

    def _predict(self, q: Floats) -> Floats:
        odds = _log_odds(q)
        return _expit((self.curvature_ * odds + self.slope_) * odds + self.intercept_)


def _log_odds(q: Floats) -> Floats:
    from scipy.special import logit

    return np.asarray(logit(np.clip(q, _LEAST, 1.0 - _LEAST)))


def _expit(scores: Floats) -> Floats:
    from scipy.special import expit

    return np.asarray(expit(scores))
