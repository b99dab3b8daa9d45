"""Places of true numbers among samples of their posteriors."""

import math
from typing import Any

import numpy as np
import pytest
from expected_errors import error
from scipy.stats import binom

from corefsample import ParameterError
from corefsample.calibration import quantile_calibration


def test_shares_are_those_of_ranks_with_ties_spread_evenly() -> None:
    # Of four values each: 1 is the second of 0, 1, 2, 3, so between 1/4 and 2/4. 5 is one of the two largest of
    # 2, 2, 5, 5, so between 2/4 and 4/4.
    found = quantile_calibration([1.0, 5.0], [[0.0, 2.0, 3.0], [5.0, 2.0, 2.0]], n_bins=4)
    assert found.n == 2
    assert found.shares == pytest.approx([0.0, 0.5, 0.25, 0.25], abs=1e-12)
    assert found.to_frame()["share"].tolist() == found.shares.tolist()


@pytest.mark.parametrize("share_documents", [False, True])
def test_the_test_has_its_level_and_finds_posteriors_that_are_too_narrow(share_documents: bool) -> None:
    # Poisson counts of 60 documents; with `share_documents` ten values of a document are the same count.
    rng = np.random.default_rng(7)
    copies = 10 if share_documents else 1
    documents = np.repeat(np.arange(60), copies)
    p_values, wrong = [], []
    for seed in range(100):
        drawn = np.repeat(rng.poisson(3.0, (60, 41)), copies, axis=0)
        p_values.append(
            quantile_calibration(drawn[:, 0], drawn[:, 1:], documents=documents, n_resamples=99, seed=seed).p_value
        )
        if seed < 5:
            narrow = np.round(3.0 + (drawn[:, 1:] - 3.0) / 3.0)
            wrong.append(quantile_calibration(drawn[:, 0], narrow, documents=documents, n_resamples=99).p_value)
    # Standard error of a share of .2 in 100 draws: .04.
    assert np.mean(np.array(p_values) <= 0.2) == pytest.approx(0.2, abs=3 * math.sqrt(0.2 * 0.8 / 100))
    assert max(wrong) == 0.01


def test_the_range_of_the_shares_is_that_of_right_posteriors() -> None:
    # 200 independent values, half of whose ranks are expected in each of two bins: binomial shares. The simulated
    # 2.5% and 97.5% points of 1,000 draws have a standard error of about .003; shares are multiples of .005.
    rng = np.random.default_rng(2)
    found = quantile_calibration(rng.normal(size=200), rng.normal(size=(200, 99)), n_bins=2)
    expected = binom.ppf([0.025, 0.975], 200, 0.5) / 200
    assert found.lower == pytest.approx(expected[0], abs=3 * 0.003 + 0.005)
    assert found.upper == pytest.approx(expected[1], abs=3 * 0.003 + 0.005)


def test_the_same_seed_gives_the_same_result() -> None:
    rng = np.random.default_rng(1)
    truths, samples = rng.normal(size=20), rng.normal(size=(20, 30))
    first, second = (quantile_calibration(truths, samples, seed=3) for _ in range(2))
    assert (first.p_value, first.lower.tolist()) == (second.p_value, second.lower.tolist())
    assert quantile_calibration(truths, samples, seed=4).p_value != first.p_value


@pytest.mark.parametrize(
    ("parameter", "arguments"),
    [
        ("truths", {"truths": []}),
        ("truths[1]", {"truths": [1.0, math.nan]}),
        ("samples", {"samples": [[1.0], [2.0, 3.0]]}),
        ("samples[1][0]", {"samples": [[1.0], [math.inf]]}),
        ("documents", {"documents": ["a"]}),
        ("n_bins", {"n_bins": 1}),
        ("n_resamples", {"n_resamples": 3}),
        ("seed", {"seed": -1}),
    ],
)
def test_bad_arguments_are_named(parameter: str, arguments: dict[str, Any]) -> None:
    with error(ParameterError, parameter):
        quantile_calibration(**{"truths": [1.0, 2.0], "samples": [[1.0, 2.0], [2.0, 0.0]], **arguments})
