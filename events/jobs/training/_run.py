"""The job behind `corefsample train`: annotated corpora in, an antecedent model and the record of its training out."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import corefsample
from corefsample.errors import InputError, ParameterError
from corefsample.files import PathLike, path_list, write_json
from corefsample.formats import quarantine_file
from corefsample.mention_ranking import AntecedentModel, EpochReport, MentionDocument, save_model
from corefsample.mention_ranking.features import DEFAULT_TEMPLATES, TemplateSet
from events._yaml_file import file_bytes, read_yaml, typed
from events.jobs import Progress, checksums, free_outputs, run_record
from events.jobs.training._corpus import NO_CORPUS, annotated_inputs, read_corpus
from events.jobs.training._fit import fit_model, split_documents
from events.jobs.training._options import TrainOptions
from events.jobs.training._selection import Selection

RECORD_SUFFIX = ".training.json"


@dataclass(frozen=True, slots=True, eq=False)
class TrainingRun:
    """Outputs and results of a training run.

    Attributes
    ----------
    out, record
        The model file, and the record of its training beside it.
    model
        The model.
    reports
        Each pass with each penalty, in order; with `refit`, those of the last training have no held-out figures.
    l2, epoch
        The chosen penalty and number of passes.
    n_documents, n_mentions
        Number of documents trained on, and of their annotated mentions.
    n_held_out
        Number of documents held out; with `refit` the final model is trained on them, too.
    n_without_gold, n_not_selected
        Number of documents left out: without annotated entities; by the conditions `where`.
    n_quarantined
        Number of bad documents.
    skipped
        Mentions of the corpora that are in no document, counted by reason.
    seconds
        Wall time.
    """

    out: str
    record: str
    model: AntecedentModel
    reports: tuple[EpochReport, ...]
    l2: float
    epoch: int
    n_documents: int
    n_mentions: int
    n_held_out: int
    n_without_gold: int
    n_not_selected: int
    n_quarantined: int
    skipped: dict[str, int]
    seconds: float

    @property
    def chosen(self) -> EpochReport:
        """Report of the chosen pass."""
        return next(report for report in self.reports if (report.l2, report.epoch) == (self.l2, self.epoch))

    def to_json(self) -> dict[str, Any]:
        """Return the fields by name, with the figures on held-out documents and of all passes."""
        names = [field.name for field in dataclasses.fields(self) if field.name not in ("model", "reports")]
        found = self.chosen.held_out
        return {
            **{name: getattr(self, name) for name in names},
            "held_out": None if found is None else dataclasses.asdict(found),
            "passes": [_report_row(report) for report in self.reports],
        }


def _report_row(report: EpochReport) -> dict[str, Any]:
    found = report.held_out
    return {
        "l2": report.l2,
        "epoch": report.epoch,
        "loss": report.loss,
        "held_out_loss": None if found is None else found.loss,
        "held_out_link_loss": None if found is None else found.link_loss,
    }


def run_train(
    corpora: PathLike | Iterable[PathLike],
    out: PathLike,
    options: TrainOptions | None = None,
    *,
    held_out: PathLike | Iterable[PathLike] = (),
    overwrite: bool = False,
    on_progress: Progress | None = None,
    on_epoch: Callable[[EpochReport], None] | None = None,
) -> TrainingRun:
    """Train an antecedent model on annotated corpora.

    The model depends only on the documents, their order and the options: the same command gives the same bytes.

    Parameters
    ----------
    corpora
        Files, globs, or "-": CoNLL-U, CoNLL-2012, scored mentions with gold. Documents without annotated entities are
        counted and left out; each file must have a document with annotated entities.
    out
        New file for the model. The record is written beside it, to the name with .training.json added, and bad
        documents, if any, to the name with .quarantine.jsonl added.
    options
        Which documents to train on, and how.
    held_out
        Files with documents on which penalty and passes are chosen; the conditions `where` apply to them, too. Empty:
        a share of the documents of `corpora`, chosen by their names and the seed.
    overwrite
        Whether files of an earlier run may be replaced.
    on_progress
        Called after each document, with bytes read, bytes in all, and number of documents.
    on_epoch
        Called after each pass.

    Raises
    ------
    ParameterError
        If an option is outside its range, or an output exists and `overwrite` is false.
    InputError
        If a document is bad, a file has no gold, no document is left to train on, or a document is in both corpora.
    OutputError
        If a file cannot be written.
    """
    started = time.time()
    options = options or TrainOptions()
    path = os.fspath(out)
    if not path:
        raise ParameterError("must name a file, got ''", parameter="out")
    record = free_outputs(path, RECORD_SUFFIX, overwrite=overwrite)
    templates = DEFAULT_TEMPLATES if options.templates is None else load_templates(options.templates)
    selection = Selection(options.where)
    with quarantine_file(path, on_error=options.on_error, overwrite=overwrite) as on_rejected:
        held_out_paths = path_list(held_out)
        corpus_inputs = annotated_inputs(corpora, options.entity_fields)
        held_out_inputs = annotated_inputs(held_out_paths, options.entity_fields) if held_out_paths else None
        corpus = read_corpus(corpus_inputs, selection, options.scheme, on_rejected, on_progress)
        others = NO_CORPUS
        if held_out_inputs is not None:
            others = read_corpus(held_out_inputs, selection, options.scheme, on_rejected, on_progress)
        documents, held_out_documents = split_documents(corpus, others, options)
        sources = checksums(corpus.paths)
        held_out_sources = checksums(others.paths)
        fitted = fit_model(
            documents,
            held_out_documents,
            options,
            templates=templates,
            provenance=_provenance(options, sources, held_out_sources, documents, len(held_out_documents)),
            on_epoch=on_epoch,
        )
        save_model(fitted.model, path, overwrite=overwrite)
        run = TrainingRun(
            out=path,
            record=record,
            model=fitted.model,
            reports=fitted.reports,
            l2=fitted.l2,
            epoch=fitted.epoch,
            n_documents=fitted.model.provenance["n_documents"],
            n_mentions=fitted.model.provenance["n_mentions"],
            n_held_out=len(held_out_documents),
            n_without_gold=corpus.n_without_gold + others.n_without_gold,
            n_not_selected=corpus.n_not_selected + others.n_not_selected,
            n_quarantined=0 if on_rejected is None else on_rejected.count,
            skipped=dict(corpus.skipped + others.skipped),
            seconds=round(time.time() - started, 3),
        )
        content = run_record(
            {**dataclasses.asdict(options), "out": run.out},
            [{"part": "train", **row} for row in sources] + [{"part": "held out", **row} for row in held_out_sources],
            started,
            summary=run.to_json(),
            documents=[document.doc_id for document in documents],
            held_out=[document.doc_id for document in held_out_documents],
        )
        write_json(run.record, content)
    return run


def _provenance(
    options: TrainOptions,
    sources: Sequence[dict[str, Any]],
    held_out_sources: Sequence[dict[str, Any]],
    documents: Sequence[MentionDocument],
    n_held_out: int,
) -> dict[str, Any]:
    """Describe the origin of a model, without folders and times, so that the same command gives the same bytes."""
    texts = {"attribution": options.attribution, "note": options.note}
    doc_ids = "\n".join(document.doc_id for document in documents).encode("utf-8", "surrogatepass")
    return {
        "made_by": f"corefsample train, version {corefsample.__version__}",
        **{name: text for name, text in texts.items() if text is not None},
        "corpora": _without_folders(sources),
        "where": list(options.where),
        "held_out_corpora": _without_folders(held_out_sources),
        "n_held_out": n_held_out,
        "refit": options.refit,
        "documents_sha256": hashlib.sha256(doc_ids).hexdigest(),
    }


def _without_folders(sources: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**row, "path": os.path.basename(row["path"])} for row in sources]


def load_templates(path: PathLike) -> TemplateSet:
    """Read feature templates from a YAML file with the lists pronoun, phrase and new.

    Raises
    ------
    InputError
        If the file cannot be read, has other content, or has a template that breaks its rules.
    """
    name = os.fspath(path)
    lists = typed(name, read_yaml(name, file_bytes(name)), dict[str, list[str]])
    if set(lists) != {"pronoun", "phrase", "new"}:
        names = ", ".join(lists) or "nothing"
        raise InputError(f"templates must be in the lists pronoun, phrase and new, got {names}", place=name)
    try:
        return TemplateSet(**lists)
    except ParameterError as error:
        raise error.as_input_error(name) from None
