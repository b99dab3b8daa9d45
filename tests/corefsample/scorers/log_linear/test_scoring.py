"""Scores against a loop over templates, documents of a corpus, several parses, the English model, and clashes."""

import dataclasses
import datetime
import math
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import neutral_sentences
import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from encoded_texts import atoms, encoded, pairs_of, vocabulary_hashes
from expected_errors import error
from hypothesis import given, settings, strategies as st
from references import mention_ranking as reference
from strategies import parses as strategies

import corefsample as cs
from corefsample import ParameterError, ScoredDocument, Tokens
from corefsample.coreference._antecedents import Pruned
from corefsample.documents._annotated import AnnotatedDocument
from corefsample.scorers import AntecedentScorer, load_scorer, score_documents
from corefsample.scorers._loading import scorer_file
from corefsample.scorers._scoring import ScoringTally, score_mentions
from corefsample.scorers.log_linear import _feature_codes as codes, _kernels
from corefsample.scorers.log_linear._encoding import DEFAULT_TEMPLATES, TemplateSet
from corefsample.scorers.log_linear._model import AntecedentModel, rounded
from corefsample.scorers.protocol import MIN_PROB, data_file
from corefsample.syntax._mentions import cannot_link_pairs, mentions_from_parse

SMALL = TemplateSet(
    pronoun=["i.pronoun k.agreement pair.sentences", "k.class", "3* pair.match pair.others_between", "i.any"],
    phrase=["pair.match", "16* i.sort k.sort pair.agree", "i.head k.head pair.syntax", "2* i.meaning k.meaning k.role"],
    new=["i.kind", "i.head_before best.match", "best.near i.class", "i.any i.first i.last i.length"],
)


def model(templates: TemplateSet = SMALL, *, bits: int = 8, scale: float = 0.7, seed: int = 0) -> AntecedentModel:
    weights = np.random.default_rng(seed).normal(0.0, scale, 1 << bits).astype(np.float32)
    return AntecedentModel(weights if seed else rounded(weights), vocabulary_hashes(), templates)


def pruned(scorer: AntecedentScorer, tokens: Tokens, spans: npt.ArrayLike, **options: Any) -> Pruned:
    return scorer.score([tokens], [spans], **options)[0]


def array(spans: Sequence[strategies.Span]) -> np.ndarray:
    return np.array(spans, np.int32).reshape(-1, 3)


# --- the model as it is written down -----------------------------------------------------------------------


def side_hash(seed: int, line: str, side: str, atoms: dict[str, int]) -> int:
    """Hash of the atoms of one side of a template, in their order."""
    values = [atoms[atom[2:]] for atom in line.split() if atom.startswith(f"{side}.")]
    return reference.hashed(seed, values)


def score_of_pair(
    weights: np.ndarray, name: str, lines: Sequence[str], i: dict[str, int], k: dict[str, int], pair: dict[str, int]
) -> float:
    total = []
    for line in lines:
        seed = zlib.crc32(f"{name} {line}".encode())
        value = int(line.split("*")[0]) if "*" in line else 1
        both = [pair[atom[5:]] for atom in line.split() if atom.startswith("pair.")]
        first, second = [*both, 0, 0][:2]
        bucket = reference.pair_bucket(
            side_hash(seed, line, "i", i), side_hash(0, line, "k", k), first, second, len(weights)
        )
        total.append(value * float(weights[bucket]))
    total.append(-5.0 * pair["clash"])
    return math.fsum(total)


def score_of_new(weights: np.ndarray, lines: Sequence[str], i: dict[str, int], best: tuple[int, int]) -> float:
    total = []
    for line in lines:
        code = side_hash(zlib.crc32(f"new {line}".encode()), line, "i", i)
        if "best.match" in line.split():
            code = reference.mix(code, best[0])
        if "best.near" in line.split():
            code = reference.mix(code, 64 * best[0] + best[1])
        total.append(float(weights[code % len(weights)]))
    return math.fsum(total)


