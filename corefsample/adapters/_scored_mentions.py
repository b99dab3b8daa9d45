"""A scored document from the links and mentions of a system, in the order that the format requires."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

import numpy as np

from corefsample._arrays import Bools, Floats, Ints
from corefsample.adapters._links import Links, row_bounds
from corefsample.coreference._antecedents import AntecedentDistribution
from corefsample.documents._scored import ScoredDocument
from corefsample.documents._tokens import Tokens, span_head
from corefsample.errors import ParameterError

METADATA = "adapter"  # key of a document's metadata under which an adapter reports rows and links that it left out


def scored_document(
    system: str,
    links: Links,
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
    rows = np.arange(links.n_mentions) if has_span is None else np.flatnonzero(has_span)
    starts, ends = bounds[rows].T
    _require_spans(rows, starts, ends, tokens)
    heads = parse_heads(starts, ends, tokens) if heads is None else heads[rows]
    order = np.lexsort((-ends, starts))
    new_indices = np.full(links.n_mentions, -1, np.int64)
    new_indices[rows[order]] = np.arange(rows.shape[0])
    mentions, antecedents = new_indices[links.mentions], new_indices[links.antecedents]
    has_spans = (mentions >= 0) & (antecedents >= 0)
    is_valid = has_spans & (antecedents < mentions)
    is_left_out = ~is_valid & (mentions >= 0)
    left_out_mass = np.bincount(links.mentions[is_left_out], _probabilities(links)[is_left_out], links.n_mentions)
    by_mention = np.flatnonzero(is_valid)[np.argsort(mentions[is_valid], kind="stable")]
    summary = {
        "system": system,
        "rows_without_span": links.n_mentions - rows.shape[0],
        "links_without_span": int((~has_spans & (mentions >= 0)).sum()),
        "links_reversed": int((has_spans & ~is_valid).sum()),
        "left_out_mass": float(left_out_mass.sum()),
        "largest_left_out_mass": float(left_out_mass.max(initial=0.0)),
    }
    return ScoredDocument(
        doc_id=doc_id,
        mentions=np.stack((starts, ends, heads), axis=1)[order].astype(np.int32),
        antecedents=AntecedentDistribution.from_csr(
            row_bounds(mentions[is_valid], rows.shape[0]), antecedents[by_mention], links.scores[by_mention]
        ),
        date=date,
        tokens=tokens,
        metadata={**(metadata or {}), METADATA: summary},
    )


def _require_spans(rows: Ints, starts: Ints, ends: Ints, tokens: Tokens | None) -> None:
    """Raise for an invalid span, by its row in the system's order."""
    limit = np.iinfo(np.int32).max if tokens is None else len(tokens)
    invalid = np.flatnonzero((starts < 0) | (ends <= starts) | (ends > limit))
    if invalid.size:
        rule = "0 <= start < end" if tokens is None else f"0 <= start < end <= number of tokens ({limit})"
        m = invalid[0]
        raise ParameterError(f"spans[{rows[m]}] must have {rule}, got start {starts[m]} and end {ends[m]} (exclusive)")


def _probabilities(links: Links) -> Floats:
    """Float64 (n_links,): the probability of each link according to the system."""
    by_candidate = np.lexsort((links.antecedents, links.mentions))
    probabilities = np.empty(links.scores.shape[0])
    indptr = row_bounds(links.mentions, links.n_mentions)
    probabilities[by_candidate] = AntecedentDistribution.from_csr(indptr, links.antecedents, links.scores).probs
    return probabilities


def parse_heads(starts: Ints, ends: Ints, tokens: Tokens | None) -> Ints:
    """Head token of each span: the first whose syntactic head lies outside; the last token where nothing is parsed."""
    if tokens is None or not (tokens.head >= 0).any():
        return ends - 1
    heads, spans = tokens.head.tolist(), zip(starts.tolist(), ends.tolist(), strict=True)
    return np.array([span_head(heads, start, end) for start, end in spans], np.int64)


def is_spacy_doc(value: object) -> bool:
    """Whether a value is a spaCy Doc, by the attributes used here."""
    return hasattr(value, "text") and hasattr(value, "vocab") and hasattr(value, "spans")


def spacy_tokens(doc: Any) -> Tokens:
    """Tokens of a spaCy Doc; without a parse all heads are -1, without sentences all tokens are in one."""
    words = list(doc)
    parsed = any(word.dep_ for word in words)
    starts = [i > 0 and bool(word.is_sent_start) for i, word in enumerate(words)]
    return Tokens(
        text=[word.text for word in words],
        lemma=[word.lemma_ for word in words],
        upos=[word.pos_ for word in words],
        dep=[word.dep_ for word in words],
        head=np.array([word.head.i if parsed and word.head.i != word.i else -1 for word in words], np.int32),
        sent=np.cumsum(starts, dtype=np.int32),
        extra={"space_after": [bool(word.whitespace_) for word in words]},
    )
