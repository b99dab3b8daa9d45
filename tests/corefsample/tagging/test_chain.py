"""Linear chains: exact figures against the enumeration of all tag sequences, samples, and fitted temperatures."""

import math
from collections import Counter
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from expected_errors import error
from hypothesis import example, given, settings, strategies as st
from hypothesis.extra import numpy as hnp
from references.chains import Enumeration, enumeration
from references.coreference import mention_words
from strategies.tagged import drawn_scores
from tolerance import plausible_counts

from corefsample import ParameterError
from corefsample._random import document_key
from corefsample.tagging import LinearChain, fit_chain_recalibration, tag_marginals
from corefsample.tagging._chain import fill_by_logs
from corefsample.tagging._labelled import ChainRecalibration

Array = npt.NDArray[np.float64]
INF = float("inf")


@st.composite
def scores(draw: st.DrawFn, largest: float = 20.0) -> tuple[Array, Array]:
    """Scores of a small chain that allows a sequence; some tags and transitions are forbidden."""
    n, n_tags = draw(st.integers(1, 5)), draw(st.integers(1, 4))
    numbers = st.one_of(st.floats(-largest, largest), st.integers(-3, 3).map(float), st.just(-INF))
    shape = draw(st.sampled_from([(n_tags, n_tags), (n - 1, n_tags, n_tags)]))
    unary, pairwise = (
        draw(hnp.arrays(float, (n, n_tags), elements=numbers)),
        draw(hnp.arrays(float, shape, elements=numbers)),
    )
    path = draw(st.lists(st.integers(0, n_tags - 1), min_size=n, max_size=n))
    for i, t in enumerate(path):  # one sequence that is allowed
        unary[i, t] = max(unary[i, t], -largest)
        if i > 0:
            place = (path[i - 1], t) if pairwise.ndim == 2 else (i - 1, path[i - 1], t)
            pairwise[place] = max(pairwise[place], -largest)
    return unary, pairwise


def require_equal(chain: LinearChain, expected: Enumeration, tolerance: float = 1e-10) -> None:
    assert chain.log_partition == pytest.approx(expected.log_partition, rel=1e-12, abs=tolerance)
    np.testing.assert_allclose(chain.marginals(), expected.marginals(), atol=tolerance, rtol=0.0)
    np.testing.assert_allclose(chain.pair_marginals(), expected.pair_marginals(), atol=tolerance, rtol=0.0)
    assert chain.entropy() == pytest.approx(expected.entropy(), rel=1e-10, abs=tolerance)
    for tags, log_prob in expected.log_probs.items():
        assert chain.log_prob(tags) == pytest.approx(log_prob, rel=1e-12, abs=tolerance)


# --- against the enumeration -------------------------------------------------------------------------------


@settings(max_examples=150, deadline=None)
@given(scores() | scores(largest=1000.0))
@example((np.array([[0.0, -INF], [0.0, 0.0], [0.0, 0.0]]), np.array([[0.0, 0.0], [-208.0, -INF]])))  # a tag of P 1e-91
def test_marginals_are_those_of_the_enumeration(given_scores: tuple[Array, Array]) -> None:
    require_equal(LinearChain.from_scores(*given_scores), enumeration(*given_scores))


@pytest.mark.parametrize("scale", [1e3, 1e5])
def test_very_large_whole_scores_give_exact_marginals(scale: float) -> None:
    # Sums of whole numbers are exact, so many sequences have scores that differ by a few units out of 10**5.
    generator = np.random.default_rng(3)
    unary = scale * generator.integers(-1, 2, (5, 3)) + generator.integers(-2, 3, (5, 3))
    pairwise = scale * generator.integers(-1, 2, (3, 3)) + generator.integers(-2, 3, (3, 3))
    require_equal(LinearChain.from_scores(unary, pairwise), enumeration(unary.astype(float), pairwise.astype(float)))


