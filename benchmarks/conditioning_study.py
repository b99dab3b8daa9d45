"""Conditioned samples against the enumeration of small documents, and the time that long documents take.

python benchmarks/conditioning_study.py [--documents 1000] [--samples 20000]
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections import Counter
from collections.abc import Iterator

import numpy as np

import corefsample as cs
from corefsample.coreference import _conditioning

Pairs = list[tuple[int, int]]


def random_document(rng: np.random.Generator) -> tuple[cs.AntecedentDistribution, Pairs]:
    """Two to six mentions with scores from 0 to 12, of which about half of the pairs are apart."""
    n = int(rng.integers(2, 7))
    antecedents = [[k for k in range(i) if rng.random() < 0.9] for i in range(n)]
    scores = [[float(rng.choice([0, 2, 7, 12, rng.uniform(0, 12)])) for _ in row] for row in antecedents]
    pairs = [pair for pair in itertools.combinations(range(n), 2) if rng.random() < 0.5]
    return cs.AntecedentDistribution.from_lists(antecedents, scores), pairs or [(0, 1)]


def long_document(rng: np.random.Generator, spread: float) -> tuple[cs.AntecedentDistribution, Pairs]:
    """150 mentions with 15 candidates each, of which 30 name one of five actors."""
    n = 150
    antecedents = [sorted(rng.choice(i, min(i, 15), replace=False).tolist()) for i in range(n)]
    scores = [rng.normal(-1.0, spread, len(row)).tolist() for row in antecedents]
    names = rng.choice(n, 30, replace=False)
    actors = dict(zip(names.tolist(), rng.integers(0, 5, 30).tolist(), strict=True))
    pairs = [(i, j) for i, j in itertools.combinations(sorted(actors), 2) if actors[i] != actors[j]]
    return cs.AntecedentDistribution.from_lists(antecedents, scores), pairs


def clusterings(n: int) -> Iterator[tuple[int, ...]]:
    """Every clustering of n mentions, as the first mention of each mention's entity."""
    if n == 0:
        yield ()
        return
    for labels in clusterings(n - 1):
        for label in (*sorted(set(labels)), n - 1):
            yield (*labels, label)


def distances(n_documents: int, n_samples: int) -> tuple[list[float], list[float], Counter[str]]:
    """Total variation distances from enumeration, those expected of independent samples, and the ways of sampling."""
    rng = np.random.default_rng(0)
    measured, expected, ways = [], [], Counter[str]()
    for seed in range(n_documents):
        distribution, pairs = random_document(rng)
        samples = cs.sample_clusterings(distribution, n_samples=n_samples, seed=seed, cannot_link=pairs)
        ways[samples.conditioned.method] += 1  # type: ignore[union-attr]
        every = [c for c in clusterings(distribution.n_mentions) if all(c[i] != c[j] for i, j in pairs)]
        logs = np.array([cs.clustering_log_prob(distribution, c) for c in every])
        probs = np.exp(logs - logs.max())
        probs /= probs.sum()
        counts = Counter(map(tuple, samples.labels.tolist()))
        measured.append(0.5 * float(np.abs(np.array([counts[c] for c in every]) / n_samples - probs).sum()))
        expected.append(0.5 * float(np.sqrt(2 * probs * (1 - probs) / (np.pi * n_samples)).sum()))
    return measured, expected, ways


def main() -> None:
    """Print distances and times."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=1000, help="small documents")
    parser.add_argument("--samples", type=int, default=20_000, help="of each small document")
    arguments = parser.parse_args()
    rejection = _conditioning._ENOUGH, _conditioning._LEAST, _conditioning._GOOD
    for name, constants in (("as usual", rejection), ("chains only", (10**9, 2.0, 2.0))):
        _conditioning._ENOUGH, _conditioning._LEAST, _conditioning._GOOD = constants
        measured, expected, ways = distances(arguments.documents, arguments.samples)
        print(
            f"{name}: distance mean {np.mean(measured):.4f}, of independent samples {np.mean(expected):.4f};"
            f" largest {max(measured):.3f}; {dict(ways)}"
        )
    _conditioning._ENOUGH, _conditioning._LEAST, _conditioning._GOOD = rejection
    for spread in (1.0, 2.0, 3.0):
        rng = np.random.default_rng(1)
        for _ in range(3):
            distribution, pairs = long_document(rng, spread)
            begin = time.process_time()
            samples = cs.sample_clusterings(distribution, n_samples=1000, cannot_link=pairs)
            seconds = time.process_time() - begin
            conditioned = samples.conditioned
            assert conditioned is not None
            print(
                f"150 mentions, scores with sd {spread}: {1000 * seconds:.0f} ms of processor time,"
                f" {conditioned.method}, inefficiency {conditioned.inefficiency:.1f}"
            )


if __name__ == "__main__":
    main()
