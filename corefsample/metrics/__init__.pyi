from ._posterior import corpus_posterior as corpus_posterior
from ._posterior import corpus_scores as corpus_scores
