"""The spaCy component: its posterior against the engine and enumeration, its groups, settings and serialisation."""

import io
import json
import pickle
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
import tolerance
from expected_errors import error
from hypothesis import given, settings, strategies as st
from places import EN_CORE_WEB_SM, EN_GUM_UD, PROJECT, blocks
from references import coreference as references, mention_ranking as ranking_references
from references.events import entities
from spacy.tokens import Doc, DocBin
from spacy.vocab import Vocab
from spacy_stubs import add_parser, loaded, parsed_doc as parsed
from strategies import documents as strategies

import corefsample as cs
from corefsample import AntecedentDistribution, InputError, ParameterError, Recalibration, Tokens, scorers
from corefsample.posterior._posterior import DocumentPosterior
from corefsample.recalibration import UncertainRecalibration, read_recalibration
from corefsample.recalibration._model import N_KINDS
from corefsample.scorers import load_scorer
from corefsample.scorers._scoring import score_mentions
from corefsample.scorers.log_linear._encoding import DEFAULT_TEMPLATES
from corefsample.scorers.log_linear._model import AntecedentModel, on_grid
from corefsample.scorers.protocol import MIN_PROB, MentionSource
from corefsample.spacy_bridge._posterior import store
from corefsample.spacy_bridge.component import is_scored, posterior_of
from corefsample.spacy_bridge.documents import doc_of_tokens, tokens_of_doc, word_offsets
from corefsample.syntax._mentions import mentions_from_parse
from corefsample.syntax._words import mention_kinds

PAGE = PROJECT / "docs" / "spacy.md"
ENGLISH = Path(scorers.__file__).parent / "log_linear" / "data" / "english.npz"
VOCAB = Vocab()
SCHEMES = list(ranking_references.PARSES)


def scored(model: AntecedentModel, tokens: Tokens, mentions: Any, min_prob: float = MIN_PROB) -> AntecedentDistribution:
    return score_mentions(model, [tokens], [np.asarray(mentions)], min_prob, None)[0].distribution


def random_model(seed: int) -> AntecedentModel:
    steps, scale = on_grid(np.random.default_rng(seed).normal(0.0, 0.3, 1 << 10).astype(np.float32))
    weights = steps.astype(np.float32) * np.float32(scale)  # as in a file
    return AntecedentModel(weights, np.zeros(0, np.uint32), DEFAULT_TEMPLATES)


@pytest.fixture(scope="session")
def model_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "random.npz"
    random_model(1).save(path)
    return path


@pytest.fixture
def pipeline(model_path: Path) -> Callable[..., Any]:
    """Make a pipeline that takes parsed Docs."""

    def make(**config: Any) -> Any:
        nlp = spacy.blank("en")
        nlp.add_pipe("corefsample", config={"model": str(model_path), **config})
        return nlp

    return make


def spaced(nlp: Any) -> Any:
    """His dog, <line break> which he loved, left <blank> him. Tokens of whitespace stand within and at the end."""
    return Doc(
        nlp.vocab,
        words=["His", "dog", "\n", "barked", ".", " ", "He", "left", " ", "the", " ", "dog", ".", "\n\n"],
        heads=[1, 3, 1, 3, 3, 4, 7, 7, 7, 11, 9, 7, 7, 12],
        deps="nmod:poss nsubj dep root punct dep nsubj root dep det dep obj punct dep".split(),  # noqa: SIM905
        pos="PRON NOUN SPACE VERB PUNCT SPACE PRON VERB SPACE DET SPACE NOUN PUNCT SPACE".split(),  # noqa: SIM905
        lemmas=["his", "dog", "\n", "bark", ".", " ", "he", "leave", " ", "the", " ", "dog", ".", "\n\n"],
    )


def stored(lists: strategies.Lists, *, n_samples: int = 200, seed: int = 0) -> Any:
    """A Doc of one-word mentions with this distribution over their antecedents."""
    n = len(lists.antecedents)
    doc = Doc(VOCAB, words=[f"w{i}" for i in range(n)])
    rows = np.stack([np.arange(n), np.arange(n) + 1, np.arange(n)], axis=1).astype(np.int32)
    distribution = cs.AntecedentDistribution.from_lists(lists.antecedents, lists.scores)
    store(doc, cs.ScoredDocument("a", rows, distribution), seed=seed, n_samples=n_samples)
    return doc


