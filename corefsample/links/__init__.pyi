from ._calibration import calibrate_links as calibrate_links, compare_links as compare_links
