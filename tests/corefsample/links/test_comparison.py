"""Two scorers compared by a paired bootstrap, from arrays of pairs and from documents."""

import math

import numpy as np
import pytest
from expected_errors import error
from references.paired import paired_comparison
from tolerance import plausible_counts, plausible_means

from corefsample import ParameterError
from corefsample._arrays import Floats, Ints
from corefsample.links._calibration import PairedComparison


def drawn(n_documents: int, seed: int, *, n_each: int = 40) -> tuple[Floats, Floats, Ints, Ints]:
    """A calibrated scorer, one that is too low and noisy, labels, and documents."""
    rng = np.random.default_rng(seed)
    logit = rng.normal(-0.5, 1.5, n_documents * n_each)
    y = (rng.random(logit.size) < 1.0 / (1.0 + np.exp(-logit))).astype(np.int64)
    other = 0.7 * logit - 0.5 + rng.normal(0.0, 0.5, logit.size)
    documents = np.repeat(np.arange(n_documents), n_each)
    return 1.0 / (1.0 + np.exp(-logit)), 1.0 / (1.0 + np.exp(-other)), y, documents


def plain_measures(q: Floats, y: Ints, bin_of: Ints, documents: Ints, noise: float) -> list[float]:
    """Root mean square error less `noise`, mean log loss, and refinement, by a loop over bins."""
    square = refinement = 0.0
    for b in set(bin_of.tolist()):
        inside = bin_of == b
        gap, share = q[inside].mean() - y[inside].mean(), y[inside].mean()
        square += inside.sum() * gap**2 / len(q)
        refinement += inside.sum() * share * (1 - share) / len(q)
    losses = [-math.log(p if label else 1 - p) for p, label in zip(q, y, strict=True)]
    return [math.sqrt(max(square - noise, 0.0)), sum(losses) / len(q), refinement]


def plain_noise(q: Floats, y: Ints, bin_of: Ints, documents: Ints) -> float:
    """Sum over bins of their weight times the squared standard error of their gap, by documents."""
    total = 0.0
    for b in set(bin_of.tolist()):
        inside = bin_of == b
        gap = (q - y)[inside].mean()
        sums = [((q - y)[inside & (documents == d)] - gap).sum() for d in set(documents.tolist())]
        total += sum(each**2 for each in sums) / inside.sum() / len(q)
    return total


def bins_of(q: Floats, bin_size: int) -> Ints:
    """Bins of equal size; the number of pairs is a multiple of it and there are no ties."""
    found = np.empty(len(q), np.int64)
    found[np.argsort(q)] = np.arange(len(q)) // bin_size
    return found


def test_differences_and_their_spread_are_those_of_a_plain_loop() -> None:
    first, second, y, documents = drawn(20, seed=1)
    result = paired_comparison(first, second, y, documents, bin_size=100, n_resamples=4000)
    expected, draws = [], []
    rng = np.random.default_rng(2)
    picks = [rng.integers(0, 20, 20) for _ in range(400)]
    for q in (first, second):
        bin_of = bins_of(q, 100)
        noise = plain_noise(q, y, bin_of, documents)
        expected.append(plain_measures(q, y, bin_of, documents, noise))
        rows = [np.concatenate([np.flatnonzero(documents == d) for d in pick]) for pick in picks]
        draws.append([plain_measures(q[r], y[r], bin_of[r], documents[r], 2 * noise) for r in rows])
    spread = (np.array(draws[1]) - np.array(draws[0])).std(axis=0, ddof=1)
    np.testing.assert_allclose([result.first, result.second], expected, rtol=1e-9)
    assert (result.difference == result.second - result.first).all()
    # The standard deviation of n draws that are roughly normal has a relative error of about 1 / sqrt(2 n).
    assert plausible_means(result.sd / spread, 1.0, 1.2 * math.sqrt(1 / 800 + 1 / 8000)).all()
    assert (result.n_pairs, result.n_blocks, result.n_bins) == (800, 20, (8, 8))


def test_intervals_contain_the_difference_of_a_large_sample() -> None:
    def compared(n_documents: int, seed: int) -> PairedComparison:
        bin_size = n_documents * 40 // 10  # ten bins, as the true errors have
        return paired_comparison(*drawn(n_documents, seed), bin_size=bin_size, n_resamples=300, seed=seed)

    truth = compared(4000, seed=0).difference
    n_sets, n_inside = 150, np.zeros(3, int)
    for s in range(n_sets):
        found = compared(50, seed=1 + s)
        n_inside += (found.lower <= truth) & (truth <= found.upper)
    # Intervals by bootstrap hold less often than their level in few documents: 0.9 for 0.95.
    assert plausible_counts(np.minimum(n_inside, int(0.9 * n_sets)), n_sets, 0.9).all(), n_inside


def test_a_certain_and_wrong_prediction_costs_the_floor() -> None:
    result = paired_comparison([0.0, 1.0], [0.5, 0.5], [1, 0], [0, 1], bin_size=1, n_resamples=10)
    assert (result.first[1], result.second[1]) == pytest.approx((-math.log(1e-6), math.log(2)))


@pytest.mark.parametrize("option", [{"norm": "l1"}, {"level": 1.0}, {"n_resamples": 1}])
def test_an_option_outside_its_range_raises(option: dict[str, object]) -> None:
    with error(ParameterError, *option):
        paired_comparison(*drawn(10, seed=7), **option)  # type: ignore[arg-type]
