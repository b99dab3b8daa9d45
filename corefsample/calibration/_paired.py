"""Comparison of two scorers on the same pairs: a paired bootstrap by document."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample._arrays import Floats, HtmlTable, pd
from corefsample.calibration import _draws, _validation
from corefsample.calibration._binning import BlockBins
from corefsample.calibration._draws import require_blocks, rooted
from corefsample.calibration._validation import Norm
from corefsample.errors import ParameterError

LEAST_PROBABILITY = 1e-6  # lower limit in log scores: omitted candidates have probability 0, and some are right
MEASURES = ("calibration error", "log score", "refinement")


class ScorerSums(NamedTuple):
    """Sums over the pairs of one scorer, from which scorers are compared.

    Attributes
    ----------
    blocks
        Pairs summed by block and bin; each scorer has its own bins.
    losses
        float64 (n_blocks,): sum of -log of the probability of the observed labels of each block's pairs, at least 0.
    """

    blocks: BlockBins
    losses: Floats


@dataclass(frozen=True, slots=True, repr=False)
class PairedDifference(HtmlTable):
    """Difference of two scorers in one measure; lower is better in all measures.

    Attributes
    ----------
    measure
        Name of the measure: "calibration error" (without the part that chance adds), "log score" (mean of -log of the
        probability of the observed label, in nats) or "refinement".
    first, second
        Value of the measure for the first and for the second scorer.
    difference
        second - first: negative if the second scorer is better.
    lower, upper
        Ends of the confidence interval of the true difference.
    sd
        Standard deviation of the differences of the resamples.
    """

    measure: str
    first: float
    second: float
    difference: float
    lower: float
    upper: float
    sd: float


@dataclass(frozen=True, slots=True, repr=False)
class PairedComparison(HtmlTable):
    """Two scorers compared on the same pairs, by resampling the same documents for both.

    Attributes
    ----------
    differences
        Differences in calibration error, log score and refinement, in this order.
    n_pairs, n_blocks
        Number of pairs, and of documents that have pairs.
    n_bins
        Number of bins of the first and of the second scorer.
    norm
        Norm of the calibration error: "rms" or "mse".
    level
        Nominal share of the intervals that contain the true difference, in (0, 1).
    n_resamples
        Number of resamples.
    """

    differences: tuple[PairedDifference, ...]
    n_pairs: int
    n_blocks: int
    n_bins: tuple[int, int]
    norm: Norm
    level: float
    n_resamples: int

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row per measure: measure, first, second, difference, lower, upper, sd."""
        return pd.DataFrame(list(self.differences))


def log_losses(q: Floats, y: npt.ArrayLike) -> Floats:
    """Minus the logarithm of the probability of each observed label, which is at least `LEAST_PROBABILITY`."""
    clipped = np.clip(q, LEAST_PROBABILITY, 1.0 - LEAST_PROBABILITY)
    return np.asarray(-np.log(np.where(np.asarray(y) == 1, clipped, 1.0 - clipped)))


