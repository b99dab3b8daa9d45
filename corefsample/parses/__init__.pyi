from ._calibration import calibrate_parses as calibrate_parses
from ._calibration import fit_temperature as fit_temperature
