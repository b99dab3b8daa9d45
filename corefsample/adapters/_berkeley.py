"""Scores of the Berkeley entity system: a chart in which a mention's link to itself is NEW."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

import numpy as np

from corefsample import _checks
from corefsample._arrays import Floats
from corefsample.adapters._assembly import Links, Spans, assemble, float_matrix, int_matrix
from corefsample.coreference._dense import is_masked
from corefsample.documents._scored import ScoredDocument
from corefsample.documents._tokens import Tokens
from corefsample.errors import ParameterError, ParameterHint

_SUM_TOLERANCE = 1e-3  # the charts are of 32-bit floats


def from_berkeley(
    chart: Any,
    mentions: Any,
    *,
    doc_id: str,
    values: str = "scores",
    tokens: Tokens | None = None,
    date: datetime.date | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> ScoredDocument:
    """Convert a chart of the Berkeley entity system, or any chart whose diagonal is NEW, to a scored document.

    Parameters
    ----------
    chart
        One row per mention: i + 1 values, for the mentions before mention i and then for itself, which is NEW; or the
        same in a square, whose upper triangle is ignored. Pruned links are -inf, or 0 among probabilities. NEW may
        be pruned too.
    mentions
        int (n_mentions, 3), in the chart's order (the system sorts by head): first token, the one past the last, and
        head, as offsets in the document: the length of the sentences before the mention's is added to those of a
        ``Mention`` (startIdx, endIdx, headIdx).
    doc_id, date, tokens, metadata
        Of the document.
    values
        "scores": natural-log scores (``featurizeIndexAndScoreNonPrunedUseCache``). "probabilities": the result of
        ``computeMarginals``, or a chart of scores after decoding, which normalises it in place.

    Returns
    -------
    ScoredDocument
        Its metadata reports under "adapter" what was left out.

    Raises
    ------
    ParameterError
        If the chart has another shape or is not finite, its rows are not what `values` names, or a mention is
        invalid.

    Examples
    --------
    >>> document = from_berkeley([[0.5], [1.5, 0.5]], [[0, 1, 0], [2, 4, 3]], doc_id="a")
    >>> document.antecedents.scores
    array([1.])

    References
    ----------
    Durrett & Klein (2013), whose model Nguyen & O'Connor (2015) sample from.
    """
    _checks.choice("values", values, ("scores", "probabilities"))
    square = _square(chart)
    n_mentions = square.shape[0]
    if values == "probabilities":
        square = _logs(square)
    elif n_mentions > 1 and _is_normalised(square):
        raise ParameterError(
            "must contain scores, got rows that each add up to one, as decoding leaves them",
            parameter="chart",
            hint=ParameterHint("values", "= 'probabilities' accepts them"),
        )
    links = Links.from_square("chart", square, np.diagonal(square).copy())
    places = int_matrix("mentions", mentions, 3)
    if places.shape[0] != n_mentions:
        raise ParameterError(
            f"must have one row for each of the chart ({n_mentions}), got {places.shape[0]}", parameter="mentions"
        )
    spans = Spans(places[:, 0], places[:, 1], places[:, 2])
    return assemble("berkeley", links, spans, doc_id=doc_id, tokens=tokens, date=date, metadata=metadata)


def _square(chart: Any) -> Floats:
    """The chart as a square, masked above its diagonal."""
    if not hasattr(chart, "shape"):
        try:
            lengths = [len(row) for row in chart]
        except TypeError:
            raise ParameterError(
                f"must have one row of values per mention, got {_checks.shown(chart)}", parameter="chart"
            ) from None
        n_mentions = len(lengths)
        if lengths != [n_mentions] * n_mentions:
            square = np.full((n_mentions, n_mentions), -np.inf)
            for i, row in enumerate(chart):
                if len(row) != i + 1:
                    raise ParameterError(f"chart[{i}] must have {i + 1} values, the last for NEW, got {len(row)}")
                square[i, : i + 1] = float_matrix(f"chart[{i}]", [row])[0]
            return square
        if not n_mentions:
            return np.zeros((0, 0))
    square = float_matrix("chart", chart)
    if square.shape[0] != square.shape[1]:
        raise ParameterError(f"must be square, its diagonal for NEW, got shape {square.shape}", parameter="chart")
    square[np.triu_indices(square.shape[0], 1)] = -np.inf
    return square


def _lower(square: Floats) -> Floats:
    """The chart with zeros in place of masks."""
    return np.where(is_masked(square), 0.0, square)


def _is_normalised(square: Floats) -> bool:
    lower = _lower(square)
    return bool((lower >= 0).all() and (np.abs(lower.sum(axis=1) - 1) <= _SUM_TOLERANCE).all())


def _logs(square: Floats) -> Floats:
    """Natural logarithms of a chart of probabilities."""
    lower = _lower(square)
    _checks.each("chart", lower, (lower >= 0) & (lower <= 1 + _SUM_TOLERANCE), "be a probability")
    off = np.flatnonzero(np.abs(lower.sum(axis=1) - 1) > _SUM_TOLERANCE)
    if off.size:
        raise ParameterError(f"chart[{off[0]}] must add up to one, got {lower[off[0]].sum():.6g}")
    with np.errstate(divide="ignore"):
        return np.log(lower)
