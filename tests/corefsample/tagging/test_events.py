"""Prediction-label pairs of events: the same as plain loops over the marginals give."""

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from expected_errors import error
from hypothesis import given, settings, strategies as st
from references.taggers import CountedHmm, probability
from strategies.tagged import THREE, random_sentences

from corefsample import ParameterError, tagging as taggers
from corefsample.tagging._labelled import LabelledChain

SENTENCES = random_sentences(12, seed=3)
MODEL = taggers.HiddenMarkovModel().fit(random_sentences(30))
PAIRS = [("A", "B"), ("C", "C")]


def posteriors() -> Iterator[LabelledChain]:
    return taggers.labelled_posteriors(MODEL, SENTENCES)


def looped(events: list[str | tuple[str, str]]) -> list[tuple[str, str, float, float]]:
    """Event, document, probability by enumeration and label, in the order of sentence, event and place."""
    reference = CountedHmm([(s.words, s.tags) for s in random_sentences(30)], 1.0)
    rows = []
    for sentence in SENTENCES:
        distribution = reference.posterior(sentence.words)
        for event in events:
            size = 1 if isinstance(event, str) else 2
            wanted = (event,) if isinstance(event, str) else event
            for place in range(len(sentence.words) - size + 1):
                here = slice(place, place + size)
                q = probability(distribution, lambda tags, here=here, wanted=wanted: tags[here] == wanted)
                y = float(sentence.tags[here] == wanted)
                rows.append((" ".join(wanted), sentence.doc_id, q, y))
    return sorted(rows)


@pytest.mark.parametrize("events", [["A", "B", "C"], ["B"], PAIRS, ["C", ("B", "A")]], ids=str)
def test_pairs_are_those_of_loops(events: list[str | tuple[str, str]]) -> None:
    frame = taggers.event_pairs(posteriors(), MODEL.tags, events).to_frame()
    found = sorted(zip(frame["event"], frame["doc_id"], frame["q"], frame["y"], strict=True))
    expected = looped(events)
    assert [row[:2] for row in found] == [row[:2] for row in expected]
    np.testing.assert_allclose([row[2] for row in found], [row[2] for row in expected], rtol=0, atol=1e-12)
    assert [row[3] for row in found] == [row[3] for row in expected]


def test_all_tags_and_all_pairs_by_name() -> None:
    every = taggers.event_pairs(posteriors(), MODEL.tags)
    alone = taggers.event_pairs(posteriors(), MODEL.tags, ["B"])
    np.testing.assert_array_equal(every.of("B").q, alone.q)
    np.testing.assert_array_equal(every.of("B").documents, alone.documents)
    with error(ParameterError, "events"):
        every.of("X")
    assert every.events == ("A", "B", "C")
    assert every.n == 3 * sum(len(sentence.words) for sentence in SENTENCES)
    pairs = taggers.event_pairs(posteriors(), MODEL.tags, "pairs")
    assert pairs.events == tuple(itertools.product("ABC", repeat=2))
    # At each place exactly one event is true, and probabilities sum to 1.
    n_places = sum(len(sentence.words) - 1 for sentence in SENTENCES)
    assert (pairs.n, pairs.y.sum()) == (9 * n_places, n_places)
    assert pairs.q.sum() == pytest.approx(n_places, rel=1e-12)


def test_likeliest_tags_are_one_pair_per_word_with_the_largest_marginal() -> None:
    found = taggers.event_pairs(posteriors(), MODEL.tags, "likeliest")
    expected = []
    for item in posteriors():
        for marginals, gold in zip(item.chain.marginals().tolist(), item.gold.tolist(), strict=True):
            best = marginals.index(max(marginals))
            expected.append((MODEL.tags[best], item.doc_id, max(marginals), int(best == gold)))
    frame = found.to_frame()
    assert list(zip(frame["event"], frame["doc_id"], frame["q"], frame["y"], strict=True)) == expected
    assert 0 < found.y.sum() < found.n


# --- gold tags that the model does not have ----------------------------------------------------------------


def test_an_unknown_gold_tag_is_an_error_with_its_place() -> None:
    sentences = [SENTENCES[0], taggers.TaggedSentence(["ant", "fox"], ["A", "Z"], "doc9")]
    with pytest.raises(ParameterError, match=r"^sentence 1 of document 'doc9': gold must .* got 'Z' at \[1\]"):
        list(taggers.labelled_posteriors(MODEL, sentences))


def test_a_gold_tag_outside_makes_every_event_of_its_place_false() -> None:
    sentences = [taggers.TaggedSentence(["ant", "fox", "ant"], ["A", "Z", "B"])]
    items = list(taggers.labelled_posteriors(MODEL, sentences, unknown="outside"))
    np.testing.assert_array_equal(items[0].gold, [0, -1, 1])
    pairs = taggers.event_pairs(items, MODEL.tags)
    np.testing.assert_array_equal(pairs.y.reshape(3, 3), [[1, 0, 0], [0, 0, 0], [0, 1, 0]])
    assert taggers.event_pairs(items, MODEL.tags, "pairs").y.sum() == 0


