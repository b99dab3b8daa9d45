"""Calibration error of predictions that are themselves shares of samples, corrected for the samples' noise.

A share k / S scatters around the probability q that it estimates. Binned by that share, even perfect predictions look
overconfident at both ends: the pairs of a high bin are there partly by chance. So the samples are split into halves.
Pairs are binned by their share in one half; the share in the other half has the same mean as q, since its noise is
independent, and that mean is compared with the share of positive labels. The halves then change roles, both squared
errors are averaged, and the part of a square that is due to chance, estimated from the variation between documents, is
subtracted.

The price is that bins are those of one half's noisy shares: pairs of different q share a bin, and errors of opposite
sign cancel. The corrected error is a lower bound.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from corefsample._arrays import Ints
from corefsample.calibration._binning import BlockBins, ReliabilityBins, bin_pairs, block_bin_pairs
from corefsample.calibration._draws import error_of_sums, rooted
from corefsample.calibration._error import Interval, calibration_test, error_interval
from corefsample.calibration._validation import Norm

BIN_SUMS = ("n", "sum_q", "sum_q2", "sum_y", "sum_qy", "q_min", "q_max")


@dataclass(frozen=True)
class SplitSampleError:
    """Errors of all samples (naive) and of the halves (corrected), with the bins that each half makes of the other."""

    naive: float
    corrected: float
    naive_interval: Interval
    interval: Interval
    p_value: float
    crossed: tuple[ReliabilityBins, ReliabilityBins]


def split_sample_error(
    hits_a: Ints,
    hits_b: Ints,
    y: np.typing.ArrayLike,
    documents: Ints,
    *,
    n_samples: int,
    bin_size: int,
    norm: Norm = "rms",
    n_resamples: int = 10_000,
    seed: int = 0,
) -> SplitSampleError:
    """Error of the shares (hits_a + hits_b) / n_samples, half of the samples each, in bins of `bin_size` pairs."""
    labels, half = np.asarray(y, np.float64), n_samples // 2
    every = block_bin_pairs((hits_a + hits_b) / n_samples, labels, documents, bin_size=bin_size)
    first, second = (
        crossed(key, hits / half, labels, documents, half, bin_size)
        for key, hits in ((hits_a, hits_b), (hits_b, hits_a))
    )
    # Side by side the bins of both halves contain every pair twice, so that their squared error is the mean of the two.
    bins: dict[str, Any] = {
        name: np.concatenate([getattr(each.bins, name) for each in (first, second)]) for name in BIN_SUMS
    }
    sums = (np.hstack([getattr(each, name) for each in (first, second)]) for name in ("n", "sum_q", "sum_y"))
    both = BlockBins(replace(first.bins, **bins), *sums)
    square = debiased_square(both)
    draws: dict[str, Any] = {"norm": norm, "n_resamples": n_resamples, "seed": seed}
    return SplitSampleError(
        float(rooted(error_of_sums(every.bins.n, every.bins.sum_q - every.bins.sum_y, norm), norm)),
        float(rooted(max(square, 0.0), norm)) if norm == "rms" else square,
        error_interval(every, **draws),
        error_interval(both, **draws),
        calibration_test(both, **draws).p_value,
        (first.bins, second.bins),
    )


def crossed(
    key: Ints,
    q: np.typing.NDArray[np.float64],
    labels: np.typing.NDArray[np.float64],
    documents: Ints,
    half: int,
    bin_size: int,
) -> BlockBins:
    """Sums of predictions q by document, in the bins of the other half's hits `key`."""
    bins = bin_pairs(key / half, labels, bin_size=bin_size)
    last_levels = np.rint(bins.q_max * half).astype(np.int64)
    places = np.searchsorted(last_levels, np.arange(half + 1))[key]
    sum_q, sum_q2, sum_qy = (np.bincount(places, values, bins.n_bins) for values in (q, q * q, q * labels))
    codes = np.unique(documents, return_inverse=True)[1]
    shape = int(codes.max()) + 1, bins.n_bins
    n, block_q, block_y = (
        np.bincount(codes * bins.n_bins + places, values, shape[0] * shape[1]).astype(np.float64).reshape(shape)
        for values in (None, q, labels)
    )
    return BlockBins(replace(bins, sum_q=sum_q, sum_q2=sum_q2, sum_qy=sum_qy), n, block_q, block_y)


def debiased_square(blocks: BlockBins) -> float:
    """Squared error minus the part that the variation between documents adds."""
    n, residual = blocks.bins.n, blocks.sum_q - blocks.sum_y
    total = residual.sum(axis=0)
    scatter = np.square(residual - blocks.n * (total / n)).sum(axis=0)
    n_present = (blocks.n > 0.0).sum(axis=0)
    # The variation of a bin in one document only is unknown; nothing is subtracted there.
    noise = scatter * n_present / np.maximum(n_present - 1, 1)
    return float(np.sum((total**2 - noise) / n) / n.sum())