# --- against the engine ------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_component_gives_the_scores_of_the_model_for_the_same_tokens(
    pipeline: Any, model_path: Path, scheme: str
) -> None:
    nlp = pipeline(n_samples=50, seed=7)
    doc = nlp(parsed(nlp, scheme))
    tokens = ranking_references.parsed(ranking_references.PARSES[scheme])
    rows = mentions_from_parse(tokens)
    distribution = scored(load_scorer(model_path), tokens, rows)
    posterior = doc._.coref
    assert [(span.start, span.end) for span in posterior.mentions] == [(start, end) for start, end, _ in rows]
    assert distribution.n_candidates > 20
    assert posterior.distribution == distribution
    marginals = cs.link_marginals(distribution)
    assert np.array_equal(posterior.link_marginals, marginals)
    a, b = posterior.mentions[2], posterior.mentions[9]
    assert posterior.link_probability(a, b) == posterior.link_probability(9, 2) == marginals[2, 9]
    drawn = cs.sample_clusterings(distribution, n_samples=50, seed=7, doc_id=posterior.doc_id)
    assert np.array_equal(posterior.samples.labels, drawn.labels)
    assert np.array_equal(posterior.labels(3), drawn.labels[3])
    assert np.array_equal(posterior.labels("map"), cs.map_clustering(distribution))


def replace_english(monkeypatch: pytest.MonkeyPatch, model: AntecedentModel) -> None:
    """Load this model in place of the English one of the package; files are loaded as before."""
    load = scorers.load_scorer
    monkeypatch.setattr(scorers, "load_scorer", lambda name, *args: model if name is None else load(name, *args))


