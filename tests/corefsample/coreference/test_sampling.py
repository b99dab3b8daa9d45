"""Draws of clusterings: what they depend on, what they may contain, and how often they contain it."""

import itertools
import random
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from expected_errors import error
from hypothesis import given, strategies as st
from references import coreference as references
from strategies import documents as strategies
from strategies.documents import Lists
from tolerance import plausible_counts, plausible_table

import corefsample as cs
from corefsample._random import document_key
from corefsample.coreference._clusterings import ClusteringSamples, sample_rescored
from corefsample.coreference._conditioning import Conditioned

Labels = npt.NDArray[np.int32]


def drawn_lists(n_mentions: int, seed: int, scale: float = 1.5, most: int = 12) -> Lists:
    """Some fixed distribution: the nearest candidates of each mention, scores that vary."""
    generator = np.random.default_rng(seed)
    antecedents = [list(range(max(0, i - most), i)) for i in range(n_mentions)]
    return Lists(antecedents, [generator.normal(-0.5, scale, len(row)).tolist() for row in antecedents])


FULL_6 = drawn_lists(6, seed=1)
SKEWED_6 = drawn_lists(6, seed=2, scale=4.0)
DENSE_30 = drawn_lists(30, seed=3, most=29)
SPARSE_40 = drawn_lists(40, seed=4, scale=3.0, most=4)
FIXED = {"full_6": FULL_6, "skewed_6": SKEWED_6, "dense_30": DENSE_30, "sparse_40": SPARSE_40}
every_fixed = pytest.mark.parametrize("lists", FIXED.values(), ids=FIXED.keys())


def draw(lists: Lists, n_samples: int, **keywords: int | str) -> Labels:
    distribution = cs.AntecedentDistribution.from_lists(*lists)
    return cs.sample_clusterings(distribution, n_samples=n_samples, **keywords).labels  # type: ignore[arg-type]


# --- what a sample depends on ------------------------------------------------------------------------------


@pytest.mark.parametrize("cuts", [[1], [100], [127, 128, 129], [128, 256, 512], [333, 334, 999]])
def test_samples_drawn_in_parts_are_those_drawn_at_once(cuts: list[int]) -> None:
    bounds = [0, *cuts, 1000]
    parts = [draw(SPARSE_40, end - first, seed=3, first_sample=first) for first, end in itertools.pairwise(bounds)]
    np.testing.assert_array_equal(np.concatenate(parts), draw(SPARSE_40, 1000, seed=3))


def test_threads_change_no_sample() -> None:
    distribution = cs.AntecedentDistribution.from_lists(*DENSE_30)
    doc_ids = [f"document {number}" for number in range(24)]

    def labels(doc_id: str) -> Labels:
        return cs.sample_clusterings(distribution, n_samples=300, seed=1, doc_id=doc_id).labels

    alone = [labels(doc_id) for doc_id in doc_ids]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(labels, reversed(doc_ids)))
    np.testing.assert_array_equal(np.stack(alone), np.stack(together[::-1]))


@pytest.mark.parametrize("other", [{"seed": 1}, {"seed": 2**64 - 1}, {"doc_id": "e"}, {"first_sample": 200}])
def test_another_seed_document_or_index_gives_other_samples(other: dict[str, int | str]) -> None:
    assert not np.array_equal(draw(DENSE_30, 200), draw(DENSE_30, 200, **other))


def test_no_global_generator_is_touched() -> None:
    python_before, numpy_before = random.getstate(), np.random.get_state(legacy=False)  # noqa: NPY002
    draw(DENSE_30, 300, seed=2)
    assert random.getstate() == python_before
    numpy_after = np.random.get_state(legacy=False)  # noqa: NPY002
    np.testing.assert_equal(numpy_after, numpy_before)


# Digests by GNU coreutils: printf '\0\0\0\0\0\0\0\0' | b2sum -l 64, and so on, seed first, then the doc_id;
# the number is the digest read little-endian.
@pytest.mark.parametrize(
    ("seed", "doc_id", "digest"),
    [(0, "", "ca08ea5bca49cc18"), (7, "gum-Zürich", "70d7ff667c3b30a5"), (2**64 - 1, "d", "d03cca8172932ad5")],
)
def test_the_key_of_a_document_is_a_published_digest(seed: int, doc_id: str, digest: str) -> None:
    assert document_key(seed, doc_id) == int.from_bytes(bytes.fromhex(digest), "little")
    assert references.document_key(seed, doc_id) == document_key(seed, doc_id)


# --- what a sample may contain --------------------------------------------------------------------------------


def long_document(n_mentions: int, links: dict[int, list[int]]) -> cs.AntecedentDistribution:
    """A document of single mentions but for a few, whose candidates all score 1."""
    antecedents = [links.get(i, []) for i in range(n_mentions)]
    return cs.AntecedentDistribution.from_lists(antecedents, [[1.0] * len(row) for row in antecedents])


