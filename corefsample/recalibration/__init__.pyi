from ._fitter import RecalibrationFitter as RecalibrationFitter
from ._shipped import read_recalibration as read_recalibration
from ._uncertain import UncertainRecalibration as UncertainRecalibration
