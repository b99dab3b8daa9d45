"""corefsample convert between scored and annotated formats: whose entities are written, counts and errors."""

import dataclasses
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import Calls
from references import coreference, metrics, scoring as sr

import corefsample as cs
from corefsample.documents._annotated import AnnotatedDocument
from corefsample.summaries import point_estimate
from events.commands.convert import ConvertOptions, run_convert
from events.corpora._one_clustering import clustering_of


@pytest.fixture(scope="module")
def documents() -> list[AnnotatedDocument]:
    return sr.short_documents(4)


@pytest.fixture(scope="module")
def scored(documents: list[AnnotatedDocument]) -> list[cs.ScoredDocument]:
    rng, from_dense = np.random.default_rng(0), cs.AntecedentDistribution.from_dense
    return [each.scored(from_dense(rng.normal(-2.0, 2.0, [each.n_mentions] * 2))) for each in documents]


@pytest.fixture
def scored_file(tmp_path: Path, scored: list[cs.ScoredDocument]) -> Path:
    cs.write_documents(scored, tmp_path / "s.jsonl")
    return tmp_path / "s.jsonl"


def first_of_label(labels: Any) -> list[int]:
    """Index of the first mention of each mention's entity, written the slow way."""
    listed = list(labels)
    return [listed.index(label) for label in listed]


# --- annotated to annotated --------------------------------------------------------------------------------


def test_annotated_formats_lead_to_each_other(call: Calls, tmp_path: Path, documents: list[AnnotatedDocument]) -> None:
    corpus = sr.corpus_file(tmp_path / "a.conllu", documents)
    status, out, err = call("convert", corpus, tmp_path / "b_gold_conll.gz")
    assert (status, out, err) == (0, f"4 documents written to {tmp_path / 'b_gold_conll.gz'}\n", "")
    assert call("convert", tmp_path / "b_gold_conll.gz", tmp_path / "c.conllu.gz")[0] == 0
    for again in (cs.read_conll2012(tmp_path / "b_gold_conll.gz"), cs.read_corefud(tmp_path / "c.conllu.gz")):
        found = list(again)
        assert [d.doc_id for d in found] == [d.doc_id for d in documents]
        assert [d.labels.tolist() for d in found] == [d.labels.tolist() for d in documents]
        assert [d.mentions[:, :2].tolist() for d in found] == [d.mentions[:, :2].tolist() for d in documents]
    assert call("convert", corpus, tmp_path / "d.conllu")[0] == 0
    assert (tmp_path / "d.conllu").read_bytes() == corpus.read_bytes()


def test_singletons_are_left_out_and_counted(call: Calls, tmp_path: Path, documents: list[AnnotatedDocument]) -> None:
    corpus = sr.corpus_file(tmp_path / "a.conllu", documents)
    alone = sum(list(d.entities).count(entity) == 1 for d in documents for entity in d.entities)
    assert f"Mentions left out: {alone} singletons.\n" in call.good(
        "convert", corpus, tmp_path / "b.conll", "--no-singletons"
    )
    assert (
        sum(d.n_mentions for d in cs.read_conll2012(tmp_path / "b.conll"))
        == sum(d.n_mentions for d in documents) - alone
    )


# --- scored to annotated -----------------------------------------------------------------------------------


def test_gold_entities_are_written(
    tmp_path: Path, documents: list[AnnotatedDocument], scored: list[cs.ScoredDocument]
) -> None:
    cs.write_documents(scored, tmp_path / "s.parquet")
    run_convert(tmp_path / "s.parquet", tmp_path / "gold.conllu")
    found = list(cs.read_corefud(tmp_path / "gold.conllu"))
    assert [d.labels.tolist() for d in found] == [d.labels.tolist() for d in documents]
    assert [d.date for d in found] == [d.date for d in documents]


@pytest.mark.parametrize("clustering", ["map", "binder", "vi", "lea"])
def test_other_clusters_are_written(tmp_path: Path, scored_file: Path, scored: Any, clustering: Any) -> None:
    singletons = clustering != "lea"
    run_convert(scored_file, tmp_path / "other.conllu", ConvertOptions(clustering=clustering, singletons=singletons))
    for found, document in zip(cs.read_corefud(tmp_path / "other.conllu"), scored, strict=True):
        labels = cs.map_clustering(document.antecedents)
        if clustering != "map":
            drawn = cs.sample_clusterings(document.antecedents, doc_id=document.doc_id)
            options: Any = {"samples": None if clustering == "binder" else drawn, "singletons": singletons}
            labels = point_estimate(document.antecedents, loss=clustering, **options).labels
        kept = [label for label in labels if singletons or sum(labels == label) > 1]
        assert found.labels.tolist() == first_of_label(kept)