def test_a_document_past_16_bits_is_sampled_as_one_within() -> None:
    # Up to 65,536 mentions a cell contains both its mentions in 16 bits each, from 65,537 on in 32.
    links = {7: [0, 3], 300: [7, 9, 299], 65_534: [0, 300], 65_535: [7, 300, 65_534]}
    within, past = (cs.sample_clusterings(long_document(n, links), n_samples=150).labels for n in (65_536, 65_537))
    np.testing.assert_array_equal(past[:, :65_536], within)
    assert set(within[:, 65_535].tolist()) >= {0, 65_534, 65_535}


# --- how often a sample contains it ---------------------------------------------------------------------------

N_SAMPLES = 20_000


@pytest.mark.parametrize("lists", [FULL_6, SKEWED_6], ids=["full_6", "skewed_6"])
@pytest.mark.parametrize("seed", [0, 1])
def test_clusterings_have_the_frequencies_of_the_enumeration(lists: Lists, seed: int) -> None:
    expected = references.clustering_probs(references.softmax_rows(*lists))
    found = Counter(map(tuple, draw(lists, N_SAMPLES, seed=seed).tolist()))
    clusterings = sorted({*expected, *found})  # those of probability 0, too
    counts = [found[clustering] for clustering in clusterings]
    assert plausible_counts(counts, N_SAMPLES, [expected.get(c, 0.0) for c in clusterings]).all()


@every_fixed
def test_links_come_as_often_as_their_exact_marginals(lists: Lists) -> None:
    labels = draw(lists, N_SAMPLES, seed=11)
    counts = sum((row[:, None] == row[None, :]).astype(np.int64) for row in labels)
    pairs = np.tril_indices(labels.shape[1], -1)
    marginals = cs.link_marginals(cs.AntecedentDistribution.from_lists(*lists))
    assert plausible_counts(np.asarray(counts)[pairs], N_SAMPLES, marginals[pairs]).all()


@every_fixed
def test_numbers_of_entities_come_as_often_as_their_exact_distribution(lists: Lists) -> None:
    distribution = cs.AntecedentDistribution.from_lists(*lists)
    n_entities = cs.sample_clusterings(distribution, n_samples=N_SAMPLES, seed=13).n_entities()
    counts = np.bincount(n_entities, minlength=distribution.n_mentions + 1)
    assert plausible_counts(counts, N_SAMPLES, cs.entity_count_pmf(distribution)).all()


def star(scores: npt.NDArray[np.float64]) -> Lists:
    """Mentions without candidates, and a last one with all of them: its label is its antecedent."""
    m = len(scores)
    return Lists([[]] * m + [list(range(m))], [[]] * m + [scores.tolist()])


@pytest.mark.parametrize("scale", [0.0, 0.01, 1.0, 4.0])
@pytest.mark.parametrize("m", [1, 5, 64, 1000])
def test_antecedents_come_as_often_as_their_probabilities(m: int, scale: float) -> None:
    lists = star(np.random.default_rng(m).normal(0.0, scale, m))
    n_samples = 100_000
    counts = np.bincount(draw(lists, n_samples, seed=m)[:, m], minlength=m + 1)
    row = references.softmax_rows(*lists)[m]
    probs = [row[k] for k in range(m + 1)]
    assert plausible_counts(counts, n_samples, probs).all()
    assert plausible_table(counts, probs)


def test_samples_that_follow_each_other_are_independent() -> None:
    fair = draw(Lists([[], [0]], [[], [0.0]]), N_SAMPLES + 1, seed=16)[:, 1]
    agreements = int((fair[1:] == fair[:-1]).sum())
    assert plausible_counts(agreements, N_SAMPLES, 0.5).all()


def test_documents_are_independent() -> None:
    one, other = (draw(Lists([[], [0]], [[], [0.0]]), N_SAMPLES, doc_id=doc_id)[:, 1] for doc_id in ("a", "b"))
    assert plausible_counts(int((one == other).sum()), N_SAMPLES, 0.5).all()


# --- the result --------------------------------------------------------------------------------------------


def three_samples() -> ClusteringSamples:
    return ClusteringSamples(np.array([[0, 0, 2], [0, 1, 1], [0, 0, 0]], np.int32), 0, "<d>", first_sample=5)


def test_the_table_has_one_row_a_sample_and_mention() -> None:
    frame = three_samples().to_frame()
    assert frame.columns.tolist() == ["sample", "mention", "entity"]
    assert frame.to_numpy().tolist()[:4] == [[5, 0, 0], [5, 1, 0], [5, 2, 2], [6, 0, 0]]
    assert len(frame) == 9


@pytest.mark.parametrize(
    ("parameter", "values"),
    [("n_samples", [0, 10.0, True]), ("seed", [-1, 2**64, "0"]), ("first_sample", [-1, 2**63]), ("doc_id", [7])],
)
def test_parameters_out_of_range_raise(parameter: str, values: list[object]) -> None:
    distribution = cs.AntecedentDistribution.from_lists([[]], [[]])
    for value in values:
        with error(cs.ParameterError, parameter):
            cs.sample_clusterings(distribution, **{parameter: value})  # type: ignore[arg-type]


