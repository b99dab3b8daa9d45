"""Samples of tag sequences: what they depend on, and how often they contain what."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from expected_errors import error
from references.chains import enumeration
from references.coreference import mention_words
from strategies.tagged import drawn_scores
from tolerance import plausible_counts

from corefsample import ParameterError
from corefsample._random import document_key
from corefsample.tagging import LinearChain

Array = npt.NDArray[np.float64]
Tags = npt.NDArray[np.int32]
INF = float("inf")
N_SAMPLES = 20_000


LONG = LinearChain.from_scores(*drawn_scores(30, 11, 1.5))
SMALL = {
    "shared": drawn_scores(4, 3, 1.5),
    "own": drawn_scores(4, 3, 1.5, own=True),
    "one token": drawn_scores(1, 4, 1.0),
    "forbidden": (
        np.array([[0.0, 0.5, -INF], [0.2, 0.0, 0.1], [1.0, 0.0, 0.3]]),
        np.array([[0.0, -INF, 1], [0, 1, 0], [-INF, 0, 0]]),
    ),
    "logarithms": (1e5 * np.array([[1.0, 0.0], [0.0, 0.0]]) + [[0.0, 0.4], [0.3, 0.0]], np.zeros((2, 2))),
}


# --- what a sample depends on ------------------------------------------------------------------------------


@pytest.mark.parametrize("n_samples", [1, 100, 255, 256, 257, 600])
def test_the_first_samples_of_many_are_the_few(n_samples: int) -> None:
    np.testing.assert_array_equal(LONG.sample(n_samples, seed=7), LONG.sample(1000, seed=7)[:n_samples])


@pytest.mark.parametrize("cuts", [[1], [100], [255, 256, 257], [333, 334, 999]])
def test_samples_drawn_in_parts_are_those_drawn_at_once(cuts: list[int]) -> None:
    bounds = [0, *cuts, 1000]
    parts = [LONG.sample(end - first, seed=3, first_sample=first) for first, end in itertools.pairwise(bounds)]
    np.testing.assert_array_equal(np.concatenate(parts), LONG.sample(1000, seed=3))


def test_threads_change_no_sample() -> None:
    doc_ids = [f"sentence {number}" for number in range(16)]

    def draw(doc_id: str) -> Tags:
        return LONG.sample(300, seed=1, doc_id=doc_id)

    with ThreadPoolExecutor(4) as pool:
        for one, other in zip(pool.map(draw, doc_ids), map(draw, doc_ids), strict=True):
            np.testing.assert_array_equal(one, other)


def test_seed_and_document_change_samples() -> None:
    first = LONG.sample(50)
    assert (LONG.sample(50, seed=1) != first).any()
    assert (LONG.sample(50, doc_id="other") != first).any()
    assert first.dtype == np.int32
    assert first.shape == (50, 30)


def test_samples_are_those_of_a_plain_loop_over_the_published_words() -> None:
    """Backward sampling by inversion, with forward weights by a plain loop, word by word."""
    unary, pairwise = drawn_scores(6, 5, 2.0)
    weights = [np.exp(unary[0])]
    for row in unary[1:]:
        weights.append(np.exp(row) * (weights[-1] @ np.exp(pairwise)))
    words = mention_words(document_key(4, "d"), 6, 40)  # of each token and sample
    expected = np.empty((40, 6), int)
    for s in range(40):
        for i in range(5, -1, -1):
            cell = weights[i] * (1.0 if i == 5 else np.exp(pairwise[:, expected[s, i + 1]]))
            uniform = (words[i][s] >> 11) / 2**53
            expected[s, i] = np.searchsorted(np.cumsum(cell), uniform * cell.sum(), side="right")
    found = LinearChain.from_scores(unary, pairwise).sample(40, seed=4, doc_id="d")
    np.testing.assert_array_equal(found, expected)


# --- how often a sample contains it ------------------------------------------------------------------------


def sequences_are_plausible(tags: Tags, expected: dict[tuple[int, ...], float]) -> bool:
    """Whether every sequence, those of probability 0 too, comes as often as it should."""
    found = Counter(map(tuple, tags.tolist()))
    sequences = sorted({*expected, *found})
    counts = [found[sequence] for sequence in sequences]
    return bool(plausible_counts(counts, len(tags), [expected.get(s, 0.0) for s in sequences]).all())


@pytest.mark.parametrize("scores", SMALL.values(), ids=SMALL.keys())
@pytest.mark.parametrize("seed", [0, 1])
def test_sequences_have_the_frequencies_of_the_enumeration(scores: tuple[Array, Array], seed: int) -> None:
    chain = LinearChain.from_scores(*scores)
    assert sequences_are_plausible(chain.sample(N_SAMPLES, seed=seed), enumeration(*scores).probs)


def test_tags_and_pairs_of_a_long_chain_come_as_often_as_their_marginals() -> None:
    tags = LONG.sample(N_SAMPLES, seed=5)
    counts = np.stack([np.bincount(column, minlength=11) for column in tags.T])
    assert plausible_counts(counts, N_SAMPLES, LONG.marginals()).all()
    cells = tags[:, :-1].astype(int) * 11 + tags[:, 1:]
    pairs = np.stack([np.bincount(column, minlength=121) for column in cells.T])
    assert plausible_counts(pairs, N_SAMPLES, LONG.pair_marginals().reshape(29, 121)).all()


def test_samples_that_follow_each_other_are_independent() -> None:
    fair = LinearChain.from_scores(np.zeros((1, 2)), np.zeros((2, 2))).sample(N_SAMPLES + 1, seed=16)[:, 0]
    assert plausible_counts(int((fair[1:] == fair[:-1]).sum()), N_SAMPLES, 0.5).all()


# --- the check sees wrong samplers -------------------------------------------------------------------------


def next_tag_ignored(chain: LinearChain, generator: np.random.Generator) -> Tags:
    """Right marginals, but tokens drawn independently."""
    columns = [generator.choice(chain.n_tags, N_SAMPLES, p=row) for row in chain.marginals()]
    return np.stack(columns, axis=1).astype(np.int32)


def one_word_for_all_tokens(chain: LinearChain, generator: np.random.Generator) -> Tags:
    """Right conditionals, but all of a sample from one uniform number."""
    uniform = generator.uniform(size=N_SAMPLES)
    pairs = chain.pair_marginals()
    tags = np.empty((N_SAMPLES, chain.n), np.int32)
    tags[:, 0] = np.searchsorted(np.cumsum(chain.marginals()[0]), uniform)
    for i, matrix in enumerate(pairs):
        sums = np.cumsum(matrix / matrix.sum(axis=1, keepdims=True), axis=1)
        tags[:, i + 1] = [np.searchsorted(sums[s], u) for s, u in zip(tags[:, i], uniform, strict=True)]
    return np.minimum(tags, chain.n_tags - 1)


def forward_weights_for_marginals(chain: LinearChain, generator: np.random.Generator) -> Tags:
    """The first tag from the forward weights alone, as if no later token mattered."""
    weights = np.exp(chain.unary[0])
    tags = np.array(chain.sample(N_SAMPLES, seed=2))
    tags[:, 0] = generator.choice(chain.n_tags, N_SAMPLES, p=weights / weights.sum())
    return tags


@pytest.mark.parametrize("sampler", [next_tag_ignored, one_word_for_all_tokens, forward_weights_for_marginals])
def test_a_wrong_sampler_fails_the_check(sampler: Callable[[LinearChain, np.random.Generator], Tags]) -> None:
    chain = LinearChain.from_scores(*SMALL["shared"])
    tags = sampler(chain, np.random.default_rng(0))
    assert not sequences_are_plausible(tags, enumeration(*SMALL["shared"]).probs)


# --- bad input ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("option", [{"n_samples": 0}, {"seed": -1}, {"first_sample": 2**63}, {"doc_id": 7}])
def test_parameters_out_of_range_raise(option: Any) -> None:
    with error(ParameterError, *option):
        LONG.sample(**option)