def expected(
    model: AntecedentModel, tokens: Tokens, spans: Sequence[strategies.Span]
) -> tuple[list[float], list[float]]:
    """Scores of all pairs, mention by mention, and those of NEW."""
    doc = encoded(tokens, spans)
    mentions, of_pairs = atoms(doc), pairs_of(doc)
    scores, new_scores = [], []
    for i, mention in enumerate(mentions):
        pairs = [of_pairs[i, k] for k in range(i)]
        name = "pronoun" if mention["class"] <= codes.CLASS_OTHER_PRONOUN else "phrase"
        lines = getattr(model.templates, name)
        scores += [score_of_pair(model.weights, name, lines, mention, mentions[k], pairs[k]) for k in range(i)]
        # The best match is the nearest of the best.
        level, _, near = max(((pair["level"], k, pair["sentences"]) for k, pair in enumerate(pairs)), default=(0, 0, 0))
        best = (level, near if level else 0)
        new_scores.append(score_of_new(model.weights, model.templates.new, mention, best))
    return scores, new_scores


def all_scores(
    model: AntecedentModel, tokens: Tokens, spans: Sequence[strategies.Span]
) -> tuple[np.ndarray, np.ndarray]:
    doc = encoded(tokens, spans)
    n = len(spans)
    scores, new_scores, best = np.empty(n * (n - 1) // 2), np.empty(n), np.zeros((n, 2), np.int32)
    _kernels.score_all(doc, model.templates.hashed(doc), model.weights, scores, new_scores, best)
    return scores, new_scores


@pytest.mark.kernels
@settings(max_examples=40)
@given(strategies.texts(), st.sampled_from([model(), model(seed=1), model(DEFAULT_TEMPLATES, bits=12)]))
def test_scores_are_sums_of_the_weights_at_each_templates_hash(text: strategies.Text, scorer: AntecedentModel) -> None:
    for values, wanted in zip(all_scores(scorer, *text), expected(scorer, *text), strict=True):
        np.testing.assert_allclose(values, wanted, rtol=0, atol=1e-11)


@pytest.mark.kernels
@settings(max_examples=40)
@given(strategies.texts(), st.sampled_from([0.0, 1e-4, 0.05, 0.2, 0.6]), st.sampled_from([model(), model(seed=1)]))
def test_candidates_have_scores_relative_to_new_and_dropped_ones_are_counted(
    text: strategies.Text, min_prob: float, scorer: AntecedentModel
) -> None:
    tokens, spans = text
    scores, new_scores = expected(scorer, tokens, spans)
    scored = pruned(scorer, tokens, array(spans), min_prob=min_prob)
    remaining, n_dropped = scored.distribution, 0
    for i, pmf in enumerate(reference.distributions(scores, new_scores)):
        # A probability that equals the bound up to rounding may fall on either side.
        edge = {k for k in range(i) if math.isclose(pmf[k], min_prob, rel_tol=1e-9)}
        candidates = remaining.antecedents[remaining.indptr[i] : remaining.indptr[i + 1]].tolist()
        assert set(candidates) - edge == {k for k in range(i) if pmf[k] >= min_prob} - edge
        wanted = [reference.row(scores, i)[k] - new_scores[i] for k in candidates]
        np.testing.assert_allclose(remaining.scores[remaining.indptr[i] : remaining.indptr[i + 1]], wanted, atol=1e-12)
        dropped = [pmf[k] for k in range(i) if k not in candidates]
        assert scored.dropped_mass[i] == pytest.approx(math.fsum(dropped), abs=1e-12)
        n_dropped += len(dropped)
    assert scored.n_dropped == n_dropped


@pytest.mark.kernels
def test_more_candidates_than_were_reserved_are_kept_too() -> None:
    n = 60  # 1,770 pairs, more than 16 per mention
    tokens = Tokens(["it"] * n, ["it"] * n, ["PRON"] * n, ["obj"] * n, np.full(n, -1), np.zeros(n, int))
    spans = [(t, t + 1, t) for t in range(n)]
    flat = AntecedentModel(np.zeros(256, np.float32), np.zeros(0, np.uint32), SMALL)
    dist = pruned(flat, tokens, array(spans), min_prob=0.0).distribution
    assert dist.n_candidates == n * (n - 1) // 2
    np.testing.assert_allclose(dist.new_probs, 1 / np.arange(1, n + 1), rtol=1e-12)
    assert dist.antecedents[-3:].tolist() == [n - 4, n - 3, n - 2]


@pytest.mark.kernels
def test_a_candidate_as_likely_as_the_bound_is_kept() -> None:
    tokens = reference.parsed("it it PRON 2 nsubj\nsaw see VERB 0 root\nit it PRON 2 obj")
    flat = AntecedentModel(np.zeros(256, np.float32), np.zeros(0, np.uint32), SMALL)
    assert pruned(flat, tokens, [[0, 1, 0], [2, 3, 2]], min_prob=0.5).distribution.n_candidates == 1
    assert pruned(flat, tokens, [[0, 1, 0], [2, 3, 2]], min_prob=0.500001).distribution.n_candidates == 0


def test_scores_of_any_size_stay_finite() -> None:
    tokens = reference.parsed(reference.PARSES["ud2"])
    spans = mentions_from_parse(tokens)
    weights = np.where(np.random.default_rng(0).random(256) < 0.5, -3e38, 3e38).astype(np.float32)
    dist = pruned(AntecedentModel(weights, np.zeros(0, np.uint32), SMALL), tokens, spans).distribution
    assert np.isfinite(dist.scores).all()
    np.testing.assert_allclose([dist.row(i)[1].sum() + dist.new_probs[i] for i in range(len(spans))], 1.0, atol=1e-12)


# --- edges -------------------------------------------------------------------------------------------------


def test_a_document_without_mentions_or_tokens_has_an_empty_distribution() -> None:
    nothing = Tokens([], [], [], [], np.zeros(0, int), np.zeros(0, int))
    for tokens in (nothing, reference.parsed("a a DET 0 root")):
        scored = pruned(model(), tokens, [])
        assert (scored.distribution.n_mentions, scored.n_dropped, scored.dropped_mass.shape) == (0, 0, (0,))


def test_mentions_nested_deeper_than_any_are_scored() -> None:
    n = 90
    tokens = Tokens(["a"] * n, ["a"] * n, ["NOUN"] * n, ["dep"] * n, np.full(n, -1), np.zeros(n, int))
    spans = [(t, n, n - 1) for t in range(n)]
    doc = encoded(tokens, spans)
    assert doc.atoms[:, codes.Atom.NESTING].tolist() == [min(i, 3) for i in range(n)]
    assert pruned(model(), tokens, array(spans)).distribution.n_mentions == n


@pytest.mark.parametrize(
    ("weights", "vocabulary", "parameter"),
    [([0], [], "weights"), ([0] * 3, [], "weights"), ([0, math.nan], [], "weights"), ([0, 0], [1, 1], "vocabulary")],
)
def test_a_model_of_bad_arrays_is_rejected(weights: list[float], vocabulary: list[int], parameter: str) -> None:
    with error(ParameterError, parameter):
        AntecedentModel(np.array(weights, np.float32), np.array(vocabulary, np.uint32), SMALL)


# --- documents ---------------------------------------------------------------------------------------------

SENTENCE = (
    "The the DET 2 det\ndog dog NOUN 3 nsubj\nsaw see VERB 0 root\nits its PRON 5 nmod:poss\ntail tail NOUN 3 obj"
)
DAY = datetime.date(1999, 5, 1)


def scored(**fields: object) -> ScoredDocument:
    dist = cs.AntecedentDistribution.from_lists([[], [0], [0, 1]], [[], [9.0], [9.0, 9.0]])
    spans = np.array([[0, 2, 1], [3, 5, 4], [3, 4, 3]])
    return dataclasses.replace(ScoredDocument("a", spans, dist, tokens=reference.parsed(SENTENCE)), **fields)  # type: ignore[arg-type]


def annotated() -> AnnotatedDocument:
    return AnnotatedDocument(
        "b",
        reference.parsed(SENTENCE),
        np.array([[0, 2, 1], [3, 4, 3]]),
        ["e1", "e1"],
        date=DAY,
        metadata={"genre": "tale"},
    )


def test_a_scored_document_gets_new_scores_and_keeps_the_rest() -> None:
    document = scored(date=DAY, gold=[1, None, 1], metadata={"genre": "tale"})
    again = next(score_documents(model(), [document]))
    assert (again.doc_id, again.date, again.gold, again.metadata) == ("a", DAY, [1, None, 1], {"genre": "tale"})
    np.testing.assert_array_equal(again.mentions, document.mentions)
    wanted = score_mentions(model(), [document.tokens], [document.mentions], MIN_PROB, None)[0].distribution
    np.testing.assert_array_equal(again.antecedents.probs, wanted.probs)


def test_a_subject_and_an_object_are_no_candidates_of_each_other() -> None:
    tokens = reference.parsed(SENTENCE)
    mentions = mentions_from_parse(tokens)
    free = pruned(model(), tokens, mentions, min_prob=0.0).distribution
    kept = score_mentions(model(), [tokens], [mentions], 0.0, None)[0].distribution
    apart = cannot_link_pairs(tokens, mentions)
    assert len(apart) > 0
    np.testing.assert_array_equal(kept.probs, free.without_links(apart).probs)


def test_an_annotated_document_becomes_a_scored_one_with_its_gold() -> None:
    made = next(score_documents(model(), [annotated()]))
    assert (made.doc_id, made.date, made.gold, made.metadata) == ("b", DAY, ["e1", "e1"], {"genre": "tale"})
    assert made.mentions.tolist() == [[0, 2, 1], [3, 4, 3]]


def test_mentions_from_the_parse_have_the_entity_of_the_same_span() -> None:
    tally = ScoringTally()
    (made,) = score_documents(model(), [annotated()], mentions="parse", min_prob=0.0, tally=tally)
    assert made.mentions.tolist() == [[0, 2, 1], [3, 5, 4], [3, 4, 3]]
    assert made.gold == ["e1", None, "e1"]
    assert (tally.n_documents, tally.n_mentions, tally.n_candidates, tally.n_without_gold) == (1, 3, 1, 1)


def test_a_tally_adds_up_what_was_left_out() -> None:
    tally, documents = ScoringTally(), [scored(), scored(doc_id="b", gold=[None, 1, 1])]
    list(score_documents(model(), documents, min_prob=0.5, tally=tally))
    each = [score_mentions(model(), [d.tokens], [d.mentions], 0.5, None)[0] for d in documents]
    assert tally.n_dropped == sum(pruned.n_dropped for pruned in each) > 0
    assert tally.n_candidates == sum(pruned.distribution.n_candidates for pruned in each)
    assert tally.dropped_mass == pytest.approx(sum(pruned.dropped_mass.sum() for pruned in each))
    assert tally.mean_dropped_mass == pytest.approx(tally.dropped_mass / 6)
    assert (tally.n_mentions, tally.n_without_gold) == (6, 1)
    assert ScoringTally().mean_dropped_mass == 0.0


def test_documents_are_scored_one_by_one() -> None:
    def corpus() -> object:
        yield scored()
        raise AssertionError("the second document was asked for too early")

    assert next(score_documents(model(), corpus())).doc_id == "a"  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("document", "options", "parameter"),
    [
        (scored(tokens=None), {}, None),
        *(
            (scored(), {name: value}, name)
            for name, value in (("scheme", "ptb"), ("mentions", "gold"), ("min_prob", 2))
        ),
        (scored(tokens=reference.parsed(SENTENCE.replace("nsubj", "SBJ"))), {}, None),
    ],
)
def test_documents_without_scores_are_named(
    document: ScoredDocument, options: dict[str, object], parameter: str | None
) -> None:
    with error(ParameterError, parameter, None if parameter == "mentions" else "doc_id 'a'"):
        list(score_documents(model(), [document], **options))  # type: ignore[arg-type]


