"""Scores of e2e-coref and similar systems (AllenNLP, c2f, coref-hoi, SpanBERT): top antecedents, dummy first."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from corefsample import _checks
from corefsample._arrays import Ints
from corefsample.adapters._assembly import Links, Spans, assemble, int_matrix, int_vector
from corefsample.documents._scored import ScoredDocument
from corefsample.documents._tokens import Tokens
from corefsample.errors import ParameterError


def from_e2e(
    spans: Any,
    antecedents: Any,
    scores: Any,
    *,
    doc_id: str,
    tokens: Tokens | None = None,
    piece_tokens: Sequence[int] | None = None,
    date: datetime.date | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> ScoredDocument:
    """Convert the arrays of a model of the e2e-coref family to a scored document.

    Its mentions are the spans that survived pruning, so NEW also means "not a mention". A leading dimension of one
    document (AllenNLP's batch) is removed.

    Parameters
    ----------
    spans
        int (n_spans, 2): first and **last** token of each span: AllenNLP's ``top_spans``, or ``top_span_starts`` and
        ``top_span_ends`` of e2e-coref, stacked. Repeated spans are padding, and left out.
    antecedents
        int (n_spans, k): ``antecedent_indices`` or ``top_antecedents``, in any order.
    scores
        float (n_spans, k + 1): the dummy (NEW) first, then one for each antecedent; -inf, -10000 and a dtype's
        minimum are masks.
    doc_id
        Id of the document, not empty.
    tokens
        Words of the document and their parse, which determines the heads of mentions. By default, or without a
        parse, the head of a mention is its last token.
    piece_tokens
        For spans of word pieces: the token of each piece, in ascending order (``subtoken_map``). A span that begins or
        ends inside a token is widened to the whole token.
    date
        Date of the document, which counts of events need. By default, the document has none.
    metadata
        Further fields of the document. By default, the document has no further fields.

    Returns
    -------
    ScoredDocument
        The document with its scores, its mentions sorted by start. A link is left out if this order puts the antecedent
        behind the mention, or if the antecedent is a repeated span; the other candidates of the mention and NEW are
        renormalised. The metadata has the numbers of rows and links left out, and the probability of these links, under
        "adapter".

    Raises
    ------
    ParameterError
        If an array has another shape, a score is NaN or +inf, or a span is invalid.

    Examples
    --------
    >>> document = from_e2e([[0, 1], [3, 3]], [[0], [0]], [[0.0, float("-inf")], [0.0, 1.0]], doc_id="a")
    >>> document.mentions.tolist(), document.antecedents.scores.tolist()
    ([[0, 2, 1], [3, 4, 3]], [1.0])
    """
    bounds = int_matrix("spans", spans, 2)
    n_spans = bounds.shape[0]
    links = Links.from_new_first(scores, antecedents, n_spans, "span")
    is_first = np.zeros(n_spans, bool)
    is_first[np.unique(bounds, axis=0, return_index=True)[1]] = True
    if piece_tokens is not None:
        bounds = _whole_tokens(bounds, int_vector("piece_tokens", piece_tokens))
    spans = Spans(bounds[:, 0], bounds[:, 1] + 1, valid=is_first)
    return assemble("e2e", links, spans, doc_id=doc_id, tokens=tokens, date=date, metadata=metadata)


def _whole_tokens(pieces: Ints, piece_tokens: Ints) -> Ints:
    """First and last token of spans of word pieces."""
    falling = np.flatnonzero(np.diff(piece_tokens) < 0)
    if falling.size:
        p = falling[0] + 1
        raise ParameterError(f"piece_tokens[{p}] must not decrease, got {piece_tokens[p]} after {piece_tokens[p - 1]}")
    inside = (pieces >= 0) & (pieces < piece_tokens.shape[0])
    _checks.require_all("spans", pieces, inside, f"be a word piece (0 to {piece_tokens.shape[0] - 1})")
    return piece_tokens[pieces]
