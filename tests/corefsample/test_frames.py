"""Tables of results: one row an observation, the numbers those of the object; and their descriptions."""

import importlib
import pkgutil
import re

import numpy as np
import pytest
from hypothesis import given
from strategies.documents import Lists, antecedent_lists

import corefsample
import corefsample as cs
from corefsample.calibration import calibration_error
from corefsample.documents._annotated import AnnotatedDocument
from corefsample.documents._batch import DocumentBatch
from corefsample.documents._tokens import Tokens
from corefsample.summaries import document_links, entity_count_posterior
from corefsample.tagging import LinearChain


@given(antecedent_lists())
def test_every_candidate_has_a_row_and_every_mention_one_of_new(lists: Lists) -> None:
    distribution = cs.AntecedentDistribution.from_lists(*lists)
    table = distribution.to_frame()
    rows = list(zip(table["mention"], table["antecedent"], table["score"], table["probability"], strict=True))
    expected = []
    for i in range(distribution.n_mentions):
        choices = sorted(zip(lists.antecedents[i], lists.scores[i], strict=True))
        for (k, score), p in zip(choices, distribution.row(i)[1].tolist(), strict=True):
            expected.append((i, k, score, p))
        expected.append((i, -1, 0.0, distribution.new_probs[i]))
    assert rows == expected


def document(gold: list[int | str | None] | None, with_tokens: bool) -> cs.ScoredDocument:
    words = ["The", "army", "it"]
    tokens = Tokens(words, words, ["X"] * 3, ["x"] * 3, [1, -1, 1], [0, 0, 0], {"xpos": ["a", "b", "c"]})
    antecedents = cs.AntecedentDistribution.from_lists([[], [0]], [[], [0.0]])
    spans = np.array([[0, 2, 1], [2, 3, 2]])
    return cs.ScoredDocument("d", spans, antecedents, tokens=tokens if with_tokens else None, gold=gold)


def test_a_document_has_a_row_a_mention() -> None:
    table = document([1, "1"], True).to_frame()
    assert list(table.columns) == ["doc_id", "mention", "start", "end", "head", "new_prob", "text", "gold"]
    assert table.iloc[0].tolist() == ["d", 0, 0, 2, 1, 1.0, "The army", 1]
    assert table.iloc[1].tolist() == ["d", 1, 2, 3, 2, 0.5, "it", "1"]
    assert document([None, 2], False).to_frame()["gold"].tolist() == [None, 2]
    assert list(document(None, False).to_frame().columns) == ["doc_id", "mention", "start", "end", "head", "new_prob"]


def results() -> list[object]:
    made = document([1, 1], True)
    samples, error = (
        cs.sample_clusterings(made.antecedents, n_samples=9),
        calibration_error([0.1, 0.9], [0, 1], n_bins=1),
    )
    posterior, scores = cs.metric_posterior([1, 1], samples), cs.clustering_scores([1, 1], [1, 1])
    scored = [scores, posterior, error, error.bins]
    summaries = [document_links(made), entity_count_posterior(made)]
    documents = [made, made.tokens, AnnotatedDocument.from_scored(made), DocumentBatch.of([made])]
    chain = LinearChain.from_scores([[0.0, 0.0]], np.zeros((2, 2)))
    distributions = [made.antecedents, samples, chain]
    return [*documents, *distributions, *scored, *summaries, cs.Recalibration(2.0)]


@pytest.mark.parametrize("result", results(), ids=lambda result: type(result).__name__)
def test_a_result_is_described_in_a_few_lines_and_shown_in_a_notebook(result: object) -> None:
    assert repr(result).startswith(f"{type(result).__name__}(")
    assert len(repr(result).splitlines()) <= 5
    if isinstance(result, cs.Recalibration | type(DocumentBatch.of([]))):  # no table
        return
    text = result._repr_html_()  # type: ignore[attr-defined]
    tags = re.findall(r"<(/?)(\w+)", text)
    opened = [name for slash, name in tags if not slash and name != "br"]
    assert sorted(opened) == sorted(name for slash, name in tags if slash)
    assert text.count("<tr") <= 12  # a head, and ten rows


def test_results_show_four_digits() -> None:
    q = np.linspace(0.01, 0.99, 60)
    shown = repr(calibration_error(q, q > 0.456789, bin_size=10))
    assert "estimate=0." in shown
    assert max(len(digits) for digits in re.findall(r"0\.0*([1-9]\d*)", shown)) <= 4


def test_every_result_with_a_table_is_shown_in_a_notebook() -> None:
    found = set()
    for module in pkgutil.walk_packages(corefsample.__path__, "corefsample."):
        if "spacy_bridge" not in module.name:
            for value in vars(importlib.import_module(module.name)).values():
                if isinstance(value, type) and hasattr(value, "to_frame") and not hasattr(value, "_repr_html_"):
                    found.add(f"{value.__module__}.{value.__name__}")
    assert {name for name in found if name.startswith("corefsample.")} == set()
