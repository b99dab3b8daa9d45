from ._counts import mixture_pmf as mixture_pmf
from ._score import QueryScore as QueryScore