# --- the English model -----------------------------------------------------------------------------------------


def test_the_model_is_loaded_once_and_is_small() -> None:
    assert load_scorer() is load_scorer()
    assert load_scorer() is load_scorer("en")
    assert Path(scorer_file()).stat().st_size < 1_000_000


def test_the_model_is_of_texts_whose_licence_allows_it() -> None:
    barred = {"bio", "voyage", "fiction", "whow", "essay", "letter", "podcast", "reddit"}
    sources = pd.read_csv(data_file("english_sources.csv"))
    assert len(sources)
    assert not barred & set(sources["genre"])
    assert load_scorer().provenance


# --- clashes of number, gender and person ---------------------------------------------------------------------

SCHEMES = ("ud2", "ud1", "clearnlp")
PLURAL, THING, CONJOINED = "a singular noun before a plural one", "a plural noun and a thing", "conjoined names"


def text_of(name: str, pronoun: str, scheme: str) -> Tokens:
    """A sentence by its name, followed by one whose subject is the pronoun."""
    lemma = {"Her": "her"}.get(pronoun, pronoun.lower())
    after = f"{pronoun} {lemma} PRON 2 nsubj | 2 nsubj\nsmiled smile VERB 0 root | 0 ROOT\n. . PUNCT 2 punct | 2 punct"
    texts = neutral_sentences.SENTENCES[name], after
    return reference.parsed("\n\n".join(neutral_sentences.notations(text)[scheme] for text in texts))