def test_a_tag_that_underflows_and_wins_at_the_end_keeps_its_weight() -> None:
    """Only two sequences are allowed: A ... A and B ... B. B is behind by 1 a token, and the last token asks for it.

    The scores are n * 0 - 2n for A and -n for B, so P(A) = 1 / (1 + e^n): 0 in floats, though A leads up to the end.
    """
    n = 3000
    unary = np.tile([0.0, -1.0], (n, 1))
    unary[-1, 0] = -2.0 * n
    same = np.array([[0.0, -INF], [-INF, 0.0]])
    chain = LinearChain.from_scores(unary, same)
    assert chain.log_partition == pytest.approx(-float(n), rel=1e-14)
    np.testing.assert_allclose(chain.marginals(), np.tile([0.0, 1.0], (n, 1)), atol=1e-12)
    assert (chain.sample(5) == 1).all()


def test_masks_of_minus_ten_thousand_need_no_logarithms(monkeypatch: pytest.MonkeyPatch) -> None:
    unary, pairwise = drawn_scores(5, 3, 2.0)
    pairwise[0, 2] = pairwise[1, 0] = -10_000.0
    with monkeypatch.context() as patch:
        patch.setattr("corefsample.tagging._chain.fill_by_logs", None)
        chain = LinearChain.from_scores(unary, pairwise)
    require_equal(chain, enumeration(unary, pairwise))


def test_masks_count_where_no_other_sequence_is_allowed() -> None:
    # Tag 0 is all that the first token allows, and tag 1 all that the last does, so one masked transition is needed.
    unary, pairwise = drawn_scores(4, 2, 2.0)
    unary[0, 1] = unary[3, 0] = -INF
    pairwise[0, 1] = -10_000.0
    require_equal(LinearChain.from_scores(unary, pairwise), enumeration(unary, pairwise))


def passes_by_logs(unary: Array, pairwise: Array) -> tuple[Array, Array, Array, Array]:
    forward, backward, probs = (np.empty(unary.shape) for _ in range(3))
    norms = np.empty(len(unary))
    fill_by_logs(unary, pairwise[None], forward, norms, backward, probs)
    return forward, backward, norms, probs


@pytest.mark.kernels
@pytest.mark.parametrize("n_tags", [1, 2, 3, 4, 9])
def test_scaled_weights_and_logarithms_agree(n_tags: int) -> None:
    unary, pairwise = drawn_scores(40, n_tags, 4.0)
    chain = LinearChain.from_scores(unary, pairwise)
    for ours, by_logs in zip(chain._passes, passes_by_logs(unary, pairwise), strict=True):
        np.testing.assert_allclose(ours, by_logs, atol=1e-11, rtol=1e-11)


def test_scores_of_tokens_may_be_moved_into_matrices_of_their_own() -> None:
    # 199 matrices of 60 x 60 are more than the 2**18 cells that are computed at a time.
    unary, pairwise = drawn_scores(200, 60, 2.0)
    moved = np.random.default_rng(1).normal(0.0, 2.0, unary.shape)
    moved[-1] = 0.0
    shared = LinearChain.from_scores(unary, pairwise)
    own = LinearChain.from_scores(unary - moved, pairwise + moved[:-1, :, None])
    assert own.log_partition == pytest.approx(shared.log_partition, rel=1e-13)
    np.testing.assert_allclose(own.pair_marginals(), shared.pair_marginals(), atol=1e-12)
    blocks = list(own.pair_marginal_blocks())
    assert [first for first, _ in blocks] == list(range(0, 199, 72))
    np.testing.assert_array_equal(np.concatenate([probs for _, probs in blocks]), own.pair_marginals())
    np.testing.assert_array_equal(own.sample(20), shared.sample(20))
    expected_score = np.sum(unary * shared.marginals()) + np.sum(pairwise * shared.pair_marginals())
    assert own.entropy() == pytest.approx(shared.log_partition - expected_score, rel=1e-9)


# --- likeliest sequences, entropy, divergence --------------------------------------------------------------


