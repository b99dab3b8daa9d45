"""e2e-coref and AllenNLP: the dummy first, spans with their last token, top antecedents behind masks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from corefsample import ParameterError
from corefsample.adapters import from_e2e

INF = np.inf
SPANS = np.array([[0, 0], [2, 3], [5, 5], [7, 9]])  # first and last token


def coarse_to_fine(mask: float, dtype: str = "float32") -> tuple[Any, Any]:
    """Layout of coarse-to-fine pruning: unsorted, rows near the beginning filled up with masked later spans."""
    scores = np.array([[0, mask, mask], [0, mask, 1.5], [0, 0.5, -0.5], [0, 2.0, -1.0]], dtype)
    return np.array([[3, 1], [2, 0], [1, 0], [2, 0]], np.int32), scores


EXPECTED = {(1, 0): 1.5, (2, 0): -0.5, (2, 1): 0.5, (3, 0): -1.0, (3, 2): 2.0}


def links(document: Any) -> dict[tuple[int, int], float]:
    given = document.antecedents
    rows = np.repeat(np.arange(given.n_mentions), np.diff(given.indptr))
    return dict(zip(zip(rows.tolist(), given.antecedents.tolist(), strict=True), given.scores.tolist(), strict=True))


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
    assert links(document) == EXPECTED
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
    ((SPANS, A, S[:, 1:]), {}, "scores must have 1 more column than antecedents, in front, for NEW, got 2 and 2"),
    ((SPANS, A, np.where(S == 0, -1e4, S)), {}, "scores[0] must begin with the score of NEW, got -10000.0"),
    ((SPANS[:, :1], A, S), {}, "spans must have 2 columns, got shape (4, 1)"),
    ((SPANS, A, S), {"heads": [0]}, "heads must have one token per span (4), got 1"),
    ((SPANS, A, S), {"piece_tokens": [0, 1, 0]}, "piece_tokens[2] must not decrease, got 0 after 1"),
    ((SPANS, A, S), {"piece_tokens": [0, 1, 2, 3]}, "spans[2][0] must be a word piece (0 to 3), got 5"),
]


@pytest.mark.parametrize(("arrays", "options", "words"), BAD)
def test_bad_input_is_rejected_with_a_reason(arrays: Any, options: Any, words: str) -> None:
    with pytest.raises(ParameterError) as caught:
        from_e2e(*arrays, doc_id="a", **options)
    assert str(caught.value) == words
