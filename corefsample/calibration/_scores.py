"""The Brier score of predictions, and its decomposition by bins."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from corefsample._results import HtmlTable
from corefsample.calibration._binning import sorted_pairs
from corefsample.calibration._bins import ReliabilityBins


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
