"""Confidence intervals of the calibration error, tests against perfect calibration, and scorers compared."""

import itertools
import math
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import scipy.stats
from expected_errors import error
from hypothesis import given, settings, strategies as st
from references import calibration_intervals as references
from references.calibration_bins import bins_by_size
from references.coreference import poisson_binomial_pmf
from strategies.synthetic_pairs import synthetic_pairs
from tolerance import plausible_counts, plausible_means, plausible_table

from corefsample import ParameterError
from corefsample._arrays import Floats
from corefsample.calibration import _draws
from corefsample.calibration._binning import BlockBins, ReliabilityBins, block_bin_pairs
from corefsample.calibration._draws import bootstrap_draws, simulated_draws
from corefsample.calibration._error import calibration_test, error_interval
from corefsample.calibration._reliability import bin_intervals

NORMS = ("rms", "mse", "l1", "max")


def on_scale(errors: Floats, norm: str) -> Floats:
    """Errors on the scale of their norm."""
    return np.sqrt(errors) if norm == "rms" else errors


def simulated_errors(bins: ReliabilityBins, *, norm: Any = "rms", **options: int) -> Floats:
    return on_scale(simulated_draws(bins, norm=norm, **options).errors, norm)


def bootstrap_errors(blocks: BlockBins, *, norm: Any = "rms", **options: int) -> Floats:
    return on_scale(bootstrap_draws(blocks, norm=norm, **options).errors, norm)


def block_bins(bins: list[references.Bin]) -> BlockBins:
    """Sums of reference bins, by plain loops; documents are numbered from 0."""
    n_blocks = 1 + max(document for each in bins for _, _, document in each)
    by_block = np.zeros((3, n_blocks, len(bins)))
    sums = np.zeros((5, len(bins)))
    for b, each in enumerate(bins):
        for q, y, document in each:
            by_block[:, document, b] += (1, q, y)
            sums[:, b] += (1, q, q * q, y, q * y)
    ends = [np.array([end(q for q, _, _ in each) for each in bins]) for end in (min, max)]
    whole = ReliabilityBins(sums[0].astype(np.int64), *sums[1:].copy(), *ends)
    return BlockBins(whole, *by_block.copy())


def drawn_pairs(n: int, n_documents: int, seed: int, off: float = 0.0) -> list[references.Pair]:
    rng = random.Random(seed)
    pairs = []
    for _ in range(n):
        q = rng.random()
        p = min(1.0, q + off)
        pairs.append((q, int(rng.random() < p), rng.randrange(n_documents)))
    return pairs


def synthetic_blocks(n_pairs: int, bin_size: int, seed: int, **design: Any) -> tuple[BlockBins, float]:
    """Sums of synthetic pairs, and the true binned error."""
    pairs = synthetic_pairs(n_pairs, **design, seed=seed)
    blocks = block_bin_pairs(pairs.q, pairs.y, pairs.documents, bin_size=bin_size)
    return blocks, math.sqrt(float(blocks.bins.n @ pairs.true_gaps(blocks.bins) ** 2) / n_pairs)


SMALL = bins_by_size(drawn_pairs(60, 5, seed=1), 10)
ONE_SIDED = [[(0.1, 0, 0), (0.2, 0, 1)], [(0.4, 1, 0), (0.5, 0, 1), (0.6, 0, 2)], [(0.8, 1, 1), (0.9, 1, 2)]]

# --- Algorithm 2 -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("bins", [SMALL, ONE_SIDED])
def test_simulated_errors_are_those_of_the_plain_algorithm(bins: list[references.Bin], norm: Any) -> None:
    moving = sum(0 < sum(y for _, y, _ in each) < len(each) for each in bins)
    normals = np.random.Generator(np.random.Philox(3)).standard_normal((50, moving))
    expected = [references.simulated_error(bins, iter(row), norm) for row in normals]
    drawn = simulated_errors(block_bins(bins).bins, norm=norm, n_resamples=50, seed=3)
    np.testing.assert_allclose(drawn, expected, rtol=1e-12)


