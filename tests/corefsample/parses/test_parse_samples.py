"""Sampled parses: a hand-made parser whose probabilities are known, real pipelines, and the component's parses."""

import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import spacy
from expected_errors import error
from places import EN_CORE_WEB_SM, EN_GUM_UD
from spacy.language import Language
from spacy.tokens import Doc
from spacy_stubs import loaded
from tolerance import plausible_counts

from corefsample import ParameterError
from corefsample.parses import parse_samples
from corefsample.parses._sampling import ParseSampler, parse_temperature

TEXT = (
    "The president of France met her troops near the old border on Monday. They said that there is a bridge, which had "
    "been attacked twice by rebels that let's say were angry."
)
ANNOTATIONS = ("text", "dep_", "pos_", "tag_", "lemma_", "ent_type_", "is_sent_start")


@pytest.fixture(scope="module", params=[EN_GUM_UD, EN_CORE_WEB_SM], ids=lambda path: path.name)
def nlp(request: pytest.FixtureRequest) -> Language:
    return loaded(request.param)


@pytest.fixture(scope="module")
def small() -> Language:
    """A pipeline with a parser of three labels whose weights are random, and no other component."""
    nlp = spacy.blank("en")
    parser: Any = nlp.add_pipe("parser")
    for label in ("nsubj", "obj"):
        parser.add_label(label)
    nlp.initialize()
    generator = np.random.default_rng(0)
    upper = parser.model.get_ref("upper")
    upper.set_param("W", generator.normal(0.0, 0.3, upper.get_param("W").shape).astype("f"))
    return nlp


def annotations(doc: Doc) -> tuple[Any, ...]:
    tree = tuple(token.head.i for token in doc)
    return (tree, *(tuple(getattr(token, name) for token in doc) for name in ANNOTATIONS), *(str(t.morph) for t in doc))


def arcs(doc: Doc) -> tuple[Any, ...]:
    return tuple((token.head.i, token.dep_) for token in doc)


# --- the distribution --------------------------------------------------------------------------------------


def valid_moves(parser: Any, state: Any) -> list[int]:
    """Transitions that are possible in a state: of all that one forces, those that the parser then takes."""
    n_moves = parser.moves.n_moves
    return [move for move in range(n_moves) if parser.moves.is_valid(state, parser.moves.get_class_name(move))]


def parse_probs(nlp: Language, doc: Doc, temperature: float) -> dict[tuple[Any, ...], float]:
    """Probability of each parse, by all sequences of transitions."""
    parser: Any = nlp.get_pipe("parser")
    step = parser.model.predict([doc])
    probs: Counter[tuple[Any, ...]] = Counter()

    def visit(state: Any, prob: float) -> None:
        if state.is_final():
            result = doc.copy()
            parser.set_annotations([result], [state])
            probs[arcs(result)] += prob
            return
        scores = step.predict([state])[0].astype(float) / temperature
        valid = valid_moves(parser, state)
        weights = np.exp(scores[valid] - max(scores[valid]))
        for move, share in zip(valid, weights / weights.sum(), strict=True):
            after = state.copy()
            parser.moves.apply_transition(after, parser.moves.get_class_name(move))
            visit(after, prob * share)

    visit(parser.moves.init_batch([doc])[0], 1.0)
    return dict(probs)


@pytest.mark.parametrize("temperature", [0.7, 1.0, 3.0])
def test_frequencies_agree_with_all_sequences_of_transitions(small: Language, temperature: float) -> None:
    doc = small.make_doc("they saw us")
    probs = parse_probs(small, doc, temperature)
    assert math.fsum(probs.values()) == pytest.approx(1.0)
    assert len(probs) > 20
    samples = parse_samples(small, doc, 20_000, temperature=temperature, sentences="sample")
    counts = Counter(arcs(sample) for sample in samples)
    assert set(counts) <= set(probs)
    assert plausible_counts([counts[parse] for parse in probs], 20_000, list(probs.values())).all()


