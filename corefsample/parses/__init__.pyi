from ._calibration import calibrate_parses as calibrate_parses
from ._temperature import fit_temperature as fit_temperature
