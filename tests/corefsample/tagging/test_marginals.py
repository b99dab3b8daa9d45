"""Marginals of many sentences at once, against single chains and the enumeration of all tag sequences."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from expected_errors import error
from references.chains import enumeration

from corefsample import ParameterError
from corefsample.tagging import LinearChain, tag_marginals

Array = npt.NDArray[np.float64]
INF = float("inf")
ZERO = np.zeros((2, 2))

pytestmark = pytest.mark.kernels


def sentences(lengths: list[int], n_tags: int, scale: float = 2.0) -> tuple[list[Array], Array]:
    generator = np.random.default_rng(7)
    return [generator.normal(0.0, scale, (n, n_tags)) for n in lengths], generator.normal(0.0, scale, (n_tags, n_tags))


def require_single(unaries: list[Array], pairwise: Array) -> None:
    """The marginals are those of a chain of each sentence."""
    marginals = tag_marginals(unaries, pairwise)
    for unary, probs in zip(unaries, marginals, strict=True):
        np.testing.assert_allclose(probs, LinearChain.from_scores(unary, pairwise).marginals(), atol=1e-12, rtol=0.0)


@pytest.mark.parametrize("scale", [0.0, 2.0, 400.0])
def test_marginals_of_a_batch_are_those_of_the_enumeration(scale: float) -> None:
    unaries, pairwise = sentences([3, 1, 5, 4, 2, 5], 3, scale)
    for unary, probs in zip(unaries, tag_marginals(unaries, pairwise), strict=True):
        np.testing.assert_allclose(probs, enumeration(unary, pairwise).marginals(), atol=1e-10, rtol=0.0)


@pytest.mark.parametrize("n_tags", [1, 3, 4, 9])
@pytest.mark.parametrize("lengths", [[1], [2, 2], [5, 2, 8, 1, 1, 3, 20, 2, 11]])
def test_sentences_of_any_lengths_have_the_marginals_of_single_chains(lengths: list[int], n_tags: int) -> None:
    require_single(*sentences(lengths, n_tags))


def test_batches_join_in_the_order_of_sentences_and_marginals_stay_when_their_arrays_are_used_again() -> None:
    require_single(*sentences([500, 800, 2, 400, 130, 1, 1, 900, 770, 3], 4))  # a batch ends with 768 tokens
    require_single(*sentences([30, 9, 7, 30, 3], 5, 1e4))  # scores far apart


def test_a_sentence_whose_forward_weights_vanish_leaves_its_neighbours_alone() -> None:
    # Tag 0 leads by 1000 a token, so the weight of tag 1 is rounded to 0; the last token allows tag 1 only.
    unaries = [np.zeros((4, 2)), np.array([[0.0, -1000.0], [0.0, -1000.0], [-INF, 0.0]]), np.zeros((3, 2))]
    pairwise = np.array([[0.0, -INF], [-INF, 0.0]])
    require_single(unaries, pairwise)
    np.testing.assert_allclose(tag_marginals(unaries, pairwise)[1], np.tile([0.0, 1.0], (3, 1)), atol=1e-12)


def test_marginals_cannot_be_changed() -> None:
    assert tag_marginals([], ZERO) == []
    with pytest.raises(ValueError, match="read-only"):
        tag_marginals([ZERO], ZERO)[0][0] = 1.0


@pytest.mark.parametrize(
    ("unaries", "pairwise", "parameter", "place"),
    [
        ([ZERO, np.zeros((0, 2))], ZERO, "unaries[1]", None),
        ([ZERO], np.zeros((2, 3)), "unaries[0]", None),
        ([ZERO, [[0.0, 0.0], [0.0, np.nan]]], ZERO, "unaries[1][1, 1]", None),
        ([ZERO, [[0.0, INF]]], ZERO, "unaries[1][0, 1]", None),
        ([ZERO], [[0.0, INF], [0.0, 0.0]], "pairwise[0, 1]", None),
        ([ZERO, ZERO, [[0.0, 0.0], [-INF, -INF]]], ZERO, "scores", "unaries[2]"),
    ],
)
def test_a_sentence_that_breaks_a_rule_is_named(unaries: Any, pairwise: Any, parameter: str, place: str | None) -> None:
    with error(ParameterError, parameter, place):
        tag_marginals(unaries, pairwise)
