"""Functions fitted to pairs that mend the predictions, in scikit-learn's manner and without needing it.

Parameters go to the constructor, ``fit(q, y, sample_weight)`` returns the object, fitted attributes end in an
underscore, ``predict(q)`` mends. A fit is kept as JSON: ``to_json``, and ``recalibrator_from_json`` to read it.
"""

from __future__ import annotations

from corefsample.calibration.recalibrators._base import FittedModel, Recalibrator
from corefsample.calibration.recalibrators._binners import HistogramBinning, ScalingBinning
from corefsample.calibration.recalibrators._grouped import GroupedRecalibrator
from corefsample.calibration.recalibrators._scalers import IsotonicRecalibration, PlattScaling
from corefsample.calibration.recalibrators._temperature import TemperatureScaling

__all__ = [
    "FittedModel",
    "GroupedRecalibrator",
    "HistogramBinning",
    "IsotonicRecalibration",
    "PlattScaling",
    "Recalibrator",
    "ScalingBinning",
    "TemperatureScaling",
    "recalibrator_from_json",
]


def recalibrator_from_json(text: str) -> FittedModel:
    """Make a fitted recalibrator, of whichever kind, of the JSON that its `to_json` gave.

    Raises
    ------
    ParameterError
        If the text is no fit of a recalibrator.

    Examples
    --------
    >>> text = HistogramBinning(n_bins=1).fit([0.2, 0.4], [0, 1]).to_json()
    >>> recalibrator_from_json(text).predict([0.3])
    array([0.5])
    """
    return FittedModel.from_json(text)
