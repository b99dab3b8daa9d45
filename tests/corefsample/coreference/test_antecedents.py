"""AntecedentDistribution: validation, softmax, pruning."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from expected_errors import error
from hypothesis import given, settings, strategies as st
from references import coreference as references
from strategies import documents as strategies
from strategies.documents import Lists

import corefsample as cs

NAMES = ("indptr", "antecedents", "scores", "probs", "new_probs")


def rows_of(distribution: cs.AntecedentDistribution) -> list[references.Row]:
    rows = []
    for i in range(distribution.n_mentions):
        candidates, probs = distribution.row(i)
        rows.append({**dict(zip(candidates.tolist(), probs.tolist(), strict=True)), i: distribution.new_probs[i]})
    return rows


# --- softmax -----------------------------------------------------------------------------------------------


@pytest.mark.kernels
@given(strategies.antecedent_lists())
def test_probabilities_are_the_softmax_of_the_scores_and_zero_for_new(lists: Lists) -> None:
    distribution = cs.AntecedentDistribution.from_lists(*lists)
    for row, expected in zip(rows_of(distribution), references.softmax_rows(*lists), strict=True):
        assert row == pytest.approx(expected, abs=1e-14)


SCORES = np.tril(np.arange(1.0, 17.0).reshape(4, 4), -1)
SHARES = np.array([[1.0, 0, 0, 0], [0.5, 0.5, 0, 0], [0.25, 0.25, 0.5, 0], [0.25, 0.25, 0.25, 0.25]])  # NEW: diagonal


@pytest.mark.parametrize("scores", [SCORES.T, np.where(np.tri(4), -np.inf, SCORES.T), SCORES.T / 20.0])
def test_a_transposed_matrix_is_named(scores: Any) -> None:
    with pytest.raises(cs.ParameterError) as caught:
        cs.AntecedentDistribution.from_dense(scores)
    assert (caught.value.parameter, "transpose" in str(caught.value.hint)) == ("scores", True)
    with pytest.raises(cs.ParameterError) as caught:
        cs.AntecedentDistribution.from_probabilities(SHARES.T, new="diagonal")
    assert "transpose" in str(caught.value.hint)


def test_probabilities_in_place_of_scores_are_named_in_a_warning() -> None:
    links = SHARES / SHARES.sum(axis=1, where=np.tri(4, k=-1, dtype=bool), initial=1e-300, keepdims=True)
    lists = [[*range(i)] for i in range(4)], [links[i, :i].tolist() for i in range(4)]
    for build in (
        lambda: cs.AntecedentDistribution.from_dense(SHARES),
        lambda: cs.AntecedentDistribution.from_dense(SHARES, new="diagonal"),
        lambda: cs.AntecedentDistribution.from_dense(
            np.hstack((np.diag(SHARES)[:, None], np.tril(SHARES, -1))), new="first"
        ),
        lambda: cs.AntecedentDistribution.from_lists(*lists),
    ):
        with pytest.warns(UserWarning, match="from_probabilities"):
            build()
    cs.AntecedentDistribution.from_dense(np.zeros((4, 4)))  # and without a warning, which is an error in tests
    cs.AntecedentDistribution.from_lists(lists[0], [[1.0, *[0.0] * (i - 1)][:i] for i in range(4)])


@pytest.mark.parametrize(
    ("score", "prob", "new_prob"),
    [(800.0, 1.0, 0.0), (-800.0, 0.0, 1.0), (1e308, 1.0, 0.0), (-1e308, 0.0, 1.0), (0.0, 0.5, 0.5)],
)
def test_extreme_scores_give_exact_certainties(score: float, prob: float, new_prob: float) -> None:
    distribution = cs.AntecedentDistribution.from_lists([[], [0]], [[], [score]])
    assert (distribution.probs[0], distribution.new_probs[1]) == (prob, new_prob)


@given(strategies.antecedent_lists(), st.randoms(use_true_random=False))
def test_the_order_of_candidates_changes_no_array(lists: Lists, random: object) -> None:
    shuffled = Lists([], [])
    for candidates, scores in zip(*lists, strict=True):
        pairs = list(zip(candidates, scores, strict=True))
        random.shuffle(pairs)  # type: ignore[attr-defined]
        shuffled.antecedents.append([k for k, _ in pairs])
        shuffled.scores.append([score for _, score in pairs])
    assert cs.AntecedentDistribution.from_lists(*lists) == cs.AntecedentDistribution.from_lists(*shuffled)


# --- building ----------------------------------------------------------------------------------------------


def test_arrays_of_the_caller_are_neither_changed_nor_shared() -> None:
    indptr, candidates = np.array([0, 0, 0, 2]), np.array([1, 0], np.int32)
    scores = np.array([3.0, 0.0])
    distribution = cs.AntecedentDistribution.from_csr(indptr, candidates, scores)
    assert (candidates.tolist(), scores.tolist()) == ([1, 0], [3.0, 0.0])
    before = distribution.probs.copy()
    indptr[:], candidates[:], scores[:] = 0, 0, -9.0
    assert distribution.indptr.tolist() == [0, 0, 0, 2]
    np.testing.assert_array_equal(distribution.probs, before)


@pytest.mark.parametrize(
    ("antecedents", "scores", "message"),
    [
        ([[], [0], [0, 2]], [[], [0.0], [0.0, 1.0]], "antecedents[2][1] must be a mention before 2, got 2"),
        ([[], [-1]], [[], [0.0]], "antecedents[1][0] must be a mention before 1, got -1"),
        ([[], [2**31]], [[], [0.0]], "antecedents must fit into 32 bits, got 2147483648"),
        ([[], [0], [0, 1, 0]], [[], [0.0], [1.0, 2.0, 3.0]], "antecedents[2] must be distinct, got 0 twice"),
        *(([[], [0]], [[], [bad]], f"scores[1][0] must be finite, got {bad}") for bad in (math.nan, math.inf)),
        ([[], [0]], [[]], "scores must have one list per mention, as antecedents has (2), got 1"),
        ([[], [0]], [[], []], "scores[1] must be as long as antecedents[1] (1), got 0"),
        *(([[], [bad]], [[], [0.0]], "antecedents must be whole numbers") for bad in (0.0, True, "0", 10**30)),
        *(([[], [0]], [[], [bad]], "scores must be numbers") for bad in ("1", None)),
    ],
)
def test_lists_that_break_a_rule_are_named(
    antecedents: list[list[int]], scores: list[list[float]], message: str
) -> None:
    with pytest.raises(cs.ParameterError) as caught:
        cs.AntecedentDistribution.from_lists(antecedents, scores)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "indptr", [[], [1], [0, 2], [0, 2, 1], [0, 0], [-1, 1], [0.0, 1.0], [[0, 1]], list(range(60, -1, -1))]
)
def test_invalid_row_bounds_raise_in_one_line(indptr: list[int]) -> None:
    with pytest.raises(cs.ParameterError, match=r"^indptr must [^\n]*$"):
        cs.AntecedentDistribution.from_csr(indptr, [0], [0.0])


@given(strategies.antecedent_lists(1), st.data())
def test_the_first_mentions_have_the_same_probabilities(lists: Lists, data: st.DataObject) -> None:
    distribution = cs.AntecedentDistribution.from_lists(*lists)
    n = data.draw(st.integers(0, distribution.n_mentions))
    assert rows_of(distribution.first_mentions(n)) == rows_of(distribution)[:n]


@pytest.mark.parametrize("scores", [[1.0, 2.0], [1.0, 2.0, math.inf]])
def test_other_scores_must_be_finite_and_as_many(scores: list[float]) -> None:
    distribution = cs.AntecedentDistribution.from_lists([[], [0], [1, 0]], [[], [0.0], [math.log(2.0), 0.0]])
    assert distribution.with_scores([0.0, 0.0, 0.0]).probs.tolist() == pytest.approx([1 / 2, 1 / 3, 1 / 3])
    with pytest.raises(cs.ParameterError, match=r"scores must be 3 finite numbers, got \[1.0, 2.0"):
        distribution.with_scores(scores)


# --- one antecedent known --------------------------------------------------------------------------------


def conditional_probs(rows: list[references.Row], mention: int, antecedent: int) -> references.ClusteringProbs:
    """Probability of every clustering, by rejecting antecedent vectors with another antecedent of the mention."""
    terms_of: dict[references.Clustering, list[float]] = {}
    for vector, probability in references.antecedent_vectors(rows):
        if vector[mention] == antecedent:
            terms_of.setdefault(references.connected_components(vector), []).append(probability)
    mass = math.fsum(p for terms in terms_of.values() for p in terms)
    return {clustering: math.fsum(terms) / mass for clustering, terms in terms_of.items()}


@settings(max_examples=50)
@given(strategies.antecedent_lists(1, 5, scores=strategies.mild_scores), st.data())
def test_conditioning_equals_rejection(lists: Lists, data: st.DataObject) -> None:
    n = len(lists.antecedents)
    mention = data.draw(st.integers(0, n - 1))
    k = data.draw(st.sampled_from([mention, *lists.antecedents[mention]]))  # the mention itself: NEW
    expected = conditional_probs(references.softmax_rows(*lists), mention, k)
    settled = cs.AntecedentDistribution.from_lists(*lists).with_antecedent(mention, None if k == mention else k)
    np.testing.assert_allclose(cs.link_marginals(settled), references.link_marginals(expected, n), atol=1e-12)
    np.testing.assert_allclose(cs.root_posterior(settled), references.root_posterior(expected, n), atol=1e-12)
    for clustering in references.all_clusterings(n):
        assert math.exp(cs.clustering_log_prob(settled, clustering)) == pytest.approx(
            expected.get(clustering, 0.0), abs=1e-12
        )


def test_a_known_antecedent_stays_certain_in_a_file_and_by_recalibration(tmp_path: Path) -> None:
    distribution = cs.AntecedentDistribution.from_lists([[], [0], [0, 1]], [[], [0.5], [-9.0, 0.0]])
    settled = distribution.with_antecedent(2, 0).with_antecedent(1, None)
    assert settled.probs.tolist() == [1.0]
    assert settled.new_probs.tolist() == [1.0, 1.0, 0.0]
    cs.write_documents(
        [cs.ScoredDocument("d", np.array([[0, 1, 0], [1, 2, 1], [2, 3, 2]], np.int32), settled)], tmp_path / "d.jsonl"
    )
    (read,) = cs.read_documents(tmp_path / "d.jsonl")
    for again in (read.antecedents, cs.Recalibration(5.0, 2.0).apply(settled)):
        assert again.probs.tolist() == [1.0]
        assert again.new_probs.tolist() == [1.0, 1.0, 0.0]


@pytest.mark.parametrize(
    ("parameter", "choices"),
    [
        ("mention", [(3, None), (-1, None), (True, 0), (1.0, 0)]),
        ("antecedent", [(2, -1), (2, False), (2, "0"), (2, 2), (0, 0)]),
        # Of probability 0: exp(-800), no candidate, NEW beside a score of 800.
        ("antecedent", [(2, 1), (1, 0), (2, None)]),
    ],
)
def test_an_impossible_antecedent_raises(parameter: str, choices: list[tuple[Any, Any]]) -> None:
    distribution = cs.AntecedentDistribution.from_lists([[], [], [0, 1]], [[], [], [800.0, 0.0]])
    for choice in choices:
        with error(cs.ParameterError, parameter):
            distribution.with_antecedent(*choice)


# --- matrices ----------------------------------------------------------------------------------------------

NEW_PLACES = ("number", "numbers", "diagonal", "first", "last")


def matrix_of(lists: Lists, new: list[float], place: str) -> tuple[Any, Any]:
    """A matrix with the scores of the lists plus NEW's score of the mention, and the option `new`."""
    n = len(new)
    square = np.full((n, n), -np.inf)
    for i, (candidates, scores) in enumerate(zip(*lists, strict=True)):
        for k, score in zip(candidates, scores, strict=True):
            square[i, k] = score + new[i]
        square[i, i:] = 7.0  # what is not before its mention has no meaning
    if place == "diagonal":
        np.fill_diagonal(square, new)
    if place in ("first", "last"):
        columns = [np.array(new).reshape(-1, 1), square]
        return np.hstack(columns if place == "first" else columns[::-1]), place
    return square, place if place == "diagonal" else np.array(new)


