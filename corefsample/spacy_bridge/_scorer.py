"""Scores of a component's clusterings against annotated Docs, as `nlp.evaluate` asks for them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

import corefsample as cs
from corefsample.errors import ParameterError
from corefsample.spacy_bridge._posterior import posterior_of
from corefsample.spacy_bridge._state import KEY, content_of

if TYPE_CHECKING:
    import numpy.typing as npt
    from spacy.tokens import Doc, Span
    from spacy.training import Example

    from corefsample.metrics._scores import ClusteringScores, ScoreSamples

_PARTS = {"p": "precision", "r": "recall", "f": "f1"}
_FEWEST_SAMPLES = 2


def scores_of_examples(examples: Iterable[Example], *, spans_key: str) -> dict[str, float | None]:
    """Score the likeliest antecedents' clusterings, and the posterior of the CoNLL average.

    The annotated entities of an example are the groups ``reference.spans[f"{spans_key}_clusters_..."]``. Spans are the
    same if they have the same characters, ignoring whitespace. Entities of one mention do not count, because groups do
    not contain them.

    Parameters
    ----------
    examples
        Examples whose `predicted` is a scored Doc.
    spans_key
        Prefix of the names of the groups of spans, and of the names of the scores.

    Returns
    -------
    dict
        For spans_key "coref": coref_p, coref_r and coref_f of the CoNLL average, coref_muc_p and so on of each metric,
        all from the summed counts of the corpus; coref_f_mean, coref_f_lower and coref_f_upper, the posterior mean of
        coref_f and its 95% credible interval. All are None if no example is annotated, and the last three if fewer than
        2 samples are drawn.

    Raises
    ------
    ParameterError
        If the predicted Doc of an example is not scored.
    """
    prefix = f"{spans_key}_clusters_"
    examples = list(examples)
    if not any(name.startswith(prefix) for example in examples for name in example.reference.spans):
        examples = []
    documents: list[ClusteringScores] = []
    posteriors: list[ScoreSamples] = []
    doc_ids: set[str] = set()
    for number, example in enumerate(examples):
        if KEY not in example.predicted.user_data:
            rule = "must have scored Docs as predicted"
            raise ParameterError(f"{rule}, got one without a posterior at place {number}", parameter="examples")
        posterior = posterior_of(example.predicted)
        entities = [group for name, group in example.reference.spans.items() if name.startswith(prefix)]
        labels = [entity for entity, group in enumerate(entities) for _ in group]
        key_spans = _offsets(example.reference, [span for group in entities for span in group])
        own_spans = _offsets(example.predicted, posterior.mentions)
        documents.append(
            cs.clustering_scores(
                labels, posterior.labels("map"), key_spans=key_spans, response_spans=own_spans, singletons=False
            )
        )
        if posterior.n_samples >= _FEWEST_SAMPLES:
            # Samples of equal texts must be independent.
            is_repeated = posterior.doc_id in doc_ids
            state = content_of(example.predicted)
            samples = state.sampled(f"{posterior.doc_id} {number}") if is_repeated else state.samples
            doc_ids.add(posterior.doc_id)
            posteriors.append(
                cs.metric_posterior(labels, samples, singletons=False, gold_spans=key_spans, response_spans=own_spans)
            )
    return {f"{spans_key}_{name}": value for name, value in _values(documents, posteriors).items()}


def _values(documents: list[ClusteringScores], posteriors: list[ScoreSamples]) -> dict[str, float | None]:
    """Scores by their names without the prefix; None without documents."""
    from corefsample.metrics._metric_counts import METRICS
    from corefsample.metrics._scores import corpus_posterior, corpus_scores

    corpus = corpus_scores(documents).corpus if documents else None
    posterior = corpus_posterior(posteriors).corpus if posteriors else None
    scores: dict[str, float | None] = {}
    for metric in ("conll", *METRICS):
        for short, measure in _PARTS.items():
            name = short if metric == "conll" else f"{metric}_{short}"
            scores[name] = None if corpus is None else float(getattr(getattr(corpus, metric), measure))
    return scores | {
        f"f_{name}": None if posterior is None else getattr(posterior, name) for name in ("mean", "lower", "upper")
    }


def _offsets(doc: Doc, spans: Iterable[Span]) -> npt.NDArray[np.int64]:
    """Start and end of spans in characters that are not whitespace, which tokenisers cannot change; (n, 2)."""
    before = np.zeros(len(doc.text) + 1, np.int64)
    np.cumsum([not character.isspace() for character in doc.text], out=before[1:])
    rows: list[Any] = [(before[span.start_char], before[span.end_char]) for span in spans]
    return np.array(rows, np.int64).reshape(-1, 2)
