"""Scores of Stanza's coreference model: hooks that record what its pipeline discards, and the scored document."""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from corefsample._arrays import Floats, Ints
from corefsample.adapters._assembly import Links, Spans, assemble, float_matrix, int_matrix, pair, stanza_tokens
from corefsample.documents._scored import ScoredDocument
from corefsample.errors import ParameterError


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
    model = _model(source)
    records: list[StanzaScores] = []
    antecedents: list[Any] = []
    has_own_run, original = "run" in vars(model), model.run

    def keep_antecedents(_module: Any, _inputs: Any, output: Any) -> None:
        antecedents[:] = [output[1]]

    def run(*args: Any, **options: Any) -> Any:
        antecedents.clear()
        result = original(*args, **options)
        records.append(_record(result, antecedents))
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


def _model(source: Any) -> Any:
    processor = getattr(source, "processors", {}).get("coref", source)
    model = getattr(processor, "_model", processor)
    if not hasattr(model, "rough_scorer"):
        rule = "must be a Stanza pipeline with the processor coref, that processor or its model"
        raise ParameterError(f"{rule}, got {type(source).__name__}", parameter="source")
    return model


def _record(result: Any, antecedents: list[Any]) -> StanzaScores:
    """Copy the scores off the model's device, so that its graph can be freed."""
    spans = {
        int(head): (int(span[0]), int(span[1]))
        for heads, cluster in zip(result.word_clusters or (), result.span_clusters or (), strict=False)
        for head, span in zip(heads, cluster, strict=True)
    }
    return StanzaScores(float_matrix("scores", result.coref_scores), int_matrix("antecedents", antecedents[0]), spans)


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
    tokens = stanza_tokens(document)
    links = Links.from_new_first(*pair(scores, "scores"), len(tokens), "token", n_new=(1, 2))
    word_spans = Spans.of_words(len(tokens), spans)
    return assemble("stanza", links, word_spans, doc_id=doc_id, tokens=tokens, date=date, metadata=metadata)