@pytest.mark.parametrize("place", NEW_PLACES)
@given(lists=strategies.antecedent_lists(scores=st.floats(-9.0, 9.0)), data=st.data())
def test_a_matrix_of_scores_is_the_distribution_of_its_lists(place: str, lists: Lists, data: st.DataObject) -> None:
    n = len(lists[0])
    new = data.draw(st.lists(st.integers(-3, 3).map(float), min_size=n, max_size=n))
    new = [2.0] * n if place == "number" else new
    matrix, option = matrix_of(lists, new, place)
    option = 2.0 if place == "number" else option
    found = cs.AntecedentDistribution.from_dense(matrix, new=option)
    expected = cs.AntecedentDistribution.from_lists(*lists)
    assert found.antecedents.tolist() == expected.antecedents.tolist()
    np.testing.assert_allclose(found.probs, expected.probs, atol=1e-12)
    np.testing.assert_allclose(found.new_probs, expected.new_probs, atol=1e-12)
    # And its probabilities give the same, in double precision and in that of most systems.
    probs = np.zeros((n, n))
    probs[np.repeat(np.arange(n), np.diff(expected.indptr)), expected.antecedents] = expected.probs
    for kind, tolerance in ((np.float64, 1e-12), (np.float32, 1e-5)):
        for given_new in (None, expected.new_probs.astype(kind)):
            again = cs.AntecedentDistribution.from_probabilities(probs.astype(kind), new=given_new)
            np.testing.assert_allclose(cs.link_marginals(again), cs.link_marginals(expected), atol=tolerance)