def mention_texts(tokens: Tokens, spans: np.ndarray) -> list[str]:
    return [" ".join(tokens.text[start:end]) for start, end, _ in spans.tolist()]


def spans_of(tokens: Tokens) -> np.ndarray:
    """Mentions found in the parse, and conjoined ones as a whole, which the parse's mentions leave out."""
    found = mentions_from_parse(tokens).tolist()
    places = [t for t, word in enumerate(tokens.text) if word == "and"]
    found += [[t - 1, t + 2, t - 1] for t in places]
    return np.array(sorted(found, key=lambda span: (span[0], -span[1])), np.int32)


def antecedents(tokens: Tokens) -> dict[str, float]:
    """P(a = k) of the last mention by the English model, by the candidate's words."""
    spans = spans_of(tokens)
    dist, names = pruned(load_scorer(), tokens, spans, min_prob=0.0).distribution, mention_texts(tokens, spans)
    candidates, probs = dist.row(len(spans) - 1)
    return {names[k]: float(p) for k, p in zip(candidates.tolist(), probs.tolist(), strict=True)}


# --- what the features say ---------------------------------------------------------------------------------


def noun_phrase(*words: str) -> Tokens:
    """A phrase of words with their parts of speech, heads and labels, in UD version 2."""
    return reference.parsed("\n".join(f"{w.split('/')[0]} {' '.join(w.split('/'))}" for w in words))


