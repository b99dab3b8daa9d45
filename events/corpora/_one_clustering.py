"""Documents with the entities of one clustering: writing them to annotated formats, and scoring them against gold."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal

import numpy as np

from corefsample import ScoredDocument, write_conll2012, write_corefud
from corefsample._arrays import Floats, Ints32
from corefsample.coreference._clusterings import ClusteringSamples, map_clustering, sample_clusterings
from corefsample.documents._annotated import AnnotatedDocument
from corefsample.documents._tokens import Tokens, span_head
from corefsample.errors import InputError, ParameterError, ParameterHint, shown
from corefsample.files._paths import PathLike
from corefsample.formats.scored._writing import QuarantineFile
from corefsample.metrics import _metric_counts as metric_counts
from corefsample.metrics._scores import ClusteringScores, ScoreSamples, clustering_scores, metric_posterior
from corefsample.summaries._expected_losses import MARGINAL, SCORES, SummaryInput, estimate_of
from events._options import Progress
from events.corpora._document_inputs import ANNOTATED, DocumentInputs, output_kind, reject

Match = Literal["span", "head"]
LabelsOf = Callable[[ScoredDocument], Ints32]
GoldMentions = tuple[Any, Sequence[int | str | None], Tokens | None]  # mentions, entities, tokens


def write_annotated(
    inputs: PathLike | Iterable[PathLike],
    path: str,
    *,
    clustering: str | None = None,
    seed: int = 0,
    singletons: bool = True,
    on_rejected: QuarantineFile | None = None,
    on_progress: Progress | None = None,
) -> tuple[int, Counter[str], Counter[str]]:
    """Write documents to a file in CorefUD or CoNLL-2012, by its ending; an existing file is replaced.

    Parameters
    ----------
    inputs
        Paths or globs of files of scored mentions, CoNLL-U (CorefUD) or CoNLL-2012, or "-" for standard input.
    path
        Path of the file to write; its ending determines the format.
    clustering
        Entities of scored documents: "gold" or None for the annotated entities; "map" for those of each mention's
        likeliest antecedent; "sample" for one sampled clustering; or a loss of
        `corefsample.summaries.point_estimate`, for the clustering with the smallest expected loss.
    seed
        Seed of the sampled clustering or of the samples behind an estimate.
    singletons
        Whether entities of one mention are written.
    on_rejected, on_progress
        Function that is called with each invalid document, which is then left out (by default, it raises an error);
        and function that is called as documents are written.

    Returns
    -------
    int
        Number of documents written.
    Counter, Counter
        Numbers of mentions that were lost when the inputs were read, and when the output was written, by reason.

    Raises
    ------
    InputError, ParameterError
        If a document is invalid and `on_rejected` is None, if the inputs have no document, or if they lack the scores
        that `clustering` needs.
    """
    documents = DocumentInputs(inputs)
    documents.require_mentions()
    annotated = documents.first_of(*ANNOTATED)
    if annotated is not None and clustering not in (None, "gold"):
        rule = f"must be gold for annotated documents, which have no scores ({annotated})"
        raise ParameterError(f"{rule}, got {clustering!r}", parameter="clustering")
    skipped: Counter[str] = Counter()
    labels_of = None
    if clustering not in (None, "gold"):
        labels_of = clustering_of(documents.paths, str(clustering), seed, singletons=singletons)

    def with_entities() -> Iterator[AnnotatedDocument]:
        n_documents = 0
        for item in documents.accepted(on_rejected):
            document: Any = item.document
            try:
                if isinstance(document, ScoredDocument):
                    if labels_of is None and document.gold is None:
                        hint = ParameterHint("clustering", "can be map or sample")
                        raise ParameterError("gold is required to write gold entities", hint=hint)
                    document = AnnotatedDocument.from_scored(document, labels_of and labels_of(document))
                    skipped.update(document.skipped)
            except ParameterError as error:
                reject(item.rejected(error), on_rejected)
                continue
            n_documents += 1
            yield document
            if on_progress is not None:
                on_progress(documents.bytes_read, documents.total_bytes, n_documents)
        if not n_documents:
            raise InputError("a corpus must have at least one document, got none", place=", ".join(documents.paths))

    write = write_conll2012 if output_kind(path) == "conll2012" else write_corefud
    try:
        written = write(with_entities(), path, singletons=singletons, overwrite=True)
    except ParameterError as error:  # the options are valid, so the fault is in a document
        raise error.as_input_error(", ".join(documents.paths)) from None
    return written.n_documents, skipped + documents.skipped, written.left_out


def clustering_of(paths: Sequence[str], clustering: str, seed: int, *, singletons: bool) -> LabelsOf:
    """Function that returns the labels of one clustering of a document of some files.

    "map" is that of the likeliest antecedents, "sample" one sample, and another name that of the smallest expected loss
    of this name; losses that are scores are those with or without entities of one mention. "conll" is the loss of the
    score of all files together, because that is what scorers compute: the best score of a document is not the best
    contribution to the score of a corpus, where few errors in one document make up for more in another.

    Raises
    ------
    ParameterError
        If "conll" is the loss of standard input, which cannot be read twice.
    """
    if clustering == "map":
        return lambda document: map_clustering(document.antecedents)
    if clustering == "sample":
        return lambda document: _samples(document, seed, n_samples=1).labels[0]
    loss: Any = clustering
    counted = singletons or loss not in SCORES
    corpus = _expected_counts(paths, seed, singletons=singletons) if loss == "conll" else None

    def labels_of(document: ScoredDocument) -> Ints32:
        samples = None if loss in MARGINAL else _samples(document, seed)
        return estimate_of(SummaryInput(document.antecedents, samples, singletons=counted, corpus=corpus), loss).labels

    return labels_of


def _samples(document: ScoredDocument, seed: int, *, n_samples: int = 1000) -> ClusteringSamples:
    return sample_clusterings(document.antecedents, n_samples=n_samples, seed=seed, doc_id=document.doc_id)


def _expected_counts(paths: Sequence[str], seed: int, *, singletons: bool) -> metric_counts.Counts | None:
    """Counts of the CoNLL score that a corpus's likeliest antecedents are expected to have; None if one is 0."""
    if "-" in paths:
        rule = "must not be conll for standard input, which cannot be read twice"
        raise ParameterError(rule, parameter="clustering", hint="write the documents to a file")
    metrics = metric_counts.CONLL
    totals: dict[str, Floats] = dict.fromkeys(metrics, np.zeros(4))
    for item in DocumentInputs(paths, on_crossing_sentences="keep").accepted(lambda _: None):
        if isinstance(document := item.document, ScoredDocument):
            labels, samples = map_clustering(document.antecedents), _samples(document, seed).labels
            counts = metric_counts.counts_of("labels", labels, samples, singletons=singletons, metrics=metrics)
            totals = {metric: total + counts[metric].mean(axis=0) for metric, total in totals.items()}
    return totals if all(total.all() for total in totals.values()) else None


