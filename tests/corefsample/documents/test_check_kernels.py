"""The compiled checks of documents, on small input, against plain Python."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corefsample._arrays import Ints32
from corefsample.documents import _check_kernels

pytestmark = pytest.mark.kernels

OK = 0


def ints32(values: list[int]) -> Ints32:
    return np.array(values, np.int32)


@pytest.mark.parametrize(
    ("mentions", "n_tokens", "code", "place"),
    [
        ([(0, 3, 1), (0, 1, 0), (0, 1, 0), (2, 3, 2)], 3, OK, 0),
        ([(0, 1, 0), (-1, 1, 0)], 3, _check_kernels.SPAN_NEGATIVE, 1),
        ([(1, 1, 1)], 3, _check_kernels.SPAN_EMPTY, 0),
        ([(2, 1, 1)], 3, _check_kernels.SPAN_EMPTY, 0),
        ([(1, 2, 0)], 3, _check_kernels.HEAD_OUTSIDE_SPAN, 0),
        ([(1, 2, 2)], 3, _check_kernels.HEAD_OUTSIDE_SPAN, 0),
        ([(0, 4, 0)], 3, _check_kernels.SPAN_PAST_TOKENS, 0),
        ([(0, 4, 0)], -1, OK, 0),  # the number of tokens is not known
        ([(1, 2, 1), (0, 1, 0)], 3, _check_kernels.SPAN_ORDER, 1),
        ([(0, 1, 0), (0, 2, 0)], 3, _check_kernels.SPAN_ORDER, 1),
    ],
)
def test_the_first_bad_mention_is_found(
    mentions: list[tuple[int, int, int]], n_tokens: int, code: int, place: int
) -> None:
    codes, places = np.zeros(1, np.int8), np.zeros(1, np.int64)
    starts, ends, heads = (ints32(list(column)) for column in zip(*mentions, strict=True))
    _check_kernels.check_mentions(
        np.array([0, len(mentions)]), starts, ends, heads, np.array([n_tokens]), codes, places
    )
    assert (codes[0], places[0]) == (code, place)


def has_cycle(heads: list[int]) -> bool:
    """Whether some token's path to the root is longer than the document."""
    for start in range(len(heads)):
        token = start
        for _ in heads:
            token = heads[token] if token >= 0 else -1
        if token >= 0:
            return True
    return False


@given(st.integers(1, 8).flatmap(lambda n: st.lists(st.integers(-1, n - 1), min_size=n, max_size=n)))
def test_cycles_of_heads_are_found_and_nothing_else(heads: list[int]) -> None:
    codes, places = np.zeros(1, np.int8), np.zeros(1, np.int64)
    sents = np.zeros(len(heads), np.int32)
    _check_kernels.check_parses(
        np.array([0, len(heads)]), ints32(heads), sents, np.empty(len(heads), np.int64), codes, places
    )
    if any(head == t for t, head in enumerate(heads)):
        assert codes[0] == _check_kernels.TOKEN_HEAD_SELF
    else:
        assert (codes[0] == _check_kernels.TOKEN_HEAD_CYCLE) == has_cycle(heads)


@pytest.mark.parametrize(
    ("sents", "code", "place"),
    [
        ([0, 0, 1, 3], OK, 0),
        ([1, 1, 1, 1], _check_kernels.SENT_NOT_FROM_ZERO, 0),
        ([-1, 0, 0, 0], _check_kernels.SENT_NOT_FROM_ZERO, 0),
        ([0, 1, 0, 1], _check_kernels.SENT_FALLS, 2),
    ],
)
def test_sentences_that_do_not_count_up_are_found(sents: list[int], code: int, place: int) -> None:
    codes, places = np.zeros(1, np.int8), np.zeros(1, np.int64)
    _check_kernels.check_parses(np.array([0, 4]), ints32([-1] * 4), ints32(sents), np.empty(4, np.int64), codes, places)
    assert (codes[0], places[0]) == (code, place)


def test_documents_without_mentions_or_tokens_break_no_rule() -> None:
    codes, places = np.zeros(2, np.int8), np.zeros(2, np.int64)
    bounds, nothing = np.zeros(3, np.int64), ints32([])
    _check_kernels.check_mentions(bounds, nothing, nothing, nothing, np.zeros(2, np.int64), codes, places)
    _check_kernels.check_parses(bounds, nothing, nothing, np.empty(0, np.int64), codes, places)
    assert codes.tolist() == [OK, OK]
