"""`nlp.evaluate` with the component: its scores against those of `corefsample.metrics`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import spacy
from entity_scores import entity_scores
from references import mention_ranking as ranking_references
from spacy.tokens import Doc
from spacy.training import Example

from corefsample import ParameterError, metrics, sample_clusterings
from corefsample.coreference._antecedents import AntecedentDistribution
from corefsample.metrics._counts import METRICS
from corefsample.metrics._scores import metric_posterior
from corefsample.spacy_bridge.component import CorefComponent, set_posterior
from corefsample.spacy_bridge.documents import doc_of_tokens

TEXT = "The president met his brother in Paris. He told him that they left it."
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
    added: Any = nlp.add_pipe("corefsample", config={"require_parser": False})
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


def test_the_corpus_is_scored_by_summed_counts(component: CorefComponent) -> None:
    keys = [[[(0, 1), (4, 5)]], [[(0, 1), (2, 3)], [(4, 5), (6, 7)]]]
    examples = [Example(predicted(str(number)), annotated(*key)) for number, key in enumerate(keys)]
    response = [[(0, 1), (4, 5)], [(2, 3), (6, 7)]]
    expected = metrics.corpus_scores(entity_scores(key, response, singletons=False) for key in keys).corpus
    assert component.score(examples)["coref_f"] == expected.conll.f1
    assert component.score(examples)["coref_b3_p"] == expected.b3.precision


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


def test_without_annotation_there_are_no_scores(component: CorefComponent) -> None:
    scores = component.score([Example(predicted(), annotated(key="other"))])
    assert set(scores.values()) == {None}
    annotation = annotated([(0, 1), (4, 5)])
    assert set(scores) == set(component.score([Example(predicted(), annotation)]))


def test_a_doc_that_is_not_scored_is_an_error(component: CorefComponent) -> None:
    example = Example(Doc(VOCAB, words=WORDS), annotated([(0, 1), (4, 5)]))
    with pytest.raises(ParameterError, match=r"^examples must have scored Docs as predicted, got one .* at place 0$"):
        component.score([example])


def test_evaluate_scores_the_component_under_its_own_key() -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("corefsample", config={"require_parser": False, "spans_key": "ours"})
    tokens = ranking_references.parsed(ranking_references.PARSES["ud2"])
    parsed = doc_of_tokens(tokens, nlp.vocab)

    @spacy.Language.component("parse_for_evaluation")
    def parse(doc: Doc) -> Doc:
        return doc.from_array(HEADS, parsed.to_array(HEADS))

    nlp.add_pipe("parse_for_evaluation", first=True)
    first = nlp(Doc(nlp.vocab, words=tokens.text))
    reference = Doc(nlp.vocab, words=tokens.text)
    reference.spans["ours_clusters_1"] = [reference[each.start : each.end] for each in first._.coref.mentions[:2]]
    scores = nlp.evaluate([Example(nlp.make_doc(reference.text), reference)])
    assert 0.0 <= scores["ours_f"] <= 1.0
    assert "coref_f" not in scores


HEADS = ["POS", "LEMMA", "DEP", "HEAD", "SENT_START"]
