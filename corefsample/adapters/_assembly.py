"""A document from what a system gives: its candidate links, spans and tokens, brought into the order of the format."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from corefsample import _checks
from corefsample._arrays import Bools, Floats, Ints, Ints32
from corefsample.adapters._arrays import float_matrix, int_matrix, row_bounds
from corefsample.coreference._antecedents import AntecedentDistribution
from corefsample.coreference._dense import is_masked, relative_to_new
from corefsample.documents._scored import ScoredDocument
from corefsample.documents._tokens import Tokens, span_head
from corefsample.errors import ParameterError, ParameterHint


@dataclass(frozen=True, slots=True, eq=False)
class Links:
    """Links from mentions to mentions before them, ascending by mention, without the masked ones.

    Attributes
    ----------
    n_mentions
        Number of rows of the system's scores.
    mentions, antecedents
        int64 (n_links,): both ends of each link, as rows of the system's scores.
    scores
        float64 (n_links,): natural-log scores relative to NEW = 0.
    """

    n_mentions: int
    mentions: Ints
    antecedents: Ints
    scores: Floats

    @classmethod
    def from_top_k(cls, name: str, scores: Floats, new: Floats, antecedents_name: str, antecedents: Ints) -> Self:
        """Links of scored candidates, in any order within a row.

        Parameters
        ----------
        scores, antecedents
            (n_mentions, n_candidates): score and index of each candidate. Masked candidates may have any index: e2e's
            first rows point before the document's beginning, and top candidates of early rows lie after them.
        new
            (n_mentions,): score of NEW, on the same scale.
        """
        n_mentions = scores.shape[0]
        scored = ~is_masked(scores)
        wrong = np.argwhere(scored & ((antecedents < 0) | (antecedents >= np.arange(n_mentions)[:, None])))
        if wrong.size:
            i, k = wrong[0]
            raise ParameterError(
                f"{antecedents_name}[{i}][{k}] must be a mention before {i}, unless masked, got {antecedents[i, k]}"
            )
        relative = relative_to_new(name, scores, new, scored)
        mentions, columns = np.nonzero(scored)
        candidates = antecedents[mentions, columns]
        _require_distinct(antecedents_name, mentions, candidates)
        return cls(n_mentions, mentions.astype(np.int64), candidates, relative[mentions, columns])

    @classmethod
    def from_new_first(
        cls, scores: Any, antecedents: Any, n_rows: int, row: str, *, n_new: tuple[int, ...] = (1,)
    ) -> Self:
        """Links of unsorted top antecedents, with the columns of NEW before theirs.

        Parameters
        ----------
        scores
            (n_rows, number of columns for NEW + k); several columns for NEW are summed as probabilities.
        antecedents
            (n_rows, k): indices.
        n_rows, row
            Number of rows, and the name of one in an error.
        n_new
            Possible numbers of columns for NEW.
        """
        values, indices = float_matrix("scores", scores), int_matrix("antecedents", antecedents)
        if values.shape[0] != n_rows or indices.shape[0] != n_rows:
            raise ParameterError(
                f"scores and antecedents must have one row per {row} ({n_rows}), "
                f"got {values.shape[0]} and {indices.shape[0]}"
            )
        extra = values.shape[1] - indices.shape[1]
        if extra not in n_new:
            columns = "1 more column" if n_new == (1,) else f"{' or '.join(map(str, n_new))} more columns"
            raise ParameterError(
                f"must have {columns} than antecedents, in front, for NEW, "
                f"got {values.shape[1]} and {indices.shape[1]}",
                parameter="scores",
            )
        new = np.logaddexp.reduce(values[:, :extra], axis=1)
        require_new("scores", new, "begin")
        return cls.from_top_k("scores", values[:, extra:], new, "antecedents", indices)

    @classmethod
    def from_square(cls, name: str, scores: Floats, new: Floats) -> Self:
        """Links with a score for each pair: (n_mentions, n_mentions), of which the strict lower triangle is used."""
        n_mentions = scores.shape[0]
        earlier = np.where(np.tri(n_mentions, k=-1, dtype=bool), scores, -np.inf)
        columns = np.broadcast_to(np.arange(n_mentions), scores.shape)
        return cls.from_top_k(name, earlier, new, name, columns)

    def probabilities(self) -> Floats:
        """Float64 (n_links,): the probability of each link according to the system."""
        by_candidate = np.lexsort((self.antecedents, self.mentions))
        probabilities = np.empty(self.scores.shape[0])
        probabilities[by_candidate] = AntecedentDistribution.from_csr(
            row_bounds(self.mentions, self.n_mentions), self.antecedents, self.scores
        ).probs
        return probabilities


def require_new(name: str, new: Floats, end: str) -> None:
    """Raise if the score of NEW, with which each row must begin or end, is masked."""
    masked = np.flatnonzero(is_masked(new))
    if masked.size:
        raise ParameterError(f"{name}[{masked[0]}] must {end} with the score of NEW, got {new[masked[0]]}")


def _require_distinct(name: str, mentions: Ints, antecedents: Ints) -> None:
    order = np.lexsort((antecedents, mentions))
    same = (np.diff(mentions[order]) == 0) & (np.diff(antecedents[order]) == 0)
    if same.any():
        link = order[np.flatnonzero(same)[0]]
        raise ParameterError(f"{name}[{mentions[link]}] must be distinct, got {antecedents[link]} twice")


METADATA = "adapter"  # the key of a document's metadata under which an adapter reports what it left out


@dataclass(frozen=True, slots=True, eq=False)
class Spans:
    """Token offsets of a system's mentions, in its order.

    Attributes
    ----------
    starts, ends
        int64 (n_mentions,): first token, and the token past the last.
    heads
        int64 (n_mentions,): head tokens; None: found in the parse.
    valid
        bool (n_mentions,): False for rows of scores without a span (padding, special tokens); None: all are valid.
    """

    starts: Ints
    ends: Ints
    heads: Ints | None = None
    valid: Bools | None = None

    @classmethod
    def of_words(cls, n_tokens: int, known: Mapping[int, tuple[int, int]] | None) -> Self:
        """Span of each word: that of the mention it heads if it is known, otherwise the word itself."""
        heads = np.arange(n_tokens, dtype=np.int64)
        starts, ends = heads.copy(), heads + 1
        for head, (start, end) in (known or {}).items():
            if not 0 <= start <= head < end <= n_tokens:
                rule = f"contain its head {head} and end by the last token ({n_tokens})"
                raise ParameterError(f"spans[{head}] must {rule}, got {start} to {end} (exclusive)")
            starts[head], ends[head] = start, end
        return cls(starts, ends, heads)


def parse_heads(starts: Ints, ends: Ints, tokens: Tokens | None) -> Ints:
    """Head token of each span: the first whose syntactic head lies outside; the last token where nothing is parsed."""
    if tokens is None or not (tokens.head >= 0).any():
        return ends - 1
    heads, spans = tokens.head.tolist(), zip(starts.tolist(), ends.tolist(), strict=True)
    return np.array([span_head(heads, start, end) for start, end in spans], np.int64)


def assemble(
    system: str,
    links: Links,
    spans: Spans,
    *,
    doc_id: str,
    tokens: Tokens | None = None,
    date: datetime.date | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> ScoredDocument:
    """Build the document: mentions by start, then longest first, and the links that still point backwards.

    Links to rows without a span, and those that the new order reverses, are left out, and the remaining candidates of
    their mention are renormalised. The metadata counts them, under "adapter".
    """
    metadata = metadata or {}
    if METADATA in metadata:
        raise ParameterError(
            f"must not have {METADATA!r}, which the adapter adds, got {_checks.shown(metadata[METADATA])}",
            parameter="metadata",
        )
    rows = np.arange(links.n_mentions) if spans.valid is None else np.flatnonzero(spans.valid)
    starts, ends = spans.starts[rows], spans.ends[rows]
    _require_spans(rows, starts, ends, tokens)
    heads = parse_heads(starts, ends, tokens) if spans.heads is None else spans.heads[rows]
    order = np.lexsort((-ends, starts))
    places = np.full(links.n_mentions, -1, np.int64)
    places[rows[order]] = np.arange(rows.shape[0])
    mentions, antecedents = places[links.mentions], places[links.antecedents]
    has_spans = (mentions >= 0) & (antecedents >= 0)
    valid = has_spans & (antecedents < mentions)
    left_out = ~valid & (mentions >= 0)
    left_out_mass = np.bincount(links.mentions[left_out], links.probabilities()[left_out], links.n_mentions)
    by_mention = np.flatnonzero(valid)[np.argsort(mentions[valid], kind="stable")]
    summary = {
        "system": system,
        "rows_without_span": links.n_mentions - rows.shape[0],
        "links_without_span": int((~has_spans & (mentions >= 0)).sum()),
        "links_reversed": int((has_spans & ~valid).sum()),
        "left_out_mass": float(left_out_mass.sum()),
        "largest_left_out_mass": float(left_out_mass.max(initial=0.0)),
    }
    return ScoredDocument(
        doc_id=doc_id,
        mentions=np.stack((starts, ends, heads), axis=1)[order].astype(np.int32),
        antecedents=AntecedentDistribution.from_csr(
            row_bounds(mentions[valid], rows.shape[0]), antecedents[by_mention], links.scores[by_mention]
        ),
        date=date,
        tokens=tokens,
        metadata={**metadata, METADATA: summary},
    )


def _require_spans(rows: Ints, starts: Ints, ends: Ints, tokens: Tokens | None) -> None:
    """Raise for an invalid span, by its row in the system's order."""
    limit = np.iinfo(np.int32).max if tokens is None else len(tokens)
    bad = np.flatnonzero((starts < 0) | (ends <= starts) | (ends > limit))
    if bad.size:
        rule = "0 <= start < end" if tokens is None else f"0 <= start < end <= number of tokens ({limit})"
        m = bad[0]
        raise ParameterError(f"spans[{rows[m]}] must have {rule}, got start {starts[m]} and end {ends[m]} (exclusive)")