def test_masked_candidates_and_a_masked_new_have_no_probability() -> None:
    scores = np.array([[0, 0, 0], [1.0, 0, 0], [-1e9, 2.0, 0]])
    found = cs.AntecedentDistribution.from_dense(scores, new=-np.inf)
    assert found.antecedents.tolist() == [0, 1]
    assert found.probs.tolist() == [1.0, 1.0]
    assert found.new_probs[0] == 1.0
    certain = cs.AntecedentDistribution.from_probabilities([[0, 0, 0], [1.0, 0, 0], [0.25, 0.75, 0]])
    assert certain.antecedents.tolist() == [0, 0, 1]
    np.testing.assert_allclose(certain.probs, [1.0, 0.25, 0.75], atol=1e-15)
    assert cs.AntecedentDistribution.from_dense([]).n_mentions == 0


@pytest.mark.parametrize(
    ("scores", "new", "parameter"),
    [
        ([[0.0, 0.0]], 0.0, "scores"),
        ([[0.0]], "first", "scores"),
        ([[0.0], [0.0, 1.0]], 0.0, "scores"),
        ([["a"]], 0.0, "scores"),
        ([[0.0]], "middle", "new"),
        ([[0.0]], [0.0, 1.0], "new"),
        ([[0.0]], float("nan"), "new"),
        ([[0.0, 0.0], [float("nan"), 0.0]], 0.0, "scores[1][0]"),
        ([[0.0, 0.0], [-np.inf, 0.0]], -np.inf, None),
    ],
)
def test_matrices_that_are_no_distribution_raise(scores: Any, new: Any, parameter: str | None) -> None:
    with error(cs.ParameterError, parameter):
        cs.AntecedentDistribution.from_dense(scores, new=new)


