from ._count_posterior import CountDistribution as CountDistribution
from ._count_posterior import read_count_posterior as read_count_posterior
from ._count_samples import CountSamples as CountSamples
from ._count_samples import read_count_samples as read_count_samples
from ._evaluation import evaluate_clustering as evaluate_clustering
from ._evaluation import evaluate_matches as evaluate_matches
from ._finders import evaluate_predicate as evaluate_predicate
from ._tally import count_pmf as count_pmf
