"""Losses and point estimates against all clusterings of a few mentions, plain loops, and by hand."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from expected_errors import error
from hypothesis import given, settings, strategies as st
from references import coreference, summaries
from strategies.documents import Lists, antecedent_lists, mild_scores
from tolerance import plausible_means

from corefsample import AntecedentDistribution, ParameterError, map_clustering, metric_posterior, sample_clusterings
from corefsample.coreference._clusterings import ClusteringSamples, canonical_labels
from corefsample.summaries import _expected_losses as expected_losses, expected_loss, point_estimate

SAMPLED = [loss for loss in expected_losses.LOSSES if loss != "vi-bound"]


def random_samples(seed: int, n_mentions: int, n_samples: int) -> np.ndarray:
    """Clusterings around one of them, so that no sample and no estimate is right everywhere."""
    rng = np.random.default_rng(seed)
    centre = rng.integers(0, max(n_mentions // 2, 1), n_mentions)
    noise = rng.integers(0, n_mentions, (n_samples, n_mentions))
    return np.where(rng.random((n_samples, n_mentions)) < 0.35, noise, centre)


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.integers(1, 7), st.sampled_from(SAMPLED), st.booleans())
def test_an_expected_loss_is_the_mean_over_the_samples(seed: int, n: int, loss: str, singletons: bool) -> None:
    samples, counted = random_samples(seed, n, 6), {"singletons": singletons or loss not in expected_losses.SCORES}
    estimate = samples[0]
    found = expected_loss(samples, estimate, loss=loss, **counted)
    expected = summaries.expected_loss(loss, estimate, samples.tolist(), **counted)
    assert found.value == pytest.approx(expected, abs=1e-12)
    assert found.n_samples == 6


@pytest.mark.parametrize("split_cost", [0.0, 0.4, 1.7, 2.0])
@pytest.mark.parametrize("loss", ["binder", "vi"])
def test_the_two_kinds_of_error_can_cost_differently(loss: str, split_cost: float) -> None:
    samples = random_samples(3, 6, 5)
    expected = summaries.expected_loss(loss, samples[1], samples.tolist(), split_cost)
    assert expected_loss(samples, samples[1], loss=loss, split_cost=split_cost).value == pytest.approx(expected)


def test_losses_are_those_that_the_package_salso_documents() -> None:
    # Its documentation (partition.loss): binder = (1 - RI) (n - 1) / n with the Rand index RI;
    # VI with logarithms to base 2. By hand, for {0,1},{2,3} and {0,1,2},{3}: of the 6 pairs, 0-1 is joined in both,
    # 0-3 and 1-3 in none, and 0-2, 1-2 and 2-3 in one of the two: RI = 3 / 6. Entropies in bits: 1; H(3/4, 1/4); joint
    # of the cells 2, 1, 1: 1.5. VI = 3 - 1 - H(3/4, 1/4).
    estimate, truth = [0, 0, 2, 2], np.array([[0, 0, 0, 3]])
    bits = 3.0 - 1.0 - (0.75 * math.log2(4 / 3) + 0.25 * 2.0)
    assert expected_loss(truth, estimate, loss="binder").value == pytest.approx((1 - 3 / 6) * (4 - 1) / 4)
    assert expected_loss(truth, estimate, loss="vi").value == pytest.approx(bits * math.log(2))
    # a = 1.4 is the cost of separating 0 and 2 (and 1 and 2), which belong together; 2 - a that of joining 2 and 3.
    assert expected_loss(truth, estimate, loss="binder", split_cost=1.4).value == pytest.approx(
        (2 * 1.4 + 0.6) * 2 / 16
    )


@settings(max_examples=30)
@given(antecedent_lists(max_mentions=5, scores=mild_scores), st.floats(0.0, 2.0), st.integers(0, 100))
def test_the_binder_loss_of_a_distribution_is_exact(lists: Lists, split_cost: float, pick: int) -> None:
    n = len(lists.antecedents)
    everything = coreference.all_clusterings(n)
    labels = everything[pick % len(everything)]
    probs = coreference.clustering_probs(coreference.softmax_rows(*lists))
    exact = math.fsum(p * summaries.loss("binder", labels, truth, split_cost) for truth, p in probs.items() if n)
    found = expected_loss(AntecedentDistribution.from_lists(*lists), labels, loss="binder", split_cost=split_cost)
    assert found.value == pytest.approx(exact, abs=1e-12)
    assert (found.mc_se, found.n_samples) == (0.0, 0)


@settings(max_examples=30)
@given(antecedent_lists(min_mentions=1, max_mentions=5, scores=mild_scores), st.integers(0, 100))
def test_the_bound_of_vi_is_below_it(lists: Lists, pick: int) -> None:
    n = len(lists.antecedents)
    everything = coreference.all_clusterings(n)
    labels = everything[pick % len(everything)]
    probs = coreference.clustering_probs(coreference.softmax_rows(*lists))
    exact = math.fsum(p * summaries.loss("vi", labels, truth) for truth, p in probs.items())
    # The term that all clusterings share: the mean over mentions of E[log size of its cluster].
    constant = math.fsum(p * math.log(truth.count(r)) for truth, p in probs.items() for r in truth) / n
    bound = expected_loss(AntecedentDistribution.from_lists(*lists), labels, loss="vi-bound")
    assert bound.value + constant <= exact + 1e-12


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 6), st.sampled_from(SAMPLED))
def test_an_estimate_has_its_loss_and_none_is_below_the_bound(seed: int, n: int, loss: str) -> None:
    samples = random_samples(seed, n, 8)
    losses = [summaries.expected_loss(loss, each, samples.tolist()) for each in coreference.all_clusterings(n)]
    estimate = point_estimate(samples, loss=loss)
    assert estimate.expected_loss == pytest.approx(
        summaries.expected_loss(loss, estimate.labels.tolist(), samples.tolist()), abs=1e-12
    )
    if estimate.lower_bound is not None:
        assert estimate.lower_bound <= min(losses) + 1e-12


@pytest.mark.parametrize("loss", expected_losses.LOSSES)
def test_no_clustering_of_seven_mentions_is_better(loss: str) -> None:
    rng = np.random.default_rng(8)
    scores = [rng.normal(-1.0, 2.0, i).tolist() for i in range(7)]
    distribution = AntecedentDistribution.from_lists([list(range(i)) for i in range(7)], scores)
    samples = sample_clusterings(distribution, n_samples=20)
    source = expected_losses.summary_input(distribution, samples=samples)
    everything = [np.array(labels, np.int32) for labels in coreference.all_clusterings(7)]
    assert len(everything) == 877  # Bell number
    if loss == "conll":  # symmetric, so that all clusterings can be compared with a sample at once
        found = ClusteringSamples(np.array(everything), 0, "")
        scores_of = [metric_posterior(sample.copy(), found, metric="conll").values for sample in samples.labels]
        least = float(1.0 - np.mean(scores_of, axis=0).max())
    else:
        least = min(expected_losses.loss_under(source, labels, loss, 1.0).value for labels in everything)
    assert point_estimate(distribution, loss=loss, samples=samples).expected_loss == pytest.approx(least, abs=1e-9)


def test_an_estimate_is_at_least_as_good_as_the_likeliest_antecedents() -> None:
    rng = np.random.default_rng(1)
    lists = [list(range(i)) for i in range(30)], [rng.normal(-3, 2, i).tolist() for i in range(30)]
    distribution = AntecedentDistribution.from_lists(*lists)
    samples = sample_clusterings(distribution, n_samples=100)
    for loss in expected_losses.LOSSES:
        estimate = point_estimate(distribution, loss=loss, samples=samples)
        usual = expected_loss(distribution, map_clustering(distribution), loss=loss, samples=samples)
        assert estimate.expected_loss <= usual.value + 1e-12


@pytest.mark.parametrize("singletons", [True, False])
@pytest.mark.parametrize("loss", expected_losses.SCORES)
def test_the_best_start_is_not_dropped_after_a_few_samples(loss: expected_losses.ScoreName, singletons: bool) -> None:
    samples = random_samples(8 if singletons else 46, 12, 600)
    source = expected_losses.SummaryInput(None, expected_losses.summary_input(samples).samples, singletons=singletons)
    starts = expected_losses.starts(source)
    least = min(expected_losses.loss_under(source, labels, loss, 1.0).value for labels in starts)
    assert point_estimate(samples, loss=loss, singletons=singletons).expected_loss <= least + 1e-12


def test_a_distribution_and_samples_of_it_agree_on_the_loss() -> None:
    lists = [[], [0], [0, 1], [0, 2], [1]], [[], [0.5], [0.0, 1.0], [-1.0, 1.0], [2.0]]
    distribution = AntecedentDistribution.from_lists(*lists)
    exact = expected_loss(distribution, [0, 0, 2, 2, 0], loss="binder").value
    sampled = expected_loss(sample_clusterings(distribution, n_samples=4000), [0, 0, 2, 2, 0], loss="binder")
    assert plausible_means(sampled.value, exact, sampled.mc_se).all()


@pytest.mark.parametrize("split_cost", [1.0, 1.4, 1.9])
def test_after_the_sweeps_no_move_of_one_mention_lowers_the_loss(split_cost: float) -> None:
    # With 24 mentions many clusters have weak links only, which the sweeps do not compare with the samples.
    source = expected_losses.summary_input(random_samples(4, 24, 30))
    start = np.arange(24, dtype=np.int32)
    labels = expected_losses.swept(source, start, "vi", split_cost)
    least = expected_losses.loss_under(source, labels, "vi", split_cost).value
    assert least < expected_losses.loss_under(source, start, "vi", split_cost).value
    for i in range(24):
        for k in {*labels.tolist(), 100}:
            moved = labels.copy()
            moved[i] = k
            assert expected_losses.loss_under(source, canonical_labels(moved), "vi", split_cost).value >= least - 1e-9


@pytest.mark.parametrize("loss", ["b3", "lea", "conll"])
def test_clusters_that_belong_together_are_merged_and_others_are_not(loss: str) -> None:
    # Three of four samples have {0, 1, 2} and {3, 4}; the search begins with every mention alone.
    samples = np.array([[0, 0, 0, 3, 3]] * 3 + [[0, 1, 2, 3, 4]])
    start = np.arange(5, dtype=np.int32)
    labels = expected_losses.merged(expected_losses.summary_input(samples), start, loss, 1.0)
    losses = {each: summaries.expected_loss(loss, each, samples.tolist()) for each in coreference.all_clusterings(5)}
    assert labels.tolist() == [0, 0, 0, 3, 3] == list(min(losses, key=losses.__getitem__))


@pytest.mark.parametrize("n", [0, 1])
def test_documents_without_pairs_have_an_estimate(n: int) -> None:
    distribution = AntecedentDistribution.from_lists([[]] * n, [[]] * n)
    for loss in expected_losses.LOSSES:
        assert point_estimate(distribution, loss=loss).labels.tolist() == list(range(n))


SAMPLES = random_samples(0, 4, 3)
TWO = AntecedentDistribution.from_lists([[], [0]], [[], [0.0]])


@pytest.mark.parametrize(
    ("parameter", "call"),
    [
        ("loss", lambda: point_estimate(SAMPLES, loss="rand")),  # type: ignore[arg-type]
        ("posterior.n_samples", lambda: point_estimate(SAMPLES[:0])),
        ("labels", lambda: expected_loss(SAMPLES, [0, 0, 0])),
        ("split_cost", lambda: point_estimate(SAMPLES, split_cost=3.0)),
        ("split_cost", lambda: point_estimate(SAMPLES, loss="b3", split_cost=0.5)),
        ("singletons", lambda: point_estimate(SAMPLES, singletons=False)),
        ("samples", lambda: point_estimate(TWO, samples=SAMPLES)),
        ("samples", lambda: point_estimate(SAMPLES, samples=SAMPLES)),
        ("posterior", lambda: point_estimate(SAMPLES.astype(float))),
    ],
)
def test_bad_input_is_named(parameter: str, call: Callable[[], object]) -> None:
    with error(ParameterError, parameter):
        call()
