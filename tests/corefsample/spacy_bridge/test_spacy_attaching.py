"""Scores computed elsewhere, attached to a Doc, and `nlp.evaluate`."""

import dataclasses
import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
from entity_scores import entity_scores
from expected_errors import error
from references import mention_ranking as ranking_references
from spacy.tokens import Doc, DocBin
from spacy.training import Example
from spacy_stubs import add_parser, parsed_doc as parsed

import corefsample as cs
from corefsample import AntecedentDistribution, ParameterError, ScoredDocument, metric_posterior, sample_clusterings
from corefsample.metrics._metric_counts import METRICS
from corefsample.spacy_bridge.component import CorefComponent, is_scored, set_posterior
from corefsample.summaries import point_estimate

DISTRIBUTION = AntecedentDistribution.from_lists([[], [0], [1, 0]], [[], [0.4], [1.0, -1.0]])


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


# --- a distribution ----------------------------------------------------------------------------------------


def test_a_distribution_has_spans_of_the_doc_as_mentions() -> None:
    doc = bare()
    posterior = set_posterior(doc, DISTRIBUTION, mentions=[doc[0:2], doc[3:5], doc[3:4]])
    assert [span.text for span in posterior.mentions] == ["He", "his dog", "his"]
    assert posterior.doc_id.startswith("text-")  # a digest of the text
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
    rejected(doc, document(), "sample_groups", n_samples=5, sample_groups=6)
    rejected(doc, doc, "scored")
    with pytest.raises(ParameterError, match=r"^doc must be a spaCy Doc, got str$"):
        set_posterior("He left.", document())  # type: ignore[arg-type]


def test_point_estimates_are_clusterings_by_name() -> None:
    doc = parsed(spacy.blank("en"))
    posterior = set_posterior(doc, document(), n_samples=40, seed=3)
    for loss in ("binder", "vi"):
        labels = point_estimate(DISTRIBUTION, loss=loss, samples=posterior.samples).labels
        assert posterior.labels(loss).tolist() == labels.tolist()
        assert len(posterior.clusters(loss)) == len(set(labels.tolist()))
    assert posterior.add_clustering("binder", key="best").attrs["clustering"] == "binder"


# --- `nlp.evaluate` with the component ------------------------------------------------------------------------

VOCAB = spacy.blank("en").vocab
WORDS = ["Ann", "met", "Bea", ".", "She", "saw", "her", "."]
MENTIONS = [(0, 1), (2, 3), (4, 5), (6, 7)]  # Ann, Bea, She, her
# She: Ann 0.5, Bea 0.3; her: Bea 0.6, She 0.1; natural logs relative to NEW.
SCORES = [[], [-5.0], list(np.log([0.5, 0.3]) - np.log(0.2)), list(np.log([0.6, 0.1]) - np.log(0.3))]
ANTECEDENTS = [[], [0], [0, 1], [1, 2]]


def distribution() -> AntecedentDistribution:
    return AntecedentDistribution.from_lists(ANTECEDENTS, SCORES)


def predicted(doc_id: str = "doc") -> Doc:
    doc = Doc(VOCAB, words=WORDS)
    doc.user_data["doc_id"] = doc_id
    set_posterior(doc, distribution(), mentions=[doc[s:e] for s, e in MENTIONS], n_samples=400)
    return doc


def annotated(*entities: list[tuple[int, int]], words: list[str] = WORDS, key: str = "coref") -> Doc:
    doc = Doc(VOCAB, words=words)
    for number, spans in enumerate(entities, 1):
        doc.spans[f"{key}_clusters_{number}"] = [doc[start:end] for start, end in spans]
    return doc


@pytest.fixture(scope="module")
def component() -> CorefComponent:
    nlp = spacy.blank("en")
    added: Any = nlp.add_pipe("corefsample")
    return added  # type: ignore[no-any-return]