ALIGNMENTS = ("strict", "expand", "drop")


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
        head=_array([word.head.i if parsed and word.head.i != word.i else -1 for word in words]),
        sent=np.cumsum(_array(starts), dtype=np.int32),
        extra={"space_after": [bool(word.whitespace_) for word in words]},
    )


def stanza_tokens(document: Any) -> Tokens:
    """Words of a Stanza Document, in its order, without empty words (zero anaphora)."""
    words: list[Any] = []
    heads: list[int] = []
    sents: list[int] = []
    for number, sentence in enumerate(document.sentences):
        first = len(words)
        for word in sentence.words:
            words.append(word)
            heads.append(first + word.head - 1 if word.head else -1)  # heads count from 1; 0 or None: no head
            sents.append(number)
    return Tokens(
        text=[word.text for word in words],
        lemma=[word.lemma or "" for word in words],
        upos=[word.upos or "" for word in words],
        dep=[word.deprel or "" for word in words],
        head=_array(heads),
        sent=_array(sents),
    )


def _array(values: Sequence[int]) -> Ints32:
    return np.asarray(values, np.int32)


def align(spans: Ints, offsets: Ints, name: str, alignment: str) -> tuple[Ints, Ints, Bools]:
    """Convert character spans to token spans.

    Parameters
    ----------
    spans
        int64 (n_spans, 2): first character, and the one past the last.
    offsets
        int64 (n_tokens, 2): the same of each token, ascending, without overlaps.
    alignment
        For a span that begins or ends inside a token: "strict" raises, "expand" widens it to the whole token, "drop"
        leaves the span out. A span that touches no token raises, or is left out by "drop".

    Returns
    -------
    starts, ends
        int64 (n_spans,): first token, and the one past the last.
    aligned
        bool (n_spans,): False for the spans left out.
    """
    starts = np.searchsorted(offsets[:, 1], spans[:, 0], side="right")  # the first token that ends past the beginning
    ends = np.searchsorted(offsets[:, 0], spans[:, 1], side="left")  # the first that begins at or past the end
    touching = starts < ends
    inside = np.flatnonzero(touching)
    exact = touching.copy()
    exact[inside] &= offsets[starts[inside], 0] == spans[inside, 0]
    exact[inside] &= offsets[ends[inside] - 1, 1] == spans[inside, 1]
    aligned = touching if alignment == "expand" else exact
    if alignment != "drop" and not aligned.all():
        i = int(np.flatnonzero(~aligned)[0])
        rule = "begin and end at token bounds" if touching[i] else "touch a token"
        hint = ParameterHint("alignment", "= 'expand' widens it") if touching[i] else None
        raise ParameterError(f"{name}[{i}] must {rule}, got characters {spans[i, 0]} to {spans[i, 1]}", hint=hint)
    return starts.astype(np.int64), ends.astype(np.int64), aligned
