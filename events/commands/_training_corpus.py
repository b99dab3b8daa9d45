"""Reading the documents of annotated corpora that a model is trained on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from corefsample.documents import Rejected
from corefsample.errors import InputError, ParameterError
from corefsample.files import PathLike
from corefsample.formats import QuarantineFile
from corefsample.mention_ranking import MentionDocument, gold_entities
from corefsample.syntax import neutral_parse
from events.commands._training_selection import Selection
from events.runs._document_inputs import DocumentInputs, ReadDocument, reject
from events.runs._progress import Progress


@dataclass(frozen=True, slots=True)
class Corpus:
    """The selected documents of annotated files.

    Attributes
    ----------
    paths
        The files.
    documents
        Selected documents with annotated entities, in order.
    n_without_gold, n_not_selected
        Number of documents left out: without annotated entities; by the conditions.
    skipped
        Mentions that are in no document, counted by reason.
    """

    paths: list[str]
    documents: list[MentionDocument]
    n_without_gold: int
    n_not_selected: int
    skipped: Counter[str]


NO_CORPUS = Corpus([], [], 0, 0, Counter())


def annotated_inputs(inputs: PathLike | Iterable[PathLike], entity_fields: str | None) -> DocumentInputs:
    """Return the documents of annotated files, not yet read.

    Raises
    ------
    InputError
        If a file is missing, has another ending, or contains text.
    """
    documents = DocumentInputs(inputs, entity_fields=entity_fields)
    text = documents.first_of("news")
    if text is not None:
        rule = "a corpus must be annotated to train on (.conllu, .conll, scored mentions with gold)"
        raise InputError(f"{rule}, got text", place=text)
    return documents


def read_corpus(
    inputs: DocumentInputs,
    selection: Selection,
    scheme: str | None,
    on_rejected: QuarantineFile | None,
    on_progress: Progress | None,
) -> Corpus:
    """Read all documents and keep the selected ones with annotated entities.

    Raises
    ------
    InputError
        If a file has no annotated entities, no document is left, or a document is bad and `on_rejected` is None.
    ParameterError
        If no document is left because no document has the metadata of a condition.
    """
    documents: list[MentionDocument] = []
    n_with_gold: Counter[str] = Counter()
    n_read: Counter[str] = Counter()
    n_not_selected = 0
    metadata_names: set[str] = set()
    for item in inputs.accepted(on_rejected):
        n_read[item.source] += 1
        document: Any = item.document
        gold = gold_entities(document)
        if gold is None or all(entity is None for entity in gold):
            continue
        n_with_gold[item.source] += 1
        metadata_names.update(document.metadata)
        if not selection.includes(document.doc_id, document.metadata):
            n_not_selected += 1
        elif fault := _fault(item, scheme):
            reject(fault, on_rejected)
        else:
            documents.append(document)
        if on_progress is not None:
            on_progress(inputs.bytes_read, inputs.total_bytes, n_read.total())
    for path in inputs.paths:
        if not n_with_gold[path]:
            rule = "a corpus must have annotated entities to train on"
            raise InputError(f"{rule}, got none in {n_read[path]} documents", place=path)
    if not documents:
        selection.require_known_names(metadata_names)
        rule = f"must leave documents to train on ({selection})"
        raise InputError(f"{rule}, got none of {n_not_selected}", parameter="where", place=", ".join(inputs.paths))
    n_without_gold = n_read.total() - n_with_gold.total()
    return Corpus(inputs.paths, documents, n_without_gold, n_not_selected, inputs.skipped)


def _fault(item: ReadDocument, scheme: str | None) -> Rejected | None:
    document: Any = item.document
    try:
        if document.tokens is None:
            raise ParameterError("tokens are required to train on, got none")
        neutral_parse(document.tokens, scheme)
    except ParameterError as error:
        return item.rejected(error)
    return None