def test_the_normal_interval_is_the_mean_and_1_96_deviations() -> None:
    bins = block_bins(SMALL).bins
    drawn = simulated_errors(bins, n_resamples=400, seed=9)
    interval = error_interval(bins, n_resamples=400, seed=9, method="normal")
    mean, sd = drawn.mean(), drawn.std(ddof=1)
    ends = max(0.0, mean - 1.959963984540054 * sd), mean + 1.959963984540054 * sd
    assert (interval.lower, interval.upper) == pytest.approx(ends, rel=1e-12)
    assert interval.sd == pytest.approx(sd, rel=1e-12)
    assert interval.method == "simulated normal"


# --- bootstrap ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("n_documents", [2, 3])
def test_bootstrap_errors_have_the_distribution_of_resampled_documents(n_documents: int, norm: Any) -> None:
    bins = bins_by_size(drawn_pairs(14, n_documents, seed=6), 4)
    pmf = references.bootstrap_distribution(bins, norm)
    drawn = np.round(bootstrap_errors(block_bins(bins), norm=norm, n_resamples=20_000, seed=1), 12)
    expected: Counter[float] = Counter()
    for value, _, probability in pmf:
        expected[round(value, 12)] += probability
    values = sorted(expected)
    np.testing.assert_allclose(np.unique(drawn), values, atol=2e-12)
    counts = [int(np.sum(np.abs(drawn - value) < 1e-11)) for value in values]
    assert plausible_table(counts, [expected[value] for value in values])


@pytest.mark.parametrize("norm", NORMS[1:])
def test_the_noise_of_a_resample_is_how_far_it_moves_its_bins(norm: Any) -> None:
    bins = bins_by_size(drawn_pairs(14, 3, seed=6), 4)
    expected = {
        (round(error, 10), round(noise, 10)) for error, noise, _ in references.bootstrap_distribution(bins, norm)
    }
    draws = bootstrap_draws(block_bins(bins), norm=norm, n_resamples=2000, seed=1)
    pairs = zip(*(np.round(each, 10).tolist() for each in (draws.errors, draws.noise)), strict=True)
    assert set(pairs) == expected


def test_the_noise_of_simulated_shares_is_their_spread_before_it_is_clipped() -> None:
    bins = block_bins(SMALL).bins
    variances = bins.mean_y * (1 - bins.mean_y) / bins.n
    moving = variances > 0.0
    normals = np.random.Generator(np.random.Philox(3)).standard_normal((50, moving.sum()))
    expected = normals**2 @ (variances * bins.n / bins.n_pairs)[moving]
    np.testing.assert_allclose(simulated_draws(bins, norm="mse", n_resamples=50, seed=3).noise, expected)


def test_intervals_from_the_bootstrap_are_those_of_their_definitions() -> None:
    blocks = block_bins(bins_by_size(drawn_pairs(400, 20, seed=3, off=0.2), 50))
    errors = bootstrap_errors(blocks, n_resamples=999, seed=4)
    estimate = calibration_test(blocks, n_resamples=2).statistic
    low, high = np.quantile(errors, [0.05, 0.95])
    low2, high2 = np.quantile(errors**2, [0.05, 0.95])
    expected = {
        "percentile": (low, high),
        "basic": (2 * estimate - high, 2 * estimate - low),
        "pivotal": (math.sqrt(max(0.0, 2 * estimate**2 - high2)), math.sqrt(2 * estimate**2 - low2)),
    }
    for method, ends in expected.items():
        interval = error_interval(blocks, level=0.9, n_resamples=999, seed=4, method=method)  # type: ignore[arg-type]
        assert (interval.lower, interval.upper) == pytest.approx(ends, rel=1e-9), method
        assert interval.method == f"bootstrap {method}"


