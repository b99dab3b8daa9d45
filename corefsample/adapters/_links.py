"""Links of a system and its mentions as a scored document, in the order that the format requires.

The links are an `AntecedentDistribution` over the rows of the system's scores until the mentions are sorted.
"""

import dataclasses
import datetime
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from corefsample import _checks
from corefsample._arrays import Bools, Floats, Ints
from corefsample.coreference._antecedents import AntecedentDistribution, dense_rows, is_masked, relative_to_new
from corefsample.documents._scored import ScoredDocument
from corefsample.documents._tokens import Tokens, span_head
from corefsample.errors import ParameterError, shown

METADATA = "adapter"  # key of a document's metadata under which an adapter reports rows and links that it left out


def host_array(name: str, value: Any) -> np.typing.NDArray[Any]:
    """NumPy array of a value that may lie on a device, have gradients, or be of a type that NumPy does not know."""
    if hasattr(value, "detach"):  # torch
        value = value.detach().cpu()
        if "bfloat16" in str(value.dtype):
            value = value.float()
    elif type(value).__module__.split(".")[0] == "cupy":
        value = value.get()
    return _checks.regular_array(name, value)


def _matrix(name: str, value: Any, kinds: str, elements: str) -> np.typing.NDArray[Any]:
    try:
        array = host_array(name, value)
    except (TypeError, ValueError):
        raise ParameterError(f"must be an array of {elements}, got {shown(value)}", parameter=name) from None
    array = array[0] if array.ndim == 3 and array.shape[0] == 1 else array  # a batch of one document
    if array.ndim != 2 or (array.dtype.kind not in kinds and array.size):
        rule = f"must be {elements} of one document in 2 dimensions"
        raise ParameterError(f"{rule}, got {array.dtype} of shape {array.shape}", parameter=name)
    return array


def float_matrix(name: str, value: Any) -> Floats:
    """Scores of one document as float64 in two dimensions; masks are allowed, NaN and +inf raise ParameterError."""
    scores = _matrix(name, value, "fiu", "numbers").astype(np.float64)
    _checks.require_all(name, scores, scores < np.inf, "be finite or a mask")
    return scores


def int_matrix(name: str, value: Any, n_columns: int | None = None) -> Ints:
    """Indices of one document as int64, two dimensions."""
    if isinstance(value, Sequence) and not len(value):
        return np.zeros((0, n_columns or 0), np.int64)
    indices = _matrix(name, value, "iu", "whole numbers").astype(np.int64)
    good = n_columns in (None, indices.shape[1])
    _checks.require(name, good, f"must have {n_columns} columns", f"shape {indices.shape}")
    return indices


def _row_bounds(rows: Ints, n_rows: int) -> Ints:
    """CSR bounds, int64 (n_rows + 1,), of entries whose rows ascend."""
    return np.concatenate(([0], np.cumsum(np.bincount(rows, minlength=n_rows))))


def links_from_square(name: str, scores: Floats, new: Floats) -> AntecedentDistribution:
    """Links of a square of scores, (n_rows, n_rows), of which the strict lower triangle is used."""
    return AntecedentDistribution.from_csr(*dense_rows(name, scores, new))


