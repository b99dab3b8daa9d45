"""Scores of fastcoref (FCoref and LingMessCoref): its ``CorefResult`` as a scored document."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample.adapters._arrays import Ints, float_matrix, given_heads, int_matrix, is_masked
from corefsample.adapters._assembly import Description, Spans, assemble
from corefsample.adapters._links import Links
from corefsample.adapters._tokens import ALIGNMENTS, align, is_spacy_doc, spacy_tokens
from corefsample.adapters.refused import refuse_undistributed
from corefsample.documents import ScoredDocument, Tokens
from corefsample.errors import ParameterError

__all__ = ["from_fastcoref"]


def from_fastcoref(
    result: Any,
    tokens: Any = None,
    *,
    doc_id: str,
    offsets: Sequence[tuple[int, int]] | None = None,
    alignment: str = "strict",
    heads: Sequence[int] | None = None,
    date: datetime.date | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> ScoredDocument:
    """Take the scores out of a ``CorefResult`` of fastcoref.

    Its mentions are the spans that survived fastcoref's pruning, so NEW also means "not a mention".

    Parameters
    ----------
    result
        What ``FCoref.predict`` returns for one text: ``coref_logit`` of shape (k, k + 1) with NEW in the last column,
        and ``char_map``, which maps spans of word pieces to rows and characters.
    tokens
        A spaCy Doc of the same text, or Tokens. Where fastcoref read a text, its spans are characters, and this or
        `offsets` says where tokens are; where it read words (``is_split_into_words=True``), they are those words.
    doc_id, date, metadata
        Of the document.
    offsets
        First character of each token, and the one past the last; for Tokens, or for no tokens at all.
    alignment
        Where a span begins or ends inside a token: "strict" refuses it, "expand" takes the whole token, "drop" leaves
        the mention out.
    heads
        Head token of each row of ``coref_logit``; otherwise found in the parse of `tokens`, else the last token.

    Returns
    -------
    ScoredDocument
        Its metadata says under "adapter" what was left out.

    Raises
    ------
    ParameterError
        If an array has another shape or is not finite, the texts differ, or a span cuts a token.
    """
    refuse_undistributed(result)
    for name in ("coref_logit", "char_map", "text"):
        if not hasattr(result, name):
            raise ParameterError(f"result must be a CorefResult of fastcoref, with {name}, got {type(result).__name__}")
    scores = float_matrix("coref_logit", result.coref_logit)
    n_rows = scores.shape[0]
    if scores.shape[1] != n_rows + 1:
        raise ParameterError(
            f"coref_logit must have one column more than rows, the last for NEW, got shape {scores.shape}"
        )
    if is_masked(scores[:, n_rows]).any():
        row = int(np.flatnonzero(is_masked(scores[:, n_rows]))[0])
        raise ParameterError(f"coref_logit[{row}] must end with the score of NEW, got {scores[row, n_rows]}")
    links = Links.from_square("coref_logit", scores[:, :n_rows], scores[:, n_rows])
    rows, characters = _mapped_rows(result.char_map, n_rows)
    found, token_spans, kept = _placed(result.text, tokens, offsets, characters, alignment)
    spans = np.zeros((n_rows, 2), np.int64)
    spans[rows] = token_spans
    is_kept = np.zeros(n_rows, bool)
    is_kept[rows] = kept
    return assemble(
        "fastcoref",
        links,
        Spans(spans[:, 0], spans[:, 1], given_heads(heads, n_rows, "row"), is_kept),
        Description(doc_id, date, found, metadata),
    )


def _mapped_rows(char_map: Mapping[Any, Any], n_rows: int) -> tuple[Ints, Ints]:
    """Rows that stand for a span, ascending, and their characters; padding and special tokens map to None."""
    found = {}
    for span, (row, characters) in char_map.items():
        if row is None or characters is None:
            continue
        if not 0 <= row < n_rows or row in found:
            rule = f"lead to a row of coref_logit (0 to {n_rows - 1}), each once"
            raise ParameterError(f"char_map[{_shown(span)}] must {rule}, got {row}")
        found[int(row)] = characters
    rows = np.array(sorted(found), np.int64)
    return rows, int_matrix("char_map", [[int(c) for c in found[row]] for row in rows.tolist()], 2)


def _shown(span: Any) -> str:
    return str(tuple(int(piece) for piece in span))


def _placed(
    text: Any, tokens: Any, offsets: Any, characters: Ints, alignment: str
) -> tuple[Tokens | None, Ints, npt.NDArray[np.bool_]]:
    """Tokens of the document, and the spans' offsets among them."""
    _checks.choice("alignment", alignment, ALIGNMENTS)
    words = None if isinstance(text, str) else [str(word) for word in text]
    if is_spacy_doc(tokens):
        if words is None and tokens.text != text:
            raise ParameterError(
                f"tokens must be a Doc of the text fastcoref read ({_checks.shown(text)}), "
                f"got {_checks.shown(tokens.text)}"
            )
        if offsets is None and words is None:
            offsets = [(word.idx, word.idx + len(word.text)) for word in tokens]
        tokens = spacy_tokens(tokens)
    if tokens is not None and not isinstance(tokens, Tokens):
        raise ParameterError(f"tokens must be a spaCy Doc or Tokens, got {type(tokens).__name__}")
    if words is not None:
        if tokens is not None and list(tokens.text) != words:
            raise ParameterError(
                f"tokens must be the words fastcoref read ({_checks.shown(words)}), got {_checks.shown(tokens.text)}"
            )
        return tokens, characters, np.ones(characters.shape[0], bool)
    if offsets is None:
        raise ParameterError("tokens must be a spaCy Doc, or offsets given, as fastcoref read a text, got neither")
    bounds = int_matrix("offsets", offsets, 2)
    _check_offsets(bounds, tokens)
    starts, ends, kept = align(characters, bounds, "char_map span", alignment)
    return tokens, np.stack((starts, ends), axis=1), kept


def _check_offsets(bounds: Ints, tokens: Tokens | None) -> None:
    if tokens is not None and len(tokens) != bounds.shape[0]:
        raise ParameterError(f"offsets must have one pair a token ({len(tokens)}), got {bounds.shape[0]}")
    before = np.concatenate(([0], bounds[:-1, 1]))
    bad = np.flatnonzero((bounds[:, 0] < before[: bounds.shape[0]]) | (bounds[:, 1] <= bounds[:, 0]))
    if bad.size:
        t = bad[0]
        rule = "begin where the token before ends, or later, and hold a character"
        raise ParameterError(f"offsets[{t}] must {rule}, got {bounds[t].tolist()} after {before[t]}")
