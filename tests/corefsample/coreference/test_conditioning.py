"""Clusterings in which pairs of mentions are apart: against enumeration, exactly and by Markov chains."""

import itertools
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pytest
from references import coreference as references
from tolerance import plausible_counts, plausible_means

from corefsample import AntecedentDistribution, sample_clusterings
from corefsample.coreference import _conditioning
from corefsample.coreference._clusterings import ClusteringSamples

Pairs = list[tuple[int, int]]


@dataclass(frozen=True)
class Conflict:
    """Candidates with scores, and the pairs of mentions that are apart."""

    antecedents: list[list[int]]
    scores: list[list[float]]
    pairs: Pairs

    def samples(self, n_samples: int, seed: int = 0, first_sample: int = 0) -> ClusteringSamples:
        distribution = AntecedentDistribution.from_lists(self.antecedents, self.scores)
        return sample_clusterings(
            distribution, n_samples=n_samples, seed=seed, doc_id="d", first_sample=first_sample, cannot_link=self.pairs
        )

    def enumerated(self) -> references.ClusteringProbs:
        """The clusterings in which no pair is of one entity, and their probabilities."""
        probs = references.clustering_probs(references.softmax_rows(self.antecedents, self.scores))
        consistent = {labels: p for labels, p in probs.items() if all(labels[i] != labels[j] for i, j in self.pairs)}
        total = sum(consistent.values())
        return {labels: p / total for labels, p in consistent.items()}


def random_conflict(rng: np.random.Generator) -> Conflict:
    """At most six mentions, scores from 0 to 12 with ties, and pairs of one of three kinds."""
    n = int(rng.integers(2, 7))
    density = rng.choice([0.6, 0.9, 1.0])
    antecedents = [[k for k in range(i) if rng.random() < density] for i in range(n)]
    scores = [
        [float(rng.choice([0, 2, 7, 12]) if rng.random() < 0.5 else rng.uniform(0, 12)) for _ in row]
        for row in antecedents
    ]
    kind, every = int(rng.integers(3)), list(itertools.combinations(range(n), 2))
    if kind == 0:  # any pairs
        return Conflict(antecedents, scores, [pair for pair in every if rng.random() < 0.5])
    if kind == 1:  # sets of one or two of three actors; two are distinct if neither contains the other
        sets = [frozenset(rng.choice(3, int(rng.integers(1, 3)), replace=False).tolist()) for _ in range(n)]
        sets = [actors if rng.random() < 0.7 else frozenset() for actors in sets]
        pairs = [(i, j) for i, j in every if sets[i] and sets[j] and not (sets[i] <= sets[j] or sets[j] <= sets[i])]
        return Conflict(antecedents, scores, pairs)
    names = sorted(rng.choice(n, min(n, int(rng.integers(2, 5))), replace=False).tolist())  # all of different actors
    return Conflict(antecedents, scores, list(itertools.combinations(names, 2)))


def methods_of(cases: Iterable[tuple[ClusteringSamples, references.ClusteringProbs]], n_samples: int) -> Counter[str]:
    """Methods of samples whose first mentions have the enumerated distributions.

    The count of each clustering is tested by binomial tails, which share the error of one in a million.
    """
    counts, probs, methods = list[int](), list[float](), Counter[str]()
    for samples, expected in cases:
        drawn = Counter(map(tuple, samples.labels[:, : len(next(iter(expected)))].tolist()))
        assert set(drawn) <= set(expected)
        counts += [drawn[labels] for labels in expected]
        probs += expected.values()
        methods[samples.conditioned.method if samples.conditioned else ""] += 1
    assert plausible_counts(counts, n_samples, probs).all()
    return methods


def test_samples_have_the_distribution_of_the_enumeration() -> None:
    rng = np.random.default_rng(1)
    conflicts = (random_conflict(rng) for _ in range(500))
    methods = methods_of(((each.samples(1000, seed), each.enumerated()) for seed, each in enumerate(conflicts)), 1000)
    assert methods["drawn again"] > 390
    assert not methods["chain"] + methods["unsettled chain"]


def test_eight_names_that_claim_one_mention_get_it_equally_often() -> None:
    # One of eight or none: e^2 / (8 e^2 + 1) = .1229 each.
    pairs = list(itertools.combinations(range(1, 9), 2))
    labels = Conflict([[], *([[0]] * 8)], [[], *([[2.0]] * 8)], pairs).samples(20_000).labels
    assert plausible_counts((labels[:, 1:] == 0).sum(0), 20_000, np.exp(2) / (8 * np.exp(2) + 1)).all()


