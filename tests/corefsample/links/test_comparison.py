"""Two scorers of the same documents compared by their link marginals."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np
import pytest
from expected_errors import error
from strategies.calibrated import calibrated_documents

from corefsample import InputError, ScoredDocument
from corefsample.calibration import paired_comparison
from corefsample.links import compare_links, scorer_links
from corefsample.links._pairs import link_pairs

N_MENTIONS = 8


def documents(sharpness: float = 1.0, n_documents: int = 12) -> Iterator[ScoredDocument]:
    return calibrated_documents(n_documents, N_MENTIONS, sharpness)


def test_the_comparison_is_that_of_all_pairs_and_ignores_the_order_of_documents() -> None:
    second = list(documents(3.0))
    both = [[link_pairs(each) for each in each_documents] for each_documents in (documents(), second)]
    q = [np.concatenate([pairs.q for pairs in each]) for each in both]
    y = np.concatenate([pairs.y for pairs in both[0]])
    names = np.concatenate([[pairs.doc_id] * pairs.n_pairs for pairs in both[0]])
    expected = paired_comparison(*q, y, names, bin_size=1, n_resamples=200)
    found = compare_links(scorer_links(documents()), scorer_links(reversed(second)), bin_size=1, n_resamples=200)
    for one, other in zip(found.differences, expected.differences, strict=True):
        if one.measure == "log score":  # the sums of the others are by fine bins
            assert dataclasses.astuple(one)[1:] == pytest.approx(dataclasses.astuple(other)[1:], rel=1e-9)
    assert (found.n_pairs, found.n_blocks) == (expected.n_pairs, expected.n_blocks)
    assert found.differences[1].lower > 0


def test_documents_without_gold_are_counted() -> None:
    bare = [dataclasses.replace(each, gold=None, doc_id=f"x{each.doc_id}") for each in documents()]
    links = scorer_links([*bare, *documents()])
    assert links.n_without_gold == 12
    assert compare_links(links, scorer_links(documents()), n_resamples=10).n_blocks == 12


def test_other_documents_mentions_or_gold_are_bad_input() -> None:
    links, own = scorer_links(documents()), list(documents())
    with pytest.raises(InputError, match=r"must be the same for both scorers, got doc_id 'd11' only for the first$"):
        compare_links(links, scorer_links(own[:-1]))
    with error(InputError):
        compare_links(scorer_links(own[:-1]), links)
    moved = dataclasses.replace(own[3], mentions=own[3].mentions + 1)
    other_gold = dataclasses.replace(own[3], gold=list(range(N_MENTIONS)))
    for changed in (moved, other_gold):
        other = scorer_links([*own[:3], changed, *own[4:]])
        with error(InputError, None, "doc_id 'd03'"):
            compare_links(links, other)


def test_names_of_gold_entities_do_not_matter() -> None:
    renamed = [dataclasses.replace(each, gold=[f"e{label}" for label in each.gold or ()]) for each in documents()]
    found = compare_links(scorer_links(documents()), scorer_links(renamed), n_resamples=10)
    assert all(each.difference == 0 for each in found.differences)


def test_a_single_document_cannot_be_compared() -> None:
    links = scorer_links(documents(n_documents=1))
    with pytest.raises(InputError, match="in each of at least 2 documents to compare scorers, got 1 such documents"):
        compare_links(links, links)
