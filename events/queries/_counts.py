"""Counts of queries over documents: credible intervals, and how many of them contain the true count."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample._arrays import Floats
from corefsample._lazy import pd
from corefsample.errors import ParameterError
from events.counting import count_pmf
from events.counting._poisson_binomial import hdi_interval, quantile_interval
from events.queries._table import QueryTable

LEVELS = (0.5, 0.8, 0.95)
SIZES = (5, 10, 20, 81)  # 5-9, 10-19, 20-80, 81 and more documents


def mixture_pmf(probs: npt.ArrayLike) -> Floats:
    """Distribution of a count whose documents share an uncertain recalibration.

    Given one draw of the recalibration the documents are independent and the count is Poisson-binomial; the result is
    the mean of these distributions over the draws. As all documents share the draw, its uncertainty does not decrease
    with their number.

    Parameters
    ----------
    probs
        float (n_draws, n_documents) in [0, 1]: each document's P(event) under each draw.

    Returns
    -------
    array of shape (n_documents + 1,), float64 in [0, 1]
        Entry k: P(count = k). `quantile_interval` and `hdi_interval` take it.

    Raises
    ------
    ParameterError
        If there is no draw, or a probability lies outside [0, 1].

    Examples
    --------
    >>> mixture_pmf([[0.0, 0.0], [1.0, 1.0]]).tolist()  # two documents that share every draw
    [0.5, 0.0, 0.5]
    """
    try:
        draws = np.asarray(probs, np.float64)
    except (TypeError, ValueError):
        raise ParameterError("must be numbers (n_draws, n_documents)", parameter="probs") from None
    if draws.ndim != 2 or not draws.shape[0]:
        rule = "must be (n_draws, n_documents) with at least one draw"
        raise ParameterError(f"{rule}, got shape {draws.shape}", parameter="probs")
    pmf: Floats = np.mean([count_pmf(draw) for draw in draws], axis=0)
    return pmf


def count_intervals(
    table: QueryTable, probs: npt.ArrayLike, *, levels: Sequence[float] = LEVELS, min_documents: int = SIZES[0]
) -> pd.DataFrame:
    """Credible intervals of each query's count over the documents that contain it, with the true count.

    Parameters
    ----------
    table
        The queries.
    probs
        float (n_pairs,), or (n_draws, n_pairs) for the distribution with the uncertainty of a recalibration.
    levels
        Of the intervals, each in (0, 1).
    min_documents
        Omit queries in fewer documents.

    Returns
    -------
    pandas.DataFrame
        One row for each query, interval and level: mention_type, verb, n_documents, true_count, mean, sd, interval
        ("normal": mean +- z sd, "quantile", "hdi"), level, lower, upper, held (whether it contains the true count).
    """
    draws = np.atleast_2d(np.asarray(probs, np.float64))
    if draws.shape[1] != table.n_pairs:
        raise ParameterError(f"must have one for each pair ({table.n_pairs}), got {draws.shape[1]}", parameter="probs")
    for level in levels:
        _checks.probability("levels", level, below_one=True, above_zero=True)
    order = np.argsort(table.pair_queries, kind="stable")
    bounds = np.concatenate(([0], np.cumsum(np.bincount(table.pair_queries, minlength=len(table.queries)))))
    columns = ["mention_type", "verb", "n_documents", "true_count", "mean", "sd"]
    columns += ["interval", "level", "lower", "upper", "held"]
    rows = []
    for query, (mention_type, verb) in enumerate(table.queries):
        pairs = order[bounds[query] : bounds[query + 1]]
        if len(pairs) < min_documents:
            continue
        pmf, true_count = mixture_pmf(draws[:, pairs]), int(table.truth[pairs].sum())
        counts = np.arange(len(pmf))
        mean = float(pmf @ counts)
        sd = math.sqrt(max(float(pmf @ (counts - mean) ** 2), 0.0))
        for level in levels:
            half = NormalDist().inv_cdf((1.0 + level) / 2.0) * sd
            ends_by_interval = {
                "normal": (mean - half, mean + half),
                "quantile": quantile_interval(pmf, level),
                "hdi": hdi_interval(pmf, level),
            }
            for interval, (lower, upper) in ends_by_interval.items():
                covered = lower <= true_count <= upper
                count = mention_type, verb, len(pairs), true_count, mean, sd
                rows.append((*count, interval, level, float(lower), float(upper), covered))
    return pd.DataFrame(rows, columns=columns).astype({"held": "bool"})


def count_coverage(intervals: pd.DataFrame, *, sizes: Sequence[int] = SIZES) -> pd.DataFrame:
    """Share of the queries whose interval contains the true count, by number of documents.

    Parameters
    ----------
    intervals
        From `count_intervals`.
    sizes
        Smallest number of documents of each group, ascending; the last group has no upper limit.

    Returns
    -------
    pandas.DataFrame
        One row for each group, interval and level: documents ("5-9"), interval, level, n_queries, coverage, below and
        above (share whose true count is below the lower end, above the upper end), mean_width, mean_error (of the
        posterior mean, in documents).
    """
    if not len(sizes) or any(later <= earlier for earlier, later in itertools.pairwise(sizes)):
        raise ParameterError(f"must be at least one whole number, ascending, got {list(sizes)}", parameter="sizes")
    names = [f"{least}-{more - 1}" for least, more in itertools.pairwise(sizes)] + [f"{sizes[-1]}+"]
    group = np.searchsorted(np.asarray(sizes), intervals["n_documents"].to_numpy(), side="right") - 1
    table = intervals.assign(
        group=group,
        below=intervals["true_count"] < intervals["lower"],
        above=intervals["true_count"] > intervals["upper"],
        width=intervals["upper"] - intervals["lower"],
        error=intervals["mean"] - intervals["true_count"],
    )
    grouped = table[group >= 0].groupby(["group", "interval", "level"], sort=True)
    table = grouped.agg(
        n_queries=("held", "size"),
        coverage=("held", "mean"),
        below=("below", "mean"),
        above=("above", "mean"),
        mean_width=("width", "mean"),
        mean_error=("error", "mean"),
    ).reset_index()
    table.insert(0, "documents", pd.Series([names[g] for g in table.pop("group")], dtype="str"))
    return table