@pytest.mark.parametrize("off", [0.0, 0.1, 0.3])
@pytest.mark.parametrize("simulated", [False, True])
def test_the_inverted_interval_has_the_errors_that_the_estimate_does_not_contradict(
    simulated: bool, off: float
) -> None:
    blocks = block_bins(bins_by_size(drawn_pairs(400, 20, seed=4, off=off), 50))
    estimate = calibration_test(blocks, n_resamples=2, norm="mse").statistic
    mse: dict[str, Any] = {"norm": "mse", "n_resamples": 999, "seed": 4}
    draws = simulated_draws(blocks.bins, **mse) if simulated else bootstrap_draws(blocks, **mse)
    errors, noise = draws.errors, draws.noise
    ends = [np.quantile(drawn, [0.05, 0.95, 0.9 if simulated else 0.95]).tolist() for drawn in (noise, errors)]
    expected = references.inverted_interval(estimate, errors.tolist(), noise.tolist(), ends)
    interval = error_interval(blocks.bins if simulated else blocks, level=0.9, **mse)
    assert (interval.lower, interval.upper) == pytest.approx(expected, abs=1e-4 * float(errors.max()))
    assert interval.method == f"{'simulated' if simulated else 'bootstrap'} inverted"
    assert interval.lower <= max(0.0, estimate - noise.mean()) <= interval.upper


def test_the_upper_end_is_above_0_if_the_debiased_error_is_negative() -> None:
    # As many documents of ones as of zeros: the estimate is 0, that of most resamples is not.
    bins = [[(0.5, document % 2, document) for document in range(10) for _ in range(2)]]
    blocks = block_bins(bins)
    assert calibration_test(blocks, n_resamples=2).statistic == 0.0
    for method in ("inverted", "pivotal"):
        interval = error_interval(blocks, n_resamples=2000, method=method)  # type: ignore[arg-type]
        assert interval.lower == 0.0
        assert 0.0 < interval.upper < 0.5


bin_lists = st.integers(0, 10_000).flatmap(
    lambda seed: st.tuples(st.integers(4, 60), st.integers(1, 30), st.floats(0.0, 0.5)).map(
        lambda options: bins_by_size(drawn_pairs(options[0], 4, seed, options[2]), options[1])
    )
)
METHODS = ("normal", "inverted", "pivotal", "basic", "percentile")


@settings(max_examples=40, deadline=None)
@given(bin_lists, st.sampled_from(NORMS), st.sampled_from(METHODS), st.floats(0.01, 0.99))
def test_ends_are_in_order(bins: list[references.Bin], norm: Any, method: Any, level: float) -> None:
    blocks = block_bins(bins)
    if blocks.n.any(axis=1).sum() < 2 or (method == "inverted" and norm in ("l1", "max")):
        return
    for source in (blocks, blocks.bins):
        interval = error_interval(source, norm=norm, n_resamples=40, level=level, method=method)
        assert 0.0 <= interval.lower <= interval.upper <= 1.0


@settings(max_examples=20, deadline=None)
@given(bin_lists)
def test_the_mse_interval_is_the_square_of_the_rms_one(bins: list[references.Bin]) -> None:
    blocks = block_bins(bins)
    if blocks.n.any(axis=1).sum() < 2:
        return
    for source, method in itertools.product((blocks, blocks.bins), ("pivotal", "inverted")):
        options: dict[str, Any] = {"n_resamples": 50, "method": method}
        rms, mse = error_interval(source, **options), error_interval(source, norm="mse", **options)
        assert (rms.lower**2, rms.upper**2) == pytest.approx((mse.lower, mse.upper), abs=1e-12)


# --- draws -------------------------------------------------------------------------------------------------

DRAWS: dict[str, Callable[[BlockBins, int], Floats]] = {
    "simulated": lambda blocks, n: simulated_errors(blocks.bins, n_resamples=n, seed=8),
    "bootstrap": lambda blocks, n: bootstrap_errors(blocks, n_resamples=n, seed=8),
}


@pytest.mark.parametrize("name", DRAWS)
def test_the_first_draws_of_many_are_the_few(name: str) -> None:
    blocks = block_bins(SMALL)
    np.testing.assert_allclose(DRAWS[name](blocks, 20_000)[:300], DRAWS[name](blocks, 300), rtol=1e-12)


