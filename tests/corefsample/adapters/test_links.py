"""Code that all adapters share: masks, scores relative to NEW, order of mentions, heads, links left out."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from expected_errors import error
from hypothesis import given, strategies as st
from references import coreference as references
from strategies.documents import Lists, antecedent_lists, mild_scores, one_word_document

from corefsample import AntecedentDistribution, ParameterError, Tokens, link_marginals
from corefsample.adapters import _links as adapter_links, drop_unlinked, linked_probabilities

INF = math.inf


def softmax_rows(scores: list[list[float]], new: list[float], masked: float = -5000.0) -> list[dict[int, float]]:
    """Plain loops: each row's probabilities of the mentions before it, and of NEW as -1."""
    rows = []
    for i, row in enumerate(scores):
        values = {j: row[j] for j in range(i) if row[j] > masked} | {-1: new[i]}
        top = max(values.values())
        total = sum(math.exp(value - top) for value in values.values())
        rows.append({j: math.exp(value - top) / total for j, value in values.items()})
    return rows


# --- links -------------------------------------------------------------------------------------------------


@st.composite
def charts(draw: st.DrawFn) -> tuple[list[list[float]], list[float]]:
    n = draw(st.integers(1, 6))
    score = st.one_of(st.floats(-20, 20, width=32), st.sampled_from([-INF, -1e4, -9996.5, float(np.finfo("f4").min)]))
    scores = draw(st.lists(st.lists(score, min_size=n, max_size=n), min_size=n, max_size=n))
    return scores, draw(st.lists(st.floats(-20, 20, width=32), min_size=n, max_size=n))


@given(charts())
def test_probabilities_are_the_softmax_of_what_is_not_masked(chart: Any) -> None:
    scores, new = chart
    n = len(new)
    links = adapter_links.links_from_square("scores", adapter_links.float_matrix("scores", scores), np.array(new))
    document = adapter_links.scored_document("test", links, np.array([(i, i + 1) for i in range(n)]), doc_id="a")
    for i, row in enumerate(softmax_rows(scores, new)):
        candidates, probs = document.antecedents.row(i)
        assert candidates.tolist() == [j for j in sorted(row) if j >= 0]
        np.testing.assert_allclose(probs, [row[j] for j in candidates], rtol=1e-12, atol=1e-300)
        np.testing.assert_allclose(document.antecedents.new_probs[i], row[-1], rtol=1e-12, atol=1e-300)


def top_k(scores: Any, antecedents: Any, new: Any) -> AntecedentDistribution:
    return adapter_links.links_from_top(np.column_stack((new, scores)), antecedents, len(new), "mention")


@given(charts(), st.randoms(use_true_random=False))
def test_the_order_of_candidates_changes_nothing(chart: Any, random: Any) -> None:
    scores, new = np.array(chart[0]), np.array(chart[1])
    n = len(new)
    scores[np.triu_indices(n)] = -INF
    orders = np.array([random.sample(range(n), n) for _ in range(n)])
    shuffled = top_k(np.take_along_axis(scores, orders, 1), orders, new)
    plain = adapter_links.links_from_square("scores", scores, new)
    for name in ("indptr", "antecedents", "scores"):
        np.testing.assert_array_equal(getattr(shuffled, name), getattr(plain, name))


@pytest.mark.parametrize(
    ("scores", "antecedents", "message"),
    [
        ([[-INF], [0.0]], [[0], [1]], "antecedents[1][0] must be a mention before 1, got 1"),
        ([[-INF, -INF], [1.0, 2.0]], [[0, 0], [0, 0]], "antecedents[1] must be distinct, got 0 twice"),
    ],
)
def test_bad_links_are_rejected_with_a_reason(scores: Any, antecedents: Any, message: str) -> None:
    with pytest.raises(ParameterError) as caught:
        top_k(scores, antecedents, [0.0, 0.0])
    assert str(caught.value) == message


# --- arrays ------------------------------------------------------------------------------------------------


class Tensor:
    """The attributes of a torch tensor that are used: on a device, with gradients, of a type NumPy does not know."""

    def __init__(self, values: Any, dtype: str = "torch.bfloat16", where: str = "gpu") -> None:
        self.values, self.dtype, self.where = values, dtype, where

    def detach(self) -> Tensor:
        return Tensor(self.values, self.dtype, "gpu, detached")

    def cpu(self) -> Tensor:
        assert self.where == "gpu, detached"
        return Tensor(self.values, self.dtype, "cpu")

    def float(self) -> Tensor:
        return Tensor(self.values, "torch.float32", self.where)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        if self.dtype == "torch.bfloat16" or self.where != "cpu":
            raise TypeError("no such type in NumPy")
        return np.array(self.values, "float32")


