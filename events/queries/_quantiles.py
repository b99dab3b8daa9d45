"""Calibration of counts: the place of each true count in its distribution, and whether these places are uniform."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from corefsample._arrays import Bools
from corefsample.calibration.measures._quantiles import QuantileCalibration, of_places, place
from events.counting import count_pmf
from events.queries._table import QueryTable


def count_quantiles(
    table: QueryTable, probs: npt.ArrayLike, null: Bools, *, n_bins: int = 10, min_documents: int = 5
) -> QuantileCalibration | None:
    """Compare each query's true count with its distribution.

    Parameters
    ----------
    table
        The queries.
    probs
        float (n_pairs,): P of each pair.
    null
        bool (n_draws, n_pairs), from `null_truths`.
    n_bins
        At least 2.
    min_documents
        Omit queries in fewer documents.

    Returns
    -------
    QuantileCalibration or None
        None if no query is in enough documents.

    References
    ----------
    Czado, Gneiting & Held (2009), Predictive model assessment for count data, section 2: the histogram. The test
    statistic is the mean squared distance of the mean distribution function from the diagonal, at the edges; its
    distribution under the null is simulated, so that queries may share documents.
    """
    p = np.asarray(probs, np.float64)
    edges = np.linspace(0.0, 1.0, n_bins + 1)
    total, n_queries = np.zeros((1 + len(null), n_bins + 1)), 0
    for query in range(len(table.queries)):
        pairs = np.flatnonzero(table.pair_queries == query)
        if len(pairs) < min_documents:
            continue
        below = np.concatenate(([0.0], np.minimum(np.cumsum(count_pmf(p[pairs])), 1.0)))
        counts = np.concatenate(([table.truth[pairs].sum()], null[:, pairs].sum(axis=1))).astype(np.int64)
        total += place(below[counts], below[counts + 1], edges)
        n_queries += 1
    if not n_queries:
        return None
    return of_places(total, n_queries, edges)