def test_weights_of_many_high_scores_do_not_underflow() -> None:
    # Forty times two names claim a pronoun of their own with score 40: the probability of the condition is e^-1600.
    antecedents, scores, pairs = [], [], []
    for first in range(0, 120, 3):
        antecedents += [[], [first], [first]]
        scores += [[], [40.0], [40.0]]
        pairs.append((first + 1, first + 2))
    samples = Conflict(antecedents, scores, pairs).samples(2000)
    assert samples.conditioned is not None
    assert samples.conditioned.method == "drawn again"
    claimed = samples.labels[:, 1::3] == samples.labels[:, 0::3]
    assert plausible_counts(claimed.sum(0), 2000, 0.5).all()


def tangled(n_mentions: int, seed: int) -> Conflict:
    """Names of five actors among mentions that may all be of one entity: too many states to look ahead."""
    rng = np.random.default_rng(seed)
    antecedents = [sorted(rng.choice(i, min(i, 12), replace=False).tolist()) for i in range(n_mentions)]
    scores = [rng.normal(0.0, 1.0, len(row)).tolist() for row in antecedents]
    actors = [int(rng.integers(5)) if rng.random() < 0.3 else -1 for _ in range(n_mentions)]
    pairs = [(i, j) for i, j in itertools.combinations(range(n_mentions), 2) if -1 < actors[i] != actors[j] > -1]
    return Conflict(antecedents, scores, pairs)


@pytest.fixture
def chains(monkeypatch: pytest.MonkeyPatch) -> None:
    """Conditioning by chains alone."""
    monkeypatch.setattr(_conditioning, "_ENOUGH", _conditioning._PILOT + 1)
    monkeypatch.setattr(_conditioning, "_LEAST", 2.0)
    monkeypatch.setattr(_conditioning, "_GOOD", 2.0)


@pytest.mark.usefixtures("chains")
def test_chains_have_the_distribution_of_the_enumeration() -> None:
    """Shares of clusterings in 150 documents, with the standard error of autocorrelated samples."""
    rng = np.random.default_rng(2)
    shares, probs, errors = list[float](), list[float](), list[float]()
    settled = 0
    for seed in range(150):
        conflict = random_conflict(rng)
        samples, expected = conflict.samples(1024, seed), conflict.enumerated()
        assert samples.conditioned is not None
        if samples.conditioned.method == "chain":
            settled += 1
            drawn = Counter(map(tuple, samples.labels.tolist()))
            common = {labels: p for labels, p in expected.items() if 0.05 < p < 0.95}
            shares += [drawn[labels] / 1024 for labels in common]
            probs += common.values()
            errors += [np.sqrt(p * (1 - p) * samples.conditioned.inefficiency / 1024) for p in common.values()]
    assert settled >= 100
    assert plausible_means(shares, probs, errors).all()
    assert len(shares) > 100


def test_chains_take_over_where_nearly_all_proposals_are_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_conditioning, "_MOST_TRIES", 20)
    samples = tangled(80, 1).samples(500)
    assert samples.conditioned is not None
    assert samples.conditioned.method in ("chain", "unsettled chain")
    assert samples.conditioned.inefficiency > 1.0
    for i, j in tangled(80, 1).pairs:
        assert (samples.labels[:, i] != samples.labels[:, j]).all()


def test_samples_of_chains_depend_on_their_number_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_conditioning, "_MOST_TRIES", 20)
    conflict = tangled(60, 3)
    many = conflict.samples(1200)
    assert many.conditioned is not None
    assert "chain" in many.conditioned.method
    assert (conflict.samples(100).labels == many.labels[:100]).all()
    assert (conflict.samples(200, first_sample=1000).labels == many.labels[1000:]).all()


STUCK = Conflict([[], [0], [0], [0], [0]], [[], *([[12.0]] * 4)], [(1, 3), (1, 4), (2, 3), (2, 4)])


@pytest.mark.usefixtures("chains")
def test_chains_that_stay_where_they_began_have_the_distribution_of_their_starts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Two names of either actor claim the pronoun with score 12. Without joint moves, a chain leaves its actor in one of
    # e^12 = 163,000 steps: all 32 samples of a chain have that of its start, either with probability .5.
    monkeypatch.setattr(_conditioning, "_PAIRS", 0)
    samples = STUCK.samples(32 * 500)
    assert samples.conditioned is not None
    assert samples.conditioned.method == "chain"
    first = (samples.labels[:, 1:3] == 0).any(axis=1).reshape(-1, 32)
    assert set(first.sum(axis=1).tolist()) == {0, 32}
    assert plausible_counts(first[:, 0].sum(), 500, 0.5).all()
    assert samples.conditioned.inefficiency == 32  # a chain is worth one sample


