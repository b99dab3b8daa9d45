"""Calibration errors: hand-derived values, plain loops, intervals, and predictions that are shares of samples."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import scipy.stats
import tolerance
from expected_errors import error
from hypothesis import given, settings
from hypothesis import strategies as st
from references import calibration_bins as references
from references import calibration_intervals as interval_references
from strategies.synthetic_pairs import SyntheticPairs, synthetic_pairs

from corefsample.calibration import calibration_error
from corefsample.calibration._binning import bin_pairs, block_bin_pairs
from corefsample.calibration._error import binned_error
from corefsample.calibration._intervals import bootstrap_interval, simulated_interval
from corefsample.calibration._split_sample import SplitSampleError, split_sample_error
from corefsample.errors import ParameterError

NORMS = ("rms", "mse", "l1", "max")
pair_lists = st.lists(st.tuples(st.floats(0.0, 1.0), st.integers(0, 1)), min_size=1, max_size=40)

# Two bins of two pairs: means .15 and .8 of q, shares 0 and 1 / 2 of y, so that they lie .15 and .3 apart, and the mse
# is (.0225 + .09) / 2 = .05625. The second bin's variance is .5 * .5 / (2 - 1) = .25, the first one's 0; debiased:
# .05625 - .25 / 2 = -.06875.
Q, Y = [0.1, 0.2, 0.7, 0.9], [0, 0, 1, 0]


def made_pairs(seed: int, n: int = 4000) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    rng = np.random.default_rng(seed)
    q = rng.random(n)
    return q, rng.random(n) < q**2


# --- the estimate ------------------------------------------------------------------------------------------


def test_the_debiased_mse_may_be_negative_and_the_debiased_rms_is_then_zero() -> None:
    bins = bin_pairs(Q, Y, n_bins=2)
    assert binned_error(bins, norm="mse", debiased=True) == pytest.approx(-0.06875, rel=1e-14)
    assert binned_error(bins, debiased=True) == 0.0


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("debiased", [False, True])
@settings(max_examples=50)
@given(pairs=pair_lists, bin_size=st.integers(1, 20))
def test_errors_are_those_of_the_plain_loop(
    norm: Any, debiased: bool, pairs: list[references.Pair], bin_size: int
) -> None:
    if debiased and norm not in ("rms", "mse"):
        return
    q, y = zip(*pairs, strict=True)
    expected = references.error(references.bins_by_size(pairs, bin_size), norm, debiased=debiased)
    found = binned_error(bin_pairs(q, y, bin_size=bin_size), norm=norm, debiased=debiased)
    # A root doubles the digits that a difference of nearly equal squares has lost.
    assert found == pytest.approx(expected, rel=1e-12, abs=2e-8 if norm == "rms" else 1e-15)


# lower_bound_scaling_ce of uncertainty-calibration 0.1.4 (the authors of the debiased estimate) on the same pairs.
PUBLISHED = [("l1", False, 0.16500000000000004), ("rms", False, 0.1829070802347465), ("rms", True, 0.17529421332288694)]


@pytest.mark.parametrize(("norm", "debiased", "expected"), PUBLISHED)
def test_errors_are_those_of_the_package_of_the_debiased_one(norm: Any, debiased: bool, expected: float) -> None:
    q = (np.arange(1000) + 0.5) / 1000
    y = np.arange(1000) * 379 % 1000 / 1000 < q**2
    assert binned_error(bin_pairs(q, y, n_bins=20), norm=norm, debiased=debiased) == pytest.approx(expected, rel=1e-12)


def test_the_debiased_error_is_right_on_average_and_the_plain_one_is_not() -> None:
    """Levels .1 ... .9, 20 pairs each, true with q + .1 below one half: the true mse is .01 * 4 / 9."""
    rng = np.random.default_rng(4)
    q = np.repeat(np.arange(1, 10) / 10, 20)
    truth = q + 0.1 * (q < 0.5)
    errors = []
    for _ in range(2000):
        bins = bin_pairs(q, rng.random(len(q)) < truth, n_bins=9)
        errors.append([binned_error(bins, norm="mse", debiased=debiased) for debiased in (True, False)])
    means, ses = np.mean(errors, axis=0), np.std(errors, axis=0, ddof=1) / math.sqrt(len(errors))
    right = tolerance.plausible_means(means, 0.01 * 4 / 9, ses)
    assert right.tolist() == [True, False]


def test_the_binned_error_finds_the_true_one() -> None:
    """y is true with q^2: the mean of (q - q^2)^2 over [0, 1] is 1/3 - 2/4 + 1/5 = 1/30."""
    q, y = made_pairs(0, 200_000)
    estimate = calibration_error(q, y, bin_size=2000, norm="mse", debiased=True, interval=None).estimate
    bins = bin_pairs(q, y, bin_size=2000)
    se = math.sqrt(float(np.sum((2 * np.sqrt(1 / 30)) ** 2 * bins.mean_y * (1 - bins.mean_y) * bins.n))) / bins.n_pairs
    assert tolerance.plausible_means([estimate], [1 / 30], [2 * se]).all()
    assert not tolerance.plausible_means([estimate], [1 / 25], [2 * se]).any()


# --- with an interval --------------------------------------------------------------------------------------

FEW = {"n_resamples": 200, "bin_size": 200}


def test_the_table_of_an_error_is_one_row() -> None:
    # Bins of two pairs: |0.2 - 0| and |0.6 - 0.5|, of which l1 is the mean.
    error = calibration_error([0.2, 0.2, 0.6, 0.6], [0, 0, 1, 0], n_bins=2, norm="l1", interval=None)
    (row,) = error.to_frame().to_dict("records")
    assert row.pop("estimate") == pytest.approx(0.15)
    expected = {"norm": "l1", "debiased": False, "level": 0.95, "n_pairs": 4, "n_bins": 2}
    assert row == {**expected, **dict.fromkeys(("lower", "upper", "interval"))}


def test_the_simulated_interval_is_the_default_without_documents() -> None:
    q, y = made_pairs(1)
    error = calibration_error(q, y, level=0.9, seed=3, **FEW)  # type: ignore[arg-type]
    expected = simulated_interval(error.bins, level=0.9, seed=3, n_resamples=200)
    assert (error.lower, error.upper, error.interval) == (expected.lower, expected.upper, "simulated normal")
    assert error.estimate == binned_error(error.bins)
    assert error.level == 0.9


def test_the_bootstrap_is_the_default_with_documents() -> None:
    q, y = made_pairs(2)
    documents = np.arange(len(q)) // 100
    error = calibration_error(q, y, documents=documents, seed=5, norm="mse", **FEW)  # type: ignore[arg-type]
    expected = bootstrap_interval(block_bin_pairs(q, y, documents, bin_size=200), norm="mse", seed=5, n_resamples=200)
    assert (error.lower, error.upper, error.interval) == (expected.lower, expected.upper, expected.method)
    assert str(error.interval).startswith("bootstrap")


def test_the_simulated_interval_can_be_requested_with_documents() -> None:
    q, y = made_pairs(2)
    plain = calibration_error(q, y, **FEW)  # type: ignore[arg-type]
    simulated = calibration_error(q, y, documents=np.arange(len(q)) // 100, interval="simulated", **FEW)  # type: ignore[arg-type]
    assert (simulated.lower, simulated.upper) == (plain.lower, plain.upper)


def test_a_debiased_error_has_an_interval_free_of_that_bias() -> None:
    q, y = made_pairs(3)
    error = calibration_error(q, y, debiased=True, **FEW)  # type: ignore[arg-type]
    assert error.interval == "simulated inverted"
    assert error.lower is not None
    assert error.upper is not None
    assert error.lower <= error.estimate <= error.upper


# --- bad input ---------------------------------------------------------------------------------------------

BAD: list[tuple[dict[str, Any], str]] = [
    ({"norm": "l2"}, "norm"),
    ({"norm": "l1", "debiased": True}, "norm"),
    ({"interval": "normal"}, "interval"),
    *[({"interval": kind, "documents": [0, 1]}, "documents") for kind in ("auto", "simulated", None)],
    ({"interval": "bootstrap"}, "documents"),
    ({"documents": [0, 0, 0, 0]}, "documents"),
    *[({"level": 1.0}, "level"), ({"n_resamples": 1}, "n_resamples"), ({"seed": -1}, "seed")],
]


@pytest.mark.parametrize(("options", "parameter"), BAD, ids=str)
def test_bad_options_raise(options: dict[str, Any], parameter: str) -> None:
    with error(ParameterError, parameter):
        calibration_error(Q, Y, **options)


def test_too_few_pairs_for_an_interval_have_none(caplog: pytest.LogCaptureFixture) -> None:
    # One pair, or bins whose labels are all equal: draws of labels at their shares never vary.
    for q, y in (([0.5], [1]), ([0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1])):
        caplog.clear()
        error = calibration_error(q, y, n_bins=2 if len(q) > 1 else 1)
        assert error.estimate > 0.0
        assert (error.lower, error.upper, error.interval) == (None, None, None)
        assert any("without an interval" in record.getMessage() for record in caplog.records)
    some = calibration_error([0.1, 0.2, 0.8, 0.9], [0, 1, 1, 1], n_bins=2)
    assert some.lower is not None
    assert some.upper is not None
    assert some.lower < some.upper


# --- calibration error of predictions that are shares of samples ----------------------------------------------

Counts = npt.NDArray[np.int64]


def halves(pairs: SyntheticPairs, n_samples: int, seed: int) -> tuple[Counts, Counts]:
    rng = np.random.Generator(np.random.Philox(seed))
    return rng.binomial(n_samples // 2, pairs.q), rng.binomial(n_samples // 2, pairs.q)


def measured(n_pairs: int, n_samples: int, seed: int, **design: Any) -> tuple[SplitSampleError, SyntheticPairs]:
    pairs = synthetic_pairs(n_pairs, **design, seed=seed)
    given_halves = halves(pairs, n_samples, seed + 1)
    error = split_sample_error(
        *given_halves, pairs.y, documents=pairs.documents, n_samples=n_samples, bin_size=500, n_resamples=300
    )
    return error, pairs


Rows = list[tuple[int, int, int, int]]


@st.composite
def rows_of_hits(draw: Any) -> tuple[int, Rows]:
    half = draw(st.integers(1, 6))
    row = st.tuples(st.integers(0, half), st.integers(0, half), st.integers(0, 1), st.integers(0, 4))
    rows = draw(st.lists(row, min_size=4, max_size=40))
    rows += [(0, 0, 0, 0), (half, half, 1, 1)]
    return half, rows


def columns(rows: Rows) -> tuple[Sequence[int], Sequence[int], Sequence[int], Sequence[int]]:
    first, second, labels, documents = zip(*rows, strict=True)
    return first, second, labels, documents


@settings(max_examples=50, deadline=None)
@given(rows_of_hits(), st.integers(1, 20))
def test_both_errors_are_those_of_plain_loops(drawn: tuple[int, Rows], bin_size: int) -> None:
    half, rows = drawn
    first, second, labels, documents = columns(rows)
    error = split_sample_error(
        first, second, labels, n_samples=2 * half, bin_size=bin_size, norm="mse", documents=documents, n_resamples=20
    )
    corrected = interval_references.split_sample_square((first, second), labels, documents, half, bin_size)
    pairs = [((a + b) / (2 * half), y, d) for a, b, y, d in rows]
    naive = interval_references.binned_error(interval_references.adaptive_bins(pairs, bin_size), "mse")
    assert error.corrected == pytest.approx(corrected, abs=1e-12)
    assert error.naive == pytest.approx(naive, abs=1e-12)


@settings(max_examples=30, deadline=None)
@given(rows_of_hits(), st.randoms(use_true_random=False))
def test_neither_the_order_of_rows_nor_of_halves_matters(drawn: tuple[int, Rows], shuffle: random.Random) -> None:
    half, rows = drawn
    options: dict[str, Any] = {"n_samples": 2 * half, "bin_size": 5, "n_resamples": 20}
    first, second, labels, documents = columns(rows)
    error = split_sample_error(first, second, labels, documents=documents, **options)
    shuffle.shuffle(rows)
    first, second, labels, documents = columns(rows)
    again = split_sample_error(second, first, labels, documents=documents, **options)
    found = error.naive, error.corrected, error.interval.lower, error.interval.upper, error.p_value
    expected = again.naive, again.corrected, again.interval.lower, again.interval.upper, again.p_value
    assert found == pytest.approx(expected, abs=1e-7)  # roots: a rounding error of 1e-16 in a square is 1e-8 here


def test_each_half_has_bins_with_the_predictions_of_the_other() -> None:
    # Two samples, one a half. Bins of half a: hits 0: pairs 0, 1; hits 1: pairs 2, 3. Half b there: means .5 and 1.
    # By half b: hits 0: pair 0, hits 1: pairs 1, 2, 3; half a there: 0 and 2/3.
    options: dict[str, Any] = {"n_samples": 2, "bin_size": 1, "documents": [0, 1, 2, 3], "n_resamples": 50}
    error = split_sample_error([0, 0, 1, 1], [0, 1, 1, 1], [0, 0, 0, 1], **options)
    assert [bins.n.tolist() for bins in error.crossed] == [[2, 2], [1, 3]]
    np.testing.assert_allclose(error.crossed[0].mean_q, [0.5, 1.0])
    np.testing.assert_allclose(error.crossed[1].mean_q, [0.0, 2 / 3])


@pytest.mark.parametrize(("alpha", "beta"), [(0.5, 0.5), (0.1, 1.0)])
def test_few_samples_make_perfect_predictions_look_wrong_without_correction(alpha: float, beta: float) -> None:
    error, _ = measured(50_000, 10, seed=3, alpha=alpha, beta=beta)
    assert error.naive > 0.015
    assert error.naive_interval.lower > 0.01
    assert error.corrected < 0.005
    assert error.interval.lower == 0.0
    assert error.p_value > 0.02


@pytest.mark.parametrize("design", [{"shift": 0.1}, {"temperature": 2.0}, {"temperature": 0.5}])
def test_real_miscalibration_is_found_and_never_overstated(design: dict[str, float]) -> None:
    corrected = []
    for n_samples in (10, 100, 1000):
        error, pairs = measured(50_000, n_samples, seed=4, **design)
        assert error.p_value == 1 / 301
        assert error.interval.lower <= pairs.true_error
        corrected.append(error.corrected / pairs.true_error)
    assert corrected[0] < corrected[1] < corrected[2]
    assert 0.5 < corrected[0] < 0.9
    assert 0.95 < corrected[2] < 1.03


@pytest.mark.parametrize("shared", [False, True])
def test_the_test_keeps_its_size_whether_or_not_documents_share_their_samples(shared: bool) -> None:
    rejected, n_sets = 0, 150
    for seed in range(n_sets):
        pairs = synthetic_pairs(1500, dependence=0.2, n_documents=40, seed=seed)
        rng = np.random.Generator(np.random.Philox(seed + 10_000))
        hits = []
        for _ in range(2):  # a sample of a document says yes to all pairs with q above one number, where it is shared
            below = rng.random((10, 40))[:, pairs.documents] if shared else rng.random((10, pairs.q.size))
            hits.append((below < pairs.q).sum(axis=0))
        error = split_sample_error(
            *hits, pairs.y, documents=pairs.documents, n_samples=20, bin_size=150, n_resamples=100
        )
        rejected += error.p_value <= 0.05
    assert scipy.stats.binom.ppf(1e-6, n_sets, 0.03) <= rejected <= scipy.stats.binom.isf(1e-6, n_sets, 0.06)


def test_the_squared_error_is_unbiased_where_calibration_is_perfect() -> None:
    squares = []
    for seed in range(150):
        pairs = synthetic_pairs(1000, n_documents=30, dependence=0.2, seed=seed)
        error = split_sample_error(
            *halves(pairs, 10, seed), pairs.y, documents=pairs.documents, n_samples=10, bin_size=100, norm="mse",
            n_resamples=2,
        )  # fmt: skip
        squares.append(error.corrected)
    assert abs(np.mean(squares)) <= 4.9 * np.std(squares) / math.sqrt(len(squares))


def test_without_documents_pairs_count_as_independent() -> None:
    pairs = synthetic_pairs(20_000, shift=0.05, seed=7)
    hits = halves(pairs, 100, 8)
    options: dict[str, Any] = {"n_samples": 100, "n_bins": 20, "n_resamples": 1000}
    alone = split_sample_error(*hits, pairs.y, **options)
    by_document = split_sample_error(*hits, pairs.y, documents=pairs.documents, **options)
    assert alone.naive == by_document.naive
    assert alone.corrected == pytest.approx(by_document.corrected, abs=1e-3)
    widths = [each.interval.upper - each.interval.lower for each in (alone, by_document)]
    assert widths[0] == pytest.approx(widths[1], rel=0.35)
    repeated = split_sample_error(*hits, pairs.y, **options)
    assert (repeated.interval, repeated.p_value) == (alone.interval, alone.p_value)


def test_rms_is_the_root_of_mse_and_never_below_0() -> None:
    pairs = synthetic_pairs(2000, seed=2)
    hits = halves(pairs, 50, 3)
    for y, negative in ((pairs.y, None), (np.tile([0, 1], 1000).astype(np.uint8), False)):
        rms, mse = (
            split_sample_error(*hits, y, n_samples=50, bin_size=200, norm=norm, n_resamples=50)  # type: ignore[arg-type]
            for norm in ("rms", "mse")
        )
        assert rms.corrected**2 == pytest.approx(max(mse.corrected, 0.0), abs=1e-15)
        assert rms.naive**2 == pytest.approx(mse.naive)
        assert negative is None or mse.corrected > 0.0


def test_the_table_has_a_row_for_each_error() -> None:
    error, _ = measured(2000, 10, seed=1)
    frame = error.to_frame()
    assert frame["which"].tolist() == ["naive", "corrected"]
    assert frame["estimate"].tolist() == [error.naive, error.corrected]
    assert frame["upper"].tolist() == [error.naive_interval.upper, error.interval.upper]
    assert (error.n_samples, error.norm, error.bins.n_pairs) == (10, "rms", 2000)


GOOD: dict[str, Any] = {"hits_a": [0, 1, 2, 5], "hits_b": [0, 1, 3, 5], "y": [0, 1, 0, 1], "n_samples": 10}


@pytest.mark.parametrize(
    ("change", "parameter"),
    [
        *[({"n_samples": number}, "n_samples") for number in (9, 0)],
        *[({"hits_a": hits}, "hits_a") for hits in ([0, 1, 2, 6], [0.0, 0.2, 0.4, 1.0])],
        *[({"hits_b": hits}, "hits_b") for hits in ([0, -1, 3, 5], [0, 1, 3])],
        *[({"y": labels}, "y") for labels in ([0, 1, 0], [0, 1, 2, 0])],
        *[({"hits_a": hits, "hits_b": hits, "y": hits}, "hits_a") for hits in ([1], [])],
        *[({"documents": ids}, "documents") for ids in (["a"] * 4, ["a"] * 3, ["a", "b", None, "b"])],
        *[({name: value}, name) for name, value in (("norm", "l1"), ("level", 1.5), ("bin_size", 0), ("n_bins", 5))],
        *[({"seed": -1}, "seed"), ({"n_resamples": 1}, "n_resamples")],
    ],
)
def test_bad_input_raises(change: dict[str, Any], parameter: str) -> None:
    with error(ParameterError, parameter):
        split_sample_error(**{**GOOD, **change})
