"""Slow, simple versions of the figures of a linear chain, by enumeration of all tag sequences."""

import itertools
import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Sequence_ = tuple[int, ...]


@dataclass(frozen=True)
class Enumeration:
    """Every sequence that is allowed, in lexicographic order, with its score."""

    n: int
    n_tags: int
    scores: dict[Sequence_, float]

    @property
    def log_partition(self) -> float:
        largest = max(self.scores.values())
        return largest + math.log(math.fsum(math.exp(score - largest) for score in self.scores.values()))

    @property
    def log_probs(self) -> dict[Sequence_, float]:
        # Relative to the largest score, so that large scores lose no digits.
        largest = max(self.scores.values())
        total = math.log(math.fsum(math.exp(score - largest) for score in self.scores.values()))
        return {tags: (score - largest) - total for tags, score in self.scores.items()}

    @property
    def probs(self) -> dict[Sequence_, float]:
        return {tags: math.exp(log_prob) for tags, log_prob in self.log_probs.items()}

    def marginals(self) -> Array:
        found = np.zeros((self.n, self.n_tags))
        for tags, prob in self.probs.items():
            for i, t in enumerate(tags):
                found[i, t] += prob
        return found

    def pair_marginals(self) -> Array:
        found = np.zeros((self.n - 1, self.n_tags, self.n_tags))
        for tags, prob in self.probs.items():
            for i, (s, t) in enumerate(itertools.pairwise(tags)):
                found[i, s, t] += prob
        return found

    def best(self) -> list[Sequence_]:
        """Sequences by falling score; the sort is stable, so ties stay in lexicographic order."""
        return sorted(self.scores, key=lambda tags: -self.scores[tags])

    def entropy(self) -> float:
        return -math.fsum(prob * self.log_probs[tags] for tags, prob in self.probs.items() if prob > 0.0)


def enumeration(unary: Array, pairwise: Array) -> Enumeration:
    """All allowed sequences of a chain; pairwise (n_tags, n_tags) or (n - 1, n_tags, n_tags)."""
    n, n_tags = unary.shape
    scores = {}
    for tags in itertools.product(range(n_tags), repeat=n):
        terms = [float(unary[i, t]) for i, t in enumerate(tags)]
        for i, (s, t) in enumerate(itertools.pairwise(tags)):
            terms.append(float(pairwise[s, t] if pairwise.ndim == 2 else pairwise[i, s, t]))
        if -math.inf not in terms:
            scores[tags] = math.fsum(terms)
    return Enumeration(n, n_tags, scores)
