"""Comparison of the true counts of queries with P: coverage of intervals, quantiles, and misfit by group."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from corefsample._arrays import Bools, Floats
from corefsample._lazy import pd
from corefsample._machine import processors
from corefsample.calibration._quantiles import QuantileCalibration, calibration_of_cdfs, uniform_cdfs
from corefsample.errors import ParameterError
from corefsample.recalibration._model import Recalibration
from events.counting import count_pmf
from events.counting._counts import hdi_interval, quantile_interval
from events.queries._queries import QueryTable

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
        Entry k is P(count = k). `quantile_interval` and `hdi_interval` give intervals of this distribution.

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
        Probabilities of the credible intervals, each in (0, 1).
    min_documents
        Least number of documents that contain a query; other queries are omitted.

    Returns
    -------
    pandas.DataFrame
        One row for each query, interval and level: mention_type, verb, n_documents, true_count, mean, sd, interval
        ("normal": mean +- z sd, "quantile", "hdi"), level, lower, upper, held (whether the interval contains the true
        count).
    """
    draws = np.atleast_2d(np.asarray(probs, np.float64))
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


def count_coverage(intervals: pd.DataFrame, *, by: Sequence[str] = ()) -> pd.DataFrame:
    """Share of the queries whose interval contains the true count, by number of documents.

    Parameters
    ----------
    intervals
        Table that `count_intervals` returned.
    by
        Further columns by which rows are grouped, in the order in which their values first appear.

    Returns
    -------
    pandas.DataFrame
        One row for each group, interval and level: columns `by`, documents ("5-9"), interval, level, n_queries,
        coverage, below and above (share whose true count is below the lower end, above the upper end), mean_width,
        mean_error (mean difference of posterior mean and true count, in documents).
    """
    names = [f"{least}-{more - 1}" for least, more in itertools.pairwise(SIZES)] + [f"{SIZES[-1]}+"]
    table = intervals.assign(
        documents=pd.cut(intervals["n_documents"], [*SIZES, np.inf], right=False, labels=names),
        below=intervals["true_count"] < intervals["lower"],
        above=intervals["true_count"] > intervals["upper"],
        width=intervals["upper"] - intervals["lower"],
        error=intervals["mean"] - intervals["true_count"],
        **{name: pd.Categorical(intervals[name], intervals[name].unique()) for name in by},
    )
    grouped = table.groupby([*by, "documents", "interval", "level"], sort=True, observed=True)
    coverage: pd.DataFrame = grouped.agg(
        n_queries=("held", "size"),
        coverage=("held", "mean"),
        below=("below", "mean"),
        above=("above", "mean"),
        mean_width=("width", "mean"),
        mean_error=("error", "mean"),
    ).reset_index()
    return coverage.astype(dict.fromkeys([*by, "documents"], "str"))


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
        bool (n_draws, n_pairs): truths of the pairs that `null_truths` simulated.
    n_bins
        Number of bins of the histogram, at least 2.
    min_documents
        Least number of documents that contain a query; other queries are omitted.

    Returns
    -------
    QuantileCalibration or None
        Quantiles of the true counts with a test of P; None if no query is in enough documents.

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
        total += uniform_cdfs(below[counts], below[counts + 1], edges)
        n_queries += 1
    if not n_queries:
        return None
    return calibration_of_cdfs(total, n_queries, edges)


_FIRST_DRAW = 10**7  # index of the first sample under the null
_LEAST_VARIANCE = 1e-6  # groups whose count has less variance under the null are not tested


def null_truths(table: QueryTable, recalibrations: Sequence[Recalibration], *, n_draws: int, seed: int = 0) -> Bools:
    """Simulate the truths of all pairs under the hypothesis that P is right, from sampled clusterings.

    Queries of one document are true or false together in a clustering, so their dependence is kept.

    Parameters
    ----------
    table
        The queries.
    recalibrations
        Recalibration of each document of the table.
    n_draws
        Number of clusterings that are drawn per document, at least 1.
    seed
        Seed of the random draws, in [0, 2**64); the draws differ from those from which P is estimated.

    Returns
    -------
    array of shape (n_draws, n_pairs), bool
    """
    sampling = {"n_samples": n_draws, "seed": seed, "first_sample": _FIRST_DRAW}
    with ThreadPoolExecutor(processors()) as pool:
        pairs = zip(table.documents, recalibrations, strict=True)
        truths = pool.map(lambda pair: pair[0].truths(pair[1], **sampling), pairs)
        return np.concatenate(list(truths), axis=1)


def group_misfit(
    table: QueryTable, probs: npt.ArrayLike, null: Bools, groups: Mapping[str, Sequence[str]]
) -> pd.DataFrame:
    """Compare mean P with the share of true queries by group.

    Parameters
    ----------
    table
        The queries.
    probs
        float (n_pairs,): P of each pair.
    null
        bool (n_draws, n_pairs): truths of the pairs that `null_truths` simulated.
    groups
        Group of each pair, by the name of the grouping, such as "verb".

    Returns
    -------
    pandas.DataFrame
        One row per group: by (name of the grouping), group, n_pairs, n_documents, mean_p, share_true, z (standard score
        of the true count under the hypothesis that P is right).
    """
    p = np.asarray(probs, np.float64)
    rows = []
    for by, names in groups.items():
        distinct, codes = np.unique(np.asarray(names, str), return_inverse=True)
        size, expected = np.bincount(codes), np.bincount(codes, weights=p)
        counts = np.bincount(codes, weights=table.truth)
        drawn = np.stack([np.bincount(codes, weights=draw, minlength=len(distinct)) for draw in null])
        variance = drawn.var(axis=0)
        used = variance > _LEAST_VARIANCE
        z = np.where(used, (counts - expected) / np.sqrt(np.where(used, variance, 1.0)), np.nan)
        for g, name in enumerate(distinct):
            n_documents = len(np.unique(table.pair_documents[codes == g]))
            rows.append((by, str(name), int(size[g]), n_documents, expected[g] / size[g], counts[g] / size[g], z[g]))
    columns = ["by", "group", "n_pairs", "n_documents", "mean_p", "share_true", "z"]
    return pd.DataFrame(rows, columns=columns)
