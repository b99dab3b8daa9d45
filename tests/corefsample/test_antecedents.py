"""AntecedentDistribution: validation, softmax, pruning."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
import references
import strategies
from hypothesis import given
from hypothesis import strategies as st
from strategies import Lists

from corefsample import AntecedentDistribution, ParameterError


def rows_of(distribution: AntecedentDistribution) -> list[references.Row]:
    rows = []
    for i in range(distribution.n_mentions):
        candidates, probs = distribution.row(i)
        rows.append({**dict(zip(candidates.tolist(), probs.tolist(), strict=True)), i: distribution.new_probs[i]})
    return rows


# --- softmax -----------------------------------------------------------------------------------------------


@pytest.mark.kernels
@given(strategies.antecedent_lists())
def test_probabilities_are_the_softmax_of_the_scores_and_zero_for_new(lists: Lists) -> None:
    distribution = AntecedentDistribution.from_lists(*lists)
    for row, expected in zip(rows_of(distribution), references.softmax_rows(*lists), strict=True):
        assert row == pytest.approx(expected, abs=1e-14)


@pytest.mark.kernels
@given(strategies.antecedent_lists())
def test_the_probabilities_of_each_mention_sum_to_one(lists: Lists) -> None:
    for row in rows_of(AntecedentDistribution.from_lists(*lists)):
        assert math.fsum(row.values()) == pytest.approx(1.0, abs=1e-14)


def test_known_probabilities() -> None:
    # exp(log 3) : exp(0) = 3 : 1; then exp(0) : exp(log 2) : exp(0) = 1 : 2 : 1, candidates given as 1, 0.
    distribution = AntecedentDistribution.from_lists([[], [0], [1, 0]], [[], [math.log(3.0)], [math.log(2.0), 0.0]])
    np.testing.assert_allclose(distribution.probs, [0.75, 0.25, 0.5], rtol=1e-15)
    np.testing.assert_allclose(distribution.new_probs, [1.0, 0.25, 0.25], rtol=1e-15)


@pytest.mark.parametrize(
    ("score", "prob", "new_prob"),
    [(800.0, 1.0, 0.0), (-800.0, 0.0, 1.0), (1e308, 1.0, 0.0), (-1e308, 0.0, 1.0), (0.0, 0.5, 0.5)],
)
def test_extreme_scores_give_exact_certainties(score: float, prob: float, new_prob: float) -> None:
    distribution = AntecedentDistribution.from_lists([[], [0]], [[], [score]])
    assert (distribution.probs[0], distribution.new_probs[1]) == (prob, new_prob)


def test_two_huge_equal_scores_share_the_probability() -> None:
    distribution = AntecedentDistribution.from_lists([[], [], [0, 1]], [[], [], [1e308, 1e308]])
    assert distribution.probs.tolist() == [0.5, 0.5]
    assert distribution.new_probs[2] == 0.0


@given(strategies.antecedent_lists(), st.randoms(use_true_random=False))
def test_the_order_of_candidates_changes_no_array(lists: Lists, random: object) -> None:
    shuffled = Lists([], [])
    for candidates, scores in zip(*lists, strict=True):
        pairs = list(zip(candidates, scores, strict=True))
        random.shuffle(pairs)  # type: ignore[attr-defined]
        shuffled.antecedents.append([k for k, _ in pairs])
        shuffled.scores.append([score for _, score in pairs])
    one, other = AntecedentDistribution.from_lists(*lists), AntecedentDistribution.from_lists(*shuffled)
    for name in ("indptr", "antecedents", "scores", "probs", "new_probs"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


@given(strategies.antecedent_lists())
def test_candidates_of_a_row_ascend(lists: Lists) -> None:
    distribution = AntecedentDistribution.from_lists(*lists)
    for i, candidates in enumerate(lists.antecedents):
        assert distribution.row(i)[0].tolist() == sorted(candidates)


# --- building ----------------------------------------------------------------------------------------------


@given(strategies.antecedent_lists())
def test_compressed_rows_and_lists_build_the_same(lists: Lists) -> None:
    indptr = np.cumsum([0, *map(len, lists.antecedents)])
    flat = [k for row in lists.antecedents for k in row]
    scores = [score for row in lists.scores for score in row]
    from_csr = AntecedentDistribution.from_csr(indptr, flat, scores)
    from_lists = AntecedentDistribution.from_lists(*lists)
    np.testing.assert_array_equal(from_csr.probs, from_lists.probs)
    np.testing.assert_array_equal(from_csr.new_probs, from_lists.new_probs)


def test_no_mentions_at_all_are_a_distribution() -> None:
    distribution = AntecedentDistribution.from_lists([], [])
    assert (distribution.n_mentions, distribution.n_candidates) == (0, 0)


def test_one_mention_is_new() -> None:
    distribution = AntecedentDistribution.from_lists([[]], [[]])
    assert distribution.new_probs.tolist() == [1.0]


def test_dtypes_are_those_of_the_docstring() -> None:
    distribution = AntecedentDistribution.from_lists([[], [0]], [[], [1]])
    dtypes = {
        "indptr": np.int64,
        "antecedents": np.int32,
        "scores": np.float64,
        "probs": np.float64,
        "new_probs": np.float64,
    }
    assert {name: getattr(distribution, name).dtype for name in dtypes} == dtypes


@pytest.mark.parametrize("name", ["indptr", "antecedents", "scores", "probs", "new_probs"])
def test_arrays_are_read_only(name: str) -> None:
    distribution = AntecedentDistribution.from_lists([[], [0]], [[], [0.0]])
    with pytest.raises(ValueError, match="read-only"):
        getattr(distribution, name)[0] = 1


def test_fields_cannot_be_set() -> None:
    distribution = AntecedentDistribution.from_lists([[], [0]], [[], [0.0]])
    with pytest.raises(dataclasses.FrozenInstanceError):
        distribution.probs = np.zeros(1)  # type: ignore[misc]


def test_the_arrays_given_are_neither_changed_nor_kept() -> None:
    indptr, candidates = np.array([0, 0, 0, 2]), np.array([1, 0], np.int32)
    scores = np.array([3.0, 0.0])
    distribution = AntecedentDistribution.from_csr(indptr, candidates, scores)
    assert (candidates.tolist(), scores.tolist()) == ([1, 0], [3.0, 0.0])
    before = distribution.probs.copy()
    indptr[:], candidates[:], scores[:] = 0, 0, -9.0
    assert distribution.indptr.tolist() == [0, 0, 0, 2]
    np.testing.assert_array_equal(distribution.probs, before)


@pytest.mark.parametrize(
    ("antecedents", "scores", "message"),
    [
        ([[0]], [[0.0]], "antecedents[0][0] must be a mention before 0, got 0"),
        ([[], [1]], [[], [0.0]], "antecedents[1][0] must be a mention before 1, got 1"),
        ([[], [0], [0, 2]], [[], [0.0], [0.0, 1.0]], "antecedents[2][1] must be a mention before 2, got 2"),
        ([[], [-1]], [[], [0.0]], "antecedents must be mentions, from 0 to 2147483647, got -1"),
        ([[], [2**31]], [[], [0.0]], "antecedents must be mentions, from 0 to 2147483647, got 2147483648"),
        ([[], [0], [0, 1, 0]], [[], [0.0], [1.0, 2.0, 3.0]], "antecedents[2] must be distinct, got 0 twice"),
        ([[], [0, 0]], [[], [0.0, 1.0]], "antecedents[1] must be distinct, got 0 twice"),
        ([[], [], [0, 1, 1]], [[], [], [1.0, 2.0, 3.0]], "antecedents[2] must be distinct, got 1 twice"),
        ([[], [0]], [[], [math.nan]], "scores[1][0] must be finite, got nan"),
        ([[], [0]], [[], [math.inf]], "scores[1][0] must be finite, got inf"),
        ([[], [0]], [[], [-math.inf]], "scores[1][0] must be finite, got -inf"),
        ([[], [0]], [[]], "scores must have one list a mention, as antecedents has (2), got 1"),
        ([[], [0]], [[], []], "scores[1] must be as long as antecedents[1] (1), got 0"),
        ([[], [0.0]], [[], [0.0]], "antecedents must be whole numbers"),
        ([[], [True]], [[], [0.0]], "antecedents must be whole numbers"),
        ([[], ["0"]], [[], [0.0]], "antecedents must be whole numbers"),
        ([[], [10**30]], [[], [0.0]], "antecedents must be whole numbers"),
        ([[], [0]], [[], ["1"]], "scores must be numbers"),
        ([[], [0]], [[], [None]], "scores must be numbers"),
    ],
)
def test_lists_that_break_a_rule_are_refused_with_place_rule_and_value(
    antecedents: list[list[int]], scores: list[list[float]], message: str
) -> None:
    with pytest.raises(ParameterError) as error:
        AntecedentDistribution.from_lists(antecedents, scores)
    assert message in str(error.value)


@pytest.mark.parametrize(
    "indptr", [[], [1], [0, 2], [0, 2, 1], [0, 0], [-1, 1], [0.0, 1.0], [[0, 1]], list(range(60, -1, -1))]
)
def test_row_bounds_that_are_none_are_refused_in_one_line(indptr: list[int]) -> None:
    with pytest.raises(ParameterError, match=r"^indptr must [^\n]*$"):
        AntecedentDistribution.from_csr(indptr, [0], [0.0])


def test_scores_and_candidates_of_unlike_length_are_refused() -> None:
    with pytest.raises(ParameterError, match=r"scores must be as long as antecedents \(1\), got 2"):
        AntecedentDistribution.from_csr([0, 0, 1], [0], [0.0, 1.0])


# --- pruning -----------------------------------------------------------------------------------------------


@given(strategies.antecedent_lists(scores=strategies.mild_scores), st.floats(0.0, 0.9))
def test_pruning_leaves_out_the_improbable_and_renormalises(lists: Lists, min_prob: float) -> None:
    distribution = AntecedentDistribution.from_lists(*lists)
    pruned = distribution.pruned(min_prob)
    for i, (before, after) in enumerate(zip(rows_of(distribution), rows_of(pruned.distribution), strict=True)):
        kept = {k: p for k, p in before.items() if k == i or p >= min_prob}
        left = math.fsum(kept.values())
        assert after == pytest.approx({k: p / left for k, p in kept.items()}, abs=1e-13)
        assert pruned.dropped_mass[i] == pytest.approx(1.0 - left, abs=1e-13)
    assert pruned.n_dropped == distribution.n_candidates - pruned.distribution.n_candidates


def test_pruning_at_zero_leaves_everything() -> None:
    distribution = AntecedentDistribution.from_lists([[], [0], [0, 1]], [[], [-800.0], [1.0, 2.0]])
    pruned = distribution.pruned(0.0)
    np.testing.assert_array_equal(pruned.distribution.probs, distribution.probs)
    assert (pruned.n_dropped, pruned.dropped_mass.tolist()) == (0, [0.0, 0.0, 0.0])


def test_a_candidate_of_just_the_least_probability_stays() -> None:
    distribution = AntecedentDistribution.from_lists([[], [0]], [[], [0.0]])  # one half each
    assert distribution.pruned(0.5).n_dropped == 0
    assert distribution.pruned(math.nextafter(0.5, 1.0)).n_dropped == 1


def test_new_is_never_pruned() -> None:
    # P(NEW) = 1 / (1 + e^5) = 0.0067, below the threshold; the candidate keeps its 0.9933.
    pruned = AntecedentDistribution.from_lists([[], [0]], [[], [5.0]]).pruned(0.1)
    assert pruned.distribution.new_probs[1] == pytest.approx(1.0 / (1.0 + math.exp(5.0)))


@pytest.mark.parametrize("min_prob", [-0.1, 1.0, 1, 2.0, math.nan, "0.1", None, True])
def test_pruning_below_no_probability_is_refused(min_prob: float) -> None:
    distribution = AntecedentDistribution.from_lists([[]], [[]])
    with pytest.raises(ParameterError, match=r"min_prob must lie in \[0, 1\), got "):
        distribution.pruned(min_prob)
