"""Documents whose annotation is drawn from their antecedents."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from corefsample import AntecedentDistribution, ScoredDocument, sample_clusterings


def calibrated_documents(n_documents: int, n_mentions: int, sharpness: float = 1.0) -> Iterator[ScoredDocument]:
    """Documents whose gold is drawn from their antecedents: calibrated if the sharpness is 1."""
    rng = np.random.default_rng(5)
    mentions = np.array([[i, i + 1, i] for i in range(n_mentions)])
    rows = [list(range(i)) for i in range(n_mentions)]
    for d in range(n_documents):
        scores = [rng.normal(-1.0, 1.5, i) for i in range(n_mentions)]
        truth = AntecedentDistribution.from_lists(rows, [row.tolist() for row in scores])
        stated = AntecedentDistribution.from_lists(rows, [(sharpness * row).tolist() for row in scores])
        gold = sample_clusterings(truth, n_samples=1, seed=7, doc_id=str(d)).labels[0].tolist()
        yield ScoredDocument(f"d{d:02}", mentions, stated, gold=gold)