@pytest.mark.parametrize(
    ("probs", "new", "parameter"),
    [
        ([[0.0, 0.0], [1.1, 0.0]], None, "probabilities[1][0]"),
        ([[0.0, 0.0], [-0.1, 0.0]], None, "probabilities[1][0]"),
        ([[0.0, 0.0], [float("nan"), 0.0]], None, "probabilities[1][0]"),
        ([[0, 0, 0], [0.5, 0, 0], [0.6, 0.6, 0]], None, None),
        ([[0.0, 0.0], [0.5, 0.0]], [1.0, 0.4], None),
    ],
)
def test_probabilities_that_do_not_sum_to_one_raise(probs: Any, new: Any, parameter: str | None) -> None:
    with error(cs.ParameterError, parameter):
        cs.AntecedentDistribution.from_probabilities(probs, new=new)


# --- equality ----------------------------------------------------------------------------------------------


def test_values_are_equal_if_their_fields_are() -> None:
    def made(score: float = 1.0, doc_id: str = "a", gold: Any = ("x", None)) -> cs.ScoredDocument:
        distribution = cs.AntecedentDistribution.from_lists([[], [0]], [[], [score]])
        mentions = [(0, 1, 0), (1, 2, 1)]
        return cs.ScoredDocument(doc_id, mentions, distribution, gold=gold, metadata={"list": [1, 2]})

    first = made()
    assert (first, hash(first), first.antecedents) == (made(), hash(made()), made().antecedents)
    assert first == made(gold=["x", None])
    assert first.antecedents != made(2.0).antecedents
    assert all(first != other for other in (made(2.0), made(doc_id="b"), made(gold=None), "a"))
    draws = [cs.sample_clusterings(first.antecedents, n_samples=5, seed=seed) for seed in (0, 0, 1)]
    assert draws[0] == draws[1]
    assert draws[0] != draws[2]
