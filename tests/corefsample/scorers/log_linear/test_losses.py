"""Losses and their slopes: against enumeration, finite differences, and plain loops."""

import math
from typing import NamedTuple

import numpy as np
import pytest
from encoded_texts import encoded
from hypothesis import given, settings, strategies as st
from references import mention_ranking as reference
from strategies import parses as strategies

from corefsample.scorers.log_linear import _kernels
from corefsample.scorers.log_linear._encoding import TemplateSet
from corefsample.scorers.log_linear._model import on_grid

pytestmark = pytest.mark.kernels

SLACK = 0.005
scores_of = st.floats(-4.0, 4.0, allow_subnormal=False)


Arrays = tuple[np.ndarray, np.ndarray, np.ndarray]


class Losses(NamedTuple):
    losses: np.ndarray
    slopes: np.ndarray
    new_slopes: np.ndarray


@st.composite
def scored_entities(draw: strategies.Draw, max_mentions: int = 5) -> Arrays:
    """Scores of all pairs, those of NEW, and entities."""
    n = draw(st.integers(1, max_mentions))
    n_pairs = n * (n - 1) // 2
    scores = draw(st.lists(scores_of, min_size=n_pairs, max_size=n_pairs))
    new_scores = draw(st.lists(scores_of, min_size=n, max_size=n))
    return np.array(scores, np.float64), np.array(new_scores), np.array(draw(strategies.entities(n)), np.int64)


def likelihood(scores: np.ndarray, new_scores: np.ndarray, entities: np.ndarray) -> Losses:
    found = Losses(np.full(len(entities), np.nan), np.full(len(scores), np.nan), np.full(len(entities), np.nan))
    _kernels.antecedent_losses(scores, new_scores, entities, *found)
    return found


def links(
    scores: np.ndarray, new_scores: np.ndarray, entities: np.ndarray, weight: float = 1.0, floor: float = 0.0
) -> tuple[float, np.ndarray, np.ndarray]:
    n = len(entities)
    probs, slopes, new_slopes = np.zeros((n, n)), np.zeros(len(scores)), np.zeros(n)
    _kernels.antecedent_probs(scores, new_scores, floor, probs)
    loss = _kernels.link_loss(probs, entities, weight, SLACK, slopes, new_slopes)
    return loss, slopes, new_slopes


# --- likelihood --------------------------------------------------------------------------------------------


@given(scored_entities())
def test_losses_enumerate_the_gold_antecedents(drawn: Arrays) -> None:
    scores, new_scores, entities = drawn
    wanted = reference.antecedent_losses(scores.tolist(), new_scores.tolist(), entities.tolist())
    np.testing.assert_allclose(likelihood(scores, new_scores, entities).losses, wanted, atol=1e-12)


@given(scored_entities())
def test_slopes_of_the_likelihood_are_those_of_finite_differences(drawn: Arrays) -> None:
    scores, new_scores, entities = drawn

    def loss(values: np.ndarray) -> float:
        n_pairs = len(scores)
        parts = values[:n_pairs].tolist(), values[n_pairs:].tolist()
        return math.fsum(reference.antecedent_losses(*parts, entities.tolist()))

    found = likelihood(scores, new_scores, entities)
    wanted = reference.slopes(loss, np.concatenate((scores, new_scores)))
    np.testing.assert_allclose(np.concatenate((found.slopes, found.new_slopes)), wanted, atol=1e-8)


def test_a_gold_antecedent_that_is_out_of_reach_has_a_finite_loss() -> None:
    found = likelihood(np.array([-2000.0]), np.array([0.0, 0.0]), np.array([0, 0]))
    assert np.isfinite(found.losses).all()
    assert np.isfinite(found.slopes).all()
    assert found.losses[1] > 600


# --- links -------------------------------------------------------------------------------------------------


@settings(max_examples=60)
@given(scored_entities())
def test_probabilities_are_those_of_the_scores(drawn: Arrays) -> None:
    scores, new_scores, _ = drawn
    n = len(new_scores)
    for floor in (0.0, 0.05):
        probs = np.zeros((n, n))
        _kernels.antecedent_probs(scores, new_scores, floor, probs)
        for i, distribution in enumerate(reference.distributions(scores.tolist(), new_scores.tolist())):
            wanted = [distribution[k] if distribution[k] >= floor else 0.0 for k in range(i)]
            np.testing.assert_allclose(probs[i, :i], wanted, atol=1e-14)
            assert not probs[i, i:].any()


@settings(max_examples=40)
@given(scored_entities())
def test_the_link_loss_is_that_of_all_clusterings(drawn: Arrays) -> None:
    scores, new_scores, entities = drawn
    wanted = reference.link_loss(scores.tolist(), new_scores.tolist(), entities.tolist(), SLACK)
    assert links(scores, new_scores, entities)[0] == pytest.approx(wanted, abs=1e-10)


@settings(max_examples=12)
@given(scored_entities(max_mentions=4), st.floats(0.1, 3.0))
def test_slopes_of_the_link_loss_are_those_of_finite_differences(drawn: Arrays, weight: float) -> None:
    scores, new_scores, entities = drawn

    def loss(values: np.ndarray) -> float:
        parts = values[: len(scores)].tolist(), values[len(scores) :].tolist()
        return reference.link_loss(*parts, entities.tolist(), SLACK)

    _, slopes, new_slopes = links(scores, new_scores, entities, weight)
    wanted = weight * reference.slopes(loss, np.concatenate((scores, new_scores)))
    np.testing.assert_allclose(np.concatenate((slopes, new_slopes)), wanted, atol=1e-7)