def test_a_tensor_is_copied_from_its_device() -> None:
    assert adapter_links.float_matrix("s", Tensor([[1.5, -INF]])).tolist() == [[1.5, -INF]]


BAD_ARRAYS = [
    (adapter_links.float_matrix, np.zeros((2, 3, 4)), "s"),
    (adapter_links.float_matrix, [[0.0, math.nan]], "s[0][1]"),
    *((adapter_links.float_matrix, value, "s") for value in ([["x"]], [[0.0], [0.0, 1.0]])),
    (adapter_links.int_matrix, [[0.5]], "s"),
]


@pytest.mark.parametrize(("reader", "value", "parameter"), BAD_ARRAYS)
def test_bad_arrays_are_rejected_with_a_reason(reader: Any, value: Any, parameter: str) -> None:
    with error(ParameterError, parameter):
        reader("s", value)


# --- order -------------------------------------------------------------------------------------------------


def test_mentions_are_sorted_by_start_then_longest_first_and_reversed_links_are_left_out() -> None:
    # System: shortest first. Row 1 = "the man", row 2 = "the man next door", row 3 = "he". Scores are log 1 and log 2.
    # Row 2 -> row 1 is turned round: row 2 comes before row 1 here. Its softmax was {0: 1/4, 1: 2/4, NEW: 1/4}.
    two = math.log(2)
    square = np.full((4, 4), -INF)
    square[1, 0], square[2, :2], square[3, :3] = two, [0, two], [0, two, two]
    links = adapter_links.links_from_square("s", square, np.zeros(4))
    document = adapter_links.scored_document("test", links, np.array([(0, 1), (2, 4), (2, 6), (8, 9)]), doc_id="a")
    assert document.mentions.tolist() == [[0, 1, 0], [2, 6, 5], [2, 4, 3], [8, 9, 8]]
    rows = [tuple(array.tolist() for array in document.antecedents.row(i)) for i in range(4)]
    assert [candidates for candidates, _ in rows] == [[], [0], [0], [0, 1, 2]]
    np.testing.assert_allclose(np.concatenate([probs for _, probs in rows]), [1 / 2, 2 / 3, 1 / 6, 2 / 6, 2 / 6])
    assert document.metadata[adapter_links.METADATA] == {
        "system": "test",
        "rows_without_span": 0,
        "links_without_span": 0,
        "links_reversed": 1,
        "left_out_mass": pytest.approx(0.5, abs=1e-15),
        "largest_left_out_mass": pytest.approx(0.5, abs=1e-15),
    }


@given(charts(), st.data())
def test_the_result_is_the_distribution_given_that_no_removed_link_was_chosen(chart: Any, data: Any) -> None:
    scores, new = chart
    n = len(new)
    place = st.tuples(st.integers(0, 4), st.integers(1, 3)).map(lambda pair: (pair[0], pair[0] + pair[1]))
    pairs = data.draw(st.lists(place, min_size=n, max_size=n))
    links = adapter_links.links_from_square("s", adapter_links.float_matrix("s", scores), np.array(new))
    document = adapter_links.scored_document("test", links, np.array(pairs), doc_id="a")
    order = sorted(range(n), key=lambda m: (pairs[m][0], -pairs[m][1], m))
    assert document.mentions[:, :2].tolist() == [list(pairs[m]) for m in order]
    removed = 0.0
    for m, row in enumerate(softmax_rows(scores, new)):
        here = order.index(m)
        stay = {order.index(j): p for j, p in row.items() if j >= 0 and order.index(j) < here}
        left = sum(stay.values()) + row[-1]
        removed += sum(row.values()) - left
        candidates, probs = document.antecedents.row(here)
        assert candidates.tolist() == sorted(stay)
        if left > 1e-6:  # below, rounding of the sum shows
            np.testing.assert_allclose(probs, [stay[j] / left for j in sorted(stay)], rtol=1e-9, atol=1e-12)
    assert document.metadata[adapter_links.METADATA]["left_out_mass"] == pytest.approx(removed, abs=1e-9)