def test_draws_depend_only_on_the_seed() -> None:
    state = np.random.get_state(legacy=False)  # noqa: NPY002
    blocks = block_bins(SMALL)
    for draw in (simulated_errors, bootstrap_errors):
        of: Any = blocks.bins if draw is simulated_errors else blocks
        one, again, other = (draw(of, n_resamples=50, seed=seed) for seed in (1, 1, 2))
        np.testing.assert_array_equal(one, again)
        assert not np.array_equal(one, other)
    np.testing.assert_equal(np.random.get_state(legacy=False), state)  # noqa: NPY002


# --- coverage ----------------------------------------------------------------------------------------------


def n_covering(n_sets: int, intervals: Callable[[BlockBins], list[Any]], **design: Any) -> list[int]:
    """Number of intervals of each kind that contain the true error, over `n_sets` sets of pairs."""
    counts: list[int] = []
    for seed in range(n_sets):
        blocks, truth = synthetic_blocks(2000, 100, seed, n_documents=50, **design)
        inside = [each.lower <= truth + 1e-12 and truth <= each.upper for each in intervals(blocks)]
        counts = [a + b for a, b in zip(counts or [0] * len(inside), inside, strict=True)]
    return counts


def all_intervals(blocks: BlockBins) -> list[Any]:
    options: dict[str, Any] = {"n_resamples": 300}
    return [
        error_interval(blocks, **options),
        error_interval(blocks.bins, **options),
        error_interval(blocks.bins, **options, method="normal"),
    ]


@pytest.mark.parametrize(("shift", "dependence"), [(0.0, 0.2), (0.1, 0.0)])
def test_the_default_interval_by_document_keeps_its_level(shift: float, dependence: float) -> None:
    # The coverage study finds 93% to 100%; a count that 93% would hardly give is a failure.
    by_document, simulated, paper = n_covering(120, all_intervals, shift=shift, dependence=dependence)
    assert by_document >= scipy.stats.binom.ppf(1e-6, 120, 0.93)
    if dependence == 0.0:
        assert simulated >= scipy.stats.binom.ppf(1e-6, 120, 0.93)
    if shift == 0.0:
        assert paper == 0


# --- single bins -------------------------------------------------------------------------------------------


def bins_of_shares(hits: list[int], n: int) -> ReliabilityBins:
    q = np.linspace(0.1, 0.9, len(hits))
    sums = np.full(len(hits), n), q * n, q * q * n, np.array(hits, float), q * np.array(hits)
    return ReliabilityBins(*sums, q, q)


def test_the_normal_interval_of_a_bin_is_the_papers() -> None:
    # 20 of 100: .2 -+ 1.96 * .04; 1 of 100: .01 -+ .0195, cut at 0; 0 of 100: no width.
    lower, upper = bin_intervals(bins_of_shares([20, 1, 0, 100], 100))
    np.testing.assert_allclose(lower, [0.1216014, 0.0, 0.0, 1.0], atol=1e-6)
    np.testing.assert_allclose(upper, [0.2783986, 0.0295015, 0.0, 1.0], atol=1e-6)


@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
@pytest.mark.parametrize("n", [1, 7, 30])
def test_clopper_pearson_ends_agree_with_the_binomial_tails(n: int, level: float) -> None:
    lower, upper = bin_intervals(bins_of_shares(list(range(n + 1)), n), level=level, method="clopper-pearson")
    expected = [scipy.stats.binomtest(hits, n).proportion_ci(level, method="exact") for hits in range(n + 1)]
    np.testing.assert_allclose(lower, [low for low, _ in expected], atol=1e-10)
    np.testing.assert_allclose(upper, [high for _, high in expected], atol=1e-10)


def copied(shares: list[float], n_documents: int, times: int) -> BlockBins:
    """Bins in which each document has one label, `times` over."""
    bins = []
    for place, share in enumerate(shares):
        hits = round(share * n_documents)
        q = 0.1 + 0.1 * place
        bins.append([(q, int(document < hits), document) for document in range(n_documents) for _ in range(times)])
    return block_bins(bins)


