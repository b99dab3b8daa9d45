"""Base classes of recalibrators: parameters in scikit-learn's conventions, and fits saved as JSON."""

from __future__ import annotations

import inspect
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample._arrays import Floats
from corefsample._log import logger
from corefsample.calibration._validation import Pairs, checked_pairs, predictions
from corefsample.errors import ParameterError

FORMAT = 1
_log = logger("calibration")
_MODELS: dict[str, type[FittedModel]] = {}


class FittedModel:
    """A model with parameters in the constructor and fitted attributes: the annotated ones that end in an underscore.

    A constructor stores its parameters unchanged, and `fit` checks them, so that ``sklearn.base.clone`` and a grid
    search work. scikit-learn itself is not needed. `to_json` saves a fit, and `from_json` loads it.

    Examples
    --------
    >>> from corefsample.calibration._binners import HistogramBinning
    >>> text = HistogramBinning(n_bins=1).fit([0.2, 0.4], [0, 1]).to_json()
    >>> FittedModel.from_json(text).predict([0.3])
    array([0.5])
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        _MODELS[cls.__name__] = cls

    @classmethod
    def _parameter_names(cls) -> list[str]:
        return list(inspect.signature(cls).parameters)

    @classmethod
    def _fitted_names(cls) -> list[str]:
        annotated = [name for base in cls.__mro__ for name in vars(base).get("__annotations__", ())]
        return [name for name in annotated if name.endswith("_")]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name; `deep` adds those of nested models, as ``outer__inner``."""
        own = {name: getattr(self, name) for name in self._parameter_names()}
        if deep:
            inner = [(name, value) for name, value in own.items() if isinstance(value, FittedModel)]
            own |= {f"{name}__{key}": value for name, model in inner for key, value in model.get_params().items()}
        return own

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters by name, those of nested models as ``outer__inner``; return the model itself."""
        for name, value in parameters.items():
            outer, _, inner = name.partition("__")
            if outer not in self._parameter_names():
                known = ", ".join(self._parameter_names())
                raise ParameterError(f"is no parameter of {type(self).__name__}, which has {known}", parameter=outer)
            if inner:
                model = getattr(self, outer)
                if not isinstance(model, FittedModel):
                    raise ParameterError(
                        f"must be a model to have a parameter {inner!r}, got {model!r}", parameter=outer
                    )
                model.set_params(**{inner: value})
            else:
                setattr(self, outer, value)
        return self

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in self.get_params(deep=False).items())
        return f"{type(self).__name__}({shown})"

    def __sklearn_is_fitted__(self) -> bool:
        return all(hasattr(self, name) for name in self._fitted_names())

    def _require_fit(self, action: str = "predicts") -> None:
        if not self.__sklearn_is_fitted__():
            raise ParameterError(f"{type(self).__name__} must be fitted before it {action}")

    def _unfitted_copy(self) -> Self:
        values = self.get_params(deep=False)
        return type(self)(**{k: v._unfitted_copy() if isinstance(v, FittedModel) else v for k, v in values.items()})

    # --- saving --------------------------------------------------------------------------------------------

    def to_json(self) -> str:
        """Save the model and its fit as JSON text, from which `from_json` restores it exactly."""
        self._require_fit("is saved")
        return json.dumps(_plain(self), allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Load a fitted model from the text of `to_json`; a base class loads every model derived from it.

        Raises
        ------
        ParameterError
            If the text is not a fit of such a model.
        """
        try:
            model = _restored(json.loads(text))
        except ParameterError:
            raise
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ParameterError(
                f"must be JSON of a fitted model, got {_checks.shown(text)}", parameter="text"
            ) from error
        if not isinstance(model, cls) or not model.__sklearn_is_fitted__():
            found = _checks.shown(model)
            raise ParameterError(f"must be JSON of a fitted {cls.__name__}, got {found}", parameter="text")
        return model


def _plain(value: Any) -> Any:
    if isinstance(value, FittedModel):
        # A parameter may be a model that is not fitted itself.
        fitted = {name: _plain(getattr(value, name)) for name in value._fitted_names() if hasattr(value, name)}
        parameters = {name: _plain(inner) for name, inner in value.get_params(deep=False).items()}
        return {"model": type(value).__name__, "format": FORMAT, "parameters": parameters, "fitted": fitted}
    if isinstance(value, np.ndarray):
        return {"array": value.tolist(), "dtype": value.dtype.str}
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    return value


def _restored(value: Any) -> Any:
    if isinstance(value, Mapping) and "model" in value:
        return _restored_model(value)
    if isinstance(value, Mapping) and "array" in value:
        return fixed(np.array(value["array"], dtype=value["dtype"]))
    return [_restored(inner) for inner in value] if isinstance(value, list) else value


