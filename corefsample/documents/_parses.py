"""A parse of a document with the mentions found in it, and its weight."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from corefsample import _checks
from corefsample._arrays import Ints32
from corefsample._equality import ByValue
from corefsample._random import document_key
from corefsample.coreference._antecedents import AntecedentDistribution, require_distribution
from corefsample.documents._base import checked_mentions
from corefsample.documents._tokens import Tokens, counted
from corefsample.errors import ParameterError

_PARSE_WORD = 2**62  # output of a document's key that places its draws of parses; mentions use the first outputs
_GAMMA = 0x9E3779B97F4A7C15  # increment of SplitMix64: 2**64 / phi
_HIGH_BITS = np.uint64(11)  # a double has 53


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Parse(ByValue):
    """One of the parses of a document, its mentions, and the distribution over their antecedents.

    Attributes
    ----------
    weight
        Finite, at least 0; its share of the sum over the document's parses is the probability of this parse. For
        sampled parses the number of samples is a good weight.
    tokens
        The words with this parse.
    mentions
        int32 (n_mentions, 3), read-only: as of `ScoredDocument`.
    antecedents
        Distribution over antecedents of these mentions.
    gold
        The annotated entity of each mention (None: not annotated), or None.

    Raises
    ------
    ParameterError
        On construction, if a field breaks its rule.
    """

    weight: float
    tokens: Tokens
    mentions: Ints32
    antecedents: AntecedentDistribution
    gold: Sequence[int | str | None] | None = None

    def __post_init__(self) -> None:
        fault = weight_fault(self.weight)
        if fault is not None:
            raise ParameterError(fault)
        if not isinstance(self.tokens, Tokens):
            raise ParameterError(f"must be Tokens, got {_checks.shown(self.tokens)}", parameter="tokens")
        require_distribution(self.antecedents)
        object.__setattr__(self, "weight", float(self.weight))
        object.__setattr__(self, "mentions", checked_mentions(self.mentions, len(self.tokens)))

    def __repr__(self) -> str:
        mentions = counted(len(self.mentions), "mention")
        return f"Parse(weight {self.weight:g}, {mentions}, {self.tokens.size_in_words()})"


def weight_fault(weight: object) -> str | None:
    """What is wrong with the weight of a parse, or None."""
    if (
        isinstance(weight, (int, float, np.integer, np.floating))
        and not isinstance(weight, bool)
        and 0 <= weight < math.inf
    ):
        return None
    return f"weight must be a finite number of at least 0, got {_checks.shown(weight)}"


def parses_fault(words: Sequence[Sequence[str]], weights: Sequence[float]) -> str | None:
    """What is wrong with the parses of one document together, or None: their words and weights are compared."""
    if not math.fsum(weights) > 0:
        return "parses must have a weight above 0, got 0 for all"
    first = words[0]
    for k, other in enumerate(words):
        if list(other) != list(first):
            if len(other) != len(first):
                return f"parses[{k}].tokens must have the words of parses[0] ({len(first)}), got {len(other)}"
            t = next(t for t, (a, b) in enumerate(zip(first, other, strict=True)) if a != b)
            return f"parses[{k}].tokens.text[{t}] must be that of parses[0] ({first[t]!r}), got {other[t]!r}"
    return None


def sample_parses(weights: Sequence[float], *, n_samples: int = 1000, seed: int = 0, doc_id: str = "") -> Ints32:
    """Draw the parse of each sample of a document.

    Sample s has the parse at (u + s / phi) mod 1 of the cumulative weights, where u is uniform and fixed by seed and
    doc_id, and phi is the golden ratio. Each sample alone has exactly the probabilities of the weights, to 53 bits.
    Together they cover the parses more evenly than independent draws: the share of each parse differs from its weight
    by about log(n) / n instead of 1 / sqrt(n), which makes estimates from them more precise, and never depends on
    n_samples: the first 100 of 1,000 are the same as 100.

    Parameters
    ----------
    weights
        (n_parses,): finite, at least 0, not all 0.
    n_samples
        At least 1.
    seed
        In [0, 2**64).
    doc_id
        Gives each document a random stream of its own.

    Returns
    -------
    int32 (n_samples,)
        Index of the parse of each sample.

    Raises
    ------
    ParameterError
        If a parameter breaks its rule.

    References
    ----------
    Cranley & Patterson (1976), "Randomization of number theoretic methods for multiple integration"; Weyl (1916).
    The steps are those of SplitMix64 (Steele, Lea & Flood 2014), whose increment is 2**64 / phi.

    Examples
    --------
    >>> import numpy as np
    >>> np.bincount(sample_parses([7, 0, 3], n_samples=1000))
    array([699,   0, 301])
    """
    n_samples = _checks.n_samples(n_samples, 1)
    array = _checks.floats("weights", weights)
    if array.ndim != 1 or not array.size or not (np.isfinite(array) & (array >= 0)).all() or not array.sum() > 0:
        rule = "must be finite numbers of at least 0, not all 0"
        raise ParameterError(f"{rule}, got {_checks.shown(weights)}", parameter="weights")
    start = np.uint64(_splitmix64(document_key(seed, doc_id), _PARSE_WORD))
    words = start + np.arange(n_samples, dtype=np.uint64) * np.uint64(_GAMMA)
    uniform = (words >> _HIGH_BITS).astype(np.float64) * 2.0**-53
    bounds = np.cumsum(array)
    # Parses of weight 0 at the end begin at 1, which no uniform number reaches.
    return np.searchsorted(bounds / bounds[-1], uniform, side="right").astype(np.int32)


def _splitmix64(key: int, index: int) -> int:
    """One output of SplitMix64 seeded with `key`, in Python's integers: `splitmix64` need not be compiled for it."""
    state = (key + (index + 1) * _GAMMA) % 2**64
    state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) % 2**64
    state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) % 2**64
    return state ^ (state >> 31)
