"""Clustering metrics: against their definitions, against scorch, by hand, and their posterior over samples."""

import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from entity_scores import entity_scores
from expected_errors import error
from hypothesis import given, settings, strategies as st
from references import coreference as references, metrics as reference
from references.metrics import Clustering
from scipy.optimize import linear_sum_assignment
from tolerance import plausible_means

from corefsample import AntecedentDistribution, ParameterError, map_clustering, read_documents, sample_clusterings
from corefsample.coreference._clusterings import ClusteringSamples
from corefsample.metrics._metric_counts import CONLL, METRICS, PARTS, Metric, Part, corpus_gains
from corefsample.metrics._scores import (
    ClusteringScores,
    clustering_scores,
    corpus_posterior,
    corpus_scores,
    metric_posterior,
    resampled_f1,
    score_differences,
)

every_metric = pytest.mark.parametrize("metric", METRICS)
whether_singletons = pytest.mark.parametrize("singletons", [True, False])


def values(scores: ClusteringScores, metric: str) -> tuple[float, float, float]:
    score = getattr(scores, metric)
    return score.recall, score.precision, score.f1


def agrees(scores: ClusteringScores, expected: dict[str, tuple[Fraction, Fraction, Fraction]]) -> bool:
    return all(values(scores, m) == pytest.approx([float(v) for v in expected[m]], abs=1e-12) for m in METRICS)


def letters(text: str) -> Clustering:
    """Entities as words, mentions as letters."""
    return [set(word) for word in text.split()]


def samples_of(rows: Sequence[Sequence[int]], doc_id: str = "") -> ClusteringSamples:
    return ClusteringSamples(np.array(rows, np.int32), seed=0, doc_id=doc_id)


# --- strategies -----------------------------------------------------------------------------------------

entities = st.integers(0, 3)
Labels = list[tuple[int | None, int | None]]
both_labels = st.lists(st.tuples(entities, entities), max_size=7)
partial_labels = st.lists(st.tuples(st.none() | entities, st.none() | entities), max_size=7)


def sides(labels: Sequence[tuple[Any, Any]]) -> tuple[list[Any], list[Any]]:
    return [k for k, _ in labels], [r for _, r in labels]


def partial_sides(labels: Sequence[tuple[int | None, int | None]]) -> tuple[Clustering, Clustering]:
    """Key and response whose mentions differ: None is a mention that the side has not."""
    key, response = sides(labels)
    return reference.clusters(key), reference.clusters(response)


def random_sides(seed: int, n_mentions: int, n_entities: int) -> tuple[Clustering, Clustering]:
    """Larger clusterings, the response a disturbed copy of the key, some mentions on one side alone."""
    generator = np.random.default_rng(seed)
    key: list[int | None] = generator.integers(0, n_entities, n_mentions).tolist()
    wrong = generator.random(n_mentions) < generator.random()
    response = [int(generator.integers(0, n_entities)) if w else k for k, w in zip(key, wrong, strict=True)]
    absent = generator.random((2, n_mentions)) < 0.1
    masked = [(None if a else k, None if b else r) for k, r, a, b in zip(key, response, *absent.tolist(), strict=True)]
    return partial_sides(masked)


# --- definitions -------------------------------------------------------------------------------------------


@pytest.mark.kernels
@whether_singletons
@settings(max_examples=50)
@given(labels=partial_labels)
def test_scores_follow_the_definitions(singletons: bool, labels: Labels) -> None:
    key, response = partial_sides(labels)
    found = entity_scores(key, response, singletons=singletons)
    if not singletons:
        key, response = reference.without_singletons(key), reference.without_singletons(response)
    assert agrees(found, reference.scores(key, response))


@pytest.mark.parametrize("seed", range(40))
def test_the_matching_is_the_heaviest_in_larger_documents(seed: int) -> None:
    key, response = random_sides(seed, n_mentions=20 + 4 * seed, n_entities=3 + 2 * seed)
    found = entity_scores(key, response)
    for metric, similarity in (("ceafe", reference.dice), ("ceafm", reference.common)):
        matrix = np.array([[float(similarity(a, b)) for b in response] for a in key])
        heaviest = matrix[linear_sum_assignment(matrix, maximize=True)].sum()
        assert found.counts[metric][0] == pytest.approx(heaviest, abs=1e-9)


