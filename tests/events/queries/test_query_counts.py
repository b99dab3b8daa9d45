"""Counts of queries: distributions by enumeration, intervals by definition, coverage counted by hand."""

from __future__ import annotations

import itertools
import math
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from references import coreference as references
from references import events as er
from references import recalibration as rr

from corefsample import AntecedentDistribution, ParameterError, clustering_log_prob, sample_clusterings
from corefsample.recalibration import RecalibrationFitter
from corefsample.recalibration._losses import Derivatives, Likelihood, Quadratics
from corefsample.recalibration._model import N_PARAMETERS, Recalibration
from events import quantile_interval, simulate_documents
from events.counting import count_pmf
from events.queries import _kernels
from events.queries._queries import MENTION_TYPES, DocumentQueries, QueryTable
from events.queries._score import QueryScore, named_objective
from events.queries._true_counts import count_coverage, count_intervals, count_quantiles, mixture_pmf

shares = st.floats(0.0, 1.0)


def table(truth: dict[str, list[bool]]) -> QueryTable:
    """A query of each verb, held by as many documents as it has truths."""
    verbs = sorted(truth)
    pairs = [(d, v) for v, verb in enumerate(verbs) for d in range(len(truth[verb]))]
    flat = [truth[verbs[v]][d] for d, v in pairs]
    documents: Any = tuple(range(max(len(each) for each in truth.values())))  # nothing of them is asked
    return QueryTable(
        documents,
        tuple((MENTION_TYPES[0], verb) for verb in verbs),
        np.array([d for d, _ in pairs], np.int32),
        np.array([v for _, v in pairs], np.int32),
        np.array(flat),
    )


# --- distributions ------------------------------------------------------------------------------------------


@given(st.integers(1, 4).flatmap(lambda n: st.lists(st.lists(shares, min_size=n, max_size=n), min_size=1, max_size=3)))
def test_a_mixture_is_the_mean_of_the_distributions_by_enumeration(draws: list[list[float]]) -> None:
    expected = np.mean([references.poisson_binomial_pmf(draw) for draw in draws], axis=0)
    np.testing.assert_allclose(mixture_pmf(draws), expected, atol=1e-12)


def test_the_uncertainty_of_what_documents_share_does_not_average_out() -> None:
    # P is 0.3 or 0.5 for all of n documents: Var = E[n p (1-p)] + n^2 Var(p) = n 0.23 + n^2 0.01.
    for n in (10, 1000):
        pmf = mixture_pmf(np.repeat([[0.3], [0.5]], n, axis=1))
        counts = np.arange(n + 1)
        variance = pmf @ counts**2 - (pmf @ counts) ** 2
        assert variance == pytest.approx(0.23 * n + 0.01 * n**2)


@pytest.mark.parametrize("probs", [[0.5], np.zeros((0, 3)), [["a"]], [[math.nan]]])
def test_distributions_of_no_probabilities_are_rejected(probs: Any) -> None:
    with pytest.raises(ParameterError, match="probs"):
        mixture_pmf(probs)


# --- intervals ----------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(shares, st.booleans()), min_size=2, max_size=7), st.sampled_from([0.5, 0.8, 0.95]))
def test_intervals_are_those_of_the_definition(pairs: list[tuple[float, bool]], level: float) -> None:
    probs = [p for p, _ in pairs]
    found = count_intervals(table({"see": [t for _, t in pairs]}), probs, levels=[level], min_documents=2)
    pmf = references.poisson_binomial_pmf(probs)
    rows = found.set_index("interval")
    quantile = rows.loc["quantile"]
    tail = (1 - level) / 2
    assert (quantile["lower"], quantile["upper"]) == (er.quantile(pmf, tail), er.quantile(pmf, 1 - tail))
    hdi = rows.loc["hdi"]
    assert (hdi["lower"], hdi["upper"]) in er.shortest_intervals(pmf, level)
    mean, sd = math.fsum(probs), math.sqrt(math.fsum(p * (1 - p) for p in probs))
    half = NormalDist().inv_cdf((1 + level) / 2) * sd
    normal = rows.loc["normal"]
    np.testing.assert_allclose([normal["lower"], normal["upper"]], [mean - half, mean + half], atol=1e-6)
    truth = sum(t for _, t in pairs)
    assert (found["true_count"] == truth).all()
    assert (found["n_documents"] == len(pairs)).all()
    np.testing.assert_allclose(found["mean"], mean, atol=1e-9)
    np.testing.assert_allclose(found["sd"], sd, atol=1e-6)
    assert found["held"].tolist() == [row.lower <= truth <= row.upper for row in found.itertuples()]


