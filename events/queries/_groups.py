"""P of queries against the truth by groups of queries or documents, and whether groups differ more than by chance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt

from corefsample._arrays import Bools, Floats
from corefsample._lazy import pd
from corefsample._processors import processors
from corefsample.coreference._exact import link_marginals
from corefsample.documents._scored import ScoredDocument
from corefsample.links._pairs import Unannotated, gold_codes
from corefsample.mention_ranking.features._encoding import MENTION_KINDS
from corefsample.recalibration._model import Recalibration, document_kinds
from events.queries._table import QueryTable

_FIRST_DRAW = 10**7  # index of the first sample under the null
_LEAST_VARIANCE = 1e-6  # of a group's count under the null; groups below it have no uncertainty to compare with


def null_truths(table: QueryTable, recalibrations: Sequence[Recalibration], *, n_draws: int, seed: int = 0) -> Bools:
    """Truths of all pairs in clusterings drawn from the distributions: what would be seen if P were right.

    Queries of one document are true or false together in a clustering, so their dependence is kept.

    Parameters
    ----------
    table
        The queries.
    recalibrations
        One per document of the table.
    n_draws
        At least 1.
    seed
        Of the samples, which are others than those of P.

    Returns
    -------
    array of shape (n_draws, n_pairs), bool
    """
    sampling = {"n_samples": n_draws, "seed": seed, "first_sample": _FIRST_DRAW}
    with ThreadPoolExecutor(processors()) as pool:
        each = zip(table.documents, recalibrations, strict=True)
        parts = pool.map(lambda pair: pair[0].truths(pair[1], **sampling), each)
        return np.concatenate(list(parts), axis=1)


def group_misfit(
    table: QueryTable, probs: npt.ArrayLike, null: Bools, groups: Mapping[str, Sequence[str]]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Compare mean P with the share of true queries by group, and measure the overdispersion of groups.

    For each grouping, chi2 is the sum over groups of the squared difference between true and expected count, divided by
    its variance in the null draws. Divided by the number of groups it is about 1 if P is right.

    Parameters
    ----------
    table
        The queries.
    probs
        float (n_pairs,): P of each pair.
    null
        bool (n_draws, n_pairs), from `null_truths`.
    groups
        For each grouping ("verb") the group of each pair.

    Returns
    -------
    tuple of pandas.DataFrame
        One row per group: by, group, n_pairs, n_documents, mean_p, share_true, z (of the true count under the null).
        One row per grouping: by, n_groups, chi2_per_df, null_mean, null_upper (its mean and 95% point under the null),
        p_value.
    """
    p = np.asarray(probs, np.float64)
    rows, totals = [], []
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
        if used.any():
            chi2 = float(np.mean(z[used] ** 2))
            spread = np.mean((drawn[:, used] - expected[used]) ** 2 / variance[used], axis=1)
            p_value = (1 + int(np.count_nonzero(spread >= chi2))) / (1 + len(spread))
            upper = float(np.quantile(spread, 0.95))
            totals.append((by, int(used.sum()), chi2, float(spread.mean()), upper, p_value))
    columns = ["by", "group", "n_pairs", "n_documents", "mean_p", "share_true", "z"]
    overall = ["by", "n_groups", "chi2_per_df", "null_mean", "null_upper", "p_value"]
    return pd.DataFrame(rows, columns=columns), pd.DataFrame(totals, columns=overall)


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
        As for `corefsample.links.gold_codes`.

    Returns
    -------
    pandas.DataFrame
        One row per kind of the later and of the earlier mention: kind, earlier, n_pairs, mean_p, share_true, expected
        and true (counts of coreferent pairs).
    """
    n = len(MENTION_KINDS)
    sums = np.zeros((3, n * n))

    def add(document: ScoredDocument, recalibration: Recalibration) -> Floats:
        marginals, entities = link_marginals(recalibration.distribution_of(document)), gold_codes(document, unannotated)
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
