from ._fitter import RecalibrationFitter as RecalibrationFitter
from ._uncertain import UncertainRecalibration as UncertainRecalibration
from ._uncertain import read_recalibration as read_recalibration
