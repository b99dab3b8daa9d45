"""Calibration error of predictions that are themselves shares of samples, corrected for the samples' noise."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample._arrays import Floats, Ints, Ints32
from corefsample._lazy import pd
from corefsample._results import Result
from corefsample.calibration import _validation
from corefsample.calibration._binning import bin_pairs, sums_by_block
from corefsample.calibration._bins import BlockBins, ReliabilityBins
from corefsample.calibration._draws import Interval, error_of_sums, rooted
from corefsample.calibration._intervals import bootstrap_interval, calibration_test
from corefsample.calibration._validation import Norm
from corefsample.errors import ParameterError

# Pairs without documents are assigned to this many random blocks: the relative error of a standard error estimated from
# them is then 1 / sqrt(2 * 200), 5%.
RANDOM_BLOCKS = 200


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SplitSampleError(Result):
    """Calibration error of sampled predictions, without and with a correction for the samples' noise.

    Attributes
    ----------
    naive
        Binned calibration error of the shares of all samples.
    corrected
        Binned error between one half of the samples and the labels, in bins of the other half, debiased. A "mse" may
        be negative if there is no detectable miscalibration; "rms" is then 0.
    naive_interval, interval
        Confidence intervals of the errors that `naive` and `corrected` estimate.
    p_value
        P-value of a test against perfect calibration that is valid despite the samples' noise, in (0, 1].
    n_samples
        Number of samples, both halves together.
    norm
        Norm of the errors: "rms" or "mse".
    bins
        Bins by the shares of all samples.
    crossed
        Two sets of bins: by the first half, with the second half's predictions (sum_q, sum_q2, sum_qy), and by the
        second half, with the first half's. q_min and q_max are those of the half that defines the bins.
    """

    naive: float
    corrected: float
    naive_interval: Interval
    interval: Interval
    p_value: float
    n_samples: int
    norm: Norm
    bins: ReliabilityBins
    crossed: tuple[ReliabilityBins, ReliabilityBins]

    def to_frame(self) -> pd.DataFrame:
        """Table of two rows, naive and corrected: which, estimate, lower, upper, level."""
        rows = [("naive", self.naive, self.naive_interval), ("corrected", self.corrected, self.interval)]
        columns = ["which", "estimate", "lower", "upper", "level"]
        return pd.DataFrame([(which, e, i.lower, i.upper, i.level) for which, e, i in rows], columns=columns)


def split_sample_error(
    hits_a: npt.ArrayLike,
    hits_b: npt.ArrayLike,
    y: npt.ArrayLike,
    *,
    n_samples: int,
    bin_size: int | None = None,
    n_bins: int | None = None,
    norm: Norm = "rms",
    documents: npt.ArrayLike | None = None,
    level: float = 0.95,
    n_resamples: int = 10_000,
    seed: int = 0,
) -> SplitSampleError:
    """Calibration error where each prediction is a share of samples, naive and corrected.

    A share k / S scatters around the probability q that it estimates. Binned by that share, even perfect predictions
    look overconfident at both ends: the pairs of a high bin are there partly by chance. So the samples are split into
    halves. Pairs are binned by their share in one half; the share in the other half has the same mean as q, since its
    noise is independent, and that mean is compared with the share of positive labels. The halves then change roles,
    both squared errors are averaged, and the part of a square that is due to chance, estimated from the variation
    between blocks, is subtracted.

    The price is that bins are those of one half's noisy shares: pairs of different q share a bin, and errors of
    opposite sign cancel. The corrected error estimates the error within such bins, which is at most that for each q,
    and smaller with fewer samples. It is a lower bound: 61% to 83% of the true error with 10 samples, 89% to 97% with
    100, 96% to 99.6% with 1,000 (`noise_study`, docs/calibration-studies.md). The naive error may be too large or too
    small.

    Parameters
    ----------
    hits_a, hits_b
        Number of positive samples in the first and in the second half, int (n_pairs,) from 0 to n_samples / 2.
    y
        Labels 0 or 1, (n_pairs,).
    n_samples
        Number of samples of both halves together, an even number.
    bin_size, n_bins
        Target size or number of adaptive bins, at most one of the two: see `bin_pairs`. By default bins have 5,000
        pairs, or fewer for small data.
    norm
        Norm of the errors: "rms" (the default) or "mse".
    documents
        Id of each pair's document, (n_pairs,): pairs of one document depend on each other through their labels and
        through the samples that they share. By default pairs are assumed to be independent.
    level
        Nominal share of intervals that contain the estimated error, in (0, 1).
    n_resamples
        Number of resamples of the bootstrap by document, and of the test, at least 2.
    seed
        Seed of the random generators, in [0, 2^64).

    Raises
    ------
    ParameterError
        If a count is not in 0 to n_samples / 2, a label is neither 0 nor 1, lengths differ, `n_samples` is odd, there
        are fewer than 2 documents (or pairs), the norm is neither "rms" nor "mse", or another option is out of range.

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
    _validation.checked_norm(norm, squared_for="for split samples")
    half = _half(n_samples)
    first, second = _hits("hits_a", hits_a, half), _hits("hits_b", hits_b, half)
    _validation.require_length("hits_b", second, first.shape[0], "hits_a")
    labels = _validation.labelled(first / half, y, names=("hits_a", "y"))[1]
    codes, n_blocks = _blocks(documents, first.shape[0], seed)
    options: dict[str, Any] = {"bin_size": bin_size, "n_bins": n_bins}

    def summed(key: Ints, hits: Ints, n_samples: int) -> BlockBins:
        bins = bin_pairs(key, labels, n_samples=n_samples, **options)
        return _summed(bins, n_samples, key, hits, labels, codes, n_blocks)

    all_samples = summed(first + second, first + second, 2 * half)
    first_bins, second_bins = summed(first, second, half), summed(second, first, half)
    both = _side_by_side(first_bins, second_bins)
    square = _debiased_square(both)
    draws: dict[str, Any] = {"norm": norm, "n_resamples": n_resamples, "seed": seed}
    return SplitSampleError(
        float(rooted(error_of_sums(all_samples.bins.n, all_samples.bins.sum_q - all_samples.bins.sum_y, norm), norm)),
        float(rooted(max(square, 0.0), norm)) if norm == "rms" else square,
        bootstrap_interval(all_samples, level=level, **draws),
        bootstrap_interval(both, level=level, **draws),
        calibration_test(both, **draws).p_value,
        2 * half,
        norm,
        all_samples.bins,
        (first_bins.bins, second_bins.bins),
    )