def test_the_model_of_the_package_is_the_default(pipeline: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    replace_english(monkeypatch, random_model(2))
    nlp = pipeline(model=None)
    doc = nlp(parsed(nlp))
    tokens = tokens_of_doc(doc)
    mentions = mentions_from_parse(tokens)
    distribution = scored(random_model(2), tokens, mentions)
    change = read_recalibration("english").recalibration
    expected = change.apply(distribution, mention_kinds(tokens, mentions))
    assert np.array_equal(doc._.coref.distribution.scores, expected.scores)
    assert doc._.coref.scored_document().metadata == {"recalibration": change.fingerprint()}
    plain = pipeline(model=None, recalibration="none")
    found = plain(parsed(plain))._.coref
    assert np.array_equal(found.distribution.scores, distribution.scores)
    assert not found.scored_document().metadata


# --- doc_id and seed ---------------------------------------------------------------------------------------


def test_without_a_doc_id_it_is_a_digest_of_the_text(pipeline: Any) -> None:
    nlp = pipeline()
    ids = [nlp(doc)._.coref.doc_id for doc in (parsed(nlp), parsed(nlp, "clearnlp"), spaced(nlp))]
    assert ids[0] == ids[1] != ids[2]  # the same text in two schemes
    assert re.fullmatch(r"text-[0-9a-f]{32}", ids[0])


@pytest.mark.parametrize("doc_id", ["", 3, b"a"])
def test_a_doc_id_that_is_not_a_name_is_rejected(pipeline: Any, doc_id: Any) -> None:
    nlp = pipeline()
    doc = parsed(nlp)
    doc.user_data["doc_id"] = doc_id
    with pytest.raises(ParameterError, match=r"doc.user_data\['doc_id'\] must be a non-empty string, got "):
        nlp(doc)


# --- mentions and spans ------------------------------------------------------------------------------------


def test_whitespace_changes_nothing_but_the_offsets(pipeline: Any) -> None:
    nlp = pipeline()
    doc = nlp(spaced(nlp))
    bare = nlp(doc_of_tokens(tokens_of_doc(doc), nlp.vocab))
    assert doc._.coref.distribution == bare._.coref.distribution
    # His dog, His, He, the <blank> dog
    assert [(span.start, span.end) for span in doc._.coref.mentions] == [(0, 2), (0, 1), (6, 7), (9, 12)]
    assert [(span.start, span.end) for span in bare._.coref.mentions] == [(0, 2), (0, 1), (4, 5), (6, 8)]
    assert doc._.coref.link_probability(doc[0:2], doc[9:12]) == bare._.coref.link_probability(bare[0:2], bare[6:8])
    # whitespace at the ends of a span does not count
    assert [doc._.coref.number(span) for span in (doc[0:3], doc[5:7], doc[8:12])] == [0, 2, 3]


def test_mentions_can_be_those_of_a_group_in_any_order(pipeline: Any, model_path: Path) -> None:
    nlp = pipeline(mentions="mine")
    doc = spaced(nlp)
    doc.spans["mine"] = [doc[8:12], doc[6:7], doc[0:1], doc[0:3], doc[6:7]]
    posterior = nlp(doc)._.coref
    assert [span.text for span in posterior.mentions] == ["His dog", "His", "He", "He", "the   dog"]
    rows = [[0, 2, 1], [0, 1, 0], [4, 5, 4], [4, 5, 4], [6, 8, 7]]
    distribution = scored(load_scorer(model_path), tokens_of_doc(doc), rows)
    assert np.array_equal(posterior.distribution.scores, distribution.scores)
    assert posterior.number(doc[6:7]) == 2  # the first of the two
    assert [(span.start, span.end) for span in doc.spans["mine"]] == [(8, 12), (6, 7), (0, 1), (0, 3), (6, 7)]


def test_a_doc_without_the_group_of_mentions_is_rejected(pipeline: Any) -> None:
    nlp = pipeline(mentions="mine")
    doc = spaced(nlp)
    doc.spans["other"] = []
    with pytest.raises(ParameterError, match=r"^doc.spans must have the group 'mine' of mentions, got other$"):
        nlp(doc)
    doc.spans["mine"] = [doc[2:3]]
    doc.user_data["doc_id"] = "nyt-1"
    with error(ParameterError, place="doc_id 'nyt-1'"):
        nlp(doc)
    assert not is_scored(doc)


def test_what_is_not_a_mention_is_rejected(pipeline: Any) -> None:
    nlp = pipeline()
    doc, other = nlp(spaced(nlp)), nlp(spaced(nlp))
    posterior = doc._.coref
    for mention in (doc[3:4], doc[2:3], other[0:2], 4, -1, True, doc[0], "His dog"):
        with error(ParameterError, "mention"):
            posterior.antecedents(mention)
        with error(ParameterError, "mention"):
            posterior.join_probability(0, [1, mention])


@pytest.mark.parametrize("text", ["", "\n\n", "Run!"])
def test_a_text_without_mentions_has_an_empty_posterior(pipeline: Any, text: str) -> None:
    nlp = pipeline(sample_groups=1)
    words = {"": [], "\n\n": ["\n\n"], "Run!": ["Run", "!"]}[text]
    n = len(words)
    pos, deps = ["VERB", "PUNCT"][:n], ["root", "punct"][:n]
    doc = Doc(nlp.vocab, words=words, heads=[0] * n, deps=deps, pos=pos, lemmas=words)
    posterior = nlp(doc)._.coref
    assert posterior.mentions == posterior.clusters() == ()
    assert posterior.samples.labels.shape == (1000, 0)
    assert len(posterior.to_frame()) == 0
    assert list(doc.spans) == ["coref_map", "coref_sample_0"]


# --- antecedents -------------------------------------------------------------------------------------------


def test_antecedents_are_sorted_likeliest_first_then_nearest_first() -> None:
    doc = stored(strategies.Lists([[], [0], [0, 1], [2, 0, 1]], [[], [1.0], [0.0, 0.0], [-1.0, 2.0, -1.0]]))
    posterior = doc._.coref
    distribution = posterior.antecedents(doc[3:4])
    # e^2 + 2 e^-1 + 1 = 9.1248
    assert distribution.mentions.tolist() == [0, 2, 1]
    assert [span.text for span in distribution.spans] == ["w0", "w2", "w1"]
    assert distribution.probs == pytest.approx([0.80977, 0.040317, 0.040317], rel=1e-4)
    assert distribution.new_prob == pytest.approx(0.109592, rel=1e-4)
    assert distribution.span.start == 3
    assert not any(array.flags.writeable for array in (distribution.probs, distribution.mentions))
    assert repr(distribution) == "SpanAntecedents('w3', NEW: 0.110, 'w0': 0.810, 'w2': 0.040, 'w1': 0.040)"
    assert posterior.antecedents(2).mentions.tolist() == [1, 0]
    assert distribution.to_frame()["start"].tolist() == [0, 2, 1]
    assert (posterior.antecedents(0).spans, posterior.antecedents(0).new_prob) == ((), 1.0)


# --- the probability that a span joins a cluster -----------------------------------------------------------


def joins(clustering: tuple[int, ...], mention: int, cluster: list[int], members: str) -> bool | None:
    """Whether the mention joins in one clustering, computed with sets; None if the given cluster is not one entity."""
    (home,) = [entity for entity in entities(clustering) if mention in entity]
    if members == "any":
        return bool(home & set(cluster))
    if members == "together" and not any(set(cluster) <= entity for entity in entities(clustering)):
        return None
    return set(cluster) <= home


@given(lists=strategies.antecedent_lists(min_mentions=3, scores=strategies.mild_scores), data=st.data())
@settings(max_examples=40)
def test_a_join_probability_is_the_share_of_samples_with_the_join(lists: strategies.Lists, data: st.DataObject) -> None:
    doc = stored(lists, n_samples=60)
    n = len(lists.antecedents)
    mention = data.draw(st.integers(0, n - 1))
    others = [i for i in range(n) if i != mention]
    cluster = data.draw(st.lists(st.sampled_from(others), min_size=2, unique=True))
    posterior = doc._.coref
    for members in ("any", "all", "together"):
        all_votes = [joins(tuple(row), mention, cluster, members) for row in posterior.samples.labels.tolist()]
        votes = [vote for vote in all_votes if vote is not None]
        spans = [doc[i : i + 1] for i in [*cluster, mention]]  # the one that joins does not count
        if not votes:
            with pytest.raises(ParameterError, match="cluster must be one entity in at least one sample"):
                posterior.join_probability(mention, spans, members=members)
            continue
        found = posterior.join_probability(doc[mention : mention + 1], spans, members=members)
        assert (found.probability, found.n_samples, found.exact) == (sum(votes) / len(votes), len(votes), False)
        p = found.probability
        usual = (p * (1 - p) / len(votes)) ** 0.5
        assert found.mc_se == pytest.approx(usual if 0 < p < 1 else 1 - 0.05 ** (1 / len(votes)), rel=1e-9)


def test_join_probabilities_agree_with_enumeration() -> None:
    lists = strategies.Lists(
        [[], [0], [0, 1], [1, 2], [0, 2, 3]], [[], [0.5], [1.0, -0.5], [0.2, 0.4], [0.1, 1.2, -0.3]]
    )
    n_samples = 20_000
    posterior = stored(lists, n_samples=n_samples, seed=3)._.coref
    distribution = references.clustering_probs(references.softmax_rows(lists.antecedents, lists.scores))
    checks = []
    for mention, cluster in [(4, [0, 2]), (0, [1, 3]), (2, [0, 3, 4])]:
        for members in ("any", "all", "together"):
            votes = [(joins(clustering, mention, cluster, members), p) for clustering, p in distribution.items()]
            given_mass = sum(p for vote, p in votes if vote is not None)
            exact = sum(p for vote, p in votes if vote) / given_mass
            found = posterior.join_probability(mention, cluster, members=members)
            checks.append((round(found.probability * found.n_samples), found.n_samples, exact))
    assert len({round(exact, 6) for _, _, exact in checks}) == len(checks)
    for hits, n, exact in checks:
        assert tolerance.plausible_counts([hits] * len(checks), n, [exact] * len(checks)).all()


@pytest.mark.parametrize("members", ["any", "all", "together"])
def test_joining_one_mention_is_the_link_marginal_and_exact(members: Any) -> None:
    doc = stored(strategies.Lists([[], [0], [0, 1]], [[], [1.0], [-1.0, -2.0]]))
    found = doc._.coref.join_probability(doc[2:3], [doc[0:1], doc[0:1], doc[2:3]], members=members)
    assert found.exact
    assert (found.probability, found.mc_se) == (doc._.coref.link_probability(0, 2), 0.0)


def test_a_cluster_without_other_mentions_is_rejected() -> None:
    doc = stored(strategies.Lists([[], [0]], [[], [1.0]]))
    for cluster in ([], [doc[1:2]]):
        with pytest.raises(ParameterError, match="cluster must have a mention other than the one that joins, got none"):
            doc._.coref.join_probability(doc[1:2], cluster)
    with error(ParameterError, "members"):
        doc._.coref.join_probability(1, [0], members="most")


# --- clusterings -------------------------------------------------------------------------------------------

FOUR = strategies.Lists([[], [0], [], [1, 2]], [[], [9.0], [], [-9.0, 9.0]])  # 0 and 1, 2 and 3


def texts(groups: Any) -> list[list[str]]:
    return [[span.text for span in group] for group in groups]


def test_clusters_are_by_first_mention() -> None:
    posterior = stored(FOUR)._.coref
    assert texts(posterior.clusters()) == [["w0", "w1"], ["w2", "w3"]]
    assert texts(posterior.clusters([7, 3, 7, 7])) == [["w0", "w2", "w3"], ["w1"]]
    assert texts(posterior.clusters([7, 3, 7, 7], min_size=2)) == [["w0", "w2", "w3"]]
    assert posterior.labels([7, 3, 7, 3]).tolist() == [0, 1, 0, 1]
    assert texts(posterior.clusters(np.int64(5))) == texts(posterior.clusters(posterior.samples.labels[5]))


@pytest.mark.parametrize("clustering", ["best", 200, -1, [0, 1], [0.0, 1.0, 2.0, 3.0], True], ids=str)
def test_what_is_not_a_clustering_is_rejected(clustering: Any) -> None:
    doc = stored(FOUR)
    for ask in (doc._.coref.labels, doc._.coref.clusters):
        with error(ParameterError, "clustering"):
            ask(clustering)
    with error(ParameterError, "clustering"):
        doc._.coref.add_clustering(clustering, key="k")
    assert list(doc.spans) == []


def named_by_hand(map_sets: list[set[int]], sets: list[set[int]]) -> dict[frozenset[int], str]:
    """Names of entities: repeatedly the two with the largest overlap; the others are named by first mention."""
    mine = {frozenset(entity): f"E{n}" for n, entity in enumerate(sorted(map_sets, key=min), start=1)}
    its, names = sorted(map(frozenset, sets), key=min), {}
    while any(each & other for each in mine for other in its):
        best = max(((a, b) for a in mine for b in its), key=lambda pair: (len(pair[0] & pair[1]), -min(pair[0])))
        rivals = [b for b in its if len(best[0] & b) == len(best[0] & best[1])]
        names[rivals[0]] = mine.pop(best[0])
        its.remove(rivals[0])
    return names | {entity: f"M{min(entity)}" for entity in its}


@given(lists=strategies.antecedent_lists(scores=strategies.mild_scores), data=st.data())
@settings(max_examples=60)
def test_an_entity_is_called_as_that_of_map_that_it_shares_most_with(
    lists: strategies.Lists, data: st.DataObject
) -> None:
    posterior = stored(lists, n_samples=3)._.coref
    n = posterior.n_mentions
    mine = entities(posterior.labels("map").tolist())
    clusterings = ["map", 0, 1, 2, data.draw(st.lists(st.integers(0, 5), min_size=n, max_size=n))]
    for clustering in clusterings:
        its = entities(posterior.labels(clustering).tolist())
        expected = named_by_hand(mine, its)
        assert posterior.entity_names(clustering) == tuple(
            expected[frozenset(entity)] for i in range(n) for entity in its if i in entity
        )


def test_a_clustering_is_written_as_one_group_or_as_one_group_per_entity() -> None:
    doc = stored(strategies.Lists([[], [0], [], [0]], [[], [9.0], [], [9.0]]))
    group = doc._.coref.add_clustering(key="best")
    assert [span.label_ for span in doc.spans["best"]] == ["E1", "E1", "E2", "E1"]
    assert texts([group]) == [["w0", "w1", "w2", "w3"]]
    assert (group.name, group.attrs) == ("best", {"clustering": "map"})
    doc._.coref.add_clustering(4, key="drawn")
    assert doc.spans["drawn"].attrs == {"clustering": 4}
    groups = doc._.coref.add_clusters([0, 1, 2, 2], prefix="mine")
    assert texts(groups) == [["w2", "w3"]]
    assert texts([doc.spans["mine_1"]]) == [["w2", "w3"]]
    assert doc.spans["mine_1"].attrs == {"entity": "E2"}
    assert [span.label_ for span in doc.spans["mine_1"]] == ["E2", "E2"]
    assert len(doc._.coref.add_clusters([0, 1, 2, 2], prefix="all", min_size=1)) == 3
    for bad in ("", 3):
        with error(ParameterError, "key"):
            doc._.coref.add_clustering(key=bad)


def test_the_component_writes_the_map_clustering_and_the_samples_asked_for(pipeline: Any) -> None:
    nlp = pipeline(sample_groups=2, spans_key="who")
    doc = parsed(nlp)
    doc.spans["mine"] = [doc[0:1]]
    doc.spans["who_clusters_99"] = doc.spans["who_sample_7"] = [doc[0:1]]
    posterior = nlp(doc)._.coref
    clusters = posterior.clusters(min_size=2)
    assert len(clusters) >= 1
    names = [f"who_clusters_{i + 1}" for i in range(len(clusters))]
    assert set(doc.spans) == {"mine", "who_map", "who_sample_0", "who_sample_1", *names}
    assert texts(doc.spans[name] for name in names) == texts(clusters)
    for key, clustering in [("who_map", "map"), ("who_sample_0", 0), ("who_sample_1", 1)]:
        assert [span.label_ for span in doc.spans[key]] == list(posterior.entity_names(clustering))
        assert texts([doc.spans[key]]) == texts([posterior.mentions])


# --- through spaCy and back --------------------------------------------------------------------------------


def by_docbin(doc: Any) -> Any:
    packed = DocBin(docs=[doc], store_user_data=True).to_bytes()
    (again,) = DocBin().from_bytes(packed).get_docs(spacy.blank("en").vocab)
    return again


def by_pickle(doc: Any) -> Any:
    return pickle.loads(pickle.dumps(doc))


@pytest.mark.parametrize("way", [by_docbin, by_pickle])
def test_a_posterior_is_serialised_with_its_doc(pipeline: Any, way: Callable[[Any], Any]) -> None:
    nlp = pipeline(sample_groups=1, n_samples=20, seed=2**64 - 1)
    doc = nlp(spaced(nlp))
    _ = doc._.coref.link_marginals, doc._.coref.samples  # cached results must not be serialised
    again = way(doc)
    one, other = doc._.coref, again._.coref
    assert other.doc is again is not doc
    assert one.distribution == other.distribution
    assert np.array_equal(one.samples.labels, other.samples.labels)
    assert (one.doc_id, one.seed, one.n_samples) == (other.doc_id, other.seed, other.n_samples)
    assert [(span.start, span.end) for span in one.mentions] == [(span.start, span.end) for span in other.mentions]
    assert [[(key, span.start, span.end, span.label_) for span in group] for key, group in again.spans.items()] == [
        [(key, span.start, span.end, span.label_) for span in group] for key, group in doc.spans.items()
    ]
    assert other.link_probability(again[0:2], again[9:12]) == one.link_probability(0, 3)


def test_a_docbin_without_user_data_loses_the_posterior_and_says_so(pipeline: Any) -> None:
    nlp = pipeline()
    packed = DocBin(docs=[nlp(spaced(nlp))]).to_bytes()
    (again,) = DocBin().from_bytes(packed).get_docs(nlp.vocab)
    assert not is_scored(again)
    with pytest.raises(ParameterError, match=r"got one without its posterior \(a DocBin keeps it with store_user_data"):
        _ = again._.coref
    assert "coref_map" in again.spans


def test_a_posterior_of_other_words_is_rejected(pipeline: Any) -> None:
    nlp = pipeline()
    doc = nlp(spaced(nlp))
    part = doc[6:13].as_doc(copy_user_data=True)
    with pytest.raises(ParameterError, match=r"words that were scored \(9\), got others \(5\) \(score the Doc again\)"):
        _ = part._.coref
    _ = doc._.coref
    with doc.retokenize() as retokenizer:
        retokenizer.merge(doc[0:2])
    with error(ParameterError, "doc"):
        _ = doc._.coref
    other = Doc(nlp.vocab, words=["x"] * 9, user_data=dict(doc.user_data))
    with error(ParameterError, "doc"):
        _ = other._.coref


def npz(**changes: Any) -> bytes:
    """The arrays of a stored posterior with changes."""
    stream = io.BytesIO()
    with np.load(io.BytesIO(stored(FOUR).user_data["corefsample"]["arrays"])) as arrays:
        np.savez(
            stream, **{**arrays, **{name: np.array(values, arrays[name].dtype) for name, values in changes.items()}}
        )
    return stream.getvalue()


@pytest.mark.parametrize(
    "change",
    [
        *({"version": 1}, {"seed": None}, {"arrays": b"1234"}, {"arrays": npz(scores=np.zeros(0))}),
        {"arrays": npz(mentions=[[0, 1, 0], [1, 9, 1], [2, 3, 2], [3, 4, 3]])},
    ],
)
def test_a_damaged_posterior_is_rejected(change: dict[str, Any]) -> None:
    doc = stored(FOUR)
    doc.user_data["corefsample"] = {**doc.user_data["corefsample"], **change}
    with pytest.raises(ParameterError, match=r"^doc.user_data\['corefsample'\]"):
        _ = doc._.coref


# --- pipelines ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_process", [1, 2])
def test_streams_and_single_docs_give_the_same_result(pipeline: Any, n_process: int) -> None:
    nlp = pipeline(n_samples=10)
    alone = [nlp(parsed(nlp))._.coref, nlp(spaced(nlp))._.coref]
    streamed = list(nlp.pipe([parsed(nlp), spaced(nlp)], n_process=n_process, batch_size=1))
    for one, doc in zip(alone, streamed, strict=True):
        assert one.distribution == doc._.coref.distribution
        assert np.array_equal(one.samples.labels, doc._.coref.samples.labels)


@pytest.fixture(params=["disk", "bytes"])
def reloaded(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., Any]:
    """Save a pipeline and load it, with changes to its config."""

    def to_and_from_disk(nlp: Any, **changes: Any) -> Any:
        nlp.to_disk(tmp_path / "saved")
        overrides = {f"components.corefsample.{name}": value for name, value in changes.items()}
        return spacy.load(tmp_path / "saved", config=overrides)

    def to_and_from_bytes(nlp: Any, **changes: Any) -> Any:
        config = nlp.config.copy()
        config["components"]["corefsample"].update(changes)
        return spacy.blank("en").from_config(config).from_bytes(nlp.to_bytes())

    return to_and_from_disk if request.param == "disk" else to_and_from_bytes


def recalibration_by_kind(path: Path, seed: int = 0) -> Recalibration:
    """Write a record with offsets by kind of mention and antecedent."""
    offsets = np.random.default_rng(seed).normal(0.0, 1.0, (N_KINDS + 1) * N_KINDS).round(3).tolist()
    recalibration = Recalibration(1.5, 0.25, tuple(offsets))
    path.write_text(json.dumps(UncertainRecalibration(recalibration).to_json()), encoding="utf-8")
    return recalibration


def test_a_saved_pipeline_carries_its_model_and_its_recalibration(pipeline: Any, tmp_path: Path, reloaded: Any) -> None:
    model, path, other = tmp_path / "away.npz", tmp_path / "away.json", tmp_path / "other.json"
    random_model(3).save(model)
    recalibration_by_kind(path)
    recalibration_by_kind(other, seed=1)
    nlp = pipeline(model=str(model), recalibration=str(path), n_samples=17)
    expected, direct = nlp(parsed(nlp))._.coref, pipeline(model=str(model), recalibration=str(other))
    wanted = direct(parsed(direct))._.coref
    model.unlink()
    path.unlink()
    again, changed = reloaded(nlp), reloaded(nlp, recalibration=str(other))
    found = again(parsed(again))._.coref
    assert (found.distribution, found.n_samples) == (expected.distribution, 17)
    assert changed(parsed(changed))._.coref.distribution == wanted.distribution


def test_samples_have_the_draws_of_an_uncertain_recalibration(pipeline: Any, tmp_path: Path, reloaded: Any) -> None:
    """Of two draws one makes every mention NEW, and the other keeps the scores."""
    draws = (Recalibration(1.0, 50.0), Recalibration())
    path = tmp_path / "r.json"
    path.write_text(json.dumps(UncertainRecalibration(Recalibration(1.5), draws).to_json()), encoding="utf-8")
    nlp = pipeline(recalibration=str(path), n_samples=100)
    saved = reloaded(nlp, recalibration=str(path))
    for each in (nlp, saved):
        posterior = each(parsed(each))._.coref
        alone = (posterior.samples.labels == np.arange(posterior.n_mentions)).all(axis=1)
        document = posterior.scored_document()
        uncertain = read_recalibration(path)
        expected = DocumentPosterior.of(document, uncertain).clusterings(n_samples=100, seed=posterior.seed)
        assert np.array_equal(posterior.samples.labels, expected.labels)
        assert 0.4 < alone.mean() < 0.7
        assert np.array_equal(posterior.labels("map"), cs.map_clustering(posterior.distribution))
        estimate = cs.summaries.point_estimate(posterior.samples, loss="binder").labels
        assert np.array_equal(posterior.labels("binder"), estimate)


def test_a_folder_or_bytes_of_something_else_are_rejected(pipeline: Any, tmp_path: Path) -> None:
    component = pipeline().get_pipe("corefsample")
    with pytest.raises(InputError, match=r"component.msgpack: must be readable, got: No such file"):
        component.from_disk(tmp_path)
    for content in (b"", b"\x90", b"\x80", b"\xc1"):
        with pytest.raises(InputError, match="bytes_data must be of a component corefsample, got something else"):
            component.from_bytes(content)


def test_a_missing_model_is_rejected_before_the_first_text_is_read(pipeline: Any, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("no model")
    calls: list[int] = []

    def documents(nlp: Any) -> Iterator[Any]:
        calls.append(1)
        yield parsed(nlp)

    for name in ("notes.txt", "none.npz"):
        nlp = pipeline(model=str(tmp_path / name))
        with error(InputError, place=name):
            list(nlp.pipe(documents(nlp)))
        with error(InputError, place=name):
            nlp(parsed(nlp))
    assert calls == []


SETTINGS = [
    *(("n_samples", 0), ("seed", -1), ("min_prob", 1.0), ("scheme", "ptb"), ("mentions", ""), ("model", "")),
    *(("mentions", "coref_clusters_1"), ("spans_key", ""), ("spans_key", None), ("sample_groups", 1001)),
]


def test_scheme_and_min_prob_are_those_of_the_engine(pipeline: Any, model_path: Path) -> None:
    nlp = pipeline(min_prob=0.05, scheme="ud2")
    doc = nlp(parsed(nlp))
    tokens = tokens_of_doc(doc)
    distribution = scored(load_scorer(model_path), tokens, mentions_from_parse(tokens), 0.05)
    assert np.array_equal(doc._.coref.distribution.scores, distribution.scores)
    assert distribution.n_candidates < distribution.n_mentions * (distribution.n_mentions - 1) // 2
    with error(ParameterError):
        nlp(parsed(nlp, "clearnlp"))


@pytest.mark.parametrize(("name", "value"), SETTINGS)
def test_a_setting_outside_its_range_is_rejected_when_it_is_added(pipeline: Any, name: str, value: Any) -> None:
    with error(ParameterError, name):
        pipeline(**{name: value})


# --- no parser ---------------------------------------------------------------------------------------------


def test_a_doc_without_a_parse_is_rejected(pipeline: Any) -> None:
    nlp = pipeline()
    for ask in (lambda: nlp("He left."), lambda: list(nlp.pipe(["He left."]))):
        with error(ParameterError, "doc"):
            ask()
    mixed = Doc(nlp.vocab, words=["He", "left"], heads=[1, 1], deps=["SUBJ", "root"], pos=["X"] * 2, lemmas=["a"] * 2)
    mixed.user_data["doc_id"] = "nyt-1"
    with error(ParameterError, place="doc_id 'nyt-1'"):
        nlp(mixed)
    assert not is_scored(mixed)


# --- how spaCy finds it ------------------------------------------------------------------------------------


def registered() -> bool:
    return any(point.name == "corefsample" for point in metadata.entry_points(group="spacy_factories"))


def test_spacy_finds_the_component_by_itself_and_loads_nothing_heavy_for_it() -> None:
    if not registered():
        pytest.skip("the installed package has no entry point: install it again")
    program = """
import sys, spacy
nlp = spacy.blank("en")
heavy = [name for name in ("numba", "pandas", "scipy", "pyarrow", "matplotlib") if name in sys.modules]
nlp.add_pipe("corefsample")
print(heavy, nlp.pipe_names, nlp.get_pipe_meta("corefsample").assigns)
"""
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert finished.stderr == ""
    assert finished.stdout.strip() == "[] ['corefsample'] ['doc._.coref', 'doc.spans']"


def test_an_extension_of_others_is_not_taken_over(pipeline: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    Doc.set_extension("coref", default=None, force=True)
    try:
        with pytest.raises(ParameterError, match=r"^doc._.coref must be free, got an extension of another package"):
            pipeline()
    finally:
        Doc.set_extension("coref", getter=posterior_of, force=True)


# --- the real thing ----------------------------------------------------------------------------------------

TEXT = (
    "The president met his brother in Paris.\n\n"
    "He told him that the president of  France would visit the city. They left it."
)


@pytest.fixture(scope="module", params=[EN_GUM_UD, EN_CORE_WEB_SM], ids=lambda path: path.name)
def real(request: pytest.FixtureRequest) -> Any:
    """Real pipelines, one with labels of Universal Dependencies and one with ClearNLP's."""
    return loaded(request.param)


def test_a_real_pipeline_is_scored_and_saved(real: Any, model_path: Path, tmp_path: Path) -> None:
    real.add_pipe("corefsample", config={"model": str(model_path)})
    try:
        doc = real(TEXT)
        tokens = tokens_of_doc(doc)
        rows = mentions_from_parse(tokens)
        distribution = scored(load_scorer(model_path), tokens, rows)
        assert np.array_equal(doc._.coref.link_marginals, cs.link_marginals(distribution))
        offsets = word_offsets(doc)
        assert [span.start for span in doc._.coref.mentions] == offsets[rows[:, 0]].tolist()
        assert "the president of  France" in [span.text for span in doc._.coref.mentions]
        assert real.analyze_pipes()["problems"]["corefsample"] == []
        with real.select_pipes(disable=["parser"]), error(ParameterError, "doc"):
            real(TEXT)
        real.to_disk(tmp_path / "saved")
        (again,) = spacy.load(tmp_path / "saved").pipe([TEXT])
        assert doc._.coref.distribution == again._.coref.distribution
    finally:
        real.remove_pipe("corefsample")


# --- the page ----------------------------------------------------------------------------------------------

PARSE = """
The the DET 2 det
mayor mayor NOUN 3 nsubj
met meet VERB 0 ROOT
her her PRON 5 poss
brother brother NOUN 3 dobj
. . PUNCT 3 punct

He he PRON 2 nsubj
said say VERB 0 ROOT
that that SCONJ 6 mark
she she PRON 6 nsubj
had have AUX 6 aux
left leave VERB 2 ccomp
the the DET 8 det
city city NOUN 6 dobj
. . PUNCT 2 punct
"""


def stand_in(_: str) -> Any:
    """A pipeline whose parser knows one text."""
    nlp = spacy.blank("en")
    add_parser(nlp, ranking_references.parsed(PARSE))
    return nlp


with_page = pytest.mark.skipif(not PAGE.exists(), reason="the pages are beside the sources alone")


@with_page
def test_the_examples_of_the_page_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(spacy, "load", stand_in)
    if not ENGLISH.exists():
        replace_english(monkeypatch, random_model(2))
    names: dict[str, Any] = {}
    examples = blocks(PAGE, "python")
    assert len(examples) == 6
    for block in examples:
        exec(compile(block, str(PAGE), "exec"), names)
    assert [span.text for span in (names["mayor"], names["she"])] == ["The mayor", "she"]
    assert not names["joined"].exact
    assert names["again"]._.coref.distribution == names["posterior"].distribution
    (document,) = cs.read_documents("scored.jsonl.gz")
    assert (document.doc_id, document.n_mentions) == ("nyt-1", 6)
    assert names["scored"]._.coref.doc_id.startswith("text-")
    assert names["scored"]._.coref.link_probability(4, 0) == 1.0
    assert "brother" in names["html"]
    assert "DocPosterior(doc_id='text-" in capsys.readouterr().out


@pytest.mark.parametrize(("mentions", "source"), [("parse", "parse"), ("found", "annotated")])
def test_the_spanish_model_of_the_package_is_that_of_the_mentions(mentions: str, source: MentionSource) -> None:
    nlp = spacy.blank("es")
    component = nlp.add_pipe("corefsample", config={"model": "es", "mentions": mentions})
    assert component.antecedent_model.provenance == load_scorer("es", source).provenance
