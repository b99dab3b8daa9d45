"""Arc scores in the layouts of graph-based parsers: arrays written by hand as each library's source describes them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from corefsample.adapters import (
    arcs_from_spacy_experimental,
    arcs_from_stanza,
    arcs_from_supar,
)
from corefsample.errors import ParameterError
from corefsample.trees import ArcDistribution

Array = npt.NDArray[np.float64]

# Three words; column 0 is the root, column k word k - 1. The best tree: word 1 is the root, 0 and 2 hang on it.
SCORES = np.array([[0.1, -np.inf, 2.0, 0.3], [3.0, 0.2, -np.inf, 0.4], [0.5, 0.6, 2.5, -np.inf]])
BEST = [1, -1, 1]


def padded(mask: float, diagonal: float) -> Array:
    """A row for the root in front, and two columns and rows of padding behind."""
    table = np.full((6, 6), mask)
    table[1:4, :4] = SCORES
    np.fill_diagonal(table, diagonal)
    table[0, :4], table[4:, :4] = 7.0, -3.0  # rows that are not words
    return table


def assert_is_expected(dist: ArcDistribution) -> None:
    expected = ArcDistribution.from_scores(SCORES)
    np.testing.assert_allclose(dist.marginals(), expected.marginals(), rtol=1e-5)
    assert dist.map().tolist() == BEST


def test_stanza_pads_without_a_mask() -> None:
    table = padded(1.5, -np.inf)  # padding has scores like words
    log_softmax = table - np.log(np.exp(table).sum(axis=1, keepdims=True))
    assert_is_expected(arcs_from_stanza(log_softmax.astype(np.float32), 3))
    assert_is_expected(arcs_from_stanza(log_softmax[None], 3))  # a batch of one


def test_supar_masks_by_a_huge_number_and_scores_words_as_their_own_heads() -> None:
    assert_is_expected(arcs_from_supar(padded(-1e32, 9.0), n_words=3))


def test_diaparser_masks_by_infinity() -> None:
    assert_is_expected(arcs_from_supar(padded(-np.inf, -np.inf), n_words=3))


def test_spacy_experimental_has_the_root_on_the_diagonal_and_sentences_below_each_other() -> None:
    heads = SCORES[:, 1:].copy()
    np.fill_diagonal(heads, SCORES[:, 0])
    rows = np.full((5, 4), -10000.0)
    rows[:2, :2] = [[1.0, 0.0], [2.0, 0.0]]
    rows[2:, :3] = heads
    first, second = arcs_from_spacy_experimental(rows, [2, 3])
    assert first.map().tolist() == [-1, 0]
    assert_is_expected(second)


def test_bad_shapes_raise_one_line() -> None:
    with pytest.raises(ParameterError, match=r"scores must be square, with at least n_words \+ 1 = 4 rows, got shape"):
        arcs_from_stanza(np.zeros((3, 3)), 3)
    with pytest.raises(ParameterError, match="s_arc must be of one document, in 2 dimensions, got shape"):
        arcs_from_supar(np.zeros((2, 4, 4)), n_words=3)
    table = np.zeros((4, 4))
    table[1, 2] = np.nan
    with pytest.raises(ParameterError, match=r"scores\[1\]\[2\] must be finite or a mask, got nan"):
        arcs_from_stanza(table, 3)
    with pytest.raises(ParameterError, match="lengths must be from 1 to 4 and add up to 5"):
        arcs_from_spacy_experimental(np.zeros((5, 4)), [2, 2])
    with pytest.raises(ParameterError, match="scores must allow a tree"):
        arcs_from_stanza(np.full((4, 4), -np.inf), 3)