# --- scorch ------------------------------------------------------------------------------------------------

SCORCH = {"muc": "muc", "b3": "b_cubed", "ceafe": "ceaf_e", "ceafm": "ceaf_m", "blanc": "blanc"}


def assert_as_scorch(key: Clustering, response: Clustering) -> None:
    scorch = pytest.importorskip("scorch.scores", reason="the package scorch is not installed")
    found = entity_scores(key, response)
    of_key, of_response = reference.mentions_of(key), reference.mentions_of(response)
    unshared = bool(key and response and not of_key & of_response)  # scorch raises for CEAF instead of returning 0
    for metric, name in SCORCH.items():
        if metric == "blanc" and len(of_key) < 2 and len(response) < 2 and (of_key != of_response or not of_key):
            continue  # see test_a_key_without_links_has_blanc_one_for_its_own_mention_and_zero_otherwise
        if unshared and metric in ("ceafe", "ceafm"):
            assert values(found, metric) == (0.0, 0.0, 0.0)
            continue
        expected = getattr(scorch, name)(key, response)
        assert values(found, metric) == pytest.approx(expected, abs=1e-9), metric
    if not unshared:
        assert found.conll.f1 == pytest.approx(scorch.conll2012(key, response), abs=1e-9)


@given(partial_labels)
def test_scores_equal_those_of_scorch(labels: Labels) -> None:
    assert_as_scorch(*partial_sides(labels))


@pytest.mark.parametrize("seed", range(30))
def test_scores_of_larger_documents_equal_those_of_scorch(seed: int) -> None:
    assert_as_scorch(*random_sides(seed, n_mentions=15 + 5 * seed, n_entities=2 + 2 * seed))


def test_a_key_without_links_has_blanc_one_for_its_own_mention_and_zero_otherwise() -> None:
    # No link in the key, one in the response, none correct. scorch: BLANC 1, since neither has a non-coreference link.
    assert values(entity_scores(letters("a"), letters("ab")), "blanc") == (0.0, 0.0, 0.0)
    assert values(entity_scores(letters("a"), letters("a")), "blanc") == (1.0, 1.0, 1.0)
    assert values(entity_scores(letters("a"), letters("b")), "blanc") == (0.0, 0.0, 0.0)
    assert values(entity_scores([], []), "blanc") == (0.0, 0.0, 0.0)  # as the reference scorer


# --- by hand -----------------------------------------------------------------------------------------------


@pytest.mark.kernels
def test_lea_by_hand() -> None:
    # The example of Moosavi & Strube (2016), section 4. Links found of abc: ab of 3; of defg: fg of 6.
    # Of ab: its one link; of cd: none of 1; of fghi: fg of 6.
    recall, precision = (3 * 1 / 3 + 4 * 1 / 6) / 7, (2 * 1 + 2 * 0 + 4 * 1 / 6) / 8
    expected = recall, precision, 2 * recall * precision / (recall + precision)
    assert values(entity_scores(letters("abc defg"), letters("ab cd fghi")), "lea") == pytest.approx(
        expected, abs=1e-12
    )


# --- properties --------------------------------------------------------------------------------------------


@settings(max_examples=50)
@given(both_labels, st.permutations(range(4)), st.permutations(range(4)))
def test_names_do_not_matter(labels: list[tuple[int, int]], new_keys: list[int], new_responses: list[int]) -> None:
    key, response = sides(labels)
    plain = clustering_scores(key, response)
    other = clustering_scores([f"e{new_keys[k]}" for k in key], np.array([new_responses[r] for r in response], int) - 9)
    for metric in METRICS:
        assert values(other, metric) == pytest.approx(values(plain, metric), abs=1e-12)


# --- mentions ----------------------------------------------------------------------------------------------


@whether_singletons
@settings(max_examples=50)
@given(labels=st.lists(st.tuples(st.none() | entities, entities), max_size=7))
def test_mentions_not_annotated_leave_key_and_response(singletons: bool, labels: list[tuple[int | None, int]]) -> None:
    whole = clustering_scores(*sides(labels), singletons=singletons)
    annotated = [(k, r) for k, r in labels if k is not None]
    assert whole == clustering_scores(*sides(annotated), singletons=singletons)


