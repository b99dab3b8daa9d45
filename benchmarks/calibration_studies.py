"""Studies of the calibration error on pairs with known true probabilities: its bias, and the coverage of intervals.

A study draws synthetic pairs, whose calibration error is known, and returns a tidy table. `studies.py` runs and prints
them, and plots two of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from split_sample import split_sample_error

from corefsample import _checks
from corefsample._arrays import Bytes, Floats, Ints, Result, pd
from corefsample.calibration import _draws, calibration_error
from corefsample.calibration._binning import BlockBins, ReliabilityBins, bin_pairs, block_bin_pairs
from corefsample.calibration._error import binned_error, calibration_test, interval_of_draws
from corefsample.calibration._validation import Norm, generator
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


def shifted(q: np.typing.ArrayLike, k: float) -> Floats:
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


def tempered(q: np.typing.ArrayLike, temperature: float) -> Floats:
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
    """Squared calibration error of the same pairs in bins of increasing size.

    If each bin size divides the next, the larger bins are unions of the smaller ones, so by Jensen's inequality the
    error cannot increase.

    Returns
    -------
    DataFrame
        One row per design, replication and bin size: the design's fields, replication, n_pairs, bin_size, n_bins, mse,
        true_mse (of q against p, without bins).

    References
    ----------
    The thesis behind Nguyen & O'Connor (2015), section 4.3.2.
    """
    replications = _replications(designs, n_pairs, n_replications, seed)
    return _mse_table((*replication, bin_size) for replication in replications for bin_size in bin_sizes)


def sample_size_study(
    designs: Sequence[Design] = (PERFECT, SHIFTED),
    *,
    sample_sizes: Sequence[int] = SAMPLE_SIZES,
    n_replications: int = 1,
    seed: int = 0,
) -> pd.DataFrame:
    """Squared calibration error of increasing numbers of pairs, in bins of the square root of their number.

    With perfect calibration it converges to 0, at most about as 1 / (4 sqrt(n)); otherwise to the true squared error.

    Returns
    -------
    DataFrame
        As `bin_size_study`, one row per design, replication and number of pairs.

    References
    ----------
    The thesis behind Nguyen & O'Connor (2015), section 4.3.3.
    """
    return _mse_table(
        (*replication, max(1, round(np.sqrt(n_pairs))))
        for order, n_pairs in enumerate(sample_sizes)
        for replication in _replications(designs, n_pairs, n_replications, seed, order)
    )


def _mse_table(cases: Iterable[tuple[Design, int, SyntheticPairs, int]]) -> pd.DataFrame:
    rows = []
    for design, replication, pairs, bin_size in cases:
        bins = bin_pairs(pairs.q, pairs.y, bin_size=bin_size)
        mse = _draws.error_of_sums(bins.n, bins.sum_q - bins.sum_y, "mse")
        options = {"replication": replication, "n_pairs": bins.n_pairs, "bin_size": bin_size, "n_bins": bins.n_bins}
        rows.append({**_fields(design), **options, "mse": mse, "true_mse": pairs.true_error**2})
    return pd.DataFrame(rows)


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
    n_resamples: int = 1000,
    seed: int = 0,
) -> pd.DataFrame:
    """Share of intervals that contain the true binned error: that of the mean of p, not of y, in the same bins.

    Returns
    -------
    DataFrame
        One row per design, bin size and method: the design's fields, n_pairs, bin_size, norm, method, level,
        n_replications, true_error, mean_estimate, coverage (share of intervals that contain the truth), coverage_se
        (its standard error), all_above, all_below (share of intervals above or below it), contains_estimate (share
        that contain the estimate), mean_lower, mean_upper.
    """
    binned = _binned_replications(designs, n_pairs, bin_sizes, n_replications, seed)

    def outcomes() -> Iterator[Outcome]:
        for design, replication, bin_size, pairs, blocks in binned:
            truth = _draws.error_of_gaps(pairs.true_gaps(blocks.bins), blocks.bins.n, norm)
            estimate = binned_error(blocks.bins, norm=norm)
            options: dict[str, Any] = {"norm": norm, "n_resamples": n_resamples, "seed": replication}
            draws = {
                "simulated": _draws.simulated_draws(blocks.bins, **options),
                "bootstrap": _draws.bootstrap_draws(blocks, **options),
            }
            for method in methods:
                draws_of_method = draws[_checks.choice("methods", method, INTERVALS).split()[0]]
                interval = interval_of_draws(draws_of_method, method, level, norm)
                key = design, n_pairs, bin_size, norm, method, level
                yield key, (truth, estimate, interval.lower, interval.upper)

    return _summary_table(outcomes(), ("n_pairs", "bin_size", "norm", "method", "level"), _coverage)


def default_study(
    designs: Sequence[Design], *, n_pairs: int = 20_000, n_replications: int = 300, seed: int = 0
) -> pd.DataFrame:
    """Share of default intervals of `calibration_error` that contain the true binned error: see `coverage_study`."""

    def outcomes() -> Iterator[Outcome]:
        for design, replication, pairs in _replications(designs, n_pairs, n_replications, seed):
            for documents in (None, pairs.documents):
                error = calibration_error(pairs.q, pairs.y, documents=documents, seed=replication)
                truth = _draws.error_of_gaps(pairs.true_gaps(error.bins), error.bins.n, "rms")
                yield (design, n_pairs, error.interval), (truth, error.estimate, error.lower or 0.0, error.upper or 1.0)

    return _summary_table(outcomes(), ("n_pairs", "method"), _coverage)


def _coverage(outcomes: Floats) -> dict[str, float]:
    """Summary of (n_replications, 4): truth, estimate, lower, upper."""
    truth, estimate, lower, upper = outcomes.T
    above, below = lower > truth + 1e-12, upper < truth - 1e-12
    coverage = 1.0 - float(np.mean(above | below))
    return {
        "true_error": float(truth.mean()),
        "mean_estimate": float(estimate.mean()),
        "coverage": coverage,
        "coverage_se": float(np.sqrt(coverage * (1.0 - coverage) / len(outcomes))),
        "all_above": float(above.mean()),
        "all_below": float(below.mean()),
        "contains_estimate": float(np.mean((lower <= estimate) & (estimate <= upper))),
        "mean_lower": float(lower.mean()),
        "mean_upper": float(upper.mean()),
    }


def rejection_study(
    designs: Sequence[Design],
    *,
    n_pairs: int = 20_000,
    bin_sizes: Sequence[int] = (100, 1000),
    n_replications: int = 1000,
    n_resamples: int = 1000,
    seed: int = 0,
) -> pd.DataFrame:
    """Share of tests that reject perfect calibration: falsely if it is perfect, correctly if it is not.

    Returns
    -------
    DataFrame
        One row per design, bin size and test ("simulated labels", "sign flips"): the design's fields, n_pairs,
        bin_size, method, n_replications, rejected_05, rejected_01 (share of p-values at most .05 and .01), true_error
        (RMS of q against p, without bins).
    """
    binned = _binned_replications(designs, n_pairs, bin_sizes, n_replications, seed)

    def outcomes() -> Iterator[Outcome]:
        for design, replication, bin_size, pairs, blocks in binned:
            for bins in (blocks.bins, blocks):
                test = calibration_test(bins, n_resamples=n_resamples, seed=replication)
                rejected = test.p_value <= 0.05, test.p_value <= 0.01
                yield (design, n_pairs, bin_size, test.method), (*rejected, pairs.true_error)

    names = ("rejected_05", "rejected_01", "true_error")
    return _summary_table(
        outcomes(),
        ("n_pairs", "bin_size", "method"),
        lambda values: dict(zip(names, values.mean(axis=0).tolist(), strict=True)),
    )


# --- noise of samples --------------------------------------------------------------------------------------


def noise_study(
    designs: Sequence[Design],
    *,
    sample_counts: Sequence[int] = (10, 20, 50, 100, 200, 1000),
    n_pairs: int = 100_000,
    bin_size: int = 1000,
    n_replications: int = 100,
    n_resamples: int = 1000,
    seed: int = 0,
) -> pd.DataFrame:
    """Effect of q = (hits among S samples) / S on the calibration error, and on the split-sample error.

    Samples of different pairs are independent here; labels of one document depend on each other as in the design.

    Returns
    -------
    DataFrame
        One row per design and number of samples: the design's fields, n_pairs, bin_size, n_samples, n_replications,
        true_error (RMS of q against p, without bins), binned_error (the same in the bins of half the samples), naive,
        corrected (roots of the means of the squared errors), corrected_sd, coverage (share of intervals that contain
        the binned error), rejected (share of `SplitSampleError.p_value` at most .05), naive_rejected (the same for a
        test of the uncorrected shares).
    """

    def outcomes() -> Iterator[Outcome]:
        for design, replication, pairs in _replications(designs, n_pairs, n_replications, seed):
            for n_samples in sample_counts:
                rng = np.random.Generator(np.random.Philox(np.random.SeedSequence((seed, replication, n_samples))))
                first, second = (rng.binomial(n_samples // 2, pairs.q) for _ in range(2))
                bins: dict[str, Any] = {"n_samples": n_samples, "bin_size": bin_size}
                draws: dict[str, Any] = {"n_resamples": n_resamples, "seed": replication}
                error = split_sample_error(first, second, pairs.y, pairs.documents, norm="mse", **bins, **draws)
                naive = block_bin_pairs(first + second, pairs.y, pairs.documents, **bins)
                p_naive = calibration_test(naive, **draws).p_value
                halves = zip(error.crossed, (2 * first / n_samples, 2 * second / n_samples), strict=True)
                within = float(np.mean([half.n @ pairs.true_gaps(half, by) ** 2 / n_pairs for half, by in halves]))
                covered = error.interval.lower - 1e-15 <= within <= error.interval.upper
                squares = pairs.true_error**2, within, error.naive, error.corrected
                tests = error.p_value <= 0.05, p_naive <= 0.05
                yield (design, n_pairs, bin_size, n_samples), (*squares, covered, *tests)

    return _summary_table(outcomes(), ("n_pairs", "bin_size", "n_samples"), _noise)


def _noise(outcomes: Floats) -> dict[str, float]:
    true, binned, naive, corrected, *shares = outcomes.mean(axis=0).tolist()
    return {
        "true_error": float(np.sqrt(true)),
        "binned_error": float(np.sqrt(binned)),
        "naive": float(np.sqrt(naive)),
        "corrected": float(np.sqrt(max(corrected, 0.0))),
        "corrected_sd": float(np.sqrt(np.maximum(outcomes[:, 3], 0.0)).std()),
        **dict(zip(("coverage", "rejected", "naive_rejected"), shares, strict=True)),
    }


# --- common ------------------------------------------------------------------------------------------------

Outcome = tuple[tuple[Any, ...], tuple[float, ...]]  # what is summarised together, and the figures of a replication


def _replications(
    designs: Sequence[Design], n_pairs: int, n_replications: int, seed: int, *key: int
) -> Iterator[tuple[Design, int, SyntheticPairs]]:
    """Pairs of each design, n_replications times; designs share no random numbers."""
    times = _checks.whole("n_replications", n_replications, 1)
    for order, design in enumerate(designs):
        for replication in range(times):
            words = np.random.SeedSequence((_checks.seed(seed), order, replication, *key)).generate_state(1, np.uint64)
            yield design, replication, synthetic_pairs(n_pairs, design, seed=int(words[0]))


def _binned_replications(
    designs: Sequence[Design], n_pairs: int, bin_sizes: Sequence[int], n_replications: int, seed: int
) -> Iterator[tuple[Design, int, int, SyntheticPairs, BlockBins]]:
    """Pairs of each replication, summed by document and bin of each size."""
    for design, replication, pairs in _replications(designs, n_pairs, n_replications, seed):
        for bin_size in bin_sizes:
            blocks = block_bin_pairs(pairs.q, pairs.y, pairs.documents, bin_size=bin_size)
            yield design, replication, bin_size, pairs, blocks


def _fields(design: Design) -> dict[str, float]:
    return {name: getattr(design, name) for name in Design.__slots__}


def _summary_table(
    outcomes: Iterable[Outcome], names: tuple[str, ...], summary: Callable[[Floats], dict[str, float]]
) -> pd.DataFrame:
    """One row per key (a design and the values of `names`), with the summary of its outcomes."""
    by_key: dict[tuple[Any, ...], list[tuple[float, ...]]] = {}
    for key, values in outcomes:
        by_key.setdefault(key, []).append(values)
    rows = []
    for (design, *options), values_of_key in by_key.items():
        row = {**_fields(design), **dict(zip(names, options, strict=True)), "n_replications": len(values_of_key)}
        rows.append({**row, **summary(np.array(values_of_key, np.float64))})
    return pd.DataFrame(rows)
