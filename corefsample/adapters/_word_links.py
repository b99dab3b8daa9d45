"""Scores of systems that link words: Stanza's coreference model, and spacy-experimental's component."""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from corefsample._arrays import Floats, Ints
from corefsample.adapters._links import Links, float_matrix, int_matrix
from corefsample.adapters._scored_mentions import is_spacy_doc, scored_document, spacy_tokens
from corefsample.documents._scored import ScoredDocument
from corefsample.documents._tokens import Tokens
from corefsample.errors import ParameterError, shown


@dataclass(frozen=True, slots=True, eq=False)
class StanzaScores:
    """Scores that Stanza's model computed for one document.

    Attributes
    ----------
    scores
        float64 (n_words, k + 1) or (n_words, k + 2): first one column for NEW, the dummy (1e-7), or two if the model
        predicts singletons: "begins an entity", then the dummy, "no mention". Then those of the antecedents.
    antecedents
        int64 (n_words, k): the antecedents' words, unsorted.
    spans
        For each head word in Stanza's own clusters, the first word of its mention and the one past the last.
    """

    scores: Floats
    antecedents: Ints
    spans: Mapping[int, tuple[int, int]]


@contextlib.contextmanager
def recorded_stanza_scores(source: Any) -> Iterator[list[StanzaScores]]:
    """Record the scores of every document that Stanza's model scores inside the ``with`` block.

    The pipeline keeps only clusters, and the model's result has the scores without their antecedents. So this hooks
    the model's rough scorer, which chooses the antecedents, and its ``run``; both hooks are removed at the end.

    Parameters
    ----------
    source
        A Stanza ``Pipeline`` with the processor coref, that processor, or its ``CorefModel``.

    Yields
    ------
    list of StanzaScores
        One for each document, in order. A document without words, which Stanza's model rejects, adds none.

    Examples
    --------
    ::

        with recorded_stanza_scores(nlp) as records:
            document = nlp(text)
        scored = from_stanza(document, records[0], doc_id="a")
    """
    processor = getattr(source, "processors", {}).get("coref", source)
    model = getattr(processor, "_model", processor)
    if not hasattr(model, "rough_scorer"):
        rule = "must be a Stanza pipeline with the processor coref, that processor or its model"
        raise ParameterError(f"{rule}, got {type(source).__name__}", parameter="source")
    records: list[StanzaScores] = []
    antecedents: list[Any] = []
    has_own_run, original = "run" in vars(model), model.run

    def keep_antecedents(_module: Any, _inputs: Any, output: Any) -> None:
        antecedents[:] = [output[1]]

    def run(*args: Any, **options: Any) -> Any:
        antecedents.clear()
        result = original(*args, **options)
        spans = {
            int(head): (int(span[0]), int(span[1]))
            for heads, cluster in zip(result.word_clusters or (), result.span_clusters or (), strict=False)
            for head, span in zip(heads, cluster, strict=True)
        }
        # Copied off the model's device, so that its graph can be freed.
        scores, indices = float_matrix("scores", result.coref_scores), int_matrix("antecedents", antecedents[0])
        records.append(StanzaScores(scores, indices, spans))
        return result

    handle = model.rough_scorer.register_forward_hook(keep_antecedents)
    model.run = run
    try:
        yield records
    finally:
        handle.remove()
        del model.run
        if has_own_run:
            model.run = original


def from_stanza(
    document: Any,
    scores: StanzaScores | Sequence[Any],
    *,
    doc_id: str,
    spans: Mapping[int, tuple[int, int]] | None = None,
    date: datetime.date | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> ScoredDocument:
    """Convert the scores of Stanza's model for one document to a scored document.

    The model links words, each a possible head of a mention. "Begins an entity" and "no mention" are both NEW here:
    their probabilities are summed. So most rows of the document are not mentions; `corefsample.adapters.drop_unlinked`
    removes those.

    Parameters
    ----------
    document
        The Stanza ``Document``; its words and parse become the document's tokens.
    scores
        A record of `recorded_stanza_scores`, or a pair of arrays: ``coref_scores``, and for each of its last k columns
        the word that is the antecedent, int (n_words, k). Before these columns, the scores have one for NEW, the dummy,
        so that their shape is (n_words, k + 1); or two, if the model predicts singletons: "begins an entity" and then
        the dummy, "no mention". An antecedent with a score of -5,000 or less, such as -inf, is masked: it is no
        candidate.
    doc_id
        Id of the document, not empty.
    spans
        Mentions as a mapping from the index of the head word to the indices of the first word and of the word past the
        last, such as ``{3: (1, 5)}``. Every other word is a mention of one word. By default, the mentions in the
        clusters that Stanza predicts, if `scores` is a record, and otherwise none.
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
        If an array has another shape than described, a score is NaN or +inf, or a span does not contain its head.
    """
    if not hasattr(document, "sentences"):
        raise ParameterError(f"must be a Stanza Document, got {type(document).__name__}", parameter="document")
    if isinstance(scores, StanzaScores):
        spans = scores.spans if spans is None else spans
        scores = scores.scores, scores.antecedents
    tokens = _stanza_tokens(document)
    return _word_document("stanza", "scores", scores, (1, 2), tokens, spans, doc_id, date, metadata)


def _stanza_tokens(document: Any) -> Tokens:
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
    return _word_document("spacy-experimental", "prediction", prediction, (1,), tokens, spans, doc_id, date, metadata)


def _word_document(
    system: str,
    name: str,
    scores: Any,
    n_new: tuple[int, ...],
    tokens: Tokens,
    spans: Mapping[int, tuple[int, int]] | None,
    doc_id: str,
    date: datetime.date | None,
    metadata: Mapping[str, Any] | None,
) -> ScoredDocument:
    """Document of words, each a mention: the span of the mention that it heads, if there is one, otherwise the word."""
    if not isinstance(scores, (tuple, list)) or len(scores) != 2:
        raise ParameterError(f"must be scores and antecedents, got {shown(scores)}", parameter=name)
    n_tokens = len(tokens)
    links = Links.from_new_first(scores[0], scores[1], n_tokens, "token", n_new=n_new)
    heads = np.arange(n_tokens, dtype=np.int64)
    bounds = np.stack((heads, heads + 1), axis=1)
    for head, (start, end) in (spans or {}).items():
        if not 0 <= start <= head < end <= n_tokens:
            rule = f"contain its head {head} and end by the last token ({n_tokens})"
            raise ParameterError(f"spans[{head}] must {rule}, got {start} to {end} (exclusive)")
        bounds[head] = start, end
    return scored_document(
        system, links, bounds, heads=heads, doc_id=doc_id, tokens=tokens, date=date, metadata=metadata
    )
