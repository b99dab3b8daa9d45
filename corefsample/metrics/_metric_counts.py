"""Alignment of mentions of key and response, counts of each clustering metric by sample, and scores of these counts."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample._arrays import Floats, Ints, Ints32
from corefsample.errors import ParameterError, shown
from corefsample.metrics import _overlap_kernels as kernels

Labels = Sequence[int | str | None] | npt.NDArray[Any]
Counts = Mapping[str, Floats]
Metric = Literal["muc", "b3", "ceafe", "ceafm", "lea", "blanc", "conll"]
Part = Literal["recall", "precision", "f1"]

CONLL: tuple[Metric, ...] = ("muc", "b3", "ceafe")
COUNTED: tuple[Metric, ...] = ("muc", "b3", "ceafe", "ceafm", "lea", "blanc")
METRICS: tuple[Metric, ...] = (*COUNTED, "conll")
PARTS: tuple[Part, ...] = ("recall", "precision", "f1")

# Mentions times samples of a block: limits the memory for the overlaps of one document with many samples.
_BLOCK = 100_000


# --- mentions ----------------------------------------------------------------------------------------------


def reading_order(spans: Any, entities: Sequence[Any]) -> list[int]:
    """Mentions entity by entity, in the order in which the reference scorer reads them.

    Entities are sorted by their first bracket, and those that begin with one span by their other brackets; among
    brackets at one word, mentions of one word come first. So neither names nor the order of the file matter for which
    mentions of one span are the same in key and response, and which are removed as repeated.
    """
    brackets = [(start, end - start > 1, -end) for start, end in spans[:, :2].tolist()]
    members: dict[Any, list[int]] = {}
    for i in sorted(range(len(brackets)), key=brackets.__getitem__):
        members.setdefault(entities[i], []).append(i)

    def rank(entity: list[int]) -> Any:
        listed = [brackets[i] for i in entity]
        return sorted({*listed}), listed  # an entity that repeats a span does not come first for it

    return [i for entity in sorted(members.values(), key=rank) for i in entity]


def n_repeated_spans(gold_spans: Any, response_spans: Any) -> int:
    """Number of a system's mentions that repeat a span, beyond the gold mentions with this span."""
    allowed = Counter(map(tuple, gold_spans.tolist()))
    counts = Counter(map(tuple, response_spans.tolist()))
    return sum(max(number - max(allowed[span], 1), 0) for span, number in counts.items())


def spans_paired_by_head(gold: Any, response: Any) -> tuple[Ints, Ints]:
    """Make spans of gold mentions and of a system's mentions that are equal if the mentions match by their heads.

    Equal spans match first. Other mentions match one to one if they have the same head; of several candidates, those
    with the most words in common match.

    Parameters
    ----------
    gold, response
        Start, end and head of each gold mention, and of each mention of the system: int (n, 3).
    """
    free = dict(enumerate(map(tuple, gold.tolist())))
    response_mentions = response.tolist()
    same_span: dict[tuple[int, int], list[int]] = {}
    for g, (start, end, _) in free.items():
        same_span.setdefault((start, end), []).append(g)
    partner: dict[int, int] = {}
    first_with_span: dict[tuple[int, int], int] = {}
    repeated: dict[int, int] = {}  # first mention with the span of a repeated mention
    for r, (start, end, _) in enumerate(response_mentions):
        if same_span.get((start, end)):
            partner[r] = same_span[start, end].pop(0)
            del free[partner[r]]
        elif first_with_span.setdefault((start, end), r) != r:
            repeated[r] = first_with_span[start, end]
        first_with_span.setdefault((start, end), r)
    by_head: dict[int, list[int]] = {}
    for g, (_, _, head) in free.items():
        by_head.setdefault(head, []).append(g)
    candidates = [
        (max(start, free[g][0]) - min(end, free[g][1]), g, r)  # minus the number of words in common
        for r, (start, end, head) in enumerate(response_mentions)
        if r not in partner and r not in repeated
        for g in by_head.get(head, [])
    ]
    for _, g, r in sorted(candidates):
        if g in free and r not in partner:
            partner[r] = g
            del free[g]
    first_mentions = [repeated.get(r, r) for r in range(len(response_mentions))]
    numbers = np.array([partner.get(mention, len(gold) + mention) for mention in first_mentions], np.int64)
    gold_numbers = np.arange(len(gold))
    return np.stack([gold_numbers, gold_numbers + 1], axis=1), np.stack([numbers, numbers + 1], axis=1)


