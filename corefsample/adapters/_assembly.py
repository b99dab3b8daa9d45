"""A scored document from the links, spans and tokens of a system, in the order that the format requires."""

from __future__ import annotations

import dataclasses
import datetime
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample._arrays import Bools, Floats, Ints
from corefsample.coreference._antecedents import AntecedentDistribution
from corefsample.coreference._dense import is_masked, relative_to_new
from corefsample.documents._scored import ScoredDocument
from corefsample.documents._tokens import Tokens, span_head
from corefsample.errors import ParameterError


def _host_array(name: str, value: Any) -> npt.NDArray[Any]:
    """NumPy array of a value that may lie on a device, have gradients, or be of a type that NumPy does not know."""
    if hasattr(value, "detach"):  # torch
        value = value.detach().cpu()
        if "bfloat16" in str(value.dtype):
            value = value.float()
    elif type(value).__module__.split(".")[0] == "cupy":
        value = value.get()
    return _checks.regular_array(name, value)


def _array(name: str, value: Any, kinds: str, elements: str) -> npt.NDArray[Any]:
    try:
        array = _host_array(name, value)
    except (TypeError, ValueError):
        raise ParameterError(f"must be an array of {elements}, got {_checks.shown(value)}", parameter=name) from None
    if array.ndim == 3 and array.shape[0] == 1:  # a batch of one document
        array = array[0]
    if array.ndim != 2 or (array.dtype.kind not in kinds and array.size):
        rule = f"must be {elements} of one document in 2 dimensions"
        raise ParameterError(f"{rule}, got {array.dtype} of shape {array.shape}", parameter=name)
    return array


def float_matrix(name: str, value: Any) -> Floats:
    """Scores of one document as float64 in two dimensions; masks are allowed, NaN and +inf raise ParameterError."""
    scores = _array(name, value, "fiu", "numbers").astype(np.float64)
    _checks.require_all(name, scores, scores < np.inf, "be finite or a mask")
    return scores


def int_matrix(name: str, value: Any, n_columns: int | None = None) -> Ints:
    """Indices of one document as int64, two dimensions."""
    if isinstance(value, Sequence) and not len(value):
        return np.zeros((0, n_columns or 0), np.int64)
    indices = _array(name, value, "iu", "whole numbers").astype(np.int64)
    if n_columns is not None and indices.shape[1] != n_columns:
        raise ParameterError(f"must have {n_columns} columns, got shape {indices.shape}", parameter=name)
    return indices


def pair(value: Any, name: str) -> tuple[Any, Any]:
    """Split the pair of scores and antecedents that a system returns."""
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise ParameterError(f"must be scores and antecedents, got {_checks.shown(value)}", parameter=name)
    return value[0], value[1]


def int_vector(name: str, value: Any) -> Ints:
    """Whole numbers in one dimension as int64."""
    return _checks.integers(name, _host_array(name, value))


def row_bounds(rows: Ints, n_rows: int) -> Ints:
    """CSR bounds, int64 (n_rows + 1,), of entries whose rows ascend."""
    return np.concatenate(([0], np.cumsum(np.bincount(rows, minlength=n_rows))))


