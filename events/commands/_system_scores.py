"""Alignment of a system's documents with gold documents, mention by mention, and their scores."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from corefsample._arrays import Ints
from corefsample._checks import shown
from corefsample.coreference._clusterings import ClusteringSamples, sample_clusterings
from corefsample.documents._annotated import AnnotatedDocument
from corefsample.documents._scored import ScoredDocument
from corefsample.documents._tokens import Tokens, span_head
from corefsample.errors import InputError
from corefsample.metrics._scores import ClusteringScores, ScoreSamples, clustering_scores, metric_posterior
from events._options import Progress
from events.runs._annotated_output import labels_of
from events.runs._document_inputs import DocumentInputs

Match = Literal["span", "head"]
Entities = Sequence[int | str | None]


@dataclass(frozen=True, slots=True, eq=False)
class GoldMentions:
    """Mentions of a gold document: spans and heads int32 (n_mentions, 3), entities, and tokens (None without them)."""

    mentions: Any
    entities: Entities
    tokens: Tokens | None


@dataclass(slots=True)
class SystemScores:
    """Scores of a system's documents.

    Attributes
    ----------
    by_document
        Scores of every gold document by its doc_id, in the order of the gold file.
    posteriors
        Posterior of the CoNLL average of each gold document; empty if the system has no antecedent scores.
    n_missing
        Number of gold documents that the system lacks; they count as documents without entities.
    n_other
        Number of documents of the system that are not in gold; they are left out.
    n_repeated
        Number of mentions of the system that repeat a span; they are removed.
    """

    by_document: dict[str, ClusteringScores]
    posteriors: list[ScoreSamples] = field(default_factory=list)
    n_missing: int = 0
    n_other: int = 0
    n_repeated: int = 0


def gold_mentions(inputs: DocumentInputs) -> tuple[dict[str, GoldMentions], int]:
    """Read gold mentions by doc_id, and count the documents without gold.

    Raises
    ------
    InputError
        If a document is invalid, or no document has gold.
    """
    _require_mentions(inputs)
    mentions, n_without = {}, 0
    for item in inputs.accepted(None):
        document: Any = item.document
        entities = document.entities if isinstance(document, AnnotatedDocument) else document.gold
        if entities is None:
            n_without += 1
        else:
            mentions[document.doc_id] = GoldMentions(document.mentions, entities, document.tokens)
    if not mentions:
        raise InputError("at least one document must have gold entities, got none", place=", ".join(inputs.paths))
    return mentions, n_without


def system_scores(
    inputs: DocumentInputs,
    gold: dict[str, GoldMentions],
    *,
    match: Match,
    clustering: str,
    singletons: bool,
    n_samples: int,
    level: float,
    seed: int,
    on_progress: Progress | None = None,
) -> SystemScores:
    """Score the documents of a system; documents with antecedent scores also get a posterior if `n_samples` is not 0.

    Raises
    ------
    InputError
        If a document is invalid, its words differ from those of its gold document, or no document is a gold document.
    """
    _require_mentions(inputs)
    by_document: dict[str, ClusteringScores] = {}
    scores = SystemScores({})

    def add(doc_id: str, labels: Any, gold_spans: Any, response_spans: Any, drawn: ClusteringSamples | None) -> None:
        entities = gold[doc_id].entities
        scored: dict[str, Any] = {"response_spans": response_spans, "singletons": singletons}
        by_document[doc_id] = clustering_scores(entities, labels, key_spans=gold_spans, **scored)
        if drawn is not None:
            scores.posteriors.append(metric_posterior(entities, drawn, level=level, gold_spans=gold_spans, **scored))

    for number, item in enumerate(inputs.accepted(None), start=1):
        document: Any = item.document
        if on_progress is not None:
            on_progress(inputs.bytes_read, inputs.total_bytes, number)
        if document.doc_id not in gold:
            scores.n_other += 1
            continue
        key = gold[document.doc_id]
        _require_same_words(document, key, item.source)
        drawn = None
        if isinstance(document, ScoredDocument):
            labels: Any = labels_of(document, clustering, seed)
            order = np.arange(document.n_mentions)
            if n_samples:
                drawn = sample_clusterings(document.antecedents, n_samples=n_samples, seed=seed, doc_id=document.doc_id)
        else:
            labels = document.labels
            order = _by_entity(document)
        spans = key.mentions[:, :2], document.mentions[order, :2]
        if match == "head":
            spans = _paired_by_head(key, document.mentions[order])
        scores.n_repeated += _n_repeated(*spans)
        add(document.doc_id, labels[order], *spans, drawn)
    if not by_document:
        rule = f"a document must have the doc_id of a gold document, as {next(iter(gold))!r}"
        raise InputError(f"{rule}, got none of {scores.n_other} documents", place=", ".join(inputs.paths))
    for doc_id in [each for each in gold if each not in by_document]:
        nothing = ClusteringSamples(np.zeros((n_samples, 0), np.int32), seed, doc_id) if scores.posteriors else None
        add(doc_id, [], gold[doc_id].mentions[:, :2], np.zeros((0, 2), np.int64), nothing)
        scores.n_missing += 1
    scores.by_document = {doc_id: by_document[doc_id] for doc_id in gold}
    return scores


def _require_mentions(inputs: DocumentInputs) -> None:
    text = inputs.first_of("news")
    if text is not None:
        hint = "`corefsample score` finds and scores mentions"
        raise InputError("documents must have mentions, got text", place=text, hint=hint)


def _require_same_words(document: AnnotatedDocument | ScoredDocument, gold: GoldMentions, source: str) -> None:
    if document.tokens is None or gold.tokens is None:
        return
    location, rule = f"{source}: doc_id {document.doc_id!r}", "must have the words of its gold document"
    if len(document.tokens) != len(gold.tokens):
        raise InputError(f"{rule} ({len(gold.tokens)}), got {len(document.tokens)}", place=location)
    for t, (word, gold_word) in enumerate(zip(document.tokens.text, gold.tokens.text, strict=True)):
        if _written(word) != _written(gold_word):
            raise InputError(f"{rule}, tokens.text[{t}] {shown(gold_word)}, got {shown(word)}", place=location)


def _written(word: str) -> str:
    """Form of a word in CoNLL files, without blanks and never empty."""
    return re.sub(r"\s", "_", word) or "_"


def _by_entity(document: AnnotatedDocument) -> Ints:
    """Mentions entity by entity, in the order in which the reference scorer reads them: int64 (n_mentions,).

    Entities are sorted by their first bracket; among brackets at one word, mentions of one word come first. The order
    determines which of two mentions with the same span is removed.
    """
    starts, ends = document.mentions[:, 0], document.mentions[:, 1]
    reading = np.lexsort((np.arange(document.n_mentions), ends - starts > 1, starts))
    ranks: dict[str, int] = {}
    for i in reading.tolist():
        ranks.setdefault(document.entities[i], len(ranks))
    entities = np.array([ranks[entity] for entity in document.entities], np.int64)
    return np.lexsort((np.argsort(reading), entities)).astype(np.int64)


def _n_repeated(gold_spans: Any, response_spans: Any) -> int:
    allowed = Counter(map(tuple, gold_spans.tolist()))
    counts = Counter(map(tuple, response_spans.tolist()))
    return sum(max(number - max(allowed[span], 1), 0) for span, number in counts.items())


def _paired_by_head(gold: GoldMentions, mentions: Any) -> tuple[Any, Any]:
    """Make spans of gold mentions and of a system's mentions that are equal if the mentions match by their heads.

    Equal spans match first. Other mentions match one to one if they have the same head; of several candidates, those
    with the most words in common match. The head of a system's mention is determined in the gold parse, if there is
    one.
    """
    parse: list[int] = [] if gold.tokens is None else gold.tokens.head.tolist()
    is_parsed = max(parse, default=-1) >= 0
    response_mentions = [
        (start, end, span_head(parse, start, end) if is_parsed else head) for start, end, head in mentions.tolist()
    ]
    free = dict(enumerate(map(tuple, gold.mentions.tolist())))
    n_gold = len(free)
    same_span: dict[tuple[int, int], list[int]] = {}
    for g, (start, end, _) in free.items():
        same_span.setdefault((start, end), []).append(g)
    partner: dict[int, int] = {}
    first_with_span: dict[tuple[int, int], int] = {}
    repeated: dict[int, int] = {}  # first mention with the span of a repeated mention
    for r, (start, end, _) in enumerate(response_mentions):
        if same_span.get((start, end)):
            partner[r] = same_span[start, end].pop(0)
            del free[partner[r]]
        elif first_with_span.setdefault((start, end), r) != r:
            repeated[r] = first_with_span[start, end]
        first_with_span.setdefault((start, end), r)
    by_head: dict[int, list[int]] = {}
    for g, (_, _, head) in free.items():
        by_head.setdefault(head, []).append(g)
    candidates = [
        (max(start, free[g][0]) - min(end, free[g][1]), g, r)  # minus the number of words in common
        for r, (start, end, head) in enumerate(response_mentions)
        if r not in partner and r not in repeated
        for g in by_head.get(head, [])
    ]
    for _, g, r in sorted(candidates):
        if g in free and r not in partner:
            partner[r] = g
            del free[g]
    first_mentions = [repeated.get(r, r) for r in range(len(response_mentions))]
    response = np.array([partner.get(mention, n_gold + mention) for mention in first_mentions], np.int64)
    return _as_spans(np.arange(n_gold)), _as_spans(response)


def _as_spans(ids: Ints) -> Ints:
    return np.stack([ids, ids + 1], axis=1)
