"""The documents of annotated corpora that a model is trained on: read, selected and held out; and the fit."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from corefsample.documents._rejected import Rejected
from corefsample.errors import InputError, ParameterError
from corefsample.files._paths import PathLike
from corefsample.formats.scored._writing import QuarantineFile
from corefsample.mention_ranking import AntecedentModel
from corefsample.mention_ranking._fitting import EpochReport
from corefsample.mention_ranking._model import MentionDocument, gold_entities
from corefsample.mention_ranking._training import SoftmaxMargin, train
from corefsample.mention_ranking.features._templates import TemplateSet
from corefsample.syntax._roles import neutral_parse
from events._selection import Selection
from events.runs._document_inputs import DocumentInputs, ReadDocument, reject
from events.runs._progress import Progress


def held_out_ids(doc_ids: Collection[str], share: float, *, seed: int = 0) -> frozenset[str]:
    """Choose documents to hold out.

    Documents are ranked by a hash of the seed and their name, so the choice does not depend on their order.

    Parameters
    ----------
    doc_ids
        Distinct names of the documents.
    share
        Share to hold out, in (0, 1). The number is rounded up, and must leave at least one document to train on.
    seed
        In [0, 2**64).

    Raises
    ------
    ParameterError
        If no document is left to train on.
    """
    n_held_out = math.ceil(share * len(doc_ids))
    if n_held_out >= len(doc_ids):
        rule = "must leave a document to train on in addition to those held out"
        raise ParameterError(
            f"{rule}, got {share} of {len(doc_ids)}", parameter="held_out_share", hint="0 holds out none"
        )
    key = seed.to_bytes(8, "little")
    ranked = sorted(
        doc_ids,
        key=lambda doc_id: (hashlib.blake2b(doc_id.encode("utf-8", "surrogatepass"), key=key).digest(), doc_id),
    )
    return frozenset(ranked[:n_held_out])


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


_AS_GIVEN = ("learning_rate", "link_weight", "bits", "min_count", "orders", "seed", "scheme", "mentions", "windows")
_L2_GRID = (0.02, 0.05)
_L2_DEFAULT = (0.02,)  # without documents to choose on


@dataclass(frozen=True, slots=True)
class Fit:
    """A trained model, the reports of all passes, and the chosen penalty and number of passes."""

    model: AntecedentModel
    reports: tuple[EpochReport, ...]
    l2: float
    epoch: int


def split_documents(
    corpus: Corpus, others: Corpus, options: Any
) -> tuple[list[MentionDocument], list[MentionDocument]]:
    """Return the documents to train on and the held-out ones: those of `others`, or else a share of the corpus.

    Raises
    ------
    InputError
        If a document is in both.
    ParameterError
        If no document is left to train on.
    """
    if not others.paths and options.held_out_share == 0:
        return corpus.documents, []
    doc_ids = [document.doc_id for document in corpus.documents]
    if not others.paths:
        chosen = held_out_ids(doc_ids, options.held_out_share, seed=options.seed)
        documents = [document for document in corpus.documents if document.doc_id not in chosen]
        return documents, [document for document in corpus.documents if document.doc_id in chosen]
    for repeated in (document for document in others.documents if document.doc_id in set(doc_ids)):
        place = f"{', '.join(others.paths)}: doc_id {repeated.doc_id!r}"
        raise InputError("a document must be trained on or held out, got it in both", place=place)
    return corpus.documents, others.documents


def fit_model(
    documents: Sequence[MentionDocument],
    held_out: Sequence[MentionDocument],
    options: Any,
    *,
    templates: TemplateSet,
    provenance: Mapping[str, Any],
    on_epoch: Callable[[EpochReport], None] | None,
) -> Fit:
    """Train a model, and with `options.refit` once more on all documents with the chosen penalty and passes."""
    reports: list[EpochReport] = []

    def report(epoch: EpochReport) -> None:
        reports.append(epoch)
        if on_epoch is not None:
            on_epoch(epoch)

    def trained(
        on: Sequence[MentionDocument],
        choose_on: Sequence[MentionDocument] | None,
        penalties: Sequence[float],
        epochs: int,
        **more: Any,
    ) -> AntecedentModel:
        return train(
            on,
            held_out=choose_on,
            l2=penalties,
            epochs=epochs,
            costs=SoftmaxMargin(*options.margin),
            templates=templates,
            n_threads=options.threads,
            **{name: getattr(options, name) for name in _AS_GIVEN},
            provenance={**provenance, **more},
            on_epoch=report,
        )

    penalties = tuple(options.l2) or (_L2_GRID if held_out else _L2_DEFAULT)
    model = trained(documents, held_out or None, penalties, options.epochs)
    l2, epoch = model.provenance["l2"], model.provenance["epoch"]
    if options.refit and held_out:
        figures = {"n_documents": len(held_out), "l2_tried": list(penalties), **model.provenance["held_out"]}
        model = trained([*documents, *held_out], None, (l2,), epoch, chosen_on=figures)
    return Fit(model, tuple(reports), l2, epoch)