def test_copies_in_a_document_widen_its_bins_as_fewer_pairs_would() -> None:
    # With K documents of m copies, the squares of their sums are m^2 p (1 - p) K, over n^2 = (m K)^2 and times
    # K / (K - 1): p (1 - p) / (K - 1), the variance of K - 1 independent pairs, whatever m.
    single, copies = copied([0.2, 0.5], 10, 1), copied([0.2, 0.5], 10, 6)
    lower, upper = bin_intervals(copies)
    half = 1.959963984540054 * np.sqrt(np.array([0.2 * 0.8, 0.25]) / 9)
    np.testing.assert_allclose(lower, np.maximum([0.2, 0.5] - half, 0.0))
    np.testing.assert_allclose(upper, np.add([0.2, 0.5], half))
    np.testing.assert_allclose(bin_intervals(single), bin_intervals(copies))
    exact = bin_intervals(copies, method="clopper-pearson")
    np.testing.assert_allclose(exact[0][1], scipy.stats.beta.ppf(0.025, 4.5, 5.5))
    np.testing.assert_allclose(exact[1][1], scipy.stats.beta.isf(0.025, 5.5, 4.5))


def test_a_bin_of_one_label_takes_the_design_effect_of_the_others() -> None:
    # 6 copies: 60 pairs count as 9 in the bin at one half, so they count as 9 in the bin of no hit.
    _, upper = bin_intervals(copied([0.0, 0.5], 10, 6), method="clopper-pearson")
    np.testing.assert_allclose(upper[0], 1.0 - 0.025 ** (1 / 9))


def test_labels_that_scatter_less_than_chance_gain_no_pairs() -> None:
    even = block_bins([[(0.5, y, document) for document in range(10) for y in (0, 1)]])
    exact = bin_intervals(even, method="clopper-pearson")
    np.testing.assert_allclose(exact, bin_intervals(even.bins, method="clopper-pearson"))


def test_a_bin_in_a_single_document_may_have_any_share() -> None:
    bins = block_bins([[(0.2, 0, 0), (0.3, 1, 0)], [(0.6, 0, 0), (0.7, 1, 1)]])
    for method in ("normal", "clopper-pearson"):
        lower, upper = bin_intervals(bins, method=method)  # type: ignore[arg-type]
        assert (lower[0], upper[0]) == (0.0, 1.0)
        assert lower.shape == upper.shape == (2,)


@pytest.mark.parametrize("dependence", [0.0, 0.3])
def test_the_interval_of_a_bin_by_document_keeps_its_level(dependence: float) -> None:
    caught = 0
    for seed in range(300):
        blocks, _ = synthetic_blocks(1000, 1000, seed, alpha=30.0, beta=70.0, dependence=dependence, n_documents=60)
        lower, upper = bin_intervals(blocks, method="clopper-pearson")
        caught += bool(lower[0] <= blocks.bins.mean_q[0] <= upper[0])  # perfect: the mean of q is the true share
    assert caught >= scipy.stats.binom.ppf(1e-6, 300, 0.94)


# --- labels drawn for the test -----------------------------------------------------------------------------


def matched(probs: list[float], n_resamples: int = 40_000) -> npt.NDArray[np.int64]:
    mean, variance = math.fsum(probs), math.fsum(p * (1 - p) for p in probs)
    rng = np.random.Generator(np.random.Philox(11))
    sums = _draws.matched_sums(np.array([mean]), np.array([variance]), n_resamples, rng)[0]
    whole = np.rint(sums).astype(np.int64)
    np.testing.assert_array_equal(sums, whole)
    return whole


