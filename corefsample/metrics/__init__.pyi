from ._scores import corpus_posterior as corpus_posterior
from ._scores import corpus_scores as corpus_scores
