"""Entity queries of a document: which there are, and which are true, against the definition tried entity by entity."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.stats
import tolerance
from expected_errors import error
from hypothesis import given, settings
from hypothesis import strategies as st
from references import events as er
from references import recalibration as rr
from strategies import documents as strategies
from strategies.documents import Lists

from corefsample import (
    AntecedentDistribution,
    InputError,
    ParameterError,
    Recalibration,
    ScoredDocument,
    Tokens,
    sample_clusterings,
)
from events.queries import _kernels as _query_kernels
from events.queries._queries import MENTION_TYPES, DocumentQueries, QueryTable, match_queries, mention_types
from events.queries._score import QueryScore

AS_IT_IS = Recalibration()
VERBS = ("see", "run", "say")

# Ann saw cats. They ran. He said: a name, a plural noun, and pronouns as subjects of run and say.
STORY = [
    "Ann/PROPN>2:nsubj saw=see/VERB>0:root cats=cat/NOUN>2:obj",
    "they/PRON>2:nsubj ran=run/VERB>0:root",
    "he/PRON>2:nsubj said=say/VERB>0:root",
]
LINKS = {1: {0: -9.0}, 2: {0: -1.0, 1: 1.0}, 3: {0: 2.0, 1: -2.0, 2: 0.5}}


def story(sentences: list[str] = STORY, gold: list[int | str | None] | None = None, **more: Any) -> ScoredDocument:
    document = er.scored(er.json_document("d", "2000-01-01", sentences, LINKS, **more))
    return dataclasses.replace(document, gold=gold)


def queries_of(document: ScoredDocument, **options: Any) -> DocumentQueries:
    """Queries with every mention an entity of its own, so that none is left out."""
    return match_queries(dataclasses.replace(document, gold=list(range(document.n_mentions))), **options)


def names_of(queries: DocumentQueries) -> set[tuple[str, str]]:
    return {(MENTION_TYPES[m], verb) for verb in queries.verbs for m in np.flatnonzero(queries.present_types)}


def marked(queries: DocumentQueries, matrix: Any) -> set[tuple[str, str]]:
    """Queries marked in a matrix of verbs and types."""
    return {(MENTION_TYPES[m], queries.verbs[v]) for v, m in np.argwhere(matrix)}


# --- what is asked ------------------------------------------------------------------------------------------


def test_a_document_has_queries_of_its_types_and_the_verbs_of_its_pronouns() -> None:
    queries = queries_of(story())
    types = ("name", "plural noun")
    assert names_of(queries) == {(mention_type, verb) for mention_type in types for verb in ("run", "say")}
    assert queries.n_queries == 4


@pytest.mark.parametrize(
    ("sentence", "role", "verbs"),
    [
        ("they/PRON>2:nsubj ran=run/VERB>0:root", "subject", ["run"]),
        ("it/PRON>3:nsubj:pass was=be/AUX>3:aux:pass seen=see/VERB>0:root", "subject", []),
        ("it/PRON>3:nsubj:pass was=be/AUX>3:aux:pass seen=see/VERB>0:root", "passive_subject", ["see"]),
        ("Ann/PROPN>2:nsubj saw=see/VERB>0:root it/PRON>2:obj", "object", ["see"]),
        ("Ann/PROPN>2:nsubj Saw=See/VERB>0:root it/PRON>2:obj", "object", ["see"]),
        ("they/PRON>3:nsubj are=be/AUX>3:cop glad/ADJ>0:root", "subject", []),  # glad is no verb
        ("cats=cat/NOUN>2:nsubj ran=run/VERB>0:root", "subject", []),  # cats is no pronoun
    ],
)
def test_a_verb_makes_a_query_if_a_pronoun_fills_the_role(sentence: str, role: str, verbs: list[str]) -> None:
    assert list(queries_of(story([sentence]), role=role).verbs) == verbs


def test_clearnlp_and_universal_dependencies_ask_the_same() -> None:
    clearnlp = [sentence.replace(":obj", ":dobj") for sentence in STORY]
    clearnlp[0] += " now/ADV>2:npadvmod"  # a label that is ClearNLP's alone
    one, other = queries_of(story(clearnlp)), queries_of(story())
    assert names_of(one) == names_of(other)


@pytest.mark.parametrize(
    ("token", "extra", "expected"),
    [
        ("Ann/PROPN", {}, "name"),
        ("cats=cat/NOUN", {}, "plural noun"),
        ("children=child/NOUN", {}, "plural noun"),
        ("cat/NOUN", {}, "singular noun"),
        ("Cat=cat/NOUN", {}, "singular noun"),
        ("sheep/NOUN", {"xpos": ["NNS"]}, "plural noun"),
        ("news=new/NOUN", {"xpos": ["NN"]}, "singular noun"),
        ("news=new/NOUN", {"xpos": ["NNS"], "feats": ["Number=Sing"]}, "singular noun"),
        ("sheep/NOUN", {"xpos": ["NN"], "feats": ["Case=Nom|Number=Plur"]}, "plural noun"),
        ("cats=cat/NOUN", {"feats": ["_"]}, "plural noun"),
        ("they/PRON", {}, None),
        ("three/NUM", {}, None),
    ],
)
def test_a_mention_is_typed_by_its_head(token: str, extra: dict[str, list[str]], expected: str | None) -> None:
    tokens = Tokens(**er.token_columns([f"{token}>0:root"]), extra=extra)
    (found,) = mention_types(tokens, np.array([[0, 1, 0]], np.int32))
    assert (None if found < 0 else MENTION_TYPES[found]) == expected


# --- what is true -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gold", "expected"),
    [
        (["a", "b", "b", "a"], {("plural noun", "run"), ("name", "say")}),
        (["a", "a", "a", "c"], {("name", "run"), ("plural noun", "run")}),  # an entity may have several types
        (["a", "b", "c", "c"], set()),
    ],
)
def test_truth_is_what_gold_entities_answer(gold: list[int | str | None], expected: set[tuple[str, str]]) -> None:
    queries = match_queries(story(gold=gold))
    assert marked(queries, queries.truth) == expected
    assert marked(queries, queries.true_in([{"a": 5, "b": 1, "c": 9}[str(g)] for g in gold])) == expected


@pytest.mark.parametrize(
    ("gold", "verbs", "types", "n_left_out"),
    [
        ([None, "b", "b", "a"], ("run", "say"), ["plural noun"], 1),
        (["a", "b", None, "a"], ("say",), ["name", "plural noun"], 1),
        ([None, None, "b", "a"], ("run", "say"), [], 2),
    ],
)
def test_mentions_without_an_entity_neither_describe_nor_act(
    gold: list[int | str | None], verbs: tuple[str, ...], types: list[str], n_left_out: int
) -> None:
    queries = match_queries(story(gold=gold))
    assert queries.verbs == verbs
    assert [MENTION_TYPES[m] for m in np.flatnonzero(queries.present_types)] == types
    assert queries.n_left_out == n_left_out


def test_a_mention_without_an_entity_can_be_its_own_entity() -> None:
    queries = match_queries(story(gold=["a", "b", None, "a"]), unannotated="single")
    assert marked(queries, queries.truth) == {("name", "say")}
    assert queries.n_queries == 4


class Case(NamedTuple):
    """A distribution, types and verbs of its mentions."""

    lists: Lists
    types: list[int]
    verbs: list[set[int]]

    @property
    def queries(self) -> DocumentQueries:
        pairs = [(i, v) for i, verbs in enumerate(self.verbs) for v in sorted(verbs)]
        typed = [i for i, m in enumerate(self.types) if m >= 0]
        present = np.array([m in self.types for m in range(3)])
        return DocumentQueries(
            doc_id="d",
            verbs=VERBS,
            present_types=present,
            typed_mentions=np.array(typed, np.int32),
            types=np.array([self.types[i] for i in typed], np.int32),
            pronouns=np.array([i for i, _ in pairs], np.int32),
            pronoun_verbs=np.array([v for _, v in pairs], np.int32),
            antecedents=AntecedentDistribution.from_lists(*self.lists),
        )

    @property
    def named(self) -> tuple[list[str | None], list[set[str]]]:
        types = [None if m < 0 else MENTION_TYPES[m] for m in self.types]
        return types, [{VERBS[v] for v in verbs} for verbs in self.verbs]


@st.composite
def cases(draw: Callable[..., Any], max_mentions: int = 7) -> Case:
    lists = draw(strategies.antecedent_lists(1, max_mentions, strategies.mild_scores))
    n = len(lists.antecedents)
    types = draw(st.lists(st.integers(-1, 2), min_size=n, max_size=n))
    verbs = draw(st.lists(st.sets(st.integers(0, 2), max_size=2), min_size=n, max_size=n))
    return Case(lists, types, verbs)


@pytest.mark.kernels
@settings(max_examples=150)
@given(cases(), st.integers(0, 5))
def test_queries_are_true_in_the_samples_of_the_definition(case: Case, seed: int) -> None:
    queries = case.queries
    labels = sample_clusterings(queries.antecedents, n_samples=15, seed=seed, doc_id="d").labels
    expected = np.zeros((3, 3), np.int64)
    for row in labels.tolist():
        for mention_type, verb in rr.true_queries(row, *case.named):
            expected[VERBS.index(verb), MENTION_TYPES.index(mention_type)] += 1
    holds = np.zeros((3, 3, 15), np.uint8)
    mentions = queries.typed_mentions, queries.types, queries.pronouns, queries.pronoun_verbs
    _query_kernels.query_samples(np.ascontiguousarray(labels.T), *mentions, holds)
    np.testing.assert_array_equal(holds.sum(axis=2), expected)
    if queries.n_queries:
        np.testing.assert_array_equal(queries.hits(AS_IT_IS, n_samples=15, seed=seed), expected)


FIXED = Case(
    Lists([[], [0], [0, 1], [1, 2], [0, 3]], [[], [0.5], [-1.0, 0.25], [1.0, -0.5], [0.0, 0.75]]),
    [0, 2, -1, 1, -1],
    [set(), set(), {0}, {1}, {0, 2}],
)


def test_shares_of_samples_agree_with_enumeration() -> None:
    n_samples = 20_000
    hits = FIXED.queries.hits(Recalibration(2.0, 0.3), n_samples=n_samples)
    distribution = rr.query_distribution(rr.recalibrated(FIXED.lists, 2.0, 0.3), *FIXED.named)
    exact = np.array(
        [[distribution.get((mention_type, verb), 0.0) for mention_type in MENTION_TYPES] for verb in VERBS]
    )
    assert tolerance.plausible_counts(hits, n_samples, exact).all()
    other = rr.query_distribution(FIXED.lists, *FIXED.named)
    unlike = np.array([[other.get((mention_type, verb), 0.0) for mention_type in MENTION_TYPES] for verb in VERBS])
    assert not tolerance.plausible_counts(hits, n_samples, unlike).all()


def test_samples_go_on_where_earlier_ones_stopped() -> None:
    parts = [FIXED.queries.hits(AS_IT_IS, n_samples=50, first_sample=first) for first in (0, 50)]
    np.testing.assert_array_equal(sum(parts), FIXED.queries.hits(AS_IT_IS, n_samples=100))


def test_mentions_after_the_last_that_matters_are_not_sampled() -> None:
    # The last pronoun's verb asks; a noun after it describes; what follows is neither.
    sentences = [*STORY, "it/PRON>2:nsubj is=be/AUX>0:root"]
    queries = queries_of(story(sentences))
    assert queries.antecedents.n_mentions == 4
    whole = sample_clusterings(story(sentences).antecedents, n_samples=40, doc_id="d").labels
    expected = sum(queries.true_in(row).astype(int) for row in whole)
    np.testing.assert_array_equal(queries.hits(AS_IT_IS, n_samples=40), expected)


# --- errors -----------------------------------------------------------------------------------------------


def test_documents_without_queries_are_rejected() -> None:
    for options in ({"role": "boss"}, {"unannotated": "guess"}):
        with error(ParameterError, *options):
            match_queries(story(gold=["a"] * 4), **options)  # type: ignore[arg-type]
    for document, field in ((story(), "gold"), (dataclasses.replace(story(), tokens=None), "tokens")):
        with pytest.raises(ParameterError, match=f"doc_id 'd': {field} "):
            match_queries(document)
    with pytest.raises(InputError, match=r"tokens.dep must fit a dependency scheme"):
        queries_of(story(["they/PRON>2:SBJ ran=run/VERB>0:root"]))


def test_schemes_that_see_different_queries_need_a_choice() -> None:
    # An nmod with "by" is a passive agent in UD version 1 alone, and no label says which version it is.
    document = story(["seen=see/VERB>0:root by/ADP>3:case it/PRON>1:nmod"])
    with pytest.raises(InputError, match="labels that fit ud2 and ud1 and clearnlp, which give different queries"):
        queries_of(document, role="passive_agent")
    assert queries_of(document, role="passive_agent", scheme="ud1").verbs == ("see",)
    assert queries_of(document, role="passive_agent", scheme="ud2").verbs == ()


# --- the score ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("p", [0.0, 0.2, 0.5, 1.0])
@pytest.mark.parametrize("truth", [False, True])
def test_the_expected_brier_score_is_that_of_the_exact_probability(p: float, truth: bool) -> None:
    # Exactly: over every number of hits k of S = 7, with its binomial probability.
    score = QueryScore(n_samples=7)
    hits = np.arange(8)
    losses = score._losses(hits, np.full(8, truth))
    assert losses @ scipy.stats.binom.pmf(hits, 7, p) == pytest.approx((p - truth) ** 2, abs=1e-12)


def test_the_log_score_by_hand() -> None:
    # 3 of 4 samples: (3 + 1/2) / 5 = 0.7.
    losses = QueryScore("log", n_samples=4)._losses(np.array([3, 3]), np.array([True, False]))
    assert losses.tolist() == pytest.approx([-math.log(0.7), -math.log(0.3)])


def test_a_documents_score_is_the_sum_over_its_queries() -> None:
    document = story(gold=["a", "b", "b", "a"])
    score = QueryScore(n_samples=50, seed=3)
    queries = match_queries(document)
    hits = queries.hits(Recalibration(1.3, 0.1), n_samples=50, seed=3)
    expected = [
        (hits[v, m] / 50 - bool(queries.truth[v, m])) ** 2 - hits[v, m] * (50 - hits[v, m]) / (50**2 * 49)  # type: ignore[index]
        for v in range(2)
        for m in (0, 1)  # a name and a plural noun, no singular one
    ]
    assert score(document, Recalibration(1.3, 0.1)) == pytest.approx(math.fsum(expected))
    assert score.n_terms(document) == 4


def test_a_document_without_queries_costs_nothing() -> None:
    document = story(["cats=cat/NOUN>2:nsubj ran=run/VERB>0:root"], gold=["a"])
    assert QueryScore()(document, AS_IT_IS) == 0.0
    assert QueryScore().n_terms(document) == 0


def test_a_score_is_not_misled_by_two_documents_of_one_name() -> None:
    score = QueryScore(n_samples=20)
    one, other = story(gold=["a", "b", "b", "a"]), story(gold=["a", "b", "c", "d"])
    assert score(one, AS_IT_IS) != score(other, AS_IT_IS)
    assert score(one, AS_IT_IS) == QueryScore(n_samples=20)(one, AS_IT_IS)


@pytest.mark.parametrize("options", [{"score": "rank"}, {"n_samples": 1}, {"seed": -1}])
def test_a_score_rejects_what_it_cannot_use(options: dict[str, Any]) -> None:
    with error(ParameterError, next(iter(options))):
        QueryScore(**options)


# --- the table ----------------------------------------------------------------------------------------------


def corpus() -> list[ScoredDocument]:
    lines = rr.story_corpus(12, 9, seed=4)
    return [dataclasses.replace(er.scored(line), gold=line["gold"]) for line in lines]


def test_a_table_has_a_row_for_each_query_of_a_document() -> None:
    documents = [match_queries(document) for document in corpus()]
    table = QueryTable.of(documents)
    expected = {
        (queries.doc_id, *query): query in marked(queries, queries.truth)
        for queries in documents
        for query in names_of(queries)
    }
    frame = table.to_frame()
    assert list(frame) == ["doc_id", "mention_type", "verb", "n_documents", "truth"]
    assert dict(zip(zip(frame["doc_id"], frame["mention_type"], frame["verb"]), frame["truth"])) == expected  # noqa: B905
    counts = frame.groupby(["mention_type", "verb"])["doc_id"].nunique()
    assert all(row.n_documents == counts[row.mention_type, row.verb] for row in frame.itertuples())


def test_probabilities_are_each_documents_own_under_its_own_recalibration() -> None:
    documents = [match_queries(document) for document in corpus()]
    table = QueryTable.of(documents)
    changes = [Recalibration(1.0 + 0.1 * d, 0.05 * d) for d in range(len(table.documents))]
    probabilities = table.probabilities(changes, n_samples=30, seed=7, first_sample=2)
    frame = table.to_frame().assign(p=probabilities)
    for change, queries in zip(changes, table.documents, strict=True):
        hits = queries.hits(change, n_samples=30, seed=7, first_sample=2)
        for row in frame[frame["doc_id"] == queries.doc_id].itertuples():
            assert row.p == hits[queries.verbs.index(row.verb), MENTION_TYPES.index(row.mention_type)] / 30


@pytest.mark.parametrize(
    "documents",
    [[], [match_queries(story(["cats=cat/NOUN>0:root"], gold=["a"]))]],
)
def test_tables_of_nothing_are_rejected(documents: list[DocumentQueries]) -> None:
    with error(ParameterError, "documents"):
        QueryTable.of(documents)
