"""The studies of taggers: corpora are read as they are, splits do not share documents, and measures are right."""

from __future__ import annotations

import importlib
import re
import zipfile
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from places import PROJECT
from strategies.tagged import random_sentences

from corefsample.calibration import calibration_error
from corefsample.tagging import HiddenMarkovModel, TaggedSentence
from events import EventCounter, simulate_documents
from events.counting import evaluate_predicate

pytestmark = pytest.mark.skipif(
    not (PROJECT / "benchmarks").exists(), reason="the studies are beside the sources alone"
)


def module(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(PROJECT / "benchmarks"))
    return importlib.import_module(f"tagger_studies.{name}")


@pytest.fixture
def corpora(monkeypatch: pytest.MonkeyPatch) -> Any:
    return module("corpora", monkeypatch)


@pytest.fixture
def results(monkeypatch: pytest.MonkeyPatch) -> Any:
    return module("results", monkeypatch)


# --- readers, on files written here ------------------------------------------------------------------------

TREES = """
( (S (NP-SBJ (DT The) (NN cat) ) (VP (VBD slept) (NP (-NONE- *T*-1) )) (. .) ))
( (NP (NNP Tom) ))
"""


def test_trees_are_sentences_without_empty_elements(
    corpora: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corpora, "WSJ", tmp_path / "treebank.zip")
    with zipfile.ZipFile(tmp_path / "treebank.zip", "w") as archive:
        archive.writestr("treebank/combined/wsj_0002.mrg", "( (NP (NN End) ))")
        archive.writestr("treebank/combined/wsj_0001.mrg", TREES)
        archive.writestr("treebank/README", "(not a tree)")
    assert corpora.wsj_sentences() == [
        TaggedSentence(("The", "cat", "slept", "."), ("DT", "NN", "VBD", "."), "wsj_0001"),
        TaggedSentence(("Tom",), ("NNP",), "wsj_0001"),
        TaggedSentence(("End",), ("NN",), "wsj_0002"),
    ]


def test_a_split_shares_no_document_and_loses_no_sentence(corpora: Any) -> None:
    sentences = random_sentences(60)
    split = corpora.split_by_document(sentences)
    parts = [{each.doc_id for each in part} for part in (split.train, split.dev, split.test)]
    assert sorted(map(len, parts)) == [4, 4, 12]
    assert len(set.union(*parts)) == 20
    assert len(split.train) + len(split.dev) + len(split.test) == 60


# --- measures ----------------------------------------------------------------------------------------------


def measured(results: Any, **options: Any) -> Any:
    sentences = random_sentences(300)
    return results.measured(HiddenMarkovModel(**options).fit(sentences[:100]), sentences[100:])


def test_errors_of_all_documents_are_the_calibration_error(results: Any) -> None:
    found = measured(results)
    blocks = results.blocks_of(found.pairs, 100)
    direct = calibration_error(found.pairs.q, found.pairs.y, bin_size=100, interval=None).estimate
    assert results.errors(blocks, np.ones((1, blocks.n_blocks)))[0] == pytest.approx(direct, rel=1e-12)


def test_errors_of_a_resample_are_those_of_its_pairs(results: Any) -> None:
    found = measured(results)
    blocks = results.blocks_of(found.pairs, 100)
    weights = np.zeros((1, blocks.n_blocks))
    weights[0, [0, 3]] = 2, 1
    # Plain loops over the pairs of document 0, twice, and 3, once, in the bins of all pairs.
    ends = blocks.bins.q_max
    sums = np.zeros((2, ends.size))
    for q, y, document in zip(found.pairs.q, found.pairs.y, found.pairs.documents, strict=True):
        sums[:, np.searchsorted(ends, q)] += weights[0, document] * np.array([1.0, q - y])
    filled = sums[0] > 0
    expected = np.sqrt(np.sum(sums[1, filled] ** 2 / sums[0, filled]) / sums[0].sum())
    assert results.errors(blocks, weights)[0] == pytest.approx(expected, rel=1e-12)


