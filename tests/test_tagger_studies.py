"""The studies of taggers: corpora are read as they are, splits do not share documents, and measures are right."""

from __future__ import annotations

import gzip
import importlib
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from places import PROJECT, SHARED
from strategies.tagged import random_sentences

from corefsample.calibration import calibration_error
from corefsample.tagging import HiddenMarkovModel, TaggedSentence

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


def test_trees_become_sentences_without_empty_elements(
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


def test_masc_is_read_by_category_with_the_brackets_of_the_treebank(
    corpora: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corpora, "MASC", tmp_path / "masc.zip")
    with zipfile.ZipFile(tmp_path / "masc.zip", "w") as archive:
        archive.writestr(
            "masc_tagged/categories.txt", "written/a.txt newspaper\nwritten/wsj_1.txt newspaper\nb.txt blog\n"
        )
        archive.writestr("masc_tagged/written/a.txt", "\nsnake_case_NN (_( no-tag _X\n\n")
        archive.writestr("masc_tagged/written/wsj_1.txt", "one_CD\n")
        archive.writestr("masc_tagged/b.txt", "oh_UH !_.\n")
    first = TaggedSentence(("snake_case", "-LRB-"), ("NN", "-LRB-"), "newspaper/a")
    assert corpora.newspapers_beside_wsj() == [first]
    assert [each.doc_id for each in corpora.masc_sentences()] == ["newspaper/a", "newspaper/wsj_1", "blog/b"]
    assert corpora.masc_sentences("blog")[0].tags == ("UH", ".")


def test_tweets_and_sparse_tags_are_read(corpora: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpora, "TWEETS", tmp_path)
    monkeypatch.setattr(corpora, "GUM", tmp_path)
    row = "{}\t{}\t_\t{}\tX\t{}\t0\t{}\t_\t_"
    lines = ["# newdoc id = d1", row.format(1, "dogs", "NOUN", "Number=Plur", "nsubj"), "2-3\tdon't" + "\t_" * 8]
    lines += [
        row.format(2, "do", "AUX", "_", "aux"),
        "",
        "# newdoc id = d2",
        row.format(1, "Hi", "INTJ", "_", "root"),
        "",
    ]
    for part in ("train", "dev", "test"):
        (tmp_path / f"oct27.{part}").write_text("a\tN\nb\tV\n\nc\t,\n\n")
        with gzip.open(tmp_path / f"en_gum-ud-{part}.conllu.gz", "wt") as stream:
            stream.write("\n".join(lines) + "\n")
    tweets = corpora.tweets()
    assert tweets.dev == [
        TaggedSentence(("a", "b"), ("N", "V"), "dev0"),
        TaggedSentence(("c",), (",",), "dev1"),
    ]
    assert corpora.gum_sparse().test == [
        TaggedSentence(("dogs", "do"), ("NOUN Number=Plur nsubj", "AUX _ aux"), "d1"),
        TaggedSentence(("Hi",), ("INTJ _ root",), "d2"),
    ]


def test_a_missing_corpus_is_named(corpora: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpora, "WSJ", tmp_path / "shared" / "data" / "wsj-sample" / "treebank.zip")
    with pytest.raises(corpora.MissingCorpusError, match=r"^shared/data/wsj-sample/treebank.zip is not available"):
        corpora.wsj_sentences()


def test_a_split_shares_no_document_and_loses_no_sentence(corpora: Any) -> None:
    sentences = random_sentences(60)
    split = corpora.split_by_document(sentences)
    parts = [{each.doc_id for each in part} for part in (split.train, split.dev, split.test)]
    assert sorted(map(len, parts)) == [4, 4, 12]
    assert len(set.union(*parts)) == 20
    assert len(split.train) + len(split.dev) + len(split.test) == 60


@pytest.mark.skipif(not (SHARED / "data" / "wsj-sample").exists(), reason="the treebank sample is missing")
def test_the_treebank_sample_has_its_published_size(corpora: Any) -> None:
    sentences = corpora.wsj_sentences()
    assert len(sentences) == 3914
    assert sum(len(each.words) for each in sentences) == 94_084
    assert len({each.doc_id for each in sentences}) == 199


@pytest.mark.skipif(not (SHARED / "data" / "ark-tweets").exists(), reason="the tweets are missing")
def test_the_tweets_have_their_published_size(corpora: Any) -> None:
    split = corpora.tweets()
    assert (len(split.train), len(split.dev), len(split.test)) == (1000, 327, 500)
    assert len(corpora.tag_counts([*split.train, *split.dev, *split.test])) == 25


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


def test_the_difference_of_a_model_to_itself_is_zero(results: Any) -> None:
    blocks = results.blocks_of(measured(results).pairs, 100)
    assert results.difference(blocks, blocks) == (0.0, (0.0, 0.0))


def test_a_smoothed_model_has_the_larger_error_and_its_difference_is_decided(results: Any) -> None:
    smooth, sharp = (results.blocks_of(measured(results, pseudocount=c).pairs, 100) for c in (1000.0, 2.0))
    estimate, ends = results.difference(sharp, smooth)
    assert ends[0] < estimate < ends[1] < 0.0
    assert results.holds(ends, True) == "yes"
    assert results.holds(ends, False) == "no, the opposite"
    assert results.holds((-1.0, 1.0), True) == "not decided"


def test_totals_count_right_tags(results: Any) -> None:
    found = measured(results)
    right = sum((item.chain.map() == item.gold).sum() for item in found.items)
    n = sum(item.gold.size for item in found.items)
    np.testing.assert_array_equal(found.totals.sum(axis=0)[:2], [n, right])
    assert found.accuracy().startswith(f"{right / n:.4f} [")


def test_tables_claims_and_figures_are_written(results: Any, tmp_path: Path) -> None:
    import pandas as pd

    with open(tmp_path / "printed.txt", "w") as stream:
        output = results.Output(tmp_path, tmp_path, quick=True, stream=stream)
        output.claim("lower", "0.1", "0.2", "no")
        output.write_claims("study")
        output.figure("curves", results.curves_figure({"HMM": measured(results).pairs}, 200))
    table = pd.read_csv(tmp_path / "study-claims.csv")
    assert table.to_dict("list") == {"claim": ["lower"], "source": [0.1], "here": [0.2], "holds": ["no"]}
    assert "| lower | 0.1 | 0.2 | no |" in (tmp_path / "printed.txt").read_text()
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")
