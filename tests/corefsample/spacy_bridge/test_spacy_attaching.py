"""Scores computed elsewhere, attached to a Doc: the posterior, and invalid arguments."""

from __future__ import annotations

import dataclasses
import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
from expected_errors import error
from references import mention_ranking as ranking_references
from spacy.tokens import Doc, DocBin

import corefsample as cs
from corefsample import AntecedentDistribution, ParameterError, ScoredDocument
from corefsample.spacy_bridge.component import is_scored, set_posterior
from corefsample.spacy_bridge.documents import doc_of_tokens
from corefsample.summaries import point_estimate

DISTRIBUTION = AntecedentDistribution.from_lists([[], [0], [1, 0]], [[], [0.4], [1.0, -1.0]])


def parsed(nlp: Any) -> Any:
    return doc_of_tokens(ranking_references.parsed(ranking_references.PARSES["ud2"]), nlp.vocab)


def document(**changes: Any) -> ScoredDocument:
    """Scores of three mentions of the parse."""
    tokens = ranking_references.parsed(ranking_references.PARSES["ud2"])
    rows = np.array([[0, 2, 1], [1, 2, 1], [3, 5, 4]], np.int32)
    whole = ScoredDocument("nyt-1", rows, DISTRIBUTION, datetime.date(1995, 8, 30), tokens)
    return dataclasses.replace(whole, **changes)


def bare(*words: str, **more: Any) -> Any:
    """A Doc without a parse, a line break within."""
    return Doc(spacy.blank("en").vocab, words=[*words] or ["He", "\n", "saw", "his", "dog"], **more)


# --- a document --------------------------------------------------------------------------------------------


def test_a_document_of_a_file_is_attached_as_if_the_component_had_scored_it(tmp_path: Path) -> None:
    cs.write_documents([document()], tmp_path / "scored.jsonl")
    (read,) = cs.read_documents(tmp_path / "scored.jsonl")
    nlp = spacy.blank("en")
    doc = parsed(nlp)
    doc.spans["coref_clusters_9"] = doc.spans["mine"] = [doc[0:1]]
    posterior = set_posterior(doc, read, n_samples=40, seed=3, sample_groups=1)
    assert posterior.doc is doc
    assert is_scored(doc)
    assert (doc._.coref.doc_id, doc._.coref.seed, doc._.coref.n_samples) == ("nyt-1", 3, 40)
    assert [(span.start, span.end) for span in doc._.coref.mentions] == [(0, 2), (1, 2), (3, 5)]
    np.testing.assert_array_equal(doc._.coref.link_marginals, cs.link_marginals(read.antecedents))
    drawn = cs.sample_clusterings(read.antecedents, n_samples=40, seed=3, doc_id="nyt-1")
    np.testing.assert_array_equal(doc._.coref.samples.labels, drawn.labels)
    assert {"coref_map", "coref_sample_0", "mine"} <= set(doc.spans)
    assert "coref_clusters_9" not in doc.spans
    (again,) = DocBin().from_bytes(DocBin(docs=[doc], store_user_data=True).to_bytes()).get_docs(nlp.vocab)
    np.testing.assert_array_equal(again._.coref.link_marginals, doc._.coref.link_marginals)


def test_tokens_of_whitespace_are_not_words_of_the_document() -> None:
    doc = bare()
    posterior = set_posterior(
        doc, document(tokens=None, mentions=np.array([[0, 1, 0], [2, 4, 3], [2, 3, 2]], np.int32))
    )
    assert [span.text for span in posterior.mentions] == ["He", "his dog", "his"]


def test_without_a_key_no_groups_are_written() -> None:
    doc = parsed(spacy.blank("en"))
    doc.spans["coref_map"] = [doc[0:1]]
    set_posterior(doc, document(), spans_key=None)
    assert [(span.start, span.end) for span in doc.spans["coref_map"]] == [(0, 1)]
    set_posterior(doc, document(), spans_key="who")
    assert [len(doc.spans[key]) for key in ("coref_map", "who_map")] == [1, 3]


