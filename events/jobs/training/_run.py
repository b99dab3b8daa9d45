"""The job behind `corefsample train`: annotated corpora in, an antecedent model and the record of its training out."""

from __future__ import annotations

import dataclasses
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from corefsample.errors import InputError, ParameterError
from corefsample.files import path_list, write_json
from corefsample.formats import quarantine_file
from corefsample.mention_ranking import AntecedentModel, EpochReport, save_model
from corefsample.mention_ranking.features import DEFAULT_TEMPLATES, TemplateSet
from events._yaml_file import read_yaml, typed
from events.jobs import checksums, free_outputs, run_record
from events.jobs.training._corpus import TrainingCorpus
from events.jobs.training._fit import TrainingFit
from events.jobs.training._options import TrainOptions
from events.jobs.training._selection import Selection

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["RECORD_SUFFIX", "TrainOptions", "TrainingRun", "load_templates", "run_train"]

RECORD_SUFFIX = ".training.json"
PathLike = str | os.PathLike[str]
Progress = Callable[[int, int, int], None]


@dataclass(frozen=True, slots=True, eq=False)
class TrainingRun:
    """What a training did.

    Attributes
    ----------
    out, record
        The model file, and the record of its training beside it.
    model
        The model.
    reports
        Each pass under each penalty, in order; with `refit`, those of the last training have no held-out figures.
    l2, epoch
        The penalty and the number of passes chosen.
    n_documents, n_mentions
        Documents trained on, and their annotated mentions.
    n_held_out
        Documents held out (and trained on in the end, where `refit` was asked for).
    n_without_gold, n_not_selected
        Documents left out: without annotated entities; by the conditions `where`.
    n_quarantined
        Bad documents set aside.
    skipped
        Mentions of the corpora that no document has, counted by reason.
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
        """The pass that the choice fell on."""
        return next(report for report in self.reports if (report.l2, report.epoch) == (self.l2, self.epoch))

    def to_frame(self) -> pd.DataFrame:
        """One row a penalty and pass: l2, epoch, loss, held_out_loss, held_out_link_loss (NaN where none is)."""
        import pandas as pd

        columns = ["l2", "epoch", "loss", "held_out_loss", "held_out_link_loss"]
        return pd.DataFrame([_report_row(report) for report in self.reports], columns=columns)

    def to_json(self) -> dict[str, Any]:
        """What was trained, and how well it does on held-out documents."""
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

    The model is a function of the documents, their order and the options: the same command gives the same bytes.

    Parameters
    ----------
    corpora
        Files, globs, or "-": CoNLL-U, CoNLL-2012, scored mentions with gold. Documents without annotated entities are
        counted and left out; a file that has no others is refused.
    out
        New file for the model. Beside it comes the record, the name with .training.json added, and where there were
        bad documents they come with .quarantine.jsonl added.
    options
        What to train on, and how.
    held_out
        The same of documents to choose penalty and passes on; the conditions `where` hold for them too. None: a share
        of the documents of `corpora`, chosen by their names and the seed.
    overwrite
        Whether files of an earlier run may be replaced.
    on_progress
        Called as documents are read, with bytes read, bytes in all, and documents.
    on_epoch
        Called after each pass.

    Raises
    ------
    ParameterError
        If an option is outside its range, or an output exists and overwrite is not said.
    InputError
        If a document is bad, a file has no gold, nothing is left to train on, or a document is in both corpora.
    OutputError
        If a file cannot be written.
    """
    started = time.time()
    options = options or TrainOptions()
    path = os.fspath(out)
    if not path:
        raise ParameterError("out must name a file, got ''")
    record = free_outputs(path, RECORD_SUFFIX, overwrite=overwrite)
    templates = DEFAULT_TEMPLATES if options.templates is None else load_templates(options.templates)
    selection = Selection(options.where)
    with quarantine_file(path, on_error=options.on_error, overwrite=overwrite) as on_rejected:
        corpus = TrainingCorpus(corpora, options, selection, on_rejected, on_progress)
        others = TrainingCorpus(held_out, options, selection, on_rejected, on_progress) if path_list(held_out) else None
        corpus.read()
        if others is not None:
            others.read()
        fitted = TrainingFit(corpus, others, options, templates, on_epoch)
        model = fitted.model()
        save_model(model, path, overwrite=overwrite)
        run = TrainingRun(
            out=path,
            record=record,
            model=model,
            reports=tuple(fitted.reports),
            l2=fitted.l2,
            epoch=fitted.epoch,
            n_documents=model.provenance["n_documents"],
            n_mentions=model.provenance["n_mentions"],
            n_held_out=len(fitted.held_out),
            n_without_gold=corpus.n_without_gold + (others.n_without_gold if others else 0),
            n_not_selected=corpus.n_not_selected + (others.n_not_selected if others else 0),
            n_quarantined=0 if on_rejected is None else on_rejected.count,
            skipped=dict(corpus.inputs.skipped + (others.inputs.skipped if others else Counter())),
            seconds=round(time.time() - started, 3),
        )
        _write_record(run, fitted, options, started)
    return run


def load_templates(path: PathLike) -> TemplateSet:
    """Read templates of features from a YAML file: the lists pronoun, phrase and new, a template a line.

    Raises
    ------
    InputError
        If the file cannot be read, is something else, or has a template that breaks its rules.
    """
    name = os.fspath(path)
    try:
        with open(name, "rb") as stream:
            content = read_yaml(name, stream.read())
    except OSError as error:
        raise InputError(f"{name}: file must be readable, got: {error.strerror or error}") from None
    lists = typed(name, content, dict[str, list[str]])
    if set(lists) != {"pronoun", "phrase", "new"}:
        found = ", ".join(lists) or "nothing"
        raise InputError(f"{name}: templates must be in the lists pronoun, phrase and new, got {found}")
    try:
        return TemplateSet(**lists)
    except ParameterError as error:
        raise InputError(f"{name}: {error}") from None


def _write_record(run: TrainingRun, fitted: TrainingFit, options: TrainOptions, started: float) -> None:
    inputs = [{"part": "train", **row} for row in checksums(fitted.corpus.inputs.paths)]
    if fitted.others is not None:
        inputs += [{"part": "held out", **row} for row in checksums(fitted.others.inputs.paths)]
    content = run_record(
        {**dataclasses.asdict(options), "out": run.out},
        inputs,
        started,
        summary=run.to_json(),
        documents=[document.doc_id for document in fitted.documents],
        held_out=[document.doc_id for document in fitted.held_out],
    )
    write_json(run.record, content)
