"""What all recalibrators share: parameters in scikit-learn's manner, and fits kept as JSON."""

from __future__ import annotations

import inspect
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample.calibration.binning import FloatArray, Pairs, checked_pairs, predictions
from corefsample.errors import ParameterError

__all__ = ["FittedModel", "Recalibrator"]

FORMAT = 1
_MODELS: dict[str, type[FittedModel]] = {}


class FittedModel:
    """Parameters in the constructor, fitted attributes with a trailing underscore; neither needs scikit-learn.

    A constructor stores its parameters as they are, and `fit` checks them, so that ``sklearn.base.clone`` and a grid
    search work.
    """

    _fitted: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        _MODELS[cls.__name__] = cls

    @classmethod
    def _parameter_names(cls) -> list[str]:
        return list(inspect.signature(cls).parameters)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name; `deep` adds those of a model inside, as ``outer__inner``."""
        own = {name: getattr(self, name) for name in self._parameter_names()}
        if deep:
            inner = [(name, value) for name, value in own.items() if isinstance(value, FittedModel)]
            own |= {f"{name}__{key}": value for name, model in inner for key, value in model.get_params().items()}
        return own

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters by name, those of a model inside as ``outer__inner``; returns the model itself."""
        for name, value in parameters.items():
            outer, _, inner = name.partition("__")
            if outer not in self._parameter_names():
                known = ", ".join(self._parameter_names())
                raise ParameterError(f"parameter of {type(self).__name__} must be one of {known}, got {outer!r}")
            if inner:
                model = getattr(self, outer)
                if not isinstance(model, FittedModel):
                    raise ParameterError(f"{outer} must be a model to have a parameter {inner!r}, got {model!r}")
                model.set_params(**{inner: value})
            else:
                setattr(self, outer, value)
        return self

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in self.get_params(deep=False).items())
        return f"{type(self).__name__}({shown})"

    def __sklearn_is_fitted__(self) -> bool:
        return all(hasattr(self, name) for name in self._fitted)

    def _require_fit(self, what: str = "predicts") -> None:
        if not self.__sklearn_is_fitted__():
            raise ParameterError(f"{type(self).__name__} must be fitted before it {what}, got no fit")

    def _unfitted_copy(self) -> Self:
        values = self.get_params(deep=False)
        return type(self)(**{k: v._unfitted_copy() if isinstance(v, FittedModel) else v for k, v in values.items()})

    # --- keeping a fit -------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """The model and its fit as plain lists, numbers and text, from which `from_dict` makes it again exactly."""
        self._require_fit("is kept")
        return {
            "model": type(self).__name__,
            "format": FORMAT,
            "parameters": {name: _plain(value) for name, value in self.get_params(deep=False).items()},
            "fitted": {name: _plain(getattr(self, name)) for name in self._fitted},
        }

    def to_json(self) -> str:
        """The same as JSON text."""
        return json.dumps(self.to_dict(), allow_nan=False)

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """Make a fitted model of what `to_dict` gave; on a base class, whichever model it is."""
        if not isinstance(content, Mapping) or not {"model", "format", "parameters", "fitted"} <= set(content):
            raise ParameterError(
                f"content must be of a fitted model (model, format, parameters, fitted), got {_checks.shown(content)}"
            )
        if content["format"] != FORMAT:
            raise ParameterError(f"format must be {FORMAT}, got {_checks.shown(content['format'])}")
        found = _MODELS.get(content["model"]) if isinstance(content["model"], str) else None
        if found is None or not issubclass(found, cls):
            raise ParameterError(f"model must be a {cls.__name__}, got {_checks.shown(content['model'])}")
        try:
            return found._restored(content["parameters"], content["fitted"])
        except ParameterError:
            raise
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ParameterError(f"content must be what to_dict gave, got {_checks.shown(dict(content))}") from error

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Make a fitted model of what `to_json` gave; on a base class, whichever model it is."""
        try:
            content = json.loads(text)
        except (TypeError, ValueError) as error:
            raise ParameterError(f"text must be JSON of a fitted model, got {_checks.shown(text)}") from error
        return cls.from_dict(content)

    @classmethod
    def _restored(cls, parameters: Any, fitted: Any) -> Self:
        for name, found, wanted in (
            ("parameters", parameters, cls._parameter_names()),
            ("fitted", fitted, list(cls._fitted)),
        ):
            if not isinstance(found, Mapping) or set(found) != set(wanted):
                raise ParameterError(
                    f"{name} of {cls.__name__} must be {', '.join(wanted)}, got {_checks.shown(found)}"
                )
        model = cls(**{name: _revived(value) for name, value in parameters.items()})
        for name, value in fitted.items():
            setattr(model, name, _revived(value))
        model._check_fit()
        return model

    def _check_fit(self) -> None:
        """Refuse fitted attributes that no fit gives."""


def _plain(value: Any) -> Any:
    if isinstance(value, FittedModel):
        # A parameter may be a model that is not fitted itself.
        fitted = {name: _plain(getattr(value, name)) for name in value._fitted if hasattr(value, name)}
        parameters = {name: _plain(inner) for name, inner in value.get_params(deep=False).items()}
        return {"model": type(value).__name__, "format": FORMAT, "parameters": parameters, "fitted": fitted}
    if isinstance(value, np.ndarray):
        return {"array": value.tolist(), "dtype": value.dtype.str}
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    return value


def _revived(value: Any) -> Any:
    if isinstance(value, Mapping) and "model" in value:
        if not value.get("fitted") and value.get("model") in _MODELS:
            model = _MODELS[value["model"]]
            return model(**{name: _revived(inner) for name, inner in value["parameters"].items()})
        return FittedModel.from_dict(value)
    if isinstance(value, Mapping) and "array" in value:
        array = np.array(value["array"], dtype=value.get("dtype"))
        array.flags.writeable = False
        return array
    if isinstance(value, list):
        return [_revived(inner) for inner in value]
    return value


class Recalibrator(FittedModel, ABC):
    """A function from predictions to better ones, fitted to prediction-label pairs."""

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
            (n,) in [0, 1]: predictions.
        y
            (n,): labels, 0 or 1.
        sample_weight
            (n,), at least 0 and not all 0: what each pair counts for; a weight of 2 is the pair given twice, one of 0
            the pair left out. None: all count 1.
        documents
            (n,) text or whole numbers: the document of each pair. Only a recalibrator that splits its pairs
            (ScalingBinning) makes use of it.

        Returns
        -------
        Self
            The recalibrator itself, fitted.

        Raises
        ------
        ParameterError
            If there is no pair, if lengths differ, or if a value or a parameter breaks its rule.
        """
        self._fit(checked_pairs(q, y, sample_weight, documents))
        return self

    def predict(self, q: npt.ArrayLike) -> FloatArray:
        """Recalibrate predictions: float64 (n,) in [0, 1], never NaN, for (n,) in [0, 1]; refused before `fit`."""
        self._require_fit()
        return self._predict(predictions("q", q))

    @abstractmethod
    def _fit(self, pairs: Pairs) -> None: ...

    @abstractmethod
    def _predict(self, q: FloatArray) -> FloatArray: ...


def fixed(values: npt.ArrayLike) -> FloatArray:
    """A float64 array that cannot be written to."""
    array = np.array(values, dtype=np.float64)
    array.flags.writeable = False
    return array


def require_curve(model: str, positions: FloatArray, values: FloatArray, *, extra: int) -> None:
    """Refuse what is not a rising array in [0, 1] with `extra` more entries than an array of values in [0, 1]."""
    for array in (positions, values):
        if predictions(f"fitted of {model}", array).shape[0] == 0:
            raise ParameterError(f"fitted of {model} must hold numbers, got none")
    if positions.shape[0] != values.shape[0] + extra:
        raise ParameterError(f"fitted of {model} must be of one length, got {positions.shape[0]} and {values.shape[0]}")
    if (np.diff(positions) < 0.0).any():
        raise ParameterError(f"fitted of {model} must rise, got {_checks.shown(positions.tolist())}")


def require_finite(model: str, *values: object) -> None:
    """Refuse what are not finite numbers."""
    for value in values:
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not np.isfinite(value):
            raise ParameterError(f"fitted of {model} must be finite numbers, got {_checks.shown(value)}")
