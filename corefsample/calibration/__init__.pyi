from ._error import calibration_error as calibration_error, calibration_test as calibration_test
from ._recalibrators import (
    IsotonicRecalibration as IsotonicRecalibration,
    PlattScaling as PlattScaling,
)
from ._reliability import (
    ReliabilityCurve as ReliabilityCurve,
    quantile_calibration as quantile_calibration,
    reliability_curve as reliability_curve,
)
from ._tag_scores import TagScores as TagScores, shared_calibration_error as shared_calibration_error
