"""Scores of spans: CorPipe's charts, arrays of e2e-coref and AllenNLP, and fastcoref's CorefResult."""

import math
import re
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from expected_errors import error
from spacy_stubs import stub_doc

from corefsample import ParameterError, Tokens, adapters as system_adapters, map_clustering
from corefsample.adapters._systems import StanzaScores

INF = math.inf


def links(document: Any) -> dict[tuple[int, int], float]:
    distribution = document.antecedents
    rows = np.repeat(np.arange(distribution.n_mentions), np.diff(distribution.indptr)).tolist()
    pairs = zip(rows, distribution.antecedents.tolist(), strict=True)
    return dict(zip(pairs, distribution.scores.tolist(), strict=True))


# --- CorPipe -----------------------------------------------------------------------------------------------

LENGTHS = [4, 5, 3]
# first and last word in the sentence, then CorPipe's entity; the second sentence has two that begin together
PREDICTED = [[[0, 0, 1], [2, 3, 2]], [[1, 3, 1], [1, 1, 3]], [[0, 0, 2]]]
PAD = 55.0  # windows of a batch are filled up to one size
CHARTS = [
    np.array([[0.5, 9.0, PAD], [1.0, 0.25, PAD]]),
    np.array([[1.0, 2.0, 0.0, 9.0], [1.5, 2.5, 8.0, 1.0], [PAD] * 4]),
    np.array([[3.0, 4.0, 5.0, 1.0, PAD]]),  # the window of the third has lost the first mention
]
PREVIOUS = [0, 2, 3]


def corpipe(**changes: Any) -> Any:
    arguments = {"charts": CHARTS, "mentions": PREDICTED, "n_previous": PREVIOUS, "sentence_lengths": LENGTHS}
    arguments |= {"label_smoothing": 0.0} | changes
    return system_adapters.from_corpipe(arguments.pop("charts"), arguments.pop("mentions"), doc_id="a", **arguments)


def test_charts_of_sentences_make_one_document() -> None:
    document = corpipe()
    assert document.mentions[:, :2].tolist() == [[0, 1], [2, 4], [5, 8], [5, 6], [9, 10]]
    # each minus its own NEW; the two that begin at token 5 are no antecedents of each other
    rows = {1: {0: 0.75}, 2: {0: 1.0, 1: 2.0}, 3: {0: 0.5, 1: 1.5}, 4: {1: 2.0, 2: 3.0, 3: 4.0}}
    assert links(document) == {(i, j): score for i, row in rows.items() for j, score in row.items()}
    assert document.metadata["adapter"]["links_reversed"] == 0


def test_a_sentence_without_mentions_needs_no_chart() -> None:
    document = corpipe(
        charts=[CHARTS[0], None], mentions=[PREDICTED[0], []], n_previous=[0, 2], sentence_lengths=[4, 5]
    )
    assert links(document) == {(1, 0): 0.75}


def test_label_smoothing_is_undone() -> None:
    """Of 0.6, 0.3, 0.1 smoothed by 0.2 the softmax is 0.8 p + 0.2 / 3; a NEW of 0 has 0.2 / 3."""
    for probs in ([0.6, 0.3, 0.1], [0.75, 0.25, 0.0]):
        smoothed = np.log(0.8 * np.array(probs) + 0.2 / 3) + 5.0  # of the two mentions before, then of NEW
        document = corpipe(
            charts=[np.array([[0.0, 0.0], [0.0, 0.0]]), smoothed[None]],
            mentions=[[[0, 0, 1], [2, 2, 2]], [[0, 0, 1]]],
            n_previous=[0, 2],
            sentence_lengths=[4, 5],
            label_smoothing=0.2,
        )
        antecedents, probabilities = document.antecedents.row(2)
        np.testing.assert_allclose(probabilities, probs[:2], atol=1e-12)
        assert antecedents.tolist() == [0, 1]
        assert document.antecedents.new_probs[2] == pytest.approx(probs[2], abs=1e-12)
    with error(ParameterError, "label_smoothing"):
        corpipe(label_smoothing=1.0)


BAD_WINDOWS = [
    ({"n_previous": [0, 3, 3]}, "n_previous[1] must be at most"),
    ({"charts": [CHARTS[0], CHARTS[1][:, :3], CHARTS[2]]}, "charts[1] must have a row for each mention"),
    ({"mentions": [PREDICTED[0], [[1, 5, 1], [1, 1, 3]], PREDICTED[2]]}, "mentions[1][0] must have 0 <= first <= last"),
]


@pytest.mark.parametrize(("changes", "rule"), BAD_WINDOWS)
def test_bad_windows_are_rejected_with_a_reason(changes: Any, rule: str) -> None:
    with pytest.raises(ParameterError, match=f"^{re.escape(rule)}"):
        corpipe(**changes)


# --- e2e-coref and AllenNLP ------------------------------------------------------------------------------------


SPANS = np.array([[0, 0], [2, 3], [5, 5], [7, 9]])  # first and last token