def test_draws_of_a_recalibration_widen_the_intervals() -> None:
    queries = table({"see": [True] * 40})
    given_one = count_intervals(queries, np.full(40, 0.5), levels=[0.95])
    uncertain = count_intervals(queries, np.repeat([[0.35], [0.65]], 40, axis=1), levels=[0.95])
    width = (uncertain["upper"] - uncertain["lower"]).to_numpy() - (given_one["upper"] - given_one["lower"]).to_numpy()
    assert (width > 0).all()
    expected = quantile_interval((count_pmf([0.35] * 40) + count_pmf([0.65] * 40)) / 2)
    row = uncertain[uncertain["interval"] == "quantile"].iloc[0]
    assert (row["lower"], row["upper"]) == expected


def test_intervals_of_something_else_are_rejected() -> None:
    with pytest.raises(ParameterError, match="probs"):
        count_intervals(table({"see": [True] * 5}), [0.5, 0.5, 0.5, 0.5, 2.0], levels=[0.5])


# --- coverage -----------------------------------------------------------------------------------------------


def test_coverage_is_the_share_of_queries_covered_by_number_of_documents() -> None:
    # All P are 1: counts are said to be 5, 6 and 12 for sure; gold has 5, 4 and 12.
    truth = {"a": [True] * 5, "b": [True] * 4 + [False] * 2, "c": [True] * 12}
    intervals = count_intervals(table(truth), np.ones(23), levels=[0.95])
    coverage = count_coverage(intervals)
    small = coverage[coverage["documents"] == "5-9"]
    assert small["n_queries"].tolist() == [2, 2, 2]
    assert small["coverage"].tolist() == [0.5] * 3
    assert small["below"].tolist() == [0.5] * 3
    assert small["above"].tolist() == [0.0] * 3
    assert small["mean_error"].tolist() == [1.0] * 3  # (0 + 2) / 2
    assert small[small["interval"] != "normal"]["mean_width"].tolist() == [0.0, 0.0]
    large = coverage[coverage["documents"] == "10-19"]
    assert large["coverage"].tolist() == [1.0] * 3
    assert set(coverage["documents"]) == {"5-9", "10-19"}


def test_places_of_true_counts_are_those_of_the_definition() -> None:
    # Two documents at 1/2: counts 0, 1, 2 with 1/4, 1/2, 1/4. The true count 1 lies between 1/4 and 3/4.
    # A certain query whose truth is impossible: its count 0 is below everything, so its place is 0.
    queries = table({"eat": [False, False], "see": [True, False]})
    probs, null = np.array([1.0, 1.0, 0.5, 0.5]), np.array([[True, True, True, True]])
    found = count_quantiles(queries, probs, null, n_bins=4, min_documents=2)
    assert found.n == 2
    assert found.shares == pytest.approx([0.5, 0.25, 0.25, 0.0], abs=1e-12)
    # Under the null both counts are 2: places are between 0 and 1, and between 3/4 and 1.
    assert found.lower == pytest.approx([0.125, 0.125, 0.125, 0.625], abs=1e-12)
    # Squared distances at the inner edges: true 1/4, 1/4, 1/4; null -1/8, -1/4, -3/8. So the null's is larger.
    assert found.p_value == 1.0
    assert count_quantiles(queries, probs, null, min_documents=3) is None


