"""fastcoref's CorefResult: NEW in the last column, masks of -10000, spans of word pieces by way of characters."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from spacy_stubs import stub_doc

from corefsample import ParameterError, Tokens, map_clustering
from corefsample.adapters import from_fastcoref

TEXT = "Ann saw Bob. She left."
OFFSETS = [(0, 3), (4, 7), (8, 11), (11, 12), (13, 16), (17, 21), (21, 22)]
Key = tuple[int, int]


@dataclass
class CorefResult:
    """The attributes of fastcoref 2.1.6's class of that name that are read."""

    text: Any
    coref_logit: Any
    char_map: dict[Key, tuple[int | None, Any]]
    clusters: list[Any] = field(default_factory=list)


def logits() -> np.ndarray[Any, np.dtype[np.float32]]:
    """Rows: [CLS] (pruning kept it), Ann, Bob, She, and padding. The mask adds -10000 and leaves the score in."""
    masked = np.full((5, 5), -10000.0, np.float32) + np.float32(3.5) * np.triu(np.ones((5, 5), np.float32))
    matrix = np.concatenate((masked, np.zeros((5, 1), np.float32)), axis=1)
    matrix[1, 0] = -1.0
    matrix[2, :2] = [-2.0, -3.0]
    matrix[3, :3] = [0.5, 4.0, 1.0]
    matrix[4, :] = [-10000.0] * 5 + [0.0]  # padding: every antecedent masked
    return matrix


def char_map() -> dict[Key, tuple[int | None, Any]]:
    """Keys are spans of word pieces (np.int64), values the row and the characters; None for what is no word."""
    piece = np.int64
    return {
        (piece(0), piece(0)): (None, None),
        (piece(1), piece(1)): (1, (0, 3)),
        (piece(3), piece(4)): (2, (8, 11)),
        (piece(6), piece(6)): (3, (13, 16)),
        (piece(11), piece(11)): (None, None),
    }


def result(**changes: Any) -> CorefResult:
    fields = {"text": TEXT, "coref_logit": logits(), "char_map": char_map()} | changes
    return CorefResult(**fields)


def test_the_last_column_is_new_and_rows_without_words_are_left_out() -> None:
    document = from_fastcoref(result(), offsets=OFFSETS, doc_id="a")
    assert document.mentions.tolist() == [[0, 1, 0], [2, 3, 2], [4, 5, 4]]
    assert document.antecedents.antecedents.tolist() == [0, 0, 1]
    assert document.antecedents.scores.tolist() == [-3.0, 4.0, 1.0]
    assert map_clustering(document.antecedents).tolist() == [0, 1, 0]
    # by hand: of row 1 the link to [CLS] had 1/(1+e), of row 2 e^-2/(1+e^-2+e^-3), of row 3 e^.5/(1+e^.5+e^4+e)
    e = math.exp
    parts = [1 / (1 + e(1)), e(-2) / (1 + e(-2) + e(-3)), e(0.5) / (1 + e(0.5) + e(4) + e(1))]
    summary = document.metadata["adapter"]
    assert summary["left_out_mass"] == pytest.approx(sum(parts), abs=1e-12)
    assert summary["largest_left_out_mass"] == pytest.approx(max(parts), abs=1e-12)
    assert (summary["rows_without_span"], summary["links_without_span"]) == (2, 3)


def test_scores_are_taken_relative_to_new() -> None:
    shifted = logits() + np.float32(2.0)
    plain = from_fastcoref(result(), offsets=OFFSETS, doc_id="a")
    moved = from_fastcoref(result(coref_logit=shifted), offsets=OFFSETS, doc_id="a")
    np.testing.assert_array_equal(moved.antecedents.scores, plain.antecedents.scores)


