"""Scores of CorPipe: one chart per sentence, whose columns are the mentions in its window; a link to itself is NEW."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from corefsample import _checks
from corefsample._arrays import Floats
from corefsample.adapters._assembly import Links, Spans, assemble, float_matrix, int_vector
from corefsample.coreference._dense import is_masked
from corefsample.documents._scored import ScoredDocument
from corefsample.documents._tokens import Tokens
from corefsample.errors import ParameterError


def from_corpipe(
    charts: Sequence[Any],
    mentions: Sequence[Sequence[Sequence[Any]]],
    *,
    n_previous: Sequence[int],
    sentence_lengths: Sequence[int],
    doc_id: str,
    label_smoothing: float = 0.2,
    tokens: Tokens | None = None,
    date: datetime.date | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> ScoredDocument:
    """Convert CorPipe's charts of one document, one per sentence, to a scored document.

    CorPipe detects mentions first, so NEW means a new entity here. A mention's antecedents are the mentions of its
    window that begin at an earlier word.

    Parameters
    ----------
    charts
        For each sentence the result of ``compute_antecedents``: a row for each of its mentions; the columns are first
        the earlier mentions of its window, then the sentence's own, where the mention itself is NEW. Rows and columns
        of padding past those are ignored. None for a sentence without mentions.
    mentions
        For each sentence its mentions as in ``predict``, by start, then longest first: first and **last** word
        in the sentence (CorPipe's entity, which follows, is ignored).
    n_previous
        For each sentence the number of earlier mentions in its window, which are the last ones before the sentence.
    sentence_lengths
        Number of tokens of each sentence.
    doc_id
        Id of the document, not empty.
    label_smoothing
        Amount e, in [0, 1), with which the model was trained; its released options have 0.2. Training moves the
        probability e from the gold antecedents to all n candidates of a mention in equal shares, so the model's softmax
        is (1 - e) of the probability, plus e / n. The conversion undoes this: probabilities become proportional to
        max(p - e / n, 0). With 0, the scores are used unchanged.
    tokens
        Words of the document and their parse, which determines the heads of mentions. By default, or without a
        parse, the head of a mention is its last token.
    date
        Date of the document, which counts of events need. By default, the document has none.
    metadata
        Further fields of the document. By default, the document has no further fields.

    Returns
    -------
    ScoredDocument
        The document with its scores, its mentions sorted by start. A link is left out if this order puts the antecedent
        behind the mention; the other candidates of the mention and NEW are renormalised. The metadata has the number of
        links left out, and their probability, under "adapter".

    Raises
    ------
    ParameterError
        If the lists differ in length, a chart is too small or has NaN or +inf, or a mention is invalid.

    References
    ----------
    Straka (2023), ÚFAL CorPipe at CRAC 2023.
    """
    lengths = int_vector("sentence_lengths", sentence_lengths)
    previous = int_vector("n_previous", n_previous)
    for name, values in (("mentions", mentions), ("n_previous", previous), ("sentence_lengths", lengths)):
        if len(values) != len(charts):
            raise ParameterError(f"must have one entry per chart ({len(charts)}), got {len(values)}", parameter=name)
    n_mentions = sum(map(len, mentions))
    square, bounds = np.full((n_mentions, n_mentions), -np.inf), np.empty((n_mentions, 2), np.int64)
    first = offset = 0  # mention and token with which a sentence begins
    for s, (chart, sentence, n_before, length) in enumerate(zip(charts, mentions, previous, lengths, strict=True)):
        if not 0 <= n_before <= first:
            raise ParameterError(
                f"n_previous[{s}] must be at most the number of mentions before ({first}), got {n_before}"
            )
        for m, (start, last, *_) in enumerate(sentence):
            if not 0 <= start <= last < length:
                raise ParameterError(
                    f"mentions[{s}][{m}] must have 0 <= first <= last < length of the sentence ({length}), "
                    f"got {start} and {last}"
                )
            bounds[first + m] = offset + start, offset + last + 1
        end = first + len(sentence)
        if len(sentence):
            scores, n_columns = float_matrix(f"charts[{s}]", chart), end - first + n_before
            if scores.shape[0] < len(sentence) or scores.shape[1] < n_columns:
                raise ParameterError(
                    f"charts[{s}] must have a row for each mention and a column for each earlier one and itself "
                    f"({len(sentence)} by {n_columns}), got shape {scores.shape}"
                )
            square[first:end, first - n_before : end] = scores[: len(sentence), :n_columns]
        first, offset = end, offset + length
    new = np.diagonal(square).copy()
    square[bounds[:, 0][:, None] <= bounds[:, 0][None, :]] = -np.inf
    square, new = _without_smoothing(
        square, new, _checks.probability("label_smoothing", label_smoothing, below_one=True)
    )
    links = Links.from_square("charts", square, new)
    return assemble(
        "corpipe", links, Spans(bounds[:, 0], bounds[:, 1]), doc_id=doc_id, tokens=tokens, date=date, metadata=metadata
    )


def _without_smoothing(square: Floats, new: Floats, amount: float) -> tuple[Floats, Floats]:
    """Scores of antecedents and of NEW whose softmax has no label smoothing; the least probable become masks."""
    if not amount:
        return square, new
    table = np.column_stack([square, new])
    is_scored = ~is_masked(table)
    table = np.where(is_scored, table, -np.inf)
    probs = np.exp(table - np.logaddexp.reduce(table, axis=1, keepdims=True))
    with np.errstate(divide="ignore"):
        scores = np.log(np.maximum(probs - amount / is_scored.sum(axis=1, keepdims=True), 0.0))
    return scores[:, :-1], scores[:, -1]