# --- a distribution ----------------------------------------------------------------------------------------


def test_a_distribution_takes_spans_of_the_doc_or_rows() -> None:
    doc, other = bare(), bare()
    by_spans = set_posterior(doc, DISTRIBUTION, mentions=[doc[0:2], doc[3:5], doc[3:4]])
    by_rows = set_posterior(other, DISTRIBUTION, mentions=[[0, 1, 0], [2, 4, 2], [2, 3, 2]])
    assert [span.text for span in by_spans.mentions] == [span.text for span in by_rows.mentions]
    assert by_spans.doc_id == by_rows.doc_id  # a digest of the text
    assert by_spans.doc_id.startswith("text-")
    np.testing.assert_array_equal(by_spans.samples.labels, by_rows.samples.labels)
    named = bare(user_data={"doc_id": "nyt-1"})
    assert set_posterior(named, DISTRIBUTION, mentions=[named[0:1], named[3:5], named[3:4]]).doc_id == "nyt-1"


# --- invalid arguments ---------------------------------------------------------------------------------------


def rejected(doc: Any, scored: Any, parameter: str | None, place: str | None = None, **options: Any) -> None:
    groups, data = list(doc.spans), dict(doc.user_data)
    with error(ParameterError, parameter, place):
        set_posterior(doc, scored, **options)
    assert (list(doc.spans), dict(doc.user_data)) == (groups, data)


def test_a_document_of_other_words_is_rejected() -> None:
    nlp = spacy.blank("en")
    words = [token.text for token in parsed(nlp)]
    for other in ([*words[:2], "other", *words[3:]], words[:-1], [*words, "more"]):
        rejected(Doc(nlp.vocab, words=other), document(), None, "doc_id 'nyt-1'")
    rejected(bare(), document(tokens=None), None, "doc_id 'nyt-1'")


def test_mentions_that_are_not_those_of_the_distribution_are_rejected() -> None:
    doc, other = bare(), bare()
    spans = [doc[0:1], doc[3:5], doc[3:4]]
    rejected(doc, DISTRIBUTION, "mentions")
    rejected(doc, DISTRIBUTION, "antecedents", mentions=spans[:2])
    for mentions in ([spans[1], spans[0], spans[2]], [doc[1:2], *spans[1:]]):
        rejected(doc, DISTRIBUTION, None, mentions=mentions)
    rejected(doc, document(tokens=None), "mentions", mentions=spans)
    with pytest.raises(ParameterError, match=r"mentions\[2\] must be a span of doc, got one of another: 'his'"):
        set_posterior(doc, DISTRIBUTION, mentions=[*spans[:2], other[3:4]])


def test_options_outside_their_range_are_rejected() -> None:
    doc = parsed(spacy.blank("en"))
    for name, options in {
        "n_samples": {"n_samples": 0},
        "seed": {"seed": -1},
        "spans_key": {"spans_key": ""},
        "sample_groups": {"n_samples": 5, "sample_groups": 6},
    }.items():
        rejected(doc, document(), name, **options)
    rejected(doc, document(), "sample_groups", spans_key=None, sample_groups=1)
    rejected(doc, doc, "scored")
    with pytest.raises(ParameterError, match=r"^doc must be a spaCy Doc, got str$"):
        set_posterior("He left.", document())  # type: ignore[arg-type]
    doc.user_data["doc_id"] = 3
    rejected(doc, DISTRIBUTION, None, mentions=document().mentions)


def test_point_estimates_are_clusterings_by_name() -> None:
    doc = parsed(spacy.blank("en"))
    posterior = set_posterior(doc, document(), n_samples=40, seed=3)
    for loss in ("binder", "vi"):
        labels = point_estimate(DISTRIBUTION, loss=loss, samples=posterior.samples).labels
        assert posterior.labels(loss).tolist() == labels.tolist()
        assert len(posterior.clusters(loss)) == len(set(labels.tolist()))
    assert posterior.add_clustering("binder", key="best").attrs["clustering"] == "binder"
