"""Scores of spacy-experimental's ``experimental_coref`` component as a scored document."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

import numpy as np

from corefsample import _checks
from corefsample.adapters._arrays import Ints
from corefsample.adapters._assembly import Description, assemble
from corefsample.adapters._tokens import is_spacy_doc, spacy_tokens
from corefsample.adapters._word_scores import word_links, word_spans
from corefsample.adapters.refused import refuse_undistributed
from corefsample.documents import ScoredDocument
from corefsample.errors import ParameterError

__all__ = ["from_spacy_experimental"]


def from_spacy_experimental(
    doc: Any,
    prediction: Any,
    *,
    doc_id: str,
    spans: Mapping[int, tuple[int, int]] | None = None,
    date: datetime.date | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> ScoredDocument:
    """Take the scores out of a prediction of the component's model.

    The model links words, each a head that may stand for a mention, so NEW also means "not a mention", and most
    mentions of the document are none: `corefsample.adapters.drop_unlinked` leaves those out.

    Parameters
    ----------
    doc
        The spaCy Doc that was scored; its words and parse become the document's tokens.
    prediction
        ``nlp.get_pipe("experimental_coref").model.predict([doc])``: scores of shape (n_tokens, k + 1) with the dummy
        (NEW, 1e-7) in the first column, and the antecedents' tokens of shape (n_tokens, k), unsorted. None for a Doc
        of fewer than two tokens, which the component does not score either.
    doc_id, date, metadata
        Of the document.
    spans
        For head tokens whose mention is known, its first token and the one past the last, such as those of
        ``experimental_span_resolver``. Other words are mentions of one token.

    Returns
    -------
    ScoredDocument
        Its metadata says under "adapter" what was left out.

    Raises
    ------
    ParameterError
        If an array has another shape or is not finite, or a span does not hold its head.
    """
    refuse_undistributed(prediction)
    if not is_spacy_doc(doc):
        raise ParameterError(f"doc must be a spaCy Doc, got {type(doc).__name__}")
    tokens = spacy_tokens(doc)
    if prediction is None and len(tokens) < 2:
        empty: Ints = np.zeros((len(tokens), 0), np.int64)
        prediction = np.zeros((len(tokens), 1)), empty
    if not isinstance(prediction, (tuple, list)) or len(prediction) != 2:
        raise ParameterError(
            f"prediction must be scores and antecedents of model.predict, got {_checks.shown(prediction)}"
        )
    links = word_links(prediction[0], prediction[1], len(tokens), n_new=(1,))
    return assemble(
        "spacy-experimental",
        links,
        word_spans(len(tokens), spans),
        Description(doc_id, date, tokens, metadata),
    )
