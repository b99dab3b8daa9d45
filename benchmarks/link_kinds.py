"""Link marginals against gold by the kinds of both mentions, for studies of the antecedent model."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd

from corefsample import Recalibration, ScoredDocument, link_marginals
from corefsample._arrays import Floats
from corefsample._machine import processors
from corefsample.documents._scored import Unannotated, gold_codes
from corefsample.recalibration._model import document_kinds
from corefsample.syntax._words import MENTION_KINDS


def links_by_kind(
    documents: Sequence[ScoredDocument], recalibrations: Sequence[Recalibration], *, unannotated: Unannotated = "skip"
) -> pd.DataFrame:
    """Exact link marginals against gold by the kinds of the two mentions.

    Parameters
    ----------
    documents
        With gold and tokens.
    recalibrations
        One per document.
    unannotated
        See `corefsample.documents._scored.gold_codes`.

    Returns
    -------
    pandas.DataFrame
        One row per kind of the later and of the earlier mention: kind, earlier, n_pairs, mean_p, share_true, expected
        and true (counts of coreferent pairs).
    """
    n = len(MENTION_KINDS)
    sums = np.zeros((3, n * n))

    def add(document: ScoredDocument, recalibration: Recalibration) -> Floats:
        marginals, entities = (
            link_marginals(recalibration.apply_document(document).antecedents),
            gold_codes(document, unannotated),
        )
        known = np.flatnonzero(entities >= 0)
        kinds = document_kinds(document)[known].astype(np.int64)
        later, earlier = np.tril_indices(len(known), -1)
        codes = kinds[later] * n + kinds[earlier]
        q = marginals[known[later], known[earlier]]
        y = entities[known[later]] == entities[known[earlier]]
        return np.stack([np.bincount(codes, weights=w, minlength=n * n) for w in (np.ones(len(q)), q, y)])

    with ThreadPoolExecutor(processors()) as pool:
        for part in pool.map(add, documents, recalibrations):
            sums += part
    rows = [
        (MENTION_KINDS[code // n], MENTION_KINDS[code % n], int(pairs), expected / pairs, true / pairs, expected, true)
        for code, (pairs, expected, true) in enumerate(sums.T.tolist())
        if pairs
    ]
    return pd.DataFrame(rows, columns=["kind", "earlier", "n_pairs", "mean_p", "share_true", "expected", "true"])