@whether_singletons
@settings(max_examples=25)
@given(labels=partial_labels, data=st.data())
def test_mentions_with_one_span_are_the_same(singletons: bool, labels: Labels, data: st.DataObject) -> None:
    in_key = data.draw(st.permutations([i for i, (k, _) in enumerate(labels) if k is not None]))
    in_response = data.draw(st.permutations([i for i, (_, r) in enumerate(labels) if r is not None]))
    found = clustering_scores(
        [labels[i][0] for i in in_key],
        [labels[i][1] for i in in_response],
        key_spans=[(i, i + 1) for i in in_key],
        response_spans=np.array([(i, i + 1, i) for i in in_response], int).reshape(-1, 3),
        singletons=singletons,
    )
    expected = entity_scores(*partial_sides(labels), singletons=singletons)
    for metric in METRICS:
        assert values(found, metric) == pytest.approx(values(expected, metric), abs=1e-12)


def test_several_mentions_of_one_span_are_paired_in_order() -> None:
    # The second mention of the span (0, 2) is of entity 1 on both sides; paired the other way nothing would be right.
    spans = [(0, 2), (0, 2), (3, 4), (5, 6)]
    found = clustering_scores([0, 1, 0, 1], [5, 6, 5, 6], key_spans=spans, response_spans=spans)
    assert values(found, "muc") == (1.0, 1.0, 1.0)
    # A third one, which the key does not have, is removed.
    more = clustering_scores([0, 1, 0, 1], [5, 6, 5, 6, 7], key_spans=spans, response_spans=[*spans, (0, 2)])
    assert more == found
    assert more.counts["mentions"].tolist() == [4, 4, 4]


def test_a_repeated_mention_of_the_response_counts_once() -> None:
    # Key {a} {b c} {d e f}; response {a} {b c x} {d y} {z}, with b repeated and x, which is twinless, too.
    key_spans = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6)]
    response, spans = [0, 1, 1, 1, 2, 2, 3], [(0, 1), (1, 2), (2, 3), (6, 7), (3, 4), (7, 8), (8, 9)]
    once = clustering_scores([0, 1, 1, 2, 2, 2], response, key_spans=key_spans, response_spans=spans)
    assert values(once, "muc") == pytest.approx((1 / 3, 1 / 3, 1 / 3))
    for again in (1, 3):  # in the same entity, in another
        repeated = clustering_scores(
            [0, 1, 1, 2, 2, 2], [*response, again, again], key_spans=key_spans, response_spans=[*spans, (1, 2), (6, 7)]
        )
        assert repeated == once
        assert repeated.counts["mentions"].tolist() == [6, 7, 4]


# --- corpora -----------------------------------------------------------------------------------------------


def corpus_of(documents: Sequence[Sequence[tuple[Any, Any]]]) -> list[ClusteringScores]:
    return [entity_scores(*partial_sides(document)) for document in documents]


@settings(max_examples=50)
@given(st.lists(partial_labels, min_size=1, max_size=4))
def test_the_corpus_is_scored_by_its_summed_counts(documents: list[Labels]) -> None:
    found = corpus_scores(corpus_of(documents))
    assert agrees(found, reference.corpus_scores([partial_sides(document) for document in documents]))


def test_a_corpus_gains_by_a_document_what_a_small_part_of_its_counts_adds() -> None:
    drawn = np.random.default_rng(5).integers(0, 3, (4, 2, 7)).tolist()
    pairs = [(reference.clusters(key), reference.clusters(response)) for key, response in drawn]
    rows = {metric: [reference.COUNTS[metric](*pair) for pair in pairs] for metric in CONLL}
    corpus = {metric: [sum(column) for column in zip(*rows[metric], strict=True)] for metric in CONLL}
    part, gain = Fraction(1, 10**9), Fraction(0)
    for metric in CONLL:
        later = tuple(a + part * b for a, b in zip(corpus[metric], rows[metric][0], strict=True))
        gain += (reference.triple(later)[2] - reference.triple(tuple(corpus[metric]))[2]) / part / 3
    arrays = [{metric: np.array(counts[metric], float) for metric in CONLL} for counts in (rows, corpus)]
    assert corpus_gains(*arrays)[0] == pytest.approx(float(gain), abs=1e-7)


