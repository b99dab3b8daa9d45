from ._count_posterior import read_count_posterior as read_count_posterior
from ._count_samples import read_count_samples as read_count_samples
from ._credible_intervals import count_pmf as count_pmf