def test_words_instead_of_a_text_need_no_offsets() -> None:
    words = ["Ann", "saw", "Bob", ".", "She", "left", "."]
    by_word = {
        key: (row, span and {0: (0, 1), 8: (2, 3), 13: (4, 5)}[span[0]]) for key, (row, span) in char_map().items()
    }
    document = from_fastcoref(result(text=words, char_map=by_word), doc_id="a")
    assert document.mentions.tolist() == [[0, 1, 0], [2, 3, 2], [4, 5, 4]]
    blank = [""] * 7
    tokens = Tokens(["Anne", *words[1:]], blank, blank, blank, np.full(7, -1), np.zeros(7, int))
    with pytest.raises(ParameterError, match=r"^tokens must be the words fastcoref read \(\['Ann', .*got \['Anne'"):
        from_fastcoref(result(text=words, char_map=by_word), tokens, doc_id="a")


def test_a_span_that_begins_inside_a_token_is_rejected_widened_or_dropped() -> None:
    coarse = [(0, 3), (4, 7), (8, 12), (13, 16), (17, 22)]  # "Bob." is one token here
    with pytest.raises(
        ParameterError, match=r"^char_map span\[1\] must begin and end at token bounds, got characters 8 to 11 "
    ):
        from_fastcoref(result(), offsets=coarse, doc_id="a")
    widened = from_fastcoref(result(), offsets=coarse, doc_id="a", alignment="expand")
    assert widened.mentions.tolist() == [[0, 1, 0], [2, 3, 2], [3, 4, 3]]
    dropped = from_fastcoref(result(), offsets=coarse, doc_id="a", alignment="drop")
    assert dropped.mentions.tolist() == [[0, 1, 0], [3, 4, 3]]
    assert dropped.metadata["adapter"]["rows_without_span"] == 3


def test_heads_may_be_given_by_row() -> None:
    whole = char_map() | {(3, 4): (2, (4, 11))}  # "saw Bob"
    document = from_fastcoref(result(char_map=whole), offsets=OFFSETS, doc_id="a", heads=[0, 0, 1, 4, 0])
    assert document.mentions.tolist() == [[0, 1, 0], [1, 3, 1], [4, 5, 4]]


def test_a_spacy_doc_gives_offsets_tokens_and_parse() -> None:
    document = from_fastcoref(
        result(), stub_doc(TEXT, ["Ann", "saw", "Bob", ".", "She", "left", "."], [0] * 7, (0, 4)), doc_id="a"
    )
    assert document.mentions.tolist() == [[0, 1, 0], [2, 3, 2], [4, 5, 4]]
    assert document.tokens is not None
    assert document.tokens.head.tolist() == [-1, 0, 0, 0, 0, 0, 0]
    assert document.tokens.sent.tolist() == [0, 0, 0, 0, 1, 1, 1]
    assert document.mention_text(2) == "She"


SQUARE = np.zeros((5, 5), np.float32)
NO_NEW = logits()
NO_NEW[2, 5] = -np.inf
CASES = [
    ({"coref_logit": SQUARE}, {}, "coref_logit must have one column more"),
    ({"coref_logit": NO_NEW}, {}, "coref_logit[2] must"),
    ({"char_map": {(1, 1): (7, (0, 3))}}, {}, "char_map[(1, 1)] must"),
    ({}, {"alignment": "contract"}, "alignment must"),
    ({}, {"offsets": None}, "tokens must be a spaCy Doc, or come with offsets"),
    ({}, {"offsets": [(0, 3), (2, 7)]}, "offsets[1] must"),
    ({}, {"tokens": "Ann"}, "tokens must be a spaCy Doc or Tokens"),
    ({}, {"tokens": stub_doc("Eve", ["Eve"], [0])}, "tokens must be a Doc of the text"),
]


@pytest.mark.parametrize(("changes", "options", "rule"), CASES)
def test_bad_input_is_rejected_with_a_reason(changes: Any, options: Any, rule: str) -> None:
    with pytest.raises(ParameterError, match=f"^{re.escape(rule)}"):
        from_fastcoref(result(**changes), **({"offsets": OFFSETS, "doc_id": "a"} | options))


def test_objects_that_are_not_results_are_rejected() -> None:
    with pytest.raises(ParameterError, match="result must be a CorefResult of fastcoref, with coref_logit, got list"):
        from_fastcoref([result()], offsets=OFFSETS, doc_id="a")
