from ._binners import IsotonicRecalibration as IsotonicRecalibration
from ._error import calibration_error as calibration_error
from ._intervals import calibration_test as calibration_test
from ._logistic import PlattScaling as PlattScaling
from ._quantiles import quantile_calibration as quantile_calibration
from ._reliability import ReliabilityCurve as ReliabilityCurve
from ._reliability import reliability_curve as reliability_curve
from ._split_sample import split_sample_error as split_sample_error
