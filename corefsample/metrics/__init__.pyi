from ._scores import corpus_scores as corpus_scores