@pytest.mark.parametrize(
    "probs", [[0.3], [0.5, 0.5], [0.1, 0.9], [0.01, 0.4], [0.2] * 12, [1e-9, 0.5], [0.999, 0.9999], [1.0, 0.3]]
)
def test_sums_of_one_or_two_labels_or_of_equal_ones_have_their_exact_distribution(probs: list[float]) -> None:
    # Mean and variance determine a distribution on three neighbouring whole numbers; with equal probabilities it is
    # binomial.
    sums = matched(probs)
    pmf = poisson_binomial_pmf(probs)
    assert sums.min() >= 0
    assert sums.max() <= len(probs)
    assert plausible_counts(np.bincount(sums, minlength=pmf.size), sums.size, pmf).all()


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=10))
def test_sums_of_labels_have_the_right_mean_and_variance(probs: list[float]) -> None:
    mean, variance = math.fsum(probs), math.fsum(p * (1 - p) for p in probs)
    if mean > len(probs) / 2:
        probs = [1.0 - p for p in probs]
        mean = math.fsum(probs)
    if variance < 1e-6:
        return
    sums = matched(probs, 4000)
    moments = plausible_means(sums.mean(), mean, math.sqrt(variance / sums.size))
    squares = (sums - mean) ** 2
    spread = plausible_means(squares.mean(), variance, max(float(squares.std()), math.sqrt(variance)) / 63.0)
    assert moments.all()
    assert spread.all()


# --- the test ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("seed", range(3))
def test_p_values_of_few_labels_are_exact_if_the_distribution_of_a_bin_is(seed: int, norm: Any) -> None:
    rng = random.Random(seed)
    values = [0.05, 0.3, 0.6, 0.97]
    bins = [[(q, int(rng.random() < 0.5), 0)] * 1 + [(q, int(rng.random() < q), 0) for _ in range(2)] for q in values]
    expected = references.exact_p_value(bins, norm)
    test = calibration_test(block_bins(bins).bins, norm=norm, n_resamples=20_000, seed=seed)
    assert plausible_counts(round(test.p_value * 20_001) - 1, 20_000, expected).all()
    assert test.statistic == pytest.approx(references.binned_error(bins, norm), rel=1e-12)
    assert test.method == "simulated labels"


@pytest.mark.parametrize("norm", NORMS)
def test_p_values_of_blocks_are_the_share_of_sign_flips(norm: Any) -> None:
    bins = bins_by_size(drawn_pairs(40, 7, seed=2, off=0.15), 10)
    errors = references.flipped_errors(bins, norm)
    found = references.binned_error(bins, norm)
    expected = np.mean([error >= found - 1e-12 for error in errors])
    test = calibration_test(block_bins(bins), norm=norm, n_resamples=20_000, seed=5)
    assert plausible_counts(round(test.p_value * 20_001) - 1, 20_000, expected).all()
    assert (test.statistic, test.method) == (pytest.approx(found, rel=1e-12), "sign flips")
    assert test.null_mean == pytest.approx(np.mean(errors), rel=0.05)


