"""Calibration error of predictions that are shares of samples."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import scipy.stats
from expected_errors import error
from hypothesis import given, settings
from hypothesis import strategies as st
from references import calibration_intervals as references

from corefsample.calibration.measures._split_sample import SplitSampleError, split_sample_error
from corefsample.calibration.studies._studies import Design, SyntheticPairs, synthetic_pairs
from corefsample.errors import ParameterError

Counts = npt.NDArray[np.int64]


def halves(pairs: SyntheticPairs, n_samples: int, seed: int) -> tuple[Counts, Counts]:
    rng = np.random.Generator(np.random.Philox(seed))
    return rng.binomial(n_samples // 2, pairs.q), rng.binomial(n_samples // 2, pairs.q)


def measured(n_pairs: int, n_samples: int, seed: int, **design: Any) -> tuple[SplitSampleError, SyntheticPairs]:
    pairs = synthetic_pairs(n_pairs, Design(**design), seed=seed)
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
    corrected = references.split_sample_square((first, second), labels, documents, half, bin_size)
    pairs = [((a + b) / (2 * half), y, d) for a, b, y, d in rows]
    naive = references.binned_error(references.adaptive_bins(pairs, bin_size), "mse")
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
def test_few_samples_make_perfect_predictions_look_miscalibrated_without_the_correction(
    alpha: float, beta: float
) -> None:
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
        pairs = synthetic_pairs(1500, Design(dependence=0.2, n_documents=40), seed=seed)
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
        pairs = synthetic_pairs(1000, Design(n_documents=30, dependence=0.2), seed=seed)
        error = split_sample_error(
            *halves(pairs, 10, seed), pairs.y, documents=pairs.documents, n_samples=10, bin_size=100, norm="mse",
            n_resamples=2,
        )  # fmt: skip
        squares.append(error.corrected)
    assert abs(np.mean(squares)) <= 4.9 * np.std(squares) / math.sqrt(len(squares))


def test_without_documents_pairs_count_as_independent() -> None:
    pairs = synthetic_pairs(20_000, Design(shift=0.05), seed=7)
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
    pairs = synthetic_pairs(2000, Design(), seed=2)
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
