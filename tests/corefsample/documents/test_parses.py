"""Documents with several parses as Python objects, and the draws of their parses."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import tolerance
from expected_errors import error
from hypothesis import given
from hypothesis import strategies as st
from references import parses as references

from corefsample import AntecedentDistribution, ParameterError, ScoredDocument
from corefsample.documents import Parse, sample_parses
from corefsample.documents._tokens import Tokens

weights = st.lists(st.integers(0, 9), min_size=1, max_size=5).filter(any)


def tokens(*words: str) -> Tokens:
    n = len(words)
    return Tokens(words, words, ["NOUN"] * n, ["dep"] * n, np.full(n, -1), np.zeros(n, int))


def parse(weight: float, *words: str) -> Parse:
    none = AntecedentDistribution.from_lists([[]], [[]])
    return Parse(weight, tokens(*words), [[0, 1, 0]], none)  # type: ignore[arg-type]


# --- draws -------------------------------------------------------------------------------------------------


@given(weights, st.integers(0, 2**64 - 1), st.text(max_size=4))
def test_the_draws_are_those_of_the_definition(given_weights: list[int], seed: int, doc_id: str) -> None:
    drawn = sample_parses(given_weights, n_samples=200, seed=seed, doc_id=doc_id)
    expected = references.sample_parses(given_weights, 200, seed, doc_id)
    # A draw within rounding of the border of two parses may be of either; none of 200 should be.
    assert drawn.tolist() == expected


@given(weights, st.integers(0, 2**64 - 1))
def test_the_first_draws_do_not_depend_on_their_number(given_weights: list[int], seed: int) -> None:
    many = sample_parses(given_weights, n_samples=300, seed=seed)
    assert many[:100].tolist() == sample_parses(given_weights, n_samples=100, seed=seed).tolist()


@given(weights, st.integers(0, 2**64 - 1))
def test_shares_are_closer_to_the_weights_than_those_of_independent_draws(given_weights: list[int], seed: int) -> None:
    # The discrepancy of n points of a golden sequence is below (3 + log(n) / log(phi) + 2) / n (Niederreiter 1992,
    # theorem 3.3 with all partial quotients 1); the share of an interval differs from its length by that at most.
    n = 1000
    shares = np.bincount(sample_parses(given_weights, n_samples=n, seed=seed), minlength=len(given_weights)) / n
    bound = (5 + np.log(n) / np.log((1 + 5**0.5) / 2)) / n
    assert np.abs(shares - np.array(given_weights) / sum(given_weights)).max() <= bound
    assert not shares[np.array(given_weights) == 0].any()


@pytest.mark.parametrize("sample", [0, 7])
def test_each_sample_alone_has_the_probabilities_of_the_weights(sample: int) -> None:
    n = 20_000
    drawn = Counter(
        int(sample_parses([5, 0, 3, 2], n_samples=sample + 1, doc_id=str(document))[sample]) for document in range(n)
    )
    assert tolerance.plausible_counts([drawn[k] for k in range(4)], n, [0.5, 0.0, 0.3, 0.2]).all()


@pytest.mark.parametrize("bad", [[], [0, 0], [1, -1], [np.nan, 1], [np.inf]])
def test_weights_that_are_no_probabilities_are_rejected(bad: list[float]) -> None:
    with error(ParameterError, "weights"):
        sample_parses(bad)


# --- documents ---------------------------------------------------------------------------------------------


def test_a_document_has_the_fields_of_its_first_parse() -> None:
    first, other = parse(0, "a", "b"), parse(2, "a", "b")
    document = ScoredDocument.of_parses("d", [first, other], metadata={"source": "x"})
    assert (document.n_parses, document.parses) == (2, (first, other))
    assert document.antecedents is first.antecedents
    assert document.tokens is first.tokens
    assert document.with_parse(1).antecedents is other.antecedents
    assert document.with_parse(1).parses == ()
    assert document.with_parse(1).metadata == {"source": "x"}
    assert "2 parses" in repr(document)


def test_one_parse_makes_a_document_like_any_other() -> None:
    document = ScoredDocument.of_parses("d", [parse(3, "a")])
    assert (document.parses, document.n_parses) == ((), 1)
    assert document.with_parse(0) is document


@pytest.mark.parametrize("weight", [-1, np.nan, np.inf, "1", None, True])
def test_a_weight_is_a_finite_number(weight: float) -> None:
    with pytest.raises(ParameterError, match="weight must be a finite number of at least 0, got"):
        parse(weight, "a")


def test_parses_that_do_not_fit_together_are_rejected() -> None:
    first = parse(1, "a", "b")
    with error(ParameterError, "parses"):
        ScoredDocument.of_parses("d", [])
    with pytest.raises(ParameterError, match="parses must have a weight above 0, got 0 for all"):
        ScoredDocument.of_parses("d", [parse(0, "a"), parse(0, "a")])
    with pytest.raises(ParameterError, match=r"parses\[1\].tokens must have the words of parses\[0\] \(2\), got 1"):
        ScoredDocument.of_parses("d", [first, parse(1, "a")])
    with pytest.raises(ParameterError, match=r"parses\[1\].tokens.text\[1\] must be that of parses\[0\] \('b'\)"):
        ScoredDocument.of_parses("d", [first, parse(1, "a", "c")])
    with pytest.raises(ParameterError, match=r"parses\[0\] must have the tokens, mentions and antecedents"):
        ScoredDocument("d", first.mentions, parse(1, "a", "b").antecedents, tokens=first.tokens, parses=(first, first))
    with error(ParameterError, "parse"):
        ScoredDocument.of_parses("d", [first]).with_parse(1)