def label_codes(name: str, labels: Labels | None) -> Ints:
    """Number the labels from 0, None as -1; raise unless they are whole numbers, strings and None."""
    if hasattr(labels, "__array__"):
        array = np.asarray(labels)
        _checks.require(name, array.ndim == 1, "must be of one dimension", array.ndim)
        if array.dtype.kind in "iu":
            return np.unique(array, return_inverse=True)[1].astype(np.int64)
        labels = array.tolist()
    if not isinstance(labels, Sequence) or isinstance(labels, (str, bytes)):
        hint = "the document has no gold entities" if labels is None else None
        hint = "pass document.gold" if hasattr(labels, "gold") else hint
        rule = f"must have one entity per mention, got {shown(labels)}"
        raise ParameterError(rule, parameter=name, hint=hint)
    numbers: dict[Any, int] = {None: -1}
    for i, label in enumerate(labels):
        if label is not None and (isinstance(label, bool) or not isinstance(label, (int, str, np.integer))):
            rule = "must be a whole number, a string or None"
            raise ParameterError(f"{rule}, got {shown(label)}", parameter=f"{name}[{i}]")
        numbers.setdefault(label, len(numbers) - 1)
    return np.fromiter((numbers[label] for label in labels), np.int64, len(labels))


def _key(
    name: str,
    labels: Labels | None,
    n_response: int,
    singletons: bool,
    key_spans: npt.ArrayLike | None,
    response_spans: npt.ArrayLike | None,
) -> tuple[Ints, Ints, Ints]:
    """Entities of the key over the mentions of the document: those of the key, then those that only the response has.

    Without spans mention i of the key is mention i of the response. With spans, the t-th mention of a span in the
    key is the t-th mention of that span in the response. A response that repeats a span more often than the key has
    it loses the later ones.

    Returns
    -------
    members, indptr
        members[indptr[k]:indptr[k+1]] are the mentions of key entity k, as places in `columns`.
    columns
        int64 (n_mentions,): the response's mention that each mention of the document is, -1 if the response lacks it.
        Mentions that are not annotated are in neither.
    """
    if (key_spans is None) != (response_spans is None):
        raise ParameterError("must be given with response_spans or not at all", parameter=f"{name}_spans")
    codes = label_codes(name, labels)
    key: Sequence[Any] = range(n_response)
    response: Sequence[Any] = key
    if key_spans is not None and response_spans is not None:
        key = _occurrences(f"{name}_spans", key_spans, codes.shape[0])
        n_in_key = Counter((start, end) for start, end, _ in key)
        response = [
            (start, end, before) if before < max(n_in_key[start, end], 1) else None
            for start, end, before in _occurrences("response_spans", response_spans, n_response)
        ]
    elif codes.shape[0] != n_response:
        rule = f"must have one entry for each mention of the response ({n_response})"
        raise ParameterError(f"{rule}, got {codes.shape[0]}", parameter=name)
    places = {mention: place for place, mention in enumerate(response) if mention is not None}
    columns = np.array([places.pop(mention, -1) for mention in key], np.int64)
    annotated, only_response = codes >= 0, list(places.values())
    columns = np.append(columns[annotated], np.array(only_response, np.int64))
    _, entities, counts = np.unique(codes[annotated], return_inverse=True, return_counts=True)
    in_key = np.arange(entities.shape[0])
    if not singletons:
        in_key, entities, counts = in_key[counts[entities] > 1], entities[counts[entities] > 1], counts[counts > 1]
    members = in_key[np.argsort(entities, kind="stable")]
    return members, np.append(0, np.cumsum(counts)).astype(np.int64), columns