def compare_blocks(
    first: ScorerSums,
    second: ScorerSums,
    *,
    norm: Norm = "rms",
    level: float = 0.95,
    n_resamples: int = 10_000,
    seed: int = 0,
) -> PairedComparison:
    """Compare two scorers of the same pairs in calibration error, log score and refinement.

    Documents are resampled, the same ones for both scorers, so that what makes documents hard or easy for both cancels;
    the bins stay the same. Chance adds to a measured calibration error, and more to that of a well calibrated scorer.
    Here it is subtracted, as estimated from the scatter of the documents, so an error is smaller than that of
    `calibration_error`.

    Parameters
    ----------
    first, second
        Sums of each scorer; their blocks are the same, in the same order.
    norm
        Norm of the calibration error: "rms" or "mse".
    level
        Nominal share of the intervals that contain the true difference, in (0, 1).
    n_resamples
        Number of resamples, at least 2.
    seed
        Seed of the random generator (Philox), in [0, 2^64).

    Raises
    ------
    ParameterError
        If the two scorers differ in a block's number of pairs or of positive labels, fewer than 2 blocks have pairs,
        the norm is neither "rms" nor "mse", or another option is out of range.

    References
    ----------
    Davison & Hinkley (1997), Bootstrap Methods and their Application, section 5.2, for the interval.
    """
    level = _validation.checked_level(level)
    norm = _validation.checked_norm(norm, squared_for="for a paired comparison")
    n_resamples = _checks.whole("n_resamples", n_resamples, 2)
    scorers = [_Scorer.of(require_blocks(scorer.blocks), scorer.losses) for scorer in (first, second)]
    if not scorers[0].has_pairs_of(scorers[1]):
        raise ParameterError("must be sums over the pairs of first, got those of other pairs", parameter="second")
    n_blocks = scorers[0].sums.shape[0]
    estimates = [scorer.measures(np.ones((1, n_blocks)), norm, 1)[0] for scorer in scorers]
    draws = np.empty((n_resamples, len(MEASURES)))
    width = max(n_blocks, *(scorer.sums.shape[1] for scorer in scorers))
    for rows, times in _draws.multiplicities(n_blocks, n_resamples, width, _validation.generator(seed)):
        draws[rows] = scorers[1].measures(times, norm, 2) - scorers[0].measures(times, norm, 2)
    differences = tuple(
        _difference(measure, float(estimates[0][m]), float(estimates[1][m]), draws[:, m], level)
        for m, measure in enumerate(MEASURES)
    )
    n_bins = (scorers[0].n_bins, scorers[1].n_bins)
    return PairedComparison(differences, first.blocks.bins.n_pairs, n_blocks, n_bins, norm, level, n_resamples)


def _difference(measure: str, first: float, second: float, draws: Floats, level: float) -> PairedDifference:
    """Difference with its basic interval: the quantiles of the resamples, reflected about the difference."""
    tail, difference = (1.0 - level) / 2.0, second - first
    low, high = np.quantile(draws, (tail, 1.0 - tail)).tolist()
    ends = 2.0 * difference - high, 2.0 * difference - low
    return PairedDifference(measure, first, second, difference, *ends, float(draws.std(ddof=1)))


class _Scorer(NamedTuple):
    """Sums of one scorer by block, (n_blocks, 3 n_bins + 1): pairs, residuals (sum of q - y), labels, and losses.

    `noise` is the squared calibration error that chance adds to the true one.
    """

    sums: Floats
    n_bins: int
    noise: float

    @classmethod
    def of(cls, blocks: BlockBins, losses: Floats) -> _Scorer:
        """Sums of the blocks that have pairs."""
        has_pairs = blocks.n.any(axis=1)
        n, residual = blocks.n[has_pairs], (blocks.sum_q - blocks.sum_y)[has_pairs]
        total = n.sum(axis=0)
        deviations = residual - n * (residual.sum(axis=0) / total)
        noise = float((np.square(deviations).sum(axis=0) / total).sum() / total.sum())
        sums = np.hstack((n, residual, blocks.sum_y[has_pairs], losses[has_pairs, None]))
        return cls(sums, blocks.bins.n_bins, noise)

    def has_pairs_of(self, scorer: _Scorer) -> bool:
        """True if every block has as many pairs and positive labels as the same block of another scorer."""
        counts, other_counts = self._pairs_and_labels(), scorer._pairs_and_labels()
        return counts.shape == other_counts.shape and np.array_equal(counts, other_counts)

    def _pairs_and_labels(self) -> Floats:
        b = self.n_bins
        return np.stack((self.sums[:, :b].sum(axis=1), self.sums[:, 2 * b : 3 * b].sum(axis=1)))

    def measures(self, times: Floats, norm: Norm, n_noises: int) -> Floats:
        """Measures of resamples with these multiplicities of blocks: (n_rows, n_measures).

        The noise is subtracted `n_noises` times from the squared calibration error: all blocks have it once, resamples
        twice.
        """
        b, sums = self.n_bins, times @ self.sums
        n, residual, positive, losses = sums[:, :b], sums[:, b : 2 * b], sums[:, 2 * b : 3 * b], sums[:, -1]
        n_pairs = n.sum(axis=1)
        share = positive / np.maximum(n, 1.0)  # an empty bin has no positive label
        refinement = (positive * (1.0 - share)).sum(axis=1) / n_pairs
        squared = np.maximum(_draws.errors_of_sums(n, residual, norm) - n_noises * self.noise, 0.0)
        return np.column_stack((rooted(squared, norm), losses / n_pairs, refinement))