def test_a_smoothed_model_has_the_larger_error_and_its_difference_is_decided(results: Any) -> None:
    smooth, sharp = (results.blocks_of(measured(results, pseudocount=c).pairs, 100) for c in (1000.0, 2.0))
    estimate, ends = results.difference(sharp, smooth)
    assert ends[0] < estimate < ends[1] < 0.0
    assert results.holds(ends, True) == "holds"
    assert results.holds(ends, False) == "does not hold"
    assert results.holds((-1.0, 1.0), True) == "not decided"


def test_a_ratio_of_squared_errors_is_the_square_of_the_ratio_and_is_compared_with_a_half(results: Any) -> None:
    def blocks(residual: float) -> Any:
        """100 documents; half of the labels of each are 1, and all its predictions are off by the same amount."""
        q, y, documents = np.full(400, 0.5 + residual), np.tile([0, 1], 200), np.repeat(np.arange(100), 4)
        return results.blocks_of(SimpleNamespace(n=400, q=q, y=y, documents=documents), 400)

    for residual, expected, found in ((0.07, "0.490", "holds"), (0.05, "0.250", "does not hold")):
        text, about_half = results.squared_ratio(blocks(residual), blocks(0.1))
        assert text.split()[0] == expected
        assert about_half == found


def test_refinement_is_that_of_the_brier_score(results: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    newswire = module("thesis_newswire", monkeypatch)
    q = np.array([0.1, 0.2, 0.3, 0.7, 0.8, 0.9])
    y, documents = np.array([0, 1, 0, 1, 1, 1]), np.array([0, 0, 1, 1, 2, 2])
    blocks = results.blocks_of(SimpleNamespace(n=6, q=q, y=y, documents=documents), 3)
    # Two bins with shares 1/3 and 1; with the first document twice: 2 of 5 and 1.
    found = newswire.refinements(blocks, np.array([[1.0, 1.0, 1.0], [2.0, 1.0, 1.0]]))
    np.testing.assert_allclose(found, [3 * (1 / 3) * (2 / 3) / 6, 5 * (2 / 5) * (3 / 5) / 8])


def test_a_balanced_tagset_has_as_many_words_of_each_tag(monkeypatch: pytest.MonkeyPatch) -> None:
    groups = module("tag_groups", monkeypatch)
    monkeypatch.setattr(groups, "N_BALANCED", 2)
    probs = np.full((6, 3), 1 / 3)
    parts = [(probs, np.array([0, 0, 0, 0, 1, 2]), "a"), (probs, np.array([1, 1, 0, 0, -1, 2]), "b")]
    kept = groups.equal(parts)
    gold = np.concatenate([own for _, own, _ in kept])
    assert np.bincount(gold).tolist() == [3, 3]
    assert [len(p) for p, _, _ in kept] == [len(own) for _, own, _ in kept]
    scores = groups.flat(kept)
    assert scores.q.size == 3 * 6
    assert scores.y.sum() == 6
    assert scores.top.sum() == 6


def test_an_entity_fulfils_the_question_where_the_document_has_the_event(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    predicate = module("simulated_claims", monkeypatch).NumberOfEntities()
    by_rule = EventCounter(predicate.rule, predicate.lexicon, n_samples=50)
    n_events = 0
    for each in simulate_documents(15, event_share=1.0, median_mentions=40, seed=3):
        events = by_rule.add(each.document)
        numbers = evaluate_predicate(each.document, predicate, n_samples=50)
        found = dict(zip(numbers.keys, numbers.hits.tolist(), strict=True))
        expected = {} if events is None else dict(zip(events.keys, events.hits.tolist(), strict=True))
        assert {key: row for key, row in found.items() if any(row)} == {
            k: row for k, row in expected.items() if any(row)
        }
        n_events += len(expected)
    assert n_events > 10


# --- commands of the page --------------------------------------------------------------------------------------

STUDIES_PAGE = PROJECT / "docs" / "tagging-studies.md"


def test_every_command_of_the_page_is_a_study(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(PROJECT / "benchmarks"))
    from tagger_studies import STUDIES

    (commands,) = re.findall(r"```sh\n(.*?)```", STUDIES_PAGE.read_text(encoding="utf-8"), flags=re.S)
    assert re.findall(r"studies\.py (\S+)", commands) == list(STUDIES)