# --- bad input ---------------------------------------------------------------------------------------------

CHAIN = taggers.LinearChain.from_scores(np.zeros((2, 2)), np.zeros((2, 2)))


@pytest.mark.parametrize(
    ("gold", "tags", "parameter"),
    [(["A"], ["A", "B"], "gold"), *[(["A", "B"], tags, "tags") for tags in (["A"], ["A", "A"], "AB")]],
)
def test_gold_and_tags_must_fit_the_chain(gold: list[str], tags: list[str], parameter: str) -> None:
    with error(ParameterError, parameter):
        LabelledChain.from_tags(CHAIN, gold, tags)


@pytest.mark.parametrize("events", ["tag", [], ["A", "A"], ["X"], [("A", "X")], [("A", "B", "C")]], ids=str)
def test_events_must_be_known(events: list[str]) -> None:
    with error(ParameterError, "events"):
        taggers.event_pairs(posteriors(), MODEL.tags, events)


def test_sentences_of_one_word_have_no_pairs_of_tags() -> None:
    one_word = taggers.labelled_posteriors(MODEL, [taggers.TaggedSentence(["ant"], ["A"])])
    with error(ParameterError, "posteriors"):
        taggers.event_pairs(one_word, MODEL.tags, "pairs")
    with error(ParameterError, "tags"):  # of another model
        taggers.event_pairs(posteriors(), ["A", "B"])


def test_a_marginal_is_never_above_one() -> None:
    scores = np.full((50, 3), -700.0)
    scores[:, 0] = math.log(1e-3)
    chain = taggers.LinearChain.from_scores(scores, np.log([[0.1, 0.2, 0.7]] * 3))
    item = LabelledChain.from_tags(chain, ["A"] * 50, ["A", "B", "C"])
    assert taggers.event_pairs([item], ["A", "B", "C"], "pairs").q.max() <= 1.0


# --- hidden markov models ---------------------------------------------------------------------------------


@settings(max_examples=25)
@given(st.integers(1, 12), st.integers(0, 1000), st.sampled_from([0.01, 0.5, 1.0, 3.0]))
def test_posteriors_are_those_of_enumeration(n: int, seed: int, pseudocount: float) -> None:
    sentences = random_sentences(n, seed)
    reference = CountedHmm([(s.words, s.tags) for s in sentences], pseudocount)
    model = taggers.HiddenMarkovModel(pseudocount=pseudocount).fit(sentences)
    words = ["ant", "fox", "unseen", "Bee"][: 1 + seed % 4]
    chain, expected = model.posterior(words), reference.posterior(words)
    assert list(model.tags) == reference.tags
    total = math.fsum(reference.joint(words, tags) for tags in expected)
    assert chain.log_partition == pytest.approx(math.log(total), abs=1e-10)
    for tags, prob in expected.items():
        codes = [model.tags.index(tag) for tag in tags]
        assert chain.log_prob(codes) == pytest.approx(math.log(prob), abs=1e-10)


def test_sentences_share_one_matrix_of_transitions() -> None:
    model = taggers.HiddenMarkovModel().fit(THREE)
    assert model.posterior(["the", "dog"]).pairwise is model.posterior(["dog", "barks"]).pairwise


@pytest.mark.parametrize("option", [{"pseudocount": 0.0}, {"pseudocount": math.nan}])
def test_parameters_outside_their_range_are_rejected(option: dict[str, Any]) -> None:
    with error(ParameterError, *option):
        taggers.HiddenMarkovModel(**option)


@pytest.mark.parametrize("kind", [taggers.HiddenMarkovModel, taggers.ConditionalRandomField])
@pytest.mark.parametrize("use", [lambda model: model.posterior(["a"]), lambda model: model.tags])
def test_a_model_must_be_fitted_before_use(kind: Any, use: Any) -> None:
    with pytest.raises(ParameterError, match=rf"^{kind.__name__} must be fitted before it is used$"):
        use(kind())


@pytest.mark.parametrize("words", [[], "the dog"])
def test_words_that_are_no_sentence_are_rejected(words: Any) -> None:
    with error(ParameterError, "words"):
        taggers.HiddenMarkovModel().fit(THREE).posterior(words)


@pytest.mark.parametrize("sentences", [[], [THREE[0], (["a"], ["N"])]])
def test_training_data_must_be_tagged_sentences(sentences: list[Any]) -> None:
    with error(ParameterError, "sentences"):
        taggers.HiddenMarkovModel().fit(sentences)


def test_a_tagged_sentence_checks_its_words_and_tags() -> None:
    bad: list[Any] = [([], [], "words"), (["a"], ["N", "V"], "tags"), (["a", 3], ["N", "V"], "words")]
    for words, tags, parameter in [*bad, (["a", "b"], ["N", ""], "tags"), (["a"], "N", "tags")]:
        with error(ParameterError, parameter):
            taggers.TaggedSentence(words, tags)
