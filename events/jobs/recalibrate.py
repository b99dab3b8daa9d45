"""The job behind `corefsample recalibrate`: fit on documents with gold, rewrite the scores of others."""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from corefsample import _checks
from corefsample.documents import DocumentBatch, ScoredDocument
from corefsample.errors import ParameterError
from corefsample.files import PathLike, path_list, remove_file, require_suffix, write_json
from corefsample.formats import DocumentStream, quarantine_file, write_documents
from corefsample.formats.scored import SUFFIXES
from corefsample.recalibration import (
    DOMAIN_FIELD,
    CrossFit,
    DomainEffect,
    Form,
    Recalibration,
    RecalibrationDraws,
    RecalibrationFit,
    RecalibrationFitter,
    UncertainRecalibration,
    applied_to,
)
from events.jobs._fit_options import FitOptions
from events.jobs._reading import GoldDocuments, Progress, streamed
from events.jobs._record import checksums, free_outputs, plain_fields, run_record
from events.queries import OBJECTIVES, named_objective

__all__ = ["RECORD_SUFFIX", "RecalibrateOptions", "RecalibrationRun", "run_recalibrate"]

RECORD_SUFFIX = ".recalibration.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecalibrateOptions(FitOptions):
    """What to fit, and how; the other attributes are those of `FitOptions`.

    Attributes
    ----------
    objective
        "joint" (likelihood and queries), "queries", "queries-log", "likelihood", "links" or "links-log".
    form
        "kinds" or "global".
    n_boot
        Refits on bootstrapped documents, at least 2.
    shrink
        Whether to shrink the fit towards no change, according to its own uncertainty, before it is applied
        (`RecalibrationDraws.shrunk`): for few documents with gold.
    """

    objective: str = "joint"
    form: Form = "kinds"
    n_boot: int = 200
    shrink: bool = False

    def __post_init__(self) -> None:
        FitOptions.__post_init__(self)
        _checks.choice("objective", self.objective, OBJECTIVES)
        _checks.whole("n_boot", self.n_boot, 2)
        if self.form == "kinds" and self.shrink:
            rule = "is for the form 'global', because offsets by kind have a prior already"
            raise ParameterError(f"{rule}, got 'kinds'", parameter="shrink")


@dataclass(frozen=True, slots=True, eq=False)
class RecalibrationRun:
    """Result of a recalibration.

    Attributes
    ----------
    out, record
        The file of recalibrated documents, and the record of the fit beside it.
    fit
        The recalibration, fitted to all documents with gold.
    cross_fit
        The same by folds: its scores are held out.
    draws
        Refits on bootstrapped documents.
    applied
        The recalibration of the written documents: the fit, or the fit shrunk.
    domain_effect
        How much it differs between domains, or None if they are not known.
    n_without_gold
        Documents of the gold inputs that have no gold, and were left out.
    n_documents
        Documents written.
    n_also_fitted
        Of them, documents that the fit used.
    n_quarantined
        Bad documents set aside, of both inputs.
    seconds
        Wall time.
    """

    out: str
    record: str
    fit: RecalibrationFit
    cross_fit: CrossFit
    draws: RecalibrationDraws
    applied: Recalibration
    domain_effect: DomainEffect | None
    n_without_gold: int
    n_documents: int
    n_also_fitted: int
    n_quarantined: int
    seconds: float

    def to_json(self) -> dict[str, Any]:
        """The fit, its scores on held-out documents, and how many documents were left out."""
        held_out, draws = self.cross_fit, self.draws
        return {
            **plain_fields(self),
            "objective": self.fit.objective,
            "form": self.fit.form,
            "prior_sd": self.fit.prior_sd,
            **self.fit.recalibration.to_json(),
            "temperature_se": float(draws.temperature.std(ddof=1)),
            "new_bias_se": float(draws.new_bias.std(ddof=1)),
            "applied": self.applied.to_json(),
            "domain_effect": None if self.domain_effect is None else dataclasses.asdict(self.domain_effect),
            "n_folds": held_out.n_folds,
            "score_before": held_out.score_before,
            "score_after": held_out.score_after,
            "score_change_se": held_out.score_change_se,
            "n_terms": self.fit.n_terms,
            "gold": self.fit.gold.to_json(),
        }


