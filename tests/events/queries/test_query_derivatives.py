"""Derivatives of queries' probabilities: slopes of samples against differences of exact log probabilities."""

from __future__ import annotations

import numpy as np
import pytest
from references import recalibration as rr

from corefsample import AntecedentDistribution, clustering_log_prob, sample_clusterings
from corefsample.recalibration import RecalibrationFitter
from corefsample.recalibration._losses import Derivatives, Likelihood, Quadratics
from corefsample.recalibration._model import N_PARAMETERS, Recalibration
from events import simulate_documents
from events.queries import QueryScore, _kernels
from events.queries._queries import DocumentQueries
from events.queries._score import named_objective

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


@pytest.mark.kernels
def test_truths_of_samples_add_up_to_hits() -> None:
    antecedents, kinds, _ = made(4)
    queries = DocumentQueries(
        doc_id="d",
        verbs=("go", "say"),
        present_types=np.array([True, False, True]),
        typed_mentions=np.array([0, 1, 4], np.int32),
        types=np.array([0, 2, 0], np.int32),
        pronouns=np.array([2, 5, 6], np.int32),
        pronoun_verbs=np.array([0, 1, 1], np.int32),
        antecedents=antecedents,
        kinds=kinds,
    )
    truths = queries.truths(Recalibration(), n_samples=40, seed=2)
    hits = queries.hits(Recalibration(), n_samples=40, seed=2)
    assert truths.shape == (40, 4)
    assert np.array_equal(truths.sum(axis=0), hits[:, queries.present_types].ravel())


def test_slopes_of_probabilities_are_their_derivatives() -> None:
    antecedents, kinds, point = made(5)
    queries = DocumentQueries(
        doc_id="d",
        verbs=("go",),
        present_types=np.array([True, False, False]),
        typed_mentions=np.array([0], np.int32),
        types=np.array([0], np.int32),
        pronouns=np.array([6], np.int32),
        pronoun_verbs=np.array([0], np.int32),
        antecedents=antecedents,
        kinds=kinds,
    )
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
