"""Scores of spacy-experimental's ``experimental_coref`` component as a scored document."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

import numpy as np

from corefsample.adapters._assembly import Links, Spans, assemble, is_spacy_doc, pair, spacy_tokens
from corefsample.documents._scored import ScoredDocument
from corefsample.errors import ParameterError


def from_spacy_experimental(
    doc: Any,
    prediction: Any,
    *,
    doc_id: str,
    spans: Mapping[int, tuple[int, int]] | None = None,
    date: datetime.date | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> ScoredDocument:
    """Convert a prediction of spacy-experimental's component to a scored document.

    The model links words, each a possible head of a mention, so NEW also means "not a mention", and most rows of the
    document are not mentions: `corefsample.adapters.drop_unlinked` removes those.

    Parameters
    ----------
    doc
        The spaCy Doc that was scored; its words and parse become the document's tokens.
    prediction
        ``nlp.get_pipe("experimental_coref").model.predict([doc])``: scores of shape (n_tokens, k + 1) with the dummy
        (NEW, 1e-7) in the first column, and the antecedents' tokens of shape (n_tokens, k), unsorted. None for a Doc
        of fewer than two tokens, which the component does not score.
    doc_id
        Id of the document, not empty.
    spans
        Mentions as a mapping from the index of the head token to the indices of the first token and of the token past
        the last, such as ``{3: (1, 5)}``; ``experimental_span_resolver`` predicts them. Every other token is a mention
        of one token, and by default all tokens are.
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
        If an array has another shape, a score is NaN or +inf, or a span does not contain its head.
    """
    if not is_spacy_doc(doc):
        raise ParameterError(f"must be a spaCy Doc, got {type(doc).__name__}", parameter="doc")
    tokens = spacy_tokens(doc)
    if prediction is None and len(tokens) < 2:
        prediction = np.zeros((len(tokens), 1)), np.zeros((len(tokens), 0), np.int64)
    links = Links.from_new_first(*pair(prediction, "prediction"), len(tokens), "token")
    word_spans = Spans.of_words(len(tokens), spans)
    return assemble("spacy-experimental", links, word_spans, doc_id=doc_id, tokens=tokens, date=date, metadata=metadata)