def _occurrences(name: str, spans: npt.ArrayLike, n_mentions: int) -> list[tuple[int, int, int]]:
    """Start and end of each mention, and the number of earlier mentions with the same span."""
    array = _checks.regular_array(name, spans)
    if array.size == 0:
        array = np.zeros((0, 2), np.int64)
    if array.ndim != 2 or array.shape[1] not in (2, 3) or array.dtype.kind not in "iu":
        rule = "must be pairs of start and end, or triples with a head"
        raise ParameterError(f"{rule}, got an array of shape {array.shape} of {array.dtype}", parameter=name)
    _checks.require(name, array.shape[0] == n_mentions, f"must be as many as the labels ({n_mentions})", array.shape[0])
    before: dict[tuple[int, int], int] = {}
    occurrences = []
    for start, end in array[:, :2].tolist():
        before[start, end] = before.get((start, end), -1) + 1
        occurrences.append((start, end, before[start, end]))
    return occurrences


# --- counts ------------------------------------------------------------------------------------------------


def counts_of(
    name: str,
    labels: Labels | None,
    responses: npt.NDArray[np.integer[Any]],
    *,
    singletons: bool,
    key_spans: npt.ArrayLike | None = None,
    response_spans: npt.ArrayLike | None = None,
    metrics: Sequence[Metric] = COUNTED,
) -> dict[str, Floats]:
    """Counts from which the metrics are computed, by sample.

    Parameters
    ----------
    name, labels
        Name of the parameter that has the key, and the key's entity of each mention, None if it is not annotated.
    responses
        int (n_samples, n_mentions): label of each mention of the response, -1 for mentions that the response lacks.
    singletons
        True if entities of one mention count.
    key_spans, response_spans
        Spans of the mentions of key and response: see `clustering_scores`.
    metrics
        Metrics whose counts are returned. By default all metrics but the CoNLL average, which needs no further counts.

    Returns
    -------
    dict of float64 arrays
        "mentions" (n_samples, 3): number in the key, in the response, and in both. "blanc" (n_samples, 6): correct
        coreference links, those of the key, those of the response, and the same of non-coreference links. Each other
        metric (n_samples, 4): numerator and denominator of recall, numerator and denominator of precision.

    Raises
    ------
    ParameterError
        If labels have the wrong type or number, or spans are invalid.
    """
    members, indptr, columns = _key(name, labels, responses.shape[1], singletons, key_spans, response_spans)
    over_all = np.full((responses.shape[0], columns.shape[0]), -1, np.int32)
    shared = np.flatnonzero(columns >= 0)
    over_all[:, shared] = responses[:, columns[shared]]
    size = max(_BLOCK // max(columns.shape[0], 1), 1)
    blocks = [
        _block_counts(members, indptr, over_all[start : start + size], singletons, metrics)
        for start in range(0, over_all.shape[0], size)
    ]
    return {metric: np.concatenate([block[metric] for block in blocks]) for metric in blocks[0]}


def _block_counts(
    members: Ints, indptr: Ints, responses: Ints32, singletons: bool, metrics: Sequence[Metric]
) -> dict[str, Floats]:
    """Counts of a few samples.

    MUC: the parts of a key entity are its cells and the mentions that the response lacks, so mentions minus parts is
    shared mentions minus cells. The same holds for response entities.
    """
    n_samples, n_mentions = responses.shape
    response_sizes = np.empty((n_samples, int(responses.max(initial=-1)) + 1), np.int32)
    keys, labels, sizes = (np.zeros((n_samples, n_mentions), np.int32) for _ in range(3))
    totals = np.empty((n_samples, kernels.N_TOTALS))
    kernels.overlaps(members, indptr, responses, singletons, response_sizes, keys, labels, sizes, totals)
    key_sizes, total = np.diff(indptr), totals.T
    entities, mentions = float(key_sizes.shape[0]), float(key_sizes.sum())
    pairs = float((key_sizes * (key_sizes - 1) // 2).sum())
    response_mentions, response_entities = total[kernels.RESPONSE_MENTIONS], total[kernels.RESPONSE_ENTITIES]
    response_pairs, correct = total[kernels.RESPONSE_PAIRS], total[kernels.CELL_PAIRS]
    shared = total[kernels.SHARED_MENTIONS]
    n_links = shared - total[kernels.CELLS]
    correct_apart = (
        shared * (shared - 1) / 2 - total[kernels.SHARED_KEY_PAIRS] - total[kernels.SHARED_RESPONSE_PAIRS] + correct
    )
    apart = mentions * (mentions - 1) / 2 - pairs
    response_apart = response_mentions * (response_mentions - 1) / 2 - response_pairs
    counts = {
        "mentions": _columns(mentions, response_mentions, shared),
        "muc": _columns(n_links, mentions - entities, n_links, response_mentions - response_entities),
        "b3": _columns(total[kernels.B3_RECALL], mentions, total[kernels.B3_PRECISION], response_mentions),
        "lea": _columns(total[kernels.LEA_RECALL], mentions, total[kernels.LEA_PRECISION], response_mentions),
        "blanc": _columns(correct, pairs, response_pairs, correct_apart, apart, response_apart),
    }
    # The weight of a cell is the Dice coefficient of its two entities (CEAFe) or its number of mentions (CEAFm).
    cells = keys, labels, total[kernels.CELLS].astype(np.int64)
    if "ceafe" in metrics:
        dice = 2.0 * sizes / (key_sizes[keys] + np.take_along_axis(response_sizes, labels, 1)) if sizes.any() else sizes
        weight = _heaviest_matching(*cells, dice, key_sizes.shape[0], response_sizes.shape[1])
        counts["ceafe"] = _columns(weight, entities, weight, response_entities)
    if "ceafm" in metrics:
        weight = _heaviest_matching(*cells, sizes, key_sizes.shape[0], response_sizes.shape[1])
        counts["ceafm"] = _columns(weight, mentions, weight, response_mentions)
    return {metric: counts[metric] for metric in ("mentions", *metrics)}


def _columns(*columns: float | Floats) -> Floats:
    return np.stack(np.broadcast_arrays(*columns), axis=1).astype(np.float64)


def _heaviest_matching(
    keys: Ints32, labels: Ints32, n_cells: Ints, cell_weights: npt.NDArray[Any], n_keys: int, n_labels: int
) -> Floats:
    """Weight of the heaviest one-to-one matching of key and response entities: float64 (n_samples,)."""
    from scipy.optimize import linear_sum_assignment

    matching = np.zeros(keys.shape[0])
    if not n_cells.any():
        return matching
    weights = cell_weights.astype(np.float64)  # 0 past the last cell; those of matched entities become 0
    kernels.match_certain(keys, n_keys + labels, n_cells, weights, n_keys + n_labels, matching)
    for s in np.flatnonzero(weights.any(axis=1)).tolist():
        cells_left = weights[s].nonzero()[0]
        key_entities = keys[s, cells_left]  # ascending, as the cells are
        rows = np.cumsum(np.append(False, key_entities[1:] != key_entities[:-1]))
        table = np.zeros((rows[-1] + 1, n_labels))
        table[rows, labels[s, cells_left]] = weights[s, cells_left]
        matching[s] += table[linear_sum_assignment(table, maximize=True)].sum()
    return matching


# --- scores ------------------------------------------------------------------------------------------------


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


def corpus_gains(counts: Counts, corpus: Counts) -> Floats:
    """CoNLL F1 that a corpus gains with each of a document's counts, to first order in them: float64 (n_samples,).

    `corpus` has the sums over the documents of a corpus, all above 0: float64 (4,) for each metric of the average. F1
    is the harmonic mean of recall R and precision P, so its differential is F1**2 / 2 * (dR / R**2 + dP / P**2), and
    that of a share is (d numerator - share * d denominator) / denominator.
    """
    gains: Floats = np.zeros(1)
    for metric in CONLL:
        numerators, denominators = corpus[metric][::2], corpus[metric][1::2]
        shares = numerators / denominators
        changes = counts[metric][:, ::2] - shares * counts[metric][:, 1::2]
        gains = gains + 2.0 / (1.0 / shares).sum() ** 2 * (changes / (shares * numerators)).sum(axis=1)
    return gains / len(CONLL)


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
