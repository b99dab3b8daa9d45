"""CORP: a proper score split into miscalibration, discrimination and uncertainty, without bins to choose."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample.calibration.binning import FloatArray, isotonic_blocks, labelled, pooled
from corefsample.errors import ParameterError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["CorpDecomposition", "corp_decomposition"]

Scoring = Literal["brier", "log"]
SCORINGS: tuple[Scoring, ...] = ("brier", "log")


@dataclass(frozen=True, slots=True, eq=False)
class CorpDecomposition:
    """A mean score = miscalibration - discrimination + uncertainty, and the curve that recalibrates; arrays read-only.

    Attributes
    ----------
    score
        The mean score of the predictions; lower is better.
    miscalibration
        At least 0: what recalibration by the curve would save.
    discrimination
        At least 0: what the recalibrated predictions save over the share of positive labels given for every pair.
    uncertainty
        The score of that share: of the labels alone.
    scoring
        "brier" or "log" (natural logarithm).
    q_lower, q_upper
        float64 (n_blocks,): the least and the largest prediction of each block of the curve, ascending.
    recalibrated
        float64 (n_blocks,): share of positive labels in the block, which rises from block to block.
    n
        int64 (n_blocks,): pairs.
    """

    score: float
    miscalibration: float
    discrimination: float
    uncertainty: float
    scoring: Scoring
    q_lower: FloatArray
    q_upper: FloatArray
    recalibrated: FloatArray
    n: npt.NDArray[np.int64]

    def __post_init__(self) -> None:
        for array in (self.q_lower, self.q_upper, self.recalibrated, self.n):
            array.flags.writeable = False

    def to_frame(self) -> pd.DataFrame:
        """Tidy table of the curve, one row a block: q_lower, q_upper, recalibrated, n."""
        import pandas as pd

        return pd.DataFrame(
            {"q_lower": self.q_lower, "q_upper": self.q_upper, "recalibrated": self.recalibrated, "n": self.n}
        )


def corp_decomposition(q: npt.ArrayLike, y: npt.ArrayLike, *, score: Scoring = "brier") -> CorpDecomposition:
    """Split the mean score of predictions into miscalibration, discrimination and uncertainty.

    The predictions are recalibrated by isotonic regression of the labels on them (pool adjacent violators, pairs of
    equal prediction pooled first), which is the best non-decreasing recalibration under every proper score. With S
    the score of the predictions, C that of the recalibrated ones and R that of the share of positive labels,
    miscalibration = S - C, discrimination = R - C, uncertainty = R. There is no bin size to choose, but the curve is
    fitted to the pairs it judges: even perfect predictions show a small positive miscalibration.

    Parameters
    ----------
    q
        (n,) in [0, 1]: predictions.
    y
        (n,): labels, 0 or 1.
    score
        "brier" (mean squared error) or "log" (mean negative log-likelihood).

    Returns
    -------
    CorpDecomposition
        The four figures and the curve.

    Raises
    ------
    ParameterError
        If q and y are not at least one pair of a probability and a label, or if the log score is infinite: a
        prediction of 0 with label 1, or of 1 with label 0. The decomposition would say no more than that.

    References
    ----------
    Dimitriadis, Gneiting & Jordan (2021), "Stable reliability diagrams for probabilistic classifiers", PNAS 118(8).

    Examples
    --------
    >>> parts = corp_decomposition([0.1, 0.3, 0.6, 0.8], [0, 1, 0, 1])
    >>> round(parts.score, 6), round(parts.miscalibration, 6), parts.discrimination, parts.uncertainty
    (0.225, 0.1, 0.125, 0.25)
    """
    _checks.choice("score", score, SCORINGS)
    given, observed = labelled(q, y)
    mean_score = _mean_brier(given, observed) if score == "brier" else _mean_log(given, observed)
    ties = pooled(given, observed)
    starts, recalibrated = isotonic_blocks(ties)
    n = np.add.reduceat(ties.weights, starts)
    share = float(observed.mean())
    best = float(n @ _expected(recalibrated, score)) / given.shape[0]
    uncertainty = float(_expected(np.array([share]), score)[0])
    return CorpDecomposition(
        score=mean_score,
        # Never below 0 but by rounding, since every constant and the identity are non-decreasing.
        miscalibration=max(mean_score - best, 0.0),
        discrimination=max(uncertainty - best, 0.0),
        uncertainty=uncertainty,
        scoring=score,
        q_lower=ties.q[starts],
        q_upper=ties.q[np.append(starts[1:], ties.q.shape[0]) - 1],
        recalibrated=recalibrated,
        n=n.astype(np.int64),
    )


def _expected(p: FloatArray, scoring: Scoring) -> FloatArray:
    """Mean score of predicting p for labels of which a share p is positive."""
    if scoring == "brier":
        return np.asarray(p * (1.0 - p))
    from scipy.special import entr

    return np.asarray(entr(p) + entr(1.0 - p))


def _mean_brier(q: FloatArray, y: FloatArray) -> float:
    return float(np.mean((q - y) ** 2))


def _mean_log(q: FloatArray, y: FloatArray) -> float:
    chance = np.where(y == 1.0, q, 1.0 - q)  # given to the label that came true
    impossible = np.flatnonzero(chance == 0.0)
    if impossible.size:
        k = int(impossible[0])
        raise ParameterError(
            "q must be neither 0 where y is 1 nor 1 where y is 0, for the log score to be finite, "
            f"got {impossible.size} such, the first q = {q[k]:g} at index {k}"
        )
    logs = np.where(y == 1.0, np.log(chance), np.log1p(-np.where(y == 1.0, 0.0, q)))
    return abs(float(np.mean(logs)))
