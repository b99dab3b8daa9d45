"""Synthetic pairs, and the studies made on them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from expected_errors import error
from tolerance import plausible_counts, plausible_means

from corefsample.calibration.binning._binning import bin_pairs
from corefsample.calibration.studies import (
    bin_size_study,
    coverage_study,
    noise_study,
    rejection_study,
    sample_size_study,
)
from corefsample.calibration.studies._studies import (
    BIN_SIZES,
    INTERVALS,
    SAMPLE_SIZES,
    Design,
    shifted,
    synthetic_pairs,
    tempered,
)
from corefsample.errors import ParameterError

# --- pairs -------------------------------------------------------------------------------------------------


def test_the_shift_moves_away_from_one_half_within_0_to_1() -> None:
    # The thesis prints min(0, p + k) above one half, which would be 0 there.
    np.testing.assert_allclose(shifted([0.0, 0.05, 0.5, 0.51, 0.95, 1.0], 0.1), [0.0, 0.0, 0.4, 0.61, 1.0, 1.0])
    np.testing.assert_array_equal(shifted([0.2, 0.7], 0.0), [0.2, 0.7])


def test_a_temperature_divides_the_log_odds() -> None:
    np.testing.assert_allclose(tempered([0.0, 0.2, 0.5, 0.8, 1.0], 2.0), [0.0, 1 / 3, 0.5, 2 / 3, 1.0])
    np.testing.assert_allclose(tempered([0.2, 0.8], 0.5), [1 / 17, 16 / 17])
    np.testing.assert_array_equal(tempered([0.0, 0.3, 1.0], 1.0), [0.0, 0.3, 1.0])


@pytest.mark.parametrize("dependence", [0.0, 0.5])
@pytest.mark.parametrize("truth", [{}, {"shift": 0.1}, {"temperature": 2.0}])
def test_a_label_comes_true_with_its_probability(truth: dict[str, float], dependence: float) -> None:
    # So many documents that few pairs share one: labels are then nearly independent, whatever the dependence.
    pairs = synthetic_pairs(40_000, Design(dependence=dependence, n_documents=400_000, **truth), seed=3)
    expected = Design(**truth).true_probs(pairs.q)
    np.testing.assert_array_equal(pairs.p, expected)
    for low in np.arange(0.0, 1.0, 0.1):
        here = (pairs.p >= low) & (pairs.p <= low + 0.1)
        sd = math.sqrt(float(np.sum(pairs.p[here] * (1 - pairs.p[here]))))
        assert plausible_means(pairs.y[here].sum(), pairs.p[here].sum(), sd).all()


def test_labels_of_one_document_are_dependent_if_requested() -> None:
    # Half of the predictions lie on either side of .5; the correlation of two labels at p = .5 is 2 / pi asin(r).
    for dependence in (0.0, 0.5):
        pairs = synthetic_pairs(40_000, Design(alpha=1e5, beta=1e5, dependence=dependence, n_documents=2000), seed=1)
        sums = np.bincount(pairs.documents, pairs.y - 0.5, 2000)
        sizes = np.bincount(pairs.documents, minlength=2000)
        expected = 0.25 * (sizes + sizes * (sizes - 1) * 2 / math.pi * math.asin(dependence))
        ratio = sums**2 / expected
        assert plausible_means(ratio.mean(), 1.0, ratio.std() / math.sqrt(2000)).all()


def test_documents_are_even_or_uneven_as_requested() -> None:
    even = np.bincount(synthetic_pairs(50_000, Design(n_documents=20), seed=2).documents, minlength=20)
    assert plausible_counts(even, 50_000, np.full(20, 1 / 20)).all()
    uneven = np.bincount(synthetic_pairs(50_000, Design(n_documents=20, unevenness=1.0), seed=2).documents)
    assert uneven.max() > 5 * uneven.min() > 0


def test_the_same_seed_makes_the_same_pairs() -> None:
    one, again, other = (synthetic_pairs(100, Design(), seed=seed) for seed in (1, 1, 2))
    for name in ("q", "p", "y", "documents"):
        np.testing.assert_array_equal(getattr(one, name), getattr(again, name))
        assert not getattr(one, name).flags.writeable
    assert not np.array_equal(one.q, other.q)


def test_true_gaps_are_means_over_the_bins() -> None:
    pairs = synthetic_pairs(1000, Design(shift=0.1), seed=5)
    bins = bin_pairs(pairs.q, pairs.y, bin_size=100)
    order = np.argsort(pairs.q)
    expected = (pairs.p - pairs.q)[order].reshape(10, 100).mean(axis=1)
    np.testing.assert_allclose(pairs.true_gaps(bins), expected, atol=1e-15)
    by = np.round(pairs.q, 1)
    coarse = bin_pairs(by, pairs.y, bin_size=1)
    gaps = [float(np.mean((pairs.p - pairs.q)[by == value])) for value in np.unique(by)]
    np.testing.assert_allclose(pairs.true_gaps(coarse, by), gaps, atol=1e-15)


@pytest.mark.parametrize(
    "fields",
    [
        *[{"alpha": 0.0}, {"beta": -1}, {"alpha": math.nan}, {"temperature": math.inf}, {"shift": 0.6}],
        *[{"unevenness": -0.1}, {"dependence": 1.0}, {"n_documents": 0}, {"temperature": 2.0, "shift": 0.1}],
    ],
    ids=str,
)
def test_an_impossible_design_raises(fields: dict[str, Any]) -> None:
    with error(ParameterError, next(iter(fields))):
        Design(**fields)


# --- the thesis --------------------------------------------------------------------------------------------

DESIGNS = [Design(alpha, beta, shift) for alpha, beta in ((0.5, 0.5), (0.1, 1.0)) for shift in (0.0, 0.1)]


def test_the_squared_error_falls_at_every_doubling_of_the_bin_size() -> None:
    # Bins of size 2b are unions of bins of size b, the longer last one included: Jensen's inequality leaves no choice.
    table = bin_size_study(DESIGNS, n_replications=1)
    assert table["bin_size"].unique().tolist() == [2**power for power in range(1, 17)]
    for _, rows in table.groupby(["alpha", "shift", "replication"]):
        assert (rows["mse"].diff().dropna() <= 0.0).all()
        assert rows["n_bins"].tolist() == [max(1, 100_000 // size) for size in BIN_SIZES]


def test_perfect_predictions_go_towards_no_error_and_shifted_ones_to_theirs() -> None:
    assert (SAMPLE_SIZES[0], SAMPLE_SIZES[-1]) == (10_000, 50_000)
    table = sample_size_study(DESIGNS, sample_sizes=SAMPLE_SIZES[::5], n_replications=3)
    assert table["n_pairs"].unique().tolist() == [10_000, 20_000, 30_000, 40_000, 50_000]
    assert (table["bin_size"] == table["n_pairs"].pow(0.5).round()).all()
    for (_, shift), rows in table.groupby(["alpha", "shift"]):
        means = rows.groupby("n_pairs")["mse"].mean()
        if shift == 0.0:
            # Noise alone: the mean of q (1 - q) over the bin size.
            assert means.iloc[-1] < 0.6 * means.iloc[0]
            assert means.iloc[-1] < 1.2 * 0.25 / math.sqrt(50_000)
        else:
            assert means.iloc[-1] == pytest.approx(rows["true_mse"].mean(), rel=0.12)
            assert means.iloc[-1] > 0.85 * means.iloc[0]


def test_studies_repeat_themselves_and_differ_by_seed() -> None:
    tables = [bin_size_study(DESIGNS[:1], n_pairs=1000, bin_sizes=[100], seed=seed)["mse"].item() for seed in (0, 0, 1)]
    assert tables[0] == tables[1] != tables[2]


# --- coverage, tests, noise --------------------------------------------------------------------------------


def test_the_coverage_study_distinguishes_good_intervals_from_bad() -> None:
    designs = [Design(dependence=0.2), Design(shift=0.1, dependence=0.2)]
    table = coverage_study(designs, n_pairs=2000, bin_sizes=[25], n_replications=30, n_resamples=100)
    assert table["method"].tolist() == [*INTERVALS, *INTERVALS]
    assert table["true_error"].tolist()[0] == 0.0
    coverage = table.set_index(["shift", "method"])["coverage"]
    assert coverage[0.0, "simulated normal"] == coverage[0.0, "bootstrap percentile"] == 0.0
    assert coverage[0.1, "simulated normal"] < 0.3
    assert (coverage[:, "bootstrap inverted"] >= 0.75).all()
    np.testing.assert_allclose(table["coverage"] + table["all_above"] + table["all_below"], 1.0)
    assert (table["mean_estimate"] > table["true_error"]).all()
    assert (table["mean_lower"] <= table["mean_upper"]).all()


@pytest.mark.parametrize("norm", ["mse", "l1", "max"])
def test_the_coverage_study_knows_the_other_norms(norm: Any) -> None:
    row = coverage_study(
        [Design(shift=0.2)], n_pairs=2000, bin_sizes=[200], norm=norm, methods=["bootstrap pivotal"], n_replications=5,
        n_resamples=100,
    )  # fmt: skip
    # Away from the ends q is off by .2 in every bin, at the ends by less.
    bounds = {"mse": (0.01, 0.04), "l1": (0.08, 0.2), "max": (0.19, 0.2 + 1e-12)}[norm]
    assert bounds[0] < row["true_error"].item() <= bounds[1]
    assert row["norm"].item() == norm


def test_an_unknown_interval_raises() -> None:
    with error(ParameterError, "methods"):
        coverage_study([Design()], n_pairs=100, bin_sizes=[50], methods=["exact"], n_replications=1)


def test_the_rejection_study_shows_what_dependence_does() -> None:
    designs = [Design(dependence=0.5, n_documents=50), Design(shift=0.1, n_documents=50)]
    table = rejection_study(designs, n_pairs=2000, bin_sizes=[200], n_replications=60, n_resamples=100)
    rejected = table.set_index(["shift", "method"])["rejected_05"]
    assert rejected[0.0, "simulated labels"] > 0.3
    assert plausible_counts(round(60 * rejected[0.0, "sign flips"]), 60, 0.05).all()
    assert rejected[0.1, "simulated labels"] == rejected[0.1, "sign flips"] == 1.0


def test_the_noise_study_shows_what_few_samples_do() -> None:
    designs = [Design(), Design(shift=0.1)]
    table = noise_study(
        designs, sample_counts=(10, 200), n_pairs=10_000, bin_size=500, n_replications=10, n_resamples=100
    ).set_index(["shift", "n_samples"])
    assert table.loc[(0.0, 10), "naive"] > 0.03 > 3 * table.loc[(0.0, 10), "corrected"]
    assert table.loc[(0.0, 10), "naive_rejected"] == 1.0
    assert table.loc[(0.0, 10), "rejected"] <= 0.5
    assert (table.loc[0.1, "rejected"] == 1.0).all()
    # Bins of few samples mix pairs that are off in opposite directions; the corrected error says what is left.
    shares = table.loc[0.1, "binned_error"] / table.loc[0.1, "true_error"]
    assert shares.is_monotonic_increasing
    assert (shares < 1.0).all()
    np.testing.assert_allclose(table.loc[0.1, "corrected"], table.loc[0.1, "binned_error"], rtol=0.1)


@pytest.mark.parametrize("study", [bin_size_study, coverage_study, rejection_study, noise_study])
def test_no_replication_raises(study: Any) -> None:
    with error(ParameterError, "n_replications"):
        study([Design()], n_replications=0)