POET = "poet/NOUN/0/root"


@pytest.mark.kernels
@pytest.mark.parametrize(
    ("words", "number", "quantity"),
    [
        # One person may be both: "she, a poet and painter".
        (("a/DET/2/det", POET, "and/CCONJ/4/cc", "painter/NOUN/2/conj"), 0, 0),
        (("the/DET/2/det", POET, "and/CCONJ/5/cc", "the/DET/5/det", "painter/NOUN/2/conj"), 2, codes.SEVERAL),
        (("a/DET/2/det", POET, "and/CCONJ/5/cc", "his/PRON/5/nmod:poss", "wife/NOUN/2/conj"), 2, codes.SEVERAL),
        # The determiner belongs to a word that is no conjunct.
        (("a/DET/2/det", POET, "of/ADP/5/case", "the/DET/5/det", "city/NOUN/2/nmod", "and/CCONJ/7/cc",
          "painter/NOUN/2/conj"), 0, 0),
        (("poets/NOUN/0/root", "and/CCONJ/3/cc", "painters/NOUN/1/conj"), 2, codes.SEVERAL),
        (("Mary/PROPN/0/root", "and/CCONJ/3/cc", "Peter/PROPN/1/conj"), 2, codes.SEVERAL),
        (("the/DET/2/det", "king/NOUN/0/root"), 1, codes.ONE_PERSON),
        (("the/DET/2/det", POET), 1, 0),  # by the lists a person of either gender
        (("the/DET/2/det", "table/NOUN/0/root"), 1, 0),
        (("it/PRON/0/root",), 1, 0),
        (("they/PRON/0/root",), 2, 0),  # perhaps one person
        (("she/PRON/0/root", "and/CCONJ/3/cc", "Peter/PROPN/1/conj"), 2, 0),
    ],
)  # fmt: skip
def test_a_phrase_is_one_or_several_where_that_is_sure(words: tuple[str, ...], number: int, quantity: int) -> None:
    tokens = noun_phrase(*words)
    lemmas = [word.removesuffix("s") if word in ("poets", "painters") else word for word in tokens.text]
    tokens = dataclasses.replace(tokens, lemma=lemmas)
    head = tokens.dep.index("root")
    doc = encoded(tokens, [[0, len(tokens), head]], (), "ud2")
    assert (doc.atoms[0, codes.Atom.NUMBER], doc.facts[0, codes.Fact.QUANTITY]) == (number, quantity)