def run_recalibrate(
    gold: PathLike | Iterable[PathLike],
    apply: PathLike | Iterable[PathLike],
    out: PathLike,
    options: RecalibrateOptions | None = None,
    *,
    overwrite: bool = False,
    on_progress: Progress | None = None,
) -> RecalibrationRun:
    """Fit a recalibration to documents with gold, and write other documents with recalibrated scores.

    Parameters
    ----------
    gold
        Files, globs, or "-": documents to fit on. Those without gold are counted and left out.
    apply
        Files, globs, or "-": documents whose scores are to be recalibrated; they may be the same files.
    out
        New file of documents: .jsonl, .jsonl.gz or .parquet. The record of the fit is written beside it, to the name
        with .recalibration.json added, and bad documents to the name with .quarantine.jsonl added.
    options
        What to fit, and how.
    overwrite
        Whether files of an earlier run may be replaced.
    on_progress
        Called as documents are read, with bytes read, bytes in all, and documents; first for `gold`, then for `apply`.

    Raises
    ------
    ParameterError
        If an output exists and `overwrite` is false, there are more folds than documents, or gold does not determine
        a recalibration.
    InputError
        If a document is bad, or none has gold.
    OutputError
        If a file cannot be written.
    """
    started = time.time()
    options = options or RecalibrateOptions()
    gold_names, apply_names = path_list(gold), path_list(apply)
    if "-" in gold_names and "-" in apply_names:
        raise ParameterError("must not be standard input where gold is, got - twice", parameter="apply")
    path = os.fspath(out)
    require_suffix(path, SUFFIXES, ParameterError)
    record = free_outputs(path, RECORD_SUFFIX, overwrite=overwrite)
    with quarantine_file(path, on_error=options.on_error, overwrite=overwrite) as on_rejected:
        gold_documents = GoldDocuments(
            gold_names,
            for_queries=options.objective.startswith(("queries", "joint")),
            role=options.role,
            scheme=options.scheme,
            on_rejected=on_rejected,
            on_progress=on_progress,
        )
        apply_paths = DocumentStream(apply_names).paths  # so that a missing file raises before the fit
        fitter, fit, effect = _fitted(gold_documents, options)
        cross_fit = fitter.cross_fit(options.n_folds, seed=options.seed)
        draws = fitter.bootstrap(options.n_boot, seed=options.seed)
        applied = draws.shrunk(fit.recalibration) if options.shrink else fit.recalibration
        inputs = [{"part": "gold", **row} for row in checksums(gold_documents.stream.paths)]
        inputs += [{"part": "apply", **row} for row in checksums(apply_paths)]
        needs = () if applied.offsets is None else ("tokens",)
        stream = DocumentStream(apply_paths, needs=needs, on_rejected=on_rejected)
        uncertain = UncertainRecalibration(applied, draws, effect, fitter.gold.base, options.domains or DOMAIN_FIELD)
        recalibrated = _Recalibrated(stream, uncertain, frozenset(fitter.gold.doc_ids), record, on_progress)
        n_written = write_documents(recalibrated, path, overwrite=overwrite)
        run = RecalibrationRun(
            out=path,
            record=record,
            fit=fit,
            cross_fit=cross_fit,
            draws=draws,
            applied=applied,
            domain_effect=effect,
            n_without_gold=gold_documents.n_without_gold + fit.gold.n_without_gold,
            n_documents=n_written,
            n_also_fitted=recalibrated.n_also_fitted,
            n_quarantined=0 if on_rejected is None else on_rejected.count,
            seconds=round(time.time() - started, 3),
        )
        content = run_record(
            {**dataclasses.asdict(options), "out": path},
            inputs,
            started,
            summary=run.to_json(),
            folds=[each.to_json() for each in cross_fit.recalibrations],
            **uncertain.to_json(),
        )
        write_json(record, content)
    return run


def _fitted(
    gold: GoldDocuments, options: RecalibrateOptions
) -> tuple[RecalibrationFitter, RecalibrationFit, DomainEffect | None]:
    documents = gold.required("the fit")
    names = ("role", "scheme", "unannotated", "n_samples", "seed")
    objective = named_objective(options.objective, {name: getattr(options, name) for name in names})
    domains = options.domains_of(documents, gold.place)
    try:
        fitter = RecalibrationFitter(
            documents,
            objective=objective,
            missing=options.missing,
            unannotated=options.unannotated,
            form=options.form,
            domains=domains,
        )
        fit = fitter.fit()
        return fitter, fit, None if domains is None else fitter.domain_effect()
    except ParameterError as error:  # the options are valid, so the fault is in the files
        raise error.as_input_error(gold.place) from None


def _faults(uncertain: UncertainRecalibration, batch: DocumentBatch) -> dict[int, str]:
    """Rows that cannot be recalibrated: other scores than those of the fit, or scores that would be infinite."""
    wrong = {}
    for row in range(len(batch)):
        try:
            found = applied_to(batch.metadata(row))
            if found != uncertain.base:
                wrong[row] = f"scores {uncertain.other_scores(found)}"
        except ParameterError as error:
            wrong[row] = str(error)
    return {**_overflowing(uncertain.recalibration, batch), **wrong}


def _overflowing(recalibration: Recalibration, batch: DocumentBatch) -> dict[int, str]:
    """Rows with a score that the temperature would make infinite."""
    indptr, _, scores = batch.candidates
    with np.errstate(over="ignore"):
        places = np.flatnonzero(~np.isfinite(scores / recalibration.temperature))
    mentions = np.searchsorted(indptr, places, side="right") - 1
    rows = np.searchsorted(batch.mentions[0], mentions, side="right") - 1
    rule = f"scores must stay finite over the temperature {recalibration.temperature:.4g}"
    return {int(row): f"{rule}, got {float(scores[place])}" for row, place in zip(rows, places, strict=True)}


@dataclass
class _Recalibrated:
    """The documents of a stream with recalibrated scores; iterate once."""

    stream: DocumentStream
    uncertain: UncertainRecalibration
    fitted: frozenset[str]  # doc_ids
    record: str
    on_progress: Progress | None
    n_also_fitted: int = 0

    def __iter__(self) -> Iterator[ScoredDocument]:
        faults_of = partial(_faults, self.uncertain)
        for document in streamed(self.stream, self.on_progress, faults_of):
            self.n_also_fitted += document.doc_id in self.fitted
            yield self.uncertain.recalibration.apply_document(document)
        # The output is about to be replaced, so the record of an earlier output is no longer valid.
        remove_file(self.record)
