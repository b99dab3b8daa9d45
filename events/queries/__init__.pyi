from ._score import QueryScore as QueryScore
from ._true_counts import mixture_pmf as mixture_pmf