@dataclass(frozen=True, slots=True, eq=False)
class Links:
    """Links from mentions to earlier mentions, ascending by mention, without masked links.

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
        is_scored = ~is_masked(scores)
        invalid = np.argwhere(is_scored & ((antecedents < 0) | (antecedents >= np.arange(n_mentions)[:, None])))
        if invalid.size:
            i, k = invalid[0]
            raise ParameterError(
                f"{antecedents_name}[{i}][{k}] must be a mention before {i}, unless masked, got {antecedents[i, k]}"
            )
        relative = relative_to_new(name, scores, new, is_scored)
        mentions, columns = np.nonzero(is_scored)
        candidates = antecedents[mentions, columns]
        _require_distinct(antecedents_name, mentions, candidates)
        return cls(n_mentions, mentions.astype(np.int64), candidates, relative[mentions, columns])

    @classmethod
    def from_new_first(
        cls, scores: Any, antecedents: Any, n_rows: int, row: str, *, n_new: tuple[int, ...] = (1,)
    ) -> Self:
        """Links of unsorted top antecedents; the columns for NEW come before the columns of antecedents.

        Parameters
        ----------
        scores
            (n_rows, number of columns for NEW + k); several columns for NEW are summed as probabilities.
        antecedents
            (n_rows, k): index of the candidate in each column after the columns for NEW.
        n_rows, row
            Expected number of rows of the scores, and the name of a row in error messages.
        n_new
            Numbers of columns for NEW that are allowed; by default only one.
        """
        values, indices = float_matrix("scores", scores), int_matrix("antecedents", antecedents)
        if values.shape[0] != n_rows or indices.shape[0] != n_rows:
            raise ParameterError(
                f"scores and antecedents must have one row per {row} ({n_rows}), "
                f"got {values.shape[0]} and {indices.shape[0]}"
            )
        extra = values.shape[1] - indices.shape[1]
        if extra not in n_new:
            rule = f"must have {' or '.join(map(str, n_new))} more columns than antecedents, in front, for NEW"
            raise ParameterError(f"{rule}, got {values.shape[1]} and {indices.shape[1]}", parameter="scores")
        new = np.logaddexp.reduce(values[:, :extra], axis=1)
        require_new("scores", new, "begin")
        return cls.from_top_k("scores", values[:, extra:], new, "antecedents", indices)

    @classmethod
    def from_square(cls, name: str, scores: Floats, new: Floats) -> Self:
        """Links of a square of scores, (n_mentions, n_mentions), of which the strict lower triangle is used."""
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


METADATA = "adapter"  # key of a document's metadata under which an adapter reports rows and links that it left out


@dataclass(frozen=True, slots=True, eq=False)
class Spans:
    """Token offsets of a system's mentions, in its order.

    Attributes
    ----------
    starts, ends
        int64 (n_mentions,): first token of each mention, and the token past its last.
    heads
        int64 (n_mentions,): head token of each mention. If None, the parse determines the heads.
    valid
        bool (n_mentions,): False for rows of scores without a span (padding, special tokens). If None, all rows have a
        span.
    """

    starts: Ints
    ends: Ints
    heads: Ints | None = None
    valid: Bools | None = None

    @classmethod
    def of_words(cls, n_tokens: int, spans_of_heads: Mapping[int, tuple[int, int]] | None) -> Self:
        """Span of each word: the span of the mention that it heads, if `spans_of_heads` has one, otherwise the word."""
        heads = np.arange(n_tokens, dtype=np.int64)
        starts, ends = heads.copy(), heads + 1
        for head, (start, end) in (spans_of_heads or {}).items():
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
    """Build the document: mentions sorted by start, then longest first, and the links that still point backwards.

    Links to rows without a span, and links that the new order reverses, are left out, and the remaining candidates of
    their mention are renormalised. The metadata reports their number under "adapter".
    """
    rows = np.arange(links.n_mentions) if spans.valid is None else np.flatnonzero(spans.valid)
    starts, ends = spans.starts[rows], spans.ends[rows]
    _require_spans(rows, starts, ends, tokens)
    heads = parse_heads(starts, ends, tokens) if spans.heads is None else spans.heads[rows]
    order = np.lexsort((-ends, starts))
    new_indices = np.full(links.n_mentions, -1, np.int64)
    new_indices[rows[order]] = np.arange(rows.shape[0])
    mentions, antecedents = new_indices[links.mentions], new_indices[links.antecedents]
    has_spans = (mentions >= 0) & (antecedents >= 0)
    is_valid = has_spans & (antecedents < mentions)
    is_left_out = ~is_valid & (mentions >= 0)
    left_out_mass = np.bincount(links.mentions[is_left_out], links.probabilities()[is_left_out], links.n_mentions)
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
        head=np.array(heads, np.int32),
        sent=np.array(sents, np.int32),
    )


def align(spans: Ints, offsets: Ints) -> tuple[Ints, Ints]:
    """Convert character spans to token spans: a span that begins or ends inside a token is widened to the whole token.

    Parameters
    ----------
    spans
        int64 (n_spans, 2): first character of each span, and the character past its last.
    offsets
        int64 (n_tokens, 2): first character of each token, and the character past its last; ascending, without
        overlaps.

    Returns
    -------
    starts, ends
        int64 (n_spans,): first token of each span, and the token past its last; for a span without a token, the start
        is not below the end.
    """
    starts = np.searchsorted(offsets[:, 1], spans[:, 0], side="right")  # the first token that ends past the beginning
    ends = np.searchsorted(offsets[:, 0], spans[:, 1], side="left")  # the first that begins at or past the end
    return starts.astype(np.int64), ends.astype(np.int64)


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
        log_alone = np.bincount(
            antecedents.antecedents,
            weights=np.log1p(-np.minimum(antecedents.probs, 1.0)),
            minlength=antecedents.n_mentions,
        ) + np.log(np.minimum(antecedents.new_probs, 1.0))
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
    if not isinstance(document, ScoredDocument):
        raise ParameterError(f"must be a ScoredDocument, got {type(document).__name__}", parameter="document")
    _checks.probability("min_prob", min_prob, below_one=True)
    antecedents = document.antecedents
    is_linked = linked_probabilities(antecedents) >= min_prob
    rows = np.repeat(np.arange(antecedents.n_mentions), np.diff(antecedents.indptr))
    is_kept = is_linked[rows] & is_linked[antecedents.antecedents]
    new_indices = np.cumsum(is_linked) - 1
    bounds = row_bounds(new_indices[rows[is_kept]], int(is_linked.sum()))
    return dataclasses.replace(
        document,
        mentions=document.mentions[is_linked],
        antecedents=AntecedentDistribution.from_csr(
            bounds, new_indices[antecedents.antecedents[is_kept]], antecedents.scores[is_kept]
        ),
        gold=None if document.gold is None else list(itertools.compress(document.gold, is_linked)),
    )