@pytest.mark.parametrize("seed", range(3))
def test_places_are_uniform_by_a_test_that_knows_that_queries_share_documents(seed: int) -> None:
    # Ten queries that are always true together: ten counts, but only one independent one.
    rng = np.random.default_rng(seed)
    probs = np.tile(np.full(40, 0.5), 10)
    drawn = rng.random((400, 40)) < 0.5
    null = np.tile(drawn, (1, 10))
    p_values = []
    for truth in rng.random((60, 40)) < 0.5:
        queries = table({f"verb{k}": truth.tolist() for k in range(10)})
        found = count_quantiles(queries, probs, null)
        p_values.append(found.p_value)
    assert np.mean(np.array(p_values) < 0.2) == pytest.approx(0.2, abs=3 * math.sqrt(0.2 * 0.8 / 60))
    wrong = count_quantiles(queries, np.full(400, 0.1), rng.random((400, 400)) < 0.1)
    assert wrong.p_value < 0.01


def test_intervals_of_calibrated_counts_have_their_level() -> None:
    # Every truth of 8 documents with its probability: the probability inside each interval, exactly.
    probs = [0.1, 0.3, 0.5, 0.5, 0.7, 0.8, 0.2, 0.9]
    coverage = dict.fromkeys(("quantile", "hdi"), 0.0)
    for outcome in itertools.product((False, True), repeat=8):
        chance = math.prod(p if hit else 1 - p for p, hit in zip(probs, outcome, strict=True))
        if chance < 1e-4:
            continue
        found = count_intervals(table({"see": list(outcome)}), probs, levels=[0.8])
        for name in coverage:
            coverage[name] += chance * bool(found.set_index("interval").loc[name, "held"])
    assert coverage["quantile"] >= 0.8
    assert coverage["hdi"] >= 0.8


# --- derivatives of the probabilities of queries -----------------------------------------------------------


N_MENTIONS, N_SAMPLES = 7, 6


def made(seed: int) -> tuple[AntecedentDistribution, np.ndarray, np.ndarray]:  # type: ignore[type-arg]
    rng = np.random.default_rng(seed)
    antecedents = AntecedentDistribution.from_lists(*rr.random_lists(rng, N_MENTIONS))
    kinds = rng.integers(0, 9, N_MENTIONS).astype(np.uint8)
    return antecedents, kinds, rng.normal(0.0, 0.3, N_PARAMETERS)


@pytest.mark.kernels
def test_slopes_of_samples_are_those_of_their_log_probability() -> None:
    antecedents, kinds, point = made(3)
    change = Recalibration.from_vector(point)
    dist = change.apply(antecedents, kinds)
    labels = np.ascontiguousarray(sample_clusterings(dist, n_samples=N_SAMPLES, seed=1, doc_id="d").labels.T)
    slopes = np.zeros((N_PARAMETERS, N_SAMPLES))
    scaled = antecedents.scores / change.temperature
    _kernels.sample_slopes(labels, dist.indptr, dist.antecedents, dist.probs, scaled, kinds, slopes)

    def log_probs(parameters: np.ndarray) -> np.ndarray:  # type: ignore[type-arg]
        changed = Recalibration.from_vector(parameters).apply(antecedents, kinds)
        return np.array([clustering_log_prob(changed, labels[:, s]) for s in range(N_SAMPLES)])

    step = 1e-5
    for place in range(N_PARAMETERS):
        shift = np.zeros(N_PARAMETERS)
        shift[place] = step
        expected = (log_probs(point + shift) - log_probs(point - shift)) / (2 * step)
        # The kernel leaves out the mean over all antecedents, the same in every sample.
        np.testing.assert_allclose(slopes[place] - slopes[place, 0], expected - expected[0], atol=1e-6)


def asked(antecedents: AntecedentDistribution, kinds: Any, *columns: tuple[int, ...]) -> DocumentQueries:
    """Queries by typed mentions, their types, pronouns, and the verbs of these."""
    typed, types, pronouns, verbs = (np.array(each, np.int32) for each in columns)
    present = np.isin(np.arange(3), types)
    return DocumentQueries("d", ("go", "say"), present, typed, types, pronouns, verbs, antecedents, kinds=kinds)


