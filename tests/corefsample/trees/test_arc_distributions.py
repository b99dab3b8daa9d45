"""Arc distributions against enumeration of all trees, and against values derived by hand."""

import math

import numpy as np
import numpy.typing as npt
import pytest
from expected_errors import error
from hypothesis import assume, given, settings, strategies as st
from references.trees import all_trees, arc_marginals, log_sum, tree_probs
from tolerance import plausible_counts, plausible_table

from corefsample.errors import ParameterError
from corefsample.trees import ArcDistribution
from corefsample.trees._arcs import _by_elimination, _by_inverse, shifted_scores

Array = npt.NDArray[np.float64]


@st.composite
def arc_scores(draw: st.DrawFn, most: int = 4) -> Array:
    """Scores of 1 to `most` tokens: moderate, of +-300, of few values, or with arcs that are not allowed."""
    n = draw(st.integers(1, most))
    wide = st.floats(-300, 300)
    kinds = [st.floats(-5, 5), wide, st.sampled_from([-300.0, 0.0, 300.0]), wide | st.just(-math.inf)]
    value = draw(st.sampled_from(kinds))
    return np.array(draw(st.lists(value, min_size=n * (n + 1), max_size=n * (n + 1)))).reshape(n, n + 1)


def without_self(scores: Array) -> Array:
    scores = scores.copy()
    scores[np.arange(len(scores)), np.arange(len(scores)) + 1] = -np.inf
    return scores


def random_distribution(n: int, scale: float, seed: int = 0) -> ArcDistribution:
    return ArcDistribution.from_scores(np.random.default_rng(seed).normal(size=(n, n + 1)) * scale)


# --- exact inference ---------------------------------------------------------------------------------------


@settings(max_examples=200, deadline=None)
@given(arc_scores())
def test_inference_agrees_with_enumeration(scores: Array) -> None:
    trees = all_trees(without_self(scores))
    assume(trees)
    dist = ArcDistribution.from_scores(scores)
    assert dist.log_partition == pytest.approx(log_sum(list(trees.values())), rel=1e-12, abs=1e-9)
    np.testing.assert_allclose(dist.marginals(), arc_marginals(trees), rtol=1e-9, atol=1e-11)
    probs = tree_probs(trees)
    assert dist.entropy() == pytest.approx(-math.fsum(p * math.log(p) for p in probs.values() if p), abs=1e-9)
    for heads, prob in probs.items():
        assert math.exp(dist.log_prob(heads)) == pytest.approx(prob, rel=1e-9, abs=1e-12)
    assert trees[tuple(dist.map().tolist())] == pytest.approx(max(trees.values()), abs=1e-9)


@settings(max_examples=200, deadline=None)
@given(arc_scores())
def test_scores_are_accepted_if_and_only_if_they_allow_a_tree(scores: Array) -> None:
    if all_trees(without_self(scores)):
        ArcDistribution.from_scores(scores)
    else:
        with error(ParameterError, "scores"):
            ArcDistribution.from_scores(scores)


@pytest.mark.parametrize("scale", [1.0, 20.0, 150.0])
def test_300_tokens_with_scores_up_to_300_are_stable(scale: float) -> None:
    n = 120 if scale == 150.0 else 300  # logarithms take longer
    scores = np.clip(np.random.default_rng(1).normal(size=(n, n + 1)) * scale, -300, 300)
    dist = ArcDistribution.from_scores(scores)
    marginals = dist.marginals()
    assert np.all(np.isfinite(marginals))
    np.testing.assert_allclose(marginals.sum(axis=1), 1.0, rtol=1e-12)
    assert marginals[:, 0].sum() == pytest.approx(1.0, abs=1e-9)  # one root: not enforced by the normalisation
    assert math.isfinite(dist.log_partition)
    assert math.isfinite(dist.log_prob(dist.sample(1, seed=3)[0]))


def test_independent_draws_form_a_tree_with_this_probability() -> None:
    # Two tokens with equal scores: heads (root, 0) and (1, root) are trees, of 2 * 2 draws.
    assert ArcDistribution.from_scores(np.zeros((2, 3))).independent_tree_probability() == pytest.approx(0.5)
    dist = random_distribution(4, 1.0)
    rows = np.exp(dist.scores) / np.exp(dist.scores).sum(axis=1, keepdims=True)
    trees = all_trees(dist.scores)
    expected = math.fsum(math.prod(rows[i, head + 1] for i, head in enumerate(heads)) for heads in trees)
    assert dist.independent_tree_probability() == pytest.approx(expected, rel=1e-12)


def test_heads_that_are_no_tree_have_no_probability() -> None:
    dist = random_distribution(3, 1.0)
    for heads in ([-1, -1, 0], [1, 0, -1], [1, 2, 0], [-1, 1, 0]):
        assert dist.log_prob(heads) == -math.inf


def test_the_best_tree_of_many_tokens_is_no_worse_than_any_change_of_one_head() -> None:
    dist = random_distribution(40, 3.0)
    best = dist.map()
    score = dist.log_prob(best)
    for i in range(dist.n):
        for head in range(dist.n):
            changed = best.copy()
            changed[i] = head
            assert dist.log_prob(changed) <= score + 1e-9
    assert max(dist.log_prob(tree) for tree in dist.sample(500)) <= score + 1e-9