def _half(n_samples: object) -> int:
    number = _validation.checked_n_samples(n_samples)
    if number % 2:
        raise ParameterError(f"must be even, got {number}", parameter="n_samples")
    return number // 2


def _hits(name: str, hits: npt.ArrayLike, half: int) -> Ints:
    counts = _checks.integers(name, hits)
    _validation.require_all(name, counts, (counts >= 0) & (counts <= half), f"lie in 0 to n_samples / 2 ({half})")
    if counts.shape[0] < 2:
        raise ParameterError(f"must contain at least 2 counts, got {counts.shape[0]}", parameter=name)
    return counts


def _blocks(documents: npt.ArrayLike | None, n: int, seed: int) -> tuple[Ints | Ints32, int]:
    """Return the number of each pair's block (its document, or a random block), and the number of blocks."""
    if documents is not None:
        codes, names = _validation.coded("documents", documents, n)
        if len(names) < 2:
            raise ParameterError(f"must be at least 2, got {len(names)}", parameter="documents")
        return codes, len(names)
    n_blocks = min(RANDOM_BLOCKS, n)
    return _validation.generator(seed).permutation(n) % n_blocks, n_blocks


def _summed(
    bins: ReliabilityBins, n_levels: int, key: Ints, hits: Ints, labels: Floats, codes: Ints | Ints32, n_blocks: int
) -> BlockBins:
    """Sum predictions `hits` / n_levels and labels by block, in bins that were made from `key` / n_levels."""
    last_levels = np.rint(bins.q_max * n_levels).astype(np.int64)
    bin_indices = np.searchsorted(last_levels, np.arange(n_levels + 1))[key]
    q = hits / n_levels
    sum_q, sum_q2, sum_qy = (
        np.bincount(bin_indices, values, bins.n_bins).astype(np.float64) for values in (q, q * q, q * labels)
    )
    sums = (sums_by_block(codes, bin_indices, (n_blocks, bins.n_bins), values) for values in (None, q, labels))
    return BlockBins(replace(bins, sum_q=sum_q, sum_q2=sum_q2, sum_qy=sum_qy), *sums)


def _side_by_side(first: BlockBins, second: BlockBins) -> BlockBins:
    """Bins of both halves, which contain every pair twice, so that their squared error is the mean of the two."""
    names = ("n", "sum_q", "sum_q2", "sum_y", "sum_qy", "q_min", "q_max")
    arrays: dict[str, Any] = {
        name: np.concatenate([getattr(half.bins, name) for half in (first, second)]) for name in names
    }
    block_sums = (np.hstack([getattr(half, name) for half in (first, second)]) for name in ("n", "sum_q", "sum_y"))
    return BlockBins(replace(first.bins, **arrays), *block_sums)


def _debiased_square(blocks: BlockBins) -> float:
    """Squared error minus the part that the variation between blocks adds."""
    n, residual = blocks.bins.n, blocks.sum_q - blocks.sum_y
    total = residual.sum(axis=0)
    scatter = np.square(residual - blocks.n * (total / n)).sum(axis=0)
    n_present = (blocks.n > 0.0).sum(axis=0)
    # The variation of a bin in one block only is unknown; nothing is subtracted there.
    noise = scatter * n_present / np.maximum(n_present - 1, 1)
    return float(np.sum((total**2 - noise) / n) / n.sum())
