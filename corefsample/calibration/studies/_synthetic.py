"""Prediction-label pairs whose true probabilities are known, to study calibration on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample.calibration.binning import ReliabilityBins
from corefsample.errors import ParameterError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Design", "SyntheticPairs", "shifted", "synthetic_pairs", "tempered"]

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Design:
    """How pairs are made: predictions q from Beta(alpha, beta), labels from Bernoulli(p), p a function of q.

    Attributes
    ----------
    alpha, beta
        Above 0. Beta(0.1, 1) is skewed as the predictions of NLP models are, Beta(0.5, 0.5) gathers at both ends.
    shift
        p = `shifted(q, shift)`, in [0, 0.5]; 0: p = q.
    temperature
        p = `tempered(q, temperature)`, above 0; 1: p = q. One of shift and temperature may change q.
    n_documents
        Documents that the pairs are dealt into, at least 1.
    unevenness
        Standard deviation of the logarithm of the documents' sizes, at least 0.
    dependence
        In [0, 1): correlation of the normal variables, one a pair, that fall below a threshold where the label is 1,
        within a document. It leaves every single label Bernoulli(p).
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
            _within(name, getattr(self, name), 0.0, np.inf, open_below=True)
        _within("shift", self.shift, 0.0, 0.5)
        _within("unevenness", self.unevenness, 0.0, np.inf)
        _checks.probability("dependence", self.dependence, below_one=True)
        _checks.whole("n_documents", self.n_documents, 1)
        if self.shift and self.temperature != 1.0:
            raise ParameterError(f"temperature must be 1 where shift is not 0, got {self.temperature}")

    def true_probs(self, q: FloatArray) -> FloatArray:
        """P(y = 1 | q), float64 like q."""
        return tempered(q, self.temperature) if self.shift == 0.0 else shifted(q, self.shift)


@dataclass(frozen=True, slots=True, eq=False)
class SyntheticPairs:
    """Pairs with the truth behind them; arrays read-only, (n_pairs,) each.

    Attributes
    ----------
    q, p
        float64 in [0, 1]: prediction, and P(y = 1 | q).
    y
        uint8: label, 0 or 1.
    documents
        int64: number of the document.
    """

    q: FloatArray
    p: FloatArray
    y: npt.NDArray[np.uint8]
    documents: npt.NDArray[np.int64]

    def __post_init__(self) -> None:
        for name in self.__slots__:
            getattr(self, name).flags.writeable = False

    @property
    def true_error(self) -> float:
        """RMS distance of q from p over the pairs: the calibration error without bins or noise."""
        return float(np.sqrt(np.mean(np.square(self.q - self.p))))

    def true_gaps(self, bins: ReliabilityBins, by: FloatArray | None = None) -> FloatArray:
        """Mean of p less mean of q in each bin: float64 (n_bins,); the bins are of q, or of another prediction `by`."""
        places = np.searchsorted(bins.q_max, self.q if by is None else by)
        return np.bincount(places, self.p - self.q, bins.n_bins) / bins.n

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row a pair: q, p, y, document."""
        import pandas as pd

        return pd.DataFrame({"q": self.q, "p": self.p, "y": self.y, "document": self.documents})


def synthetic_pairs(n_pairs: int, design: Design, *, seed: int = 0) -> SyntheticPairs:
    """Make pairs of a design.

    Parameters
    ----------
    n_pairs
        At least 1.
    design
        How q, p, y and documents come about.
    seed
        Of the generator (Philox), in [0, 2^64).

    Raises
    ------
    ParameterError
        If an option breaks its rule.

    References
    ----------
    The thesis behind Nguyen & O'Connor (2015), section 4.3.1, of independent pairs.

    Examples
    --------
    >>> pairs = synthetic_pairs(50_000, Design(shift=0.1), seed=1)
    >>> bool(abs(pairs.y.mean() - pairs.p.mean()) < 0.01)
    True
    """
    from scipy.special import ndtr

    n = _checks.whole("n_pairs", n_pairs, 1)
    rng = np.random.Generator(np.random.Philox(_checks.seed(seed)))
    q = rng.beta(design.alpha, design.beta, n)
    p = design.true_probs(q)
    sizes = np.exp(design.unevenness * rng.standard_normal(design.n_documents))
    documents = np.searchsorted(np.cumsum(sizes / sizes.sum())[:-1], rng.random(n), side="right")
    noise = rng.standard_normal(n) * np.sqrt(1.0 - design.dependence)
    noise += np.sqrt(design.dependence) * rng.standard_normal(design.n_documents)[documents]
    return SyntheticPairs(q, p, (ndtr(noise) < p).astype(np.uint8), documents.astype(np.int64))


def shifted(q: npt.ArrayLike, k: float) -> FloatArray:
    """Move probabilities away from one half by k: max(0, q - k) up to one half, min(1, q + k) above it.

    Predictions q of labels with these probabilities are underconfident. The thesis prints min(0, q + k) for the second
    case, a slip: that would be 0.

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


def tempered(q: npt.ArrayLike, temperature: float) -> FloatArray:
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


def _within(name: str, value: float, low: float, high: float, *, open_below: bool = False) -> None:
    good = low < value <= high if open_below else low <= value <= high
    if not (good and np.isfinite(value)):
        rule = (
            f"above {low:g}" if open_below else (f"at least {low:g}" if high == np.inf else f"in [{low:g}, {high:g}]")
        )
        raise ParameterError(f"{name} must be {rule}, got {value!r}")