def coarse_to_fine(mask: float, dtype: str = "float32") -> tuple[Any, Any]:
    """Layout of coarse-to-fine pruning: unsorted, rows near the beginning filled up with masked later spans."""
    scores = np.array([[0, mask, mask], [0, mask, 1.5], [0, 0.5, -0.5], [0, 2.0, -1.0]], dtype)
    return np.array([[3, 1], [2, 0], [1, 0], [2, 0]], np.int32), scores


LINKS = {(1, 0): 1.5, (2, 0): -0.5, (2, 1): 0.5, (3, 0): -1.0, (3, 2): 2.0}


@pytest.mark.parametrize(
    ("mask", "dtype"),
    [
        (-INF, "float32"),  # e2e-coref, c2f, coref-hoi: the logarithm of a mask
        (float(np.finfo("float32").min), "float32"),  # AllenNLP: min_value_of_dtype
        (float(np.finfo("float16").min), "float16"),  # the same at half precision
    ],
)
def test_masked_candidates_are_left_out(mask: float, dtype: str) -> None:
    antecedents, scores = coarse_to_fine(mask, dtype)
    document = system_adapters.from_e2e(SPANS, antecedents, scores, doc_id="a")
    assert links(document) == LINKS
    assert document.mentions.tolist() == [[0, 1, 0], [2, 4, 3], [5, 6, 5], [7, 10, 9]]


def test_a_repeated_span_is_padding() -> None:
    spans = np.array([[0, 0], [2, 3], [5, 5], [0, 0]])
    antecedents, scores = coarse_to_fine(-INF)
    document = system_adapters.from_e2e(spans, antecedents, scores, doc_id="a")
    assert links(document) == {(1, 0): 1.5, (2, 0): -0.5, (2, 1): 0.5}
    assert document.metadata["adapter"]["rows_without_span"] == 1


def test_word_pieces_become_whole_tokens() -> None:
    antecedents, scores = coarse_to_fine(-INF)
    pieces = [0, 0, 1, 1, 2, 3, 3, 4, 5, 6]  # spans [0,0], [2,3], [5,5], [7,9] of pieces
    document = system_adapters.from_e2e(SPANS, antecedents, scores, doc_id="a", piece_tokens=pieces)
    assert document.mentions[:, :2].tolist() == [[0, 1], [1, 2], [3, 4], [4, 7]]


A, S = coarse_to_fine(-INF)
BAD = [
    ((SPANS[:3], A, S), {}, "scores and antecedents must have one row per span (3), got 4 and 4"),
    ((SPANS, A, S[:, 1:]), {}, "scores must have 1 more columns than antecedents, in front, for NEW, got 2 and 2"),
    ((SPANS, A, np.where(S == 0, -1e4, S)), {}, "scores[0] must begin with the score of NEW, got -10000.0"),
    ((SPANS, A, S), {"piece_tokens": [0, 1, 0]}, "piece_tokens[2] must not decrease, got 0 after 1"),
    ((SPANS, A, S), {"piece_tokens": [0, 1, 2, 3]}, "spans[2][0] must be a word piece (0 to 3), got 5"),
]


@pytest.mark.parametrize(("arrays", "options", "words"), BAD)
def test_bad_input_is_rejected_with_a_reason(arrays: Any, options: Any, words: str) -> None:
    with pytest.raises(ParameterError) as caught:
        system_adapters.from_e2e(*arrays, doc_id="a", **options)
    assert str(caught.value) == words


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
    document = system_adapters.from_fastcoref(result(), offsets=OFFSETS, doc_id="a")
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


def test_words_instead_of_a_text_need_no_offsets() -> None:
    words = ["Ann", "saw", "Bob", ".", "She", "left", "."]
    by_word = {
        key: (row, span and {0: (0, 1), 8: (2, 3), 13: (4, 5)}[span[0]]) for key, (row, span) in char_map().items()
    }
    document = system_adapters.from_fastcoref(result(text=words, char_map=by_word), doc_id="a")
    assert document.mentions.tolist() == [[0, 1, 0], [2, 3, 2], [4, 5, 4]]
    blank = [""] * 7
    tokens = Tokens(["Anne", *words[1:]], blank, blank, blank, np.full(7, -1), np.zeros(7, int))
    with pytest.raises(
        ParameterError, match=r"^tokens must be of the words that fastcoref read \(\['Ann', .*got \['Anne'"
    ):
        system_adapters.from_fastcoref(result(text=words, char_map=by_word), tokens, doc_id="a")


@pytest.mark.parametrize(
    ("characters", "span"),
    [
        ((0, 3), [0, 1]),
        ((4, 9), [1, 3]),
        ((3, 8), [1, 2]),  # begins in the gap between two tokens
        ((0, 5), [0, 2]),  # ends inside a token
        ((3, 4), None),  # has no token
    ],
)
def test_characters_become_whole_tokens(characters: Key, span: list[int] | None) -> None:
    offsets = [(0, 3), (4, 8), (8, 9), (10, 12)]
    document = system_adapters.from_fastcoref(result(char_map={(1, 1): (1, characters)}), offsets=offsets, doc_id="a")
    assert document.mentions[:, :2].tolist() == ([] if span is None else [span])