def links_from_top(
    scores: Any, antecedents: Any, n_rows: int, row: str, *, n_new: tuple[int, ...] = (1,)
) -> AntecedentDistribution:
    """Links of top antecedents, in any order within a row; the columns for NEW come before those of antecedents.

    Parameters
    ----------
    scores
        (n_rows, number of columns for NEW + k); several columns for NEW are summed as probabilities.
    antecedents
        (n_rows, k): index of the candidate in each column after the columns for NEW. Masked candidates may have any
        index: e2e's first rows point before the document's beginning, and top candidates of early rows lie after
        them.
    n_rows, row
        Expected number of rows of the scores, and the name of a row in error messages.
    n_new
        Numbers of columns for NEW that are allowed; by default only one.
    """
    values, indices = float_matrix("scores", scores), int_matrix("antecedents", antecedents)
    if values.shape[0] != n_rows or indices.shape[0] != n_rows:
        rule = f"scores and antecedents must have one row per {row} ({n_rows})"
        raise ParameterError(f"{rule}, got {values.shape[0]} and {indices.shape[0]}")
    extra = values.shape[1] - indices.shape[1]
    rule = f"must have {' or '.join(map(str, n_new))} more columns than antecedents, in front, for NEW"
    _checks.require("scores", extra in n_new, rule, f"{values.shape[1]} and {indices.shape[1]}")
    new = np.logaddexp.reduce(values[:, :extra], axis=1)
    require_new("scores", new, "begin")
    values = values[:, extra:]
    is_scored = ~is_masked(values)
    relative = relative_to_new("scores", values, new, is_scored)
    bounds = np.concatenate(([0], np.cumsum(is_scored.sum(axis=1))))
    return AntecedentDistribution.from_csr(bounds, indices[is_scored], relative[is_scored])


def require_new(name: str, new: Floats, end: str) -> None:
    """Raise if the score of NEW, with which each row must begin or end, is masked."""
    masked = np.flatnonzero(is_masked(new))
    if masked.size:
        raise ParameterError(f"{name}[{masked[0]}] must {end} with the score of NEW, got {new[masked[0]]}")


