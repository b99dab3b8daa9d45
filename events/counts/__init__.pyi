from ._credible_intervals import count_pmf as count_pmf
from ._distributions import read_count_posterior as read_count_posterior, read_count_samples as read_count_samples