def test_a_spacy_doc_gives_offsets_tokens_and_parse() -> None:
    document = system_adapters.from_fastcoref(
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
    ({}, {"tokens": stub_doc("Eve", ["Eve"], [0])}, "tokens must be of the text"),
]


@pytest.mark.parametrize(("changes", "options", "rule"), CASES)
def test_bad_results_are_rejected_with_a_reason(changes: Any, options: Any, rule: str) -> None:
    with pytest.raises(ParameterError, match=f"^{re.escape(rule)}"):
        system_adapters.from_fastcoref(result(**changes), **({"offsets": OFFSETS, "doc_id": "a"} | options))


# --- scores of words --------------------------------------------------------------------------------------


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
    document = system_adapters.from_spacy_experimental(doc(), (SCORES, INDICES), doc_id="a")
    assert document.mentions.tolist() == [[0, 1, 0], [1, 2, 1], [2, 3, 2], [3, 4, 3]]
    assert document.antecedents.antecedents.tolist() == [0, 0, 1, 0, 2]
    expected = np.array([0.75, -2.0, 1.0, 3.0, -1.0]) - float(EPS)
    np.testing.assert_array_equal(document.antecedents.scores, expected)
    assert document.tokens is not None
    assert document.tokens.head.tolist() == [1, -1, 3, -1]


def test_known_spans_widen_their_heads_and_reverse_links() -> None:
    # "His mother" now comes before "His": its link to it goes, and that is all that does
    document = system_adapters.from_spacy_experimental(doc(), (SCORES, INDICES), doc_id="a", spans={1: (0, 2)})
    assert document.mentions.tolist() == [[0, 2, 1], [0, 1, 0], [2, 3, 2], [3, 4, 3]]
    assert document.antecedents.indptr.tolist() == [0, 0, 0, 2, 4]
    assert document.antecedents.antecedents.tolist() == [0, 1, 1, 2]
    np.testing.assert_allclose(document.antecedents.scores, [1.0, -2.0, 3.0, -1.0], atol=2e-7)
    summary = document.metadata["adapter"]
    assert summary["links_reversed"] == 1
    assert summary["left_out_mass"] == pytest.approx(1 / (1 + np.exp(-0.75)), abs=1e-7)


def test_a_doc_too_short_to_be_scored_needs_no_prediction() -> None:
    assert system_adapters.from_spacy_experimental(
        stub_doc("His", ["His"], [0]), None, doc_id="a"
    ).antecedents.new_probs.tolist() == [1.0]


def test_stanzas_two_columns_in_front_are_both_new() -> None:
    # "begins an entity" has log 3, "no mention" log 1 (nearly): NEW is log 4
    start = np.full((4, 1), np.log(3.0), np.float32)
    both = system_adapters.from_stanza(stanza_document(), (np.hstack((start, SCORES)), INDICES), doc_id="a")
    one = system_adapters.from_stanza(stanza_document(), (SCORES, INDICES), doc_id="a")
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
    with system_adapters.recorded_stanza_scores(source) as records:
        model.run({})
        model.run({}, use_gold_spans_for_zeros=True)
    model.run({})
    assert len(records) == 2
    assert model.rough_scorer.hooks == {}
    assert "run" not in vars(model)
    assert isinstance(records[0], StanzaScores)
    np.testing.assert_array_equal(records[0].antecedents, INDICES)
    np.testing.assert_array_equal(records[0].scores, SCORES)
    document = system_adapters.from_stanza(stanza_document(), records[0], doc_id="a")
    assert document.mentions.tolist() == [[0, 2, 1], [0, 1, 0], [2, 3, 2], [3, 4, 3]]
    words = system_adapters.from_stanza(stanza_document(), records[0], doc_id="a", spans={})
    assert words.mentions.tolist() == [[0, 1, 0], [1, 2, 1], [2, 3, 2], [3, 4, 3]]


BAD_WORDS = [
    ((SCORES[:3], INDICES), {}, "scores and antecedents must have one row per token"),
    ((SCORES, INDICES), {"spans": {1: (2, 3)}}, "spans[1] must contain its head 1"),
]


@pytest.mark.parametrize(("prediction", "options", "rule"), BAD_WORDS)
def test_bad_scores_of_words_are_rejected_with_a_reason(prediction: Any, options: Any, rule: str) -> None:
    with pytest.raises(ParameterError, match=f"^{re.escape(rule)}"):
        system_adapters.from_spacy_experimental(doc(), prediction, doc_id="a", **options)


def test_scores_of_other_columns_are_rejected() -> None:
    with pytest.raises(ParameterError, match="must have 1 or 2 more columns than antecedents"):
        system_adapters.from_stanza(stanza_document(), (SCORES[:, 1:], INDICES), doc_id="a")
