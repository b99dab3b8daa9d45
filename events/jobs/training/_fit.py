"""The choice of penalty and passes on held-out documents, and the model that comes of it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import corefsample
from corefsample.errors import InputError
from corefsample.mention_ranking import AntecedentModel, EpochReport, SoftmaxMargin, train
from corefsample.mention_ranking.features import TemplateSet
from events.jobs import checksums
from events.jobs.training._corpus import GoldDocument, TrainingCorpus
from events.jobs.training._selection import held_out_ids

if TYPE_CHECKING:
    from events.jobs.training._options import TrainOptions

__all__ = ["L2_ALONE", "L2_GRID", "TrainingFit"]

L2_GRID = (0.02, 0.05)
L2_ALONE = 0.02  # without documents to choose on


class TrainingFit:
    """Chooses and trains.

    Attributes
    ----------
    documents, held_out
        Documents to train on, and to choose on.
    penalties
        Those to choose from.
    reports
        Each pass, once the model is trained.
    l2, epoch
        The penalty and the number of passes chosen.
    """

    def __init__(
        self,
        corpus: TrainingCorpus,
        others: TrainingCorpus | None,
        options: TrainOptions,
        templates: TemplateSet,
        on_epoch: Callable[[EpochReport], None] | None,
    ) -> None:
        self.options, self.templates = options, templates
        self.corpus, self.others = corpus, others
        self.reports: list[EpochReport] = []
        self._on_epoch = on_epoch
        self.documents, self.held_out = corpus.documents, [] if others is None else others.documents
        if others is not None:
            _require_apart(corpus, others)
        elif options.held_out_share > 0:
            chosen = held_out_ids([d.doc_id for d in corpus.documents], options.held_out_share, seed=options.seed)
            self.documents = [d for d in corpus.documents if d.doc_id not in chosen]
            self.held_out = [d for d in corpus.documents if d.doc_id in chosen]
        self.penalties = tuple(options.l2) or (L2_GRID if self.held_out else (L2_ALONE,))
        self.l2, self.epoch = self.penalties[0], options.epochs

    def model(self) -> AntecedentModel:
        """Train."""
        model = self._train(self.documents, self.held_out or None, self.penalties, self.options.epochs, {})
        self.l2, self.epoch = model.provenance["l2"], model.provenance["epoch"]
        if not (self.options.refit and self.held_out):
            return model
        chosen_on = {"n_documents": len(self.held_out), "l2_tried": list(self.penalties)}
        found = {"chosen_on": {**chosen_on, **model.provenance["held_out"]}}
        return self._train([*self.documents, *self.held_out], None, (self.l2,), self.epoch, found)

    def _train(
        self,
        documents: Sequence[GoldDocument],
        held_out: Sequence[GoldDocument] | None,
        penalties: Sequence[float],
        epochs: int,
        found: dict[str, Any],
    ) -> AntecedentModel:
        options = self.options
        return train(
            documents,
            held_out=held_out,
            l2=penalties,
            epochs=epochs,
            learning_rate=options.learning_rate,
            costs=SoftmaxMargin(*options.margin),
            link_weight=options.link_weight,
            templates=self.templates,
            bits=options.bits,
            min_count=options.min_count,
            orders=options.orders,
            seed=options.seed,
            n_threads=options.threads,
            scheme=options.scheme,
            provenance={**self.provenance(), **found},
            on_epoch=self._note,
        )

    def _note(self, report: EpochReport) -> None:
        self.reports.append(report)
        if self._on_epoch is not None:
            self._on_epoch(report)

    def provenance(self) -> dict[str, Any]:
        """Where the model comes from: no folder, no time, so that the same command gives the same bytes."""
        texts = {"attribution": self.options.attribution, "note": self.options.note}
        return {
            "made_by": f"corefsample train, version {corefsample.__version__}",
            **{name: text for name, text in texts.items() if text is not None},
            "corpora": _sources(self.corpus),
            "where": list(self.options.where),
            "held_out_corpora": [] if self.others is None else _sources(self.others),
            "n_held_out": len(self.held_out),
            "refit": self.options.refit,
            "documents_sha256": _digest(each.doc_id for each in self.documents),
        }


def _sources(corpus: TrainingCorpus) -> list[dict[str, Any]]:
    return [{**row, "path": os.path.basename(row["path"])} for row in checksums(corpus.inputs.paths)]


def _digest(doc_ids: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(doc_ids).encode("utf-8", "surrogatepass")).hexdigest()


def _require_apart(corpus: TrainingCorpus, others: TrainingCorpus) -> None:
    known = {document.doc_id for document in corpus.documents}
    for document in others.documents:
        if document.doc_id in known:
            rule = "a document must be trained on or held out"
            raise InputError(f"{', '.join(others.inputs.paths)}: doc_id {document.doc_id!r}: {rule}, got it in both")
