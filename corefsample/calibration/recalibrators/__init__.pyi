from ._base import FittedModel as FittedModel
from ._base import Recalibrator as Recalibrator
from ._binners import HistogramBinning as HistogramBinning
from ._binners import ScalingBinning as ScalingBinning
from ._grouped import GroupedRecalibrator as GroupedRecalibrator
from ._scalers import IsotonicRecalibration as IsotonicRecalibration
from ._scalers import PlattScaling as PlattScaling
from ._temperature import TemperatureScaling as TemperatureScaling