def scored_document(
    system: str,
    links: AntecedentDistribution,
    bounds: Ints,
    *,
    doc_id: str,
    heads: Ints | None = None,
    has_span: Bools | None = None,
    tokens: Tokens | None = None,
    date: datetime.date | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> ScoredDocument:
    """Build the document: mentions sorted by start, then longest first, and the links that still point backwards.

    Links to rows without a span, and links that the new order reverses, are left out, and the remaining candidates of
    their mention are renormalised. The metadata reports their number under "adapter".

    Parameters
    ----------
    links
        Links between the rows of the system's scores.
    bounds
        int64 (n_rows, 2): first token of each mention, and the token past its last, in the system's order.
    heads
        int64 (n_rows,): head token of each mention. If None, the parse determines the heads.
    has_span
        bool (n_rows,): False for rows of scores without a span (padding, special tokens). If None, all rows have one.
    """
    n_rows = links.n_mentions
    rows = np.arange(n_rows) if has_span is None else np.flatnonzero(has_span)
    starts, ends = bounds[rows].T
    limit = np.iinfo(np.int32).max if tokens is None else len(tokens)
    invalid = np.flatnonzero((starts < 0) | (ends <= starts) | (ends > limit))
    if invalid.size:
        rule = "0 <= start < end" if tokens is None else f"0 <= start < end <= number of tokens ({limit})"
        m = invalid[0]
        raise ParameterError(f"spans[{rows[m]}] must have {rule}, got start {starts[m]} and end {ends[m]} (exclusive)")
    heads = parse_heads(starts, ends, tokens) if heads is None else heads[rows]
    order = np.lexsort((-ends, starts))
    new_indices = np.full(n_rows, -1, np.int64)
    new_indices[rows[order]] = np.arange(rows.shape[0])
    linked_rows = np.repeat(np.arange(n_rows), np.diff(links.indptr))
    mentions, antecedents = new_indices[linked_rows], new_indices[links.antecedents]
    is_of_span = mentions >= 0
    has_spans = is_of_span & (antecedents >= 0)
    is_valid = has_spans & (antecedents < mentions)
    is_left_out = ~is_valid & is_of_span
    left_out_mass = np.bincount(linked_rows[is_left_out], links.probs[is_left_out], n_rows)
    by_mention = np.flatnonzero(is_valid)[np.argsort(mentions[is_valid], kind="stable")]
    summary = {
        "system": system,
        "rows_without_span": n_rows - rows.shape[0],
        "links_without_span": int((~has_spans & is_of_span).sum()),
        "links_reversed": int((has_spans & ~is_valid).sum()),
        "left_out_mass": float(left_out_mass.sum()),
        "largest_left_out_mass": float(left_out_mass.max(initial=0.0)),
    }
    return ScoredDocument(
        doc_id=doc_id,
        mentions=np.stack((starts, ends, heads), axis=1)[order],
        antecedents=AntecedentDistribution.from_csr(
            _row_bounds(mentions[is_valid], rows.shape[0]), antecedents[by_mention], links.scores[by_mention]
        ),
        date=date,
        tokens=tokens,
        metadata={**(metadata or {}), METADATA: summary},
    )


def parse_heads(starts: Ints, ends: Ints, tokens: Tokens | None) -> Ints:
    """Head token of each span: the first whose syntactic head lies outside; the last token where nothing is parsed."""
    if tokens is None or not (tokens.head >= 0).any():
        return ends - 1
    heads, spans = tokens.head.tolist(), zip(starts.tolist(), ends.tolist(), strict=True)
    return np.array([span_head(heads, start, end) for start, end in spans], np.int64)


def linked_probabilities(antecedents: AntecedentDistribution) -> Floats:
    """Probability that each mention is linked to any other, exactly.

    A mention is alone if it is NEW and no later mention chooses it as antecedent. These events are independent.

    Parameters
    ----------
    antecedents
        Distribution over antecedents of one document.

    Returns
    -------
    array of shape (n_mentions,), float64 in [0, 1]
        Probability of each mention, in text order.

    Examples
    --------
    >>> linked_probabilities(AntecedentDistribution.from_lists([[], [0]], [[], [0.0]]))
    array([0.5, 0.5])
    """
    AntecedentDistribution.require(antecedents)
    with np.errstate(divide="ignore"):  # log1p(-1) = -inf: certainly linked
        log_unchosen = np.log1p(-np.minimum(antecedents.probs, 1.0))
        log_alone = np.bincount(antecedents.antecedents, log_unchosen, antecedents.n_mentions)
        log_alone = log_alone + np.log(np.minimum(antecedents.new_probs, 1.0))
    return np.asarray(0.0 - np.expm1(log_alone), np.float64)


def drop_unlinked(document: ScoredDocument, *, min_prob: float) -> ScoredDocument:
    """Remove the mentions that are linked to any other with a probability below `min_prob`.

    It is meant for systems that score every word or span, where NEW may mean "not a mention". The result is exactly the
    distribution of the other mentions, given that the removed mentions are alone. So no probability of an event changes
    by more than the probability that a removed mention is linked, which is at most the number of removed mentions times
    `min_prob`.

    Parameters
    ----------
    document
        Scored document. Gold entities of the removed mentions are removed, too.
    min_prob
        Smallest probability of being linked with which a mention remains, in [0, 1). With 0, all mentions remain.

    Returns
    -------
    ScoredDocument
        The document with the remaining mentions and the links between them.

    Raises
    ------
    ParameterError
        If `min_prob` lies outside its range, or `document` is not a ScoredDocument.
    """
    _checks.instance("document", document, ScoredDocument)
    _checks.probability("min_prob", min_prob, below_one=True)
    antecedents = document.antecedents
    is_linked = linked_probabilities(antecedents) >= min_prob
    rows = np.repeat(np.arange(antecedents.n_mentions), np.diff(antecedents.indptr))
    is_kept = is_linked[rows] & is_linked[antecedents.antecedents]
    new_indices = np.cumsum(is_linked) - 1
    bounds = _row_bounds(new_indices[rows[is_kept]], int(is_linked.sum()))
    return dataclasses.replace(
        document,
        mentions=document.mentions[is_linked],
        antecedents=AntecedentDistribution.from_csr(
            bounds, new_indices[antecedents.antecedents[is_kept]], antecedents.scores[is_kept]
        ),
        gold=None if document.gold is None else list(itertools.compress(document.gold, is_linked)),
    )
