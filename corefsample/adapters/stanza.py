"""Scores of Stanza's coreference model: a hook that keeps what its pipeline throws away, and the scored document."""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from corefsample import _checks
from corefsample.adapters._arrays import Floats, Ints, float_matrix, int_matrix
from corefsample.adapters._assembly import Description, assemble
from corefsample.adapters._tokens import stanza_tokens
from corefsample.adapters._word_scores import word_links, word_spans
from corefsample.adapters.refused import refuse_undistributed
from corefsample.documents import ScoredDocument
from corefsample.errors import ParameterError

__all__ = ["StanzaScores", "from_stanza", "recorded_stanza_scores"]


@dataclass(frozen=True, slots=True, eq=False)
class StanzaScores:
    """What Stanza's model computed for one document.

    Attributes
    ----------
    scores
        float64 (n_words, k + 1) or (n_words, k + 2): in front one column for NEW, the dummy (1e-7), or two, where the
        model predicts singletons: "begins an entity", then the dummy, "no mention". Then the antecedents'.
    antecedents
        int64 (n_words, k): the antecedents' words, unsorted.
    spans
        For each head word that Stanza's own answer clustered, its first word and the one past the last.
    """

    scores: Floats
    antecedents: Ints
    spans: Mapping[int, tuple[int, int]]


@contextlib.contextmanager
def recorded_stanza_scores(source: Any) -> Iterator[list[StanzaScores]]:
    """Keep the scores of every document that Stanza's model meets inside the ``with``.

    The pipeline keeps clusters alone, and the model's result has the scores without the antecedents they are of. So
    this hooks the model's rough scorer, which chooses them, and its ``run``; both hooks go at the end.

    Parameters
    ----------
    source
        A Stanza ``Pipeline`` with the processor coref, that processor, or its ``CorefModel``.

    Yields
    ------
    list of StanzaScores
        Grows by one for each document, in order. A document without words that Stanza's model refuses adds none.

    Examples
    --------
    ::

        with recorded_stanza_scores(nlp) as records:
            document = nlp(text)
        scored = from_stanza(document, records[0], doc_id="a")
    """
    model = _model(source)
    records: list[StanzaScores] = []
    chosen: list[Any] = []
    had_own = "run" in vars(model)
    original = model.run

    def keep_antecedents(_module: Any, _inputs: Any, output: Any) -> None:
        chosen[:] = [output[1]]

    def run(*args: Any, **options: Any) -> Any:
        chosen.clear()
        result = original(*args, **options)
        records.append(_record(result, chosen))
        return result

    handle = model.rough_scorer.register_forward_hook(keep_antecedents)
    model.run = run
    try:
        yield records
    finally:
        handle.remove()
        if had_own:
            model.run = original
        else:
            del model.run


def _model(source: Any) -> Any:
    processors = getattr(source, "processors", None)
    if processors is not None:
        if "coref" not in processors:
            raise ParameterError(f"source must have the processor coref, got {_checks.shown(sorted(processors))}")
        source = processors["coref"]
    model = getattr(source, "_model", source)
    if not hasattr(model, "rough_scorer") or not hasattr(model, "run"):
        raise ParameterError(
            f"source must be a Stanza pipeline, its coref processor or model, got {type(source).__name__}"
        )
    return model


def _record(result: Any, chosen: list[Any]) -> StanzaScores:
    """Copy what is needed off the model's device, so that its graph can go."""
    if not chosen:
        raise ParameterError("source must score antecedents by its rough_scorer, got a run without")
    spans = {
        int(head): (int(span[0]), int(span[1]))
        for heads, cluster in zip(result.word_clusters or (), result.span_clusters or (), strict=False)
        for head, span in zip(heads, cluster, strict=True)
    }
    scores = float_matrix("scores", result.coref_scores)
    return StanzaScores(scores, int_matrix("antecedents", chosen[0]), spans)


def from_stanza(
    document: Any,
    scores: StanzaScores | Sequence[Any],
    *,
    doc_id: str,
    spans: Mapping[int, tuple[int, int]] | None = None,
    date: datetime.date | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> ScoredDocument:
    """Take the scores of one document out of Stanza's model.

    The model links words, each a head that may stand for a mention. "Begins an entity" and "no mention" are both NEW
    here: their probabilities add up. So most mentions of the document are none; `corefsample.adapters.drop_unlinked`
    leaves those out.

    Parameters
    ----------
    document
        The Stanza ``Document``; its words and parse become the document's tokens.
    scores
        What `recorded_stanza_scores` kept, or a pair of arrays: ``coref_scores`` and the antecedents.
    doc_id, date, metadata
        Of the document.
    spans
        For head words whose mention is known, its first word and the one past the last. By default those of Stanza's
        own answer. Other words are mentions of one token.

    Returns
    -------
    ScoredDocument
        Its metadata says under "adapter" what was left out.

    Raises
    ------
    ParameterError
        If an array has another shape or is not finite, or a span does not hold its head.
    """
    refuse_undistributed(scores)
    if not hasattr(document, "sentences"):
        raise ParameterError(f"document must be a Stanza Document, got {type(document).__name__}")
    if isinstance(scores, StanzaScores):
        values, antecedents = scores.scores, scores.antecedents
        spans = scores.spans if spans is None else spans
    elif isinstance(scores, (tuple, list)) and len(scores) == 2:
        values, antecedents = scores
    else:
        raise ParameterError(f"scores must be StanzaScores or scores and antecedents, got {_checks.shown(scores)}")
    tokens = stanza_tokens(document)
    links = word_links(values, antecedents, len(tokens), n_new=(1, 2))
    return assemble("stanza", links, word_spans(len(tokens), spans), Description(doc_id, date, tokens, metadata))
