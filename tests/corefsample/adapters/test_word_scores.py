"""Scores of words and word pieces: spacy-experimental, Stanza, fastcoref, and arcs of graph-based parsers."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from expected_errors import error
from spacy_stubs import stub_doc

from corefsample import ParameterError, Tokens, map_clustering
from corefsample.adapters import from_fastcoref, from_spacy_experimental, from_stanza, recorded_stanza_scores
from corefsample.adapters._stanza import StanzaScores

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


def test_the_hooks_are_removed_when_the_model_fails() -> None:
    model = CorefModel(fails=True)
    with pytest.raises(RuntimeError, match="no words"), recorded_stanza_scores(model):
        model.run({})
    assert model.rough_scorer.hooks == {}
    assert "run" not in vars(model)


BAD_SOURCES = [
    (
        SimpleNamespace(processors={"pos": None}),
        "source must be a Stanza pipeline with .* got SimpleNamespace",
    ),
    ("nlp", "source must be a Stanza pipeline with .* got str"),
]


@pytest.mark.parametrize(("source", "words"), BAD_SOURCES)
def test_what_has_no_model_of_coreference_cannot_be_recorded(source: Any, words: str) -> None:
    with pytest.raises(ParameterError, match=f"^{words}$"), recorded_stanza_scores(source):
        pass


BAD = [
    ((SCORES[:3], INDICES), {}, "scores and antecedents must have one row per token"),
    ((SCORES, INDICES), {"spans": {1: (2, 3)}}, "spans[1] must contain its head 1"),
    (SCORES, {}, "prediction must be scores and antecedents"),
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
    with pytest.raises(ParameterError, match="scores must be scores and antecedents, got None"):
        from_stanza(stanza_document(), None, doc_id="a")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="must have 1 or 2 more columns than antecedents"):
        from_stanza(stanza_document(), (SCORES[:, 1:], INDICES), doc_id="a")


# --- fastcoref's CorefResult -----------------------------------------------------------------------------------

TEXT = "Ann saw Bob. She left."
OFFSETS = [(0, 3), (4, 7), (8, 11), (11, 12), (13, 16), (17, 21), (21, 22)]
Key = tuple[int, int]


@dataclass
class CorefResult:
    """The attributes of fastcoref 2.1.6's class of that name that are read."""

    text: Any
    coref_logit: Any
    char_map: dict[Key, tuple[int | None, Any]]
    clusters: list[Any] = field(default_factory=list)


def logits() -> np.ndarray[Any, np.dtype[np.float32]]:
    """Rows: [CLS] (pruning kept it), Ann, Bob, She, and padding. The mask adds -10000 and leaves the score in."""
    masked = np.full((5, 5), -10000.0, np.float32) + np.float32(3.5) * np.triu(np.ones((5, 5), np.float32))
    matrix = np.concatenate((masked, np.zeros((5, 1), np.float32)), axis=1)
    matrix[1, 0] = -1.0
    matrix[2, :2] = [-2.0, -3.0]
    matrix[3, :3] = [0.5, 4.0, 1.0]
    matrix[4, :] = [-10000.0] * 5 + [0.0]  # padding: every antecedent masked
    return matrix


def char_map() -> dict[Key, tuple[int | None, Any]]:
    """Keys are spans of word pieces (np.int64), values the row and the characters; None for what is no word."""
    piece = np.int64
    return {
        (piece(0), piece(0)): (None, None),
        (piece(1), piece(1)): (1, (0, 3)),
        (piece(3), piece(4)): (2, (8, 11)),
        (piece(6), piece(6)): (3, (13, 16)),
        (piece(11), piece(11)): (None, None),
    }


def result(**changes: Any) -> CorefResult:
    fields = {"text": TEXT, "coref_logit": logits(), "char_map": char_map()} | changes
    return CorefResult(**fields)