def test_a_link_that_is_certain_and_wrong_has_a_bounded_loss() -> None:
    loss, slopes, _ = links(np.array([900.0]), np.zeros(2), np.array([0, 1]))
    assert loss == pytest.approx(-math.log(SLACK))
    assert np.isfinite(slopes).all()


# --- weights -----------------------------------------------------------------------------------------------

SMALL = TemplateSet(
    pronoun=["i.pronoun k.agreement pair.sentences", "k.class", "pair.match pair.agreeing_between"],
    phrase=["pair.match", "i.head k.head pair.syntax", "pair.agreeing_between pair.names_between"],
    new=["i.kind", "i.head_before best.match", "best.near i.class"],
)


@settings(max_examples=12)
@given(strategies.texts(), st.integers(0, 9))
def test_slopes_in_the_scores_reach_the_weights_that_made_them(text: strategies.Text, seed: int) -> None:
    # The sum of slopes times scores is linear in the weights, apart from the fixed reduction of clashing pairs; its
    # derivative is what add_to_weights gives.
    tokens, spans = text
    doc = encoded(tokens, spans, ())
    n, rng, codes = len(spans), np.random.default_rng(seed), SMALL.hashed(doc)
    slopes, new_slopes = rng.normal(size=n * (n - 1) // 2), rng.normal(size=n)
    slopes[np.abs(slopes) < 0.1] = 0.05  # below the floor: left out
    scores, new_scores, best = np.empty(len(slopes)), np.empty(n), np.zeros((n, 2), np.int32)

    def value(weights: np.ndarray) -> float:
        _kernels.score_all(doc, codes, weights, scores, new_scores, best)
        return float(np.where(np.abs(slopes) >= 0.1, slopes, 0.0) @ scores + new_slopes @ new_scores)

    nothing, gradient = np.zeros(16, np.float32), np.zeros(16, np.float32)
    fixed = value(nothing)
    _kernels.add_to_weights(doc, codes, slopes, new_slopes, best, 0.1, gradient)
    units = np.eye(16, dtype=np.float32)
    np.testing.assert_allclose(gradient, [value(unit) - fixed for unit in units], atol=1e-5)


@settings(max_examples=30)
@given(
    st.lists(st.lists(st.sampled_from([0.0, 0.5, -1.0, 2.0]), min_size=4, max_size=4), min_size=1, max_size=4),
    st.sampled_from([0.05, 0.5]),
)
def test_steps_of_adagrad_are_those_of_a_plain_loop(gradients: list[list[float]], rate: float) -> None:
    weights, squares, late_moves = np.zeros(4, np.float32), np.zeros(4), np.zeros(4)
    buffers, after = np.zeros((2, 4), np.float32), []
    for step, gradient in enumerate(gradients):
        buffers[0], buffers[1] = np.array(gradient) * 0.25, np.array(gradient) * 0.75
        _kernels.adagrad_step(weights, squares, late_moves, buffers, rate, step)
        assert not buffers.any()
        after.append(weights.astype(np.float64))
    wanted, wanted_squares = reference.adagrad([0.0] * 4, gradients, rate)
    np.testing.assert_allclose(weights, wanted, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(squares, wanted_squares, rtol=1e-5)
    np.testing.assert_allclose(weights - late_moves / len(after), np.mean(after, axis=0), rtol=1e-6, atol=1e-8)


def test_a_penalty_shrinks_weights_as_many_small_steps_do() -> None:
    weights, squares, late_moves = np.array([1.0, -0.5, 0.0], np.float32), np.array([4.0, 0.25, 0.0]), np.zeros(3)
    _kernels.shrink(weights, squares, late_moves, 0.1 * 0.02 * 16, 3)
    # Each of 16 steps of rate 0.1 and penalty 0.02 leaves 1 - 0.002 / 2 and 1 - 0.002 / 0.5 of a weight.
    np.testing.assert_allclose(weights, [0.999**16, -0.5 * 0.996**16, 0.0], rtol=2e-4)
    np.testing.assert_allclose(late_moves, 3.0 * (weights - [1.0, -0.5, 0.0]), rtol=1e-6)


# --- the grid of a model file ------------------------------------------------------------------------------


@given(st.lists(st.floats(-(2.0**99), 2.0**99, width=32), max_size=8))
def test_weights_go_to_the_nearest_of_127_steps_to_either_side(values: list[float]) -> None:
    weights = np.array(values, np.float32)
    steps, scale = on_grid(weights)
    assert steps.dtype == np.int8
    assert scale > 0
    largest = np.abs(weights).max(initial=0.0)
    if largest > 1e-30:
        assert np.abs(steps).max() == 127
        assert np.abs(steps * scale - weights.astype(float)).max() <= 0.5001 * scale
        assert scale == pytest.approx(largest / 127, rel=1e-6)


@settings(max_examples=300)
@given(st.floats(2.0**-100, 2.0**60, width=32), st.lists(st.integers(-127, 127), max_size=6))
def test_weights_on_a_grid_stay_on_it(scale: float, steps: list[int]) -> None:
    weights = np.array([127, *steps], np.float32) * np.float32(scale)
    again, found = on_grid(weights)
    np.testing.assert_array_equal(again, [127, *steps])
    np.testing.assert_array_equal(again.astype(np.float32) * np.float32(found), weights)
