"""Counts of each clustering metric by sample, of aligned mentions, and the scores computed from them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from corefsample._arrays import Floats, Ints, Ints32
from corefsample.errors import ParameterError, shown
from corefsample.metrics import _overlap_kernels as kernels

Labels = Sequence[int | str | None] | npt.NDArray[Any]

_NO_ENTITY = -1


@dataclass(frozen=True, slots=True, eq=False)
class Key:
    """Mentions of key entities, and the index of each mention in the response.

    Attributes
    ----------
    members, indptr
        int64: members[indptr[k]:indptr[k+1]] are the mentions of key entity k, as places in `columns`.
    columns
        int64 (n_mentions,): the response's mention that each mention of the document is, -1 if the response lacks it.
        The mentions are those of the key that are annotated, then those that only the response has.
    """

    members: Ints
    indptr: Ints
    columns: Ints

    @property
    def sizes(self) -> Ints:
        """Mentions of each key entity."""
        return np.diff(self.indptr)

    def responses(self, codes: npt.NDArray[np.integer[Any]]) -> Ints32:
        """Labels of responses over the mentions of the document: int32 (n_samples, n_mentions)."""
        labels = np.full((codes.shape[0], self.columns.shape[0]), -1, np.int32)
        shared = np.flatnonzero(self.columns >= 0)
        labels[:, shared] = codes[:, self.columns[shared]]
        return labels


def label_codes(name: str, labels: Labels | None) -> Ints:
    """Number the labels from 0, None as -1; raise unless they are whole numbers, strings and None."""
    if hasattr(labels, "__array__"):
        array = np.asarray(labels)
        if array.ndim != 1:
            raise ParameterError(f"must be of one dimension, got {array.ndim}", parameter=name)
        if array.dtype.kind in "iu":
            return np.unique(array, return_inverse=True)[1].astype(np.int64)
        labels = array.tolist()
    if not isinstance(labels, Sequence) or isinstance(labels, (str, bytes)):
        hint = "the document has no gold entities" if labels is None else None
        hint = "pass document.gold" if hasattr(labels, "gold") else hint
        rule = f"must have one entity per mention, got {shown(labels)}"
        raise ParameterError(rule, parameter=name, hint=hint)
    numbers: dict[Any, int] = {None: _NO_ENTITY}
    for i, label in enumerate(labels):
        if label is not None and (isinstance(label, bool) or not isinstance(label, (int, str, np.integer))):
            rule = "must be a whole number, a string or None"
            raise ParameterError(f"{rule}, got {shown(label)}", parameter=f"{name}[{i}]")
        numbers.setdefault(label, len(numbers) - 1)
    return np.fromiter((numbers[label] for label in labels), np.int64, len(labels))


def key_over(
    name: str,
    codes: Ints,
    n_response: int,
    *,
    singletons: bool,
    key_spans: npt.ArrayLike | None,
    response_spans: npt.ArrayLike | None,
) -> Key:
    """Key of one document over the mentions of key and response together.

    Without spans mention i of the key is mention i of the response. With spans, the t-th mention of a span in the
    key is the t-th mention of that span in the response. A response that repeats a span more often than the key has
    it loses the later ones.
    """
    if (key_spans is None) != (response_spans is None):
        raise ParameterError("must be given with response_spans or not at all", parameter=f"{name}_spans")
    if key_spans is not None and response_spans is not None:
        key = _occurrences(f"{name}_spans", key_spans, codes.shape[0])
        n_in_key = Counter(mention[:2] for mention in key)
        response = [
            mention if mention[2] < max(n_in_key[mention[:2]], 1) else None
            for mention in _occurrences("response_spans", response_spans, n_response)
        ]
        return key_of(key, codes, response, singletons)
    if codes.shape[0] != n_response:
        rule = f"must have one entry for each mention of the response ({n_response})"
        raise ParameterError(f"{rule}, got {codes.shape[0]}", parameter=name)
    return key_of(range(n_response), codes, range(n_response), singletons)


def key_of(key: Iterable[Hashable], codes: Ints, response: Iterable[Hashable | None], singletons: bool) -> Key:
    """Key of one document.

    Parameters
    ----------
    key
        Mentions of the key, without repetition.
    codes
        Entity of each mention of the key, -1 if it is not annotated: such mentions leave key and response.
    response
        Mentions of the response, without repetition; None stands for a mention that does not count.
    singletons
        True if entities of one mention count.
    """
    places = {mention: place for place, mention in enumerate(response) if mention is not None}
    columns = np.array([places.pop(mention, -1) for mention in key], np.int64)
    annotated, only_response = codes != _NO_ENTITY, list(places.values())
    columns = np.append(columns[annotated], np.array(only_response, np.int64))
    _, entities, counts = np.unique(codes[annotated], return_inverse=True, return_counts=True)
    in_key = np.arange(entities.shape[0])
    if not singletons:
        in_key, entities, counts = in_key[counts[entities] > 1], entities[counts[entities] > 1], counts[counts > 1]
    members = in_key[np.argsort(entities, kind="stable")]
    return Key(members, np.append(0, np.cumsum(counts)).astype(np.int64), columns)


def _occurrences(name: str, spans: npt.ArrayLike, n_mentions: int) -> list[tuple[int, int, int]]:
    """Start and end of each mention, and the number of earlier mentions with the same span."""
    try:
        array = np.asarray(spans)
    except ValueError:
        raise ParameterError("must be pairs of start and end, got lists of different length", parameter=name) from None
    if array.size == 0:
        array = np.zeros((0, 2), np.int64)
    if array.ndim != 2 or array.shape[1] not in (2, 3) or array.dtype.kind not in "iu":
        rule = "must be pairs of start and end, or triples with a head"
        raise ParameterError(f"{rule}, got an array of shape {array.shape} of {array.dtype}", parameter=name)
    if array.shape[0] != n_mentions:
        raise ParameterError(f"must be as many as the labels ({n_mentions}), got {array.shape[0]}", parameter=name)
    before: dict[tuple[int, int], int] = {}
    occurrences = []
    for start, end in array[:, :2].tolist():
        before[start, end] = before.get((start, end), -1) + 1
        occurrences.append((start, end, before[start, end]))
    return occurrences


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
    """Counts from which the metrics are computed, by sample.

    Parameters
    ----------
    key
        Key of one document.
    responses
        int32 (n_samples, n_mentions): label of each mention, -1 for mentions that the response lacks.
    singletons
        True if response entities of one mention count; `key` contains such entities only then.
    metrics
        Metrics whose counts are returned. By default all metrics but the CoNLL average, which needs no further counts.

    Returns
    -------
    dict of float64 arrays
        "mentions" (n_samples, 3): number in the key, in the response, and in both. "blanc" (n_samples, 6): correct
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
    n_links = shared - total[kernels.CELLS]
    correct = total[kernels.CELL_PAIRS]
    correct_apart = (
        shared * (shared - 1) / 2 - total[kernels.SHARED_KEY_PAIRS] - total[kernels.SHARED_RESPONSE_PAIRS] + correct
    )
    apart = mentions * (mentions - 1) / 2 - pairs
    response_pairs = total[kernels.RESPONSE_PAIRS]
    response_apart = response_mentions * (response_mentions - 1) / 2 - response_pairs
    return {
        "mentions": _columns(mentions, response_mentions, shared),
        "muc": _columns(n_links, mentions - entities, n_links, response_mentions - total[kernels.RESPONSE_ENTITIES]),
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
    for s in np.flatnonzero(weights.any(axis=1)).tolist():
        cells_left = weights[s].nonzero()[0]
        key_entities = keys[s, cells_left]  # ascending, as the cells are
        rows = np.cumsum(np.append(False, key_entities[1:] != key_entities[:-1]))
        table = np.zeros((rows[-1] + 1, response_sizes.shape[1]))
        table[rows, labels[s, cells_left]] = weights[s, cells_left]
        matching[s] += table[linear_sum_assignment(table, maximize=True)].sum()
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
    quotient: Floats = np.divide(numerator, denominator, out=np.zeros(numerator.shape), where=denominator > 0.0)
    return quotient


def _blanc(links: Floats, mentions: Floats) -> Floats:
    """Mean of the scores of coreference and of non-coreference links; the key may lack one kind or both.

    A key without links has a score of 1 if the response has the same mentions, at least one, and 0 otherwise.
    """
    together, apart = _link_scores(*links.T[:3]), _link_scores(*links.T[3:])
    has_together, has_apart = links[:, 1, None] > 0.0, links[:, 4, None] > 0.0
    same = ((mentions == mentions[:, 2, None]) & (mentions > 0.0)).all(axis=1, keepdims=True).astype(np.float64)
    one_kind = np.where(has_together, together, np.where(has_apart, apart, same))
    return np.where(has_together & has_apart, (together + apart) / 2.0, one_kind)


def _link_scores(correct: Floats, of_key: Floats, of_response: Floats) -> Floats:
    return _columns(ratio(correct, of_key), ratio(correct, of_response), ratio(2.0 * correct, of_key + of_response))
