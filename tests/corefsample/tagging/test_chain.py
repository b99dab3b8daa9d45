"""Exact figures of linear chains, against the enumeration of all tag sequences."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from expected_errors import error
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from references.chains import Enumeration, enumeration
from strategies.tagged import drawn_scores

from corefsample import ParameterError
from corefsample.tagging import LinearChain, _passes, tag_marginals, tag_pair_marginals

Array = npt.NDArray[np.float64]
INF = float("inf")


@st.composite
def scores(draw: st.DrawFn, largest: float = 20.0) -> tuple[Array, Array]:
    """Scores of a small chain that allows a sequence; some tags and transitions are forbidden."""
    n, n_tags = draw(st.integers(1, 5)), draw(st.integers(1, 4))
    numbers = st.one_of(st.floats(-largest, largest), st.integers(-3, 3).map(float), st.just(-INF))
    shape = draw(st.sampled_from([(n_tags, n_tags), (n - 1, n_tags, n_tags)]))
    unary, pairwise = (
        draw(hnp.arrays(float, (n, n_tags), elements=numbers)),
        draw(hnp.arrays(float, shape, elements=numbers)),
    )
    path = draw(st.lists(st.integers(0, n_tags - 1), min_size=n, max_size=n))
    for i, t in enumerate(path):  # one sequence that is allowed
        unary[i, t] = max(unary[i, t], -largest)
        if i > 0:
            place = (path[i - 1], t) if pairwise.ndim == 2 else (i - 1, path[i - 1], t)
            pairwise[place] = max(pairwise[place], -largest)
    return unary, pairwise


def require_equal(chain: LinearChain, expected: Enumeration, tolerance: float = 1e-10) -> None:
    assert chain.log_partition == pytest.approx(expected.log_partition, rel=1e-12, abs=tolerance)
    np.testing.assert_allclose(chain.marginals(), expected.marginals(), atol=tolerance, rtol=0.0)
    np.testing.assert_allclose(chain.pair_marginals(), expected.pair_marginals(), atol=tolerance, rtol=0.0)
    for tags, log_prob in expected.log_probs.items():
        assert chain.log_prob(tags) == pytest.approx(log_prob, rel=1e-12, abs=tolerance)


# --- against the enumeration -------------------------------------------------------------------------------


@settings(max_examples=150, deadline=None)
@given(scores())
def test_marginals_are_those_of_the_enumeration(given_scores: tuple[Array, Array]) -> None:
    require_equal(LinearChain.from_scores(*given_scores), enumeration(*given_scores))


@settings(max_examples=60, deadline=None)
@given(scores(largest=1000.0))
def test_scores_far_apart_give_exact_marginals(given_scores: tuple[Array, Array]) -> None:
    require_equal(LinearChain.from_scores(*given_scores), enumeration(*given_scores))


@pytest.mark.parametrize("scale", [1e3, 1e5])
def test_very_large_whole_scores_give_exact_marginals(scale: float) -> None:
    # Sums of whole numbers are exact, so many sequences have scores that differ by a few units out of 10**5.
    generator = np.random.default_rng(3)
    unary = scale * generator.integers(-1, 2, (5, 3)) + generator.integers(-2, 3, (5, 3))
    pairwise = scale * generator.integers(-1, 2, (3, 3)) + generator.integers(-2, 3, (3, 3))
    require_equal(LinearChain.from_scores(unary, pairwise), enumeration(unary.astype(float), pairwise.astype(float)))


def test_a_tag_that_underflows_and_wins_at_the_end_keeps_its_weight() -> None:
    """Only two sequences are allowed: A ... A and B ... B. B is behind by 1 a token, and the last token asks for it.

    The scores are n * 0 - 2n for A and -n for B, so P(A) = 1 / (1 + e^n): 0 in floats, though A leads up to the end.
    """
    n = 3000
    unary = np.tile([0.0, -1.0], (n, 1))
    unary[-1, 0] = -2.0 * n
    same = np.array([[0.0, -INF], [-INF, 0.0]])
    chain = LinearChain.from_scores(unary, same)
    assert chain.log_partition == pytest.approx(-float(n), rel=1e-14)
    np.testing.assert_allclose(chain.marginals(), np.tile([0.0, 1.0], (n, 1)), atol=1e-12)
    assert (chain.sample(5) == 1).all()


def test_masks_of_minus_ten_thousand_need_no_logarithms() -> None:
    unary, pairwise = drawn_scores(5, 3, 2.0)
    pairwise[0, 2] = pairwise[1, 0] = -10_000.0
    chain = LinearChain.from_scores(unary, pairwise)
    assert chain._messages.transitions is not None
    require_equal(chain, enumeration(unary, pairwise))


@pytest.mark.parametrize("n_tags", [1, 2, 7, 8, 9, 17])
def test_exponentials_and_logarithms_agree(n_tags: int) -> None:
    unary, pairwise = drawn_scores(40, n_tags, 4.0)
    chain, other = LinearChain.from_scores(unary, pairwise), _passes.messages_by_logs(unary, pairwise[None])
    assert chain.log_partition == pytest.approx(other.log_partition, rel=1e-13)
    np.testing.assert_allclose(chain.marginals(), other.probs, atol=1e-12, rtol=1e-9)


def test_equal_matrices_for_all_pairs_are_one_shared_matrix() -> None:
    unary, pairwise = drawn_scores(9, 3, 2.0)
    shared, own = (LinearChain.from_scores(unary, p) for p in (pairwise, np.tile(pairwise, (8, 1, 1))))
    np.testing.assert_allclose(own.marginals(), shared.marginals(), atol=1e-14)
    np.testing.assert_array_equal(own.sample(200), shared.sample(200))


def test_scores_of_tokens_may_be_moved_into_matrices_of_their_own() -> None:
    # 199 matrices of 60 x 60 are more than the 2**18 cells that are computed at a time.
    unary, pairwise = drawn_scores(200, 60, 2.0)
    moved = np.random.default_rng(1).normal(0.0, 2.0, unary.shape)
    moved[-1] = 0.0
    shared = LinearChain.from_scores(unary, pairwise)
    own = LinearChain.from_scores(unary - moved, pairwise + moved[:-1, :, None])
    assert own.log_partition == pytest.approx(shared.log_partition, rel=1e-13)
    np.testing.assert_allclose(own.pair_marginals(), shared.pair_marginals(), atol=1e-12)
    np.testing.assert_array_equal(own.sample(20), shared.sample(20))
    expected_score = np.sum(unary * shared.marginals()) + np.sum(pairwise * shared.pair_marginals())
    assert own.entropy() == pytest.approx(shared.log_partition - expected_score, rel=1e-9)


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("block_size", [None, 1, 4, 100])
def test_blocks_of_pair_marginals_join_to_the_whole(block_size: int | None, own: bool) -> None:
    chain = LinearChain.from_scores(*drawn_scores(12, 3, 2.0, own=own))
    blocks = list(chain.pair_marginal_blocks(block_size))
    assert [first for first, _ in blocks] == list(range(0, 11, min(block_size or 11, 11)))
    np.testing.assert_array_equal(np.concatenate([probs for _, probs in blocks]), chain.pair_marginals())


def test_a_hundred_thousand_tokens_stay_exact() -> None:
    # Without transitions tokens are independent: each row is a softmax, and log_partition the sum of their logsumexp.
    unary, _ = drawn_scores(100_000, 3, 3.0)
    chain = LinearChain.from_scores(unary, np.zeros((3, 3)))
    weights = np.exp(unary)
    np.testing.assert_allclose(chain.marginals(), weights / weights.sum(axis=1, keepdims=True), atol=1e-12)
    assert chain.log_partition == pytest.approx(math.fsum(np.log(weights.sum(axis=1))), rel=1e-14)


# --- likeliest sequences, entropy, divergence --------------------------------------------------------------


@settings(max_examples=100, deadline=None)
@given(scores(), st.integers(1, 12))
def test_the_best_sequences_are_those_of_the_enumeration(given_scores: tuple[Array, Array], k: int) -> None:
    chain, expected = LinearChain.from_scores(*given_scores), enumeration(*given_scores)
    found = chain.k_best(k)
    assert len(found.tags) == min(k, len(expected.scores))
    best = [expected.log_probs[tags] for tags in expected.best()[:k]]
    np.testing.assert_allclose(found.log_probs, best, rtol=1e-12, atol=1e-10)
    assert len({tuple(tags) for tags in found.tags.tolist()}) == len(found.tags)
    for tags, log_prob in zip(found.tags, found.log_probs, strict=True):
        assert chain.log_prob(tags) == pytest.approx(log_prob, rel=1e-12, abs=1e-10)
    np.testing.assert_array_equal(found.tags[0], chain.map())


def test_ties_go_to_the_first_in_lexicographic_order() -> None:
    chain = LinearChain.from_scores(np.zeros((3, 2)), np.zeros((2, 2)))
    assert chain.map().tolist() == [0, 0, 0]
    order = ["".join(map(str, tags)) for tags in chain.k_best(8).tags]
    assert order == ["000", "001", "010", "011", "100", "101", "110", "111"]


@settings(max_examples=100, deadline=None)
@given(scores())
def test_entropy_is_that_of_the_enumeration(given_scores: tuple[Array, Array]) -> None:
    chain, expected = LinearChain.from_scores(*given_scores), enumeration(*given_scores)
    assert chain.entropy() == pytest.approx(expected.entropy(), rel=1e-10, abs=1e-10)


# --- batches and results -----------------------------------------------------------------------------------


def test_a_batch_gives_what_single_chains_give() -> None:
    # Chains are computed together until they have 768 tokens.
    _, pairwise = drawn_scores(1, 6, 1.0)
    unaries = [
        drawn_scores(n, 6, scale, seed=n)[0] for n, scale in ((300, 1.0), (1, 1.0), (500, 1e4), (400, 2.0), (5, 1.0))
    ]
    singles = [LinearChain.from_scores(unary, pairwise) for unary in unaries]
    for probs, single in zip(tag_marginals(unaries, pairwise), singles, strict=True):
        np.testing.assert_array_equal(probs, single.marginals())
    for (probs, pair_probs), single in zip(tag_pair_marginals(unaries, pairwise), singles, strict=True):
        np.testing.assert_array_equal(probs, single.marginals())
        np.testing.assert_array_equal(pair_probs, single.pair_marginals())
    assert tag_marginals([], pairwise) == []


def test_results_have_tables() -> None:
    chain = LinearChain.from_scores([[0.0, 0.0]], np.zeros((2, 2)))
    assert chain.to_frame().to_numpy().tolist() == [[0, 0, 0.5], [0, 1, 0.5]]
    frame = chain.k_best(2).to_frame()
    assert frame.columns.tolist() == ["rank", "log_prob", "position", "tag"]
    assert frame["tag"].tolist() == [0, 1]


def test_scores_cannot_be_changed_from_outside() -> None:
    unary = np.zeros((2, 2))
    chain = LinearChain.from_scores(unary, np.zeros((2, 2)))
    unary[0, 0] = 5.0
    assert chain.unary[0, 0] == 0.0
    for array in (chain.unary, chain.pairwise, chain.marginals(), chain.k_best(1).tags):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


# --- bad input ---------------------------------------------------------------------------------------------

ZERO = np.zeros((2, 2))


@pytest.mark.parametrize(
    ("unary", "pairwise", "parameter", "message"),
    [
        ([[0.0, np.nan]], ZERO, "unary[0, 1]", "must be -inf or a number of at most 1e+300 in size, got nan"),
        ([[0.0, 0.0]], [[0.0, INF], [0.0, 0.0]], "pairwise[0, 1]", "got inf"),
        ([[0.0, -1.7e308]], ZERO, "unary[0, 1]", "got -1.7e+308"),
        (np.zeros((0, 2)), ZERO, "unary", "must have at least one token and one tag, got the shape (0, 2)"),
        (np.zeros((3, 2)), np.zeros((3, 3)), "pairwise", "the shape (2, 2) or (2, 2, 2), as unary has (3, 2)"),
        (np.zeros((3, 2)), np.zeros((3, 2, 2)), "pairwise", "got (3, 2, 2)"),
        (np.zeros(3), ZERO, "unary", "must be numbers in 2 dimensions, got 1 dimension of float64"),
        ([["a", "b"]], ZERO, "unary", "<U1"),
        ([[-INF, -INF]], ZERO, "scores", "must allow a tag sequence, got none that reaches token 0"),
        (np.zeros((2, 2)), ZERO - INF, "scores", "token 1"),
        (np.zeros((3, 2)), np.zeros((2, 2, 2)) - INF, "scores", "token 1"),
    ],
)
def test_scores_that_break_a_rule_raise(unary: Any, pairwise: Any, parameter: str, message: str) -> None:
    with error(ParameterError, parameter) as found:
        LinearChain.from_scores(unary, pairwise)
    assert message in str(found.value)


@pytest.mark.parametrize(
    ("tags", "parameter"), [([0], "tags"), ([0, 2], "tags[1]"), ([-1, 0], "tags[0]"), ([0.0, 1.0], "tags")]
)
def test_tags_that_break_a_rule_raise(tags: Any, parameter: str) -> None:
    with error(ParameterError, parameter):
        LinearChain.from_scores(ZERO, ZERO).log_prob(tags)


def test_a_forbidden_sequence_has_a_log_probability_of_minus_infinity() -> None:
    chain = LinearChain.from_scores(ZERO, [[0.0, -INF], [0.0, 0.0]])
    assert chain.log_prob([0, 1]) == -INF


@pytest.mark.parametrize("k", [0, 1.5, True])
def test_a_number_of_sequences_out_of_range_raises(k: Any) -> None:
    with error(ParameterError, "k"):
        LinearChain.from_scores(ZERO, ZERO).k_best(k)