def test_scores_with_and_without_singletons_raise() -> None:
    both = [clustering_scores([0, 0], [0, 0], singletons=keep) for keep in (True, False)]
    with pytest.raises(ParameterError, match="documents must be scored all with or all without singletons, got both"):
        corpus_scores(both)


# --- posterior ---------------------------------------------------------------------------------------------

SCORES = [[], [0.4], [-0.3, 0.8], [0.1, 0.6, -0.5], [0.9, -0.2, 0.3, 0.0]]
CANDIDATES: list[list[int]] = [list(range(i)) for i in range(5)]
GOLD: list[str | None] = ["x", "x", "y", None, "y"]


def five_mentions(n_samples: int = 4000) -> ClusteringSamples:
    distribution = AntecedentDistribution.from_lists(CANDIDATES, SCORES)
    return sample_clusterings(distribution, n_samples=n_samples, seed=5, doc_id="five")


def exact_mean(metric: str, part: int) -> float:
    """Mean over all 52 clusterings of the five mentions."""
    clusterings = references.clustering_probs(references.softmax_rows(CANDIDATES, SCORES))
    total = 0.0
    for labels, probability in clusterings.items():
        annotated = [(g, r) for g, r in zip(GOLD, labels, strict=True) if g is not None]
        total += probability * float(reference.scores(*partial_sides(annotated))[metric][part])  # type: ignore[arg-type]
    return total


@every_metric
def test_the_posterior_mean_equals_the_exact_one_within_its_monte_carlo_error(metric: Metric) -> None:
    found = [metric_posterior(GOLD, five_mentions(), metric=metric, part=part) for part in PARTS]
    expected = [exact_mean(metric, part) for part in range(3)]
    assert plausible_means([p.mean for p in found], expected, [p.mc_se for p in found]).all()


@whether_singletons
@every_metric
def test_posterior_values_are_the_scores_of_the_samples(metric: Metric, singletons: bool) -> None:
    samples = five_mentions(40)
    each = [clustering_scores(GOLD, row, singletons=singletons) for row in samples.labels]
    for p, part in enumerate(PARTS):
        found = metric_posterior(GOLD, samples, metric=metric, part=part, singletons=singletons)
        assert found.values.tolist() == pytest.approx([values(scores, metric)[p] for scores in each], abs=1e-12)


def test_blocks_change_no_score() -> None:
    samples = five_mentions(30_000)  # 25,000 samples of the four annotated mentions make a block
    found = metric_posterior(GOLD, samples).values
    for s in (0, 24_999, 25_000, 29_999):
        assert found[s] == pytest.approx(clustering_scores(GOLD, samples.labels[s]).conll.f1, abs=1e-12)


def test_the_posterior_has_a_standard_deviation_and_a_monte_carlo_error() -> None:
    # B3 recall 1 and (2 * 1/2)/2 = 1/2, twice each: mean 3/4, sd sqrt(4 / 3) / 4, and half of it after four samples.
    found = metric_posterior([1, 1], samples_of([[0, 0], [0, 1], [0, 1], [0, 0]]), metric="b3", part="recall")
    assert found.values.tolist() == [1.0, 0.5, 0.5, 1.0]
    assert found.mean == 0.75
    assert found.sd == pytest.approx(np.sqrt(4 / 3) / 4)
    assert found.mc_se == pytest.approx(found.sd / 2)
    assert (found.lower, found.upper) == (0.5, 1.0)
    assert (found.n_samples, found.level, found.metric, found.part) == (4, 0.95, "b3", "recall")


def test_where_all_samples_agree_the_monte_carlo_error_is_bounded() -> None:
    # 100 samples of B3 recall 1/2: other values have probability 1 - 0.05 ** 0.01 at most, and are 1/2 away.
    found = metric_posterior([1, 1], samples_of([[0, 1]] * 100), metric="b3", part="recall")
    assert found.sd == 0.0
    assert (found.lower, found.upper) == (0.5, 0.5)
    assert found.mc_se == pytest.approx((1 - 0.05**0.01) / 2)