# --- cannot-link pairs of mentions  --------------------------------------------------------------------------

PAIRS = [(0, 1), (4, 2), (1, 3)]


def drawn(n_mentions: int, seed: int, shift: float = 0.0) -> Lists:
    rng = np.random.default_rng(seed)
    scores = [(rng.normal(0.0, 1.5, i) + shift).tolist() for i in range(n_mentions)]
    return Lists([list(range(i)) for i in range(n_mentions)], scores)


def test_the_first_samples_of_many_are_the_few_and_consistent_draws_stay() -> None:
    distribution = cs.AntecedentDistribution.from_lists(*drawn(6, 1))
    many = cs.sample_clusterings(distribution, n_samples=1000, cannot_link=PAIRS, doc_id="a").labels
    few = cs.sample_clusterings(distribution, n_samples=100, cannot_link=PAIRS[::-1], doc_id="a").labels
    later = cs.sample_clusterings(distribution, n_samples=900, cannot_link=PAIRS, doc_id="a", first_sample=100).labels
    assert (many[:100] == few).all()
    assert (many[100:] == later).all()
    free = cs.sample_clusterings(distribution, n_samples=1000, doc_id="a").labels
    good = np.all([free[:, i] != free[:, j] for i, j in PAIRS], axis=0)
    assert 0 < good.sum() < 1000
    assert (many[good] == free[good]).all()


def test_clashes_are_counted_before_conditioning() -> None:
    distribution = cs.AntecedentDistribution.from_lists([[], [0], [1]], [[], [0.0], [0.0]])
    # 2 is with 0 where both links are drawn: then both mentions clash, and 1 does not.
    expected = int((cs.sample_clusterings(distribution, n_samples=500).labels[:, 2] == 0).sum())
    found = cs.sample_clusterings(distribution, n_samples=500, cannot_link=[[2, 0]])
    assert found.conditioned == Conditioned(np.array([expected, 0, expected]), "drawn again")
    assert (found.labels[:, 2] != found.labels[:, 0]).all()


def test_removed_links_leave_the_rest_renormalised() -> None:
    # Weights 1 (NEW), e, e^2 of mention 2; without the link to 1 they are 1 and e.
    distribution = cs.AntecedentDistribution.from_lists([[], [0], [0, 1]], [[], [0.5], [1.0, 2.0]])
    smaller = distribution.without_links([(1, 2), (0, 1)])
    assert smaller.antecedents.tolist() == [0]
    np.testing.assert_allclose(smaller.probs, [np.e / (1 + np.e)], rtol=1e-14)
    np.testing.assert_allclose(smaller.new_probs, [1.0, 1.0, 1 / (1 + np.e)], rtol=1e-14)
    assert distribution.without_links([]).probs.tolist() == distribution.probs.tolist()


@pytest.mark.parametrize("pairs", [[[0, 3]], [[1, 1]], [[-1, 0]], [[0, 1, 2]], [[0.5, 1]], [[0, 1], [1]]])
def test_a_pair_is_of_two_mentions(pairs: list[list[float]]) -> None:
    distribution = cs.AntecedentDistribution.from_lists(*drawn(3, 0))
    with error(cs.ParameterError, "pairs"):
        distribution.without_links(pairs)
    with error(cs.ParameterError, "cannot_link"):
        cs.sample_clusterings(distribution, n_samples=2, cannot_link=pairs)


# --- several sets of scores ------------------------------------------------------------------------------------


def one_by_one(
    distribution: cs.AntecedentDistribution, scores: np.ndarray[Any, Any], sizes: list[int], **options: Any
) -> np.ndarray[Any, Any]:
    """Labels of `sample_clusterings` for each set, beside each other."""
    first, parts = options.pop("first_sample", 0), []
    for own, size in zip(scores, sizes, strict=True):
        changed = distribution.with_scores(own)
        parts.append(cs.sample_clusterings(changed, n_samples=size, first_sample=first, **options).labels.T)
        first += size
    return np.concatenate(parts, axis=1)


@pytest.mark.kernels
@given(
    lists=strategies.antecedent_lists(),
    sizes=st.lists(st.integers(1, 140), min_size=1, max_size=5),
    seed=st.integers(0, 2**64 - 1),
    first_sample=st.integers(0, 1000),
    spread=st.sampled_from([0.0, 1.0, 400.0]),  # the last one needs shifted scores
)
def test_samples_are_those_of_single_calls(
    lists: Lists, sizes: list[int], seed: int, first_sample: int, spread: float
) -> None:
    distribution = cs.AntecedentDistribution.from_lists(*lists)
    scores = np.random.default_rng(3).normal(0.0, spread, (len(sizes), distribution.n_candidates))
    options: dict[str, Any] = {"seed": seed, "doc_id": "a", "first_sample": first_sample}
    found, _ = sample_rescored(distribution, scores, np.array(sizes), **options)
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found, one_by_one(distribution, scores, sizes, **options))
