from ._calibration import calibrate_links as calibrate_links
from ._calibration import compare_links as compare_links