def test_a_posterior_over_mentions_found_by_the_system() -> None:
    samples = samples_of([[0, 0, 2], [0, 1, 1]])
    spans, gold_spans = [(0, 1), (2, 3), (4, 5)], [(0, 1), (2, 3), (6, 7)]
    found = metric_posterior(["a", "a", "a"], samples, metric="muc", gold_spans=gold_spans, response_spans=spans)
    # Two links in the key. The first response has its one link right, the second none: 2 * 1 / (2 + 1) and 0.
    assert found.values.tolist() == pytest.approx([2 / 3, 0.0])


def four_documents(n_samples: int = 30) -> list[tuple[list[str | None], ClusteringSamples]]:
    """The last one has no annotation, so nothing to score."""
    golds: list[list[str | None]] = [GOLD, ["a", "a", "b", "b", "b"], ["a", "b", "c", "d", "e"], [None] * 5]
    distribution = AntecedentDistribution.from_lists(CANDIDATES, SCORES)
    drawn = []
    for number, gold in enumerate(golds):
        drawn.append((gold, sample_clusterings(distribution, n_samples=n_samples, doc_id=f"d{number}")))
    return drawn


@whether_singletons
@every_metric
def test_sample_s_of_every_document_is_sample_s_of_the_corpus(metric: Metric, singletons: bool) -> None:
    documents = four_documents()
    each = [
        corpus_scores(clustering_scores(gold, samples.labels[s], singletons=singletons) for gold, samples in documents)
        for s in range(30)
    ]
    for p, part in enumerate(PARTS):
        found = corpus_posterior(
            metric_posterior(gold, samples, metric=metric, part=part, singletons=singletons)
            for gold, samples in documents
        )
        assert found.values.tolist() == pytest.approx([values(one, metric)[p] for one in each], abs=1e-12)


# --- bad input ---------------------------------------------------------------------------------------------


def raises(message: str) -> Any:
    return pytest.raises(ParameterError, match=f"^{re.escape(message)}$")


@pytest.mark.parametrize(
    ("key", "parameter"),
    [
        *((key, "key") for key in (None, "ab", {0, 1}, [0], np.array([[0, 1]]))),
        *(([0, bad], "key[1]") for bad in (1.5, True, [1])),
        (np.array([1.0, np.nan]), "key[0]"),
    ],
)
def test_invalid_labels_raise(key: Any, parameter: str) -> None:
    with error(ParameterError, parameter):
        clustering_scores(key, [0, 1])


@pytest.mark.parametrize("spans", [None, [(0, 1)], [0, 1], [(0, 1), (1, 2, 1)], [(0.0, 1.0), (1.0, 2.0)]], ids=str)
def test_invalid_spans_raise(spans: Any) -> None:
    with error(ParameterError, "response_spans" if spans else "key_spans"):
        clustering_scores([0, 1], [0, 1], key_spans=[(0, 1), (1, 2)], response_spans=spans)


@pytest.mark.parametrize(
    ("option", "value"), [("metric", "rand"), ("part", "f2"), ("level", 1.0), ("gold_spans", [(0, 1)])]
)
def test_invalid_options_of_a_posterior_raise(option: str, value: Any) -> None:
    with error(ParameterError, option):
        metric_posterior([0], samples_of([[0], [0]]), **{option: value})


def test_a_posterior_needs_gold_and_samples() -> None:
    for gold in (None, [0, 1]):
        with error(ParameterError, "gold"):
            metric_posterior(gold, samples_of([[0], [0]]))
    with error(ParameterError, "samples"):
        metric_posterior([0], [[0], [0]])  # type: ignore[arg-type]
    with error(ParameterError, "samples.n_samples"):
        metric_posterior([0], samples_of([[0]]))


@pytest.mark.parametrize("bring_together", [corpus_scores, corpus_posterior])
def test_a_corpus_without_documents_raises(bring_together: Callable[[Any], Any]) -> None:
    with raises("documents must have at least one document, got none"):
        bring_together([])


def posterior(doc_id: str, n_samples: int = 2, metric: Metric = "b3", part: Part = "f1", **options: Any) -> Any:
    return metric_posterior([0, 0], samples_of([[0, 1]] * n_samples, doc_id), metric=metric, part=part, **options)


