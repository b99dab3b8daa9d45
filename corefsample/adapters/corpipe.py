"""Scores of CorPipe: a chart a sentence, whose columns are the mentions in its window, itself (NEW) among them."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from corefsample.adapters._arrays import Ints, float_matrix, int_vector
from corefsample.adapters._assembly import Description, Spans, assemble
from corefsample.adapters._links import Links
from corefsample.adapters.refused import refuse_undistributed
from corefsample.documents import ScoredDocument, Tokens
from corefsample.errors import ParameterError

__all__ = ["from_corpipe"]


def from_corpipe(
    charts: Sequence[Any],
    mentions: Sequence[Sequence[Sequence[Any]]],
    *,
    n_previous: Sequence[int],
    sentence_lengths: Sequence[int],
    doc_id: str,
    tokens: Tokens | None = None,
    date: datetime.date | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> ScoredDocument:
    """Take CorPipe's charts of one document, a sentence each, as a scored document.

    CorPipe detects mentions first, so NEW means a new entity here. A mention's antecedents are the mentions of its
    window that begin before it does: a mention that begins at the same word is none.

    Parameters
    ----------
    charts
        For each sentence what ``compute_antecedents`` returns for it: a row for each of its mentions; in the columns
        first the earlier mentions of its window, then the sentence's own, where the mention itself is NEW. Rows and
        columns of padding past those are ignored. None for a sentence without mentions.
    mentions
        For each sentence its mentions as ``predict`` has them, by start, then longest first: first and **last** word
        in the sentence (what follows, CorPipe's entity, is ignored).
    n_previous
        For each sentence the number of earlier mentions in its window: the last so many before the sentence.
    sentence_lengths
        Number of tokens of each sentence.
    doc_id, date, tokens, metadata
        Of the document. Heads are found in the parse of `tokens`, else the last token.

    Returns
    -------
    ScoredDocument
        Its metadata says under "adapter" what was left out.

    Raises
    ------
    ParameterError
        If the lists differ in length, a chart is too small or not finite, or a mention is none.

    References
    ----------
    Straka (2023), ÚFAL CorPipe at CRAC 2023.
    """
    refuse_undistributed(charts)
    lengths = int_vector("sentence_lengths", sentence_lengths)
    previous = int_vector("n_previous", n_previous)
    for name, n_given in (
        ("mentions", len(mentions)),
        ("n_previous", previous.size),
        ("sentence_lengths", lengths.size),
    ):
        if n_given != len(charts):
            raise ParameterError(f"{name} must have one entry a chart ({len(charts)}), got {n_given}")
    bounds = _bounds(mentions, lengths)
    n_mentions = bounds.shape[0]
    square = np.full((n_mentions, n_mentions), -np.inf)
    first = 0
    for s, chart in enumerate(charts):
        last, window = first + len(mentions[s]), _window(s, previous, first)
        if last > first:
            square[first:last, first - window : last] = _block(s, chart, last - first, window)
        first = last
    new = np.diagonal(square).copy()
    square[bounds[:, 0][:, None] <= bounds[:, 0][None, :]] = -np.inf
    links = Links.from_square("charts", square, new)
    return assemble("corpipe", links, Spans(bounds[:, 0], bounds[:, 1]), Description(doc_id, date, tokens, metadata))


def _window(sentence: int, previous: Ints, n_before: int) -> int:
    """How many earlier mentions a sentence's chart has."""
    if not 0 <= previous[sentence] <= n_before:
        raise ParameterError(
            f"n_previous[{sentence}] must be at most the number of mentions before ({n_before}), "
            f"got {previous[sentence]}"
        )
    return int(previous[sentence])


def _block(sentence: int, chart: Any, n_rows: int, n_previous: int) -> Any:
    """A chart without its padding."""
    scores = float_matrix(f"charts[{sentence}]", chart)
    n_columns = n_previous + n_rows
    if scores.shape[0] < n_rows or scores.shape[1] < n_columns:
        raise ParameterError(
            f"charts[{sentence}] must have a row for each mention and a column for each earlier one and itself "
            f"({n_rows} by {n_columns}), got shape {scores.shape}"
        )
    return scores[:n_rows, :n_columns]


def _bounds(mentions: Sequence[Sequence[Sequence[Any]]], lengths: Ints) -> Ints:
    """First token in the document and the one past the last of every mention."""
    offsets = np.cumsum(lengths) - lengths
    rows = []
    for s, found in enumerate(mentions):
        for m, (start, last, *_) in enumerate(found):
            if not 0 <= start <= last < lengths[s]:
                raise ParameterError(
                    f"mentions[{s}][{m}] must have 0 <= first <= last < length of the sentence ({lengths[s]}), "
                    f"got {start} and {last}"
                )
            rows.append((offsets[s] + start, offsets[s] + last + 1))
    return np.array(rows, np.int64).reshape(-1, 2)
