"""Point estimates against the likeliest antecedents on GUM: python benchmarks/summaries_study.py [--documents N].

The scores are cross-fitted and gold is annotated, so nothing is chosen here. Prints: scores of each estimate; their
differences from the likeliest antecedents with paired bootstrap intervals over documents; expected against achieved
scores; and how often the credible ball around the VI estimate contains gold.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from corefsample import map_clustering, read_documents, sample_clusterings
from corefsample.links import gold_codes
from corefsample.metrics import METRICS, clustering_scores, corpus_scores, metric_posterior
from corefsample.summaries import credible_ball, point_estimate

GUM = Path(__file__).parents[1] / ".." / "shared" / "data" / "gum" / "gum-scored.jsonl.gz"
ESTIMATES = ("map", "binder", "vi", "vi-bound", "muc", "b3", "lea", "conll")
SHOWN = ("muc", "b3", "ceafe", "lea", "conll")
LEVELS = (0.5, 0.8, 0.95)
N_DRAWS = 2000


def labels_of(name: str, document, samples):  # type: ignore[no-untyped-def]
    if name == "map":
        return map_clustering(document.antecedents)
    return point_estimate(document.antecedents, loss=name, samples=samples).labels


def corpus_f1(counts: dict[str, np.ndarray], weights: np.ndarray) -> dict[str, np.ndarray]:
    """F1 of each bootstrap corpus: weights (n_draws, n_documents) say how often each document is drawn."""
    scores = {}
    for metric in ("muc", "b3", "ceafe", "lea"):
        found, wanted, right, given = (weights @ counts[metric]).T
        recall, precision = found / wanted, right / given
        scores[metric] = 2 * recall * precision / (recall + precision)
    scores["conll"] = (scores["muc"] + scores["b3"] + scores["ceafe"]) / 3
    return scores


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=None, help="only every k-th document, so that N are left")
    parser.add_argument("--samples", type=int, default=1000)
    parser.add_argument("--estimates", nargs="+", default=list(ESTIMATES), choices=ESTIMATES)
    options = parser.parse_args()
    documents = list(read_documents(GUM))
    if options.documents:
        documents = documents[:: max(len(documents) // options.documents, 1)][: options.documents]
    scored = {name: [] for name in options.estimates}
    expected = {name: [] for name in options.estimates}
    inside = dict.fromkeys(LEVELS, 0)
    n_whole = 0
    for document in documents:
        samples = sample_clusterings(document.antecedents, n_samples=options.samples, doc_id=document.doc_id)
        gold = gold_codes(document, "single")
        for name in options.estimates:
            labels = labels_of(name, document, samples)
            scored[name].append(clustering_scores(gold, labels))
            expected[name].append(metric_posterior(labels, samples, metric="b3").mean)
            if name == "vi":
                n_whole += 1
                for level in LEVELS:
                    inside[level] += credible_ball(samples, labels, level=level).contains(gold)
    print(f"{len(documents)} documents, {options.samples} samples; corpus F1 in percent")
    print("estimate  " + "".join(f"{metric:>8}" for metric in SHOWN) + "  macro b3: expected, achieved")
    for name in options.estimates:
        scores = corpus_scores(scored[name])
        row = "".join(f"{100 * getattr(scores.corpus, metric).f1:8.2f}" for metric in SHOWN)
        achieved = scores.documents[:, METRICS.index("b3"), 2].mean()
        print(f"{name:<10}{row}  {100 * np.mean(expected[name]):.2f}, {100 * achieved:.2f}")
    rng = np.random.default_rng(0)
    weights = rng.multinomial(len(documents), np.full(len(documents), 1 / len(documents)), N_DRAWS).astype(float)
    weights = np.vstack([np.ones(len(documents)), weights])
    tables = {
        name: {metric: np.array([each.counts[metric] for each in scored[name]]) for metric in SHOWN[:4]}
        for name in options.estimates
    }
    usual = corpus_f1(tables["map"], weights)
    print("difference from map, 95% paired bootstrap interval over documents")
    for name in options.estimates:
        if name == "map":
            continue
        other = corpus_f1(tables[name], weights)
        cells = []
        for metric in SHOWN:
            gap = 100 * (other[metric] - usual[metric])
            low, high = np.quantile(gap[1:], [0.025, 0.975])
            cells.append(f"{metric} {gap[0]:+.2f} [{low:+.2f}, {high:+.2f}]")
        print(f"{name:<10}" + "  ".join(cells))
    for level in LEVELS:
        if n_whole:
            print(f"credible ball around the VI estimate, level {level:g}: gold inside in {inside[level]} of {n_whole}")


if __name__ == "__main__":
    main()