@pytest.mark.parametrize(("start", "end"), [(3, 3), (-1, 3)])
def test_bad_spans_are_rejected_by_their_row(start: int, end: int) -> None:
    links = adapter_links.links_from_square("s", np.zeros((2, 2)), np.zeros(2))
    with pytest.raises(ParameterError) as caught:
        adapter_links.scored_document("test", links, np.array([(0, 1), (start, end)]), doc_id="a")
    assert str(caught.value) == f"spans[1] must have 0 <= start < end, got start {start} and end {end} (exclusive)"


# --- heads ----------------------------------------------------------------------------------

WORDS = ["the", "president", "of", "France", "and", "his", "wife"]
HEADS = [1, -1, 3, 1, 6, 6, 1]


def parsed(heads: list[int]) -> Tokens:
    blank = [""] * len(heads)
    return Tokens(WORDS[: len(heads)], blank, blank, blank, np.array(heads, np.int32), np.zeros(len(heads), np.int32))


def test_a_head_is_the_first_token_whose_own_head_lies_outside() -> None:
    starts, ends = np.array([0, 2, 4, 0, 3]), np.array([4, 4, 7, 7, 5])
    # "the president of France", "of France", "and his wife", all of it, "France and" (both have heads outside)
    assert adapter_links.parse_heads(starts, ends, parsed(HEADS)).tolist() == [1, 3, 6, 1, 3]


def test_a_head_is_the_last_token_where_nothing_is_parsed() -> None:
    starts, ends = np.array([0, 2]), np.array([4, 3])
    assert adapter_links.parse_heads(starts, ends, None).tolist() == [3, 2]
    assert adapter_links.parse_heads(starts, ends, parsed([-1] * 7)).tolist() == [3, 2]


# --- mentions that are hardly ever linked ----------------------------------------------------------------------


def choices(distribution: AntecedentDistribution) -> list[tuple[tuple[int, ...], float]]:
    """Every antecedent vector (i at place i: NEW) and its probability."""
    rows: list[references.Row] = []
    for i in range(distribution.n_mentions):
        candidates, probs = (array.tolist() for array in distribution.row(i))
        rows.append({**dict(zip(candidates, probs, strict=True)), i: float(distribution.new_probs[i])})
    return list(references.antecedent_vectors(rows))


def alone(vector: tuple[int, ...], mention: int) -> bool:
    return vector[mention] == mention and vector.count(mention) == 1


@given(antecedent_lists(scores=mild_scores, max_mentions=5))
def test_the_probability_of_being_linked_is_that_of_full_enumeration(lists: Lists) -> None:
    distribution = AntecedentDistribution.from_lists(*lists)
    vectors = choices(distribution)
    for m, probability in enumerate(linked_probabilities(distribution).tolist()):
        assert probability == pytest.approx(sum(p for vector, p in vectors if not alone(vector, m)), abs=1e-12)


@given(antecedent_lists(scores=mild_scores, max_mentions=5), st.floats(0.05, 0.9))
def test_the_result_is_the_distribution_given_that_the_others_are_alone(lists: Lists, min_prob: float) -> None:
    document = one_word_document(lists, list(range(len(lists.scores))))
    linked = linked_probabilities(document.antecedents)
    smaller = drop_unlinked(document, min_prob=min_prob)
    remaining = np.flatnonzero(linked >= min_prob).tolist()
    removed = [m for m in range(document.n_mentions) if m not in remaining]
    assert smaller.mentions[:, 0].tolist() == remaining
    assert smaller.gold == remaining
    left = [(v, p) for v, p in choices(document.antecedents) if all(alone(v, m) for m in removed)]
    clusterings = [(references.connected_components(v), p) for v, p in left]
    total = sum(p for _, p in left)
    marginals = link_marginals(smaller.antecedents)
    whole = link_marginals(document.antecedents)
    for i, a in enumerate(remaining):
        for j, b in enumerate(remaining):
            exact = sum(p for labels, p in clusterings if labels[a] == labels[b]) / total
            assert marginals[i, j] == pytest.approx(exact, abs=1e-12)
            assert abs(whole[a, b] - exact) <= linked[removed].sum() + 1e-12


def test_arguments_of_the_wrong_kind_are_rejected() -> None:
    document = one_word_document(Lists([[]], [[]]))
    with error(ParameterError, "document"):
        drop_unlinked(document.antecedents, min_prob=0.1)  # type: ignore[arg-type]
    with error(ParameterError, "min_prob"):
        drop_unlinked(document, min_prob=1.0)
    with error(ParameterError, "antecedents"):
        linked_probabilities(document)  # type: ignore[arg-type]