@pytest.mark.parametrize("temperature", [1e-6, 1e-300, 5e-324])
def test_a_low_temperature_gives_the_usual_parse(nlp: Language, temperature: float) -> None:
    doc = nlp(TEXT)
    for sample in parse_samples(nlp, doc, 3, temperature=temperature, sentences="sample"):
        assert annotations(sample) == annotations(doc)


# --- what a sample depends on ------------------------------------------------------------------------------


def test_a_sample_depends_on_its_own_index_only(nlp: Language) -> None:
    doc = nlp(TEXT)
    many = [annotations(sample) for sample in parse_samples(nlp, doc, 300, seed=3)]
    assert [annotations(sample) for sample in parse_samples(nlp, doc, 7, seed=3)] == many[:7]
    assert [annotations(sample) for sample in parse_samples(nlp, doc, 7, seed=4)] != many[:7]
    assert [annotations(sample) for sample in parse_samples(nlp, doc, 7, seed=3, doc_id="other")] != many[:7]


def test_the_doc_may_be_parsed_or_not_and_is_not_changed(nlp: Language) -> None:
    doc, raw = nlp(TEXT), nlp.make_doc(TEXT)
    before = annotations(doc)
    of_parsed = [annotations(sample) for sample in parse_samples(nlp, doc, 5)]
    assert [annotations(sample) for sample in parse_samples(nlp, raw, 5)] == of_parsed
    assert annotations(doc) == before
    assert not raw.has_annotation("DEP")


# --- sentences, and components after the parser ------------------------------------------------------------


def starts(doc: Doc) -> list[int]:
    return [sentence.start for sentence in doc.sents]


def test_sentences_are_kept_unless_they_are_sampled(nlp: Language) -> None:
    doc = nlp(TEXT)
    assert all(starts(sample) == starts(doc) for sample in parse_samples(nlp, doc, 50, temperature=3.0))
    sampled = parse_samples(nlp, doc, 50, temperature=3.0, sentences="sample")
    assert any(starts(sample) != starts(doc) for sample in sampled)


def test_given_sentences_are_kept(nlp: Language) -> None:
    words = ["They", "left", "early", "she", "said"]
    doc = Doc(nlp.vocab, words=words, sent_starts=[True, False, False, True, False])
    assert all(starts(sample) == [0, 3] for sample in parse_samples(nlp, doc, 30, temperature=2.0))


def reference(nlp: Language, sample: Doc) -> Doc:
    """The annotations that all components, one after another, give a Doc with this parse."""
    doc = Doc(nlp.vocab, words=[t.text for t in sample], spaces=[bool(t.whitespace_) for t in sample])
    for token, given in zip(doc, sample, strict=True):
        token.norm_ = given.norm_
    for name in nlp.pipe_names:
        if name == "parser":
            doc.from_array(["HEAD", "DEP"], sample.to_array(["HEAD", "DEP"]))
        else:
            doc = nlp.get_pipe(name)(doc)  # type: ignore[operator]
    return doc


def test_later_components_give_what_they_would_give_each_parse(nlp: Language) -> None:
    samples = parse_samples(nlp, nlp(TEXT), 40, temperature=3.0)
    for sample in samples:
        assert annotations(sample) == annotations(reference(nlp, sample))


def test_texts_parsed_together_are_as_parsed_alone(nlp: Language) -> None:
    texts = [TEXT, "", "She left.", "Officials denied it, and the man with the telescope saw that I do too. " * 4, TEXT]
    names = [f"text {number}" for number in range(len(texts))]
    found = ParseSampler(nlp, temperature=2.5).parsed_texts(texts, 12, seed=5, doc_ids=names)
    for text, name, (own, samples) in zip(texts, names, found, strict=True):
        assert annotations(own) == annotations(nlp(text))
        alone = parse_samples(nlp, nlp(text), 12, temperature=2.5, seed=5, doc_id=name)
        assert [annotations(sample) for sample in samples] == [annotations(sample) for sample in alone]
        assert [samples.index(sample) for sample in samples] == [alone.index(sample) for sample in alone]