# --- samples -----------------------------------------------------------------------------------------------


def tree_frequencies(dist: ArcDistribution, n_samples: int, seed: int) -> tuple[list[int], list[float]]:
    """How often each tree is drawn, which must be plausible, and its probability."""
    probs = tree_probs(all_trees(dist.scores))
    trees, counts = np.unique(dist.sample(n_samples, seed=seed), axis=0, return_counts=True)
    observed = {tuple(tree): int(count) for tree, count in zip(trees.tolist(), counts, strict=True)}
    assert set(observed) <= set(probs)
    table = [observed.get(tree, 0) for tree in probs]
    assert plausible_counts(table, n_samples, list(probs.values())).all()
    return table, list(probs.values())


@pytest.mark.parametrize("scale", [0.5, 3.0, 60.0])
@pytest.mark.parametrize("seed", [0, 1])
def test_frequencies_of_sampled_trees_agree_with_enumeration(scale: float, seed: int) -> None:
    dist = random_distribution(4, scale, seed)
    table, probs = tree_frequencies(dist, 20_000, seed)
    assert scale > 10 or plausible_table(table, probs)  # else a single tree has nearly all of it


def test_elimination_gives_what_the_inverse_gives() -> None:
    for n, seed in ((1, 0), (2, 1), (7, 2), (20, 3)):
        log_weights, log_roots, _ = shifted_scores(random_distribution(n, 1.5, seed).scores)
        log_total, marginals = _by_elimination(log_weights, log_roots)
        inverse = _by_inverse(np.exp(log_weights), np.exp(log_roots))
        assert inverse is not None
        assert log_total == pytest.approx(inverse[0], abs=1e-10)
        np.testing.assert_allclose(marginals, inverse[1], rtol=1e-9, atol=1e-11)


def test_an_inverse_that_rounding_spoils_is_not_used() -> None:
    # Tokens 0 and 1 prefer each other by e^30, so marginals would be differences of numbers near e^30.
    scores = np.zeros((3, 4))
    scores[0, 2] = scores[1, 1] = 30.0
    log_weights, log_roots, _ = shifted_scores(without_self(scores))
    assert _by_inverse(np.exp(log_weights), np.exp(log_roots)) is None
    expected = arc_marginals(all_trees(without_self(scores)))
    np.testing.assert_allclose(ArcDistribution.from_scores(scores).marginals(), expected, rtol=1e-9, atol=0)


def test_samples_whose_walks_are_long_have_the_exact_frequencies(monkeypatch: pytest.MonkeyPatch) -> None:
    for steps in (0, 6):  # no walks at all, and those of some samples: the others must not be the rest of the trees
        monkeypatch.setattr("corefsample.trees._arcs._MOST_STEPS", steps)
        monkeypatch.setattr("corefsample.trees._arcs._MOST_STEPS_OF_PAIR", 0)
        for scale in (1.0, 200.0):
            tree_frequencies(random_distribution(4, scale, 5), 20_000, 2)


def test_a_pair_that_prefers_itself_does_not_trap_the_sampler() -> None:
    # A walk between tokens 0 and 1 leaves the pair once in e^300 steps; both trees of the pair are equally likely.
    scores = np.full((3, 4), 0.0)
    scores[0, 2] = scores[1, 1] = 300.0
    drawn = ArcDistribution.from_scores(scores).sample(2000)
    assert plausible_counts([(drawn[:, 0] == 1).sum()], 2000, [0.5]).all()


def test_a_sample_depends_on_its_own_index_only() -> None:
    dist = random_distribution(10, 2.0)
    many = dist.sample(50, seed=4, doc_id="a", sentence=3)
    np.testing.assert_array_equal(dist.sample(20, seed=4, doc_id="a", sentence=3), many[:20])
    for other in ({"seed": 5}, {"doc_id": "b"}, {"sentence": 4}):
        changed = {"seed": 4, "doc_id": "a", "sentence": 3, **other}
        assert not np.array_equal(dist.sample(50, **changed), many)  # type: ignore[arg-type]


# --- bad input ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scores", "parameter"),
    [
        *((scores, "scores") for scores in (np.zeros((2, 2)), np.zeros((0, 1)), [[0.0], [0.0] * 3], [0.0, 1.0])),
        *(([[0.0, 0.0, bad], [0.0] * 3], r"scores\[0\]\[2\]") for bad in (-2e300, math.nan, math.inf)),
    ],
)
def test_bad_scores_raise(scores: npt.ArrayLike, parameter: str) -> None:
    with pytest.raises(ParameterError, match=f"^{parameter} must be "):
        ArcDistribution.from_scores(scores)


def test_bad_heads_raise_one_line() -> None:
    dist = ArcDistribution.from_scores(np.zeros((2, 3)))
    with error(ParameterError, "heads"):
        dist.log_prob([0, 0, 0])
    with pytest.raises(ParameterError, match=r"heads\[1\] must be from -1 to 1, got 2"):
        dist.log_prob([0, 2])
