"""Proper scores of predictions, and their decompositions: of the Brier score by bins, and CORP, without bins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample._arrays import Floats, Ints
from corefsample._html import HtmlTable
from corefsample._lazy import pd
from corefsample._results import Result
from corefsample.calibration._binning import sorted_pairs
from corefsample.calibration._bins import ReliabilityBins
from corefsample.calibration._validation import isotonic_blocks, labelled, pooled
from corefsample.errors import ParameterError


def brier_score(q: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """Mean squared distance of predictions from labels.

    Parameters
    ----------
    q
        Predictions in [0, 1], (n_pairs,).
    y
        Labels 0 or 1, (n_pairs,).

    Returns
    -------
    float
        In [0, 1]; lower is better. The order of the rows cannot change the result, not even its last bit.

    Raises
    ------
    ParameterError
        If a prediction or a label breaks its rule, lengths differ, or there is no pair.

    References
    ----------
    Brier (1950); Nguyen & O'Connor (2015), section 2.1.

    Examples
    --------
    >>> brier_score([0.5, 1.0], [0, 1])
    0.125
    """
    predictions, labels = sorted_pairs(q, y)
    predictions -= labels
    return float(np.mean(np.square(predictions, out=predictions)))


def log_loss(q: npt.ArrayLike, y: npt.ArrayLike, *, floor: float = 0.0) -> float:
    """Mean of -log of the probability given to the observed label, in nats.

    Parameters
    ----------
    q
        Predictions in [0, 1], (n_pairs,).
    y
        Labels 0 or 1, (n_pairs,).
    floor
        Least probability, in [0, 0.5): predictions are clipped to [floor, 1 - floor].

    Returns
    -------
    float
        At least 0; infinite if the floor is 0 and a certain prediction is wrong. The order of the rows cannot change
        the result, not even its last bit.

    Raises
    ------
    ParameterError
        If a prediction, a label or the floor breaks its rule, lengths differ, or there is no pair.

    Examples
    --------
    >>> round(log_loss([0.5, 1.0], [0, 1]), 6)  # log(2) / 2
    0.346574
    """
    least = _checks.probability("floor", floor)
    if least >= 0.5:
        raise ParameterError(f"must lie in [0, 0.5), got {floor!r}", parameter="floor")
    predictions, labels = sorted_pairs(q, y)
    np.clip(predictions, least, 1.0 - least, out=predictions)
    with np.errstate(divide="ignore"):
        losses = np.where(labels == 1, -np.log(predictions), -np.log1p(-predictions))
    return float(losses.mean()) + 0.0  # no -0.0


@dataclass(frozen=True, slots=True)
class BrierDecomposition(HtmlTable):
    """The Brier score as a sum of parts: brier = calibration + refinement + within_bins.

    Attributes
    ----------
    brier
        Mean squared distance of predictions from labels.
    calibration
        Mean squared distance of a bin's mean prediction from its share p of positive labels: the "mse" error.
    refinement
        Mean of p (1 - p), which calibration cannot reduce. Together with `calibration` it is the Brier score of the
        forecast that predicts each bin's mean prediction throughout the bin.
    within_bins
        The rest: the spread of predictions within bins, minus twice their covariance with the labels. Negative if
        predictions discriminate between labels within bins.
    uncertainty
        p (1 - p) of all labels: the Brier score of always predicting the base rate.
    """

    brier: float
    calibration: float
    refinement: float
    within_bins: float
    uncertainty: float

    @property
    def resolution(self) -> float:
        """Variance of the share of positive labels between bins: uncertainty - refinement, at least 0."""
        return self.uncertainty - self.refinement


def brier_decomposition(bins: ReliabilityBins) -> BrierDecomposition:
    """Parts of the Brier score of binned pairs; the identity holds to rounding.

    Parameters
    ----------
    bins
        Pairs summed by bin, from `bin_pairs` or a table.

    References
    ----------
    Nguyen & O'Connor (2015), Eq. 1; DeGroot & Fienberg (1983); Stephenson, Coelho & Jolliffe (2008), "Two extra
    components in the Brier score decomposition", for the part within bins.

    Examples
    --------
    >>> from corefsample.calibration._binning import bin_pairs
    >>> parts = brier_decomposition(bin_pairs([0.2, 0.4, 0.8, 0.8], [0, 0, 1, 0], n_bins=2))
    >>> [round(part, 6) for part in (parts.brier, parts.calibration, parts.refinement, parts.within_bins)]
    [0.22, 0.09, 0.125, 0.005]
    """
    total = bins.n_pairs
    p = bins.mean_y
    spread = bins.sum_q2 - bins.sum_q * bins.mean_q
    covariance = bins.sum_qy - bins.sum_q * p
    base_rate = float(bins.sum_y.sum()) / total
    return BrierDecomposition(
        brier=float((bins.sum_q2 - 2.0 * bins.sum_qy + bins.sum_y).sum()) / total,
        calibration=float(bins.n @ (bins.mean_q - p) ** 2) / total,
        refinement=float(bins.n @ (p * (1.0 - p))) / total,
        within_bins=float((spread - 2.0 * covariance).sum()) / total,
        uncertainty=base_rate * (1.0 - base_rate),
    )


Scoring = Literal["brier", "log"]
SCORINGS: tuple[Scoring, ...] = ("brier", "log")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CorpDecomposition(Result):
    """A mean score = miscalibration - discrimination + uncertainty, and the recalibration curve; arrays read-only.

    Attributes
    ----------
    score
        The mean score of the predictions; lower is better.
    miscalibration
        At least 0: how much recalibration by the curve would lower the score.
    discrimination
        At least 0: how much lower the score of the recalibrated predictions is than that of the share of positive
        labels, predicted for every pair.
    uncertainty
        The score of that share; it depends only on the labels.
    scoring
        "brier" or "log" (natural logarithm).
    q_lower, q_upper
        float64 (n_blocks,): the least and the largest prediction of each block of the curve, ascending.
    recalibrated
        float64 (n_blocks,): share of positive labels in the block, increasing.
    n
        int64 (n_blocks,): pairs.
    """

    score: float
    miscalibration: float
    discrimination: float
    uncertainty: float
    scoring: Scoring
    q_lower: Floats
    q_upper: Floats
    recalibrated: Floats
    n: Ints

    def to_frame(self) -> pd.DataFrame:
        """Tidy table of the curve, one row per block: q_lower, q_upper, recalibrated, n."""
        return self._columns("q_lower", "q_upper", "recalibrated", "n")


def corp_decomposition(q: npt.ArrayLike, y: npt.ArrayLike, *, score: Scoring = "brier") -> CorpDecomposition:
    """Split the mean score of predictions into miscalibration, discrimination and uncertainty.

    The predictions are recalibrated by isotonic regression of the labels on them (pool adjacent violators, pairs of
    equal prediction pooled first), which is the best non-decreasing recalibration under every proper score. With S
    the score of the predictions, C that of the recalibrated ones and R that of the share of positive labels,
    miscalibration = S - C, discrimination = R - C, uncertainty = R. There is no bin size to choose, but the curve is
    fitted to the pairs it evaluates: even perfect predictions have a small positive miscalibration.

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
        If there is no pair, a prediction or a label breaks its rule, or the log score is infinite (a prediction of 0
        with label 1, or of 1 with label 0).

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
    if score == "log" and (impossible := np.flatnonzero(given == 1.0 - observed)).size:
        k = impossible[0]
        raise ParameterError(
            "must be neither 0 where y is 1 nor 1 where y is 0, for the log score to be finite, "
            f"got {impossible.size} such, the first q = {given[k]:g} at index {k}",
            parameter="q",
        )
    mean_score = brier_score(given, observed) if score == "brier" else log_loss(given, observed)
    ties = pooled(given, observed)
    starts, recalibrated = isotonic_blocks(ties)
    n = np.add.reduceat(ties.weights, starts)
    share = float(observed.mean())
    best = float(n @ _expected(recalibrated, score)) / given.shape[0]
    uncertainty = float(_expected(np.array([share]), score)[0])
    return CorpDecomposition(
        score=mean_score,
        # Negative only by rounding, since every constant and the identity are non-decreasing.
        miscalibration=max(mean_score - best, 0.0),
        discrimination=max(uncertainty - best, 0.0),
        uncertainty=uncertainty,
        scoring=score,
        q_lower=ties.q[starts],
        q_upper=ties.q[np.append(starts[1:], ties.q.shape[0]) - 1],
        recalibrated=recalibrated,
        n=n.astype(np.int64),
    )


def _expected(p: Floats, scoring: Scoring) -> Floats:
    """Mean score of prediction p for labels of which a share p is positive."""
    if scoring == "brier":
        return np.asarray(p * (1.0 - p))
    from scipy.special import entr

    return np.asarray(entr(p) + entr(1.0 - p))
