"""Counts of each clustering metric by sample, and the scores computed from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from corefsample._arrays import Floats, Ints, Ints32
from corefsample.metrics import _kernels as kernels
from corefsample.metrics._alignment import Key

Counts = Mapping[str, Floats]
Cells = tuple[Ints32, Ints32, Ints32, Ints]  # key entity, label and number of mentions of cells, and how many there are
Metric = Literal["muc", "b3", "ceafe", "ceafm", "lea", "blanc", "conll"]
Part = Literal["recall", "precision", "f1"]

CONLL: tuple[Metric, ...] = ("muc", "b3", "ceafe")
COUNTED: tuple[Metric, ...] = ("muc", "b3", "ceafe", "ceafm", "lea", "blanc")
METRICS: tuple[Metric, ...] = (*COUNTED, "conll")
PARTS: tuple[Part, ...] = ("recall", "precision", "f1")

# Mentions times samples of a block: limits the memory for the overlaps of one document with many samples.
_BLOCK = 100_000


def counted_for(metric: Metric) -> tuple[Metric, ...]:
    """Metrics whose counts one metric needs."""
    return CONLL if metric == "conll" else (metric,)


def counts_of(
    key: Key, responses: Ints32, *, singletons: bool, metrics: Sequence[Metric] = COUNTED
) -> dict[str, Floats]:
    """Count by sample what the metrics are computed from.

    Parameters
    ----------
    key
        Of one document.
    responses
        int32 (n_samples, n_mentions): label of each mention, -1 for mentions that the response lacks.
    singletons
        Whether response entities of one mention count; `key` has them only if they do.
    metrics
        The metrics to count.

    Returns
    -------
    dict of float64 arrays
        "mentions" (n_samples, 3): mentions of the key, of the response, of both. "blanc" (n_samples, 6): correct
        coreference links, those of the key, those of the response, and the same of non-coreference links. Each other
        metric (n_samples, 4): numerator and denominator of recall, numerator and denominator of precision.
    """
    size = max(_BLOCK // max(responses.shape[1], 1), 1)
    blocks = [
        _block_counts(key, np.ascontiguousarray(responses[start : start + size]), singletons, metrics)
        for start in range(0, responses.shape[0], size)
    ]
    return {name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]}


def _block_counts(key: Key, responses: Ints32, singletons: bool, metrics: Sequence[Metric]) -> dict[str, Floats]:
    n_samples, n_mentions = responses.shape
    n_labels = int(responses.max(initial=-1)) + 1
    response_sizes = np.empty((n_samples, n_labels), np.int32)
    cell_keys, cell_labels, cell_sizes = (np.zeros((n_samples, n_mentions), np.int32) for _ in range(3))
    totals = np.empty((n_samples, kernels.N_TOTALS))
    kernels.overlaps(
        key.members, key.indptr, responses, singletons, response_sizes, cell_keys, cell_labels, cell_sizes, totals
    )
    counts = _closed_counts(key, totals)
    cells = (cell_keys, cell_labels, cell_sizes, totals[:, kernels.CELLS].astype(np.int64))
    key_entities, key_mentions = float(key.sizes.shape[0]), float(key.sizes.sum())
    if "ceafe" in metrics:
        weight = _heaviest_matching(key, response_sizes, cells, by_entity=True)
        counts["ceafe"] = _columns(weight, key_entities, weight, totals[:, kernels.RESPONSE_ENTITIES])
    if "ceafm" in metrics:
        weight = _heaviest_matching(key, response_sizes, cells, by_entity=False)
        counts["ceafm"] = _columns(weight, key_mentions, weight, totals[:, kernels.RESPONSE_MENTIONS])
    return {name: counts[name] for name in ("mentions", *metrics)}


def _closed_counts(key: Key, totals: Floats) -> dict[str, Floats]:
    """Counts of the metrics that need no matching.

    MUC: the parts of a key entity are its cells and the mentions that the response lacks, so mentions minus parts is
    shared mentions minus cells. The same holds for response entities.
    """
    entities, mentions = float(key.sizes.shape[0]), float(key.sizes.sum())
    pairs = float((key.sizes * (key.sizes - 1) // 2).sum())
    total = totals.T
    response_mentions, shared = total[kernels.RESPONSE_MENTIONS], total[kernels.SHARED_MENTIONS]
    found = shared - total[kernels.CELLS]
    correct = total[kernels.CELL_PAIRS]
    correct_apart = (
        shared * (shared - 1) / 2 - total[kernels.SHARED_KEY_PAIRS] - total[kernels.SHARED_RESPONSE_PAIRS] + correct
    )
    apart = mentions * (mentions - 1) / 2 - pairs
    response_pairs = total[kernels.RESPONSE_PAIRS]
    response_apart = response_mentions * (response_mentions - 1) / 2 - response_pairs
    return {
        "mentions": _columns(mentions, response_mentions, shared),
        "muc": _columns(found, mentions - entities, found, response_mentions - total[kernels.RESPONSE_ENTITIES]),
        "b3": _columns(total[kernels.B3_RECALL], mentions, total[kernels.B3_PRECISION], response_mentions),
        "lea": _columns(total[kernels.LEA_RECALL], mentions, total[kernels.LEA_PRECISION], response_mentions),
        "blanc": _columns(correct, pairs, response_pairs, correct_apart, apart, response_apart),
    }


def _columns(*columns: float | Floats) -> Floats:
    return np.stack(np.broadcast_arrays(*columns), axis=1).astype(np.float64)


def _heaviest_matching(key: Key, response_sizes: Ints32, cells: Cells, *, by_entity: bool) -> Floats:
    """Weight of the heaviest one-to-one matching of key and response entities: float64 (n_samples,).

    The weight of a cell is the Dice coefficient of its two entities (CEAFe: by_entity) or its number of mentions
    (CEAFm).
    """
    from scipy.optimize import linear_sum_assignment

    keys, labels, shared, n_cells = cells
    n_samples = keys.shape[0]
    if not n_cells.any():
        return np.zeros(n_samples)
    sizes = key.sizes[keys] + np.take_along_axis(response_sizes, labels, 1) if by_entity else 2.0
    weights = 2.0 * shared / sizes  # 0 past the last cell
    responses, n_entities = key.sizes.shape[0] + labels, key.sizes.shape[0] + response_sizes.shape[1]
    matching = np.empty(n_samples)
    kernels.match_certain(keys, responses, n_cells, weights, n_entities, matching)
    sample, cell = np.nonzero(weights)  # of the rest, whose entities are numbered from 0 in each sample
    places = (sample * n_entities + each[sample, cell] for each in (keys, responses))
    rows, columns = (np.unique(each, return_inverse=True)[1] for each in places)
    bounds = np.searchsorted(sample, np.arange(n_samples + 1))
    for s in np.flatnonzero(np.diff(bounds)).tolist():
        own = slice(bounds[s], bounds[s + 1])
        row, column = rows[own] - rows[own].min(), columns[own] - columns[own].min()
        matrix = np.zeros((row.max() + 1, column.max() + 1))
        matrix[row, column] = weights[s, cell[own]]
        matching[s] += matrix[linear_sum_assignment(matrix, maximize=True)].sum()
    return matching


def scores_of(metric: Metric, counts: Counts) -> Floats:
    """Recall, precision and F1 of each sample: float64 (n_samples, 3); 0/0 is 0."""
    if metric == "conll":
        return sum((scores_of(one, counts) for one in CONLL), np.zeros(3)) / len(CONLL)
    if metric == "blanc":
        return _blanc(counts["blanc"], counts["mentions"])
    recall_numerator, recall_denominator, precision_numerator, precision_denominator = counts[metric].T
    recall = ratio(recall_numerator, recall_denominator)
    precision = ratio(precision_numerator, precision_denominator)
    return _columns(recall, precision, ratio(2.0 * recall * precision, recall + precision))


def ratio(numerator: Floats, denominator: Floats) -> Floats:
    """Quotients; 0/0 is 0."""
    found: Floats = np.divide(numerator, denominator, out=np.zeros(numerator.shape), where=denominator > 0.0)
    return found


def _blanc(links: Floats, mentions: Floats) -> Floats:
    """Mean of the scores of coreference and of non-coreference links; the key may lack one kind or both."""
    together, apart = _link_scores(*links.T[:3]), _link_scores(*links.T[3:])
    has_together, has_apart = links[:, 1, None] > 0.0, links[:, 4, None] > 0.0
    same = (mentions == mentions[:, 2, None]).all(axis=1, keepdims=True).astype(np.float64)
    one_kind = np.where(has_together, together, np.where(has_apart, apart, same))
    return np.where(has_together & has_apart, (together + apart) / 2.0, one_kind)


def _link_scores(correct: Floats, of_key: Floats, of_response: Floats) -> Floats:
    return _columns(ratio(correct, of_key), ratio(correct, of_response), ratio(2.0 * correct, of_key + of_response))
