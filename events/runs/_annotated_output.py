"""Writing documents of any kind to annotated formats, with the entities of one clustering."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, cast

from corefsample._arrays import Ints32
from corefsample.coreference._clusterings import map_clustering, sample_clusterings
from corefsample.documents._annotated import AnnotatedDocument
from corefsample.documents._scored import ScoredDocument
from corefsample.errors import InputError, ParameterError, ParameterHint
from corefsample.files._paths import PathLike
from corefsample.formats.annotated._annotated_stream import OnUnwritable, kept_mentions
from corefsample.formats.annotated._conll2012 import write_conll2012
from corefsample.formats.annotated._corefud import write_corefud
from corefsample.formats.scored._writing import QuarantineFile
from corefsample.summaries import point_estimate
from corefsample.summaries._expected_losses import LOSSES, MARGINAL
from events._options import Progress
from events.runs._document_inputs import ANNOTATED, DocumentInputs, ReadDocument, output_kind, reject
from events.runs._engines import Engine


def write_annotated(
    inputs: PathLike | Iterable[PathLike],
    path: str,
    *,
    clustering: str | None = None,
    seed: int = 0,
    singletons: bool = True,
    entity_fields: str | None = None,
    on_unwritable: OnUnwritable = "refuse",
    workers: int | None = None,
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
    singletons, entity_fields, on_unwritable
        Whether entities of one mention are written, fields of ``Entity=``, and treatment of mentions that brackets
        cannot represent: see `corefsample.write_corefud`.
    workers
        Number of processes that compute the entities; by default, this process does.
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
    documents = DocumentInputs(inputs, entity_fields)
    text, annotated = documents.first_of("news"), documents.first_of(*ANNOTATED)
    if text is not None:
        rule = "text must be parsed and scored first"
        raise InputError(f"{rule}, got text", place=text, hint="`corefsample score` does both")
    if annotated is not None and clustering not in (None, "gold"):
        rule = f"must be gold for annotated documents, which have no scores ({annotated})"
        raise ParameterError(f"{rule}, got {clustering!r}", parameter="clustering")
    skipped: Counter[str] = Counter()

    def with_entities() -> Iterator[AnnotatedDocument]:
        n_documents = 0
        read = documents.accepted(on_rejected)
        for item, labels in Engine(workers).results(partial(_entities, clustering, seed), read):
            document: Any = item.document
            try:
                if isinstance(document, ScoredDocument):
                    document = _annotated(document, labels)
                    skipped.update(document.skipped)
                # The writer checks this again, but here the document can still be set aside.
                kept_mentions(document, singletons=True, on_unwritable=on_unwritable, left_out=Counter())
            except ParameterError as error:
                reject(item.rejected(error), on_rejected)
                continue
            n_documents += 1
            yield document
            if on_progress is not None:
                on_progress(documents.bytes_read, documents.total_bytes, n_documents)
        if not n_documents:
            raise InputError("a corpus must have at least one document, got none", place=", ".join(documents.paths))

    is_conll = output_kind(path) == "conll2012"
    write = write_conll2012 if is_conll else partial(write_corefud, entity_fields=entity_fields)
    try:
        written = write(with_entities(), path, singletons=singletons, on_unwritable=on_unwritable, overwrite=True)
    except ParameterError as error:  # the options are valid, so the fault is in a document
        raise error.as_input_error(", ".join(documents.paths)) from None
    return written.n_documents, skipped + documents.skipped, written.left_out


def labels_of(document: ScoredDocument, clustering: str, seed: int) -> Ints32:
    """Labels of one clustering of a scored document: "map", "sample", or the smallest expected loss of this name."""
    if clustering == "map":
        return map_clustering(document.antecedents)
    if clustering in LOSSES:
        loss: Any = clustering
        needed = loss not in MARGINAL
        samples = sample_clusterings(document.antecedents, seed=seed, doc_id=document.doc_id) if needed else None
        return point_estimate(document.antecedents, loss=loss, samples=samples).labels
    labels: Ints32 = sample_clusterings(document.antecedents, n_samples=1, seed=seed, doc_id=document.doc_id).labels[0]
    return labels


def clustered(document: ScoredDocument, clustering: str) -> AnnotatedDocument:
    """Annotate a scored document with the entities of one clustering: see `labels_of`."""
    return _annotated(document, labels_of(document, clustering, seed=0))


def _annotated(document: ScoredDocument, labels: Ints32 | None) -> AnnotatedDocument:
    """Annotate a scored document with the entities of labels, or with its gold entities if `labels` is None."""
    if labels is not None:
        # Annotations of the parse that refer to gold entities (bridging) do not belong to this clustering.
        return AnnotatedDocument.from_scored(document, labels).with_clustering(labels)
    if document.gold is None:
        hint = ParameterHint("clustering", "can be map or sample")
        raise ParameterError("gold is required to write gold entities", hint=hint)
    return AnnotatedDocument.from_scored(document)


def _entities(clustering: str | None, seed: int, item: ReadDocument) -> Ints32 | None:
    """Labels of a document's clustering; None if its gold entities are written, or if it has no scores."""
    is_gold = clustering in (None, "gold") or not isinstance(item.document, ScoredDocument)
    return None if is_gold else labels_of(cast("ScoredDocument", item.document), str(clustering), seed)