def _restored_model(content: Mapping[str, Any]) -> FittedModel:
    kind = _MODELS[content["model"]]
    if content["format"] != FORMAT:
        raise ParameterError(f"must be of format {FORMAT}, got {_checks.shown(content['format'])}", parameter="text")
    parts = content["parameters"], content["fitted"]
    for part, names in zip(parts, (kind._parameter_names(), kind._fitted_names()), strict=True):
        if set(part) != set(names) and part != {}:
            raise ParameterError(f"must have {', '.join(names)}, got {_checks.shown(part)}", place=kind.__name__)
    parameters, fitted = ({name: _restored(value) for name, value in part.items()} for part in parts)
    model = kind(**parameters)
    for name, value in fitted.items():
        setattr(model, name, value)
    return model


class Recalibrator(FittedModel, ABC):
    """A function that recalibrates predictions, fitted to prediction-label pairs.

    For scikit-learn it is a regressor and a transformer of one feature: it works in pipelines, `GridSearchCV` and
    `cross_val_score`.
    """

    def fit(
        self,
        q: npt.ArrayLike,
        y: npt.ArrayLike,
        sample_weight: npt.ArrayLike | None = None,
        *,
        documents: npt.ArrayLike | None = None,
    ) -> Self:
        """Fit to pairs.

        Parameters
        ----------
        q
            (n,) or (n, 1) in [0, 1]: predictions.
        y
            (n,): labels, 0 or 1.
        sample_weight
            (n,), at least 0 and not all 0: a pair of weight 2 counts like two pairs, one of weight 0 is left out. By
            default all weights are 1.
        documents
            (n,) text or whole numbers: the document of each pair. Only a recalibrator that splits its pairs
            (ScalingBinning) uses it.

        Returns
        -------
        Self
            The recalibrator itself, fitted.

        Raises
        ------
        ParameterError
            If there is no pair, if lengths differ, or if a value or a parameter breaks its rule.
        """
        pairs = checked_pairs(_one_column(q), y, sample_weight, documents)
        if pairs.y.min() == pairs.y.max():
            label = f"{pairs.y[0]:g}"
            _log.warning("%s is fitted to labels that are all %s: it cannot know the other", type(self).__name__, label)
        self._fit(pairs)
        return self

    def predict(self, q: npt.ArrayLike) -> Floats:
        """Recalibrate predictions (n,) or (n, 1) in [0, 1]: float64 (n,) in [0, 1], never NaN; raise before `fit`."""
        self._require_fit()
        return self._predict(predictions("q", _one_column(q)))

    def transform(self, q: npt.ArrayLike) -> Floats:
        """Recalibrate predictions as `predict` does, in the shape given: (n,), or the (n, 1) of a pipeline's step."""
        return self.predict(q).reshape(np.shape(q))

    def fit_transform(
        self, q: npt.ArrayLike, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None, **options: Any
    ) -> Floats:
        """Fit to pairs, and recalibrate their predictions."""
        return self.fit(q, y, sample_weight, **options).transform(q)

    def score(self, q: npt.ArrayLike, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None) -> float:
        """Minus the Brier score of the recalibrated predictions: in [-1, 0], larger is better."""
        self._require_fit()
        pairs = checked_pairs(_one_column(q), y, sample_weight)
        return -float(np.average((self._predict(pairs.q) - pairs.y) ** 2, weights=pairs.weights))

    @property
    def n_features_in_(self) -> int:
        """Number of features of a fit, which is 1."""
        if not self.__sklearn_is_fitted__():
            raise AttributeError(f"{type(self).__name__} has no n_features_in_ before it is fitted")
        return 1

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn, which alone calls this, has to know of the model."""
        from sklearn.utils import InputTags, RegressorTags, Tags, TargetTags, TransformerTags

        return Tags(
            estimator_type="regressor",
            target_tags=TargetTags(required=True),
            transformer_tags=TransformerTags(),
            regressor_tags=RegressorTags(poor_score=True),
            input_tags=InputTags(one_d_array=True, two_d_array=False),
        )

    @abstractmethod
    def _fit(self, pairs: Pairs) -> None: ...

    @abstractmethod
    def _predict(self, q: Floats) -> Floats: ...


def _one_column(q: npt.ArrayLike) -> npt.ArrayLike:
    """Predictions (n,), of a table (n, 1) too; other shapes are left for the check that rejects them."""
    return np.ravel(q) if np.ndim(q) == 2 and np.shape(q)[1] == 1 else q


def fixed(values: npt.ArrayLike) -> Floats:
    """Return a read-only float64 array."""
    array = np.array(values, dtype=np.float64)
    array.flags.writeable = False
    return array