@pytest.mark.parametrize("n", [2, 10_000])
def test_unlike_predictions_of_a_bin_leave_its_labels_little_room(n: int) -> None:
    # Half of q is .1, half .9: the variance of the sum of labels is .09 n, not the .25 n of a share of one half. Of two
    # labels one is 1 but for 2 * .09 of cases, in which the error is .5; of many the error is normal.
    q = np.repeat([0.1, 0.9], n // 2)
    bins = ReliabilityBins(*(np.array([each]) for each in (n, q.sum(), (q * q).sum(), n / 2, 0.9 * n / 2, 0.1, 0.9)))
    mean = 0.18 * 0.5 if n == 2 else math.sqrt(2 / math.pi * 0.09 / n)
    sd = math.sqrt(0.18 * 0.25 if n == 2 else 0.09 / n)
    test = calibration_test(bins, norm="l1", n_resamples=20_000)
    assert plausible_means(test.null_mean, mean, sd / math.sqrt(20_000)).all()


@pytest.mark.parametrize("alpha", [0.1, 0.5])
def test_p_values_of_perfect_pairs_are_uniform(alpha: float) -> None:
    p_values = [
        calibration_test(synthetic_blocks(1000, 100, seed, alpha=alpha)[0].bins, n_resamples=200).p_value
        for seed in range(300)
    ]
    assert plausible_table(np.histogram(p_values, bins=10, range=(0.0, 1.0))[0], np.full(10, 0.1))


def test_p_values_of_perfect_pairs_in_documents_are_uniform_only_by_sign_flips() -> None:
    by_blocks, by_bins = [], []
    for seed in range(300):
        blocks, _ = synthetic_blocks(1000, 100, seed, dependence=0.5, n_documents=40)
        by_blocks.append(calibration_test(blocks, n_resamples=200).p_value)
        by_bins.append(calibration_test(blocks.bins, n_resamples=200).p_value)
    flat = np.full(10, 0.1)
    assert plausible_table(np.histogram(by_blocks, bins=10, range=(0.0, 1.0))[0], flat)
    assert not plausible_table(np.histogram(by_bins, bins=10, range=(0.0, 1.0))[0], flat)


def test_certain_predictions_that_come_true_are_perfect_and_others_are_not() -> None:
    bins = [[(0.0, 0, 0), (0.0, 0, 1)], [(1.0, 1, 0), (1.0, 1, 1)]]
    for of in (block_bins(bins), block_bins(bins).bins):
        test = calibration_test(of, n_resamples=20)
        assert (test.statistic, test.p_value) == (0.0, 1.0)
    assert calibration_test(block_bins([[(0.0, 0, 0), (0.0, 1, 1)]]).bins, n_resamples=20).p_value == 1 / 21


# --- bad input ---------------------------------------------------------------------------------------------

BLOCKS = block_bins(SMALL)
ONE_BLOCK = block_bins([[(0.2, 0, 0), (0.4, 1, 0)]])
FUNCTIONS: dict[str, tuple[Callable[..., Any], Any]] = {
    "simulated": (error_interval, BLOCKS.bins),
    "bootstrap": (error_interval, BLOCKS),
    "calibration_test": (calibration_test, BLOCKS),
    "bin_intervals": (bin_intervals, BLOCKS.bins),
}
LEVELLED = ["simulated", "bootstrap", "bin_intervals"]
BAD = [
    *itertools.product([*FUNCTIONS][:3], [{"norm": "l2"}, {"n_resamples": 1}, {"seed": -1}]),
    *itertools.product(LEVELLED, [{"level": 0}, {"level": 1.0}, {"level": math.nan}, {"method": "exact"}]),
]


@pytest.mark.parametrize(("name", "option"), BAD)
def test_options_that_break_their_rule_raise(name: str, option: dict[str, Any]) -> None:
    function, bins = FUNCTIONS[name]
    with error(ParameterError, *option):
        function(bins, **option)


@pytest.mark.parametrize("norm", ["l1", "max"])
def test_norms_that_are_no_squares_have_no_inverted_interval(norm: Any) -> None:
    assert error_interval(BLOCKS, norm=norm, n_resamples=20).method == "bootstrap pivotal"
    for bins in (BLOCKS, BLOCKS.bins):
        with error(ParameterError, "norm"):
            error_interval(bins, norm=norm, method="inverted")


@pytest.mark.parametrize("name", ["bootstrap", "calibration_test", "bin_intervals"])
def test_one_block_raises(name: str) -> None:
    with pytest.raises(ParameterError, match=r"^blocks must be at least 2 with pairs, got 1$"):
        FUNCTIONS[name][0](ONE_BLOCK)


def test_a_block_without_pairs_is_not_drawn() -> None:
    with_gap = [[(q, y, 3 * document) for q, y, document in each] for each in SMALL]
    of: list[Callable[[BlockBins], Any]] = [
        lambda blocks: bootstrap_errors(blocks, n_resamples=50).tolist(),
        lambda blocks: error_interval(blocks, n_resamples=50),
        lambda blocks: bin_intervals(blocks)[0].tolist(),
    ]
    for function in of:
        assert function(block_bins(with_gap)) == function(BLOCKS)
    with error(ParameterError, "blocks"):
        bootstrap_errors(block_bins([[(0.2, 0, 5), (0.4, 1, 5)]]))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_object_other_than_bins_raises(name: str) -> None:
    with pytest.raises(ParameterError, match=r"^bins must be ReliabilityBins, got list$"):
        FUNCTIONS[name][0]([0.5])