RULES: list[tuple[list[dict[str, Any]], dict[str, str], int]] = [
    ([{"LOWER": "saw", "DEP": "nsubj"}], {"POS": "NOUN"}, 0),
    ([{"DEP": {"IN": ["obj", "nsubj"]}}, {"DEP": {"NOT_IN": ["obj", ""]}}], {"LEMMA": "second"}, 1),
    ([{"DEP": {"REGEX": "^o"}, "LOWER": "us"}], {"MORPH": "Case=Acc"}, 0),
    ([{"LOWER": "they"}], {"DEP": "obj"}, 0),
    ([{"LOWER": "us", "DEP": {"NOT_IN": ["nsubj"]}}], {"DEP": "iobj", "TAG": "PRP"}, 0),
]


def test_rules_that_read_labels_run_on_every_parse_that_they_can_tell_apart(small: Language) -> None:
    """Each rule alone, all together, and those that share annotations, against all components run on each parse."""
    for rules in [*([rule] for rule in RULES), RULES, [*RULES[:2], *RULES[3:]]]:
        ruler: Any = small.add_pipe("attribute_ruler")
        for pattern, attrs, index in rules:
            ruler.add(patterns=[pattern], attrs=attrs, index=index)
        doc = Doc(small.vocab, words=["they", "saw", "us"] * 2, sent_starts=[True, *[False] * 5])
        found = [annotations(sample) for sample in parse_samples(small, doc, 60, temperature=5.0)]
        small.remove_pipe("attribute_ruler")
        assert len(set(found)) > 10
        for ours, parse in zip(found, parse_samples(small, doc, 60, temperature=5.0), strict=True):
            assert ours == annotations(ruler(parse.copy())), rules


@pytest.fixture
def with_component() -> Callable[[str], Language]:
    loaded(EN_GUM_UD)
    nlp = spacy.load(EN_GUM_UD)

    def add(name: str) -> Language:
        nlp.add_pipe(name)
        return nlp

    return add


@Language.component("depth_in_user_data")
def depth_in_user_data(doc: Doc) -> Doc:
    doc.user_data["roots"] = [token.i for token in doc if token.head.i == token.i]
    return doc


def test_an_unknown_component_runs_on_each_parse(with_component: Callable[[str], Language]) -> None:
    nlp = with_component("depth_in_user_data")
    samples = parse_samples(nlp, nlp("We saw the man with the telescope on the hill they left"), 60, temperature=4.0)
    assert len({tuple(sample.user_data["roots"]) for sample in samples}) > 1
    for sample in samples:
        assert sample.user_data["roots"] == [token.i for token in sample if token.head.i == token.i]


def test_an_empty_doc_has_empty_parses(nlp: Language) -> None:
    assert [len(sample) for sample in parse_samples(nlp, nlp(""), 2)] == [0, 0]


# --- bad input ---------------------------------------------------------------------------------------------


def test_a_pipeline_without_a_transition_parser_is_named() -> None:
    blank = spacy.blank("en")
    with pytest.raises(ParameterError, match=r"nlp must have a transition parser .* got the components none"):
        parse_samples(blank, blank.make_doc("they saw us"), 1)


@pytest.mark.parametrize(
    ("parameter", "options"),
    [
        ("doc", {"doc": "they saw us"}),
        ("temperature", {"temperature": 0}),
        ("temperature", {"temperature": math.nan}),
        ("sentences", {"sentences": "all"}),
        ("n_samples", {"n_samples": 0}),
    ],
)
def test_bad_parameters_are_named(small: Language, parameter: str, options: dict[str, Any]) -> None:
    arguments = {"doc": small.make_doc("they saw us"), "n_samples": 1, **options}
    with error(ParameterError, parameter):
        parse_samples(small, **arguments)


def test_the_temperature_of_a_known_pipeline_is_the_default(nlp: Language) -> None:
    assert parse_temperature(nlp) != parse_temperature(spacy.blank("en"))
    doc = nlp(TEXT)
    chosen = parse_samples(nlp, doc, 4, temperature=parse_temperature(nlp))
    assert [annotations(sample) for sample in parse_samples(nlp, doc, 4)] == [annotations(sample) for sample in chosen]
    with pytest.raises(ParameterError, match="nlp must be a spaCy pipeline, got str"):
        parse_temperature("en")  # type: ignore[arg-type]
