"""The documents that a model is trained on and those held out; and the fit."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any

from corefsample.errors import InputError, ParameterError
from corefsample.languages._language import Language
from corefsample.scorers import AntecedentModel
from corefsample.scorers.log_linear._training import EpochReport, SoftmaxMargin, train
from corefsample.scorers.log_linear.features._templates import TemplateSet
from corefsample.scorers.protocol import MentionDocument
from events.runs._annotated_corpora import Corpus


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


_AS_GIVEN = frozenset(
    {"learning_rate", "link_weight", "bits", "min_count", "orders", "seed", "scheme", "mentions", "windows", "start"}
)
_L2_GRID = (0.02, 0.05)
_L2_DEFAULT = (0.02,)  # without documents to choose on


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
    language: Language,
    templates: TemplateSet,
    provenance: Mapping[str, Any],
    on_epoch: Callable[[EpochReport], None] | None,
) -> tuple[AntecedentModel, tuple[EpochReport, ...]]:
    """Train a model, and with `options.refit` once more on all documents with the chosen penalty and passes.

    Returns
    -------
    AntecedentModel
        The model; its provenance has the chosen penalty and number of passes.
    tuple of EpochReport
        Reports of all passes.
    """
    reports: list[EpochReport] = []

    def report(epoch: EpochReport) -> None:
        reports.append(epoch)
        if on_epoch is not None:
            on_epoch(epoch)

    trained: Callable[..., AntecedentModel] = partial(
        train,
        costs=SoftmaxMargin(*options.margin),
        language=language,
        templates=templates,
        n_threads=options.threads,
        **{name: getattr(options, name) for name in _AS_GIVEN},
        on_epoch=report,
    )
    penalties = tuple(options.l2) or (_L2_GRID if held_out else _L2_DEFAULT)
    model = trained(documents, held_out=held_out or None, l2=penalties, epochs=options.epochs, provenance=provenance)
    if options.refit and held_out:
        chosen = model.provenance
        figures = {"n_documents": len(held_out), "l2_tried": list(penalties), **chosen["held_out"]}
        every = [*documents, *held_out]
        more = {**provenance, "chosen_on": figures}
        model = trained(every, l2=(chosen["l2"],), epochs=chosen["epoch"], provenance=more)
    return model, tuple(reports)
