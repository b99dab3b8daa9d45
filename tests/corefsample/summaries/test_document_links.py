"""A document's links by entity, and the distribution of its number of entities, against enumeration and by hand."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from expected_errors import error
from hypothesis import given
from hypothesis import strategies as st
from references import coreference as references
from strategies.documents import Lists, antecedent_lists, mild_scores

from corefsample import AntecedentDistribution, ParameterError, ScoredDocument
from corefsample.documents._tokens import Tokens
from corefsample.summaries import document_links, entity_count_posterior


def scored(lists: Lists, gold: list[int | None] | None = None, words: list[str] | None = None) -> ScoredDocument:
    n = len(lists.antecedents)
    spans = np.array([[i, i + 1, i] for i in range(n)]).reshape(n, 3)
    tokens = None
    if words is not None:
        tokens = Tokens(words, words, ["X"] * n, ["x"] * n, np.full(n, -1), np.zeros(n, int))
    antecedents = AntecedentDistribution.from_lists(*lists)
    return ScoredDocument("doc", spans, antecedents, tokens=tokens, gold=gold)


# Likeliest antecedents: 2 -> 0, 3 -> 1, 4 NEW. Gold: {0, 4}, {1, 3}, 2 not annotated.
EXAMPLE = Lists([[], [], [0], [1], [0]], [[], [], [3.0], [2.0], [-0.5]])
GOLD: list[int | None] = [7, 8, None, 8, 7]


def test_mentions_are_sorted_by_entity() -> None:
    links = document_links(scored(EXAMPLE, words=list("abcde")))
    assert links.mentions.tolist() == [0, 2, 1, 3, 4]
    assert links.entities.tolist() == [0, 0, 1, 1, 2]
    assert links.texts == ("a", "c", "b", "d", "e")
    assert links.bounds.tolist() == [0, 2, 4, 5]
    assert links.source == "map"


def test_mentions_can_be_sorted_by_gold_which_leaves_out_unannotated_ones() -> None:
    links = document_links(scored(EXAMPLE, GOLD), by="gold")
    assert links.mentions.tolist() == [0, 4, 1, 3]
    assert links.texts == ("mention 0", "mention 4", "mention 1", "mention 3")
    single = document_links(scored(EXAMPLE, GOLD), by="gold", unannotated="single")
    assert single.mentions.tolist() == [0, 4, 1, 3, 2]
    assert single.entities.tolist() == [0, 0, 1, 1, 2]


def test_small_entities_can_be_left_out() -> None:
    assert document_links(scored(EXAMPLE), smallest=2).mentions.tolist() == [0, 2, 1, 3]
    nothing = document_links(scored(EXAMPLE), smallest=3)
    assert (nothing.n_mentions, nothing.bounds.tolist(), len(nothing.to_frame())) == (0, [0], 0)


@given(antecedent_lists(max_mentions=5, scores=mild_scores), st.integers(1, 3))
def test_each_link_has_its_exact_probability(lists: Lists, smallest: int) -> None:
    clusterings = references.clustering_probs(references.softmax_rows(*lists))
    exact = references.link_marginals(clusterings, len(lists.antecedents))
    links = document_links(scored(lists), smallest=smallest)
    for a, first in enumerate(links.mentions.tolist()):
        for b, second in enumerate(links.mentions.tolist()):
            assert links.marginals[a, b] == pytest.approx(exact[first, second], abs=1e-12)
    table = links.to_frame()
    assert len(table) == links.n_mentions * (links.n_mentions - 1) // 2
    assert (table["first"] < table["second"]).all()
    for row in table.itertuples():
        assert row.probability == pytest.approx(exact[row.first, row.second], abs=1e-12)
        assert (row.first_text, row.second_text) == (f"mention {row.first}", f"mention {row.second}")


def test_the_table_has_the_entity_of_each_mention() -> None:
    table = document_links(scored(EXAMPLE)).to_frame().set_index(["first", "second"])
    assert table.loc[(0, 2), ["first_entity", "second_entity"]].tolist() == [0, 0]
    assert table.loc[(1, 2), ["first_entity", "second_entity"]].tolist() == [1, 0]
    assert len(table) == 10


@pytest.mark.parametrize(
    ("parameter", "call"),
    [
        ("by", lambda: document_links(scored(EXAMPLE), by="truth")),  # type: ignore[arg-type]
        ("smallest", lambda: document_links(scored(EXAMPLE), smallest=0)),
        ("unannotated", lambda: entity_count_posterior(scored(EXAMPLE, GOLD), unannotated="drop")),  # type: ignore[arg-type]
    ],
)
def test_invalid_options_raise(parameter: str, call: Callable[[], object]) -> None:
    with error(ParameterError, parameter):
        call()


def test_gold_that_is_missing_is_named() -> None:
    with pytest.raises(ParameterError, match="doc_id 'doc': gold is missing"):
        document_links(scored(EXAMPLE), by="gold")


@given(antecedent_lists(max_mentions=5, scores=mild_scores))
def test_the_number_of_entities_is_distributed_as_in_all_clusterings(lists: Lists) -> None:
    n = len(lists.antecedents)
    exact = references.entity_count_pmf(references.clustering_probs(references.softmax_rows(*lists)), n)
    posterior = entity_count_posterior(scored(lists))
    np.testing.assert_allclose(posterior.pmf, exact, atol=1e-12)
    counts = np.arange(n + 1)
    assert posterior.mean == pytest.approx(float(counts @ exact), abs=1e-9)
    assert posterior.sd == pytest.approx(float(np.sqrt(max(0.0, (counts - posterior.mean) ** 2 @ exact))), abs=1e-6)
    assert posterior.n_mentions == n
    assert posterior.to_frame()["probability"].tolist() == posterior.pmf.tolist()
    assert posterior.to_frame()["n_entities"].tolist() == counts.tolist()


def test_entities_of_single_clusterings_are_counted() -> None:
    assert entity_count_posterior(scored(EXAMPLE)).map_count == 3
    assert entity_count_posterior(scored(EXAMPLE)).gold_count is None
    assert entity_count_posterior(scored(EXAMPLE, GOLD)).gold_count is None  # the entity of 2 is unknown
    assert entity_count_posterior(scored(EXAMPLE, GOLD), unannotated="single").gold_count == 3
    assert entity_count_posterior(scored(EXAMPLE, [7, 8, 7, 8, 7])).gold_count == 2
