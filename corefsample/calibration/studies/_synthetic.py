"""Synthetic prediction-label pairs whose true probabilities are known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample._arrays import Bytes, Floats, Ints
from corefsample._lazy import pd
from corefsample.calibration.binning._bins import ReliabilityBins
from corefsample.calibration.binning._results import Result
from corefsample.calibration.binning._validation import generator
from corefsample.errors import ParameterError


@dataclass(frozen=True, slots=True)
class Design:
    """How pairs are made: predictions q from Beta(alpha, beta), labels from Bernoulli(p), p a function of q.

    Attributes
    ----------
    alpha, beta
        Above 0. Beta(0.1, 1) is skewed like the predictions of NLP models, Beta(0.5, 0.5) concentrates at both ends.
    shift
        p = `shifted(q, shift)`, in [0, 0.5]; 0: p = q.
    temperature
        p = `tempered(q, temperature)`, above 0; 1: p = q. Only one of shift and temperature may change q.
    n_documents
        Number of documents among which the pairs are distributed, at least 1.
    unevenness
        Standard deviation of the logarithm of the documents' sizes, at least 0.
    dependence
        In [0, 1): correlation within a document of the normal variables, one per pair, that are below a threshold if
        the label is 1. Each single label remains Bernoulli(p).
    """

    alpha: float = 0.5
    beta: float = 0.5
    shift: float = 0.0
    temperature: float = 1.0
    n_documents: int = 100
    unevenness: float = 0.0
    dependence: float = 0.0

    def __post_init__(self) -> None:
        for name in ("alpha", "beta", "temperature"):
            _checks.above_zero(name, getattr(self, name))
        if not 0.0 <= self.shift <= 0.5:
            raise ParameterError(f"must be in [0, 0.5], got {self.shift!r}", parameter="shift")
        _checks.at_least_zero("unevenness", self.unevenness)
        _checks.probability("dependence", self.dependence, below_one=True)
        _checks.whole("n_documents", self.n_documents, 1)
        if self.shift and self.temperature != 1.0:
            raise ParameterError(f"must be 1 if shift is not 0, got {self.temperature}", parameter="temperature")

    def true_probs(self, q: Floats) -> Floats:
        """P(y = 1 | q), float64 like q."""
        return tempered(q, self.temperature) if self.shift == 0.0 else shifted(q, self.shift)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SyntheticPairs(Result):
    """Pairs with their true probabilities; arrays read-only, (n_pairs,) each.

    Attributes
    ----------
    q, p
        float64 in [0, 1]: prediction, and P(y = 1 | q).
    y
        uint8: label, 0 or 1.
    documents
        int64: number of the document.
    """

    q: Floats
    p: Floats
    y: Bytes
    documents: Ints

    @property
    def true_error(self) -> float:
        """RMS distance of q from p over the pairs: the calibration error without bins or noise."""
        return float(np.sqrt(np.mean(np.square(self.q - self.p))))

    def true_gaps(self, bins: ReliabilityBins, by: Floats | None = None) -> Floats:
        """Mean of p minus mean of q in each bin, of q or of another prediction `by`: float64 (n_bins,)."""
        places = np.searchsorted(bins.q_max, self.q if by is None else by)
        return np.bincount(places, self.p - self.q, bins.n_bins) / bins.n

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row per pair: q, p, y, document."""
        return self._columns("q", "p", "y").assign(document=self.documents)


def synthetic_pairs(n_pairs: int, design: Design, *, seed: int = 0) -> SyntheticPairs:
    """Draw pairs of a design.

    Parameters
    ----------
    n_pairs
        At least 1.
    design
        How q, p, y and documents are drawn.
    seed
        Of the generator (Philox), in [0, 2^64).

    Raises
    ------
    ParameterError
        If an option breaks its rule.

    References
    ----------
    The thesis behind Nguyen & O'Connor (2015), section 4.3.1, for independent pairs.

    Examples
    --------
    >>> pairs = synthetic_pairs(50_000, Design(shift=0.1), seed=1)
    >>> bool(abs(pairs.y.mean() - pairs.p.mean()) < 0.01)
    True
    """
    from scipy.special import ndtr

    n = _checks.whole("n_pairs", n_pairs, 1)
    rng = generator(seed)
    q = rng.beta(design.alpha, design.beta, n)
    p = design.true_probs(q)
    sizes = np.exp(design.unevenness * rng.standard_normal(design.n_documents))
    documents = np.searchsorted(np.cumsum(sizes / sizes.sum())[:-1], rng.random(n), side="right")
    noise = rng.standard_normal(n) * np.sqrt(1.0 - design.dependence)
    noise += np.sqrt(design.dependence) * rng.standard_normal(design.n_documents)[documents]
    return SyntheticPairs(q, p, (ndtr(noise) < p).astype(np.uint8), documents.astype(np.int64))


def shifted(q: npt.ArrayLike, k: float) -> Floats:
    """Move probabilities away from one half by k: max(0, q - k) up to one half, min(1, q + k) above it.

    Predictions q of labels with these probabilities are underconfident. The thesis prints min(0, q + k) for the second
    case, a typing error: that would be 0.

    References
    ----------
    The thesis behind Nguyen & O'Connor (2015), section 4.3.1, t(p).

    Examples
    --------
    >>> shifted([0.05, 0.3, 0.5, 0.6, 0.95], 0.1)
    array([0. , 0.2, 0.4, 0.7, 1. ])
    """
    given = np.asarray(q, np.float64)
    return np.where(given <= 0.5, np.maximum(0.0, given - k), np.minimum(1.0, given + k))


def tempered(q: npt.ArrayLike, temperature: float) -> Floats:
    """Divide the log-odds of probabilities by a temperature: predictions q are overconfident if it is above 1.

    Examples
    --------
    >>> tempered([0.0, 0.5, 0.8, 1.0], 2.0)  # odds of 4 become 2
    array([0.        , 0.5       , 0.66666667, 1.        ])
    """
    given = np.asarray(q, np.float64)
    if temperature == 1.0:
        return given.copy()
    from scipy.special import expit, logit

    return np.asarray(expit(logit(given) / temperature), np.float64)
