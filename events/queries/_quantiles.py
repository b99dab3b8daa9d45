"""Calibration of counts: the place of each true count in its distribution, and whether these places are uniform.

The probability integral transform of a whole number is randomised: it is uniform between P(count < true) and
P(count <= true). Instead of one random number, its distribution is used, so that the result needs no seed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from corefsample._arrays import Bools, Floats
from events.counting import count_pmf
from events.queries._table import QueryTable


@dataclass(frozen=True, slots=True, eq=False)
class CountQuantiles:
    """Histogram of the places of true counts in their distributions, and a test that these are right.

    Attributes
    ----------
    n_queries
        Number of counts.
    edges
        float64 (n_bins + 1,): of the bins, from 0 to 1.
    shares
        float64 (n_bins,): share of the counts in each bin; about 1 / n_bins if the distributions are right, more at
        both ends if they are too narrow, more in the middle if they are too wide.
    lower, upper
        float64 (n_bins,): 95% of the shares under the null, bin by bin.
    p_value
        Of the null: true counts are drawn from the distributions, all queries of a document from one clustering.
    """

    n_queries: int
    edges: Floats
    shares: Floats
    lower: Floats
    upper: Floats
    p_value: float


def count_quantiles(
    table: QueryTable, probs: npt.ArrayLike, null: Bools, *, n_bins: int = 10, min_documents: int = 5
) -> CountQuantiles | None:
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
    CountQuantiles or None
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
        total += _place(below[counts], below[counts + 1], edges)
        n_queries += 1
    if not n_queries:
        return None
    functions = total / n_queries
    distances = np.mean((functions - edges) ** 2, axis=1)
    shares = np.diff(functions, axis=1)
    lower, upper = np.quantile(shares[1:], [0.025, 0.975], axis=0)
    p_value = (1 + int(np.count_nonzero(distances[1:] >= distances[0]))) / len(distances)
    return CountQuantiles(n_queries, edges, shares[0], lower, upper, p_value)


def _place(lower: Floats, upper: Floats, edges: Floats) -> Floats:
    """Distribution function, (n, n_edges), of a uniform number between two ends, which may be equal, for each pair."""
    width = (upper - lower)[:, None]
    inside = (edges - lower[:, None]) / np.where(width > 0.0, width, 1.0)
    function: Floats = np.where(width > 0.0, np.clip(inside, 0.0, 1.0), edges >= lower[:, None])
    function[:, 0], function[:, -1] = 0.0, 1.0  # a place at 0 or 1 belongs to the first or last bin
    return function
