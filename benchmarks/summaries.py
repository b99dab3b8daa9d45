"""Point estimates against the time they may take: processor time, as machines are shared. Called by run.py."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator

import numpy as np
from measure import Row

from corefsample import AntecedentDistribution, sample_clusterings
from corefsample.summaries import point_estimate

__all__ = ["summary_rows"]


def sparse_distribution(n_mentions: int) -> AntecedentDistribution:
    """Mentions of entities of about 1.6 mentions, with some doubt about each link, as in annotated text."""
    rng = np.random.default_rng(0)
    antecedents, scores = [], []
    entity = rng.integers(0, int(n_mentions / 1.6), n_mentions)
    for i in range(n_mentions):
        candidates = np.arange(max(0, i - 60), i)
        same = entity[candidates] == entity[i]
        antecedents.append(candidates.tolist())
        scores.append((rng.normal(-6.0, 1.5, candidates.shape[0]) + 7.0 * same).tolist())
    return AntecedentDistribution.from_lists(antecedents, scores)


def processor_time(work: Callable[[], object], runs: int) -> float:
    work()
    times = []
    for _ in range(runs):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return statistics.median(times)


def summary_rows(runs: int) -> Iterator[Row]:
    """Rows of the group `summaries`."""
    small, large = sparse_distribution(146), sparse_distribution(1000)
    of_small, of_large = (sample_clusterings(each, n_samples=1000) for each in (small, large))
    works: list[tuple[str, Callable[[], object], float]] = [
        ("Binder estimate, N = 146, exact marginals", lambda: point_estimate(small, loss="binder"), 0.005),
        ("VI estimate, N = 146, 1,000 samples", lambda: point_estimate(of_small, loss="vi"), 0.2),
        ("VI estimate, N = 1,000, 1,000 samples", lambda: point_estimate(of_large, loss="vi"), 10.0),
        ("CoNLL estimate, N = 146, 1,000 samples", lambda: point_estimate(of_small, loss="conll"), 0.6),
    ]
    for name, work, limit in works:
        ours = processor_time(work, runs)
        ratio = ours / limit
        yield Row(name, "its limit, in processor time", ours, limit, ratio, f"<= {limit:g} s", ratio <= 1.0)
