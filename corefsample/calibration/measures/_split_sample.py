"""Calibration error of predictions that are themselves shares of samples, freed of the samples' noise."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample.calibration.binning import BlockBins, ReliabilityBins, _rows, bin_pairs
from corefsample.calibration.intervals import Interval, bootstrap_interval, calibration_test
from corefsample.errors import ParameterError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["SplitSampleError", "SquaredNorm", "split_sample_error"]

Ints = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
SquaredNorm = Literal["rms", "mse"]

# Pairs without documents are dealt into this many blocks: a standard error from them is good to 1 / sqrt(2 * 200), 5%.
DEALT_BLOCKS = 200


@dataclass(frozen=True, slots=True, eq=False)
class SplitSampleError:
    """Calibration error of sampled predictions, as it stands and freed of the samples' noise.

    Attributes
    ----------
    naive
        Binned error of the shares of all samples.
    corrected
        Binned error between one half of the samples and the labels, in bins of the other half, debiased. A "mse" may
        be negative, which says that no miscalibration shows; "rms" is then 0.
    naive_interval, interval
        Confidence intervals of what `naive` and `corrected` estimate.
    p_value
        Of a test against perfect calibration that noise in the samples does not trouble.
    n_samples
        Samples of both halves together.
    norm
        "rms" or "mse".
    bins
        Of the shares of all samples.
    crossed
        Two sets of bins: by the first half, predictions (sum_q, sum_q2, sum_qy) being the second half's, and the other
        way round. q_min and q_max are those of the half that made the bins.
    """

    naive: float
    corrected: float
    naive_interval: Interval
    interval: Interval
    p_value: float
    n_samples: int
    norm: SquaredNorm
    bins: ReliabilityBins
    crossed: tuple[ReliabilityBins, ReliabilityBins]

    def to_frame(self) -> pd.DataFrame:
        """Table of two rows, naive and corrected: which, estimate, lower, upper, level."""
        import pandas as pd

        rows = [("naive", self.naive, self.naive_interval), ("corrected", self.corrected, self.interval)]
        return pd.DataFrame(
            {
                "which": [which for which, _, _ in rows],
                "estimate": [estimate for _, estimate, _ in rows],
                "lower": [interval.lower for _, _, interval in rows],
                "upper": [interval.upper for _, _, interval in rows],
                "level": [interval.level for _, _, interval in rows],
            }
        )


def split_sample_error(
    hits_a: npt.ArrayLike,
    hits_b: npt.ArrayLike,
    y: npt.ArrayLike,
    *,
    n_samples: int,
    bin_size: int | None = None,
    n_bins: int | None = None,
    norm: SquaredNorm = "rms",
    documents: npt.ArrayLike | None = None,
    level: float = 0.95,
    n_draws: int = 10_000,
    seed: int = 0,
) -> SplitSampleError:
    """Calibration error where each prediction is a share of samples, naive and corrected.

    A share k / S scatters around the probability q that it estimates. Binned by that share, even perfect predictions
    look overconfident at both ends: the pairs of a high bin are there partly by luck. So the samples are halved. Pairs
    are binned by their share in one half, where the share in the other half has the same mean as q itself, since its
    luck is its own; that mean is set against the share of positive labels. The halves change places, both squared
    errors are averaged, and what chance adds to a square is taken off, as the blocks show it.

    What this costs: the bins are those of the half's noisy shares, so pairs of unlike q share a bin, and errors of
    opposite sign average out. The corrected error estimates how far q is off within such bins, which is at most how
    far it is off for each q, and less the fewer the samples. It is a lower bound: 61% to 83% of the true error with 10
    samples, 89% to 97% with 100, 96% to 99.6% with 1,000 (`noise_study`, docs/calibration-studies.md). The naive error
    may be wrong either way.

    Parameters
    ----------
    hits_a, hits_b
        Whole numbers (n_pairs,) in 0 to n_samples / 2: samples of the first and of the second half that say yes.
    y
        Labels 0 or 1, (n_pairs,).
    n_samples
        Samples of both halves together; even.
    bin_size, n_bins
        Of adaptive bins, as of `bin_pairs`; 5,000 pairs a bin where neither is given.
    norm
        "rms" or "mse".
    documents
        Id of each pair's document, (n_pairs,): pairs of one document depend on each other through their labels and
        through the samples that they share. Without it pairs are taken to be independent.
    level
        Of the intervals, in (0, 1).
    n_draws
        Of the bootstrap by document, and of the test.
    seed
        Of the generators, in [0, 2^64).

    Raises
    ------
    ParameterError
        If counts or labels break their rule or are not of one length, n_samples is odd, there are fewer than 2
        documents (or pairs), or an option breaks its rule.

    References
    ----------
    Nguyen & O'Connor (2015), section 5.3, whose link probabilities are shares of samples.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> q = rng.random(20_000)
    >>> labels = rng.random(20_000) < q  # perfect calibration
    >>> error = split_sample_error(rng.binomial(5, q), rng.binomial(5, q), labels, n_samples=10, n_bins=10)
    >>> error.naive > 0.05, error.corrected < 0.02
    (True, True)
    """
    half = _half(n_samples)
    norm = cast("SquaredNorm", _checks.choice("norm", norm, get_args(SquaredNorm)))
    first, second = _hits("hits_a", hits_a, half), _hits("hits_b", hits_b, half)
    if first.shape != second.shape:
        raise ParameterError(f"hits_b must be as many as hits_a ({first.shape[0]}), got {second.shape[0]}")
    options: dict[str, Any] = {"bin_size": bin_size, "n_bins": n_bins}
    answers = _rows.labels("y", y)
    bins = bin_pairs(first + second, answers, n_samples=2 * half, **options)  # refuses labels other than 0 and 1
    labels = answers.astype(np.float64)
    codes, n_blocks = _blocks(documents, first, seed)
    whole = _summed(bins, 2 * half, first + second, first + second, labels, codes, n_blocks)
    one, other = (
        _summed(bin_pairs(by, answers, n_samples=half, **options), half, by, told, labels, codes, n_blocks)
        for by, told in ((first, second), (second, first))
    )
    both = _side_by_side(one, other)
    draws: dict[str, Any] = {"norm": norm, "n_draws": n_draws, "seed": seed}
    return SplitSampleError(
        _error(bins, norm),
        _debiased_error(both, norm),
        bootstrap_interval(whole, level=level, **draws),
        bootstrap_interval(both, level=level, **draws),
        calibration_test(both, **draws).p_value,
        2 * half,
        norm,
        bins,
        (one.bins, other.bins),
    )


def _half(n_samples: object) -> int:
    number = _rows.n_levels(n_samples)
    if number % 2:
        raise ParameterError(f"n_samples must be even, got {number}")
    return number // 2


def _hits(name: str, hits: npt.ArrayLike, half: int) -> Ints:
    counts = _checks.integers(name, hits)
    outside = np.flatnonzero((counts < 0) | (counts > half))
    if outside.size:
        raise ParameterError(f"{name}[{outside[0]}] must lie in 0 to n_samples / 2 ({half}), got {counts[outside[0]]}")
    if counts.shape[0] < 2:
        raise ParameterError(f"{name} must hold at least 2 counts, got {counts.shape[0]}")
    return counts


def _blocks(documents: npt.ArrayLike | None, like: Ints, seed: int) -> tuple[npt.NDArray[Any], int]:
    """Number the block of each pair: its document, or one that it is dealt into."""
    if documents is not None:
        codes, names = _rows.coded("documents", documents, like)
        if len(names) < 2:
            raise ParameterError(f"documents must be at least 2, got {len(names)}")
        return codes, len(names)
    n_blocks = min(DEALT_BLOCKS, like.shape[0])
    rng = np.random.Generator(np.random.Philox(_checks.seed(seed)))
    return rng.permutation(like.shape[0]) % n_blocks, n_blocks


def _summed(
    bins: ReliabilityBins,
    n_levels: int,
    by: Ints,
    told: Ints,
    labels: FloatArray,
    codes: npt.NDArray[Any],
    n_blocks: int,
) -> BlockBins:
    """Sum predictions `told` / n_levels and labels by block, in bins that were made of `by` / n_levels."""
    last_levels = np.rint(bins.q_max * n_levels).astype(np.int64)
    bin_of_level = np.searchsorted(last_levels, np.arange(n_levels + 1))
    places = bin_of_level[by]
    q = told / n_levels

    def by_bin(weights: FloatArray) -> FloatArray:
        return np.bincount(places, weights, bins.n_bins).astype(np.float64)

    def by_block(weights: FloatArray | None) -> FloatArray:
        sums = np.bincount(cells, weights, n_blocks * bins.n_bins)
        return sums.reshape(n_blocks, bins.n_bins).astype(np.float64)

    cells = codes * np.int64(bins.n_bins) + places
    sums = replace(bins, sum_q=by_bin(q), sum_q2=by_bin(q * q), sum_qy=by_bin(q * labels))
    return BlockBins(sums, by_block(None), by_block(q), by_block(labels))


def _side_by_side(one: BlockBins, other: BlockBins) -> BlockBins:
    """Bins of both, in which every pair stands twice: their squared error is the mean of both squared errors."""

    def joined(name: str) -> Any:
        return np.concatenate([getattr(each.bins, name) for each in (one, other)])

    def beside(name: str) -> FloatArray:
        return np.concatenate([getattr(each, name) for each in (one, other)], axis=1)

    arrays = {name: joined(name) for name in ("n", "sum_q", "sum_q2", "sum_y", "sum_qy", "q_min", "q_max")}
    return BlockBins(replace(one.bins, **arrays), beside("n"), beside("sum_q"), beside("sum_y"))


def _error(bins: ReliabilityBins, norm: SquaredNorm) -> float:
    square = float(np.sum((bins.sum_q - bins.sum_y) ** 2 / bins.n) / bins.n_pairs)
    return math.sqrt(square) if norm == "rms" else square


def _debiased_error(blocks: BlockBins, norm: SquaredNorm) -> float:
    """Binned error less the part of its square that the scatter of blocks adds."""
    n, residual = blocks.bins.n, blocks.sum_q - blocks.sum_y
    total = residual.sum(axis=0)
    scatter = np.square(residual - blocks.n * (total / n)).sum(axis=0)
    present = (blocks.n > 0.0).sum(axis=0)
    # A bin in one block alone does not show its scatter; nothing is taken off there.
    noise = scatter * present / np.maximum(present - 1, 1)
    square = float(np.sum((total**2 - noise) / n) / n.sum())
    return math.sqrt(max(square, 0.0)) if norm == "rms" else square