@pytest.mark.kernels
def test_two_names_of_one_clause_are_encoded_as_names_that_and_joins() -> None:
    clause = noun_phrase("Iran/PROPN/2/nsubj", "met/VERB/0/root", "Mary/PROPN/2/obj")
    joined = noun_phrase("Iran/PROPN/4/nsubj", "and/CCONJ/3/cc", "Mary/PROPN/1/conj", "left/VERB/0/root")
    docs = [encoded(tokens, [[0, 3, 0], [0, 1, 0]], (), "ud2") for tokens in (clause, joined)]
    columns = ("KIND", "CLASS", "SORT", "HEAD", "MEANING", "NUMBER", "GENDER", "AGREEMENT", "NAMING", "ROLE")
    of_clause, of_joined = (doc.atoms[:, [getattr(codes.Atom, each) for each in columns]].tolist() for doc in docs)
    assert of_clause == of_joined
    facts = [doc.facts[0, [codes.Fact.JOINED, codes.Fact.QUANTITY]].tolist() for doc in docs]
    assert facts == 2 * [[codes.COORDINATED, codes.SEVERAL]]


@pytest.mark.kernels
def test_one_person_and_several_have_a_score_reduced_by_the_penalty() -> None:
    # Weights of 0: without the penalty, all candidates and NEW were equally probable.
    tokens = text_of(PLURAL, "He", "ud2")
    flat = AntecedentModel(np.zeros(256, np.float32), np.zeros(0, np.uint32), DEFAULT_TEMPLATES)
    spans = spans_of(tokens)
    dist = pruned(flat, tokens, spans, min_prob=0.0).distribution
    scores = dist.scores[dist.indptr[2] : dist.indptr[3]]
    assert dict(zip(mention_texts(tokens, spans), scores.tolist(), strict=False)) == {
        "The doctor": 0.0,
        "the reporters": -codes.CLASH_PENALTY,
    }


# --- what the English model makes of it --------------------------------------------------------------------


@pytest.mark.kernels
@pytest.mark.parametrize(
    ("name", "description", "bonus"),
    [
        ("ZYX ZYX PROPN 2 nsubj", "old old ADJ 3 amod\nrebels rebel", 4.5 + 1.5 + 2.0 - 1.0),
        ("ZYX ZYX PROPN 2 obj", "airline airline", 4.5),
        ("Zyx Zyx PROPN 2 nsubj", "airline airline", 4.0 + 1.5),
        ("in in ADP 2 case\nZyx Zyx PROPN 3 obl", "city city", 4.0),
        ("Zyx Zyx PROPN 2 nsubj", "dog dog", 0.0),
    ],
)
def test_the_score_of_a_description_and_a_name_is_raised(name: str, description: str, bonus: float) -> None:
    n_modifiers = description.count("\n")
    sentence = f"the the DET {2 + n_modifiers} det\n{description} NOUN 0 root"
    tokens = reference.parsed(f"{name}\nwent go VERB 0 root\n\n{sentence}")
    first, head = name.count("\n"), len(tokens) - 1
    mentions = [(first, first + 1, first), (first + 2, head + 1, head)]
    distribution = pruned(model(scale=0.0), tokens, mentions, min_prob=0.0, scheme="ud2").distribution
    assert np.log(distribution.probs[0] / distribution.new_probs[1]) == pytest.approx(bonus)


@pytest.mark.kernels
@pytest.mark.parametrize(("verb", "bonus"), [("say", 4.0), ("see", 1.9)])
def test_the_score_of_a_subject_and_it_in_a_reported_clause_is_raised(verb: str, bonus: float) -> None:
    text = f"Zyx Zyx PROPN 2 nsubj\nsaid {verb} VERB 0 root\nit it PRON 4 nsubj\nfell fall VERB 2 ccomp"
    tokens = reference.parsed(text)
    distribution = pruned(model(scale=0.0), tokens, [(0, 1, 0), (2, 3, 2)], min_prob=0.0, scheme="ud2").distribution
    assert np.log(distribution.probs[0] / distribution.new_probs[1]) == pytest.approx(bonus)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("pronoun", ["He", "She"])
def test_he_and_she_do_not_take_plural_nouns(pronoun: str, scheme: str) -> None:
    found = antecedents(text_of(PLURAL, pronoun, scheme))
    assert found["the reporters"] < 0.001
    assert found["The doctor"] > 0.5
    # The only persons in the text: the model without features for clashes gave 0.91 and 0.75.
    assert antecedents(text_of(THING, pronoun, scheme))["The soldiers"] < 0.05
