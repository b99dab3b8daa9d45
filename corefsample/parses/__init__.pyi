from ._calibration import calibrate_parses as calibrate_parses
from ._calibration import fit_temperature as fit_temperature
from ._sampling import ParseSampler as ParseSampler
from ._sampling import parse_samples as parse_samples
from ._sampling import parse_temperature as parse_temperature