@settings(max_examples=100, deadline=None)
@given(scores(), st.integers(1, 12))
def test_the_best_sequences_are_those_of_the_enumeration(given_scores: tuple[Array, Array], k: int) -> None:
    chain, expected = LinearChain.from_scores(*given_scores), enumeration(*given_scores)
    sequences, log_probs = chain.k_best(k)
    assert len(sequences) == min(k, len(expected.scores))
    best = [expected.log_probs[tags] for tags in expected.best()[:k]]
    np.testing.assert_allclose(log_probs, best, rtol=1e-12, atol=1e-10)
    assert len({tuple(tags) for tags in sequences.tolist()}) == len(sequences)
    for tags, log_prob in zip(sequences, log_probs, strict=True):
        assert chain.log_prob(tags) == pytest.approx(log_prob, rel=1e-12, abs=1e-10)
    np.testing.assert_array_equal(sequences[0], chain.map())


def test_ties_go_to_the_first_in_lexicographic_order() -> None:
    chain = LinearChain.from_scores(np.zeros((3, 2)), np.zeros((2, 2)))
    assert chain.map().tolist() == [0, 0, 0]
    order = ["".join(map(str, tags)) for tags in chain.k_best(8)[0]]
    assert order == ["000", "001", "010", "011", "100", "101", "110", "111"]


# --- batches and results -----------------------------------------------------------------------------------


def test_the_table_of_a_chain_has_its_marginals() -> None:
    chain = LinearChain.from_scores([[0.0, 0.0]], np.zeros((2, 2)))
    assert chain.to_frame().to_numpy().tolist() == [[0, 0, 0.5], [0, 1, 0.5]]


def test_scores_cannot_be_changed_from_outside() -> None:
    unary = np.zeros((2, 2))
    chain = LinearChain.from_scores(unary, np.zeros((2, 2)))
    unary[0, 0] = 5.0
    assert chain.unary[0, 0] == 0.0
    for array in (chain.unary, chain.pairwise, chain.marginals()):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


# --- bad input ---------------------------------------------------------------------------------------------

ZERO = np.zeros((2, 2))


@pytest.mark.parametrize(
    ("unary", "pairwise", "parameter", "message"),
    [
        ([[0.0, np.nan]], ZERO, "unary[0, 1]", "must be -inf or a number of at most 1e+300 in size, got nan"),
        ([[0.0, 0.0]], [[0.0, INF], [0.0, 0.0]], "pairwise[0, 1]", "got inf"),
        (np.zeros((0, 2)), ZERO, "unary", "must have at least one token and one tag, got the shape (0, 2)"),
        (np.zeros((3, 2)), np.zeros((3, 3)), "pairwise", "the shape (2, 2) or (2, 2, 2), as unary has (3, 2)"),
        (np.zeros((3, 2)), np.zeros((3, 2, 2)), "pairwise", "got (3, 2, 2)"),
        (np.zeros(3), ZERO, "unary", "must be numbers in 2 dimensions, got float64 in 1"),
        ([[-INF, -INF]], ZERO, "scores", "must allow a tag sequence, got none that reaches token 0"),
        (np.zeros((3, 2)), np.zeros((2, 2, 2)) - INF, "scores", "token 1"),
    ],
)
def test_scores_that_break_a_rule_raise(unary: Any, pairwise: Any, parameter: str, message: str) -> None:
    with error(ParameterError, parameter) as found:
        LinearChain.from_scores(unary, pairwise)
    assert message in str(found.value)


@pytest.mark.parametrize(
    ("tags", "parameter"), [([0], "tags"), ([0, 2], "tags[1]"), ([-1, 0], "tags[0]"), ([0.0, 1.0], "tags")]
)
def test_tags_that_break_a_rule_raise(tags: Any, parameter: str) -> None:
    with error(ParameterError, parameter):
        LinearChain.from_scores(ZERO, ZERO).log_prob(tags)


# --- samples of tag sequences ---------------------------------------------------------------------------------

Tags = npt.NDArray[np.int32]
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


def test_samples_depend_on_seed_and_document_and_not_on_their_number() -> None:
    first = LONG.sample(50)
    np.testing.assert_array_equal(LONG.sample(300)[:50], first)
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


# --- bad input ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "option"),
    [
        *(("k_best", {"k": k}) for k in (0, 1.5, True)),
        *(("sample", option) for option in ({"n_samples": 0}, {"seed": -1}, {"doc_id": 7})),
    ],
)
def test_parameters_out_of_range_raise(method: str, option: dict[str, Any]) -> None:
    with error(ParameterError, *option):
        getattr(LONG, method)(**option)