@pytest.mark.kernels
def test_truths_of_samples_add_up_to_hits() -> None:
    antecedents, kinds, _ = made(4)
    queries = asked(antecedents, kinds, (0, 1, 4), (0, 2, 0), (2, 5, 6), (0, 1, 1))
    truths = queries.truths(Recalibration(), n_samples=40, seed=2)
    hits = queries.hits(Recalibration(), n_samples=40, seed=2)
    assert truths.shape == (40, 4)
    assert np.array_equal(truths.sum(axis=0), hits[:, queries.present_types].ravel())


def test_slopes_of_probabilities_are_their_derivatives() -> None:
    antecedents, kinds, point = made(5)
    queries = asked(antecedents, kinds, (0,), (0,), (6,), (0,))
    found = queries.slopes(Recalibration.from_vector(point), n_samples=200_000, seed=7)[0, 0]
    # One mention of the type and one pronoun: the probability of the query is a link marginal, known exactly.
    from corefsample import link_marginals

    def marginal(parameters: np.ndarray) -> float:  # type: ignore[type-arg]
        return float(link_marginals(Recalibration.from_vector(parameters).apply(antecedents, kinds))[6, 0])

    for place in range(N_PARAMETERS):
        shift = np.zeros(N_PARAMETERS)
        shift[place] = 1e-5
        expected = (marginal(point + shift) - marginal(point - shift)) / 2e-5
        # A covariance of an indicator and a slope of at most about 6: its standard error is below 6 * 0.5 / sqrt(n)
        # = 0.007; five of them.
        assert abs(found[place] - expected) < 0.034


def test_a_joint_fit_by_kind_is_better_than_the_likelihood_alone() -> None:
    documents = [each.document for each in simulate_documents(30, seed=6, event_share=1.0, temperature=2.0)]
    joint, likelihood = (
        RecalibrationFitter(documents, objective=named_objective(name, {}), form="kinds").fit()
        for name in ("joint", "likelihood")
    )
    assert joint.prior_sd is not None
    # The joint loss with many samples, whose noise is far below the difference from the scores as they are.
    losses = QueryScore("log", n_samples=5000, joint=True)
    gold = RecalibrationFitter(documents).gold

    def total(change: Recalibration) -> float:
        penalty = float((change.vector()[2:] ** 2).sum()) / (2.0 * float(joint.prior_sd or 1.0) ** 2)
        exact = float(Likelihood(gold, by_kind=True).at(change).sum())
        return exact + sum(losses(document, change) for document in documents) + penalty

    found, other, before = total(joint.recalibration), total(likelihood.recalibration), total(Recalibration())
    assert found < before
    assert found < other + 1.0


def test_quadratics_follow_the_definition() -> None:
    # One document: loss 2 + g x + x' H x / 2 in two of the parameters, around 0.1 in the first.
    point, size = np.zeros(N_PARAMETERS), N_PARAMETERS
    point[1] = 0.1
    gradient, hessian = np.zeros((1, size)), np.zeros((1, size, size))
    gradient[0, 1:3] = 3.0, -1.0
    hessian[0, 1:3, 1:3] = [[4.0, 1.0], [1.0, 2.0]]

    class Losses:
        name, sampled, n_terms = "some", True, np.ones(1)

    losses = Quadratics(Losses(), point, Derivatives(np.array([2.0]), gradient, hessian))  # type: ignore[arg-type]
    vector = point.copy()
    vector[1:3] = 0.6, 0.2
    found = losses.derivatives(Recalibration.from_vector(vector))
    # With x = (0.5, 0.2): 2 + 1.5 - 0.2 + (4 * 0.25 + 2 * 0.1 + 2 * 0.04) / 2; slopes 3 + 2 + 0.2 and -1 + 0.5 + 0.4.
    np.testing.assert_allclose(found.losses, [3.94], atol=1e-12)
    np.testing.assert_allclose(found.gradients[0, 1:3], [5.2, -0.1], atol=1e-12)
    assert found.hessians is hessian
