"""Clusterings in which pairs of mentions are apart: against enumeration, exactly and by Markov chains."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass

import numpy as np
import pytest
from references import coreference as references
from tolerance import ERROR, plausible_counts, plausible_means

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


def test_samples_have_the_distribution_of_the_enumeration() -> None:
    """1,000 documents: each clustering's count by binomial tails, which share the error of one in a million."""
    rng = np.random.default_rng(1)
    n_samples = 1000
    counts: list[int] = []
    probs: list[float] = []
    ways: Counter[str] = Counter()
    for seed in range(1000):
        conflict = random_conflict(rng)
        samples, expected = conflict.samples(n_samples, seed), conflict.enumerated()
        drawn = Counter(map(tuple, samples.labels.tolist()))
        assert set(drawn) <= set(expected)
        counts += [drawn[labels] for labels in expected]
        probs += expected.values()
        ways[samples.conditioned.method if samples.conditioned else ""] += 1
    assert plausible_counts(counts, n_samples, probs).all()
    assert ways["drawn again"] > 800
    assert not ways["chain"] + ways["unsettled chain"]


@pytest.mark.parametrize("score", [6.0, 7.0, 8.0, 10.0, 12.0])
def test_two_names_that_claim_one_pronoun_get_it_equally_often(score: float) -> None:
    # By symmetry: either has it with e^s / (2 e^s + 1), which is .4988 to .5.
    labels = Conflict([[], [0], [0]], [[], [score], [score]], [(1, 2)]).samples(20_000).labels
    share = np.exp(score) / (2 * np.exp(score) + 1)
    assert plausible_counts((labels[:, 1:] == 0).sum(0), 20_000, share).all()


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
    shares: list[float] = []
    probs: list[float] = []
    errors: list[float] = []
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


def test_chains_take_over_where_nearly_all_proposals_are_rejected() -> None:
    samples = tangled(80, 1).samples(500)
    assert samples.conditioned is not None
    assert samples.conditioned.method in ("chain", "unsettled chain")
    assert samples.conditioned.inefficiency > 1.0
    for i, j in tangled(80, 1).pairs:
        assert (samples.labels[:, i] != samples.labels[:, j]).all()


def test_samples_of_chains_depend_on_their_number_alone() -> None:
    conflict = tangled(60, 3)
    many = conflict.samples(1200)
    assert many.conditioned is not None
    assert "chain" in many.conditioned.method
    assert (conflict.samples(100).labels == many.labels[:100]).all()
    assert (conflict.samples(200, first_sample=1000).labels == many.labels[1000:]).all()


@pytest.mark.usefixtures("chains")
def test_chains_that_stay_where_they_began_are_unsettled(monkeypatch: pytest.MonkeyPatch) -> None:
    # Two names of either actor claim the pronoun with score 12, and chains begin with either. Without joint moves, a
    # chain leaves where it is in one of e^12 = 163,000 steps.
    pairs = [(1, 3), (1, 4), (2, 3), (2, 4)]
    conflict = Conflict([[], [0], [0], [0], [0]], [[], *([[12.0]] * 4)], pairs)
    monkeypatch.setattr(_conditioning, "_PAIRS", 0)
    samples = conflict.samples(1000)
    assert samples.conditioned is not None
    assert samples.conditioned.method == "unsettled chain"


def test_the_inefficiency_is_that_of_an_autoregression() -> None:
    """Indicators that stay with probability .8 have the autocorrelation time (1 + .8) / (1 - .8) = 9."""
    rng = np.random.default_rng(0)
    n = 16_384
    chain = np.empty((n, 4), np.int32)
    state = rng.integers(0, 2, 4)
    for step in range(n):
        state = np.where(rng.random(4) < 0.8, state, rng.integers(0, 2, 4))
        chain[step] = state
    agree, inefficiency = _conditioning._judged(np.ascontiguousarray(chain.reshape(1, -1)))
    assert agree
    # The estimate of a time T from n values has a relative error of about sqrt(2 (2 M + 1) / n) with M = 40 lags.
    assert abs(inefficiency / 9.0 - 1.0) < 4.9 * np.sqrt(162 / (4 * n))
    assert ERROR == 1e-6  # 4.9 standard errors