def test_the_last_column_is_new_and_rows_without_words_are_left_out() -> None:
    document = from_fastcoref(result(), offsets=OFFSETS, doc_id="a")
    assert document.mentions.tolist() == [[0, 1, 0], [2, 3, 2], [4, 5, 4]]
    assert document.antecedents.antecedents.tolist() == [0, 0, 1]
    assert document.antecedents.scores.tolist() == [-3.0, 4.0, 1.0]
    assert map_clustering(document.antecedents).tolist() == [0, 1, 0]
    # by hand: of row 1 the link to [CLS] had 1/(1+e), of row 2 e^-2/(1+e^-2+e^-3), of row 3 e^.5/(1+e^.5+e^4+e)
    e = math.exp
    parts = [1 / (1 + e(1)), e(-2) / (1 + e(-2) + e(-3)), e(0.5) / (1 + e(0.5) + e(4) + e(1))]
    summary = document.metadata["adapter"]
    assert summary["left_out_mass"] == pytest.approx(sum(parts), abs=1e-12)
    assert summary["largest_left_out_mass"] == pytest.approx(max(parts), abs=1e-12)
    assert (summary["rows_without_span"], summary["links_without_span"]) == (2, 3)


def test_scores_are_taken_relative_to_new() -> None:
    shifted = logits() + np.float32(2.0)
    plain = from_fastcoref(result(), offsets=OFFSETS, doc_id="a")
    moved = from_fastcoref(result(coref_logit=shifted), offsets=OFFSETS, doc_id="a")
    np.testing.assert_array_equal(moved.antecedents.scores, plain.antecedents.scores)


def test_words_instead_of_a_text_need_no_offsets() -> None:
    words = ["Ann", "saw", "Bob", ".", "She", "left", "."]
    by_word = {
        key: (row, span and {0: (0, 1), 8: (2, 3), 13: (4, 5)}[span[0]]) for key, (row, span) in char_map().items()
    }
    document = from_fastcoref(result(text=words, char_map=by_word), doc_id="a")
    assert document.mentions.tolist() == [[0, 1, 0], [2, 3, 2], [4, 5, 4]]
    blank = [""] * 7
    tokens = Tokens(["Anne", *words[1:]], blank, blank, blank, np.full(7, -1), np.zeros(7, int))
    with pytest.raises(
        ParameterError, match=r"^tokens must be of the words that fastcoref read \(\['Ann', .*got \['Anne'"
    ):
        from_fastcoref(result(text=words, char_map=by_word), tokens, doc_id="a")


def test_a_span_that_begins_inside_a_token_is_widened() -> None:
    coarse = [(0, 3), (4, 7), (8, 12), (13, 16), (17, 22)]  # "Bob." is one token here
    widened = from_fastcoref(result(), offsets=coarse, doc_id="a")
    assert widened.mentions.tolist() == [[0, 1, 0], [2, 3, 2], [3, 4, 3]]


def test_a_spacy_doc_gives_offsets_tokens_and_parse() -> None:
    document = from_fastcoref(
        result(), stub_doc(TEXT, ["Ann", "saw", "Bob", ".", "She", "left", "."], [0] * 7, (0, 4)), doc_id="a"
    )
    assert document.mentions.tolist() == [[0, 1, 0], [2, 3, 2], [4, 5, 4]]
    assert document.tokens is not None
    assert document.tokens.head.tolist() == [-1, 0, 0, 0, 0, 0, 0]
    assert document.tokens.sent.tolist() == [0, 0, 0, 0, 1, 1, 1]
    assert document.mention_text(2) == "She"


SQUARE = np.zeros((5, 5), np.float32)
NO_NEW = logits()
NO_NEW[2, 5] = -np.inf
CASES = [
    ({"coref_logit": SQUARE}, {}, "coref_logit must have one column more"),
    ({"coref_logit": NO_NEW}, {}, "coref_logit[2] must"),
    ({"char_map": {(1, 1): (7, (0, 3))}}, {}, "char_map[(1, 1)] must"),
    ({}, {"offsets": None}, "tokens must be a spaCy Doc, or come with offsets"),
    ({}, {"offsets": [(0, 3), (2, 7)]}, "offsets must"),
    ({}, {"tokens": "Ann"}, "tokens must be a spaCy Doc or Tokens"),
    ({}, {"tokens": stub_doc("Eve", ["Eve"], [0])}, "tokens must be of the text"),
]


@pytest.mark.parametrize(("changes", "options", "rule"), CASES)
def test_bad_results_are_rejected_with_a_reason(changes: Any, options: Any, rule: str) -> None:
    with pytest.raises(ParameterError, match=f"^{re.escape(rule)}"):
        from_fastcoref(result(**changes), **({"offsets": OFFSETS, "doc_id": "a"} | options))


def test_objects_that_are_not_results_are_rejected() -> None:
    with pytest.raises(ParameterError, match="result must be a CorefResult of fastcoref, got list"):
        from_fastcoref([result()], offsets=OFFSETS, doc_id="a")
