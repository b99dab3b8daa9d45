from ._scores import corpus_scores as corpus_scores
from ._scores import score_differences as score_differences
