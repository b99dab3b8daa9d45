"""A document from a system's links and spans: heads, the order of the format, and what had to be left out."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample.adapters._arrays import Floats, Ints
from corefsample.adapters._links import Links
from corefsample.coreference import AntecedentDistribution
from corefsample.documents import ScoredDocument, Tokens, span_head
from corefsample.errors import ParameterError

__all__ = ["METADATA", "Description", "Spans", "assemble", "parse_heads"]

METADATA = "adapter"  # the key of a document's metadata under which an adapter says what it did


@dataclass(frozen=True, slots=True)
class Description:
    """What a document is called and carries besides its mentions."""

    doc_id: str
    date: datetime.date | None = None
    tokens: Tokens | None = None
    metadata: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Spans:
    """Token offsets of a system's mentions, in its order.

    Attributes
    ----------
    starts, ends
        int64 (n_mentions,): first token, and the token past the last.
    heads
        int64 (n_mentions,): head tokens, or None: found in the parse.
    kept
        bool (n_mentions,): False for rows of scores that stand for no span (padding, special tokens); None: all.
    """

    starts: Ints
    ends: Ints
    heads: Ints | None = None
    kept: npt.NDArray[np.bool_] | None = None

    def kept_rows(self) -> Ints:
        """Rows that stand for a span."""
        rows = np.arange(self.starts.shape[0]) if self.kept is None else np.flatnonzero(self.kept)
        return rows.astype(np.int64)


def parse_heads(starts: Ints, ends: Ints, tokens: Tokens | None) -> Ints:
    """Head token of each span: the first whose syntactic head lies outside; the last token where nothing is parsed."""
    if tokens is None or not (tokens.head >= 0).any():
        return ends - 1
    heads, spans = tokens.head.tolist(), zip(starts.tolist(), ends.tolist(), strict=True)
    return np.array([span_head(heads, start, end) for start, end in spans], np.int64)


def assemble(system: str, links: Links, spans: Spans, description: Description) -> ScoredDocument:
    """Build the document: mentions by start, then longest first, and the links that still point backwards.

    Links to rows without a span, and those that the new order turns round, are left out; the rest of their mention
    renormalises. The metadata counts them, under "adapter".
    """
    rows = spans.kept_rows()
    starts, ends = spans.starts[rows], spans.ends[rows]
    _check_spans(rows, starts, ends, description.tokens)
    heads = parse_heads(starts, ends, description.tokens) if spans.heads is None else spans.heads[rows]
    order = np.lexsort((-ends, starts))
    places = np.full(links.n_mentions, -1, np.int64)
    places[rows[order]] = np.arange(rows.shape[0])
    mentions, antecedents = places[links.mentions], places[links.antecedents]
    spanned = (mentions >= 0) & (antecedents >= 0)
    kept = spanned & (antecedents < mentions)
    by_mention = np.flatnonzero(kept)[np.argsort(mentions[kept], kind="stable")]
    indptr = np.concatenate(([0], np.cumsum(np.bincount(mentions[kept], minlength=rows.shape[0]))))
    metadata = dict(description.metadata or {})
    if METADATA in metadata:
        raise ParameterError(
            f"metadata must leave {METADATA!r} to the adapter, got {_checks.shown(metadata[METADATA])}"
        )
    metadata[METADATA] = {
        "system": system,
        "rows_without_span": links.n_mentions - rows.shape[0],
        "links_without_span": int((~spanned & (mentions >= 0)).sum()),
        "links_reversed": int((spanned & ~kept).sum()),
        **_left_out(links, places, kept),
    }
    return ScoredDocument(
        doc_id=description.doc_id,
        mentions=np.stack((starts, ends, heads), axis=1)[order].astype(np.int32),
        antecedents=AntecedentDistribution.from_csr(indptr, antecedents[by_mention], links.scores[by_mention]),
        date=description.date,
        tokens=description.tokens,
        metadata=metadata,
    )


def _left_out(links: Links, places: Ints, kept: npt.NDArray[np.bool_]) -> dict[str, float]:
    """Probability, as the system had it, of the links of mentions with a span that the document has not."""
    gone = ~kept & (places[links.mentions] >= 0)
    mass: Floats = np.bincount(
        links.mentions[gone], weights=links.probabilities()[gone], minlength=links.n_mentions
    ).astype(np.float64)
    return {"left_out_mass": float(mass.sum()), "largest_left_out_mass": float(mass.max(initial=0.0))}


def _check_spans(rows: Ints, starts: Ints, ends: Ints, tokens: Tokens | None) -> None:
    """Refuse a span that is none, by its row in the system's order."""
    limit = np.iinfo(np.int32).max if tokens is None else len(tokens)
    bad = np.flatnonzero((starts < 0) | (ends <= starts) | (ends > limit))
    if bad.size:
        rule = "0 <= start < end" if tokens is None else f"0 <= start < end <= number of tokens ({limit})"
        m = bad[0]
        raise ParameterError(f"spans[{rows[m]}] must have {rule}, got start {starts[m]} and end {ends[m]} (exclusive)")
