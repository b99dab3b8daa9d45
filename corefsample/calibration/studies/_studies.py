"""Studies of the calibration error on pairs whose truth is known: what it shows, and how far it can be trusted.

Each study returns a tidy table. `benchmarks/studies.py` runs them, prints them, and draws two of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample.calibration.binning import BlockBins, bin_pairs, block_bin_pairs
from corefsample.calibration.intervals import (
    Norm,
    _draws,
    bootstrap_draws,
    calibration_test,
    interval_of_draws,
    simulated_draws,
)
from corefsample.calibration.measures import split_sample_error
from corefsample.calibration.studies._synthetic import Design, SyntheticPairs, synthetic_pairs

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["bin_size_study", "coverage_study", "noise_study", "rejection_study", "sample_size_study"]

FloatArray = npt.NDArray[np.float64]
PERFECT, SHIFTED = Design(), Design(shift=0.1)
BIN_SIZES = tuple(2**power for power in range(1, 17))
SAMPLE_SIZES = tuple(range(10_000, 50_001, 2_000))
INTERVALS = (
    *("simulated normal", "simulated pivotal", "simulated inverted"),
    *("bootstrap percentile", "bootstrap basic", "bootstrap pivotal", "bootstrap inverted"),
)


# --- the thesis --------------------------------------------------------------------------------------------


def bin_size_study(
    designs: Sequence[Design] = (PERFECT, SHIFTED),
    *,
    n_pairs: int = 100_000,
    bin_sizes: Sequence[int] = BIN_SIZES,
    n_replications: int = 1,
    seed: int = 0,
) -> pd.DataFrame:
    """Squared calibration error of the same pairs in ever larger bins.

    Where one bin size divides the next the larger bins are unions of the smaller ones, so by Jensen's inequality the
    error cannot rise, whatever the pairs.

    Returns
    -------
    DataFrame
        One row a design, replication and bin size: the design's fields, replication, n_pairs, bin_size, n_bins, mse,
        true_mse (of q against p, without bins).

    References
    ----------
    The thesis behind Nguyen & O'Connor (2015), section 4.3.2.
    """
    rows = []
    for design, replication, pairs in _replications(designs, n_pairs, n_replications, seed):
        rows += [_mse_row(design, replication, pairs, bin_size) for bin_size in bin_sizes]
    return _table(rows)


def sample_size_study(
    designs: Sequence[Design] = (PERFECT, SHIFTED),
    *,
    sample_sizes: Sequence[int] = SAMPLE_SIZES,
    n_replications: int = 1,
    seed: int = 0,
) -> pd.DataFrame:
    """Squared calibration error of ever more pairs, in bins of the square root of their number.

    With perfect calibration it goes to 0, about as 1 / (4 sqrt(n)) at most; else to the true squared error.

    Returns
    -------
    DataFrame
        As `bin_size_study`, one row a design, replication and number of pairs.

    References
    ----------
    The thesis behind Nguyen & O'Connor (2015), section 4.3.3.
    """
    rows = []
    for order, n_pairs in enumerate(sample_sizes):
        for design, replication, pairs in _replications(designs, n_pairs, n_replications, seed, order):
            rows.append(_mse_row(design, replication, pairs, max(1, round(np.sqrt(n_pairs)))))
    return _table(rows)


def _mse_row(design: Design, replication: int, pairs: SyntheticPairs, bin_size: int) -> dict[str, Any]:
    bins = bin_pairs(pairs.q, pairs.y, bin_size=bin_size)
    mse = float(np.sum((bins.sum_q - bins.sum_y) ** 2 / bins.n) / bins.n_pairs)
    what = {**_fields(design), "replication": replication, "n_pairs": bins.n_pairs, "bin_size": bin_size}
    return {**what, "n_bins": bins.n_bins, "mse": mse, "true_mse": pairs.true_error**2}


# --- intervals and tests -----------------------------------------------------------------------------------


def coverage_study(
    designs: Sequence[Design],
    *,
    n_pairs: int = 20_000,
    bin_sizes: Sequence[int] = (100, 1000),
    norm: Norm = "rms",
    methods: Sequence[str] = INTERVALS,
    level: float = 0.95,
    n_replications: int = 1000,
    n_draws: int = 1000,
    seed: int = 0,
) -> pd.DataFrame:
    """How often each interval holds the true binned error: that of the mean of p, not of y, in the same bins.

    Returns
    -------
    DataFrame
        One row a design, bin size and method: the design's fields, n_pairs, bin_size, norm, method, level,
        n_replications, true_error, mean_estimate, held (share of replications whose interval holds the truth), held_se
        (its standard error), all_above, all_below (share of intervals that lie above or below it), holds_estimate
        (share that hold the estimate), mean_lower, mean_upper.
    """
    counts: dict[tuple[Any, ...], list[tuple[float, ...]]] = {}
    power = 2 if norm == "rms" else 1  # to the scale on which errors of bins add up
    for design, replication, pairs in _replications(designs, n_pairs, n_replications, seed):
        for bin_size in bin_sizes:
            blocks = block_bin_pairs(pairs.q, pairs.y, pairs.documents, bin_size=bin_size)
            truth = _error(pairs.true_gaps(blocks.bins), blocks, norm)
            estimate = _error(blocks.bins.mean_y - blocks.bins.mean_q, blocks, norm)
            draws = {
                "simulated": simulated_draws(blocks.bins, norm, n_draws, replication),
                "bootstrap": bootstrap_draws(blocks, norm, n_draws, replication),
            }
            for method in methods:
                errors, noise = draws[_checks.choice("methods", method, INTERVALS).split()[0]]
                interval = interval_of_draws(method, estimate**power, errors, noise, level, norm)
                found = truth, estimate, interval.lower, interval.upper
                counts.setdefault((design, bin_size, method), []).append(found)
    rows = []
    for (design, bin_size, method), found_all in counts.items():
        what = {**_fields(design), "n_pairs": n_pairs, "bin_size": bin_size, "norm": norm, "method": method}
        rows.append({**what, "level": level, **_coverage(np.array(found_all))})
    return _table(rows)


def _coverage(found: FloatArray) -> dict[str, float]:
    """Summary of (n_replications, 4): truth, estimate, lower, upper."""
    truth, estimate, lower, upper = found.T
    above, below = lower > truth + 1e-12, upper < truth - 1e-12
    held = 1.0 - float(np.mean(above | below))
    return {
        "n_replications": len(found),
        "true_error": float(truth.mean()),
        "mean_estimate": float(estimate.mean()),
        "held": held,
        "held_se": float(np.sqrt(held * (1.0 - held) / len(found))),
        "all_above": float(above.mean()),
        "all_below": float(below.mean()),
        "holds_estimate": float(np.mean((lower <= estimate) & (estimate <= upper))),
        "mean_lower": float(lower.mean()),
        "mean_upper": float(upper.mean()),
    }


def _error(gaps: FloatArray, blocks: BlockBins, norm: Norm) -> float:
    error = float(_draws.errors_of_gaps(gaps[None].copy(), blocks.bins.n / blocks.bins.n_pairs, norm)[0])
    return float(np.sqrt(error)) if norm == "rms" else error


def rejection_study(
    designs: Sequence[Design],
    *,
    n_pairs: int = 20_000,
    bin_sizes: Sequence[int] = (100, 1000),
    n_replications: int = 1000,
    n_draws: int = 1000,
    seed: int = 0,
) -> pd.DataFrame:
    """How often each test rejects perfect calibration: by chance where it holds, and by right where it does not.

    Returns
    -------
    DataFrame
        One row a design, bin size and test ("simulated labels", "sign flips"): the design's fields, n_pairs, bin_size,
        method, n_replications, rejected_05, rejected_01 (share of p-values at most .05 and .01), true_error (RMS of q
        against p, without bins).
    """
    found: dict[tuple[Any, ...], list[tuple[float, float]]] = {}
    for design, replication, pairs in _replications(designs, n_pairs, n_replications, seed):
        for bin_size in bin_sizes:
            blocks = block_bin_pairs(pairs.q, pairs.y, pairs.documents, bin_size=bin_size)
            for bins in (blocks.bins, blocks):
                test = calibration_test(bins, n_draws=n_draws, seed=replication)
                found.setdefault((design, bin_size, test.method), []).append((test.p_value, pairs.true_error))
    rows = []
    for (design, bin_size, method), outcomes in found.items():
        p_values, errors = np.array(outcomes).T
        what = {**_fields(design), "n_pairs": n_pairs, "bin_size": bin_size, "method": method}
        shares = {"rejected_05": float(np.mean(p_values <= 0.05)), "rejected_01": float(np.mean(p_values <= 0.01))}
        rows.append({**what, "n_replications": len(outcomes), **shares, "true_error": float(errors.mean())})
    return _table(rows)


# --- noise of samples --------------------------------------------------------------------------------------


def noise_study(
    designs: Sequence[Design],
    *,
    sample_counts: Sequence[int] = (10, 20, 50, 100, 200, 1000),
    n_pairs: int = 100_000,
    bin_size: int = 1000,
    n_replications: int = 100,
    n_draws: int = 1000,
    seed: int = 0,
) -> pd.DataFrame:
    """What q = (hits among S samples) / S does to the calibration error, and what the split-sample error mends.

    Samples of different pairs are independent here; labels of one document depend on each other as the design says.

    Returns
    -------
    DataFrame
        One row a design and number of samples: the design's fields, n_pairs, bin_size, n_samples, n_replications,
        true_error (RMS of q against p, without bins), binned_error (the same in the bins of half the samples), naive,
        corrected (means of the squared errors, rooted), corrected_sd, held (share of intervals that hold the binned
        error), rejected (share of `SplitSampleError.p_value` at most .05), naive_rejected (the same of a test of the
        shares as they stand).
    """
    found: dict[tuple[Any, ...], list[tuple[float, ...]]] = {}
    for design, replication, pairs in _replications(designs, n_pairs, n_replications, seed):
        for n_samples in sample_counts:
            rng = np.random.Generator(np.random.Philox(np.random.SeedSequence((seed, replication, n_samples))))
            first, second = (rng.binomial(n_samples // 2, pairs.q) for _ in range(2))
            bins: dict[str, Any] = {"n_samples": n_samples, "bin_size": bin_size}
            draws: dict[str, Any] = {"n_draws": n_draws, "seed": replication}
            given: dict[str, Any] = {"documents": pairs.documents, "norm": "mse"}
            error = split_sample_error(first, second, pairs.y, **given, **bins, **draws)
            naive = block_bin_pairs(first + second, pairs.y, pairs.documents, **bins)
            p_naive = calibration_test(naive, **draws).p_value
            halves = zip(error.crossed, (2 * first / n_samples, 2 * second / n_samples), strict=True)
            within = float(np.mean([half.n @ pairs.true_gaps(half, by) ** 2 / n_pairs for half, by in halves]))
            held = error.interval.lower - 1e-15 <= within <= error.interval.upper
            squares = pairs.true_error**2, within, error.naive, error.corrected
            outcome = *squares, error.p_value <= 0.05, p_naive <= 0.05, held
            found.setdefault((design, n_samples), []).append(outcome)
    rows = []
    for (design, n_samples), outcomes in found.items():
        what = {**_fields(design), "n_pairs": n_pairs, "bin_size": bin_size, "n_samples": n_samples}
        rows.append({**what, "n_replications": len(outcomes), **_noise(np.array(outcomes, np.float64))})
    return _table(rows)


def _noise(outcomes: FloatArray) -> dict[str, float]:
    true, binned, naive, corrected, rejected, naive_rejected, held = outcomes.mean(axis=0)
    return {
        "true_error": float(np.sqrt(true)),
        "binned_error": float(np.sqrt(binned)),
        "naive": float(np.sqrt(naive)),
        "corrected": float(np.sqrt(max(corrected, 0.0))),
        "corrected_sd": float(np.sqrt(np.maximum(outcomes[:, 3], 0.0)).std()),
        "held": float(held),
        "rejected": float(rejected),
        "naive_rejected": float(naive_rejected),
    }


# --- common ------------------------------------------------------------------------------------------------


def _replications(
    designs: Sequence[Design], n_pairs: int, n_replications: int, seed: int, *key: int
) -> Iterator[tuple[Design, int, SyntheticPairs]]:
    """Pairs of each design, n_replications times; designs share no random numbers."""
    times = _checks.whole("n_replications", n_replications, 1)
    for order, design in enumerate(designs):
        for replication in range(times):
            words = np.random.SeedSequence((_checks.seed(seed), order, replication, *key)).generate_state(1, np.uint64)
            yield design, replication, synthetic_pairs(n_pairs, design, seed=int(words[0]))


def _fields(design: Design) -> dict[str, float]:
    return {name: getattr(design, name) for name in Design.__slots__}


def _table(rows: list[dict[str, Any]]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(rows)
