"""Scores of systems that link spans: fastcoref, the e2e-coref family (AllenNLP, c2f, coref-hoi, SpanBERT), CorPipe."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from corefsample import _checks
from corefsample._arrays import Floats, Ints
from corefsample.adapters._links import Links, float_matrix, host_array, int_matrix, require_new
from corefsample.adapters._scored_mentions import is_spacy_doc, scored_document, spacy_tokens
from corefsample.coreference._dense import is_masked
from corefsample.documents._scored import ScoredDocument
from corefsample.documents._tokens import Tokens
from corefsample.errors import ParameterError, shown


def from_fastcoref(
    result: Any,
    tokens: Any = None,
    *,
    doc_id: str,
    offsets: Sequence[tuple[int, int]] | None = None,
    date: datetime.date | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> ScoredDocument:
    """Convert a ``CorefResult`` of fastcoref to a scored document.

    Its mentions are the spans that survived fastcoref's pruning, so NEW also means "not a mention".

    Parameters
    ----------
    result
        Result of ``FCoref.predict`` for one text: ``coref_logit`` of shape (k, k + 1) with NEW in the last column,
        and ``char_map``, which maps spans of word pieces to rows and characters.
    tokens
        A spaCy Doc of the same text, or Tokens. If fastcoref read a text, its spans are characters, and this or
        `offsets` locates the tokens; a span that begins or ends inside a token is widened to it. If it read words
        (``is_split_into_words=True``), the tokens are those words. Heads of mentions are found in the parse of the
        tokens; without a parse, the head of a mention is its last token.
    doc_id
        Id of the document, not empty.
    offsets
        First character of each token, and the character past its last. Required if fastcoref read a text and `tokens`
        is not a spaCy Doc.
    date
        Date of the document, which counts of events need. By default, the document has none.
    metadata
        Further fields of the document. By default, the document has no further fields.

    Returns
    -------
    ScoredDocument
        The document with its scores, its mentions sorted by start. A link is left out if this order puts the antecedent
        behind the mention, or if the antecedent is a row of padding; the other candidates of the mention and NEW are
        renormalised. The metadata has the numbers of rows and links left out, and the probability of these links, under
        "adapter".

    Raises
    ------
    ParameterError
        If an array has another shape, a score is NaN or +inf, or the text or words that fastcoref read differ from
        `tokens`.
    """
    if not all(hasattr(result, name) for name in ("coref_logit", "char_map", "text")):
        raise ParameterError(f"must be a CorefResult of fastcoref, got {type(result).__name__}", parameter="result")
    scores = float_matrix("coref_logit", result.coref_logit)
    n_rows = scores.shape[0]
    if scores.shape[1] != n_rows + 1:
        raise ParameterError(
            f"must have one column more than rows, the last for NEW, got shape {scores.shape}", parameter="coref_logit"
        )
    require_new("coref_logit", scores[:, n_rows], "end")
    links = Links.from_square("coref_logit", scores[:, :n_rows], scores[:, n_rows])
    rows, characters = _mapped_rows(result.char_map, n_rows)
    words, token_spans = _token_spans(result.text, tokens, offsets, characters)
    bounds, has_span = np.zeros((n_rows, 2), np.int64), np.zeros(n_rows, bool)
    bounds[rows], has_span[rows] = token_spans, token_spans[:, 0] < token_spans[:, 1]
    return scored_document(
        "fastcoref", links, bounds, has_span=has_span, doc_id=doc_id, tokens=words, date=date, metadata=metadata
    )


def _mapped_rows(char_map: Mapping[Any, Any], n_rows: int) -> tuple[Ints, Ints]:
    """Rows that stand for a span, ascending, and their characters; padding and special tokens map to None."""
    characters_of_row = {}
    for span, (row, characters) in char_map.items():
        if row is None or characters is None:
            continue
        if not 0 <= row < n_rows or row in characters_of_row:
            pieces = tuple(int(piece) for piece in span)
            rule = f"be a row of coref_logit (0 to {n_rows - 1}) that occurs once"
            raise ParameterError(f"char_map[{pieces}] must {rule}, got {row}")
        characters_of_row[int(row)] = [int(character) for character in characters]
    rows = sorted(characters_of_row)
    return np.array(rows, np.int64), int_matrix("char_map", [characters_of_row[row] for row in rows], 2)


def _token_spans(text: Any, tokens: Any, offsets: Any, characters: Ints) -> tuple[Tokens | None, Ints]:
    """Tokens of the document, and start and end of the spans among them."""
    if is_spacy_doc(tokens):
        if isinstance(text, str):
            _require_same("text", text, tokens.text)
            offsets = offsets or [(word.idx, word.idx + len(word.text)) for word in tokens]
        tokens = spacy_tokens(tokens)
    if not isinstance(tokens, Tokens | None):
        raise ParameterError(f"must be a spaCy Doc or Tokens, got {type(tokens).__name__}", parameter="tokens")
    if not isinstance(text, str):
        if tokens is not None:
            _require_same("words", [str(word) for word in text], list(tokens.text))
        return tokens, characters
    if offsets is None:
        rule = "must be a spaCy Doc, or come with offsets, because fastcoref read a text"
        raise ParameterError(rule, parameter="tokens")
    bounds = int_matrix("offsets", offsets, 2)
    if (np.diff(bounds.ravel()) < 0).any() or (tokens is not None and len(tokens) != len(bounds)):
        raise ParameterError("must be one pair per token, in ascending order", parameter="offsets")
    # A span is widened to the whole token in which it begins or ends; without a token its start is not below its end.
    starts = np.searchsorted(bounds[:, 1], characters[:, 0], side="right")  # the first that ends past the beginning
    ends = np.searchsorted(bounds[:, 0], characters[:, 1], side="left")  # the first that begins at or past the end
    return tokens, np.stack((starts, ends), axis=1)


def _require_same(unit: str, model_input: Any, tokens: Any) -> None:
    if model_input != tokens:
        rule = f"must be of the {unit} that fastcoref read ({shown(model_input)})"
        raise ParameterError(f"{rule}, got {shown(tokens)}", parameter="tokens")


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
        bounds = _whole_tokens(bounds, _checks.integers("piece_tokens", host_array("piece_tokens", piece_tokens)))
    bounds[:, 1] += 1
    return scored_document(
        "e2e", links, bounds, has_span=is_first, doc_id=doc_id, tokens=tokens, date=date, metadata=metadata
    )


def _whole_tokens(pieces: Ints, piece_tokens: Ints) -> Ints:
    """First and last token of spans of word pieces."""
    falling = np.flatnonzero(np.diff(piece_tokens) < 0)
    if falling.size:
        p = falling[0] + 1
        raise ParameterError(f"piece_tokens[{p}] must not decrease, got {piece_tokens[p]} after {piece_tokens[p - 1]}")
    inside = (pieces >= 0) & (pieces < piece_tokens.shape[0])
    _checks.require_all("spans", pieces, inside, f"be a word piece (0 to {piece_tokens.shape[0] - 1})")
    return piece_tokens[pieces]


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
    lengths = _checks.integers("sentence_lengths", sentence_lengths)
    previous = _checks.integers("n_previous", n_previous)
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
    return scored_document("corpipe", links, bounds, doc_id=doc_id, tokens=tokens, date=date, metadata=metadata)


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
