"""Scores of e2e-coref and its kin (AllenNLP, c2f, coref-hoi, SpanBERT): arrays of top antecedents, dummy first."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from corefsample.adapters._arrays import Ints, float_matrix, given_heads, int_matrix, int_vector, is_masked
from corefsample.adapters._assembly import Description, Spans, assemble
from corefsample.adapters._links import Links
from corefsample.adapters.refused import refuse_undistributed
from corefsample.documents import ScoredDocument, Tokens
from corefsample.errors import ParameterError

__all__ = ["from_e2e"]


def from_e2e(
    spans: Any,
    antecedents: Any,
    scores: Any,
    *,
    doc_id: str,
    tokens: Tokens | None = None,
    piece_tokens: Sequence[int] | None = None,
    heads: Sequence[int] | None = None,
    date: datetime.date | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> ScoredDocument:
    """Take the arrays of a model of the e2e-coref family as a scored document.

    Its mentions are the spans that survived pruning, so NEW also means "not a mention". A leading dimension of one
    document (AllenNLP's batch) is taken off.

    Parameters
    ----------
    spans
        int (n_spans, 2): first and **last** token of each span: AllenNLP's ``top_spans``, or ``top_span_starts`` and
        ``top_span_ends`` of e2e-coref, stacked. A span that comes again is padding, and left out.
    antecedents
        int (n_spans, k): ``antecedent_indices`` or ``top_antecedents``, in any order.
    scores
        float (n_spans, k + 1): the dummy (NEW) first, then one for each antecedent; -inf, -10000 and a dtype's
        minimum are masks.
    doc_id, date, tokens, metadata
        Of the document.
    piece_tokens
        Where the spans are of word pieces: the token of each piece, never falling (``subtoken_map``). A span that
        begins or ends inside a token takes the whole token.
    heads
        Head token of each span; otherwise found in the parse of `tokens`, else the last token.

    Returns
    -------
    ScoredDocument
        Its metadata says under "adapter" what was left out.

    Raises
    ------
    ParameterError
        If an array has another shape or is not finite, or a span is none.

    Examples
    --------
    >>> document = from_e2e([[0, 1], [3, 3]], [[0], [0]], [[0.0, float("-inf")], [0.0, 1.0]], doc_id="a")
    >>> document.mentions.tolist(), document.antecedents.scores.tolist()
    ([[0, 2, 1], [3, 4, 3]], [1.0])
    """
    refuse_undistributed(scores)
    bounds = int_matrix("spans", spans, 2)
    values, indices = float_matrix("scores", scores), int_matrix("antecedents", antecedents)
    n_spans = bounds.shape[0]
    if values.shape[0] != n_spans or indices.shape[0] != n_spans:
        raise ParameterError(
            f"scores and antecedents must have one row a span ({n_spans}), got {values.shape[0]} and {indices.shape[0]}"
        )
    if values.shape[1] != indices.shape[1] + 1:
        raise ParameterError(
            f"scores must have one column more than antecedents, the first for NEW, "
            f"got {values.shape[1]} and {indices.shape[1]}"
        )
    masked = np.flatnonzero(is_masked(values[:, 0]))
    if masked.size:
        raise ParameterError(f"scores[{masked[0]}] must begin with the score of NEW, got {values[masked[0], 0]}")
    links = Links.from_top_k("scores", values[:, 1:], values[:, 0], "antecedents", indices)
    head_array = given_heads(heads, n_spans, "span")
    first = np.zeros(n_spans, bool)
    first[np.unique(bounds, axis=0, return_index=True)[1]] = True
    if piece_tokens is not None:
        bounds = _whole_tokens(bounds, int_vector("piece_tokens", piece_tokens))
    return assemble(
        "e2e",
        links,
        Spans(bounds[:, 0], bounds[:, 1] + 1, head_array, first),
        Description(doc_id, date, tokens, metadata),
    )


def _whole_tokens(pieces: Ints, piece_tokens: Ints) -> Ints:
    """First and last token of spans of word pieces."""
    falling = np.flatnonzero(np.diff(piece_tokens) < 0)
    if falling.size:
        p = falling[0] + 1
        raise ParameterError(f"piece_tokens[{p}] must not fall, got {piece_tokens[p]} after {piece_tokens[p - 1]}")
    outside = np.argwhere((pieces < 0) | (pieces >= piece_tokens.shape[0]))
    if outside.size:
        i, side = outside[0]
        raise ParameterError(
            f"spans[{i}][{side}] must be a word piece (0 to {piece_tokens.shape[0] - 1}), got {pieces[i, side]}"
        )
    return piece_tokens[pieces]