# --- temperatures of chains, fitted to gold tags --------------------------------------------------------------

OBJECTIVES = ("likelihood", "marginals")


def sentences(temperature: float, n_sentences: int = 300) -> tuple[list[LinearChain], list[Any]]:
    """Chains whose gold tags are drawn from them, with potentials then multiplied by a temperature."""
    generator = np.random.default_rng(1)
    pairwise = generator.normal(0.0, 1.0, (4, 4))
    chains, gold = [], []
    for number in range(n_sentences):
        unary = generator.normal(0.0, 1.5, (int(generator.integers(1, 15)), 4))
        gold.append(LinearChain.from_scores(unary, pairwise).sample(1, seed=2, doc_id=str(number))[0])
        chains.append(LinearChain.from_scores(temperature * unary, temperature * pairwise))
    return chains, gold


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("temperature", [0.5, 1.0, 3.0])
def test_the_temperature_that_spoiled_the_chains_is_found(objective: str, temperature: float) -> None:
    # The estimate varies by some 3% with 2,100 tokens; 15% is far outside.
    fit = fit_chain_recalibration(*sentences(temperature), objective=objective)
    assert fit.recalibration.temperature == pytest.approx(temperature, rel=0.15)
    assert fit.loss_after <= fit.loss_before
    assert (fit.n_sentences, fit.objective) == (300, objective)


def test_one_token_of_two_tags_has_the_temperature_worked_out_by_hand() -> None:
    # P(tag 0) = 1 / (1 + exp(-4 / T)); 3 of 4 gold tags are 0. The likelihood is greatest where P = 3/4,
    # so exp(-4 / T) = 1/3 and T = 4 / log 3.
    chain = LinearChain.from_scores([[4.0, 0.0]], np.zeros((2, 2)))
    for objective in OBJECTIVES:
        fit = fit_chain_recalibration([chain] * 4, [[0], [0], [1], [0]], objective=objective)
        assert fit.recalibration.temperature == pytest.approx(4.0 / math.log(3.0), rel=1e-4)
        assert fit.loss_after == pytest.approx(-(0.75 * math.log(0.75) + 0.25 * math.log(0.25)), rel=1e-6)
        assert fit.loss_before == pytest.approx(math.log1p(math.exp(-4.0)) + 1.0, rel=1e-12)


def test_a_temperature_divides_potentials_and_keeps_what_is_forbidden() -> None:
    chain = LinearChain.from_scores([[2.0, 4.0], [0.0, 1.0]], [[0.0, -math.inf], [6.0, 2.0]])
    changed = ChainRecalibration(2.0).apply(chain)
    assert changed.unary.tolist() == [[1.0, 2.0], [0.0, 0.5]]
    assert changed.pairwise.tolist() == [[0.0, -math.inf], [3.0, 1.0]]


TWO = LinearChain.from_scores(np.zeros((2, 2)), [[0.0, -math.inf], [0.0, 0.0]])


@pytest.mark.parametrize(
    ("chains", "gold", "parameter", "place"),
    [
        *[(chains, [], "gold", None) for chains in ([], [TWO])],
        *[([TWO], [tags], parameter, "gold[0]") for tags, parameter in (([0], "tags"), ([0, 5], "tags[1]"))],
        *[([TWO], [[0, 1]], "gold[0]", None), (["chain"], [[0, 1]], "chains", None)],
    ],
)
def test_input_that_breaks_a_rule_raises(chains: Any, gold: Any, parameter: str, place: str | None) -> None:
    with error(ParameterError, parameter, place):
        fit_chain_recalibration(chains, gold)
    with error(ParameterError, "objective"):
        fit_chain_recalibration(chains, gold, objective="brier")


@pytest.mark.parametrize("temperature", [0.0, -1.0, math.nan, math.inf, "2"])
def test_a_temperature_out_of_range_raises(temperature: Any) -> None:
    with error(ParameterError, "temperature"):
        ChainRecalibration(temperature)


# --- marginals of many sentences at once, against single chains and the enumeration of all tag sequences ---


