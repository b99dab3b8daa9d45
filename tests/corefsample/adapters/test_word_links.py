"""Scores of words: spacy-experimental and Stanza."""

import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from expected_errors import error
from spacy_stubs import stub_doc

from corefsample import ParameterError
from corefsample.adapters import from_spacy_experimental, from_stanza, recorded_stanza_scores
from corefsample.adapters._systems import StanzaScores

INF = np.inf
EPS = np.float32(1e-7)
# Four words, two antecedents each, as torch.topk(sorted=False) has them: rows near the beginning point at themselves
# and past themselves, behind masks of -inf; word 3's candidates are not in order.
SCORES = np.array([[EPS, -INF, -INF], [EPS, 0.75, -INF], [EPS, 1.0, -2.0], [EPS, -1.0, 3.0]], np.float32)
INDICES = np.array([[1, 0], [0, 3], [1, 0], [2, 0]])


def doc() -> Any:
    return stub_doc("His mother saw him", ["His", "mother", "saw", "him"], [1, 1, 3, 3])


def stanza_document() -> Any:
    word = lambda text, head: SimpleNamespace(text=text, lemma=None, upos="X", deprel="d", head=head)  # noqa: E731
    sentences = [[word("His", 2), word("mother", 0)], [word("saw", 0), word("him", 1)]]
    return SimpleNamespace(sentences=[SimpleNamespace(words=words) for words in sentences])


def test_scores_are_relative_to_the_dummy_which_is_not_quite_zero() -> None:
    document = from_spacy_experimental(doc(), (SCORES, INDICES), doc_id="a")
    assert document.mentions.tolist() == [[0, 1, 0], [1, 2, 1], [2, 3, 2], [3, 4, 3]]
    assert document.antecedents.antecedents.tolist() == [0, 0, 1, 0, 2]
    expected = np.array([0.75, -2.0, 1.0, 3.0, -1.0]) - float(EPS)
    np.testing.assert_array_equal(document.antecedents.scores, expected)
    assert document.tokens is not None
    assert document.tokens.head.tolist() == [1, -1, 3, -1]


def test_known_spans_widen_their_heads_and_reverse_links() -> None:
    # "His mother" now comes before "His": its link to it goes, and that is all that does
    document = from_spacy_experimental(doc(), (SCORES, INDICES), doc_id="a", spans={1: (0, 2)})
    assert document.mentions.tolist() == [[0, 2, 1], [0, 1, 0], [2, 3, 2], [3, 4, 3]]
    assert document.antecedents.indptr.tolist() == [0, 0, 0, 2, 4]
    assert document.antecedents.antecedents.tolist() == [0, 1, 1, 2]
    np.testing.assert_allclose(document.antecedents.scores, [1.0, -2.0, 3.0, -1.0], atol=2e-7)
    summary = document.metadata["adapter"]
    assert summary["links_reversed"] == 1
    assert summary["left_out_mass"] == pytest.approx(1 / (1 + np.exp(-0.75)), abs=1e-7)


def test_a_doc_too_short_to_be_scored_needs_no_prediction() -> None:
    assert from_spacy_experimental(stub_doc("His", ["His"], [0]), None, doc_id="a").antecedents.new_probs.tolist() == [
        1.0
    ]


def test_stanzas_two_columns_in_front_are_both_new() -> None:
    # "begins an entity" has log 3, "no mention" log 1 (nearly): NEW is log 4
    start = np.full((4, 1), np.log(3.0), np.float32)
    both = from_stanza(stanza_document(), (np.hstack((start, SCORES)), INDICES), doc_id="a")
    one = from_stanza(stanza_document(), (SCORES, INDICES), doc_id="a")
    np.testing.assert_allclose(both.antecedents.scores, one.antecedents.scores - np.log(4.0), atol=1e-6)
    assert both.tokens is not None
    assert both.tokens.head.tolist() == [1, -1, -1, 2]
    assert both.tokens.sent.tolist() == [0, 0, 1, 1]
    assert list(both.tokens.lemma) == [""] * 4


class RoughScorer:
    """The attributes of a torch module that the hooks use."""

    def __init__(self) -> None:
        self.hooks: dict[int, Any] = {}

    def register_forward_hook(self, hook: Any) -> Any:
        self.hooks[id(hook)] = hook
        return SimpleNamespace(remove=lambda: self.hooks.pop(id(hook)))

    def __call__(self, words: Any) -> Any:
        output = (None, INDICES, None)
        for hook in self.hooks.values():
            hook(self, (words,), output)
        return output


class CorefModel:
    """The flow of stanza.models.coref.model.CorefModel.run."""

    def __init__(self, fails: bool = False) -> None:
        self.rough_scorer, self.fails = RoughScorer(), fails

    def run(self, document: Any, use_gold_spans_for_zeros: bool = False) -> Any:
        if self.fails:
            raise RuntimeError("no words")
        self.rough_scorer(document)
        return SimpleNamespace(coref_scores=SCORES, word_clusters=[[0, 1, 3]], span_clusters=[[(0, 1), (0, 2), (3, 4)]])


@pytest.mark.parametrize("level", ["pipeline", "processor", "model"])
def test_the_hooks_record_scores_antecedents_and_spans_and_are_removed(level: str) -> None:
    model = CorefModel()
    processor = SimpleNamespace(_model=model)
    source = {"pipeline": SimpleNamespace(processors={"coref": processor}), "processor": processor, "model": model}[
        level
    ]
    with recorded_stanza_scores(source) as records:
        model.run({})
        model.run({}, use_gold_spans_for_zeros=True)
    model.run({})
    assert len(records) == 2
    assert model.rough_scorer.hooks == {}
    assert "run" not in vars(model)
    assert isinstance(records[0], StanzaScores)
    np.testing.assert_array_equal(records[0].antecedents, INDICES)
    np.testing.assert_array_equal(records[0].scores, SCORES)
    document = from_stanza(stanza_document(), records[0], doc_id="a")
    assert document.mentions.tolist() == [[0, 2, 1], [0, 1, 0], [2, 3, 2], [3, 4, 3]]
    words = from_stanza(stanza_document(), records[0], doc_id="a", spans={})
    assert words.mentions.tolist() == [[0, 1, 0], [1, 2, 1], [2, 3, 2], [3, 4, 3]]


BAD = [
    ((SCORES[:3], INDICES), {}, "scores and antecedents must have one row per token"),
    ((SCORES, INDICES), {"spans": {1: (2, 3)}}, "spans[1] must contain its head 1"),
]


@pytest.mark.parametrize(("prediction", "options", "rule"), BAD)
def test_bad_input_is_rejected_with_a_reason(prediction: Any, options: Any, rule: str) -> None:
    with pytest.raises(ParameterError, match=f"^{re.escape(rule)}"):
        from_spacy_experimental(doc(), prediction, doc_id="a", **options)


def test_other_objects_are_rejected() -> None:
    with error(ParameterError, "doc"):
        from_spacy_experimental("text", (SCORES, INDICES), doc_id="a")
    with pytest.raises(ParameterError, match="document must be a Stanza Document, got str"):
        from_stanza("text", (SCORES, INDICES), doc_id="a")
    with pytest.raises(ParameterError, match="must have 1 or 2 more columns than antecedents"):
        from_stanza(stanza_document(), (SCORES[:, 1:], INDICES), doc_id="a")