@pytest.mark.parametrize(
    "options", [{"n_samples": 3}, {"metric": "muc"}, {"part": "recall"}, {"level": 0.5}, {"singletons": False}, {}]
)
def test_posteriors_of_different_kinds_or_of_one_document_raise(options: dict[str, Any]) -> None:
    name = next(iter(options), "doc_ids")
    with pytest.raises(ParameterError, match=f"^documents must have .*{name}.* got .*'{'b' if options else 'a'}'"):
        corpus_posterior([posterior("a"), posterior("b" if options else "a", **options)])


# --- resampled documents -----------------------------------------------------------------------------------


def two_documents() -> tuple[list[ClusteringScores], list[ClusteringScores]]:
    """Documents of a good system and of one that joins all."""
    keys = [[0, 0, 1], [0, 0, 1, 1, 1]]
    good = [clustering_scores(key, response) for key, response in zip(keys, [[0, 0, 1], [0, 0, 0, 1, 1]], strict=True)]
    return good, [clustering_scores(key, [0] * len(key)) for key in keys]


def test_resampled_scores_are_those_of_the_drawn_documents() -> None:
    good, joined = two_documents()
    draws = resampled_f1([good, joined], n_resamples=4000, seed=1)
    # Two documents: the first twice with 1/4, both with 1/2, the second twice with 1/4.
    corpora = [(good[i], good[j]) for i, j in ((0, 0), (0, 1), (1, 1))]
    others = [(joined[i], joined[j]) for i, j in ((0, 0), (0, 1), (1, 1))]
    for m, metric in enumerate(METRICS):
        pairs = [
            tuple(getattr(corpus_scores(list(each)), metric).f1 for each in both)
            for both in zip(corpora, others, strict=True)
        ]
        # The same documents for both systems.
        found = [np.isclose(draws[:, :, m].T, pair, rtol=0, atol=1e-12).all(axis=1) for pair in pairs]
        assert np.any(found, axis=0).all()
        if len(set(pairs)) == 3:
            n_each = np.sum(found, axis=1)
            # Five standard deviations of a binomial number.
            assert np.all(np.abs(n_each - 4000 * np.array([0.25, 0.5, 0.25])) < 5 * np.sqrt(4000 * 0.25))


def test_the_difference_of_two_systems_has_the_interval_of_its_resamples() -> None:
    good, joined = two_documents()
    draws = resampled_f1([good, joined], n_resamples=2000, seed=1)
    b3 = score_differences(good, joined, draws, level=0.9).set_index("metric").loc["b3"]
    gaps = sorted((draws[0] - draws[1])[:, METRICS.index("b3")].tolist())
    assert b3["difference"] == pytest.approx(corpus_scores(good).b3.f1 - corpus_scores(joined).b3.f1)
    assert gaps[99] <= b3["lower"] <= gaps[100]
    assert gaps[1899] <= b3["upper"] <= gaps[1900]
    assert b3["p_value"] == pytest.approx(2 / 2001)  # no resample in which the worse one is as good
    same = score_differences(good, good, np.stack([draws[0], draws[0]]), level=0.9)
    assert (same[["lower", "upper", "p_value"]].to_numpy() == (0.0, 0.0, 1.0)).all()


# --- real documents ----------------------------------------------------------------------------------------


def test_likeliest_clusterings_of_the_real_corpus_have_the_published_scores(gum_path: Path) -> None:
    held_out = [document for document in read_documents(gum_path) if document.metadata["split"] in ("dev", "test")]
    scores = [clustering_scores(document.gold or [], map_clustering(document.antecedents)) for document in held_out]
    assert len(scores) == 60
    # By another scorer, to three digits.
    assert np.mean([each.conll.f1 for each in scores]) == pytest.approx(0.791, abs=5e-4)
    drawn = corpus_posterior(
        metric_posterior(document.gold, sample_clusterings(document.antecedents, n_samples=20, doc_id=document.doc_id))
        for document in held_out
    )
    assert drawn.upper < corpus_scores(scores).conll.f1
    assert drawn.mc_se < 0.001
