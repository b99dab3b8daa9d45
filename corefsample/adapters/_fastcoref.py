"""Scores of fastcoref (FCoref and LingMessCoref): its ``CorefResult`` as a scored document."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from corefsample._arrays import Ints
from corefsample._checks import shown
from corefsample.adapters import _assembly
from corefsample.adapters._assembly import float_matrix, int_matrix
from corefsample.documents._scored import ScoredDocument
from corefsample.documents._tokens import Tokens
from corefsample.errors import ParameterError


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
    _assembly.require_new("coref_logit", scores[:, n_rows], "end")
    links = _assembly.Links.from_square("coref_logit", scores[:, :n_rows], scores[:, n_rows])
    rows, characters = _mapped_rows(result.char_map, n_rows)
    words, token_spans = _token_spans(result.text, tokens, offsets, characters)
    bounds, valid = np.zeros((n_rows, 2), np.int64), np.zeros(n_rows, bool)
    bounds[rows], valid[rows] = token_spans, token_spans[:, 0] < token_spans[:, 1]
    spans = _assembly.Spans(bounds[:, 0], bounds[:, 1], valid=valid)
    return _assembly.assemble("fastcoref", links, spans, doc_id=doc_id, tokens=words, date=date, metadata=metadata)


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
    if _assembly.is_spacy_doc(tokens):
        if isinstance(text, str):
            _require_same("text", text, tokens.text)
            offsets = offsets or [(word.idx, word.idx + len(word.text)) for word in tokens]
        tokens = _assembly.spacy_tokens(tokens)
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
    return tokens, np.stack(_assembly.align(characters, bounds), axis=1)


def _require_same(unit: str, model_input: Any, tokens: Any) -> None:
    if model_input != tokens:
        rule = f"must be of the {unit} that fastcoref read ({shown(model_input)})"
        raise ParameterError(f"{rule}, got {shown(tokens)}", parameter="tokens")
