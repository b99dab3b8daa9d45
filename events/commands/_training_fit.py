"""Training of a model by `TrainOptions`, with penalty and number of passes chosen on held-out documents."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from corefsample.errors import InputError
from corefsample.mention_ranking import AntecedentModel, EpochReport, MentionDocument, SoftmaxMargin, train
from corefsample.mention_ranking.features import TemplateSet
from events.commands._training_corpus import Corpus
from events.commands._training_selection import held_out_ids

_AS_GIVEN = ("learning_rate", "link_weight", "bits", "min_count", "orders", "seed", "scheme")
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