def gold_mentions(inputs: DocumentInputs) -> tuple[dict[str, GoldMentions], int]:
    """Read gold mentions by doc_id, and count the documents without gold.

    Raises
    ------
    InputError
        If a document is invalid, or no document has gold.
    """
    inputs.require_mentions()
    mentions, n_without = {}, 0
    for item in inputs.accepted(None):
        document: Any = item.document
        entities = document.entities if isinstance(document, AnnotatedDocument) else document.gold
        if entities is None:
            n_without += 1
        else:
            mentions[document.doc_id] = (document.mentions, entities, document.tokens)
    if not mentions:
        raise InputError("at least one document must have gold entities, got none", place=", ".join(inputs.paths))
    return mentions, n_without


class SystemScores:
    """Scores of a system's documents.

    Parameters
    ----------
    inputs, gold
        Files of the system, and what `gold_mentions` returned.
    match, clustering, singletons, level, seed
        See `events.commands.evaluate.EvaluateOptions`.
    n_samples
        Number of samples of the posterior that documents with antecedent scores get too; 0 for no posterior.
    on_progress
        Function that is called after each document.

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

    Raises
    ------
    InputError
        If a document is invalid, its words differ from those of its gold document, or no document is a gold document.
    """

    def __init__(
        self,
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
    ) -> None:
        inputs.require_mentions()
        by_document, self.posteriors = dict[str, ClusteringScores](), list[ScoreSamples]()
        self.n_missing = self.n_other = self.n_repeated = 0
        labels_of = clustering_of(inputs.paths, clustering, seed, singletons=singletons)

        def add(
            doc_id: str, entities: Any, labels: Any, spans: tuple[Any, Any], drawn: ClusteringSamples | None
        ) -> None:
            gold_spans, response_spans = spans
            scored: dict[str, Any] = {"response_spans": response_spans, "singletons": singletons}
            by_document[doc_id] = clustering_scores(entities, labels, key_spans=gold_spans, **scored)
            if drawn is not None:
                self.posteriors.append(metric_posterior(entities, drawn, level=level, gold_spans=gold_spans, **scored))

        for number, item in enumerate(inputs.accepted(None), start=1):
            document: Any = item.document
            if on_progress is not None:
                on_progress(inputs.bytes_read, inputs.total_bytes, number)
            if document.doc_id not in gold:
                self.n_other += 1
                continue
            gold_mentions, gold_entities, gold_tokens = gold[document.doc_id]
            _require_same_words(document, gold_tokens, item.source)
            drawn, mentions = None, document.mentions
            if isinstance(document, ScoredDocument):  # the entities differ by sample, so mentions stay in their order
                labels: Any = labels_of(document)
                drawn = _samples(document, seed, n_samples=n_samples) if n_samples else None
            else:
                order = metric_counts.reading_order(mentions, document.entities)
                labels, mentions = document.labels[order], mentions[order]
                order = metric_counts.reading_order(gold_mentions, gold_entities)
                gold_entities, gold_mentions = [gold_entities[i] for i in order], gold_mentions[order]
            spans = gold_mentions[:, :2], mentions[:, :2]
            if match == "head":
                heads: list[int] = [] if gold_tokens is None else gold_tokens.head.tolist()
                if max(heads, default=-1) >= 0:  # mentions have the heads that their spans have in the gold parse
                    rows = [(start, end, span_head(heads, start, end)) for start, end, _ in mentions.tolist()]
                    mentions = np.array(rows, np.int64).reshape(-1, 3)
                spans = metric_counts.spans_paired_by_head(gold_mentions, mentions)
            self.n_repeated += metric_counts.n_repeated_spans(*spans)
            add(document.doc_id, gold_entities, labels, spans, drawn)
        if not by_document:
            rule = f"a document must have the doc_id of a gold document, as {next(iter(gold))!r}"
            raise InputError(f"{rule}, got none of {self.n_other} documents", place=", ".join(inputs.paths))
        for doc_id in [each for each in gold if each not in by_document]:
            nothing = ClusteringSamples(np.zeros((n_samples, 0), np.int32), seed, doc_id) if self.posteriors else None
            gold_mentions, gold_entities, _ = gold[doc_id]
            add(doc_id, gold_entities, [], (gold_mentions[:, :2], np.zeros((0, 2), np.int64)), nothing)
            self.n_missing += 1
        self.by_document = {doc_id: by_document[doc_id] for doc_id in gold}


def _require_same_words(document: AnnotatedDocument | ScoredDocument, gold: Tokens | None, source: str) -> None:
    if document.tokens is None or gold is None:
        return
    location, rule = f"{source}: doc_id {document.doc_id!r}", "must have the words of its gold document"
    if len(document.tokens) != len(gold):
        raise InputError(f"{rule} ({len(gold)}), got {len(document.tokens)}", place=location)
    for t, (word, gold_word) in enumerate(zip(document.tokens.text, gold.text, strict=True)):
        if _written(word) != _written(gold_word):
            raise InputError(f"{rule}, tokens.text[{t}] {shown(gold_word)}, got {shown(word)}", place=location)


def _written(word: str) -> str:
    """Form of a word in CoNLL files, without blanks and never empty."""
    return re.sub(r"\s", "_", word) or "_"
