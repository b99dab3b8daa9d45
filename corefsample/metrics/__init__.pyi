from ._scores import corpus_scores as corpus_scores, score_differences as score_differences