def test_conll_is_the_best_score_of_all_documents_together(tmp_path: Path) -> None:
    """Against all clusterings of a short document beside a long one, whose four entities are certain."""

    def document(doc_id: str, scores: list[list[float]]) -> cs.ScoredDocument:
        antecedents = cs.AntecedentDistribution.from_lists([list(range(len(row))) for row in scores], scores)
        return cs.ScoredDocument(doc_id, np.array([[i, i + 1, i] for i in range(len(scores))]), antecedents)

    long = document("long", [[9.0 if (i - j) % 4 == 0 else -9.0 for j in range(i)] for i in range(24)])
    short = document("short", [[], [-0.3], [-0.7, 0.5], [-0.3, -1.3, 0.0]])
    cs.write_documents([long, short], tmp_path / "s.jsonl")
    samples = cs.sample_clusterings(short.antecedents, doc_id="short")
    certain = metrics.clusters([i % 4 for i in range(24)])
    drawn = [(metrics.clusters(s), n) for s, n in Counter(map(tuple, samples.labels.tolist())).items()]

    def expected_score(labels: Sequence[int]) -> Fraction:
        total = Fraction(0)
        for metric in ("muc", "b3", "ceafe"):
            pairs = [(certain, certain, 1000), *((truth, metrics.clusters(labels), n) for truth, n in drawn)]
            rows = [[n * count for count in metrics.COUNTS[metric](*pair)] for *pair, n in pairs]
            total += metrics.triple(tuple(map(sum, zip(*rows, strict=True))))[2]
        return total

    best = list(max(coreference.all_clusterings(4), key=expected_score))
    alone = point_estimate(short.antecedents, loss="conll", samples=samples).labels.tolist()
    assert clustering_of([str(tmp_path / "s.jsonl")], "conll", 0, singletons=True)(short).tolist() == best != alone


def test_progress_counts_documents(tmp_path: Path, scored_file: Path) -> None:
    read: list[int] = []
    options = ConvertOptions(clustering="map")
    run_convert(scored_file, tmp_path / "out.conllu", options, on_progress=lambda done, total, n: read.append(n))
    assert read == [1, 2, 3, 4]


def test_a_sampled_clustering_is_its_seeds(tmp_path: Path, scored_file: Path, scored: list[cs.ScoredDocument]) -> None:
    partitions = []
    for seed in (0, 1):
        out = tmp_path / f"{seed}_conll"
        run_convert(scored_file, out, ConvertOptions(clustering="sample", seed=seed))
        partitions.append([found.labels.tolist() for found in cs.read_conll2012(out)])
        for found, document in zip(partitions[-1], scored, strict=True):
            samples = cs.sample_clusterings(document.antecedents, n_samples=3, seed=seed, doc_id=document.doc_id)
            assert found == first_of_label(samples.labels[0])
    assert partitions[0] != partitions[1]


def test_missing_gold_is_rejected_or_set_aside(call: Calls, tmp_path: Path, scored: list[cs.ScoredDocument]) -> None:
    bare = dataclasses.replace(scored[0], doc_id="bare", gold=None)
    path = tmp_path / "s.jsonl"
    cs.write_documents([*scored, bare], path)
    out = tmp_path / "b.conllu"
    line = call.refused("convert", path, out)
    assert line == (
        f"corefsample: {path}: line 5: doc_id 'bare': gold is required to write gold entities (--clustering can be "
        "map or sample)"
    )
    aside = f"1 bad document set aside in {out}.quarantine.jsonl\n"
    assert aside in call.good("convert", path, out, "--on-error", "quarantine")
    assert call("convert", path, out, "--clustering", "map", "--overwrite")[0] == 0
    assert len(list(cs.read_corefud(out))) == 5


def test_mentions_without_gold_are_counted(call: Calls, tmp_path: Path, scored: list[cs.ScoredDocument]) -> None:
    gold = [None, *list(scored[0].gold or ())[1:]]
    cs.write_documents([dataclasses.replace(scored[0], gold=gold)], tmp_path / "s.jsonl")
    text = call.good("convert", tmp_path / "s.jsonl", tmp_path / "b.conllu")
    assert text.endswith("Mentions skipped: 1 not annotated.\n")