def test_scores_are_those_of_the_likeliest_antecedents(component: CorefComponent) -> None:
    # Likeliest: She -> Ann, her -> Bea. The annotation has Bea's entity, and "She" alone with "her" left out of it.
    key = [[(0, 1), (4, 5)], [(2, 3), (6, 7)]]
    scores = component.score([Example(predicted(), annotated(*key))])
    assert scores["coref_f"] == scores["coref_lea_r"] == scores["coref_muc_p"] == 1.0
    wrong = [[(0, 1), (2, 3)], [(4, 5), (6, 7)]]
    found = component.score([Example(predicted(), annotated(*wrong))])
    expected = entity_scores(wrong, key, singletons=False)
    for metric in METRICS:
        name = "coref" if metric == "conll" else f"coref_{metric}"
        score = getattr(expected, metric)
        assert [found[f"{name}_{part}"] for part in "rpf"] == [score.recall, score.precision, score.f1]


def test_the_interval_is_that_of_the_samples(component: CorefComponent) -> None:
    scores = component.score([Example(predicted(), annotated([(0, 1), (4, 5)], [(2, 3), (6, 7)]))])
    samples = sample_clusterings(distribution(), n_samples=400, doc_id="doc")
    expected = metric_posterior([0, 1, 0, 1], samples, singletons=False)
    names = ("coref_f_mean", "coref_f_lower", "coref_f_upper")
    assert [scores[name] for name in names] == [expected.mean, expected.lower, expected.upper]
    assert expected.lower < expected.mean < 1.0


def test_equal_texts_are_sampled_independently(component: CorefComponent) -> None:
    """Two copies of the same samples would have the posterior of one text, wider than that of two."""
    key = annotated([(0, 1), (4, 5)], [(2, 3), (6, 7)])
    once = component.score([Example(predicted(), key)])
    often = component.score([Example(predicted(), key) for _ in range(20)])
    width = [float(each["coref_f_upper"] or 0) - float(each["coref_f_lower"] or 0) for each in (once, often)]
    assert width[1] < width[0] / 2


def test_spans_are_compared_by_their_characters_without_whitespace(component: CorefComponent) -> None:
    words = ["An", "n", "met", "Be", "a.", " ", "She", "saw", "her."]
    spaces = [False, True, True, False, True, False, True, True, False]
    reference = Doc(VOCAB, words=words, spaces=spaces)
    assert reference.text.split() == ["Ann", "met", "Bea.", "She", "saw", "her."]
    reference.spans["coref_clusters_1"] = [reference[0:2], reference[5:7]]  # Ann; a blank and She
    doc = Doc(VOCAB, words=WORDS, spaces=[True, True, False, True, True, True, False, False])
    set_posterior(doc, distribution(), mentions=[doc[s:e] for s, e in MENTIONS])
    scores = component.score([Example(doc, reference)])
    assert (scores["coref_muc_r"], scores["coref_muc_p"]) == (1.0, 0.5)


def test_a_doc_that_is_not_scored_is_an_error(component: CorefComponent) -> None:
    example = Example(Doc(VOCAB, words=WORDS), annotated([(0, 1), (4, 5)]))
    with pytest.raises(ParameterError, match=r"^examples must have scored Docs as predicted, got one .* at place 0$"):
        component.score([example])


def test_evaluate_scores_the_component_under_its_own_key_if_there_is_annotation() -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("corefsample", config={"spans_key": "ours"})
    tokens = ranking_references.parsed(ranking_references.PARSES["ud2"])
    add_parser(nlp, tokens)
    first = nlp(Doc(nlp.vocab, words=tokens.text))
    reference = Doc(nlp.vocab, words=tokens.text)
    reference.spans["ours_clusters_1"] = [reference[each.start : each.end] for each in first._.coref.mentions[:2]]
    scores = nlp.evaluate([Example(nlp.make_doc(reference.text), reference)])
    assert 0.0 <= scores["ours_f"] <= 1.0
    assert "coref_f" not in scores
    assert set(nlp.evaluate([Example(nlp.make_doc(reference.text), nlp.make_doc(reference.text))]).values()) >= {None}