@pytest.mark.usefixtures("chains")
def test_chains_with_consistent_starts_depend_on_their_number_alone() -> None:
    many = STUCK.samples(1200)
    assert (STUCK.samples(200, first_sample=1000).labels == many.labels[1000:]).all()
    assert (STUCK.samples(100).labels == many.labels[:100]).all()


@pytest.mark.usefixtures("chains")
def test_chains_without_a_consistent_start_are_unsettled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_conditioning, "_MOST_TRIES", 0)
    samples = STUCK.samples(1000)
    assert samples.conditioned is not None
    assert samples.conditioned.method == "unsettled chain"
    assert all((samples.labels[:, i] != samples.labels[:, j]).all() for i, j in STUCK.pairs)


# --- parts -------------------------------------------------------------------------------------------------


def beside(first: Conflict, second: Conflict) -> Conflict:
    """Two documents as one, whose mentions have no common candidates; names of both are apart."""
    n = len(first.antecedents)
    antecedents = [*first.antecedents, *([n + k for k in row] for row in second.antecedents)]
    pairs = [*first.pairs, *((n + i, n + j) for i, j in second.pairs)]
    names = ({i for pair in each.pairs for i in pair} for each in (first, second))
    pairs += [(i, n + j) for i, j in itertools.product(*names)]
    return Conflict(antecedents, first.scores + second.scores, pairs)


def test_a_hard_part_does_not_make_an_easy_part_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """100 documents with a part of at most six mentions, which are enumerated, and a part that no draw can settle."""
    monkeypatch.setattr(_conditioning, "_MOST_TRIES", 3000)
    rng = np.random.default_rng(5)
    parts = ((random_conflict(rng), tangled(30, seed)) for seed in range(100))
    cases = ((beside(*both).samples(300, seed), both[0].enumerated()) for seed, both in enumerate(parts))
    assert methods_of(cases, 300)["unsettled chain"] > 10


def test_two_names_and_three_names_claim_a_pronoun_beside_many_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_conditioning, "_MOST_TRIES", 100)
    # "It", then Iraq, Iran, Iran, Iran, Iraq with score 5. Each link is there with q; not links of both names:
    # P(Iraq) = (1 - q)^3 (1 - (1 - q)^2) / ((1 - q)^3 + (1 - q)^2 - (1 - q)^5) = .0066.
    claims = Conflict([[], *([[0]] * 5)], [[], *([[5.0]] * 5)], [(i, j) for i in (1, 5) for j in (2, 3, 4)])
    none = 1.0 / (1.0 + np.exp(5.0))
    expected = none**3 * (1 - none**2) / (none**3 + none**2 - none**5)
    samples = beside(claims, tangled(30, 0)).samples(2000)
    iraq = (samples.labels[:, [1, 5]] == 0).any(axis=1).sum()
    assert plausible_counts(iraq, 2000, expected).all()


def test_mentions_after_the_last_pair_are_drawn_by_their_own_candidates() -> None:
    # Mention 3 follows the two names that claim mention 0, and links to the first of them or is new, each with .5.
    conflict = Conflict([[], [0], [0], [1]], [[], [6.0], [6.0], [0.0]], [(1, 2)])
    labels = conflict.samples(20_000).labels
    linked = labels[:, 3] != 3
    assert (labels[linked, 3] == labels[linked, 1]).all()
    assert plausible_counts(linked.sum(), 20_000, 0.5).all()


def test_a_mention_of_no_part_has_the_probabilities_of_its_set() -> None:
    # As above, but mention 3 is of no part: with no P of a link in samples of the first set, and P 1 in the second.
    antecedents = AntecedentDistribution.from_lists([[], [0], [0], [1]], [[], [6.0], [6.0], [0.0]])
    conflict = _conditioning.CannotLinks.of_pairs([(1, 2)], 4)
    sure = np.array([[0.5, 0.5, 0.0], [0.5, 0.5, 1.0]])
    sets = sure, np.array([[1.0, 0.5, 0.5, 1.0], [1.0, 0.5, 0.5, 0.0]]), np.array([0, 100, 300])
    labels = np.zeros((4, 300), np.int32)  # in each sample the pair is of one entity
    conflict.condition(labels, antecedents, sets, seed=0, doc_id="d", first_sample=0)
    assert (labels[3] == np.where(np.arange(300) < 100, 3, labels[1])).all()


def test_equal_parts_are_drawn_independently() -> None:
    # In either part two names claim a mention with score 7, and each has it with .4998; both first names with .2498.
    claims = Conflict([[], [0], [0]], [[], [7.0], [7.0]], [(1, 2)])
    labels = beside(claims, claims).samples(20_000).labels
    share = np.exp(7) / (2 * np.exp(7) + 1)
    both = (labels[:, 1] == 0) & (labels[:, 4] == 3)
    assert plausible_counts(both.sum(), 20_000, share**2).all()
