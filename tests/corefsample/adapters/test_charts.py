"""Matrices of pairs of spans: charts whose diagonal is NEW (Berkeley, CorPipe), and e2e-coref and AllenNLP."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest
from expected_errors import error

from corefsample import ParameterError
from corefsample.adapters import from_berkeley, from_corpipe, from_e2e

INF = math.inf
# Row i: links to 0 .. i - 1, then itself. 2 -> 0 is pruned, and so is NEW of mention 3.
CHART = [[0.25], [1.25, 0.25], [-INF, 0.5, 1.0], [0.0, 3.0, 2.0, -INF]]
MENTIONS = [[0, 2, 1], [3, 4, 3], [6, 9, 7], [10, 11, 10]]


def links(document: Any) -> dict[tuple[int, int], float]:
    given = document.antecedents
    rows = np.repeat(np.arange(given.n_mentions), np.diff(given.indptr))
    return dict(zip(zip(rows.tolist(), given.antecedents.tolist(), strict=True), given.scores.tolist(), strict=True))


EXPECTED = {(1, 0): 1.0, (2, 1): -0.5, (3, 0): 97.0, (3, 1): 100.0, (3, 2): 99.0}


def test_the_link_to_itself_is_new_wherever_it_lies() -> None:
    document = from_berkeley(CHART, MENTIONS, doc_id="a")
    assert links(document) == EXPECTED
    assert document.mentions.tolist() == MENTIONS
    assert document.antecedents.new_probs[3] < 1e-43


def test_a_square_chart_is_read_below_its_diagonal() -> None:
    square = np.full((4, 4), 7.0, np.float32)  # what is above means nothing
    for i, row in enumerate(CHART):
        square[i, : i + 1] = row
    assert links(from_berkeley(square, MENTIONS, doc_id="a")) == EXPECTED
    assert links(from_berkeley(square.tolist(), MENTIONS, doc_id="a")) == EXPECTED


def marginals() -> list[list[float]]:
    rows = [[math.exp(value) for value in row] for row in CHART]
    return [[float(np.float32(value / sum(row))) for value in row] for row in rows]


def test_marginals_give_the_same_distribution_as_scores() -> None:
    by_scores = from_berkeley(CHART, MENTIONS, doc_id="a").antecedents
    by_marginals = from_berkeley(marginals(), MENTIONS, doc_id="a", values="probabilities").antecedents
    np.testing.assert_allclose(by_marginals.probs, by_scores.probs, rtol=1e-6)
    np.testing.assert_allclose(by_marginals.new_probs, by_scores.new_probs, rtol=1e-6)


def test_values_above_the_diagonal_of_marginals_are_ignored() -> None:
    square = np.full((4, 4), 0.5)
    for i, row in enumerate(marginals()):
        square[i, : i + 1] = row
    ragged = from_berkeley(marginals(), MENTIONS, doc_id="a", values="probabilities")
    assert links(from_berkeley(square, MENTIONS, doc_id="a", values="probabilities")) == links(ragged)
    for chart in (square, marginals()):  # normalised by decoding
        with pytest.raises(
            ParameterError, match=r"^chart must contain scores, got rows .* \(values = 'probabilities' "
        ):
            from_berkeley(chart, MENTIONS, doc_id="a")


def test_no_mention_is_a_document() -> None:
    assert from_berkeley([], [], doc_id="a").n_mentions == 0


BAD_CHARTS = [
    ([[0.0], [1.0]], MENTIONS[:2], {}, "chart[1] must have 2 values"),
    (np.zeros((2, 3)), MENTIONS[:2], {}, "chart must be square"),
    (3.0, MENTIONS, {}, "chart must be numbers"),
    (CHART, MENTIONS[:3], {}, "mentions must have one row"),
    (CHART, MENTIONS, {"values": "logits"}, "values must be one of"),
    ([[1.0], [0.5, 0.6]], MENTIONS[:2], {"values": "probabilities"}, "chart[1] must add up to one"),
    ([[1.0], [-0.5, 1.5]], MENTIONS[:2], {"values": "probabilities"}, "chart[1][0] must be a probability"),
]


@pytest.mark.parametrize(("chart", "mentions", "options", "rule"), BAD_CHARTS)
def test_a_bad_chart_is_rejected_with_a_reason(chart: Any, mentions: Any, options: Any, rule: str) -> None:
    with pytest.raises(ParameterError, match=f"^{re.escape(rule)}"):
        from_berkeley(chart, mentions, doc_id="a", **options)


# --- CorPipe -----------------------------------------------------------------------------------------------

LENGTHS = [4, 5, 3]
# first and last word in the sentence, then CorPipe's entity; the second sentence has two that begin together
FOUND = [[[0, 0, 1], [2, 3, 2]], [[1, 3, 1], [1, 1, 3]], [[0, 0, 2]]]
PAD = 55.0  # windows of a batch are filled up to one size
CHARTS = [
    np.array([[0.5, 9.0, PAD], [1.0, 0.25, PAD]]),
    np.array([[1.0, 2.0, 0.0, 9.0], [1.5, 2.5, 8.0, 1.0], [PAD] * 4]),
    np.array([[3.0, 4.0, 5.0, 1.0, PAD]]),  # the window of the third has lost the first mention
]
PREVIOUS = [0, 2, 3]


def corpipe(**changes: Any) -> Any:
    given = {"charts": CHARTS, "mentions": FOUND, "n_previous": PREVIOUS, "sentence_lengths": LENGTHS}
    given |= {"label_smoothing": 0.0} | changes
    return from_corpipe(given.pop("charts"), given.pop("mentions"), doc_id="a", **given)


def test_charts_of_sentences_make_one_document() -> None:
    document = corpipe()
    assert document.mentions[:, :2].tolist() == [[0, 1], [2, 4], [5, 8], [5, 6], [9, 10]]
    # each minus its own NEW; the two that begin at token 5 are no antecedents of each other
    assert links(document) == {
        (1, 0): 0.75,
        (2, 0): 1.0,
        (2, 1): 2.0,
        (3, 0): 0.5,
        (3, 1): 1.5,
        (4, 1): 2.0,
        (4, 2): 3.0,
        (4, 3): 4.0,
    }
    assert document.metadata["adapter"]["links_reversed"] == 0


def test_a_sentence_without_mentions_needs_no_chart() -> None:
    document = corpipe(charts=[CHARTS[0], None], mentions=[FOUND[0], []], n_previous=[0, 2], sentence_lengths=[4, 5])
    assert links(document) == {(1, 0): 0.75}


def test_label_smoothing_is_undone() -> None:
    """Of 0.6, 0.3, 0.1 smoothed by 0.2 the softmax is 0.8 p + 0.2 / 3; a NEW of 0 has 0.2 / 3."""
    for probs in ([0.6, 0.3, 0.1], [0.75, 0.25, 0.0]):
        smoothed = np.log(0.8 * np.array(probs) + 0.2 / 3) + 5.0  # of the two mentions before, then of NEW
        document = corpipe(
            charts=[np.array([[0.0, 0.0], [0.0, 0.0]]), smoothed[None]],
            mentions=[[[0, 0, 1], [2, 2, 2]], [[0, 0, 1]]],
            n_previous=[0, 2],
            sentence_lengths=[4, 5],
            label_smoothing=0.2,
        )
        antecedents, found = document.antecedents.row(2)
        np.testing.assert_allclose(found, probs[:2], atol=1e-12)
        assert antecedents.tolist() == [0, 1]
        assert document.antecedents.new_probs[2] == pytest.approx(probs[2], abs=1e-12)
    with error(ParameterError, "label_smoothing"):
        corpipe(label_smoothing=1.0)


BAD_WINDOWS = [
    ({"n_previous": [0, 2]}, "n_previous must have one entry"),
    ({"n_previous": [0, 3, 3]}, "n_previous[1] must be at most"),
    ({"charts": [CHARTS[0], CHARTS[1][:, :3], CHARTS[2]]}, "charts[1] must have a row for each mention"),
    ({"mentions": [FOUND[0], [[1, 5, 1], [1, 1, 3]], FOUND[2]]}, "mentions[1][0] must have 0 <= first <= last"),
    ({"sentence_lengths": [4]}, "sentence_lengths must have one entry"),
]


@pytest.mark.parametrize(("changes", "rule"), BAD_WINDOWS)
def test_bad_windows_are_rejected_with_a_reason(changes: Any, rule: str) -> None:
    with pytest.raises(ParameterError, match=f"^{re.escape(rule)}"):
        corpipe(**changes)


# --- e2e-coref and AllenNLP ------------------------------------------------------------------------------------


SPANS = np.array([[0, 0], [2, 3], [5, 5], [7, 9]])  # first and last token


def coarse_to_fine(mask: float, dtype: str = "float32") -> tuple[Any, Any]:
    """Layout of coarse-to-fine pruning: unsorted, rows near the beginning filled up with masked later spans."""
    scores = np.array([[0, mask, mask], [0, mask, 1.5], [0, 0.5, -0.5], [0, 2.0, -1.0]], dtype)
    return np.array([[3, 1], [2, 0], [1, 0], [2, 0]], np.int32), scores


LINKS = {(1, 0): 1.5, (2, 0): -0.5, (2, 1): 0.5, (3, 0): -1.0, (3, 2): 2.0}


@pytest.mark.parametrize(
    ("mask", "dtype"),
    [
        (-INF, "float32"),  # e2e-coref, c2f, coref-hoi: the logarithm of a mask
        (float(np.finfo("float32").min), "float32"),  # AllenNLP: min_value_of_dtype
        (float(np.finfo("float16").min), "float16"),  # the same at half precision
        (float(np.finfo("float64").min), "float64"),
        (-10000.0, "float32"),
        (-10000.0, "float16"),
    ],
)
def test_masked_candidates_are_left_out(mask: float, dtype: str) -> None:
    antecedents, scores = coarse_to_fine(mask, dtype)
    document = from_e2e(SPANS, antecedents, scores, doc_id="a")
    assert links(document) == LINKS
    assert document.mentions.tolist() == [[0, 1, 0], [2, 4, 3], [5, 6, 5], [7, 10, 9]]


def test_pruning_by_distance_repeats_the_first_span_behind_its_masks() -> None:
    antecedents = np.array([[0, 0], [0, 0], [1, 0], [2, 1]])  # max(i - 1 - c, 0)
    scores = np.array([[0, -INF, -INF], [0, 1.5, -INF], [0, 0.5, -0.5], [0, 2.0, -1.0]])
    document = from_e2e(SPANS, antecedents, scores, doc_id="a")
    assert links(document) == {(1, 0): 1.5, (2, 0): -0.5, (2, 1): 0.5, (3, 1): -1.0, (3, 2): 2.0}


def test_of_spans_that_begin_together_the_longest_comes_first_here_and_last_there() -> None:
    spans = np.array([[0, 0], [2, 2], [2, 3], [7, 9]])
    antecedents, scores = coarse_to_fine(-INF)
    document = from_e2e(spans, antecedents, scores, doc_id="a")
    assert document.mentions.tolist() == [[0, 1, 0], [2, 4, 3], [2, 3, 2], [7, 10, 9]]
    # rows 1 and 2 change places; 2 -> 1 is turned round
    assert links(document) == {(2, 0): 1.5, (1, 0): -0.5, (3, 0): -1.0, (3, 1): 2.0}
    assert document.metadata["adapter"]["links_reversed"] == 1


def test_a_repeated_span_is_padding() -> None:
    spans = np.array([[0, 0], [2, 3], [5, 5], [0, 0]])
    antecedents, scores = coarse_to_fine(-INF)
    document = from_e2e(spans, antecedents, scores, doc_id="a")
    assert links(document) == {(1, 0): 1.5, (2, 0): -0.5, (2, 1): 0.5}
    assert document.metadata["adapter"]["rows_without_span"] == 1


def test_word_pieces_become_whole_tokens() -> None:
    antecedents, scores = coarse_to_fine(-INF)
    pieces = [0, 0, 1, 1, 2, 3, 3, 4, 5, 6]  # spans [0,0], [2,3], [5,5], [7,9] of pieces
    document = from_e2e(SPANS, antecedents, scores, doc_id="a", piece_tokens=pieces)
    assert document.mentions[:, :2].tolist() == [[0, 1], [1, 2], [3, 4], [4, 7]]


A, S = coarse_to_fine(-INF)
BAD = [
    ((SPANS[:3], A, S), {}, "scores and antecedents must have one row per span (3), got 4 and 4"),
    ((SPANS, A, S[:, 1:]), {}, "scores must have 1 more columns than antecedents, in front, for NEW, got 2 and 2"),
    ((SPANS, A, np.where(S == 0, -1e4, S)), {}, "scores[0] must begin with the score of NEW, got -10000.0"),
    ((SPANS[:, :1], A, S), {}, "spans must have 2 columns, got shape (4, 1)"),
    ((SPANS, A, S), {"piece_tokens": [0, 1, 0]}, "piece_tokens[2] must not decrease, got 0 after 1"),
    ((SPANS, A, S), {"piece_tokens": [0, 1, 2, 3]}, "spans[2][0] must be a word piece (0 to 3), got 5"),
]


@pytest.mark.parametrize(("arrays", "options", "words"), BAD)
def test_bad_input_is_rejected_with_a_reason(arrays: Any, options: Any, words: str) -> None:
    with pytest.raises(ParameterError) as caught:
        from_e2e(*arrays, doc_id="a", **options)
    assert str(caught.value) == words
