"""Point estimates against the likeliest antecedents on GUM: python benchmarks/summaries_study.py [--documents N].

The scores are cross-fitted and gold is annotated, so nothing is chosen here. Prints: scores of each estimate; their
differences from the likeliest antecedents with paired bootstrap intervals over documents; expected against achieved
scores; and how often the credible ball around the VI estimate contains gold, as sampled and calibrated.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from pathlib import Path
from typing import NamedTuple

import numpy as np

from corefsample import ScoredDocument, map_clustering, read_documents, sample_clusterings
from corefsample.coreference._clusterings import ClusteringSamples
from corefsample.documents._scored import gold_codes
from corefsample.metrics._scores import ClusteringScores, clustering_scores, corpus_scores, metric_posterior
from corefsample.summaries import credible_ball, point_estimate

GUM = Path(__file__).parents[1] / ".." / "shared" / "data" / "gum" / "gum-scored.jsonl.gz"
ESTIMATES = ("map", "binder", "vi-bound", "vi", "b3", "lea", "conll")
SHOWN = ("muc", "b3", "ceafe", "lea", "conll")
EXPECTED = ("b3", "lea", "conll")
LEVELS = (0.5, 0.8, 0.95)
N_DRAWS = 2000


class Found(NamedTuple):
    """What one document gives: by estimate, scores against gold, expected scores and seconds; and balls with gold."""

    scores: dict[str, ClusteringScores]
    expected: dict[str, list[float]]
    seconds: dict[str, float]
    inside: list[bool]
    depths: list[float]


def labels_of(name: str, document: ScoredDocument, samples: ClusteringSamples) -> np.ndarray:
    if name == "map":
        return map_clustering(document.antecedents)
    return point_estimate(document.antecedents, loss=name, samples=samples).labels  # type: ignore[arg-type]


def study(document: ScoredDocument, n_samples: int, estimates: list[str]) -> Found:
    samples = sample_clusterings(document.antecedents, n_samples=n_samples, doc_id=document.doc_id)
    gold = gold_codes(document, "single")
    found = Found({}, {}, {}, [], [])
    for name in estimates:
        start = time.process_time()
        labels = labels_of(name, document, samples)
        found.seconds[name] = time.process_time() - start
        found.scores[name] = clustering_scores(gold, labels)
        found.expected[name] = [metric_posterior(labels, samples, metric=metric).mean for metric in EXPECTED]  # type: ignore[arg-type]
        if name == "vi":
            found.inside.extend(credible_ball(samples, labels, level=level).contains(gold) for level in LEVELS)
            found.depths.append(credible_ball(samples, labels).depth(gold))
    return found


def studied(options: argparse.Namespace, documents: list[ScoredDocument]) -> Iterator[Found]:
    arguments = documents, *(repeat(each) for each in (options.samples, options.estimates))
    if options.processes == 1:
        yield from map(study, *arguments)
        return
    with ProcessPoolExecutor(options.processes) as pool:
        yield from pool.map(study, *arguments)


def corpus_f1(counts: dict[str, np.ndarray], weights: np.ndarray) -> dict[str, np.ndarray]:
    """F1 of each bootstrap corpus: weights (n_draws, n_documents) say how often each document is drawn."""
    scores = {}
    for metric in ("muc", "b3", "ceafe", "lea"):
        found, wanted, right, given = (weights @ counts[metric]).T
        recall, precision = found / wanted, right / given
        scores[metric] = 2 * recall * precision / (recall + precision)
    scores["conll"] = (scores["muc"] + scores["b3"] + scores["ceafe"]) / 3
    return scores


def print_scores(found: list[Found], estimates: list[str]) -> None:
    print("estimate  " + "".join(f"{metric:>8}" for metric in SHOWN) + "   seconds")
    for name in estimates:
        scores = corpus_scores([each.scores[name] for each in found])
        row = "".join(f"{100 * getattr(scores, metric).f1:8.2f}" for metric in SHOWN)
        print(f"{name:<10}{row}{sum(each.seconds[name] for each in found):10.1f}")


def print_differences(found: list[Found], estimates: list[str]) -> None:
    n = len(found)
    weights = np.random.default_rng(0).multinomial(n, np.full(n, 1 / n), N_DRAWS).astype(float)
    weights = np.vstack([np.ones(n), weights])
    draws = {
        name: corpus_f1(
            {metric: np.array([each.scores[name].counts[metric] for each in found]) for metric in SHOWN[:4]}, weights
        )
        for name in estimates
    }
    print("\ndifference from map, 95% paired bootstrap interval over documents")
    for name in estimates:
        cells = []
        for metric in SHOWN if name != "map" else ():
            gap = 100 * (draws[name][metric] - draws["map"][metric])
            low, high = np.quantile(gap[1:], [0.025, 0.975])
            cells.append(f"{metric} {gap[0]:+.2f} [{low:+.2f}, {high:+.2f}]")
        print(f"{name:<10}" + "  ".join(cells))


def print_expected(found: list[Found], estimates: list[str]) -> None:
    print("\nmean F1 over documents: expected by the posterior, achieved against gold")
    print("estimate  " + "".join(f"{metric:>16}" for metric in EXPECTED))
    for name in estimates:
        expected = np.mean([each.expected[name] for each in found], axis=0)
        achieved = [np.mean([getattr(each.scores[name], m).f1 for each in found]) for m in EXPECTED]
        pairs = zip(expected, achieved, strict=True)
        print(f"{name:<10}" + "".join(f"{f'{100 * a:.2f}, {100 * b:.2f}':>16}" for a, b in pairs))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=None, help="only every k-th document, so that N are left")
    parser.add_argument("--samples", type=int, default=1000)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--estimates", nargs="+", default=list(ESTIMATES), choices=ESTIMATES)
    options = parser.parse_args()
    options.estimates = ["map", *(name for name in options.estimates if name != "map")]
    documents = list(read_documents(GUM))
    if options.documents:
        documents = documents[:: max(len(documents) // options.documents, 1)][: options.documents]
    found = []
    for each in studied(options, documents):
        found.append(each)
        print(f"\r{len(found)} of {len(documents)} documents", end="", file=sys.stderr)
    print(f"{len(documents)} documents, {options.samples} samples")
    print("corpus F1 in percent, processor time in seconds")
    print_scores(found, options.estimates)
    print_differences(found, options.estimates)
    print_expected(found, options.estimates)
    if "vi" in options.estimates:
        print("\nshare of credible balls around the VI estimate that contain gold; calibrated: mean over halves")
        depths, rng = np.concatenate([each.depths for each in found]), np.random.default_rng(0)
        for number, level in enumerate(LEVELS):
            inside = np.mean([each.inside[number] for each in found])
            held = []
            for _ in range(N_DRAWS):
                tested, others = np.array_split(rng.permutation(depths), 2)
                place = int(np.ceil((others.shape[0] + 1) * level)) - 1
                held.append(np.mean(tested <= np.sort(others)[place]))
            print(f"level {level:g}: {inside:.3f} as sampled, {np.mean(held):.3f} calibrated")


if __name__ == "__main__":
    main()
