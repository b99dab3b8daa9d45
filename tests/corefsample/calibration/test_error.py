"""Calibration errors: hand-derived values, plain loops and intervals."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import tolerance
from expected_errors import error
from hypothesis import given, settings, strategies as st
from references import calibration_bins as references
from strategies.synthetic_pairs import synthetic_pairs

from corefsample.calibration import calibration_error
from corefsample.calibration._binning import bin_pairs, block_bin_pairs
from corefsample.calibration._error import binned_error, error_interval
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


def test_a_debiased_error_of_documents_is_without_the_variance_between_them() -> None:
    # One bin, gap 0. The residuals q - y sum to 1 in one document and to -1 in the other, with 2 of 4 pairs each: they
    # move the mean by 1 / 4 and -1 / 4, so its variance is (1 / 16 + 1 / 16) * 2 / (2 - 1) = 1 / 4.
    pairs = [0.5] * 4, [0, 0, 1, 1], [0, 0, 1, 1]
    assert binned_error(block_bin_pairs(*pairs, n_bins=1), norm="mse", debiased=True) == pytest.approx(-0.25, rel=1e-14)
    error = calibration_error(*pairs[:2], documents=pairs[2], n_bins=1, norm="mse", interval=None)
    assert (error.estimate, error.debiased) == (pytest.approx(-0.25, rel=1e-14), True)


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
    expected = error_interval(error.bins, level=0.9, seed=3, n_resamples=200)
    assert (error.lower, error.upper, error.interval) == (expected.lower, expected.upper, "simulated inverted")
    assert error.estimate == binned_error(error.bins, debiased=True)
    assert (error.debiased, error.level) == (True, 0.9)


def test_the_bootstrap_is_the_default_with_documents() -> None:
    q, y = made_pairs(2)
    documents = np.arange(len(q)) // 100
    error = calibration_error(q, y, documents=documents, seed=5, norm="mse", **FEW)  # type: ignore[arg-type]
    expected = error_interval(block_bin_pairs(q, y, documents, bin_size=200), norm="mse", seed=5, n_resamples=200)
    assert (error.lower, error.upper, error.interval) == (expected.lower, expected.upper, expected.method)
    assert str(error.interval).startswith("bootstrap")


def test_algorithm_2_is_a_choice_with_the_plain_estimate() -> None:
    q, y = made_pairs(3)
    error = calibration_error(q, y, interval="algorithm2", **FEW)  # type: ignore[arg-type]
    expected = error_interval(error.bins, method="normal", n_resamples=200)
    assert (error.lower, error.upper, error.interval) == (expected.lower, expected.upper, "simulated normal")
    assert (error.estimate, error.debiased) == (binned_error(error.bins), False)


@pytest.mark.parametrize("norm", ["l1", "max"])
def test_norms_that_cannot_be_debiased_have_a_pivotal_interval(norm: Any) -> None:
    error = calibration_error(*made_pairs(3), norm=norm, **FEW)  # type: ignore[arg-type]
    assert (error.debiased, error.interval) == (False, "simulated pivotal")


# Perfect pairs, pairs that are a little off and pairs that are far off.
@pytest.mark.parametrize("shift", [0.0, 0.02, 0.1])
@pytest.mark.parametrize("by_document", [False, True])
def test_the_default_interval_has_the_true_error_and_its_estimate(shift: float, by_document: bool) -> None:
    n_sets, covered = 120, 0
    for seed in range(n_sets):
        pairs = synthetic_pairs(2000, shift=shift, seed=seed)
        documents = {"documents": pairs.documents} if by_document else {}
        error = calibration_error(pairs.q, pairs.y, n_resamples=300, **documents)  # type: ignore[arg-type]
        truth = math.sqrt(float(error.bins.n @ pairs.true_gaps(error.bins) ** 2) / 2000)
        assert error.lower is not None
        assert error.upper is not None
        assert error.lower <= error.estimate <= error.upper
        covered += error.lower <= truth + 1e-12 and truth <= error.upper
    assert tolerance.plausible_counts(covered, n_sets, 0.95)


# --- bad input ---------------------------------------------------------------------------------------------

BAD: list[tuple[dict[str, Any], str]] = [
    ({"norm": "l2"}, "norm"),
    ({"norm": "l1", "debiased": True}, "norm"),
    ({"interval": "normal"}, "interval"),
    *[({"interval": kind, "documents": [0, 1]}, "documents") for kind in ("auto", "simulated", None)],
    ({"interval": "bootstrap"}, "documents"),
    ({"documents": [0, 0, 0, 0]}, "documents"),
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


def test_swapped_arguments_and_the_two_columns_of_a_classifier_are_named() -> None:
    rng = np.random.default_rng(0)
    q = rng.random(200)
    y = rng.random(200) < q
    columns = np.column_stack((1.0 - q, q))
    cases = ((1 * y, q, "y", "swapped"), (y, q, "q", "swapped"), (columns, y, "q", "[:, 1]"))
    for predictions, labels, parameter, hint in cases:
        with pytest.raises(ParameterError) as caught:
            calibration_error(predictions, labels)
        assert (caught.value.parameter, hint in str(caught.value.hint)) == (parameter, True)
    with pytest.raises(ParameterError) as caught:
        calibration_error(q, 2 * y)
    assert (caught.value.parameter, caught.value.hint) == ("y", None)
