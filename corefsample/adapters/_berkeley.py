"""Scores of the Berkeley entity system: a chart in which a mention's link to itself is NEW."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
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
        One row per mention: row i has i + 1 values, for the mentions before mention i and then for NEW. A square is
        accepted too; its upper triangle is ignored. Pruned links are -inf, or 0 among probabilities. NEW may be pruned
        too.
    mentions
        int (n_mentions, 3), in the chart's order (the system sorts by head): first token of each mention, the token
        past its last, and its head. All are offsets in the document: add the length of the earlier sentences to
        startIdx, endIdx and headIdx of a ``Mention``.
    doc_id
        Id of the document, not empty.
    values
        Kind of the chart's values: "scores" for natural-log scores (``featurizeIndexAndScoreNonPrunedUseCache``),
        "probabilities" for the result of ``computeMarginals``, or for a chart of scores after decoding, which
        normalises it in place.
    tokens
        Words of the document and their parse. By default, the document has none.
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
        If the chart has another shape, NaN or +inf, its values are not of the kind `values`, or the span of a
        mention is invalid.

    References
    ----------
    Durrett & Klein (2013), whose model Nguyen & O'Connor (2015) sample from.

    Examples
    --------
    >>> document = from_berkeley([[0.5], [1.5, 0.5]], [[0, 1, 0], [2, 4, 3]], doc_id="a")
    >>> document.antecedents.scores
    array([1.])
    """
    _checks.choice("values", values, ("scores", "probabilities"))
    square = _square(chart)
    n_mentions = square.shape[0]
    shares = np.where(is_masked(square), 0.0, square)
    is_off = np.abs(shares.sum(axis=1) - 1) > _SUM_TOLERANCE
    if values == "probabilities":
        _checks.require_all("chart", shares, (shares >= 0) & (shares <= 1 + _SUM_TOLERANCE), "be a probability")
        if is_off.any():
            i = int(np.argmax(is_off))
            raise ParameterError(f"chart[{i}] must add up to one, got {shares[i].sum():.6g}")
        with np.errstate(divide="ignore"):
            square = np.log(shares)
    elif n_mentions > 1 and not is_off.any() and (shares >= 0).all():
        raise ParameterError(
            "must contain scores, got rows that each add up to one, as decoding leaves them",
            parameter="chart",
            hint=ParameterHint("values", "= 'probabilities' accepts them"),
        )
    links = Links.from_square("chart", square, np.diagonal(square).copy())
    bounds = int_matrix("mentions", mentions, 3)
    if bounds.shape[0] != n_mentions:
        raise ParameterError(
            f"must have one row for each of the chart ({n_mentions}), got {bounds.shape[0]}", parameter="mentions"
        )
    spans = Spans(bounds[:, 0], bounds[:, 1], bounds[:, 2])
    return assemble("berkeley", links, spans, doc_id=doc_id, tokens=tokens, date=date, metadata=metadata)


def _square(chart: Any) -> Floats:
    """The chart as a square, masked above its diagonal."""
    if isinstance(chart, Sequence):
        rows = [float_matrix(f"chart[{i}]", [row])[0] for i, row in enumerate(chart)]
        chart = np.full((len(rows), len(rows)), -np.inf)
        for i, row in enumerate(rows):
            if len(row) not in (i + 1, len(rows)):
                raise ParameterError(f"chart[{i}] must have {i + 1} values, the last for NEW, got {len(row)}")
            chart[i, : i + 1] = row[: i + 1]
    square = float_matrix("chart", chart)
    if square.shape[0] != square.shape[1]:
        raise ParameterError(f"must be square, its diagonal for NEW, got shape {square.shape}", parameter="chart")
    square[np.triu_indices(square.shape[0], 1)] = -np.inf
    return square