def unary_and_pairwise(lengths: list[int], n_tags: int, scale: float = 2.0) -> tuple[list[Array], Array]:
    generator = np.random.default_rng(7)
    return [generator.normal(0.0, scale, (n, n_tags)) for n in lengths], generator.normal(0.0, scale, (n_tags, n_tags))


def require_single(unaries: list[Array], pairwise: Array) -> None:
    """The marginals are those of a chain of each sentence."""
    marginals = tag_marginals(unaries, pairwise)
    for unary, probs in zip(unaries, marginals, strict=True):
        np.testing.assert_allclose(probs, LinearChain.from_scores(unary, pairwise).marginals(), atol=1e-12, rtol=0.0)


@pytest.mark.kernels
@pytest.mark.parametrize("scale", [0.0, 2.0, 400.0])
def test_marginals_of_a_batch_are_those_of_the_enumeration(scale: float) -> None:
    unaries, pairwise = unary_and_pairwise([3, 1, 5, 4, 2, 5], 3, scale)
    for unary, probs in zip(unaries, tag_marginals(unaries, pairwise), strict=True):
        np.testing.assert_allclose(probs, enumeration(unary, pairwise).marginals(), atol=1e-10, rtol=0.0)


@pytest.mark.kernels
@pytest.mark.parametrize("n_tags", [1, 3, 4, 9])
@pytest.mark.parametrize("lengths", [[1], [2, 2], [5, 2, 8, 1, 1, 3, 20, 2, 11]])
def test_sentences_of_any_lengths_have_the_marginals_of_single_chains(lengths: list[int], n_tags: int) -> None:
    require_single(*unary_and_pairwise(lengths, n_tags))


@pytest.mark.kernels
def test_batches_join_in_the_order_of_sentences_and_marginals_stay_when_their_arrays_are_used_again() -> None:
    require_single(*unary_and_pairwise([500, 800, 2, 400, 130, 1, 1, 900, 770, 3], 4))  # a batch ends with 768 tokens
    require_single(*unary_and_pairwise([30, 9, 7, 30, 3], 5, 1e4))  # scores far apart


@pytest.mark.kernels
def test_a_sentence_whose_forward_weights_vanish_leaves_its_neighbours_alone() -> None:
    # Tag 0 leads by 1000 a token, so the weight of tag 1 is rounded to 0; the last token allows tag 1 only.
    unaries = [np.zeros((4, 2)), np.array([[0.0, -1000.0], [0.0, -1000.0], [-INF, 0.0]]), np.zeros((3, 2))]
    pairwise = np.array([[0.0, -INF], [-INF, 0.0]])
    require_single(unaries, pairwise)
    np.testing.assert_allclose(tag_marginals(unaries, pairwise)[1], np.tile([0.0, 1.0], (3, 1)), atol=1e-12)


@pytest.mark.kernels
def test_marginals_cannot_be_changed() -> None:
    assert tag_marginals([], ZERO) == []
    with pytest.raises(ValueError, match="read-only"):
        tag_marginals([ZERO], ZERO)[0][0] = 1.0


@pytest.mark.kernels
@pytest.mark.parametrize(
    ("unaries", "pairwise", "parameter", "place"),
    [
        ([ZERO, np.zeros((0, 2))], ZERO, "unaries[1]", None),
        ([ZERO], np.zeros((2, 3)), "unaries[0]", None),
        ([ZERO, [[0.0, 0.0], [0.0, np.nan]]], ZERO, "unaries[1][1, 1]", None),
        ([ZERO, [[0.0, INF]]], ZERO, "unaries[1][0, 1]", None),
        ([ZERO], [[0.0, INF], [0.0, 0.0]], "pairwise[0, 1]", None),
        ([ZERO, ZERO, [[0.0, 0.0], [-INF, -INF]]], ZERO, "scores", "unaries[2]"),
    ],
)
def test_a_sentence_that_breaks_a_rule_is_named(unaries: Any, pairwise: Any, parameter: str, place: str | None) -> None:
    with error(ParameterError, parameter, place):
        tag_marginals(unaries, pairwise)
